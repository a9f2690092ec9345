/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rocedrill-agent: allows `rocedrill replay --live` on another host to use an RDMA device of this
 * host. The agent creates QPs, registers memory, posts work requests and reports QPNs, keys and
 * completions. The agent serves one session at a time over TCP; docs/agent.md describes the
 * protocol.
 *
 * Without --token, every program that can connect to the port can use the device and the memory
 * that the agent allocates, but no other memory of the host. Therefore the agent listens on the
 * loopback address unless --listen names another one.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/agent_session.h"
#include "base/option_error.h"
#include "wire/crc32.h"

#define AGENT_TCP_PORT "18516"
#define UNIX           "unix:" /* prefix of a unix socket's path in --listen */
#define SECONDS        60u     /* default of --timeout */
#define CPU_SECONDS    3600u   /* limit of the CPU time of a session, s */

static const char usage[] =
    "usage: rocedrill agent [OPTIONS]\n"
    "Lets rocedrill replay --live --agent HOST:PORT use an RDMA device of this host.\n"
    "\n"
    "  -l, --listen [HOST:]PORT  listen on this address (default: 127.0.0.1:" AGENT_TCP_PORT ");\n"
    "                            without --token there is no authentication\n"
    "      --listen unix:PATH    a socket that only this user can connect to\n"
    "  -t, --token FILE          refuse clients that do not send the token, the first line of\n"
    "                            FILE; a client reads its token from the file whose name is\n"
    "                            in the environment variable ROCEDRILL_TOKEN_FILE\n"
    "      --timeout SECONDS     maximum time for a request to arrive, and for the client to read\n"
    "                            the reply (default: 60)\n"
    "  -d, --device NAME         the RDMA device (default: the first one)\n"
    "  -1, --once                end after one session\n"
    "  -h, --help                print this help\n"
    "  -V, --version             print the version\n"
    "exit status: 0, or 2 after an error\n";

struct options {
    char *listen;
    const char *token;
    struct agent_session session;
    bool once;
};

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "rocedrill-agent: %s: %s\n", what, why);
    return 2;
}

/* ---- running a session -------------------------------------------------------------------------
 */

/* Limits the CPU time of this process. Keeps a stricter limit with which the agent was started. */
static void limit_cpu(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_cur > CPU_SECONDS) {
        limit.rlim_cur = CPU_SECONDS;
        setrlimit(RLIMIT_CPU, &limit);
    }
}

/* Serves a session in a child process, which ends with the session. The kernel then frees all
 * memory and RDMA objects of the session, and a crash of the child does not end the agent. Returns
 * 0, or an exit status after an error. */
static int run_session(const struct agent_session *session, int peer, int listener)
{
    pid_t self = getpid(), pid = fork();
    int status;

    if (pid < 0)
        return complain("fork", strerror(errno));
    if (pid == 0) {
        static struct agent_device dev;

        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != self)
            _exit(2);
        close(listener);
        limit_cpu();
        agent_session_serve(session, peer, &dev);
        exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "rocedrill-agent: a session ended: %s\n", strsignal(WTERMSIG(status)));
    return 0;
}

/* ---- listening for clients ---------------------------------------------------------------------
 */

static const char not_a_port[] = "not [HOST:]PORT with a port of 1 to 65535 (see --help)";

/* Returns whether the port is empty or a number out of range: getaddrinfo() would accept such a
 * port. */
static bool port_is_wrong(const char *port)
{
    char *end;
    unsigned long n = strtoul(port, &end, 10);

    return *end == '\0' && (n < 1 || n > 65535);
}

/* Returns a socket that listens at `path` and to which only this user can connect, or -1 after an
 * error message. Removes the socket file that an ended agent left at `path`. */
static int listen_at_path(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;
    mode_t mask;

    if (!*path || strlen(path) >= sizeof(addr.sun_path)) {
        complain(path, "not a path of at most 107 bytes");
        return -1;
    }
    strcpy(addr.sun_path, path);
    if (fd >= 0 && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
        connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0 && errno == ECONNREFUSED)
        unlink(path);
    if (fd >= 0)
        close(fd);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mask = umask(0177);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0 ||
        listen(fd, 4) != 0) {
        complain(path, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    umask(mask);
    return fd;
}

/* Returns a listening socket, or -1 after an error message. `where` is [HOST:]PORT; the function
 * modifies this text. */
static int listen_at(char *where)
{
    char *colon = strrchr(where, ':');
    const char *host = colon ? where : "127.0.0.1";
    const char *port = colon ? colon + 1 : where;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list;
    int on = 1, fd, rc;
    char whole[300];

    if (strncmp(where, UNIX, strlen(UNIX)) == 0)
        return listen_at_path(where + strlen(UNIX));
    snprintf(whole, sizeof(whole), "%s", where);
    if (port_is_wrong(port)) {
        complain(whole, not_a_port);
        return -1;
    }
    if (colon)
        *colon = '\0';
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        where[strlen(where) - 1] = '\0';
        host++;
    }
    rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);
    if (rc != 0) {
        complain(whole, rc == EAI_SERVICE ? not_a_port : gai_strerror(rc));
        return -1;
    }
    fd = socket(list->ai_family, list->ai_socktype, list->ai_protocol);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) != 0 || listen(fd, 4) != 0) {
        complain(whole, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

static bool parse_seconds(const char *text, unsigned *out)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    *out = (unsigned)n;
    return *text >= '0' && *text <= '9' && *end == '\0' && n >= 1 && n <= 86400;
}

static int parse_options(int argc, char **argv, struct options *options)
{
    enum { TIMEOUT = 256 };
    static const struct option longs[] = {
        {"listen", required_argument, NULL, 'l'}, {"device", required_argument, NULL, 'd'},
        {"token", required_argument, NULL, 't'},  {"timeout", required_argument, NULL, TIMEOUT},
        {"once", no_argument, NULL, '1'},         {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
    };
    char text[PATH_MAX];
    bool help;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":l:d:t:1hV", longs, NULL)) != -1) {
        switch (c) {
        case 'l': options->listen = optarg; break;
        case 'd': options->session.device = optarg; break;
        case 't': options->token = optarg; break;
        case TIMEOUT:
            if (!parse_seconds(optarg, &options->session.seconds))
                return complain(optarg, "--timeout takes a number of seconds from 1 to 86400");
            break;
        case '1': options->once = true; break;
        case 'V':
            printf("rocedrill-agent " ROCEDRILL_VERSION "\nCRC-32: %s\nlibpcap: not used\n",
                   roce_crc32_name());
            return fflush(stdout) == 0 ? 0 : complain("standard output", strerror(errno));
        case 'h':
            fputs(usage, stdout);
            return fflush(stdout) == 0 ? 0 : complain("standard output", strerror(errno));
        default:
            help = option_error(text, sizeof(text), c, argv, longs);
            fprintf(stderr, "rocedrill-agent: %s%s\n", text, help ? " (see --help)" : "");
            return 2;
        }
    }
    return optind == argc ? -1 : complain(argv[optind], "unexpected argument (see --help)");
}

int main(int argc, char **argv)
{
    char here[] = "127.0.0.1:" AGENT_TCP_PORT;
    struct options options = {.listen = here, .session.seconds = SECONDS};
    int status = parse_options(argc, argv, &options);
    struct error error;
    int fd;

    if (status >= 0)
        return status;
    if ((options.token && agent_session_token(&options.session, options.token, &error) != 0) ||
        agent_device_find(options.session.device, &error) != 0) {
        fprintf(stderr, "rocedrill-agent: %s\n", error.text);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    fd = listen_at(options.listen);
    if (fd < 0)
        return 2;
    /* Scripts wait for this line before they connect. */
    puts("rocedrill-agent: ready");
    fflush(stdout);
    do {
        int peer = accept(fd, NULL, NULL), on = 1;

        if (peer < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return complain("accept", strerror(errno));
        }
        /* The client waits for each reply. Nagle's algorithm would delay a reply until the ACK of
         * the previous one. */
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        status = run_session(&options.session, peer, fd);
        close(peer);
        if (status > 0)
            return status;
    } while (!options.once);
    close(fd);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rocedrill-agent: lets `rocedrill replay --live` on another host use an RDMA device of this host.
 * It creates QPs, registers memory, posts work requests and reports QPNs, keys and completions. It
 * serves one session at a time over TCP; docs/agent.md describes the protocol.
 *
 * Everybody who can connect to the port can use the device and the agent's own memory, but no other
 * memory. So it listens on the loopback unless --listen says otherwise.
 */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "agent/agent_rpc.h"

#define AGENT_TCP_PORT "18516"
#define IDLE_MS        (10 * 60 * 1000) /* timeout of an idle session, ms */

static const char usage[] =
    "usage: rocedrill agent [OPTIONS]\n"
    "Lets rocedrill replay --live --agent HOST:PORT use an RDMA device of this host.\n"
    "\n"
    "  -l, --listen [HOST:]PORT  address to listen at (default: 127.0.0.1:" AGENT_TCP_PORT ");\n"
    "                            there is no authentication\n"
    "  -d, --device NAME         the RDMA device (default: the first one)\n"
    "  -1, --once                end after one session\n"
    "  -h, --help                print this help\n"
    "  -V, --version             print the version\n"
    "exit status: 0, or 2 after an error\n";

struct options {
    char *listen;
    const char *device;
    bool once;
};

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "rocedrill-agent: %s: %s\n", what, why);
    return 2;
}

/* ---- a session --------------------------------------------------------------------------------
 */

static bool send_bytes(int fd, const char *p, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

static bool send_reply(int fd, json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    bool fine;

    if (text)
        text[len] = '\n'; /* replaces the terminating zero: one TCP segment */
    fine = text && send_bytes(fd, text, len + 1);
    free(text);
    json_decref(answer);
    return fine;
}

/* Executes the complete lines of the buffer, sends the replies and keeps the incomplete rest.
 * Returns false to end the session. */
static bool serve_lines(struct agent_device *dev, int fd, char *buf, size_t *len)
{
    char *line = buf, *end;
    bool fine = true;

    while (fine && (end = memchr(line, '\n', *len - (size_t)(line - buf))) != NULL) {
        fine = send_reply(fd, agent_rpc_answer(dev, line, (size_t)(end - line)));
        line = end + 1;
    }
    *len -= (size_t)(line - buf);
    memmove(buf, line, *len);
    return fine;
}

static void serve_session(int fd, struct agent_device *dev, const char *device)
{
    char *buf = malloc(AGENT_LINE_MAX);
    size_t len = 0;

    if (!buf) {
        send_reply(fd, json_pack("{s:b, s:s}", "ok", 0, "error", "no memory"));
        return;
    }
    if (agent_device_open(dev, device) != 0) {
        fprintf(stderr, "rocedrill-agent: %s\n", dev->error.text);
        send_reply(fd, json_pack("{s:b, s:s}", "ok", 0, "error", dev->error.text));
        free(buf);
        return;
    }
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&wait, 1, IDLE_MS) <= 0)
            break;
        n = recv(fd, buf + len, AGENT_LINE_MAX - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        if (!serve_lines(dev, fd, buf, &len))
            break;
        if (len == AGENT_LINE_MAX) {
            send_reply(fd,
                       json_pack("{s:b, s:s}", "ok", 0, "error", "the request line is too long"));
            break;
        }
    }
    agent_device_close(dev);
    free(buf);
}

/* ---- listening --------------------------------------------------------------------------------
 */

/* Returns whether the port is empty or a number out of range. The resolver would accept both. */
static bool port_is_wrong(const char *port)
{
    char *end;
    unsigned long n = strtoul(port, &end, 10);

    return *end == '\0' && (n < 1 || n > 65535);
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

    snprintf(whole, sizeof(whole), "%s", where);
    if (port_is_wrong(port)) {
        complain(whole, "not [HOST:]PORT with a port of 1 to 65535 (see --help)");
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
        complain(whole, gai_strerror(rc));
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

static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"listen", required_argument, NULL, 'l'}, {"device", required_argument, NULL, 'd'},
        {"once", no_argument, NULL, '1'},         {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
    };
    static char name[] = "rocedrill-agent";
    int c;

    argv[0] = name; /* getopt begins its messages with this name */
    while ((c = getopt_long(argc, argv, "l:d:1hV", longs, NULL)) != -1) {
        switch (c) {
        case 'l': options->listen = optarg; break;
        case 'd': options->device = optarg; break;
        case '1': options->once = true; break;
        case 'V':
            puts("rocedrill-agent " ROCEDRILL_VERSION);
            return fflush(stdout) == 0 ? 0 : complain("standard output", strerror(errno));
        case 'h':
            fputs(usage, stdout);
            return fflush(stdout) == 0 ? 0 : complain("standard output", strerror(errno));
        default: return 2;
        }
    }
    return optind == argc ? -1 : complain(argv[optind], "unrecognized option (see --help)");
}

int main(int argc, char **argv)
{
    static struct agent_device dev;
    char here[] = "127.0.0.1:" AGENT_TCP_PORT;
    struct options options = {.listen = here};
    int status = parse_options(argc, argv, &options);
    int fd;

    if (status >= 0)
        return status;
    signal(SIGPIPE, SIG_IGN);
    fd = listen_at(options.listen);
    if (fd < 0)
        return 2;
    /* Scripts wait for this line. */
    puts("rocedrill-agent: ready");
    fflush(stdout);
    do {
        struct timeval limit = {.tv_sec =
                                    IDLE_MS / 1000}; /* also for a client that reads no reply */
        int peer = accept(fd, NULL, NULL), on = 1;

        if (peer < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return complain("accept", strerror(errno));
        }
        /* The client waits for each reply. Nagle's algorithm would delay a reply until the ACK of
         * the previous one. */
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        serve_session(peer, &dev, options.device);
        close(peer);
    } while (!options.once);
    close(fd);
    return 0;
}

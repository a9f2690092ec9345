/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/netns.h"

static void print_row(const char *state, const char *what, const char *text)
{
    printf("%-5s %-17s %s\n", state, what, text);
}

static void print_remedy(const char *text)
{
    printf("%-23s %s\n", "", text);
}

/* Returns the first number after `word` in a file, or -1 if the file or the word is missing. */
static long number_in(const char *path, const char *word)
{
    FILE *file = fopen(path, "re");
    char line[256];
    long number = -1;

    while (file && number < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, word, strlen(word)) == 0)
            number = strtol(line + strlen(word), NULL, 10);
    if (file)
        fclose(file);
    return number;
}

/* ---- checking for a separate network --------------------------------------------------------- */

/* Enters a new network namespace in a child process. Returns whether that succeeds; if not, `why`
 * has the reason. */
static bool try_net(char *why, size_t len)
{
    int end[2], status = -1;
    ssize_t got;
    pid_t pid;

    snprintf(why, len, "no process can be started");
    if (pipe(end) != 0)
        return false;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        char text[256] = "";
        bool entered = netns_enter(text, sizeof text) == 0;
        ssize_t sent = write(end[1], text, strlen(text));

        _exit(entered && sent == 0 ? 0 : 1);
    }
    close(end[1]);
    if (pid > 0) {
        got = read(end[0], why, len - 1);
        why[got > 0 ? got : 0] = '\0';
        waitpid(pid, &status, 0);
    }
    close(end[0]);
    return status == 0;
}

/* Prints how to change the kernel settings that forbid a user namespace. */
static void print_net_remedies(void)
{
    static const struct {
        const char *path;
        long forbids;
        const char *remedy;
    } sysctls[] = {
        {"/proc/sys/kernel/unprivileged_userns_clone", 0,
         "as root: sysctl kernel.unprivileged_userns_clone=1"},
        {"/proc/sys/user/max_user_namespaces", 0, "as root: sysctl user.max_user_namespaces=10000"},
        {"/proc/sys/user/max_net_namespaces", 0, "as root: sysctl user.max_net_namespaces=10000"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
         "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
    };

    for (size_t i = 0; i < sizeof sysctls / sizeof *sysctls; i++)
        if (number_in(sysctls[i].path, "") == sysctls[i].forbids)
            print_remedy(sysctls[i].remedy);
    if (number_in("/proc/self/status", "Seccomp:") == 2)
        print_remedy("a seccomp filter is active, as in a container: use a profile that allows "
                     "unshare()");
    print_remedy("in a container: run as root with --cap-add NET_RAW; --net also requires "
                 "--cap-add SYS_ADMIN");
}

/* ---- checking for the sandbox of rocedrill -----------------------------------------------------
 */

/* Installs a seccomp filter that allows all calls, in a child process. Returns 0 if that works, or
 * an errno. */
static int try_filter(void)
{
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = 1, .filter = allow};
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0
                  ? errno & 0xFF
                  : 0);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return ECHILD;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

/* Returns whether the program `rocedrill` reports that it was built without libseccomp. Returns
 * false if `rocedrill` is not installed. */
static bool built_without_sandbox(const char *rocedrill)
{
    char text[512] = "";
    int end[2];
    ssize_t got;
    pid_t pid;

    if (pipe(end) != 0)
        return false;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        dup2(end[1], STDOUT_FILENO);
        close(end[0]);
        execlp(rocedrill, "rocedrill", "version", (char *)NULL);
        _exit(1);
    }
    close(end[1]);
    for (size_t len = 0; (got = read(end[0], text + len, sizeof text - 1 - len)) > 0;)
        len += (size_t)got;
    close(end[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return strstr(text, "libseccomp: none") != NULL;
}

/* Prints whether rocedrill check and rocedrill decode can restrict their own system calls (a
 * sandbox). Both commands work without a sandbox, but a hostile capture could do more harm. */
static void print_sandbox(const char *rocedrill)
{
    int error = try_filter();
    char text[192] = "before they read captures, 'rocedrill check' and 'rocedrill decode' drop the "
                     "rights that they do not need";

    if (built_without_sandbox(rocedrill)) {
        print_row(
            "no", "sandbox",
            "rocedrill was built without libseccomp: rocedrill check and decode read captures "
            "with all rights of their user");
        print_remedy(
            "for captures from unknown sources: install libseccomp-dev and build rocedrill again");
        return;
    }
    if (error)
        snprintf(text, sizeof text,
                 "seccomp filters are not available (%s): rocedrill check and decode keep all "
                 "rights of their user while they read captures",
                 strerror(error));
    print_row(error ? "no" : "ok", "sandbox", text);
    if (error)
        print_remedy("for captures from unknown sources: use a kernel with CONFIG_SECCOMP_FILTER, "
                     "or a container profile that allows seccomp()");
}

/* ---- printing the report --------------------------------------------------------------------- */

static void print_memlock(void)
{
    struct rlimit limit;
    char text[96];

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        snprintf(text, sizeof text, "unlimited");
    else
        snprintf(text, sizeof text, "%llu KiB; enough, because the software RNIC pins no memory",
                 (unsigned long long)limit.rlim_cur / 1024);
    print_row("ok", "locked memory", text);
}

/* Returns a text: the reason why this process may not open raw sockets. */
static const char *no_raw_sockets(void)
{
    char line[64] = "";
    unsigned long long effective = 0;
    FILE *file = fopen("/proc/self/status", "re");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "CapEff: %llx", &effective) == 1)
            break;
    if (file)
        fclose(file);
    return effective >> CAP_NET_RAW & 1
               ? "raw sockets are forbidden, for example by a seccomp filter; programs under "
                 "rnic-run do not need them"
               : "CAP_NET_RAW is missing; programs under rnic-run do not need it";
}

int doctor(const char *library, const char *rocedrill)
{
    char why[256];
    bool sockets = netns_may_capture(), net = try_net(why, sizeof why);
    bool ready = sockets && netns_has_link();

    print_row(library ? "ok" : "fails", "library",
              library ? library
                      : "the folder ../lib/rnic next to rnic-run does not contain libibverbs.so.1");
    print_row(sockets ? "ok" : "no", "raw sockets",
              ready ? "programs under rnic-run can use the interfaces of this machine"
              : sockets
                  ? "allowed, but no interface is up: use --net, or run 'ip link set lo up' first"
                  : no_raw_sockets());
    print_row(net       ? "ok"
              : sockets ? "no"
                        : "fails",
              "separate network", net ? "rnic-run --net works" : why);
    if (!net)
        print_net_remedies();
    print_memlock();
    print_sandbox(rocedrill);
    if (!library || (!ready && !net)) {
        printf("verdict: rnic-run cannot run programs here%s\n",
               library ? ", except with --wire shm" : "");
        return 1;
    }
    printf("verdict: programs run %s\n", ready     ? "on the interfaces of this machine"
                                         : sockets ? "with rnic-run --net"
                                                   : "in a separate network for each command");
    return 0;
}

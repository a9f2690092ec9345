/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rnic-run: runs one unmodified verbs program on the software RNIC.
 *
 * rnic-run sets the environment variables that rnic/verbs/config.h describes, and LD_LIBRARY_PATH
 * to the folder of our libibverbs.so.1. If the user may not open raw sockets, it creates a network
 * namespace for the program and its children. The usage text below lists the exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/option_error.h"
#include "impair/impair_rule.h"
#include "pcapng/pcapng.h"
#include "tools/doctor.h"
#include "tools/netns.h"
#include "tools/recording.h"
#include "tools/run_folder.h"
#include "tools/timeline.h"
#include "tools/version.h"
#include "tools/watch.h"

static const char usage[] =
    "usage: rnic-run [OPTIONS] [--] PROGRAM [ARGUMENT...]\n"
    "Runs an RDMA program and its child processes on a software RNIC, without RDMA hardware.\n"
    "\n"
    "  -i, --iface LIST     interfaces that get a device rnic_IFACE: names, which may contain\n"
    "                       * and ?; !NAME excludes an interface\n"
    "  -n, --net            use a separate network: loopback and a link " NETNS_LINK
    " with " NETNS_ADDRESS ".\n"
    "                       The default for users without permission to open interfaces\n"
    "      --wire WIRE      pcap (default): send packets on the interface. shm: exchange packets\n"
    "                       through memory with the user's other programs in this network\n"
    "                       namespace; faster, but reaches no other machine\n"
    "  -w, --write FILE     record the packets that the processes of this rnic-run send, and\n"
    "                       those that they receive from other machines, to FILE (pcapng),\n"
    "                       sorted by time, overwriting FILE; a new FILE is readable by its user\n"
    "                       only.\n"
    "                       While the program runs, each process writes a file of its own in the\n"
    "                       folder FILE.XXXXXX; at the end, rnic-run joins them into FILE\n"
    "      --tap IFACE      also send a copy of each packet on IFACE, for tcpdump and Wireshark\n"
    "      --impair RULES   drop, delay, reorder ... frames: loss=3%,delay=10us..50us\n"
    "                       (--impair help prints the grammar)\n"
    "      --seed NUMBER    make keys, QPNs and impairments repeatable; processes that run one\n"
    "                       after the other may then get equal QPNs\n"
    "      --timeline[=FILE]  print (or write to FILE) for each send work request the times of\n"
    "                       posting, processing by the RNIC, first and last packet,\n"
    "                       acknowledgement, CQE and poll, and percentiles of the intervals\n"
    "      --selfcheck      run `rocedrill check` on the packets while the program runs;\n"
    "                       print each violation immediately; exit with 1 after a violation\n"
    "      --doctor         examine whether this machine or container lets programs run, and\n"
    "                       print what is missing and the remedy; exit with 1 if they cannot\n"
    "  -h, --help           print this help\n"
    "  -V, --version        print the version\n"
    "exit status: that of the program, or 128+N if signal N ended it; 126 or 127 if the program\n"
    "cannot be started; 2 for wrong use. If the program ends with 0: 1 if --selfcheck found a\n"
    "violation; 2 if an output cannot be written, if packets or rows could not be recorded or\n"
    "judged, or if the program of --selfcheck opened no device; 126 or 127 if --selfcheck cannot\n"
    "start rocedrill. A program that opened a device and sent no packet keeps its status\n";

struct options {
    const char *ifaces, *record, *impair, *seed, *timeline_rows, *wire, *tap;
    bool own_net, selfcheck, timeline, doctor;
    char **program;
};

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "rnic-run: %s: %s\n", what, why);
}

/* Returns whether the options name the same file for the recording and for the timeline. */
static bool same_file(const struct options *options)
{
    struct stat a, b;
    return strcmp(options->record, options->timeline_rows) == 0 ||
           (stat(options->record, &a) == 0 && stat(options->timeline_rows, &b) == 0 &&
            S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* Prints an error that getopt_long() detected. `c` is its result. Returns the exit status. */
static int complain_of_option(int c, char *const *argv, const struct option *longs)
{
    char text[PATH_MAX];
    bool help = option_error(text, sizeof(text), c, argv, longs);
    fprintf(stderr, "rnic-run: %s%s\n", text, help ? " (see rnic-run --help)" : "");
    return 2;
}

/* Parses the command line. Returns 0, or the exit status. */
static int parse(int argc, char **argv, struct options *options, bool *done)
{
    enum { IMPAIR = 256, SEED, SELFCHECK, TIMELINE, WIRE, TAP, DOCTOR };
    static const struct option longs[] = {
        {"iface", required_argument, NULL, 'i'},
        {"net", no_argument, NULL, 'n'},
        {"write", required_argument, NULL, 'w'},
        {"impair", required_argument, NULL, IMPAIR},
        {"seed", required_argument, NULL, SEED},
        {"selfcheck", no_argument, NULL, SELFCHECK},
        {"timeline", optional_argument, NULL, TIMELINE},
        {"tap", required_argument, NULL, TAP},
        {"wire", required_argument, NULL, WIRE},
        {"doctor", no_argument, NULL, DOCTOR},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:i:nw:hV", longs, NULL)) != -1) {
        switch (c) {
        case 'i': options->ifaces = optarg; break;
        case 'n': options->own_net = true; break;
        case 'w': options->record = optarg; break;
        case IMPAIR:
            options->impair = optarg;
            if (strcmp(optarg, "help") != 0)
                break;
            impair_print_help(stdout);
            *done = true;
            return 0;
        case SEED: options->seed = optarg; break;
        case SELFCHECK: options->selfcheck = true; break;
        case TIMELINE:
            options->timeline = true;
            options->timeline_rows = optarg;
            break;
        case TAP: options->tap = optarg; break;
        case WIRE: options->wire = optarg; break;
        case DOCTOR:
            options->doctor = true;
            *done = true;
            return 0;
        case 'h':
            fputs(usage, stdout);
            *done = true;
            return 0;
        case 'V':
            print_version("rnic-run");
            *done = true;
            return 0;
        default: return complain_of_option(c, argv, longs);
        }
    }
    options->program = argv + optind;
    if (!*options->program) {
        fputs("rnic-run: no program given. Try 'rnic-run --help'.\n", stderr);
        return 2;
    }
    if (options->ifaces && !*options->ifaces) {
        complain("--iface", "which interfaces?");
        return 2;
    }
    if (options->wire && strcmp(options->wire, "pcap") != 0 && strcmp(options->wire, "shm") != 0) {
        complain(options->wire, "--wire takes pcap or shm");
        return 2;
    }
    if (options->seed) {
        char *end;
        errno = 0;
        (void)strtoull(options->seed, &end, 0);
        if (errno || end == options->seed || *end || *options->seed == '-') {
            complain(options->seed, "--seed takes a number");
            return 2;
        }
    }
    if (options->record && options->timeline_rows && same_file(options)) {
        complain(options->record, "cannot be both the recording and the timeline");
        return 2;
    }
    return 0;
}

/* ---- finding our files ----------------------------------------------------------------------- */

/* Writes to `path` the path FOLDER/../`below`, where FOLDER is the folder of the rnic-run program.
 * Returns true, or false if the path is too long. */
static bool beside(char *path, const char *below)
{
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (len < 0)
        return false;
    path[len] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    size_t used = (size_t)(slash - path);
    return (size_t)snprintf(slash, PATH_MAX - used, "/%s", below) < PATH_MAX - used;
}

static void find_rocedrill(char *path)
{
    if (!beside(path, "rocedrill"))
        snprintf(path, PATH_MAX, "rocedrill");
}

static bool find_library(char *folder)
{
    static const char *const below[] = {"../lib/rnic", "../" RNIC_INSTALL_LIBDIR "/rnic"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        char path[PATH_MAX], file[PATH_MAX + 32];
        if (!beside(path, below[i]))
            continue;
        snprintf(file, sizeof file, "%s/libibverbs.so.1", path);
        if (access(file, R_OK) == 0 && realpath(path, folder))
            return true;
    }
    return false;
}

/* Returns whether the program runs with more rights than its user (setuid or capabilities). Such a
 * program ignores LD_LIBRARY_PATH (ld.so(8)), so it loads the system's library and finds no
 * device. */
static bool is_privileged(const char *program)
{
    char path[PATH_MAX];
    const char *dirs = getenv("PATH");
    bool found = false;
    if (strchr(program, '/')) {
        found = snprintf(path, sizeof path, "%s", program) < PATH_MAX;
    } else {
        while (dirs && *dirs && !found) {
            int len = (int)strcspn(dirs, ":");
            found = snprintf(path, sizeof path, "%.*s/%s", len, dirs, program) < PATH_MAX &&
                    access(path, X_OK) == 0;
            dirs += len + (dirs[len] == ':');
        }
    }
    struct stat st;
    if (!found || stat(path, &st) < 0)
        return false;
    return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
           (st.st_mode & S_ISGID && st.st_gid != getegid()) ||
           getxattr(path, "security.capability", NULL, 0) > 0;
}

/* ---- running the program --------------------------------------------------------------------- */

static int set_environment(const struct options *options, const char *library, const char *record,
                           const char *timeline, const char *drops)
{
    char path[2 * PATH_MAX];
    const char *old = getenv("LD_LIBRARY_PATH");
    int len =
        snprintf(path, sizeof path, "%s%s%s", library, old && *old ? ":" : "", old ? old : "");
    if (len < 0 || (size_t)len >= sizeof path) {
        complain("LD_LIBRARY_PATH", "too long");
        return 2;
    }
    /* Our library is the last one in LD_PRELOAD, because the library of a sanitizer must be the
     * first. A space in LD_PRELOAD separates two names. So if the path of our folder contains a
     * space, only the file name is given, and the dynamic linker finds the file through
     * LD_LIBRARY_PATH. */
    char preload[2 * PATH_MAX];
    bool by_name = strchr(library, ' ') != NULL;
    old = getenv("LD_PRELOAD");
    len = snprintf(preload, sizeof preload, "%s%s%s%slibrnic-rdmacm.so", old ? old : "",
                   old && *old ? ":" : "", by_name ? "" : library, by_name ? "" : "/");
    if (len < 0 || (size_t)len >= sizeof preload) {
        complain("LD_PRELOAD", "too long");
        return 2;
    }
    const char *const set[][2] = {
        {"LD_LIBRARY_PATH", path},        {"LD_PRELOAD", preload},
        {"RNIC_IFACES", options->ifaces}, {"RNIC_IMPAIR", options->impair},
        {"RNIC_SEED", options->seed},     {"RNIC_RECORD", record},
        {"RNIC_TIMELINE", timeline},      {"RNIC_WIRE", options->wire},
        {"RNIC_TAP", options->tap},       {"RNIC_IMPAIR_TALLY", drops},
    };
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (set[i][1] && setenv(set[i][0], set[i][1], 1) < 0) {
            complain(set[i][0], strerror(errno));
            return 2;
        }
    return 0;
}

static int start(char **program)
{
    execvp(*program, program);
    int error = errno;
    complain(*program, strerror(error));
    return error == ENOENT ? 127 : 126;
}

static volatile sig_atomic_t child;

/* Passes on to the program a signal that another process sent. Does not pass on a signal that the
 * kernel sent for a key (Ctrl-C): the program receives that signal from the kernel, too. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)child, sig);
}

static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

/* Runs a program as a child and waits for its end. Returns its exit status as a shell would: 128 +
 * N if signal N ended it. */
static int run(char **program)
{
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        /* If rnic-run is killed, end the program, too: without rnic-run, the recording would be
         * neither checked nor joined to one file. */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != self)
            _exit(128 + SIGTERM);
        _exit(start(program));
    }
    if (pid < 0) {
        complain(*program, strerror(errno));
        return 126;
    }
    child = pid;
    catch_signals();
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Creates or truncates the file of the recording. A new file can be read only by its owner, because
 * it will contain data of the programs. Stores its absolute path in `path`, because the program may
 * change its working directory. */
static bool prepare_record(const char *name, char *path)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || close(fd) != 0 || !realpath(name, path)) {
        complain(name, strerror(errno));
        return false;
    }
    return true;
}

static bool begin_recording(const char *path, struct run_folder *folder)
{
    struct error error;
    if (recording_begin(path, folder, &error) == 0)
        return true;
    fprintf(stderr, "rnic-run: %s\n", error.text);
    return false;
}

static bool end_recording(const char *path, struct run_folder *folder, const char *comment)
{
    struct error error;
    bool left, whole = run_folder_is_whole(folder, "--write", "packets", "");
    if (recording_end(path, folder, comment, &left, &error) != 0) {
        fprintf(stderr, "rnic-run: %s; the recordings of the processes are in %s\n", error.text,
                folder->path);
        return false;
    }
    if (left)
        fprintf(stderr, "rnic-run: %s: a process is still recording; its later packets are in %s\n",
                path, folder->path);
    return whole;
}

static bool make_scratch(struct run_folder *folder)
{
    struct error error;
    if (run_folder_scratch(folder, &error) == 0)
        return true;
    fprintf(stderr, "rnic-run: %s\n", error.text);
    return false;
}

/* Creates a folder with an empty file, to which the programs write the times of their send
 * requests. Returns whether that worked. */
static bool make_times(struct run_folder *folder, char *path)
{
    if (!make_scratch(folder))
        return false;
    snprintf(path, PATH_MAX, "%.*s/times", (int)(PATH_MAX - sizeof "/times"), folder->path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        complain(path, strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

/* Creates a folder with the file in which the frames that --impair drops are counted. Returns
 * whether that worked. */
static bool make_drops(struct run_folder *folder, char *path)
{
    if (!make_scratch(folder))
        return false;
    snprintf(path, PATH_MAX, "%.*s/tally", (int)(PATH_MAX - sizeof "/tally"), folder->path);
    return true;
}

/* Writes to `text` the comment that the recording gets if --impair is used. Returns `text`, or NULL
 * without --impair. */
static const char *describe_impair(const struct options *options, char *text, size_t size)
{
    if (!options->impair)
        return NULL;
    snprintf(text, size, "rnic-run ran with --impair %s", options->impair);
    return text;
}

/* Prints how many frames --impair dropped. Returns the final comment of the recording, in `text`,
 * or NULL without --impair. */
static const char *end_drops(const struct options *options, struct run_folder *folder, char *text,
                             size_t size)
{
    uint64_t cnt = *folder->path ? atomic_load(&folder->tally.tally->lost) : 0;
    run_folder_remove(folder);
    if (cnt == 0)
        return describe_impair(options, text, size);
    snprintf(text, size, PCAPNG_RNIC_DROPPED "%" PRIu64 " packet%s because of --impair %s", cnt,
             cnt == 1 ? "" : "s", options->impair);
    fprintf(stderr, "rnic-run: dropped %" PRIu64 " packet%s because of --impair\n", cnt,
            cnt == 1 ? "" : "s");
    return text;
}

/* Opens the output for the rows of the timeline. */
static bool open_rows(const struct options *options, FILE **rows)
{
    *rows = options->timeline_rows ? fopen(options->timeline_rows, "we") : stdout;
    if (!*rows)
        complain(options->timeline_rows, strerror(errno));
    return *rows != NULL;
}

/* Creates the folder for recordings and starts the validator, `rocedrill check`. */
static struct watch *start_watch(struct run_folder *folder, const char *copy, const char *comment)
{
    char path[PATH_MAX];
    if (!make_scratch(folder))
        return NULL;
    find_rocedrill(path);
    struct watch *watch = watch_start(folder, path, copy, comment);
    if (!watch)
        complain("--selfcheck", strerror(errno));
    return watch;
}

/* Ends the validator. `comment`: final comment of the copy, or NULL. Returns 0 if there was no
 * violation, or if the programs used a device without packets; 1 if there was a violation; 2 if no
 * program opened a device, or if not all packets were judged. */
static int end_watch(struct watch *watch, const struct run_folder *folder, const char *copy,
                     const char *comment)
{
    struct watch_result result;
    watch_end(watch, comment, &result);
    bool whole = run_folder_is_whole(folder, "--selfcheck", "packets", " and were not judged");
    if (result.nothing && whole && !result.unreadable) {
        complain("--selfcheck", result.opened
                                    ? "no RoCE packet was recorded, so nothing was judged"
                                    : "no packet was recorded: the program opened no device");
        if (result.opened)
            result.verdict = 0;
    }
    if (result.unreadable)
        fprintf(stderr,
                "rnic-run: --selfcheck: %u recordings could not be read, so their packets were not "
                "judged\n",
                result.unreadable);
    if (!result.copied)
        complain(copy, "cannot be written");
    if (result.verdict)
        return result.verdict;
    return result.copied && whole && !result.unreadable ? 0 : 2;
}

/* Returns whether an interface is up, so that the program finds a device. Otherwise prints the
 * reason, because the program cannot know it. */
static bool check_link(void)
{
    if (netns_has_link())
        return true;
    fputs("rnic-run: no interface is up, so the program finds no device: use --net, or run 'ip "
          "link set lo up' first\n",
          stderr);
    return false;
}

/* Checks the rules of --impair before the program starts. Without this check, only the device would
 * report an error in the rules, and a program may open no device. */
static bool check_impair(const struct options *options)
{
    struct impair_rules rules = {.cnt = 0};
    struct error error;

    if (!options->impair || impair_rules_add(&rules, options->impair, IMPAIR_LIVE, &error) == 0)
        return true;
    complain("--impair", error.text);
    return false;
}

/* Returns whether the interfaces in --iface exist in the network namespace of the program. Patterns
 * with * or ? are not checked. */
static bool check_ifaces(const struct options *options)
{
    const char *at = options->ifaces ? options->ifaces : "";
    for (size_t len; *(at += strspn(at, ", \t")); at += len) {
        char name[64];
        len = strcspn(at, ", \t");
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        if (*name == '!' || strpbrk(name, "*?"))
            continue;
        if (len >= IF_NAMESIZE || if_nametoindex(name) == 0) {
            complain(name,
                     options->own_net
                         ? "no such interface in the separate network, which has lo and " NETNS_LINK
                         : "no such interface (ip link lists them)");
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {.ifaces = NULL};
    char library[PATH_MAX], rocedrill[PATH_MAX], record[PATH_MAX] = "", times[PATH_MAX] = "",
                                                 drops[PATH_MAX] = "", why[256];
    struct run_folder folder = {.path = ""}, times_folder = {.path = ""},
                      drops_folder = {.path = ""};
    struct watch *watch = NULL;
    FILE *rows = NULL;
    bool done = false;
    int status = parse(argc, argv, &options, &done);
    if (options.doctor) {
        find_rocedrill(rocedrill);
        status = doctor(find_library(library) ? library : NULL, rocedrill);
    }
    if (done && fflush(stdout) != 0) {
        complain("standard output", strerror(errno));
        return 2;
    }
    if (status != 0 || done)
        return status;
    if (!find_library(library)) {
        complain("libibverbs.so.1", "not found in ../lib/rnic, relative to the folder of rnic-run");
        return 2;
    }
    if (is_privileged(*options.program)) {
        complain(*options.program, "the program has setuid, setgid or file capabilities and "
                                   "therefore ignores LD_LIBRARY_PATH: run a copy without them");
        return 2;
    }
    if (!check_impair(&options))
        return 2;
    bool shm = options.wire && strcmp(options.wire, "shm") == 0;
    if (options.own_net || ((!shm || options.tap) && !netns_may_capture())) {
        if (options.ifaces && !options.own_net) {
            complain(options.ifaces, "opening an interface requires CAP_NET_RAW; without -i the "
                                     "program runs in a separate network");
            return 2;
        }
        if (netns_enter(why, sizeof why) < 0) {
            fprintf(stderr,
                    "rnic-run: a separate network: %s; for the remedies, run rnic-run --doctor%s\n",
                    why, options.tap ? "" : "; rnic-run --wire shm needs no separate network");
            return 2;
        }
        if (!options.own_net)
            fputs(
                "rnic-run: note: no permission to open interfaces, so the program runs in a "
                "separate network, which only its child processes share. To connect two programs, "
                "start both in one command: rnic-run -n -- sh -c 'SERVER & until CLIENT; do sleep "
                "1; done; wait'. With -n, rnic-run does not print this line\n",
                stderr);
        if (!options.ifaces)
            options.ifaces =
                "!" NETNS_LINK "-peer"; /* all interfaces except the peer end of the veth link */
    }
    bool linked = shm || options.ifaces || check_link();
    if (!check_ifaces(&options))
        return 2;
    if (options.tap && if_nametoindex(options.tap) == 0) {
        complain(options.tap, "--tap: no such interface");
        return 2;
    }
    /* Output files are created last, so that an earlier error neither truncates an existing file
     * nor leaves a new one. */
    if ((options.timeline && !open_rows(&options, &rows)) ||
        (options.record && !prepare_record(options.record, record)) ||
        (options.record && !options.selfcheck && !begin_recording(record, &folder)) ||
        (options.timeline && !make_times(&times_folder, times)) ||
        (options.impair && !make_drops(&drops_folder, drops))) {
        run_folder_remove(&folder);
        run_folder_remove(&times_folder);
        return 2;
    }
    const char *copy = options.record ? record : NULL;
    char comment[512];
    const char *impaired = describe_impair(&options, comment, sizeof comment);
    if (options.selfcheck && !(watch = start_watch(&folder, copy, impaired)))
        status = 2;
    else
        status = set_environment(&options, library, *folder.path ? folder.path : NULL,
                                 *times ? times : NULL, *drops ? drops : NULL);
    if (status == 0 && linked && !watch && !options.record && !options.timeline && !options.impair)
        return start(options.program);
    if (status == 0)
        status = run(options.program);
    if (!linked)
        check_link(); /* repeat the message about the link below the output of the program */
    impaired = end_drops(&options, &drops_folder, comment, sizeof comment);
    int verdict = watch ? end_watch(watch, &folder, copy, impaired) : 0;
    if (options.timeline &&
        !timeline_print(times, times_folder.tally.tally->utc_offset, rows, stdout)) {
        complain(times, strerror(errno));
        status = status ? status : 2;
    }
    if (options.timeline && !run_folder_is_whole(&times_folder, "--timeline", "rows", ""))
        status = status ? status : 2;
    if (options.selfcheck)
        run_folder_remove(&folder);
    else if (*folder.path && !end_recording(record, &folder, impaired))
        status = status ? status : 2;
    run_folder_remove(&times_folder);
    if ((rows && (fflush(rows) != 0 || ferror(rows))) || fflush(stdout) != 0 || ferror(stdout)) {
        complain(options.timeline_rows ? options.timeline_rows : "stdout", strerror(errno));
        status = status ? status : 2;
    }
    return status != 0 ? status : verdict;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rnic-info: prints the devices that programs find on this machine, with their GIDs. Also prints
 * the state that each process with an open device reports (verbs/info_report.c). The output has one
 * line for each object, in the format of rdma(8), or is JSON (info_json.c). Exit status: 0; 1 if
 * something could not be determined; 2 for wrong use.
 */
#include "info.h"
#include "tools/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: rnic-info [--json] [--watch[=SECONDS]] [link | resource | statistic | limits]\n"
    "  link       devices of the software RNIC on this host, their GIDs and the processes that use "
    "them\n"
    "  resource   QPs of these processes, and number of their objects\n"
    "  statistic  counters of these processes that are not 0\n"
    "  limits     maximum number of objects of one device\n"
    "  --json     prints all of this as one JSON object (rnic-info.schema.json)\n"
    "  --watch    prints again every second, or every SECONDS, until Ctrl-C; JSON as one line "
    "each\n"
    "  --version  version of this program\n"
    "Lists only processes of the same user (root: all users) in the same network namespace.\n";

static void print_iface(const struct rnic_iface *iface)
{
    printf("rnic_%s: %s, interface MTU %" PRIu32 ", path MTU %" PRIu32
           ", MAC %02x:%02x:%02x:%02x:%02x:%02x\n",
           iface->name, iface->up ? "up" : "down", iface->mtu, iface->path_mtu, iface->mac[0],
           iface->mac[1], iface->mac[2], iface->mac[3], iface->mac[4], iface->mac[5]);
    for (unsigned i = 0; i < iface->gid_cnt && i < RNIC_GID_MAX; i++) {
        const uint8_t *gid = iface->gid[i].gid;
        printf("  GID %u %s ", i, iface->gid[i].type == RNIC_GID_ROCE_V2 ? "RoCEv2" : "RoCEv1");
        for (unsigned b = 0; b < 16; b += 2)
            printf("%s%02x%02x", b ? ":" : "", gid[b], gid[b + 1]);
        printf("\n");
    }
}

/* ---- printing processes ---------------------------------------------------------------------- */

static void print_who(const struct rnic_process *process, const char *comm)
{
    printf("link rnic_%s/1 pid %d comm %s", process->iface, process->pid, comm);
}

static void print_resource(const struct rnic_process *process, const char *comm, char *text)
{
    unsigned contexts = 0, qps = 0, cqs = 0, srqs = 0;
    char *at = text;
    char *line = info_next_line(&at, "res");
    struct info_qp qp;
    if (line && sscanf(line, "%u %u %u %u", &contexts, &qps, &cqs, &srqs) == 4) {
        print_who(process, comm);
        printf(" ctx %u qp %u cq %u srq %u\n", contexts, qps, cqs, srqs);
    }
    while (info_next_qp(&at, &qp)) {
        print_who(process, comm);
        printf(" lqpn 0x%06x type %s state %s", qp.number, qp.type, qp.state);
        if (qp.path_mtu)
            printf(" rqpn 0x%06x path-mtu %u", qp.peer, qp.path_mtu);
        printf(" sq-psn %u rq-psn %u send-wr %u recv-wr %u\n", qp.sq_psn, qp.rq_psn, qp.send_wr,
               qp.recv_wr);
    }
}

/* Prints the counters that are not 0. */
static void print_statistic(const struct rnic_process *process, const char *comm, char *text)
{
    char *at = text, *line;
    print_who(process, comm);
    while ((line = info_next_line(&at, "counter")) != NULL) {
        const char *value = strchr(line, ' ');
        if (value && strcmp(value, " 0") != 0)
            printf(" %s", line);
    }
    printf("\n");
}

static void print_process(const struct rnic_process *process, const char *comm, char *text)
{
    (void)text;
    print_who(process, comm);
    printf("\n");
}

/* ---- printing the limits of a device --------------------------------------------------------- */

static void print_limit(const char *name, uint64_t value)
{
    printf("%s %" PRIu64 "\n", name, value);
}

static int print_limits(void)
{
    return info_limits(print_limit);
}

static int print_link(void)
{
    int devices = info_devices(print_iface);
    return info_processes(print_process) || devices;
}

static int print_resources(void)
{
    return info_processes(print_resource);
}

static int print_statistics(void)
{
    return info_processes(print_statistic);
}

static int print_info_version(void)
{
    print_version("rnic-info");
    return 0;
}

static int print_usage(void)
{
    fputs(usage, stdout);
    return 0;
}

/* ---- reading the command line ---------------------------------------------------------------- */

/* Words of the command line that select an output, and the functions that print the outputs. */
static const struct {
    const char *word;
    int (*print)(void);
} all[] = {{"link", print_link},
           {"resource", print_resources},
           {"statistic", print_statistics},
           {"limits", print_limits},
           {"-h", print_usage},
           {"--help", print_usage},
           {"-V", print_info_version},
           {"--version", print_info_version}};

/* Returns the index of a word in `all`, or -1. */
static int find_word(const char *word)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(word, all[i].word) == 0)
            return (int)i;
    return -1;
}

struct options {
    const char *word; /* what to print: "link", "resource" and so on */
    bool json;
    double interval; /* time between two outputs of --watch, s; 0 without --watch */
};

/* Reads the part of --watch after its name: "" or "=SECONDS". Returns the number of seconds, 1 for
 * "", and 0 for any other text. */
static double read_interval(const char *arg)
{
    char *end;
    double seconds;
    if (!*arg)
        return 1;
    seconds = strtod(arg + 1, &end);
    return *arg == '=' && !*end && seconds >= 0.01 && seconds <= 86400 ? seconds : 0;
}

/* Reads the command line into *options. Returns 0, or 2 after an error message. */
static int read_options(int argc, char **argv, struct options *options)
{
    const char *bad = NULL, *why = "";
    *options = (struct options){.word = NULL};
    for (int i = 1; i < argc && !bad; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (strncmp(argv[i], "--watch", 7) == 0) {
            options->interval = read_interval(argv[i] + 7);
            if (options->interval == 0)
                bad = argv[i], why = "not --watch or --watch=SECONDS";
        } else if (argv[i][0] == '-' && find_word(argv[i]) < 0) {
            bad = argv[i], why = "unknown option";
        } else if (options->word) {
            bad = argv[i], why = "only one of link, resource, statistic and limits is allowed";
        } else
            options->word = argv[i];
    }
    if (!bad && options->json && options->word)
        bad = options->word, why = "--json prints everything";
    if (bad)
        fprintf(stderr, "rnic-info: %s: %s. Try 'rnic-info --help'.\n", bad, why);
    return bad ? 2 : 0;
}

static void pause_for(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

/* Begins the next output of --watch: clears a terminal; in a file, separates the outputs by an
 * empty line. */
static void begin_again(void)
{
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    else
        putchar('\n');
}

static int print_error(void)
{
    fprintf(stderr, "rnic-info: standard output: %s\n", strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    struct options options;
    const char *what;
    int (*print)(void);
    int word;
    int result = read_options(argc, argv, &options);
    if (result != 0)
        return result;
    what = options.word ? options.word : "link";
    word = find_word(what);
    if (word < 0) {
        fprintf(stderr, "rnic-info: %s: %s. Try 'rnic-info --help'.\n", what,
                "not link, resource, statistic or limits");
        return 2;
    }
    print = options.json ? info_json : all[word].print;
    result = print();
    while (options.interval > 0) {
        if (fflush(stdout) != 0)
            return print_error();
        pause_for(options.interval);
        if (!options.json)
            begin_again();
        result = print();
    }
    if (fclose(stdout) != 0)
        return print_error();
    return result;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rnic-info: prints the devices that programs find on this machine, with their GIDs. Also prints
 * the state that each process with an open device reports (verbs/info_report.c). One line for each
 * object, as rdma(8) prints it. Exit status: 0; 1 if something could not be determined; 2 for wrong
 * use.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "port/live/live.h"
#include "port/shared/process.h"

static const char usage[] =
    "usage: rnic-info [link | resource | statistic | limits]\n"
    "  link       devices of the software RNIC on this host, their GIDs and the processes that use "
    "them\n"
    "  resource   QPs of these processes, and number of their objects\n"
    "  statistic  counters of these processes that are not 0\n"
    "  limits     maximum number of objects of one device\n"
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

static int print_devices(void)
{
    struct rnic_iface *list = NULL;
    struct error why = {""};
    size_t cnt = 0;
    int result = rnic_iface_list(&list, &cnt, &why);
    if (result < 0) {
        fprintf(stderr, "rnic-info: cannot list the interfaces: %s\n",
                why.text[0] ? why.text : strerror(-result));
        return 1;
    }
    for (size_t i = 0; i < cnt; i++)
        if (list[i].path_mtu > 0)
            print_iface(&list[i]);
    free(list);
    return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Returns the rest of the next line that begins with `word`, searched from *at, or NULL if there is
 * none. Moves *at to the line after it. Ends each line with a zero byte. */
static char *next_line(char **at, const char *word)
{
    size_t len = strlen(word);
    while (**at) {
        char *line = *at;
        char *end = line + strcspn(line, "\n");
        *at = end + (*end == '\n');
        if ((size_t)(end - line) > len && strncmp(line, word, len) == 0 && line[len] == ' ') {
            *end = 0;
            return line + len + 1;
        }
    }
    return NULL;
}

static void print_who(const struct rnic_process *process, const char *comm)
{
    printf("link rnic_%s/1 pid %d comm %s", process->iface, process->pid, comm);
}

static void print_resource(const struct rnic_process *process, const char *comm, char *text)
{
    unsigned contexts = 0, qps = 0, cqs = 0, srqs = 0;
    char *at = text;
    char *line = next_line(&at, "res");
    if (line && sscanf(line, "%u %u %u %u", &contexts, &qps, &cqs, &srqs) == 4) {
        print_who(process, comm);
        printf(" ctx %u qp %u cq %u srq %u\n", contexts, qps, cqs, srqs);
    }
    while ((line = next_line(&at, "qp")) != NULL) {
        char type[16], state[16];
        unsigned number[7];
        if (sscanf(line, "%u %15s %15s %u %u %u %u %u %u", &number[0], type, state, &number[1],
                   &number[2], &number[3], &number[4], &number[5], &number[6]) != 9)
            continue;
        print_who(process, comm);
        printf(" lqpn %u type %s state %s", number[0], type, state);
        if (number[6])
            printf(" rqpn %u path-mtu %u", number[1], number[6]);
        printf(" sq-psn %u rq-psn %u send-wr %u recv-wr %u\n", number[2], number[3], number[4],
               number[5]);
    }
}

/* Prints the counters that are not 0. */
static void print_statistic(const struct rnic_process *process, const char *comm, char *text)
{
    char *at = text, *line;
    print_who(process, comm);
    while ((line = next_line(&at, "counter")) != NULL) {
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

typedef void print_fn(const struct rnic_process *process, const char *comm, char *text);

static int print_processes(print_fn *print)
{
    struct rnic_process *list = NULL;
    size_t cnt = 0;
    int result = rnic_process_list(&list, &cnt);
    if (result < 0) {
        fprintf(stderr, "rnic-info: cannot list the processes: %s\n", strerror(-result));
        return 1;
    }
    for (size_t i = 0; i < cnt; i++) {
        char *at = list[i].text;
        const char *comm = next_line(&at, "comm");
        print(&list[i], comm ? comm : "-", comm ? at : list[i].text);
    }
    rnic_process_free(list, cnt);
    return 0;
}

/* ---- limits of a device ---------------------------------------------------------------------- */

static int print_limits(void)
{
    const struct rnic_attr attr = {.gid = {{.gid = {[0] = 0xfe, [1] = 0x80, [15] = 1}}},
                                   .gid_cnt = 1,
                                   .limits = {.max_mcast_grp = RNIC_LIVE_GROUPS}};
    struct rnic *rnic = rnic_new(&attr);
    struct rnic_limits is;
    if (!rnic) {
        fputs("rnic-info: no memory\n", stderr);
        return 1;
    }
    rnic_limits_get(rnic, &is);
    rnic_del(rnic);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
#define ROW(member) {#member, is.member}
        ROW(max_mr_size),
        ROW(max_pd),
        ROW(max_mr),
        ROW(max_mw),
        ROW(max_cq),
        ROW(max_cqe),
        ROW(max_qp),
        ROW(max_qp_wr),
        ROW(max_sge),
        ROW(max_sge_rd),
        ROW(max_inline),
        ROW(max_qp_rd_atom),
        ROW(max_ah),
        ROW(max_srq),
        ROW(max_srq_wr),
        ROW(max_srq_sge),
        ROW(max_xrcd),
        ROW(max_mcast_grp),
        ROW(max_pkeys),
        ROW(max_mcast_qp_attach),
        ROW(max_qp_init_rd_atom),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("%s %" PRIu64 "\n", rows[i].name, rows[i].value);
    return 0;
}

static int print_link(void)
{
    int devices = print_devices();
    return print_processes(print_process) || devices;
}

static int print_resources(void)
{
    return print_processes(print_resource);
}

static int print_statistics(void)
{
    return print_processes(print_statistic);
}

static int print_version(void)
{
    puts("rnic-info " RNIC_VERSION);
    return 0;
}

static int print_usage(void)
{
    fputs(usage, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*print)(void);
    } all[] = {
        {"link", print_link},     {"resource", print_resources}, {"statistic", print_statistics},
        {"limits", print_limits}, {"-h", print_usage},           {"--help", print_usage},
        {"-V", print_version},    {"--version", print_version}};
    const char *what = argc > 1 ? argv[1] : "link";
    int (*print)(void) = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(what, all[i].word) == 0)
            print = all[i].print;
    if (!print || argc > 2) {
        fprintf(stderr, "rnic-info: %s: %s. Try 'rnic-info --help'.\n", print ? argv[2] : what,
                print ? "only one argument is allowed" : "not link, resource, statistic or limits");
        return 2;
    }
    int result = print();
    if (fclose(stdout) != 0) {
        fprintf(stderr, "rnic-info: standard output: %s\n", strerror(errno));
        return 1;
    }
    return result;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/netns.h"

int info_devices(void (*print)(const struct rnic_iface *iface))
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
    /* In the separate network namespace of rnic-run, the link has two ends. Programs have a device
     * for only one of them. */
    for (size_t i = 0; i < cnt; i++)
        if (list[i].path_mtu > 0 && strcmp(list[i].name, NETNS_LINK "-peer") != 0)
            print(&list[i]);
    free(list);
    return 0;
}

char *info_next_line(char **at, const char *word)
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

bool info_next_qp(char **at, struct info_qp *qp)
{
    char *line;
    while ((line = info_next_line(at, "qp")) != NULL)
        if (sscanf(line, "%u %15s %15s %u %u %u %u %u %u", &qp->number, qp->type, qp->state,
                   &qp->peer, &qp->sq_psn, &qp->rq_psn, &qp->send_wr, &qp->recv_wr,
                   &qp->path_mtu) == 9)
            return true;
    return false;
}

int info_processes(info_process_fn *print)
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
        const char *comm = info_next_line(&at, "comm");
        print(&list[i], comm ? comm : "-", comm ? at : list[i].text);
    }
    rnic_process_free(list, cnt);
    return 0;
}

int info_limits(void (*print)(const char *name, uint64_t value))
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
        print(rows[i].name, rows[i].value);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Info report: state of a device in this process, for rnic-info. One line for each item, words
 * separated by blanks:
 *
 *   comm NAME
 *   counter NAME VALUE             of the device, then of its port
 *   res CONTEXTS QPS CQS SRQS
 *   qp QPN TYPE STATE PEER-QPN SQ-PSN RQ-PSN SEND-WRS RECV-WRS PATH-MTU
 */
#include "verbs/objects.h"

#include <errno.h>

static const char *type_name(enum ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC: return "RC";
    case IBV_QPT_UC: return "UC";
    case IBV_QPT_UD: return "UD";
    case IBV_QPT_RAW_PACKET: return "RAW_PACKET";
    case IBV_QPT_XRC_SEND: return "XRC_INI";
    case IBV_QPT_XRC_RECV: return "XRC_TGT";
    default: return "UNKNOWN";
    }
}

static void print_qp_info(const struct vqp *qp, FILE *out)
{
    struct rnic_qp_attr attr;
    struct rnic_qp_view view;
    rnic_qp_query(qp->rnic, &attr, NULL);
    rnic_qp_view(qp->rnic, &view);
    bool connected = view.state >= RNIC_QPS_RTR && qp->ibv.qp_type != IBV_QPT_UD &&
                     qp->ibv.qp_type != IBV_QPT_RAW_PACKET;
    fprintf(out, "qp %u %s %s %u %u %u %u %u %u\n", qp->ibv.qp_num, type_name(qp->ibv.qp_type),
            rnic_qp_state_name(view.state), connected ? attr.dest_qpn : 0, view.sq_psn, view.epsn,
            view.send_wr, view.recv_wr, connected ? attr.path_mtu : 0);
}

void vhca_print_info(void *user, struct rnic *rnic, FILE *out)
{
    const struct vhca *hca = user;
    struct rnic_counters counters;
    struct rnic_port_stats port;
    unsigned contexts = 0;
    fprintf(out, "comm %s\n", program_invocation_short_name);
    rnic_counters_get(rnic, &counters);
    rnic_live_stats(hca->live, &port);
#define X(name, text) fprintf(out, "counter " #name " %llu\n", (unsigned long long)counters.name);
    RNIC_COUNTERS(X)
#undef X
#define X(name, text) fprintf(out, "counter port_" #name " %llu\n", (unsigned long long)port.name);
    RNIC_PORT_COUNTERS(X)
#undef X
    for (const struct vctx *ctx = hca->contexts; ctx; ctx = ctx->next)
        contexts++;
    fprintf(out, "res %u %u %u %u\n", contexts, hca->qps.cnt, hca->cqs.cnt, hca->srqs.cnt);
    for (uint32_t i = 0; i < rnic_map_slots(&hca->qps); i++)
        if (hca->qps.slot[i].value)
            print_qp_info(hca->qps.slot[i].value, out);
}

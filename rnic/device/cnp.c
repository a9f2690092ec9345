/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/cnp.h"

#include <stdlib.h>
#include "device/av.h"
#include "device/device.h"
#include "device/pace.h"
#include "transport/fault.h"

void rnic_ecn_defaults(struct rnic_ecn *ecn)
{
    *ecn = (struct rnic_ecn){
        .np = true,
        .rp = true,
        .min_time_between_cnps = 4,
        .cnp_dscp = 48,
    };
    rnic_dcqcn_defaults(&ecn->dcqcn);
}

bool rnic_ecn_on(const struct rnic_ecn *ecn)
{
    return ecn->np || ecn->rp;
}

bool rnic_ecn_valid(const struct rnic_ecn *ecn)
{
    return (!ecn->np || ecn->cnp_dscp < 64) && (!ecn->rp || rnic_dcqcn_valid(&ecn->dcqcn));
}

bool rnic_cc_new(struct rnic_qp *qp)
{
    struct rnic *rnic = qp->pd->rnic;

    if (!rnic_ecn_on(&rnic->attr.ecn))
        return true;
    qp->cc = calloc(1, sizeof(*qp->cc));
    if (!qp->cc)
        return false;
    qp->cc->qp = qp;
    rnic_list_init(&qp->cc->owed);
    rnic_dcqcn_init(&qp->cc->dcqcn);
    if (rnic_pacer_grow(&rnic->pacer))
        return true;
    free(qp->cc);
    qp->cc = NULL;
    return false;
}

void rnic_cc_free(struct rnic_qp *qp)
{
    if (!qp->cc)
        return;
    rnic_cc_reset(qp);
    rnic_pacer_shrink(&qp->pd->rnic->pacer);
    free(qp->cc);
    qp->cc = NULL;
}

void rnic_cc_reset(struct rnic_qp *qp)
{
    if (!qp->cc)
        return;
    rnic_pacer_del(&qp->pd->rnic->pacer, qp->cc);
    rnic_list_del(&qp->cc->owed);
    rnic_dcqcn_init(&qp->cc->dcqcn);
    qp->cc->any = false;
}

/* ---- notification point ---------------------------------------------------------------------- */

void rnic_cnp_marked(struct rnic_qp *qp, const struct roce_pkt *pkt, rnic_time now)
{
    struct rnic *rnic = qp->pd->rnic;
    const struct rnic_ecn *ecn = &rnic->attr.ecn;
    struct rnic_cc *cc = qp->cc;

    if (pkt->op->kind == ROCE_KIND_ACK || pkt->op->kind == ROCE_KIND_ATOMIC_ACK)
        return; /* an acknowledgement marked CE does not cause a CNP (R220) */
    rnic->counters.np_ecn_marked_roce_packets++;
    if (!ecn->np || !rnic_list_empty(&cc->owed))
        return;
    if (cc->any && now - cc->sent < ecn->min_time_between_cnps * UINT64_C(1000) &&
        !RNIC_FAULT(CNP_EACH))
        return; /* the minimum time between CNPs has not passed (R219) */
    cc->pkey = pkt->bth.pkey;
    rnic_list_add(&rnic->cnps, &cc->owed);
}

/* Builds a CNP (R214). The Ethernet, IP and UDP headers are the same as in all packets of the QP,
 * except for the DSCP, which is cnp_dscp. */
bool rnic_cnp_output(struct rnic *rnic, struct roce_pkt *pkt, rnic_time now)
{
    struct rnic_cc *cc;
    struct rnic_av av;

    if (rnic_list_empty(&rnic->cnps))
        return false;
    cc = RNIC_LIST_OF(rnic->cnps.next, struct rnic_cc, owed);
    rnic_list_del(&cc->owed);
    cc->sent = now;
    cc->any = true;
    av = cc->qp->av;
    av.tclass = (uint8_t)(rnic->attr.ecn.cnp_dscp << 2 | (av.tclass & 3));
    rnic_av_envelope(rnic, &av, &rnic->cnp_env);
    pkt->encap = cc->qp->encap;
    pkt->header_template = &rnic->cnp_env;
    pkt->op = roce_opcode(ROCE_OP_CNP_ROCE);
    pkt->bth = (struct roce_bth){
        .opcode = ROCE_OP_CNP_ROCE,
        .becn = 1,
        .pkey = cc->pkey,
        .dest_qp = cc->qp->resp.attr.dest_qpn,
    };
    pkt->cnp = (struct roce_cnp){.resv = {0}};
    pkt->payload = NULL;
    pkt->payload_len = 0;
    rnic->counters.np_cnp_sent++;
    return true;
}

/* ---- reaction point -------------------------------------------------------------------------- */

void rnic_cnp_input(struct rnic *rnic, const struct roce_pkt *pkt, rnic_time now)
{
    struct rnic_qp *qp = rnic_map_get(&rnic->qpns, pkt->bth.dest_qp);
    uint8_t src[16];
    uint8_t dst[16];

    roce_pkt_addr(pkt, src, dst);
    if (!qp || !qp->service->connected ||
        (qp->state != RNIC_QPS_RTR && qp->state != RNIC_QPS_RTS && qp->state != RNIC_QPS_SQD) ||
        (!rnic_qp_addr_fits(qp, pkt->encap, src, dst) && !RNIC_FAULT(CNP_FOREIGN))) {
        rnic->counters.rx_no_qp++;
    } else if (!rnic_qp_pkey_fits(qp, pkt->bth.pkey)) {
        rnic->counters.rx_bad_pkey++;
    } else if (!rnic->attr.ecn.rp) {
        rnic->counters.rp_cnp_ignored++;
    } else {
        rnic->counters.rp_cnp_handled++;
        if (!RNIC_FAULT(CNP_DEAF))
            rnic_dcqcn_cnp(&qp->cc->dcqcn, &rnic->attr.ecn.dcqcn, now);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/ud.h"
#include "transport/fault.h"

#include <string.h>
#include "wire/mad.h"

/* bit of remote_qkey that selects the QP's own Q_Key (R169) */
#define QKEY_OWN UINT32_C(0x80000000)

/* ---- sending datagrams ----------------------------------------------------------------------- */

static bool is_ud_opcode(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_SEND || opcode == RNIC_WR_SEND_IMM;
}

bool rnic_ud_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr)
{
    return is_ud_opcode(wr->opcode) && rnic_sq_accepts(&req->sq, wr);
}

enum rnic_sq_post rnic_ud_post(struct rnic_requester *req, const struct rnic_send_wr *wr,
                               const struct rnic_dest *dest)
{
    struct rnic_sq *sq = &req->sq;
    struct rnic_swqe *wqe;
    enum rnic_sq_post posted;

    if (!is_ud_opcode(wr->opcode))
        return RNIC_SQ_INVALID;
    posted =
        rnic_sq_post(sq, wr, RNIC_MESSAGE_MAX); /* a datagram uses one PSN, whatever its length */
    if (posted != RNIC_SQ_POSTED)
        return posted;
    wqe = rnic_sq_wqe(sq, sq->tail - 1);
    if (wqe->len > req->attr.path_mtu) {
        wqe->psn_cnt = 0;
        sq->pos = wqe->pos;
    }
    *rnic_sq_dest(sq, sq->tail - 1) = *dest;
    rnic_requester_report_step(req, sq->tail - 1, RNIC_WR_STEP_POSTED);
    return RNIC_SQ_POSTED;
}

/* Fills in the transport headers of a datagram (R038, R041-R044, R168, R169). */
static void fill_headers(const struct rnic_requester *req, struct roce_pkt *pkt,
                         const struct rnic_swqe *wqe, const struct rnic_dest *dest)
{
    uint8_t opcode = wqe->opcode == RNIC_WR_SEND ? ROCE_OP_UD_SEND_ONLY : ROCE_OP_UD_SEND_ONLY_IMM;

    pkt->op = roce_opcode(opcode);
    pkt->bth = (struct roce_bth){
        .opcode = opcode,
        .se = (wqe->flags & RNIC_SEND_SOLICITED) != 0,
        .migreq = 1,
        .pkey = req->attr.pkey,
        .dest_qp = dest->qpn,
        .psn = rnic_pos_psn(req->attr.sq_psn, wqe->pos).v,
    };
    pkt->deth = (struct roce_deth){
        .qkey = dest->qkey & QKEY_OWN && !RNIC_FAULT(UD_QKEY_SENT) ? req->attr.qkey : dest->qkey,
        .src_qp = req->attr.qpn,
    };
    pkt->immdt.imm = wqe->extra;
    pkt->encap = dest->env.encap;
    pkt->header_template = &dest->env;
}

bool rnic_ud_output(struct rnic_requester *req, struct roce_pkt *pkt, uint8_t *scratch)
{
    while (rnic_requester_ready(req)) {
        const struct rnic_swqe *wqe = rnic_sq_wqe(&req->sq, req->cur);
        const uint8_t *payload = NULL;

        if (wqe->psn_cnt == 0) { /* message too long: nothing is sent, and the WQE completes without
                                  * an error (C10-93.1.1; R168) */
            req->counters->tx_too_long++;
            rnic_requester_complete(req, RNIC_WC_SUCCESS);
            continue;
        }
        if (wqe->len && rnic_sq_gather(&req->sq, wqe, 0, wqe->len, req->ops, req->qp, scratch,
                                       &payload) != RNIC_MEM_OK) {
            /* the L_Key does not permit reading the payload (R192) */
            rnic_requester_fail(req, RNIC_WC_LOC_PROT_ERR);
            return false;
        }
        fill_headers(req, pkt, wqe, rnic_sq_dest(&req->sq, req->cur));
        pkt->payload = payload;
        pkt->payload_len = wqe->len;
        req->max = rnic_swqe_end(wqe);
        req->nxt = req->max;
        rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_FIRST);
        rnic_requester_report_step(req, req->cur, RNIC_WR_STEP_LAST);
        req->cur++;
        rnic_requester_answered(req, req->max); /* a datagram is complete when it is sent */
        return true;
    }
    return false;
}

/* ---- receiving datagrams --------------------------------------------------------------------- */

/* Copies the received network header (R172; A17.4.5.2) and returns its type. */
static enum rnic_network_type copy_header(uint8_t header_area[RNIC_UD_HEADER_AREA],
                                          const struct roce_pkt *pkt)
{
    const uint8_t *header = pkt->frame + pkt->net_off;

    switch (pkt->encap) {
    case ROCE_ENCAP_V2_IP4:
        memset(header_area, 0, RNIC_UD_HEADER_AREA - ROCE_IP4_LEN);
        memcpy(header_area + (RNIC_FAULT(UD_HEADER_PLACE) ? 0 : RNIC_UD_HEADER_AREA - ROCE_IP4_LEN),
               header, ROCE_IP4_LEN); /* the IPv4 options are not copied */
        return RNIC_NETWORK_IP4;
    case ROCE_ENCAP_V2_IP6: memcpy(header_area, header, ROCE_IP6_LEN); return RNIC_NETWORK_IP6;
    default: memcpy(header_area, header, ROCE_GRH_LEN); return RNIC_NETWORK_V1;
    }
}
_Static_assert(ROCE_IP6_LEN == RNIC_UD_HEADER_AREA && ROCE_GRH_LEN == RNIC_UD_HEADER_AREA,
               "an IPv6 header and a GRH both have the length of the header area");

/* Completes the receive WQE of a datagram (R173). */
static void complete_receive(struct rnic_responder *resp, const struct roce_pkt *pkt,
                             uint16_t pkey_index, enum rnic_network_type type)
{
    bool imm = roce_opcode_has(pkt->op, ROCE_HDR_IMMDT);
    struct rnic_wc wc = {
        .status = RNIC_WC_SUCCESS,
        .opcode = RNIC_WC_RECV,
        .flags = RNIC_WC_GRH | (imm ? (unsigned)RNIC_WC_WITH_IMM : 0u),
        .byte_len = RNIC_UD_HEADER_AREA + pkt->payload_len,
        .imm = imm ? pkt->immdt.imm : 0,
        .solicited = pkt->bth.se,
        .src_qp = RNIC_FAULT(UD_SRC_QP) ? 0 : pkt->deth.src_qp,
        .pkey_index = pkey_index,
        .vlan = pkt->vlan_cnt ? pkt->vlan[0].vid : RNIC_VLAN_NONE,
        .network_hdr_type = (uint8_t)type,
    };

    memcpy(wc.smac, pkt->eth.src, sizeof(wc.smac));
    resp->counters->rx_datagrams++;
    rnic_responder_finish(resp, &wc);
}

enum rnic_ud_fate rnic_ud_input(struct rnic_responder *resp, const struct roce_pkt *pkt,
                                uint16_t pkey_index)
{
    uint32_t longest = pkt->bth.dest_qp == ROCE_QP_GSI ? ROCE_MAD_SIZE : resp->attr.path_mtu;
    const struct rnic_rwqe *first;
    struct rnic_scatter at = {0};
    uint8_t header_area[RNIC_UD_HEADER_AREA];
    enum rnic_network_type type;
    struct rnic_wc wc = {.status = RNIC_WC_LOC_PROT_ERR};

    if (pkt->deth.qkey != resp->attr.qkey && !RNIC_FAULT(UD_QKEY)) {
        resp->counters->qkey_viol_cntr++;
        return RNIC_UD_QKEY;
    }
    if (pkt->payload_len > longest) {
        resp->counters->rx_datagram_too_long++;
        return RNIC_UD_LENGTH;
    }
    first = rnic_rq_first(resp->recv_queue);
    if (!first) {
        resp->counters->out_of_buffer++;
        return RNIC_UD_NO_WQE;
    }
    if (RNIC_UD_HEADER_AREA + pkt->payload_len > first->len) {
        resp->counters->rx_datagram_too_long++;
        if (RNIC_FAULT(UD_RECV_LOST))
            rnic_rq_return(resp->recv_queue, rnic_rq_take(resp->recv_queue));
        return RNIC_UD_BUFFER; /* the receive WQE stays posted, even in an SRQ */
    }
    resp->msg.wqe = rnic_rq_take(resp->recv_queue);
    type = copy_header(header_area, pkt);
    if (rnic_scatter_put(&at, resp->msg.wqe, resp->ops, resp->qp, header_area,
                         sizeof(header_area)) == RNIC_MEM_OK &&
        rnic_scatter_put(&at, resp->msg.wqe, resp->ops, resp->qp, pkt->payload, pkt->payload_len) ==
            RNIC_MEM_OK) {
        complete_receive(resp, pkt, pkey_index, type);
        return RNIC_UD_DELIVERED;
    }
    resp->failed = true;
    rnic_responder_finish(resp, &wc);
    resp->ops->failed(resp->qp);
    return RNIC_UD_MEMORY;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cases.h"

#include <string.h>

CASE(UD_SIZE)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_UD_SEND_ONLY, wrong ? 4100 : 4096);

    flowgen_put(g, 0, &p);
}

CASE(GSI)
{
    static uint8_t mad[256];
    struct roce_pkt p = flowgen_mad(g, 0, mad);

    mad[0] = 1;
    p.deth.qkey = wrong ? 5 : ROCE_QKEY_GSI;
    flowgen_put(g, 0, &p);
}

CASE(MULTICAST_MAC)
{
    static const uint8_t group[4] = {239, 1, 2, 3};
    static const uint8_t mac[6] = {0x01, 0x00, 0x5E, 0x01, 0x02, 0x03};
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_UD_SEND_ONLY, 64);

    memcpy(p.ip4.dst, group, 4);
    if (!wrong)
        memcpy(p.eth.dst, mac, 6);
    p.bth.dest_qp = ROCE_QP_MULTICAST;
    flowgen_put(g, 0, &p);
}

CASE(RD_OPCODE)
{
    struct roce_pkt p = flowgen_req(g, 0, wrong ? ROCE_OP_RD_SEND_ONLY : ROCE_OP_RC_SEND_ONLY, 64);

    flowgen_put(g, 0, &p);
}

/* ---- cases of congestion --------------------------------------------------------------------- */

static struct roce_pkt cnp(struct flowgen *g)
{
    struct roce_pkt p = flowgen_resp(g, 1, ROCE_OP_RC_ACK, 0, 0), out;

    roce_pkt_init(&out, g->encap, ROCE_OP_CNP_ROCE);
    out.eth = p.eth;
    out.ip4 = p.ip4;
    out.udp.sport = p.udp.sport;
    out.bth.dest_qp = p.bth.dest_qp;
    out.bth.becn = 1;
    out.bth.migreq = 0;
    return out;
}

static void marked(struct flowgen *g, uint8_t ecn)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.ip4.ecn = ecn;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(CNP_FORM)
{
    struct roce_pkt p;

    marked(g, 3);
    p = cnp(g);
    p.bth.psn = wrong ? 5 : 0;
    flowgen_put(g, 1, &p);
}

CASE(CNP)
{
    struct roce_pkt p = cnp(g);

    marked(g, 2);
    if (wrong)
        flowgen_put(g, 1, &p);
}

CASE(CE_MARK)
{
    marked(g, wrong ? 3 : 2);
}

CASE(CE_NO_CNP)
{
    struct roce_pkt p = cnp(g);

    marked(g, 3);
    marked(g, 3);
    if (!wrong)
        flowgen_put(g, 1, &p);
    flowgen_silence(g, 1000000);
}

/* ---- cases of CM messages -------------------------------------------------------------------- */

/* Sends a REQ. In its MAD, the byte at `off` is `value`. */
static void odd_mad(struct flowgen *g, size_t off, uint8_t value)
{
    struct roce_cm_msg m = flowgen_cm_req(g);
    uint8_t mad[ROCE_MAD_SIZE] = {0};
    struct roce_pkt p = flowgen_mad(g, 0, mad);

    (void)roce_cm_msg_build(&m, mad, sizeof(mad));
    mad[off] = value;
    flowgen_put(g, 0, &p);
}

CASE(CM_MAD)
{
    odd_mad(g, 2, wrong ? 1 : 2); /* class version of the MAD */
}

CASE(CM_ATTR)
{
    odd_mad(g, 17, wrong ? 0x30 : 0x10); /* attribute id of the MAD */
}

CASE(CM_MALFORMED)
{
    odd_mad(g, 0, wrong ? 2 : 1); /* base version of the MAD */
}

CASE(CM_TID)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    g->tid += wrong;
    m = flowgen_cm_rep(g);
    flowgen_cm(g, 1, &m);
}

CASE(CM_LID)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    m.req.primary_local_lid = wrong ? 7 : 0xFFFF;
    flowgen_cm(g, 0, &m);
}

static void reject(struct flowgen *g, uint16_t reason, uint8_t message)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    roce_cm_msg_init(&m, ROCE_CM_REJ, g->tid);
    m.rej.remote_comm_id = g->conn.qpn[0];
    m.rej.reason = reason;
    m.rej.message = message;
    flowgen_cm(g, 1, &m);
}

CASE(CM_CODES)
{
    reject(g, wrong ? 13 : 8, 0);
}

CASE(CM_REJ_FORM)
{
    reject(g, 8, wrong ? 3 : 0);
}

CASE(CM_REJECT)
{
    if (wrong)
        reject(g, 28, 0);
    else
        flowgen_connect(g);
}

/* Sends a REQ. With `wrong`, the byte at `off` of its private data (the RDMA-IP header) is
 * `value`. */
static void odd_header(struct flowgen *g, size_t off, uint8_t value, bool wrong)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    if (wrong)
        m.req.private_data[off] = value;
    flowgen_cm(g, 0, &m);
}

CASE(CM_IP_VERSION)
{
    odd_header(g, 1, 0x60, wrong);
}

CASE(CM_IP_HEADER)
{
    odd_header(g, 19, 77, wrong);
}

CASE(CM_IP_HEADER_VERSION)
{
    odd_header(g, 0, 0x10, wrong);
}

CASE(CM_REQ_AGAIN)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    if (wrong)
        flowgen_cm(g, 0, &m);
}

CASE(CM_REQ_CHANGED)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    m.req.starting_psn += wrong;
    flowgen_cm(g, 0, &m);
}

CASE(CM_REP_AGAIN)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    m = flowgen_cm_rep(g);
    flowgen_cm(g, 1, &m);
    if (wrong)
        flowgen_cm(g, 1, &m);
}

CASE(CM_DREQ_UNANSWERED)
{
    flowgen_connect(g);
    flowgen_disconnect(g);
    g->frame_cnt -= wrong;
}

CASE(CM_TIMEWAIT)
{
    flowgen_connect(g);
    flowgen_disconnect(g);
    if (!wrong)
        flowgen_wait(g, 100000000);
    flowgen_connect(g);
}

CASE(CM_DEPTHS)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    m = flowgen_cm_rep(g);
    m.rep.responder_resources = wrong ? 9 : 4;
    flowgen_cm(g, 1, &m);
}

CASE(CM_START_PSN)
{
    flowgen_connect(g);
    g->conn.psn[0] -= wrong ? 5 : 0;
    flowgen_send(g, 0, 64);
}

CASE(CM_SIDR_STATUS)
{
    struct roce_cm_msg m;

    roce_cm_msg_init(&m, ROCE_CM_SIDR_REP, g->tid);
    m.sidr_rep.status = wrong;
    flowgen_cm(g, 1, &m);
}

CASE(CM_XRC)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    m.req.ext_transport = ROCE_CM_EXT_TRANSPORT_XRC;
    m.req.transport = wrong ? ROCE_CM_TRANSPORT_RC : ROCE_CM_TRANSPORT_EXTENDED;
    flowgen_cm(g, 0, &m);
}

const struct rule_case cases_other[] = {
    ROW(UD_SIZE),
    ROW(GSI),
    ROW(MULTICAST_MAC),
    ROW(RD_OPCODE),
    ROW(CNP_FORM),
    ROW(CNP),
    ROW(CE_MARK),
    ROW(CE_NO_CNP),
    ROW(CM_MAD),
    ROW(CM_ATTR),
    ROW(CM_MALFORMED),
    ROW(CM_TID),
    ROW(CM_LID),
    ROW(CM_CODES),
    ROW(CM_REJ_FORM),
    ROW(CM_REJECT),
    ROW(CM_IP_VERSION),
    ROW(CM_IP_HEADER),
    ROW(CM_IP_HEADER_VERSION),
    ROW(CM_REQ_AGAIN),
    ROW(CM_REQ_CHANGED),
    ROW(CM_REP_AGAIN),
    ROW(CM_DREQ_UNANSWERED),
    ROW(CM_TIMEWAIT),
    ROW(CM_DEPTHS),
    ROW(CM_START_PSN),
    ROW(CM_SIDR_STATUS),
    ROW(CM_XRC),
};
const unsigned cases_other_cnt = sizeof(cases_other) / sizeof(cases_other[0]);

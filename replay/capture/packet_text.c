/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/packet_text.h"

#include <inttypes.h>
#include <string.h>
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/dc.h"

const char *describe_opcode(uint8_t opcode)
{
    const struct roce_opcode *op = roce_opcode(opcode);
    const char *svc = roce_svc_name(op->svc);
    size_t len = strlen(svc);

    if (strncmp(op->name, svc, len) == 0 && op->name[len] == ' ')
        return op->name + len + 1;
    return op->name;
}

static void add_qp_name(struct text *t, uint32_t qpn)
{
    if (qpn == ROCE_QP_GSI)
        text_add(t, "QP 1 (GSI)");
    else
        text_add(t, "QP 0x%06x", qpn);
}

static void add_cm(struct text *t, const struct roce_cm_msg *m)
{
    char buf[80];
    const char *name;

    text_add(t, "CM %s tid 0x%016" PRIx64, roce_cm_name(m->kind), m->mad.tid);
    switch (m->kind) {
    case ROCE_CM_REQ:
        text_add(t, " comm 0x%08x service 0x%016" PRIx64, m->req.local_comm_id, m->req.service_id);
        if (roce_cm_sid_is_ip(m->req.service_id))
            text_add(t, " (port %u)", roce_cm_sid_port(m->req.service_id));
        text_add(t, " QP 0x%06x PSN %u MTU %u depth %u/%u retry %u rnr-retry %u", m->req.local_qpn,
                 m->req.starting_psn, roce_mtu_bytes(m->req.mtu), m->req.responder_resources,
                 m->req.initiator_depth, m->req.retry_count, m->req.rnr_retry_count);
        break;
    case ROCE_CM_REP:
        text_add(t, " comm 0x%08x to 0x%08x QP 0x%06x PSN %u depth %u/%u rnr-retry %u",
                 m->rep.local_comm_id, m->rep.remote_comm_id, roce_cm_rep_qpn(&m->rep),
                 m->rep.starting_psn, m->rep.responder_resources, m->rep.initiator_depth,
                 m->rep.rnr_retry_count);
        break;
    case ROCE_CM_REJ:
        name = roce_vals_name(ROCE_VALS_CM_REJ_REASON, m->rej.reason, buf, sizeof(buf));
        text_add(t, " comm 0x%08x to 0x%08x reason %u%s%s%s", m->rej.local_comm_id,
                 m->rej.remote_comm_id, m->rej.reason, name ? " (" : "", name ? name : "",
                 name ? ")" : "");
        break;
    case ROCE_CM_RTU:
        text_add(t, " comm 0x%08x to 0x%08x", m->rtu.local_comm_id, m->rtu.remote_comm_id);
        break;
    case ROCE_CM_MRA:
        text_add(t, " comm 0x%08x to 0x%08x", m->mra.local_comm_id, m->mra.remote_comm_id);
        break;
    case ROCE_CM_DREQ:
        text_add(t, " comm 0x%08x to 0x%08x QP 0x%06x", m->dreq.local_comm_id,
                 m->dreq.remote_comm_id, m->dreq.remote_qpn);
        break;
    case ROCE_CM_DREP:
        text_add(t, " comm 0x%08x to 0x%08x", m->drep.local_comm_id, m->drep.remote_comm_id);
        break;
    case ROCE_CM_SIDR_REQ:
        text_add(t, " request 0x%08x service 0x%016" PRIx64, m->sidr_req.request_id,
                 m->sidr_req.service_id);
        break;
    case ROCE_CM_SIDR_REP:
        text_add(t, " request 0x%08x QP 0x%06x Q_Key 0x%08x status %u", m->sidr_rep.request_id,
                 m->sidr_rep.qpn, m->sidr_rep.qkey, m->sidr_rep.status);
        break;
    default: break;
    }
}

static void add_headers(struct text *t, const struct roce_pkt *pkt)
{
    char buf[80];

    if (roce_pkt_has(pkt, ROCE_HDR_DETH))
        text_add(t, " from QP 0x%06x Q_Key 0x%08x", pkt->deth.src_qp, pkt->deth.qkey);
    if (roce_pkt_has(pkt, ROCE_HDR_XRCETH))
        text_add(t, " SRQ 0x%06x", pkt->xrceth.srqn);
    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        text_add(t, " va 0x%" PRIx64 " rkey 0x%08x len %u", pkt->reth.va, pkt->reth.rkey,
                 pkt->reth.dma_len);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        text_add(t, " va 0x%" PRIx64 " rkey 0x%08x", pkt->atomiceth.va, pkt->atomiceth.rkey);
        if (pkt->op->kind == ROCE_KIND_FETCH_ADD)
            text_add(t, " add 0x%" PRIx64, pkt->atomiceth.swap_add);
        else
            text_add(t, " compare 0x%" PRIx64 " swap 0x%" PRIx64, pkt->atomiceth.compare,
                     pkt->atomiceth.swap_add);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_FETH))
        text_add(t, " flush type 0x%x level %u", pkt->feth.plt, pkt->feth.sel);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        text_add(t, " %s, MSN %u", roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf)),
                 pkt->aeth.msn);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH))
        text_add(t, " original 0x%" PRIx64, pkt->atomicacketh.orig);
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        text_add(t, " imm 0x%08x", pkt->immdt.imm);
    if (roce_pkt_has(pkt, ROCE_HDR_IETH))
        text_add(t, " invalidate 0x%08x", pkt->ieth.rkey);
    if (pkt->payload_len)
        text_add(t, " payload %u", pkt->payload_len);
    if (pkt->bth.se)
        text_add(t, " solicited");
    if (pkt->bth.ackreq)
        text_add(t, " AckReq");
    if (pkt->bth.fecn)
        text_add(t, " FECN");
    if (pkt->bth.becn)
        text_add(t, " BECN");
}

const char *describe_encap(enum roce_encap encap)
{
    switch (encap) {
    case ROCE_ENCAP_IB_LOCAL:
    case ROCE_ENCAP_IB_GLOBAL: return "native InfiniBand";
    case ROCE_ENCAP_V1: return "RoCEv1";
    case ROCE_ENCAP_V2_IP4: return "RoCEv2 over IPv4";
    case ROCE_ENCAP_V2_IP6: return "RoCEv2 over IPv6";
    default: return "bare BTH";
    }
}

/* Its headers are not those that the codec found. */
static void add_dc(struct text *t, const struct roce_pkt *pkt)
{
    text_add(t, "DC %s → ", describe_opcode(pkt->bth.opcode));
    add_qp_name(t, pkt->bth.dest_qp);
    text_add(t, " PSN %u from QP 0x%06x", pkt->bth.psn, roce_dc_src_qp(pkt));
    if (roce_dc_payload_len(pkt))
        text_add(t, " payload %u", roce_dc_payload_len(pkt));
    if (pkt->bth.ackreq)
        text_add(t, " AckReq");
}

void describe_packet(struct text *t, const struct roce_pkt *pkt)
{
    struct roce_cm_msg cm;

    if (roce_dc_is(pkt)) {
        add_dc(t, pkt);
        return;
    }
    if (roce_cm_msg_of_pkt(&cm, pkt) == 0) {
        add_cm(t, &cm);
        return;
    }
    text_add(t, "%s", pkt->op->name);
    if (pkt->op->kind == ROCE_KIND_RESERVED || pkt->op->kind == ROCE_KIND_MANUFACTURER)
        text_add(t, " (opcode 0x%02x)", pkt->bth.opcode);
    text_add(t, " → ");
    add_qp_name(t, pkt->bth.dest_qp);
    text_add(t, " PSN %u", pkt->bth.psn);
    add_headers(t, pkt);
}

void describe_short(struct text *t, const struct roce_pkt *pkt, int64_t rel)
{
    text_add(t, "%s PSN +%" PRId64, describe_opcode(pkt->bth.opcode), rel);
    add_headers(t, pkt);
}

void describe_defects(struct text *t, const struct roce_pkt *pkt)
{
    uint32_t expected;

    for (unsigned i = 0; i < ROCE_DEFECT_CNT; i++)
        if (roce_pkt_defect(pkt, (enum roce_defect)i))
            text_add(t, "; %s", roce_defect_info((enum roce_defect)i)->text);
    if (pkt->op && roce_pkt_icrc_check(pkt, &expected) == ROCE_ICRC_BAD)
        text_add(t, "; ICRC wrong: 0x%08x, computed 0x%08x", pkt->icrc, expected);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/packet_text.h"

#include <inttypes.h>
#include <string.h>
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/dc.h"

const char *packet_text_opcode(uint8_t opcode)
{
    const struct roce_opcode *op = roce_opcode(opcode);
    const char *svc = roce_svc_name(op->svc);
    size_t len = strlen(svc);

    if (strncmp(op->name, svc, len) == 0 && op->name[len] == ' ')
        return op->name + len + 1;
    return op->name;
}

static void add_qp_name(struct strbuf *t, uint32_t qpn)
{
    if (qpn == ROCE_QP_GSI)
        strbuf_addf(t, "QP 1 (GSI)");
    else
        strbuf_addf(t, "QP 0x%06x", qpn);
}

static void add_cm(struct strbuf *t, const struct roce_cm_msg *m)
{
    char buf[80];
    const char *name;

    strbuf_addf(t, "CM %s tid 0x%016" PRIx64, roce_cm_name(m->kind), m->mad.tid);
    switch (m->kind) {
    case ROCE_CM_REQ:
        strbuf_addf(t, " comm id 0x%08x service 0x%016" PRIx64, m->req.local_comm_id,
                    m->req.service_id);
        if (roce_cm_sid_is_ip(m->req.service_id))
            strbuf_addf(t, " (port %u)", roce_cm_sid_port(m->req.service_id));
        strbuf_addf(t, " QP 0x%06x PSN %u MTU %u resources/depth %u/%u retry %u rnr-retry %u",
                    m->req.local_qpn, m->req.starting_psn, roce_mtu_bytes(m->req.mtu),
                    m->req.responder_resources, m->req.initiator_depth, m->req.retry_count,
                    m->req.rnr_retry_count);
        break;
    case ROCE_CM_REP:
        strbuf_addf(
            t, " comm id 0x%08x remote 0x%08x QP 0x%06x PSN %u resources/depth %u/%u rnr-retry %u",
            m->rep.local_comm_id, m->rep.remote_comm_id, roce_cm_rep_qpn(&m->rep),
            m->rep.starting_psn, m->rep.responder_resources, m->rep.initiator_depth,
            m->rep.rnr_retry_count);
        break;
    case ROCE_CM_REJ:
        name = roce_vals_name(ROCE_VALS_CM_REJ_REASON, m->rej.reason, buf, sizeof(buf));
        strbuf_addf(t, " comm id 0x%08x remote 0x%08x reason %u%s%s%s", m->rej.local_comm_id,
                    m->rej.remote_comm_id, m->rej.reason, name ? " (" : "", name ? name : "",
                    name ? ")" : "");
        break;
    case ROCE_CM_RTU:
        strbuf_addf(t, " comm id 0x%08x remote 0x%08x", m->rtu.local_comm_id,
                    m->rtu.remote_comm_id);
        break;
    case ROCE_CM_MRA:
        strbuf_addf(t, " comm id 0x%08x remote 0x%08x", m->mra.local_comm_id,
                    m->mra.remote_comm_id);
        break;
    case ROCE_CM_DREQ:
        strbuf_addf(t, " comm id 0x%08x remote 0x%08x QP 0x%06x", m->dreq.local_comm_id,
                    m->dreq.remote_comm_id, m->dreq.remote_qpn);
        break;
    case ROCE_CM_DREP:
        strbuf_addf(t, " comm id 0x%08x remote 0x%08x", m->drep.local_comm_id,
                    m->drep.remote_comm_id);
        break;
    case ROCE_CM_SIDR_REQ:
        strbuf_addf(t, " request 0x%08x service 0x%016" PRIx64, m->sidr_req.request_id,
                    m->sidr_req.service_id);
        break;
    case ROCE_CM_SIDR_REP:
        strbuf_addf(t, " request 0x%08x QP 0x%06x Q_Key 0x%08x status %u", m->sidr_rep.request_id,
                    m->sidr_rep.qpn, m->sidr_rep.qkey, m->sidr_rep.status);
        break;
    default: break;
    }
}

static void add_headers(struct strbuf *t, const struct roce_pkt *pkt)
{
    char buf[80];

    if (roce_pkt_has(pkt, ROCE_HDR_DETH))
        strbuf_addf(t, " from QP 0x%06x Q_Key 0x%08x", pkt->deth.src_qp, pkt->deth.qkey);
    if (roce_pkt_has(pkt, ROCE_HDR_XRCETH))
        strbuf_addf(t, " SRQ 0x%06x", pkt->xrceth.srqn);
    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        strbuf_addf(t, " va 0x%" PRIx64 " rkey 0x%08x len %u", pkt->reth.va, pkt->reth.rkey,
                    pkt->reth.dma_len);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        strbuf_addf(t, " va 0x%" PRIx64 " rkey 0x%08x", pkt->atomiceth.va, pkt->atomiceth.rkey);
        if (pkt->op->kind == ROCE_KIND_FETCH_ADD)
            strbuf_addf(t, " add 0x%" PRIx64, pkt->atomiceth.swap_add);
        else
            strbuf_addf(t, " compare 0x%" PRIx64 " swap 0x%" PRIx64, pkt->atomiceth.compare,
                        pkt->atomiceth.swap_add);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_FETH))
        strbuf_addf(t, " flush type 0x%x level %u", pkt->feth.plt, pkt->feth.sel);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        strbuf_addf(t, " %s, MSN %u", roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf)),
                    pkt->aeth.msn);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH))
        strbuf_addf(t, " original 0x%" PRIx64, pkt->atomicacketh.orig);
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        strbuf_addf(t, " imm 0x%08x", pkt->immdt.imm);
    if (roce_pkt_has(pkt, ROCE_HDR_IETH))
        strbuf_addf(t, " invalidate 0x%08x", pkt->ieth.rkey);
    if (pkt->payload_len)
        strbuf_addf(t, " payload %u", pkt->payload_len);
    if (pkt->bth.se)
        strbuf_addf(t, " solicited");
    if (pkt->bth.ackreq)
        strbuf_addf(t, " AckReq");
    if (pkt->bth.fecn)
        strbuf_addf(t, " FECN");
    if (pkt->bth.becn)
        strbuf_addf(t, " BECN");
}

const char *packet_text_encap(enum roce_encap encap)
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

/* Describes a DC packet. roce_pkt_parse() parses DC packets as Reliable Datagram, so the headers
 * after the BTH in `pkt` are wrong. The functions roce_dc_*() read the correct headers. */
static void add_dc(struct strbuf *t, const struct roce_pkt *pkt)
{
    strbuf_addf(t, "DC %s to ", packet_text_opcode(pkt->bth.opcode));
    add_qp_name(t, pkt->bth.dest_qp);
    strbuf_addf(t, " PSN %u from QP 0x%06x", pkt->bth.psn, roce_dc_src_qp(pkt));
    if (roce_dc_payload_len(pkt))
        strbuf_addf(t, " payload %u", roce_dc_payload_len(pkt));
    if (pkt->bth.ackreq)
        strbuf_addf(t, " AckReq");
}

void packet_text_full(struct strbuf *t, const struct roce_pkt *pkt)
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
    strbuf_addf(t, "%s", pkt->op->name);
    if (pkt->op->kind == ROCE_KIND_RESERVED || pkt->op->kind == ROCE_KIND_MANUFACTURER)
        strbuf_addf(t, " (opcode 0x%02x)", pkt->bth.opcode);
    strbuf_addf(t, " to ");
    add_qp_name(t, pkt->bth.dest_qp);
    strbuf_addf(t, " PSN %u", pkt->bth.psn);
    add_headers(t, pkt);
}

void packet_text_short(struct strbuf *t, const struct roce_pkt *pkt, int64_t rel)
{
    strbuf_addf(t, "%s PSN %+" PRId64, packet_text_opcode(pkt->bth.opcode), rel);
    add_headers(t, pkt);
}

void packet_text_defects(struct strbuf *t, const struct roce_pkt *pkt)
{
    uint32_t expected;

    for (unsigned i = 0; i < ROCE_DEFECT_CNT; i++)
        if (roce_pkt_defect(pkt, (enum roce_defect)i))
            strbuf_addf(t, "; %s", roce_defect_info((enum roce_defect)i)->text);
    if (pkt->op && roce_pkt_icrc_check(pkt, &expected) == ROCE_ICRC_BAD)
        strbuf_addf(t, "; ICRC wrong: 0x%08x, computed 0x%08x", pkt->icrc, expected);
}

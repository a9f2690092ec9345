/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "info.h"

#include <string.h>
#include "wire/codes.h"

#define ARROW "\xe2\x86\x92"

/* "[retransmission: timeout] " and the like: what a reader of the list must not miss. */
static void add_remarks(wmem_strbuf_t *text, const struct roce_track_frame *frame)
{
    const struct roce_flow_result *r = &frame->result;

    if (r->flags & ROCE_AN_DROPPED)
        wmem_strbuf_append(text, "[dropped by its receiver] ");
    if (r->flags & ROCE_AN_QP_REUSED)
        wmem_strbuf_append(text, "[QP reused] ");
    if (r->flags & ROCE_AN_COPY)
        wmem_strbuf_append(text, "[copy] ");
    if (r->flags & ROCE_AN_RETRANSMISSION)
        wmem_strbuf_append_printf(text, "[retransmission: %s] ", roce_cause_name(r->cause));
    if (r->flags & ROCE_AN_OUT_OF_ORDER)
        wmem_strbuf_append(text, "[out of order] ");
    if (r->flags & ROCE_AN_PSN_GAP)
        wmem_strbuf_append_printf(text, "[PSN gap: %u missing] ", r->gap);
    if (r->flags & ROCE_AN_IMPLIED_NAK)
        wmem_strbuf_append(text, "[implied NAK] ");
    if (r->flags & ROCE_AN_DUPLICATE_ACK)
        wmem_strbuf_append_printf(text, "[duplicate ACK #%u] ", r->dup_ack_num);
    if (r->flags & ROCE_AN_DUPLICATE_RESPONSE)
        wmem_strbuf_append(text, "[duplicate response] ");
    if (r->flags & ROCE_AN_ACK_UNSEEN)
        wmem_strbuf_append(text, "[request not captured] ");
    if (r->flags & ROCE_AN_KEEP_ALIVE)
        wmem_strbuf_append(text, "[keep-alive] ");
    if (r->flags & ROCE_AN_CE)
        wmem_strbuf_append(text, "[ECN CE] ");
}

/* "WRITE First", "UC SEND Only", "ACK", "NAK, remote access error". */
static void add_verb(wmem_strbuf_t *text, const struct roce_pkt *pkt)
{
    const char *name = pkt->op->name;
    char buf[80];

    if (pkt->op->svc == ROCE_SVC_RC && strncmp(name, "RC ", 3) == 0)
        name += 3; /* nearly all packets are RC: only the others say so */
    if (pkt->op->kind == ROCE_KIND_ACK && roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        name = roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf));
        if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK &&
            roce_syndrome_code(pkt->aeth.syndrome) == ROCE_CREDIT_NONE)
            name = "ACK";
        if (pkt->op->svc != ROCE_SVC_RC)
            wmem_strbuf_append_printf(text, "%s ", roce_svc_name(pkt->op->svc));
    }
    if (pkt->op->kind == ROCE_KIND_RESERVED || pkt->op->kind == ROCE_KIND_MANUFACTURER)
        wmem_strbuf_append_printf(text, "Opcode 0x%02x (%s)", pkt->bth.opcode, name);
    else
        wmem_strbuf_append(text, name);
}

static void add_qps(wmem_strbuf_t *text, const struct roce_pkt *pkt,
                    const struct roce_track_frame *frame)
{
    uint32_t src = frame ? frame->result.src_qpn : ROCE_QPN_UNKNOWN;

    if (roce_pkt_has(pkt, ROCE_HDR_DETH))
        src = pkt->deth.src_qp;
    if (src != ROCE_QPN_UNKNOWN)
        wmem_strbuf_append_printf(text, " 0x%06x" ARROW "0x%06x", src, pkt->bth.dest_qp);
    else
        wmem_strbuf_append_printf(text, " " ARROW "0x%06x", pkt->bth.dest_qp);
}

static void add_length(wmem_strbuf_t *text, const struct roce_pkt *pkt,
                       const struct roce_track_frame *frame)
{
    uint64_t total = frame ? frame->result.msg_total : 0;

    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        total = pkt->reth.dma_len;
    if (pkt->op->kind == ROCE_KIND_READ || pkt->op->kind == ROCE_KIND_FLUSH) {
        wmem_strbuf_append_printf(text, " len %" PRIu64, total);
        return;
    }
    if (pkt->payload_len == 0 && pkt->op->payload == ROCE_PAYLOAD_NONE)
        return;
    wmem_strbuf_append_printf(text, " len %u", pkt->payload_len);
    if (frame && frame->result.msg_offset)
        wmem_strbuf_append_printf(text, " at %" PRIu64, frame->result.msg_offset);
    if (total != pkt->payload_len && total)
        wmem_strbuf_append_printf(text, " of %" PRIu64, total);
}

void roce_info_text(wmem_strbuf_t *text, const struct roce_pkt *pkt,
                    const struct roce_track_frame *frame, bool relative)
{
    char buf[80];

    if (frame)
        add_remarks(text, frame);
    add_verb(text, pkt);
    add_qps(text, pkt, frame);
    if (pkt->op->kind == ROCE_KIND_CNP)
        return;
    if (relative && frame && frame->result.flags & (ROCE_AN_REQUEST | ROCE_AN_RESPONSE))
        wmem_strbuf_append_printf(text, " PSN %u (relative)", frame->result.rel_psn);
    else
        wmem_strbuf_append_printf(text, " PSN %u", pkt->bth.psn);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        wmem_strbuf_append_printf(text, " MSN %u", pkt->aeth.msn);
        if (pkt->op->kind != ROCE_KIND_ACK &&
            roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK)
            wmem_strbuf_append_printf(text, " %s",
                                      roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf)));
    }
    add_length(text, pkt, frame);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        if (pkt->op->kind == ROCE_KIND_CMP_SWAP)
            wmem_strbuf_append_printf(text, " 0x%" PRIx64 ARROW "0x%" PRIx64,
                                      pkt->atomiceth.compare, pkt->atomiceth.swap_add);
        else
            wmem_strbuf_append_printf(text, " +0x%" PRIx64, pkt->atomiceth.swap_add);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH))
        wmem_strbuf_append_printf(text, " was 0x%" PRIx64, pkt->atomicacketh.orig);
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        wmem_strbuf_append_printf(text, " imm 0x%08x", pkt->immdt.imm);
    if (roce_pkt_has(pkt, ROCE_HDR_IETH))
        wmem_strbuf_append_printf(text, " invalidates 0x%08x", pkt->ieth.rkey);
}

const char *roce_info_service(uint64_t service_id, char *buf, size_t cap)
{
    const char *space;

    switch (roce_cm_sid_space(service_id)) {
    case ROCE_CM_PS_TCP: space = "TCP port"; break;
    case ROCE_CM_PS_UDP: space = "UDP port"; break;
    case ROCE_CM_PS_IB: space = "IB port"; break;
    default: space = NULL; break;
    }
    if (roce_cm_sid_is_ip(service_id) && space)
        snprintf(buf, cap, "%s %u", space, roce_cm_sid_port(service_id));
    else
        snprintf(buf, cap, "service 0x%016" PRIx64, service_id);
    return buf;
}

void roce_info_cm(wmem_strbuf_t *text, const struct roce_cm_msg *msg)
{
    char buf[80];
    const char *name;

    wmem_strbuf_append_printf(text, "CM %s", roce_cm_name(msg->kind));
    switch (msg->kind) {
    case ROCE_CM_REQ:
        wmem_strbuf_append_printf(text, " QP 0x%06x PSN %u to %s", msg->req.local_qpn,
                                  msg->req.starting_psn,
                                  roce_info_service(msg->req.service_id, buf, sizeof(buf)));
        break;
    case ROCE_CM_REP:
        wmem_strbuf_append_printf(text, " QP 0x%06x PSN %u", msg->rep.local_qpn,
                                  msg->rep.starting_psn);
        break;
    case ROCE_CM_REJ:
        name = roce_vals_name(ROCE_VALS_CM_REJ_REASON, msg->rej.reason, buf, sizeof(buf));
        wmem_strbuf_append_printf(text, " reason %u: %s", msg->rej.reason,
                                  name ? name : "reserved");
        break;
    case ROCE_CM_DREQ: wmem_strbuf_append_printf(text, " QP 0x%06x", msg->dreq.remote_qpn); break;
    case ROCE_CM_SIDR_REQ:
        wmem_strbuf_append_printf(text, " to %s",
                                  roce_info_service(msg->sidr_req.service_id, buf, sizeof(buf)));
        break;
    case ROCE_CM_SIDR_REP:
        name = roce_vals_name(ROCE_VALS_CM_SIDR_STATUS, msg->sidr_rep.status, buf, sizeof(buf));
        wmem_strbuf_append_printf(text, " QP 0x%06x: %s", msg->sidr_rep.qpn,
                                  name ? name : "reserved status");
        break;
    default: break;
    }
    wmem_strbuf_append_printf(text, " TID 0x%" PRIx64, msg->mad.tid);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "info_column.h"

#include <string.h>
#include "wire/codes.h"

#define ARROW "\xe2\x86\x92"

static void add_dec(struct line *text, const char *before, uint64_t v)
{
    line_add_text(text, before);
    line_add_dec(text, v);
}

static void add_hex(struct line *text, const char *before, uint64_t v, unsigned digits)
{
    line_add_text(text, before);
    line_add_hex(text, v, digits);
}

/* Adds remarks of the analysis in brackets, for example "[retransmission: timeout] ". */
static void add_remarks(struct line *text, const struct roce_pkt *pkt,
                        const struct roce_frame_info *frame)
{
    const struct roce_flow_result *r = &frame->result;

    if (r->flags & ROCE_AN_DROPPED)
        line_add_text(text, "[dropped by receiver] ");
    if (r->flags & ROCE_AN_QP_REUSED)
        line_add_text(text, "[QP reused] ");
    if (r->flags & ROCE_AN_COPY)
        line_add_text(text, "[copy] ");
    if (r->flags & ROCE_AN_RETRANSMISSION) {
        line_add_text(text, "[retransmission: ");
        line_add_text(text, roce_cause_name(r->cause));
        line_add_text(text, "] ");
    }
    if (r->flags & ROCE_AN_OUT_OF_ORDER)
        line_add_text(text, "[out-of-order] ");
    if (r->flags & ROCE_AN_PSN_GAP) {
        line_add_text(text, "[PSN gap: ");
        line_add_dec(text, r->gap);
        line_add_text(text, " missing] ");
    }
    if (r->flags & ROCE_AN_IMPLIED_NAK)
        line_add_text(text, "[implied NAK] ");
    if (r->flags & ROCE_AN_DUPLICATE_ACK) {
        line_add_text(text, roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK
                                ? "[duplicate ACK #"
                                : "[repeated NAK #");
        line_add_dec(text, r->dup_ack_num);
        line_add_text(text, "] ");
    }
    if (r->flags & ROCE_AN_DUPLICATE_RESPONSE)
        line_add_text(text, "[duplicate response] ");
    if (r->flags & ROCE_AN_ACK_UNSEEN)
        line_add_text(text, "[request not captured] ");
    if (r->flags & ROCE_AN_KEEP_ALIVE)
        line_add_text(text, "[keep-alive] ");
    if (r->flags & ROCE_AN_CE)
        line_add_text(text, "[ECN CE] ");
}

/* Adds the name of the opcode ("WRITE First", "UC SEND Only"). For an ACK, adds the name of its
 * syndrome instead ("ACK", "NAK, remote access error"). */
static void add_verb(struct line *text, const struct roce_pkt *pkt)
{
    const char *name = pkt->op->name;
    char buf[80];

    if (pkt->op->svc == ROCE_SVC_RC && strncmp(name, "RC ", 3) == 0)
        name += 3; /* omit the prefix "RC ", because most packets are RC */
    if (pkt->op->kind == ROCE_KIND_ACK && roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        name = roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf));
        if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK &&
            roce_syndrome_code(pkt->aeth.syndrome) == ROCE_CREDIT_NONE)
            name = "ACK";
        if (pkt->op->svc != ROCE_SVC_RC) {
            line_add_text(text, roce_svc_name(pkt->op->svc));
            line_add_text(text, " ");
        }
    }
    if (pkt->op->kind == ROCE_KIND_RESERVED || pkt->op->kind == ROCE_KIND_MANUFACTURER) {
        line_add_text(text, "Opcode ");
        line_add_hex(text, pkt->bth.opcode, 2);
        line_add_text(text, " (");
        line_add_text(text, name);
        line_add_text(text, ")");
    } else
        line_add_text(text, name);
}

static void add_qps(struct line *text, const struct roce_pkt *pkt,
                    const struct roce_frame_info *frame)
{
    uint32_t src = frame ? frame->result.src_qpn : ROCE_QPN_UNKNOWN;

    if (roce_pkt_has(pkt, ROCE_HDR_DETH))
        src = pkt->deth.src_qp;
    line_add_text(text, " ");
    if (src != ROCE_QPN_UNKNOWN)
        line_add_hex(text, src, 6);
    line_add_text(text, ARROW);
    line_add_hex(text, pkt->bth.dest_qp, 6);
}

static void add_length(struct line *text, const struct roce_pkt *pkt,
                       const struct roce_frame_info *frame)
{
    uint64_t total = frame ? frame->result.msg_total : 0;

    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        total = pkt->reth.dma_len;
    if (pkt->op->kind == ROCE_KIND_READ || pkt->op->kind == ROCE_KIND_FLUSH) {
        add_dec(text, " len ", total);
        return;
    }
    if (pkt->payload_len == 0 && pkt->op->payload == ROCE_PAYLOAD_NONE)
        return;
    add_dec(text, " len ", pkt->payload_len);
    if (frame && frame->result.msg_first_frame && frame->result.msg_offset)
        add_dec(text, " at ", frame->result.msg_offset);
    if (total != pkt->payload_len && total)
        add_dec(text, " of ", total);
}

const char *roce_info_column_text(struct line *text, const struct roce_pkt *pkt,
                                  const struct roce_frame_info *frame, bool relative)
{
    char buf[80];

    if (frame)
        add_remarks(text, pkt, frame);
    add_verb(text, pkt);
    add_qps(text, pkt, frame);
    if (pkt->op->kind == ROCE_KIND_CNP)
        return line_finish(text);
    if (relative && frame && frame->result.flags & (ROCE_AN_REQUEST | ROCE_AN_RESPONSE)) {
        int32_t psn = roce_relative_psn(&frame->result);

        add_dec(text, psn < 0 ? " PSN -" : " PSN ", (uint64_t)(psn < 0 ? -(int64_t)psn : psn));
        line_add_text(text, " (relative)");
    } else
        add_dec(text, " PSN ", pkt->bth.psn);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        add_dec(text, " MSN ", pkt->aeth.msn);
        if (pkt->op->kind != ROCE_KIND_ACK &&
            roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK) {
            line_add_text(text, " ");
            line_add_text(text, roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf)));
        }
    }
    add_length(text, pkt, frame);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        if (pkt->op->kind == ROCE_KIND_CMP_SWAP) {
            add_hex(text, " ", pkt->atomiceth.compare, 0);
            add_hex(text, ARROW, pkt->atomiceth.swap_add, 0);
        } else
            add_hex(text, " +", pkt->atomiceth.swap_add, 0);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH))
        add_hex(text, " original ", pkt->atomicacketh.orig, 0);
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        add_hex(text, " imm ", pkt->immdt.imm, 8);
    if (roce_pkt_has(pkt, ROCE_HDR_IETH))
        add_hex(text, " invalidates ", pkt->ieth.rkey, 8);
    return line_finish(text);
}

const char *roce_service_text(uint64_t service_id, char *buf, size_t cap)
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

void roce_info_column_cm(wmem_strbuf_t *text, const struct roce_cm_msg *msg)
{
    char buf[80];
    const char *name;

    wmem_strbuf_append_printf(text, "CM %s", roce_cm_name(msg->kind));
    switch (msg->kind) {
    case ROCE_CM_REQ:
        wmem_strbuf_append_printf(text, " QP 0x%06x PSN %u to %s", msg->req.local_qpn,
                                  msg->req.starting_psn,
                                  roce_service_text(msg->req.service_id, buf, sizeof(buf)));
        break;
    case ROCE_CM_REP:
        wmem_strbuf_append_printf(text, " QP 0x%06x PSN %u", roce_cm_rep_qpn(&msg->rep),
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
                                  roce_service_text(msg->sidr_req.service_id, buf, sizeof(buf)));
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis.h"

#include "expert.h"
#include "hf.h"
#include "wire/codes.h"

enum {
#define NUM(ID, filter, label, display, strings, blurb) HF_##ID,
#define SIGNED(ID, filter, label, blurb)                HF_##ID,
#define QPN(ID, filter, label, blurb)                   HF_##ID,
#define BIG(ID, filter, label, display, blurb)          HF_##ID,
#define TIME(ID, filter, label, blurb)                  HF_##ID,
#define LINK(ID, filter, label, kind, blurb)            HF_##ID,
#define FLAG(bit, ID, filter, label, blurb)             HF_##ID,
#define MARK(ID, filter, label, blurb)                  HF_##ID,
#include "analysis.def"
    HF_CNT
};

static int hf[HF_CNT];
/* Registration data of each field, indexed by enum hf. */
static const header_field_info *hf_info[HF_CNT];
static int ett_analysis = -1;
static int ett_flags = -1;

/* Where items are added: the tree, and the tvb (buffer of packet bytes) to which the items refer.
 * All items are generated: they represent no bytes of the tvb. */
struct tree_out {
    proto_tree *tree;
    tvbuff_t *tvb;
};

void roce_analysis_register(int proto)
{
    static value_string causes[ROCE_CAUSE_CNT + 1], pairings[ROCE_PAIRED_CNT + 1];
    static hf_register_info regs[] = {
#define NUM(ID, filter, label, display, strings, blurb)                                            \
    {&hf[HF_##ID], {label, filter, FT_UINT32, display, strings, 0, blurb, HFILL}},
#define SIGNED(ID, filter, label, blurb)                                                           \
    {&hf[HF_##ID], {label, filter, FT_INT32, BASE_DEC, NULL, 0, blurb, HFILL}},
#define QPN(ID, filter, label, blurb)                                                              \
    {&hf[HF_##ID], {label, filter, FT_UINT24, BASE_HEX, NULL, 0, blurb, HFILL}},
#define BIG(ID, filter, label, display, blurb)                                                     \
    {&hf[HF_##ID], {label, filter, FT_UINT64, display, NULL, 0, blurb, HFILL}},
#define TIME(ID, filter, label, blurb)                                                             \
    {&hf[HF_##ID], {label, filter, FT_RELATIVE_TIME, BASE_NONE, NULL, 0, blurb, HFILL}},
#define LINK(ID, filter, label, kind, blurb)                                                       \
    {&hf[HF_##ID], {label, filter, FT_FRAMENUM, BASE_NONE, FRAMENUM_TYPE(kind), 0, blurb, HFILL}},
#define FLAG(bit, ID, filter, label, blurb)                                                        \
    {&hf[HF_##ID], {label, filter, FT_NONE, BASE_NONE, NULL, 0, blurb, HFILL}},
#define MARK(ID, filter, label, blurb)                                                             \
    {&hf[HF_##ID], {label, filter, FT_NONE, BASE_NONE, NULL, 0, blurb, HFILL}},
#include "analysis.def"
    };
    static int *subtrees[] = {&ett_analysis, &ett_flags};

    for (int i = 0; i < ROCE_CAUSE_CNT; i++) {
        causes[i].value = (guint32)i;
        causes[i].strptr = roce_cause_name((enum roce_cause)i);
    }
    for (int i = 0; i < ROCE_PAIRED_CNT; i++) {
        pairings[i].value = (guint32)i;
        pairings[i].strptr = roce_pairing_name((enum roce_pairing)i);
    }
    for (int i = 0; i < HF_CNT; i++)
        hf[i] = -1;
    proto_register_field_array(proto, regs, array_length(regs));
    for (int i = 0; i < HF_CNT; i++)
        hf_info[i] = proto_registrar_get_nth((guint)hf[i]);
    proto_register_subtree_array(subtrees, array_length(subtrees));
}

static void add_num(const struct tree_out *out, int field, uint32_t value)
{
    if (roce_hf_is_wanted(out->tree, hf_info[field]))
        proto_item_set_generated(proto_tree_add_uint(out->tree, hf[field], out->tvb, 0, 0, value));
}

/* Adds a hidden field: filters and graphs can use it, but the packet details do not show it. */
static void add_hidden(const struct tree_out *out, int field, uint32_t value)
{
    if (roce_hf_is_wanted(out->tree, hf_info[field]))
        proto_item_set_hidden(proto_tree_add_uint(out->tree, hf[field], out->tvb, 0, 0, value));
}

static void add_big(const struct tree_out *out, int field, uint64_t value)
{
    if (roce_hf_is_wanted(out->tree, hf_info[field]))
        proto_item_set_generated(
            proto_tree_add_uint64(out->tree, hf[field], out->tvb, 0, 0, value));
}

static void add_time(const struct tree_out *out, int field, uint64_t ns)
{
    if (ns != ROCE_NEVER_NS && roce_hf_is_wanted(out->tree, hf_info[field]))
        proto_item_set_generated(roce_ws_add_time(out->tree, hf[field], out->tvb, 0, 0, ns));
}

static void add_link(const struct tree_out *out, int field, uint32_t frame)
{
    if (frame)
        add_num(out, field, frame);
}

static proto_item *add_mark(const struct tree_out *out, int field)
{
    proto_item *item = proto_tree_add_item(out->tree, hf[field], out->tvb, 0, 0, ENC_NA);

    proto_item_set_generated(item);
    return item;
}

/* Returns the flag field (roce.analysis.*) of retransmissions with this cause, or -1 if the cause
 * has no such field. */
static int cause_field(enum roce_cause cause)
{
    switch (cause) {
    case ROCE_CAUSE_TIMEOUT: return HF_F_TIMEOUT;
    case ROCE_CAUSE_SPURIOUS: return HF_F_SPURIOUS;
    case ROCE_CAUSE_SEQ_NAK:
    case ROCE_CAUSE_IMPLIED_NAK:
    case ROCE_CAUSE_READ_GAP: return HF_F_NAK_RETX;
    case ROCE_CAUSE_RNR_NAK: return HF_F_RNR_RETX;
    default: return -1;
    }
}

static void add_flags(const struct tree_out *out, const struct roce_flow_result *r)
{
    static const struct {
        uint32_t bit;
        int field;
    } flags[] = {
#define FLAG(bit, ID, filter, label, blurb) {ROCE_AN_##bit, HF_##ID},
#include "analysis.def"
    };
    struct tree_out under = {.tvb = out->tvb};
    uint32_t any = 0;

    for (unsigned i = 0; i < array_length(flags); i++)
        any |= flags[i].bit;
    if (!(r->flags & any))
        return;
    under.tree = proto_item_add_subtree(add_mark(out, HF_FLAGS), ett_flags);
    for (unsigned i = 0; i < array_length(flags); i++)
        if (r->flags & flags[i].bit)
            add_mark(&under, flags[i].field);
    if (r->flags & ROCE_AN_RETRANSMISSION && cause_field(r->cause) >= 0)
        add_mark(&under, cause_field(r->cause));
}

static void add_completeness(const struct tree_out *out, uint8_t complete)
{
    static const char *const names[] = {"REQ", "REP", "RTU", "data", "DREQ", "DREP", "REJ"};
    char text[64] = "";

    if (!out->tree || !PTREE_DATA(out->tree)->visible) {
        add_num(out, HF_COMPLETE, complete);
        return;
    }
    for (unsigned i = 0; i < array_length(names); i++)
        if (complete & 1u << i) {
            (void)g_strlcat(text, text[0] ? ", " : "", sizeof(text));
            (void)g_strlcat(text, names[i], sizeof(text));
        }
    proto_item_set_generated(proto_tree_add_uint_format_value(
        out->tree, hf[HF_COMPLETE], out->tvb, 0, 0, complete, "%s (0x%02x)", text, complete));
}

static void add_connection(const struct tree_out *out, const struct roce_frame_info *f)
{
    const struct roce_flow_result *r = &f->result;
    const struct roce_stream_info *stream = roce_store_stream(r->conn_index);

    if (!stream)
        return;
    add_num(out, HF_STREAM, r->conn_index);
    add_hidden(out, HF_SIDE, r->side);
    if (r->qp_use)
        add_num(out, HF_EPOCH, r->qp_use);
    if (r->src_qpn != ROCE_QPN_UNKNOWN)
        add_num(out, HF_SRC_QP, r->src_qpn);
    if (stream->pairing != ROCE_PAIRED_NOT)
        add_num(out, HF_PAIRING, stream->pairing);
    if (roce_pairing_is_guess(stream->pairing))
        add_mark(out, HF_GUESS);
    add_time(out, HF_SINCE_FIRST, f->since_first);
    add_time(out, HF_DELTA, f->delta);
    add_link(out, HF_CM_REQ, stream->req_frame);
    add_link(out, HF_CM_REP, stream->rep_frame);
    add_time(out, HF_INITIAL_RTT, stream->initial_rtt);
    if (stream->pmtu)
        add_num(out, HF_PMTU, stream->pmtu);
    if (stream->complete & ~ROCE_COMPLETE_DATA)
        add_completeness(out, stream->complete);
}

static void add_cm(const struct tree_out *out, const struct roce_frame_info *f)
{
    const struct roce_flow_result *r = &f->result;
    const struct roce_stream_info *stream = roce_store_stream(r->cm_conn_index);

    if (stream) {
        add_num(out, HF_CM_STREAM, r->cm_conn_index);
        add_completeness(out, stream->complete);
        if (stream->first_data)
            add_link(out, HF_CM_DATA, stream->first_data);
    }
    add_link(out, HF_CM_ANSWERS, r->cm_frame);
    add_link(out, HF_CM_ANSWER, f->cm_answer);
    add_link(out, HF_REPEATS, r->repeats_frame);
    add_link(out, HF_REPEATED_IN, f->repeated_in);
}

static void add_retransmission(const struct tree_out *out, const struct roce_frame_info *f)
{
    const struct roce_flow_result *r = &f->result;

    if (r->flags & ROCE_AN_PSN_GAP)
        add_num(out, HF_GAP, r->gap);
    add_link(out, HF_REPEATS, r->repeats_frame);
    add_time(out, HF_RTO, r->rto);
    if (r->flags & ROCE_AN_RETRANSMISSION) {
        add_num(out, HF_CAUSE, r->cause);
        add_link(out, HF_TRIGGER, r->trigger_frame);
        add_link(out, HF_SPURIOUS_IN, f->spurious_in);
        add_time(out, HF_TIMEOUT, r->timeout);
    }
    add_time(out, HF_RNR_WAIT, r->rnr_wait);
    add_time(out, HF_RNR_WAITED, r->rnr_waited);
    add_link(out, HF_REPEATED_IN, f->repeated_in);
}

static void add_message(const struct tree_out *out, const struct roce_frame_info *f)
{
    const struct roce_flow_result *r = &f->result;

    if (r->flags & ROCE_AN_REQUEST)
        add_num(out, HF_MSG_NUMBER, r->msg_number);
    if (r->msg_first_frame) {
        add_link(out, HF_MSG_FIRST, r->msg_first_frame);
        add_link(out, HF_MSG_LAST, f->msg_last);
        add_big(out, HF_MSG_OFFSET, r->msg_offset);
        add_big(out, HF_MSG_BYTES, r->msg_bytes);
    }
    if (r->msg_total)
        add_big(out, HF_MSG_TOTAL, r->msg_total);
    if (f->msg_packets)
        add_num(out, HF_MSG_PACKETS, f->msg_packets);
    if (r->flags & ROCE_AN_REGION) {
        add_num(out, HF_RKEY, r->rkey);
        add_big(out, HF_VA, r->va);
    }
    if (r->message_time == ROCE_NEVER_NS)
        return;
    add_time(out, HF_MSG_TIME, r->message_time);
    add_big(out, HF_DONE_BYTES, r->done_bytes);
    if (r->message_time)
        add_big(out, HF_GOODPUT, (uint64_t)((double)r->done_bytes * 8e9 / (double)r->message_time));
}

/* Adds the PSNs, bytes and requests in flight. Before the first ACK, the number of PSNs is unknown;
 * rnic/flow then reports 0, and the field of the PSNs is not added. */
static void add_in_flight(const struct tree_out *out, enum roce_kind kind,
                          const struct roce_flow_result *r)
{
    if (r->psns_in_flight || (r->requests_in_flight == 0 && r->bytes_in_flight == 0))
        add_num(out, HF_PSNS_IN_FLIGHT, r->psns_in_flight);
    add_big(out, HF_BYTES_IN_FLIGHT, r->bytes_in_flight);
    add_num(out, HF_REQS_IN_FLIGHT, r->requests_in_flight);
    if (r->reads_in_flight || kind == ROCE_KIND_READ_RESP || kind == ROCE_KIND_ATOMIC_ACK)
        add_num(out, HF_READS_IN_FLIGHT, r->reads_in_flight);
    if (r->read_bytes_in_flight || kind == ROCE_KIND_READ_RESP)
        add_num(out, HF_READ_BYTES, r->read_bytes_in_flight);
}

/* Adds the payload length as one of two fields: goodput if the packet is a first transmission,
 * otherwise retransmitted bytes. */
static void add_volume(const struct tree_out *out, const struct roce_pkt *pkt,
                       const struct roce_flow_result *r)
{
    bool again = r->flags & ROCE_AN_RETRANSMISSION ||
                 (r->flags & ROCE_AN_DUPLICATE_RESPONSE && pkt->op->kind == ROCE_KIND_READ_RESP);

    if (pkt->payload_len == 0 || r->flags & (ROCE_AN_COPY | ROCE_AN_DROPPED))
        return;
    add_hidden(out, again ? HF_AGAIN_BYTES : HF_FRESH_BYTES, pkt->payload_len);
}

static void add_relative_psn(const struct tree_out *out, const struct roce_flow_result *r)
{
    int hidden = r->flags & ROCE_AN_REQUEST ? HF_REQUEST_PSN : HF_RESPONSE_PSN;
    int32_t psn = roce_relative_psn(r);

    if (roce_hf_is_wanted(out->tree, hf_info[HF_PSN_REL]))
        proto_item_set_generated(
            proto_tree_add_int(out->tree, hf[HF_PSN_REL], out->tvb, 0, 0, psn));
    if (roce_hf_is_wanted(out->tree, hf_info[hidden]))
        proto_item_set_hidden(proto_tree_add_int(out->tree, hf[hidden], out->tvb, 0, 0, psn));
}

static void add_transport(const struct tree_out *out, const struct roce_pkt *pkt,
                          const struct roce_frame_info *f)
{
    const struct roce_flow_result *r = &f->result;

    add_relative_psn(out, r);
    add_volume(out, pkt, r);
    if (r->flags & ROCE_AN_REQUEST) {
        add_num(out, HF_NEXT_PSN, r->next_psn);
        add_link(out, HF_ACKED_IN, f->acked_in);
        add_link(out, HF_RESPONSE_IN, f->first_response);
        add_link(out, HF_LAST_RESPONSE, f->last_response);
    } else {
        bool acks = pkt->op->kind == ROCE_KIND_ACK &&
                    roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;

        add_link(out, acks ? HF_ACKS : HF_REQUEST_IN, r->request_frame);
        if (r->acked_packets)
            add_num(out, HF_ACKED_PACKETS, r->acked_packets);
        if (f->msn_step)
            add_num(out, HF_MSN, f->msn_step);
        if (r->dup_ack_num) {
            add_num(out, HF_DUP_NUM, r->dup_ack_num);
            add_link(out, HF_DUP_FRAME, r->dup_ack_frame);
        }
        if (r->credits != ROCE_CREDITS_UNLIMITED)
            add_num(out, HF_CREDITS, r->credits);
    }
    add_time(out, HF_RTT, r->rtt);
    add_time(out, HF_RESPONSE_TIME, r->response_time);
    add_retransmission(out, f);
    add_in_flight(out, pkt->op->kind, r);
    add_message(out, f);
}

void roce_analysis_add(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                       tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    const struct roce_flow_result *r = &frame->result;
    struct tree_out top = {.tree = tree, .tvb = tvb}, out = {.tvb = tvb};

    if (pkt->overlay)
        add_num(&top, HF_VNI, pkt->overlay & ~ROCE_OVERLAY_VNI);
    add_connection(&top, frame);
    out.tree = proto_item_add_subtree(add_mark(&top, HF_ANALYSIS), ett_analysis);
    if (r->flags & (ROCE_AN_REQUEST | ROCE_AN_RESPONSE) && pkt->op->svc != ROCE_SVC_UD)
        add_transport(&out, pkt, frame);
    if (r->flags & ROCE_AN_CM)
        add_cm(&out, frame);
    add_link(&out, HF_CNP_IN, frame->cnp_in);
    add_link(&out, HF_CE_IN, r->ce_frame);
    add_time(&out, HF_CNP_DELAY, r->cnp_delay);
    add_flags(&out, r);
    roce_expert_add_findings(frame->findings, tvb, pinfo, out.tree);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis_store.h"

#include <stdlib.h>
#include <string.h>
#include "result_codec.h"
#include "wire/codes.h"

#define PAGE_FRAMES 512u   /* number of entries in a page of the frame index (store.page) */
#define CHUNK_SIZE  32768u /* size of a chunk of encoded results, bytes */
/* Received READ data is recorded in units of this size, bytes: the smallest path MTU. */
#define READ_UNIT 256u
/* maximum number of units that are recorded for one READ: 8 MiB of data */
#define READ_UNITS 32768u
/* number of bits in one page of frame_extra.read_page; each bit represents a unit */
#define READ_PAGE 1024u

/* Index entry of a frame. */
struct frame_entry {
    /* Offset of the frame's encoded record in the sequence of chunks, plus 1. 0: the frame was not
     * passed to rnic/flow. */
    uint32_t record_pos;
    /* acked_in and msg_last are here, because nearly every request has them. Members that few
     * frames have are in struct frame_extra. */
    uint32_t acked_in;
    uint32_t msg_last; /* frame number of the last packet of the message that this frame begins */
};

/* Data that only few frames have. */
struct frame_extra {
    uint32_t first_response, last_response, repeated_in, cnp_in, cm_answer;
    /* If this frame begins a go-back after a timeout that proved to be spurious: frame number of
     * the response that proved it. Otherwise 0. */
    uint32_t spurious_in;
    /* If reassembly uses the payload of a retransmission of this packet instead of the payload of
     * this frame: frame number of the retransmission. Otherwise 0. */
    uint32_t placed_in;
    /* read_next and read_page record which data of a READ was received. Only the entry of the first
     * response to the READ uses them. read_next: number of bytes that were received in order from
     * the start. */
    uint64_t read_next;
    /* NULL while the READ responses arrive in order. After one arrives out of order: an array of
     * READ_UNITS / READ_PAGE pages, with a bit for each received unit. A page is NULL until one of
     * its units arrives. */
    uint8_t **read_page;
    uint32_t cm_stream; /* if the frame is a CM REQ: index of the stream that the REQ and its REP
                         * set up */
    uint64_t cm_time;   /* if the frame is a CM REQ: its time, ns */
    uint32_t cm_mtu;
    struct roce_frame_finding *first, **end;
};

/* State of the open file. Its memory is in wmem file scope, except `flow`, which reset_store()
 * frees. */
static struct {
    const struct roce_store_opts *opts;
    struct roce_flow *flow;
    struct frame_entry **page;
    uint32_t page_cnt;
    uint8_t **chunk;
    uint32_t chunk_cnt, chunk_cap;
    uint32_t used; /* bytes used in the last chunk */
    wmem_map_t *extra;
    struct roce_flow_done *done; /* completed operations; if `done_sorted` is set, sorted by
                                  * frame */
    uint32_t done_cnt, done_cap;
    bool done_sorted;
    struct roce_stream_info *stream;
    uint32_t stream_cnt, stream_cap;
    uint32_t last_fed;
    /* Highest severity of all findings so far, plus 1. 0: no finding yet. */
    unsigned highest_severity;
    /* Finding of the current packet, if its severity is higher than the severity of all previous
     * findings; otherwise NULL. */
    const struct roce_finding *new_highest;
    /* Findings of the current packet about earlier frames; see roce_store_late(). */
    struct roce_frame_finding *late;
} store;

/* ---- entries of the store ----------------------------------------------------------------------
 */

static struct frame_entry *find_entry(uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    if (page >= store.page_cnt || !store.page[page])
        return NULL;
    return &store.page[page][frame % PAGE_FRAMES];
}

static struct frame_entry *add_entry(uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    if (page >= store.page_cnt) {
        uint32_t cnt = MAX(page + 1, store.page_cnt * 2);

        store.page = (struct frame_entry **)wmem_realloc(wmem_file_scope(), store.page,
                                                         cnt * sizeof(struct frame_entry *));
        memset(&store.page[store.page_cnt], 0,
               (cnt - store.page_cnt) * sizeof(struct frame_entry *));
        store.page_cnt = cnt;
    }
    if (!store.page[page])
        store.page[page] = wmem_alloc0_array(wmem_file_scope(), struct frame_entry, PAGE_FRAMES);
    return &store.page[page][frame % PAGE_FRAMES];
}

/* Appends `len` bytes to the sequence of chunks. Returns the offset of the first byte in this
 * sequence. */
static uint32_t append_bytes(const uint8_t *buf, size_t len)
{
    if (store.chunk_cnt == 0 || store.used + len > CHUNK_SIZE) {
        if (store.chunk_cnt == store.chunk_cap) {
            store.chunk_cap = MAX(64, store.chunk_cap * 2);
            store.chunk = (uint8_t **)wmem_realloc(wmem_file_scope(), store.chunk,
                                                   store.chunk_cap * sizeof(uint8_t *));
        }
        store.chunk[store.chunk_cnt++] = (uint8_t *)wmem_alloc(wmem_file_scope(), CHUNK_SIZE);
        store.used = 0;
    }
    memcpy(store.chunk[store.chunk_cnt - 1] + store.used, buf, len);
    store.used += (uint32_t)len;
    return (store.chunk_cnt - 1) * CHUNK_SIZE + store.used - (uint32_t)len;
}

static bool load_record(uint32_t frame, struct roce_result_record *out)
{
    const struct frame_entry *e = find_entry(frame);

    if (!e || e->record_pos == 0)
        return false;
    roce_result_decode(out, frame,
                       store.chunk[(e->record_pos - 1) / CHUNK_SIZE] +
                           (e->record_pos - 1) % CHUNK_SIZE);
    return true;
}

static struct frame_extra *find_extra(uint32_t frame)
{
    return store.extra ? (struct frame_extra *)wmem_map_lookup(store.extra, GUINT_TO_POINTER(frame))
                       : NULL;
}

static struct frame_extra *add_extra(uint32_t frame)
{
    struct frame_extra *extra = find_extra(frame);

    if (extra)
        return extra;
    if (!store.extra)
        store.extra = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
    extra = wmem_new0(wmem_file_scope(), struct frame_extra);
    extra->cm_stream = ROCE_NO_CONN;
    extra->end = &extra->first;
    wmem_map_insert(store.extra, GUINT_TO_POINTER(frame), extra);
    return extra;
}

static struct roce_stream_info *add_stream(uint32_t stream, const struct roce_flow_in *in)
{
    while (stream >= store.stream_cap) {
        store.stream_cap = MAX(64, store.stream_cap * 2);
        store.stream = (struct roce_stream_info *)wmem_realloc(
            wmem_file_scope(), store.stream, store.stream_cap * sizeof(*store.stream));
    }
    while (stream >= store.stream_cnt)
        store.stream[store.stream_cnt++] = (struct roce_stream_info){
            .qpn = {ROCE_QPN_UNKNOWN, ROCE_QPN_UNKNOWN}, .initial_rtt = ROCE_NEVER_NS};
    if (store.stream[stream].first_frame == 0) {
        store.stream[stream].first_frame = in->frame;
        store.stream[stream].first_time = in->time;
    }
    return &store.stream[stream];
}

/* ---- callbacks of rnic/flow --------------------------------------------------------------------
 */

static void on_finding(void *user _U_, const struct roce_finding *finding)
{
    struct roce_frame_finding *kept = wmem_new(wmem_file_scope(), struct roce_frame_finding);
    struct frame_extra *extra = add_extra(finding->frame);

    kept->finding = *finding;
    kept->next = NULL;
    kept->next_late = NULL;
    *extra->end = kept;
    extra->end = &kept->next;
    if (finding->frame < store.last_fed) {
        kept->next_late = store.late;
        store.late = kept;
    }
    if (finding->rule == ROCE_RULE_SPURIOUS_TIMEOUT)
        add_extra(finding->other_frame)->spurious_in = finding->frame;
    if (!finding->known && finding->severity >= store.highest_severity) {
        store.highest_severity = finding->severity + 1u;
        store.new_highest = &kept->finding;
    }
}

static void on_link(void *user _U_, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct frame_entry *e;

    switch (kind) {
    case ROCE_LINK_ACKED_IN:
        e = find_entry(frame);
        if (e && e->acked_in == 0)
            e->acked_in = other;
        break;
    case ROCE_LINK_FIRST_RESPONSE: add_extra(frame)->first_response = other; break;
    case ROCE_LINK_LAST_RESPONSE: add_extra(frame)->last_response = other; break;
    case ROCE_LINK_REPEATED_IN:
        if (add_extra(frame)->repeated_in == 0)
            find_extra(frame)->repeated_in = other;
        break;
    case ROCE_LINK_CNP_IN: add_extra(frame)->cnp_in = other; break;
    case ROCE_LINK_CM_ANSWER:
        if (add_extra(frame)->cm_answer == 0)
            find_extra(frame)->cm_answer = other;
        break;
    }
}

static void on_done(void *user _U_, const struct roce_flow_done *done)
{
    if (store.done_cnt == store.done_cap) {
        store.done_cap = MAX(64, store.done_cap * 2);
        store.done = (struct roce_flow_done *)wmem_realloc(wmem_file_scope(), store.done,
                                                           store.done_cap * sizeof(*store.done));
    }
    store.done_sorted = store.done_cnt == 0 ||
                        (store.done_sorted && store.done[store.done_cnt - 1].frame <= done->frame);
    store.done[store.done_cnt++] = *done;
}

static void on_conn(void *user _U_, const struct roce_conn_summary *conn)
{
    if (conn->facts.conn_index < store.stream_cnt)
        store.stream[conn->facts.conn_index].pairing = conn->facts.pairing;
}

/* ---- the first pass ----------------------------------------------------------------------------
 */

/* Stores the time and the path MTU of a REQ until the REP arrives. Only then is there a stream
 * (connection) to which they can be copied. */
static void store_cm_req(const struct roce_flow_in *in)
{
    struct roce_cm_msg msg;
    struct frame_extra *extra;

    if (roce_cm_msg_of_pkt(&msg, in->pkt) != ROCE_OK || msg.kind != ROCE_CM_REQ)
        return;
    extra = add_extra(in->frame);
    extra->cm_time = in->time;
    extra->cm_mtu = roce_mtu_bytes(msg.req.mtu);
}

/* Copies data of a CM message to the stream that the message sets up or closes. */
static void store_cm_message(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct roce_stream_info *stream = add_stream(r->cm_conn_index, in);
    struct roce_cm_msg msg;
    struct frame_extra *req;

    stream->last_time = in->time;
    stream->service_id = r->cm_service;
    if (roce_cm_msg_of_pkt(&msg, in->pkt) != ROCE_OK)
        return;
    switch (msg.kind) {
    case ROCE_CM_REP: break;
    case ROCE_CM_RTU: stream->complete |= ROCE_COMPLETE_RTU; return;
    case ROCE_CM_DREQ: stream->complete |= ROCE_COMPLETE_DREQ; return;
    case ROCE_CM_DREP: stream->complete |= ROCE_COMPLETE_DREP; return;
    case ROCE_CM_REJ: stream->complete |= ROCE_COMPLETE_REJ; return;
    default: return;
    }
    stream->complete |= ROCE_COMPLETE_REP;
    req = add_extra(r->cm_frame);
    req->cm_stream = r->cm_conn_index;
    stream->req_frame = r->cm_frame;
    if (r->repeats_frame)
        return;
    stream->rep_frame = in->frame;
    if (req->cm_mtu) { /* true only if the REQ was captured */
        stream->complete |= ROCE_COMPLETE_REQ;
        stream->pmtu = req->cm_mtu;
        stream->initial_rtt = in->time > req->cm_time ? in->time - req->cm_time : 0;
    }
}

/* Returns the increase of the MSN since the previous AETH of the same side, or 0 if the increase is
 * unknown. */
static uint32_t count_msn_step(struct roce_stream_info *stream, const struct roce_flow_in *in,
                               const struct roce_flow_result *r)
{
    uint8_t bit = (uint8_t)(1u << r->side);
    bool knew = stream->msn_known & bit;
    uint32_t step;

    if (!roce_pkt_has(in->pkt, ROCE_HDR_AETH) || r->flags & (ROCE_AN_DROPPED | ROCE_AN_COPY))
        return 0;
    if (stream->msn_epoch != r->qp_use) {
        stream->msn_epoch = r->qp_use;
        stream->msn_known = 0;
        knew = false;
    }
    step = (in->pkt->aeth.msn - stream->msn[r->side]) & ROCE_PSN_MASK;
    /* A step of more than 2^23 is a decrease, so this AETH is older than the previous one. */
    if (knew && step > ROCE_PSN_MASK / 2)
        return 0;
    stream->msn[r->side] = in->pkt->aeth.msn;
    stream->msn_known |= bit;
    return knew ? step : 0;
}

/* Updates the stream (connection) and the side in `r`: rnic/flow may have joined the stream with
 * another one after it returned `r`. Returns the QPN of the endpoint that sent the packet of
 * `r`. */
static uint32_t resolve_stream(struct roce_flow_result *r)
{
    uint32_t final = roce_flow_conn_index(store.flow, r->conn_index);

    /* A stream that is joined to another stream has only one direction, which becomes side 1 of the
     * other stream. */
    if (final != r->conn_index)
        r->side = 1;
    r->conn_index = final;
    return store.stream[final].qpn[r->side];
}

static void mark_read_units(struct frame_extra *extra, uint64_t from, uint64_t end)
{
    for (uint64_t unit = from / READ_UNIT; unit * READ_UNIT < end && unit < READ_UNITS; unit++) {
        uint8_t **page = &extra->read_page[unit / READ_PAGE];

        if (!*page)
            *page = (uint8_t *)wmem_alloc0(wmem_file_scope(), READ_PAGE / 8);
        (*page)[unit % READ_PAGE / 8] |= (uint8_t)(1u << unit % 8);
    }
}

static bool is_read_unit_marked(const struct frame_extra *extra, uint64_t unit)
{
    const uint8_t *page = extra->read_page[unit / READ_PAGE];

    return page && (page[unit % READ_PAGE / 8] >> unit % 8 & 1) != 0;
}

/* Returns true if the data of this READ response was received before. The requester may restart a
 * READ at any PSN. Some of the new responses may then repeat data that the requester already has.
 * rnic/flow does not detect all of these duplicates. */
static bool is_response_repeated(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    uint64_t at = r->msg_offset, end = at + in->pkt->payload_len;
    bool first = r->msg_first_frame == in->frame, seen;
    struct frame_extra *extra;

    /* The first response to the READ contains all data of the READ, so it repeats nothing. */
    if (first && at == 0 && roce_opcode_ends(in->pkt->op))
        return false;
    extra = first ? add_extra(in->frame) : find_extra(r->msg_first_frame);
    if (!extra || at / READ_UNIT >= READ_UNITS)
        return !extra;
    if (!extra->read_page && at == extra->read_next) {
        extra->read_next = end;
        return false;
    }
    if (!extra->read_page) {
        extra->read_page = wmem_alloc0_array(wmem_file_scope(), uint8_t *, READ_UNITS / READ_PAGE);
        mark_read_units(extra, 0, extra->read_next);
    }
    seen = is_read_unit_marked(extra, at / READ_UNIT);
    mark_read_units(extra, at, end);
    return seen;
}

/* Decides which users of a payload must skip it, for example because it is a duplicate. Returns
 * ROCE_NOTE_SKIP_PAYLOAD (Follow Stream and the upper-layer dissectors), ROCE_NOTE_SKIP_REASSEMBLY
 * (reassembly), both, or 0. */
static uint32_t classify_payload(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    const uint32_t all = ROCE_NOTE_SKIP_PAYLOAD | ROCE_NOTE_SKIP_REASSEMBLY;
    struct roce_result_record first;

    if (r->flags & (ROCE_AN_COPY | ROCE_AN_DUPLICATE_RESPONSE | ROCE_AN_DROPPED | ROCE_AN_CM))
        return all;
    if (in->pkt->op->kind == ROCE_KIND_READ_RESP && r->msg_first_frame)
        return is_response_repeated(in, r) ? all : 0;
    /* No earlier transmission is known. If msg_bytes does not include the payload of a
     * retransmission, the packet is a duplicate of a packet that rnic/flow no longer stores. All
     * other payload is new. */
    if (r->repeats_frame == 0)
        return r->flags & ROCE_AN_RETRANSMISSION && r->msg_bytes < in->pkt->payload_len ? all : 0;
    if (r->msg_first_frame == 0 || !load_record(r->repeats_frame, &first) ||
        first.result.msg_first_frame || add_extra(r->repeats_frame)->placed_in)
        return all;
    find_extra(r->repeats_frame)->placed_in = in->frame;
    return ROCE_NOTE_SKIP_PAYLOAD;
}

/* The result of a frame refers to earlier frames. Stores the reverse links in those earlier frames:
 * from an acknowledged packet to its ACK, from a packet to its next transmission or copy, and from
 * the first packet of a message to the last. If the acknowledged packet was retransmitted, the
 * retransmission has the link to the ACK. */
static void add_forward_links(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct frame_entry *first = r->msg_first_frame ? find_entry(r->msg_first_frame) : NULL;
    bool acks = in->pkt->op->kind == ROCE_KIND_ACK && r->flags & ROCE_AN_RESPONSE &&
                roce_syndrome_kind(in->pkt->aeth.syndrome) == ROCE_SYN_ACK;

    if (acks && r->request_frame)
        on_link(NULL, ROCE_LINK_ACKED_IN, r->request_frame, in->frame);
    if (r->repeats_frame)
        on_link(NULL, ROCE_LINK_REPEATED_IN, r->repeats_frame, in->frame);
    if (first && first->msg_last == 0 && roce_opcode_ends(in->pkt->op) &&
        !(r->flags & ROCE_AN_DROPPED))
        first->msg_last = in->frame;
}

/* Returns how often a limit of memory or connections affected the analysis: number of connections
 * that lost their history or were closed early, and of packets that were not recorded. */
static uint64_t count_lost(void)
{
    const struct roce_flow_totals *totals = roce_flow_totals(store.flow);

    return totals->forgotten + totals->evicted + totals->untracked;
}

const struct roce_finding *roce_store_feed(const struct roce_flow_in *in)
{
    struct roce_flow_opts opts = {
        .profile = store.opts->profile,
        .mem_max = store.opts->mem_max,
        .on_finding = on_finding,
        .on_link = on_link,
        .on_conn = on_conn,
        .on_done = on_done,
    };
    struct roce_result_record record = roce_result_record_empty;
    struct roce_flow_result *r = &record.result;
    uint8_t buf[ROCE_RESULT_LEN_MAX];
    struct frame_entry *e;
    uint64_t lost;

    store.late = NULL;
    if (in->frame <= store.last_fed)
        return NULL;
    if (!store.flow)
        store.flow = roce_flow_new(&opts);
    if (!store.flow)
        return NULL;
    store.last_fed = in->frame;
    store.new_highest = NULL;
    e = add_entry(in->frame);
    lost = count_lost();
    roce_flow_feed(store.flow, in, r);
    add_forward_links(in, r);
    if (r->conn_index != ROCE_NO_CONN) {
        struct roce_stream_info *stream = add_stream(r->conn_index, in);

        if (stream->first_frame != in->frame)
            record.delta = in->time > stream->last_time ? in->time - stream->last_time : 0;
        stream->last_time = in->time;
        stream->complete |= r->flags & ROCE_AN_CM ? 0 : ROCE_COMPLETE_DATA;
        stream->overlay = in->pkt->overlay;
        if (r->pairing != ROCE_PAIRED_NOT)
            stream->pairing = (enum roce_pairing)r->pairing;
        record.msn_step = count_msn_step(stream, in, r);
        if (stream->first_data == 0)
            stream->first_data = in->frame;
        stream->qpn[!r->side] = in->pkt->bth.dest_qp;
        if (r->src_qpn != ROCE_QPN_UNKNOWN)
            stream->qpn[r->side] = r->src_qpn;
        if (stream->pmtu == 0 && in->pkt->op->pos == ROCE_POS_FIRST &&
            !(r->flags & ROCE_AN_DROPPED))
            stream->pmtu = in->pkt->payload_len;
    }
    if (r->flags & ROCE_AN_CM)
        store_cm_req(in);
    if (r->cm_conn_index != ROCE_NO_CONN)
        store_cm_message(in, r);
    record.notes = classify_payload(in, r);
    if (r->conn_index != ROCE_NO_CONN &&
        resolve_stream(&(struct roce_flow_result){.conn_index = r->conn_index, .side = r->side}) ==
            ROCE_QPN_UNKNOWN)
        record.notes |= ROCE_NOTE_SRC_QP_UNKNOWN;
    if (count_lost() != lost)
        record.notes |= ROCE_NOTE_LIMIT;
    /* Small values make the record shorter. So next_psn is stored as its distance from the PSN of
     * the packet, XOR 1: the usual distance 1 becomes 0, which is not encoded. Only the first
     * packet of a message has va and rkey. roce_store_get() restores the values. */
    if (r->flags & ROCE_AN_REQUEST)
        r->next_psn = ((r->next_psn - in->pkt->bth.psn) & ROCE_PSN_MASK) ^ 1;
    if (!(r->flags & ROCE_AN_MSG_START))
        r->va = r->rkey = 0;
    e->record_pos = append_bytes(buf, roce_result_encode(&record, in->frame, buf)) + 1;
    return store.new_highest;
}

const struct roce_frame_finding *roce_store_late(void)
{
    return store.late;
}

/* ---- reading results ---------------------------------------------------------------------------
 */

static int compare_done(const void *a, const void *b)
{
    const struct roce_flow_done *x = (const struct roce_flow_done *)a;
    const struct roce_flow_done *y = (const struct roce_flow_done *)b;

    return x->frame != y->frame ? (x->frame > y->frame) - (x->frame < y->frame)
                                : (x->start > y->start) - (x->start < y->start);
}

/* Sorts the operations by frame if they are not sorted. When a connection ends, rnic/flow may
 * report operations with the frame number of its last frame, although it has already reported
 * operations of later frames. */
const struct roce_flow_done *roce_store_done(uint32_t frame, uint32_t *cnt)
{
    uint32_t low = 0, high = store.done_cnt;

    if (!store.done_sorted && store.done_cnt)
        qsort(store.done, store.done_cnt, sizeof(*store.done), compare_done);
    store.done_sorted = true;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (store.done[mid].frame < frame)
            low = mid + 1;
        else
            high = mid;
    }
    for (*cnt = 0; low + *cnt < store.done_cnt && store.done[low + *cnt].frame == frame; ++*cnt)
        ;
    return *cnt ? &store.done[low] : NULL;
}

/* Sets the R_Key and the virtual address of a packet without RETH. Reads them from the record of
 * the packet with the RETH: the first packet of the same message or, for a response, of its
 * request. */
static void restore_region(struct roce_flow_result *r)
{
    uint32_t named = r->flags & ROCE_AN_RESPONSE ? r->request_frame : r->msg_first_frame;
    struct roce_result_record record;

    if (!(r->flags & ROCE_AN_REGION) || (r->flags & ROCE_AN_MSG_START))
        return;
    if (!load_record(named, &record) || !(record.result.flags & ROCE_AN_REGION)) {
        r->flags &= ~(uint32_t)ROCE_AN_REGION;
        return;
    }
    r->rkey = record.result.rkey;
    r->va = record.result.va + r->msg_offset;
}

/* Returns the number of packets of the message that ends with this packet, computed from its PSNs.
 * Returns 0 if the packet does not end a message, or the first packet is unknown. */
static uint32_t count_message_packets(const struct roce_flow_result *r, const struct roce_pkt *pkt)
{
    struct roce_result_record first;

    if (r->msg_first_frame == 0 || !roce_opcode_ends(pkt->op) ||
        !load_record(r->msg_first_frame, &first))
        return 0;
    return ((r->rel_psn - first.result.rel_psn) & ROCE_PSN_MASK) + 1;
}

bool roce_store_get(uint32_t frame, uint64_t time, const struct roce_pkt *pkt,
                    struct roce_frame_info *out)
{
    const struct roce_stream_info *stream;
    struct roce_result_record record;
    struct roce_flow_result *r = &out->result;
    const struct frame_extra *extra;

    if (!load_record(frame, &record))
        return false;
    *out =
        (struct roce_frame_info){.result = record.result,
                                 .delta = record.delta,
                                 .msn_step = record.msn_step,
                                 .skip_payload = (record.notes & ROCE_NOTE_SKIP_PAYLOAD) != 0,
                                 .skip_reassembly = (record.notes & ROCE_NOTE_SKIP_REASSEMBLY) != 0,
                                 .src_qp_unknown = (record.notes & ROCE_NOTE_SRC_QP_UNKNOWN) != 0,
                                 .limited = (record.notes & ROCE_NOTE_LIMIT) != 0};
    if (r->flags & ROCE_AN_REQUEST)
        r->next_psn = (pkt->bth.psn + (r->next_psn ^ 1)) & ROCE_PSN_MASK;
    if (r->flags & ROCE_AN_REQUEST || r->msg_first_frame)
        r->msg_bytes = r->msg_offset + pkt->payload_len;
    restore_region(r);
    out->msg_packets = count_message_packets(r, pkt);
    out->dst_qpn = pkt->bth.dest_qp;
    if (r->conn_index != ROCE_NO_CONN) {
        r->src_qpn = resolve_stream(r);
        stream = roce_store_stream(r->conn_index);
        out->since_first = time > stream->first_time ? time - stream->first_time : 0;
    }
    extra = r->go_back_frame ? find_extra(r->go_back_frame) : NULL;
    if (extra && extra->spurious_in) {
        r->cause = ROCE_CAUSE_SPURIOUS;
        out->spurious_in = extra->spurious_in;
    }
    out->acked_in = find_entry(frame)->acked_in;
    if (r->msg_first_frame && find_entry(r->msg_first_frame))
        out->msg_last = find_entry(r->msg_first_frame)->msg_last;
    if (out->msg_last == frame)
        out->msg_last = 0;
    extra = find_extra(frame);
    if (!extra)
        return true;
    out->first_response = extra->first_response;
    out->last_response = extra->last_response;
    out->repeated_in = extra->repeated_in;
    out->cnp_in = extra->cnp_in;
    out->cm_answer = extra->cm_answer;
    if (r->cm_conn_index == ROCE_NO_CONN)
        r->cm_conn_index = extra->cm_stream;
    out->findings = extra->first;
    for (const struct roce_frame_finding *f = extra->first; f; f = f->next)
        r->findings++;
    return true;
}

const struct roce_stream_info *roce_store_stream(uint32_t stream)
{
    if (!store.flow || stream == ROCE_NO_CONN)
        return NULL;
    stream = roce_flow_conn_index(store.flow, stream);
    return stream < store.stream_cnt ? &store.stream[stream] : NULL;
}

uint32_t roce_store_stream_count(void)
{
    return store.stream_cnt;
}

uint32_t roce_store_stream_of_frame(uint32_t frame)
{
    struct roce_result_record record;
    const struct frame_extra *extra = find_extra(frame);
    uint32_t stream;

    if (!load_record(frame, &record))
        return ROCE_NO_CONN;
    stream = record.result.conn_index;
    if (stream == ROCE_NO_CONN)
        stream = record.result.cm_conn_index;
    if (stream == ROCE_NO_CONN && extra)
        stream = extra->cm_stream;
    return stream == ROCE_NO_CONN ? stream : roce_flow_conn_index(store.flow, stream);
}

bool roce_store_is_first_placement(const struct roce_frame_info *frame)
{
    return !frame->skip_reassembly && frame->result.msg_first_frame != 0;
}

/* ---- opening and closing files -----------------------------------------------------------------
 */

static void finish_first_pass(void)
{
    if (store.flow)
        roce_flow_finish(store.flow);
}

static void reset_store(void)
{
    const struct roce_store_opts *opts = store.opts;

    roce_flow_del(store.flow);
    memset(&store, 0, sizeof(store));
    store.opts = opts;
}

void roce_store_register(const struct roce_store_opts *opts)
{
    store.opts = opts;
    register_cleanup_routine(reset_store);
    register_postseq_cleanup_routine(finish_first_pass);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis_store.h"

#include <string.h>
#include "result_codec.h"
#include "wire/codes.h"

#define PAGE_FRAMES 512u
#define CHUNK_SIZE  32768u
#define READ_UNIT   256u   /* bytes: no path MTU is smaller */
#define READ_UNITS  32768u /* of one READ that are watched: 8 MiB, 4 KiB of bits */

/* One frame in the index. */
struct entry {
    uint32_t at; /* 1 + where its packed result starts, over all chunks; 0: not fed */
    /* Nearly every request has these, so they stand here and not in `more`. */
    uint32_t acked_in;
    uint32_t msg_last; /* the first packet of a message: the frame of its last one */
};

/* What few frames have. */
struct more {
    uint32_t first_response, last_response, repeated_in, cnp_in, cm_answer;
    uint32_t placed_in; /* the repetition that first knew its place in the message */
    /* A READ's first response of several: how many bytes came without a hole, or which did. */
    uint64_t read_next;
    uint8_t *read_units; /* READ_UNITS bits, once they came in another order */
    uint32_t cm_stream;  /* a REQ: the connection that its REP set up */
    uint64_t cm_time;    /* a REQ: when it was sent, and its path MTU */
    uint32_t cm_mtu;
    struct roce_track_finding *first, **end;
};

/* Everything about one file. All but the observer lives in file scope and goes with it. */
static struct {
    const struct roce_track_opts *opts;
    struct roce_flow *flow;
    struct entry **page;
    uint32_t page_cnt;
    uint8_t **chunk;
    uint32_t chunk_cnt, chunk_cap;
    uint32_t used; /* of the last chunk */
    wmem_map_t *more;
    struct roce_track_stream *stream;
    uint32_t stream_cnt, stream_cap;
    uint32_t last_fed;
    unsigned worst;                     /* 1 + the severity of the gravest finding so far */
    const struct roce_finding *gravest; /* of the packet at hand, if it is graver than all before */
} track;

/* ---- the store ---------------------------------------------------------------------------------
 */

static struct entry *entry_of(uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    if (page >= track.page_cnt || !track.page[page])
        return NULL;
    return &track.page[page][frame % PAGE_FRAMES];
}

static struct entry *entry_new(uint32_t frame)
{
    uint32_t page = frame / PAGE_FRAMES;

    if (page >= track.page_cnt) {
        uint32_t cnt = MAX(page + 1, track.page_cnt * 2);

        track.page = (struct entry **)wmem_realloc(wmem_file_scope(), track.page,
                                                   cnt * sizeof(struct entry *));
        memset(&track.page[track.page_cnt], 0, (cnt - track.page_cnt) * sizeof(struct entry *));
        track.page_cnt = cnt;
    }
    if (!track.page[page])
        track.page[page] = wmem_alloc0_array(wmem_file_scope(), struct entry, PAGE_FRAMES);
    return &track.page[page][frame % PAGE_FRAMES];
}

/* Keeps `len` bytes; returns where. */
static uint32_t keep(const uint8_t *buf, size_t len)
{
    if (track.chunk_cnt == 0 || track.used + len > CHUNK_SIZE) {
        if (track.chunk_cnt == track.chunk_cap) {
            track.chunk_cap = MAX(64, track.chunk_cap * 2);
            track.chunk = (uint8_t **)wmem_realloc(wmem_file_scope(), track.chunk,
                                                   track.chunk_cap * sizeof(uint8_t *));
        }
        track.chunk[track.chunk_cnt++] = (uint8_t *)wmem_alloc(wmem_file_scope(), CHUNK_SIZE);
        track.used = 0;
    }
    memcpy(track.chunk[track.chunk_cnt - 1] + track.used, buf, len);
    track.used += (uint32_t)len;
    return (track.chunk_cnt - 1) * CHUNK_SIZE + track.used - (uint32_t)len;
}

static bool unpack(uint32_t frame, struct roce_pack *out)
{
    const struct entry *e = entry_of(frame);

    if (!e || e->at == 0)
        return false;
    roce_pack_get(out, frame, track.chunk[(e->at - 1) / CHUNK_SIZE] + (e->at - 1) % CHUNK_SIZE);
    return true;
}

static struct more *more_of(uint32_t frame)
{
    return track.more ? (struct more *)wmem_map_lookup(track.more, GUINT_TO_POINTER(frame)) : NULL;
}

static struct more *more_new(uint32_t frame)
{
    struct more *more = more_of(frame);

    if (more)
        return more;
    if (!track.more)
        track.more = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
    more = wmem_new0(wmem_file_scope(), struct more);
    more->cm_stream = ROCE_NO_STREAM;
    more->end = &more->first;
    wmem_map_insert(track.more, GUINT_TO_POINTER(frame), more);
    return more;
}

static struct roce_track_stream *stream_new(uint32_t stream, const struct roce_flow_in *in)
{
    while (stream >= track.stream_cap) {
        track.stream_cap = MAX(64, track.stream_cap * 2);
        track.stream = (struct roce_track_stream *)wmem_realloc(
            wmem_file_scope(), track.stream, track.stream_cap * sizeof(*track.stream));
    }
    while (stream >= track.stream_cnt)
        track.stream[track.stream_cnt++] = (struct roce_track_stream){
            .qpn = {ROCE_QPN_UNKNOWN, ROCE_QPN_UNKNOWN}, .initial_rtt = ROCE_NEVER_NS};
    if (track.stream[stream].first_frame == 0) {
        track.stream[stream].first_frame = in->frame;
        track.stream[stream].first_time = in->time;
    }
    return &track.stream[stream];
}

/* ---- what the observer calls -------------------------------------------------------------------
 */

static void on_finding(void *user _U_, const struct roce_finding *finding)
{
    struct roce_track_finding *kept = wmem_new(wmem_file_scope(), struct roce_track_finding);
    struct more *more = more_new(finding->frame);

    kept->finding = *finding;
    kept->next = NULL;
    *more->end = kept;
    more->end = &kept->next;
    if (!finding->known && finding->severity >= track.worst) {
        track.worst = finding->severity + 1u;
        track.gravest = &kept->finding;
    }
}

static void on_link(void *user _U_, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct entry *e;

    switch (kind) {
    case ROCE_LINK_ACKED_IN:
        e = entry_of(frame);
        if (e && e->acked_in == 0)
            e->acked_in = other;
        break;
    case ROCE_LINK_FIRST_RESPONSE: more_new(frame)->first_response = other; break;
    case ROCE_LINK_LAST_RESPONSE: more_new(frame)->last_response = other; break;
    case ROCE_LINK_REPEATED_IN:
        if (more_new(frame)->repeated_in == 0)
            more_of(frame)->repeated_in = other;
        break;
    case ROCE_LINK_CNP_IN: more_new(frame)->cnp_in = other; break;
    case ROCE_LINK_CM_ANSWER:
        if (more_new(frame)->cm_answer == 0)
            more_of(frame)->cm_answer = other;
        break;
    }
}

static void on_conn(void *user _U_, const struct roce_conn_summary *conn)
{
    if (conn->stream < track.stream_cnt)
        track.stream[conn->stream].pairing = conn->pairing;
}

/* ---- the first pass ----------------------------------------------------------------------------
 */

/* A REQ comes before there is a connection. */
static void note_req(const struct roce_flow_in *in)
{
    struct roce_cm_msg msg;
    struct more *more;

    if (roce_cm_msg_of_pkt(&msg, in->pkt) != ROCE_OK || msg.kind != ROCE_CM_REQ)
        return;
    more = more_new(in->frame);
    more->cm_time = in->time;
    more->cm_mtu = roce_mtu_bytes(msg.req.mtu);
}

/* What a CM message tells of the connection it speaks of. */
static void note_cm(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct roce_track_stream *stream = stream_new(r->cm_stream, in);
    struct roce_cm_msg msg;
    struct more *req;

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
    req = more_new(r->cm_frame);
    req->cm_stream = r->cm_stream;
    stream->req_frame = r->cm_frame;
    if (r->repeats_frame)
        return;
    stream->rep_frame = in->frame;
    if (req->cm_mtu) { /* else it was not captured */
        stream->complete |= ROCE_COMPLETE_REQ;
        stream->pmtu = req->cm_mtu;
        stream->initial_rtt = in->time > req->cm_time ? in->time - req->cm_time : 0;
    }
}

/* How far the MSN of an answer has gone on since the answer before. */
static uint32_t msn_step(struct roce_track_stream *stream, const struct roce_flow_in *in,
                         const struct roce_flow_result *r)
{
    uint8_t bit = (uint8_t)(1u << r->side);
    bool knew = stream->msn_known & bit;
    uint32_t step;

    if (!roce_pkt_has(in->pkt, ROCE_HDR_AETH) || r->flags & (ROCE_AN_DROPPED | ROCE_AN_COPY))
        return 0;
    if (stream->msn_epoch != r->epoch) {
        stream->msn_epoch = r->epoch;
        stream->msn_known = 0;
        knew = false;
    }
    step = (in->pkt->aeth.msn - stream->msn[r->side]) & ROCE_PSN_MASK;
    if (knew && step > ROCE_PSN_MASK / 2) /* an older one */
        return 0;
    stream->msn[r->side] = in->pkt->aeth.msn;
    stream->msn_known |= bit;
    return knew ? step : 0;
}

/* The stream and side of a frame as known by now, and the QP it is from. */
static uint32_t find_source(struct roce_flow_result *r)
{
    uint32_t final = roce_flow_stream(track.flow, r->stream);

    if (final != r->stream) /* its one known side became the other's second */
        r->side = 1;
    r->stream = final;
    return track.stream[final].qpn[r->side];
}

static void mark_units(struct more *more, uint64_t from, uint64_t end)
{
    for (uint64_t unit = from / READ_UNIT; unit * READ_UNIT < end && unit < READ_UNITS; unit++)
        more->read_units[unit / 8] |= (uint8_t)(1u << unit % 8);
}

/* Whether a READ response was there before. A responder sends them again when asked again, from any
 * of them on: the observer calls these no duplicates, because the requester wants some of them. */
static bool was_read(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    uint64_t at = r->msg_offset, end = at + in->pkt->payload_len;
    bool first = r->msg_first_frame == in->frame, seen;
    struct more *more;

    if (first && at == 0 && roce_opcode_ends(in->pkt->op)) /* the only one */
        return false;
    more = first ? more_new(in->frame) : more_of(r->msg_first_frame);
    if (!more || at / READ_UNIT >= READ_UNITS)
        return !more;
    if (!more->read_units && at == more->read_next) {
        more->read_next = end;
        return false;
    }
    if (!more->read_units) {
        more->read_units = (uint8_t *)wmem_alloc0(wmem_file_scope(), READ_UNITS / 8);
        mark_units(more, 0, more->read_next);
    }
    seen = (more->read_units[at / READ_UNIT / 8] >> at / READ_UNIT % 8 & 1) != 0;
    mark_units(more, at, end);
    return seen;
}

/* What of a frame's payload is not new. */
static uint32_t notes_of(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    const uint32_t all = ROCE_NOTE_SEEN | ROCE_NOTE_PLACED;
    struct roce_pack first;

    if (r->flags & (ROCE_AN_COPY | ROCE_AN_DUPLICATE_RESPONSE | ROCE_AN_DROPPED | ROCE_AN_CM))
        return all;
    if (in->pkt->op->kind == ROCE_KIND_READ_RESP && r->msg_first_frame)
        return was_read(in, r) ? all : 0;
    if (r->repeats_frame == 0) /* one that says nothing of its message is older than remembered */
        return r->flags & ROCE_AN_RETRANSMISSION && r->msg_bytes < in->pkt->payload_len ? all : 0;
    if (r->msg_first_frame == 0 || !unpack(r->repeats_frame, &first) ||
        first.result.msg_first_frame || more_new(r->repeats_frame)->placed_in)
        return all;
    more_of(r->repeats_frame)->placed_in = in->frame;
    return ROCE_NOTE_SEEN;
}

/* Links that point back have a way forward, too: an ACK to the packet that was sent again and not
 * to its first transmission; a copy; a CM message sent again; the last packet of a message. */
static void link_back(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct entry *first = r->msg_first_frame ? entry_of(r->msg_first_frame) : NULL;
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

const struct roce_finding *roce_track_feed(const struct roce_flow_in *in)
{
    struct roce_flow_opts opts = {
        .profile = track.opts->profile,
        .on_finding = on_finding,
        .on_link = on_link,
        .on_conn = on_conn,
    };
    struct roce_pack pack = roce_pack_empty;
    struct roce_flow_result *r = &pack.result;
    uint8_t buf[ROCE_PACK_MAX];
    struct entry *e;

    if (in->frame <= track.last_fed)
        return NULL;
    if (!track.flow)
        track.flow = roce_flow_new(&opts);
    if (!track.flow)
        return NULL;
    track.last_fed = in->frame;
    track.gravest = NULL;
    e = entry_new(in->frame);
    roce_flow_feed(track.flow, in, r);
    link_back(in, r);
    if (r->stream != ROCE_NO_STREAM) {
        struct roce_track_stream *stream = stream_new(r->stream, in);

        if (stream->first_frame != in->frame)
            pack.delta = in->time > stream->last_time ? in->time - stream->last_time : 0;
        stream->last_time = in->time;
        stream->complete |= r->flags & ROCE_AN_CM ? 0 : ROCE_COMPLETE_DATA;
        stream->overlay = in->pkt->overlay;
        if (r->pairing != ROCE_PAIRED_NOT)
            stream->pairing = (enum roce_pairing)r->pairing;
        pack.msn_step = msn_step(stream, in, r);
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
        note_req(in);
    if (r->cm_stream != ROCE_NO_STREAM)
        note_cm(in, r);
    pack.notes = notes_of(in, r);
    if (r->stream != ROCE_NO_STREAM &&
        find_source(&(struct roce_flow_result){.stream = r->stream, .side = r->side}) ==
            ROCE_QPN_UNKNOWN)
        pack.notes |= ROCE_NOTE_STRANGER;
    /* What the reader derives again. */
    if (r->flags & ROCE_AN_REQUEST)
        r->next_psn = ((r->next_psn - in->pkt->bth.psn) & ROCE_PSN_MASK) ^ 1;
    if (!(r->flags & ROCE_AN_MSG_START))
        r->va = r->rkey = 0;
    e->at = keep(buf, roce_pack_put(&pack, in->frame, buf)) + 1;
    return track.gravest;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

/* The region is kept with the packet that names it. */
static void find_region(struct roce_flow_result *r)
{
    uint32_t named = r->flags & ROCE_AN_RESPONSE ? r->request_frame : r->msg_first_frame;
    struct roce_pack pack;

    if (!(r->flags & ROCE_AN_REGION) || (r->flags & ROCE_AN_MSG_START))
        return;
    if (!unpack(named, &pack) || !(pack.result.flags & ROCE_AN_REGION)) {
        r->flags &= ~(uint32_t)ROCE_AN_REGION;
        return;
    }
    r->rkey = pack.result.rkey;
    r->va = pack.result.va + r->msg_offset;
}

/* Packets of the message that this one ends, counted by PSN: those sent again count once. */
static uint32_t count_packets(const struct roce_flow_result *r, const struct roce_pkt *pkt)
{
    struct roce_pack first;

    if (r->msg_first_frame == 0 || !roce_opcode_ends(pkt->op) ||
        !unpack(r->msg_first_frame, &first))
        return 0;
    return ((r->rel_psn - first.result.rel_psn) & ROCE_PSN_MASK) + 1;
}

bool roce_track_get(uint32_t frame, uint64_t time, const struct roce_pkt *pkt,
                    struct roce_track_frame *out)
{
    const struct roce_track_stream *stream;
    struct roce_pack pack;
    struct roce_flow_result *r = &out->result;
    const struct more *more;

    if (!unpack(frame, &pack))
        return false;
    *out = (struct roce_track_frame){.result = pack.result,
                                     .delta = pack.delta,
                                     .msn_step = pack.msn_step,
                                     .seen = (pack.notes & ROCE_NOTE_SEEN) != 0,
                                     .placed = (pack.notes & ROCE_NOTE_PLACED) != 0,
                                     .stranger = (pack.notes & ROCE_NOTE_STRANGER) != 0};
    if (r->flags & ROCE_AN_REQUEST)
        r->next_psn = (pkt->bth.psn + (r->next_psn ^ 1)) & ROCE_PSN_MASK;
    if (r->flags & ROCE_AN_REQUEST || r->msg_first_frame)
        r->msg_bytes = r->msg_offset + pkt->payload_len;
    find_region(r);
    out->msg_packets = count_packets(r, pkt);
    out->dst_qpn = pkt->bth.dest_qp;
    if (r->stream != ROCE_NO_STREAM) {
        r->src_qpn = find_source(r);
        stream = roce_track_stream(r->stream);
        out->since_first = time > stream->first_time ? time - stream->first_time : 0;
    }
    out->acked_in = entry_of(frame)->acked_in;
    if (r->msg_first_frame && entry_of(r->msg_first_frame))
        out->msg_last = entry_of(r->msg_first_frame)->msg_last;
    if (out->msg_last == frame)
        out->msg_last = 0;
    more = more_of(frame);
    if (!more)
        return true;
    out->first_response = more->first_response;
    out->last_response = more->last_response;
    out->repeated_in = more->repeated_in;
    out->cnp_in = more->cnp_in;
    out->cm_answer = more->cm_answer;
    if (r->cm_stream == ROCE_NO_STREAM)
        r->cm_stream = more->cm_stream;
    out->findings = more->first;
    for (const struct roce_track_finding *f = more->first; f; f = f->next)
        r->findings++;
    return true;
}

const struct roce_track_stream *roce_track_stream(uint32_t stream)
{
    if (!track.flow || stream == ROCE_NO_STREAM)
        return NULL;
    stream = roce_flow_stream(track.flow, stream);
    return stream < track.stream_cnt ? &track.stream[stream] : NULL;
}

uint32_t roce_track_stream_count(void)
{
    return track.stream_cnt;
}

uint32_t roce_track_stream_of(uint32_t frame)
{
    struct roce_pack pack;
    const struct more *more = more_of(frame);
    uint32_t stream;

    if (!unpack(frame, &pack))
        return ROCE_NO_STREAM;
    stream = pack.result.stream;
    if (stream == ROCE_NO_STREAM)
        stream = pack.result.cm_stream;
    if (stream == ROCE_NO_STREAM && more)
        stream = more->cm_stream;
    return stream == ROCE_NO_STREAM ? stream : roce_flow_stream(track.flow, stream);
}

bool roce_track_is_placed(const struct roce_track_frame *frame)
{
    return !frame->placed && frame->result.msg_first_frame != 0;
}

/* ---- a file comes and goes ---------------------------------------------------------------------
 */

static void read_to_end(void)
{
    if (track.flow)
        roce_flow_finish(track.flow);
}

static void forget(void)
{
    const struct roce_track_opts *opts = track.opts;

    roce_flow_del(track.flow);
    memset(&track, 0, sizeof(track));
    track.opts = opts;
}

void roce_track_register(const struct roce_track_opts *opts)
{
    track.opts = opts;
    register_cleanup_routine(forget);
    register_postseq_cleanup_routine(read_to_end);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Plays datagram streams to the target: the target is the receiver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/error.h"
#include "engine/dgram/dgram_expected.h"
#include "engine/reasons/peer_quirks.h"
#include "live/agent_setup.h"
#include "live/live_dgram.h"
#include "wire/crc32.h"

/* RECV_DEPTH: maximum number of receive WQEs of a stream that are posted but not completed.
 * LOAD_MAX: bytes of a memory region read with one request to the agent. */
#define RECV_DEPTH 256u
#define LOAD_MAX   65536u

#define QUIET_NS UINT64_C(30000000)

/* Expected completion of a receive WQE of the target. */
struct expected_recv {
    uint32_t pkt; /* index into trace.pkt of the message's last packet */
    uint32_t len, crc32, imm, src_qpn;
    bool has_imm;
    struct delivery_case after; /* UC: packets before this message that the capture shows as lost */
};

struct dgram_target {
    struct dgram_stream *stream;
    uint32_t idx;
    uint32_t qp; /* number by which the agent knows the target's QP */
    bool made;
    struct rewrite_dgram rewrite;
    struct expected_delivery delivery;
    struct delivery_case after; /* UC: packets before the current message that the capture shows
                                 * as lost */
    bool broken;                /* UC: a packet of the current message was lost */
    bool write_broken;          /* UC: a packet of an earlier WRITE was lost */
    uint32_t crc32;             /* CRC-32 of the payload of the current SEND so far */
    uint32_t recv_len;
    uint32_t latest; /* index of the latest packet sent */
    size_t total;    /* number of completions expected for the whole stream */
    size_t posted;   /* number of receives posted */
    size_t done;     /* number of completions received */
    struct expected_recv *wanted;
    size_t wanted_cnt, wanted_cap;
};

struct dgram_to_target {
    struct live *live;
    struct dgram_streams *streams;
    const char *peer;              /* profile with the known deviations of the target, or NULL */
    struct dgram_target *receiver; /* one element for each stream */
    /* Memory regions of all recorded receivers, by R_Key, with the data that the recorded WRITEs
     * stored. */
    struct shadow_memory memory;
    struct rewrite_region *region;
    uint32_t *mr;          /* for each region: number by which the agent knows it */
    uint32_t *last_writer; /* for each region: index of the packet that last wrote to it */
    bool no_memory;
    uint32_t *last_stream; /* for each region: index of the stream that last wrote to it */
};

static bool is_played(const struct dgram_stream *s)
{
    return s->role == DGRAM_RECEIVER && !s->skip;
}

/* ---- setting up the target's QPs and memory ----------------------------------------------------
 */

/* Finds the memory that the WRITEs of a stream use. Also finds the length of its longest SEND and
 * the number of messages that consume a receive WQE. Returns 0, or -1 if out of memory. */
static int measure_stream(struct dgram_to_target *rx, struct dgram_target *r)
{
    const struct trace *trace = rx->streams->trace;
    struct expected_delivery d;

    expected_delivery_init(&d, r->stream);
    for (size_t i = 0; i < r->stream->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[r->stream->pkt[i]];
        struct rx_result got;
        struct roce_pkt pkt;

        if (p->dropped)
            continue;
        trace_parse(p, &pkt);
        got = expected_delivery_next(&d, &pkt);
        if (got.outcome == RX_DROPPED)
            continue;
        r->total += got.outcome == RX_COMPLETED;
        if (got.write) {
            if (shadow_claim(&rx->memory, got.rkey, got.va, p->payload_len,
                             RNIC_ACCESS_REMOTE_WRITE) != 0)
                return -1;
        } else if (d.off + p->payload_len > r->recv_len) {
            r->recv_len = (uint32_t)(d.off + p->payload_len);
        }
    }
    return 0;
}

static int make_regions(struct dgram_to_target *rx, const char **why, struct error *error)
{
    uint32_t cnt = rx->memory.keys.cnt;

    rx->region = calloc(cnt + 1, sizeof(*rx->region));
    rx->mr = calloc(cnt + 1, sizeof(*rx->mr));
    rx->last_writer = calloc(cnt + 1, sizeof(*rx->last_writer));
    rx->last_stream = calloc(cnt + 1, sizeof(*rx->last_stream));
    *why = shadow_map(&rx->memory);
    if (!rx->region || !rx->mr || !rx->last_writer || !rx->last_stream)
        return error_set(error, "no memory");
    for (uint32_t i = 0; i < cnt && !*why; i++) {
        json_t *reply;

        if (rx->memory.region[i].span == 0)
            continue;
        reply =
            agent_setup_call(rx->live,
                             json_pack("{s:s, s:I, s:[s]}", "op", "mr", "len",
                                       (json_int_t)rx->memory.region[i].span, "access", "write"),
                             why, error);
        if (!reply)
            return *why ? 0 : -1;
        rx->mr[i] = (uint32_t)json_integer_value(json_object_get(reply, "mr"));
        rx->region[i].addr = (uint64_t)json_integer_value(json_object_get(reply, "addr"));
        rx->region[i].rkey = (uint32_t)json_integer_value(json_object_get(reply, "rkey"));
        json_decref(reply);
    }
    return 0;
}

/* Posts receive WQEs for the remaining messages, so that at most RECV_DEPTH are outstanding.
 * Returns 0, or -1 and an error. */
static int post_receives(struct dgram_to_target *rx, struct dgram_target *r, struct error *error)
{
    while (r->posted < r->total && r->posted - r->done < RECV_DEPTH) {
        bool refused;
        json_t *reply = agent_client_call(
            &rx->live->agent,
            json_pack("{s:s, s:I, s:I, s:I}", "op", "recv", "qp", (json_int_t)r->qp, "len",
                      (json_int_t)r->recv_len, "id", (json_int_t)r->posted),
            &refused, error);

        if (!reply)
            return -1;
        json_decref(reply);
        r->posted++;
    }
    return 0;
}

static int open_receiver(struct dgram_to_target *rx, struct dgram_target *r, struct error *error)
{
    const struct trace *trace = rx->streams->trace;
    struct dgram_stream *s = r->stream;
    uint32_t psn = 0, first = 0;
    size_t i = 0;

    r->rewrite = (struct rewrite_dgram){
        .path = &rx->live->path, .memory = &rx->memory, .region = rx->region, .pkey = s->pkey};
    while (trace->pkt[s->pkt[i]].dropped)
        i++; /* skip damaged packets; the loop ends, because each stream that is played has an
              * undamaged packet */
    first = trace->pkt[s->pkt[i]].psn;
    (void)!getrandom(&psn, sizeof(psn), 0);
    psn &= ROCE_PSN_MASK;
    r->rewrite.psn_add = roce_psn_diff(roce_psn_of(psn), roce_psn_of(first));
    if (agent_setup_dgram_qp(rx->live, s, 1, RECV_DEPTH, &r->qp, &r->rewrite.their_qpn, error) != 0)
        return -1;
    if (!s->skip && agent_setup_dgram_connect(rx->live, s, r->qp, rx->live->port.qpn + r->idx, psn,
                                              0, error) != 0)
        return -1;
    r->made = !s->skip;
    expected_delivery_init(&r->delivery, s);
    return r->made ? post_receives(rx, r, error) : 0;
}

/* ---- comparing completions and memory ----------------------------------------------------------
 */

static uint32_t json_u32(const json_t *c, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(c, name));
}

/* Compares completion `c` with the expected completion `w` and sets *d to the differences. `c` is
 * NULL if the receive did not complete. */
static void compare_wanted(const struct dgram_target *r, const struct expected_recv *w,
                           const json_t *c, struct field_diffs *d)
{
    const json_t *imm = json_object_get(c, "imm");
    char e[96], a[96];

    d->cnt = 0;
    agent_client_describe(e, sizeof(e), "success", w->len, w->crc32, w->has_imm, w->imm);
    if (!c)
        snprintf(a, sizeof(a), "none");
    else if (json_u32(c, "status") != 0)
        snprintf(a, sizeof(a), "%s", json_string_value(json_object_get(c, "text")));
    else
        agent_client_describe(a, sizeof(a), "success", json_u32(c, "len"), json_u32(c, "crc32"),
                              imm != NULL, (uint32_t)json_integer_value(imm));
    if (strcmp(e, a) != 0)
        field_diff_add(d, "completion", e, a);
    else if (r->stream->svc == ROCE_SVC_UD)
        field_diff_add_num(d, "wc.src_qp", FIELD_HEX, w->src_qpn, json_u32(c, "src_qpn"));
}

/* Compares the next completion of a receiver, `c`, with the expected one. `c` is NULL if the target
 * has no more completions. If a known deviation of the target explains that the expected completion
 * is missing, reports this deviation, and compares `c` with the next expected completion. Returns
 * 0, or -1 if out of memory. */
static int compare_completion(struct dgram_to_target *rx, struct dgram_target *r, const json_t *c)
{
    const struct peer_quirk *known = NULL;
    struct field_diffs d;

    do {
        const struct expected_recv *w = &r->wanted[r->done];

        if (r->done >= r->wanted_cnt)
            return 0; /* ignore the completion of a receive WQE that was flushed at the end */
        compare_wanted(r, w, c, &d);
        known = d.cnt ? peer_quirk_of_delivery(rx->peer, &w->after) : NULL;
        r->done++;
        if (known)
            compare_wanted(r, w, NULL, &d);
        if (dgram_streams_report_known(
                rx->streams, r->idx, w->pkt, &d,
                "the completion of the target's receive differs from the recorded message",
                known) != 0)
            return -1;
    } while (known && c);
    return 0;
}

static int take_completion(void *ctx, const json_t *c, struct error *error)
{
    struct dgram_to_target *rx = ctx;

    for (size_t i = 0; i < rx->streams->cnt; i++)
        if (rx->receiver[i].made && rx->receiver[i].qp == json_u32(c, "qp") &&
            compare_completion(rx, &rx->receiver[i], c) != 0)
            return error_set(error, "no memory");
    return 0;
}

static int poll_completions(struct dgram_to_target *rx, size_t *cnt, struct error *error)
{
    return agent_client_poll(&rx->live->agent, take_completion, rx, cnt, error);
}

static int report_memory(struct dgram_to_target *rx, uint32_t idx, const struct field_diffs *d,
                         struct error *error)
{
    uint32_t stream = rx->last_stream[idx];
    struct delivery_case after = {.write = true, .later = rx->receiver[stream].write_broken};

    return dgram_streams_report_known(
               rx->streams, stream, rx->last_writer[idx], d,
               "at the end, the target's memory differs from the data of the WRITEs "
               "up to this one",
               peer_quirk_of_delivery(rx->peer, &after)) == 0
               ? 0
               : error_set(error, "no memory");
}

/* Compares the content of a memory region of the target with the data that the recorded WRITEs
 * stored. Reports the first difference. Returns 0, or -1 and an error. */
static int compare_region(struct dgram_to_target *rx, uint32_t idx, struct error *error)
{
    const struct shadow_region *region = &rx->memory.region[idx];
    uint8_t bytes[LOAD_MAX];

    for (uint64_t off = 0; off < region->span; off += LOAD_MAX) {
        uint64_t len = region->span - off < LOAD_MAX ? region->span - off : LOAD_MAX;
        struct field_diffs d = {.cnt = 0};

        if (agent_client_read(&rx->live->agent, rx->mr[idx], off, bytes, len, error) != 0)
            return -1;
        for (uint64_t i = 0; i < len && d.cnt == 0; i++) {
            char e[96], a[96];

            if (bytes[i] == region->image[off + i])
                continue;
            snprintf(e, sizeof(e), "0x%02x at 0x%llx", region->image[off + i],
                     (unsigned long long)(region->low + off + i));
            snprintf(a, sizeof(a), "0x%02x", bytes[i]);
            field_diff_add(&d, "memory", e, a);
        }
        if (d.cnt)
            return report_memory(rx, idx, &d, error);
    }
    return 0;
}

/* Reports each packet of the target as a difference: a receiver of UC or UD must not send packets
 * (R162, R178). */
static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct dgram_to_target *rx = user;
    struct field_diffs d = {.cnt = 0};
    struct roce_pkt pkt;
    uint32_t idx;

    if (!live_parse(rx->live, frame, &pkt, &idx) || idx >= rx->streams->cnt ||
        !rx->receiver[idx].made || !rx->receiver[idx].stream->compared)
        return;
    field_diff_add(&d, "answer", "none", roce_opcode(pkt.bth.opcode)->name);
    if (dgram_streams_report(rx->streams, idx, rx->receiver[idx].latest, &d,
                             "the target responds to a packet of an unacknowledged service") != 0)
        rx->no_memory = true;
}

/* ---- sending the recorded packets --------------------------------------------------------------
 */

/* Records whether the capture shows the loss of UC packets just before packet `pkt`. `was` is the
 * state of a conformant receiver before `pkt`. `fate`: whether this receiver stores or drops
 * `pkt`. */
static void note_loss(struct dgram_target *r, const struct roce_pkt *pkt,
                      const struct expected_delivery *was, enum rx_outcome fate)
{
    bool starts = roce_opcode_starts(pkt->op);

    if (starts ? was->open : fate == RX_DROPPED) {
        r->broken = true;
        r->write_broken |= (starts ? was->kind : pkt->op->kind) == ROCE_KIND_WRITE;
    }
    if (!starts)
        return;
    r->after = (struct delivery_case){
        .next = r->broken, .later = r->write_broken, .write = pkt->op->kind == ROCE_KIND_WRITE};
    r->broken = false;
}

/* Updates the expected completions and the expected memory: adds the effect of a packet on a
 * conformant receiver. Returns 0, or -1 if out of memory. */
static int note_delivery(struct dgram_to_target *rx, struct dgram_target *r, uint32_t pkt_idx)
{
    const struct trace_packet *p = &rx->streams->trace->pkt[pkt_idx];
    struct dgram_stream *s = r->stream;
    struct expected_delivery was = r->delivery;
    struct shadow_region *region;
    struct rx_result got;
    struct roce_pkt pkt;

    s->compared++;
    r->latest = pkt_idx;
    if (p->dropped) {
        s->damaged++;
        return 0;
    }
    trace_parse(p, &pkt);
    got = expected_delivery_next(&r->delivery, &pkt);
    if (s->svc == ROCE_SVC_UC)
        note_loss(r, &pkt, &was, got.outcome);
    s->dropped += got.outcome == RX_DROPPED;
    if (got.outcome == RX_DROPPED)
        return 0;
    region = got.write ? shadow_find(&rx->memory, got.rkey) : NULL;
    if (region && shadow_covers(region, got.va, p->payload_len, 0)) {
        memcpy(region->image + (got.va - region->low), trace_payload(p), p->payload_len);
        rx->last_writer[region - rx->memory.region] = pkt_idx;
        rx->last_stream[region - rx->memory.region] = r->idx;
    }
    if (!got.write)
        r->crc32 =
            roce_crc32(roce_opcode_starts(pkt.op) ? 0 : r->crc32, trace_payload(p), p->payload_len);
    if (got.outcome == RX_STORED)
        return 0;
    s->messages++;
    s->bytes += s->svc == ROCE_SVC_UC ? r->delivery.off : p->payload_len;
    if (got.outcome != RX_COMPLETED)
        return 0;
    if (!VEC_GROW(r->wanted, r->wanted_cnt, r->wanted_cap))
        return -1;
    r->wanted[r->wanted_cnt++] = (struct expected_recv){
        .pkt = pkt_idx,
        .len = got.write               ? 0
               : s->svc == ROCE_SVC_UC ? (uint32_t)r->delivery.off
                                       : p->payload_len,
        .crc32 = got.write ? 0 : r->crc32,
        .has_imm = roce_pkt_has(&pkt, ROCE_HDR_IMMDT),
        .imm = pkt.immdt.imm,
        .src_qpn = pkt.deth.src_qp,
        .after = r->after,
    };
    return 0;
}

/* Waits until the target has a receive WQE for the next message, at most the time of option
 * --tolerance. Returns 0, or -1 and an error. */
static int wait_recv_slot(struct dgram_to_target *rx, struct dgram_target *r, struct error *error)
{
    uint64_t limit = live_now() + rx->live->options->tolerance_ns;
    size_t any;

    while (r->wanted_cnt >= r->posted && r->posted < r->total) {
        if (poll_completions(rx, &any, error) != 0 || post_receives(rx, r, error) != 0)
            return -1;
        if (r->wanted_cnt < r->posted || live_now() >= limit)
            break;
        if (any == 0 && live_wait_until(rx->live, live_now() + 500000, error) != 0)
            return -1;
    }
    return 0;
}

static int send_streams(struct dgram_to_target *rx, struct error *error)
{
    const struct trace *trace = rx->streams->trace;
    struct live_pace pace = {0};

    for (uint32_t i = 0; i < trace->cnt; i++) {
        uint32_t idx = rx->streams->receiver[i];
        struct dgram_target *r = idx == KEYMAP_NONE ? NULL : &rx->receiver[idx];
        uint8_t buf[ROCE_FRAME_MAX];

        if (!r || !r->made)
            continue;
        if (wait_recv_slot(rx, r, error) != 0)
            return -1;
        if (live_pace_wait(rx->live, &pace, trace->pkt[i].time, error) != 0)
            return -1;
        if (live_send(rx->live, &trace->pkt[i], buf,
                      rewrite_datagram(&r->rewrite, &trace->pkt[i], buf, sizeof(buf)), error) != 0)
            return -1;
        if (note_delivery(rx, r, i) != 0 || rx->no_memory)
            return error_set(error, "no memory");
        live_pace_set(&pace, trace->pkt[i].time);
    }
    return live_wait_until(rx->live, live_now() + QUIET_NS, error);
}

/* Compares the remaining completions and the memory of the target. Returns 0, or -1 and an
 * error. */
static int compare_results(struct dgram_to_target *rx, struct error *error)
{
    uint64_t limit = live_now() + rx->live->options->tolerance_ns;
    bool wanted = true;
    size_t any;

    while (wanted) {
        if (poll_completions(rx, &any, error) != 0)
            return -1;
        wanted = any > 0;
        for (size_t i = 0; i < rx->streams->cnt; i++)
            wanted |= rx->receiver[i].made && rx->receiver[i].done < rx->receiver[i].wanted_cnt &&
                      live_now() < limit;
    }
    for (size_t i = 0; i < rx->streams->cnt; i++)
        while (rx->receiver[i].made && rx->receiver[i].done < rx->receiver[i].wanted_cnt)
            if (compare_completion(rx, &rx->receiver[i], NULL) != 0)
                return error_set(error, "no memory");
    for (uint32_t i = 0; i < rx->memory.keys.cnt; i++)
        if (rx->memory.region[i].span && rx->last_writer[i] && compare_region(rx, i, error) != 0)
            return -1;
    return 0;
}

int dgram_to_target_play(struct live *live, struct dgram_streams *streams, const char *peer,
                         struct error *error)
{
    struct dgram_to_target rx = {.live = live, .streams = streams, .peer = peer};
    const char *why = NULL;
    int rc = 0;

    shadow_init(&rx.memory);
    live->take = take_frame;
    live->take_ctx = &rx;
    rx.receiver = calloc(streams->cnt + 1, sizeof(*rx.receiver));
    if (!rx.receiver)
        rc = error_set(error, "no memory");
    for (uint32_t i = 0; rc == 0 && i < streams->cnt; i++) {
        rx.receiver[i].stream = &streams->stream[i];
        rx.receiver[i].idx = i;
        if (is_played(&streams->stream[i]) && measure_stream(&rx, &rx.receiver[i]) != 0)
            rc = error_set(error, "no memory");
    }
    if (rc == 0)
        rc = make_regions(&rx, &why, error);
    for (uint32_t i = 0; rc == 0 && i < streams->cnt; i++) {
        if (!is_played(&streams->stream[i]))
            continue;
        streams->stream[i].skip = why;
        if (!why)
            rc = open_receiver(&rx, &rx.receiver[i], error);
    }
    if (rc == 0)
        rc = send_streams(&rx, error);
    if (rc == 0)
        rc = compare_results(&rx, error);
    for (size_t i = 0; rx.receiver && i < streams->cnt; i++)
        free(rx.receiver[i].wanted);
    free(rx.receiver);
    free(rx.region);
    free(rx.mr);
    free(rx.last_writer);
    free(rx.last_stream);
    shadow_free(&rx.memory);
    live->take = NULL;
    return rc;
}

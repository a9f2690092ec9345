/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Plays a capture when the target is the requester. The agent posts the work requests that the
 * recorded requester must have posted. We send the recorded responses with the QPNs and PSNs of
 * this run. Each response is sent with its recorded delay after the live request that it answers.
 * The target's requests and completions replace the requests and completions of our RNIC, and
 * rc_compare_requests() compares them with the capture.
 *
 * The target's requests contain the memory addresses and R_Keys of the capture. These addresses and
 * R_Keys need not be valid, because no device executes the requests: we only compare them.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "live/agent_setup.h"
#include "live/live.h"
#include "live/request_tracker.h"
#include "util/hex.h"
#include "wire/crc32.h"

#define SEND_DEPTH 1024u /* maximum number of outstanding work requests */
/* Limit of the data bytes of one work request. The agent accepts no more in one request line. */
#define DATA_MAX (256u * 1024)
#define POLL_NS  500000u /* time between two polls for completions, ns */
#define QUIET_NS UINT64_C(30000000)

/* State of one direction while it is played. */
struct requester_conn {
    struct request_tracker tracker;
    size_t posted;
};

/* Recorded event to play, with the index of its packet in the trace. */
struct requester_turn {
    uint32_t pkt, conn, step;
};

struct live_requester {
    struct live *live;
    struct requester_conn *conn;
    struct requester_turn *turn;
    size_t turn_cnt;
    struct live_pace pace;
    bool no_memory;
};

/* ---- packets of the target --------------------------------------------------------------------
 */

static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct live_requester *req = user;
    struct live *live = req->live;
    struct roce_pkt pkt;
    uint32_t idx;

    if (!live_parse(live, frame, &pkt, &idx))
        return;
    if (idx >= live->drive->dir_cnt || !live->run[idx].made ||
        !roce_opcode_is_request(roce_opcode(pkt.bth.opcode))) {
        live->foreign++;
        return;
    }
    if (!live_check_icrc(live, &pkt))
        return;
    rewrite_to_recorded(&live->run[idx].rewrite, &pkt);
    if (request_tracker_add(&req->conn[idx].tracker, &pkt) != 0)
        req->no_memory = true;
}

static int poll_frames(struct live_requester *req, uint64_t until, struct error *error)
{
    if (live_poll(req->live, until, error) < 0)
        return -1;
    return req->no_memory ? error_set(error, "no memory") : 0;
}

static int poll_frames_until(struct live_requester *req, uint64_t until, struct error *error)
{
    do {
        if (poll_frames(req, until, error) != 0)
            return -1;
    } while (live_now() < until);
    return 0;
}

/* ---- work requests ----------------------------------------------------------------------------
 */

static const char *op_name(const struct roce_opcode *op)
{
    bool imm = roce_opcode_has(op, ROCE_HDR_IMMDT);

    switch (op->kind) {
    case ROCE_KIND_WRITE: return imm ? "write_imm" : "write";
    case ROCE_KIND_READ: return "read";
    case ROCE_KIND_CMP_SWAP: return "cmp_swap";
    case ROCE_KIND_FETCH_ADD: return "fetch_add";
    case ROCE_KIND_SEND:
        return imm ? "send_imm" : roce_opcode_has(op, ROCE_HDR_IETH) ? "send_inv" : "send";
    default: return NULL;
    }
}

static bool is_fetch(enum roce_kind kind)
{
    return kind == ROCE_KIND_READ || kind == ROCE_KIND_CMP_SWAP || kind == ROCE_KIND_FETCH_ADD;
}

/* Returns the reason why the target cannot play these work requests, or NULL if it can. */
static const char *unsupported_work(const struct live *live, const struct work_requests *w)
{
    if (w->setup->mtu > live->port.iface.path_mtu)
        return "the path MTU of the connection is larger than the MTU of the interface";
    for (size_t i = 0; i < w->cnt; i++) {
        const struct work_request *wr = &w->wr[i];

        if (!op_name(event_opcode(w->setup, wr->event)))
            return "the agent does not support FLUSH, ATOMIC WRITE and other new operations";
        if (!is_fetch(wr->kind) && wr->len > DATA_MAX)
            return "a message is longer than the agent supports";
        if ((wr->kind == ROCE_KIND_CMP_SWAP || wr->kind == ROCE_KIND_FETCH_ADD) &&
            !live->agent.atomic)
            return "the target's device does not support atomics";
    }
    return NULL;
}

/* Returns the data of a work request as hexadecimal digits for the agent. */
static json_t *data_json(const struct work_requests *w, const struct work_request *wr)
{
    char *hex = malloc(2 * (size_t)wr->len + 1);
    size_t off = 0;
    json_t *out;

    if (!hex)
        return NULL;
    memset(hex, '0', 2 * (size_t)wr->len);
    for (uint32_t i = 0; i < wr->part_cnt; i++) {
        const struct trace_packet *p = event_packet(w->setup, w->part[wr->part + i]);

        if (off + p->payload_len > wr->len)
            break;
        hex_format(hex + 2 * off, trace_payload(p), p->payload_len);
        off += p->payload_len;
    }
    out = json_stringn(hex, 2 * (size_t)wr->len);
    free(hex);
    return out;
}

/* Posts a work request at the target. Skips the direction if the target's device refuses the work
 * request. Returns 0, or -1 and an error. */
static int post_work(struct live_requester *req, uint32_t idx, size_t at, struct error *error)
{
    struct requester_run *a = req->conn[idx].tracker.asker;
    const struct work_requests *w = &a->wrs;
    const struct work_request *wr = &w->wr[at];
    const char *why = NULL;
    struct roce_pkt first, end;
    json_t *request, *reply;

    trace_parse(event_packet(w->setup, wr->event), &first);
    trace_parse(event_packet(w->setup, w->part[wr->part + wr->part_cnt - 1]), &end);
    request = json_pack("{s:s, s:I, s:I, s:s, s:b, s:I, s:I}", "op", "send", "qp",
                        (json_int_t)req->live->run[idx].qp, "id", (json_int_t)at, "opcode",
                        op_name(wr->open ? first.op : end.op), "solicited", end.bth.se && !wr->open,
                        "imm", (json_int_t)end.immdt.imm, "invalidate", (json_int_t)end.ieth.rkey);
    if (roce_pkt_has(&first, ROCE_HDR_ATOMICETH)) {
        bool swap = wr->kind == ROCE_KIND_CMP_SWAP;

        json_object_set_new(request, "remote_addr", json_integer((json_int_t)first.atomiceth.va));
        json_object_set_new(request, "rkey", json_integer(first.atomiceth.rkey));
        json_object_set_new(
            request, "compare_add",
            json_integer((json_int_t)(swap ? first.atomiceth.compare : first.atomiceth.swap_add)));
        json_object_set_new(request, "swap", json_integer((json_int_t)first.atomiceth.swap_add));
    } else if (roce_pkt_has(&first, ROCE_HDR_RETH)) {
        json_object_set_new(request, "remote_addr", json_integer((json_int_t)first.reth.va));
        json_object_set_new(request, "rkey", json_integer(first.reth.rkey));
    }
    if (is_fetch(wr->kind))
        json_object_set_new(request, "len", json_integer(wr->len));
    else
        json_object_set_new(request, "hex", data_json(w, wr));
    reply = agent_setup_call(req->live, request, &why, error);
    json_decref(reply);
    a->failed = why;
    return reply || why ? 0 : -1;
}

/* ---- comparing completions ---------------------------------------------------------------------
 */

/* Computes the CRC-32 of the data that READ `wr` fetched in the capture. Returns true and sets
 * *crc, or false if the capture lacks some of the data. */
static bool read_crc(const struct requester_run *a, const struct work_request *wr, uint32_t *crc)
{
    const struct inferred_setup *s = a->wrs.setup;

    *crc = 0;
    for (uint32_t i = 0; i < wr->cnt; i++) {
        const struct trace_packet *found = NULL;

        for (uint32_t k = wr->posted_by; k < s->event_cnt && !found; k++)
            if (s->event[k].response && s->event[k].rel == wr->rel + i &&
                a->outcome[k] == RESP_ACCEPTED && !s->event[k].damaged &&
                event_opcode(s, k)->kind == ROCE_KIND_READ_RESP)
                found = event_packet(s, k);
        if (!found || found->zero_filled || found->cut)
            return false;
        *crc = roce_crc32(*crc, trace_payload(found), found->payload_len);
    }
    return true;
}

/* Returns whether the result `hex` of an atomic equals the result in one of the recorded responses
 * to this atomic. */
static bool atomic_right(const struct requester_run *a, const struct work_request *wr,
                         const char *hex)
{
    const struct inferred_setup *s = a->wrs.setup;

    for (uint32_t k = wr->posted_by; k < s->event_cnt; k++) {
        struct roce_pkt pkt;
        uint8_t value[8];
        char text[17] = "";

        if (!s->event[k].response || s->event[k].rel != wr->rel || a->outcome[k] != RESP_ACCEPTED)
            continue;
        trace_parse(event_packet(s, k), &pkt);
        /* The agent reports the bytes of the number in host byte order. */
        memcpy(value, &pkt.atomicacketh.orig, 8);
        hex_format(text, value, 8);
        if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH) && strcmp(text, hex) == 0)
            return true;
    }
    return false;
}

static int take_completion(void *ctx, const json_t *c, struct error *error)
{
    struct live_requester *req = ctx;
    json_int_t qp = json_integer_value(json_object_get(c, "qp"));
    uint64_t id = (uint64_t)json_integer_value(json_object_get(c, "id"));
    uint32_t crc, got = (uint32_t)json_integer_value(json_object_get(c, "crc32"));
    const char *first = json_string_value(json_object_get(c, "first"));
    enum rnic_wc_status status =
        (enum rnic_wc_status)json_integer_value(json_object_get(c, "status"));

    for (uint32_t i = 0; i < req->live->drive->dir_cnt; i++) {
        struct requester_run *a = req->conn[i].tracker.asker;
        const struct work_request *wr;

        if (!req->live->run[i].made || req->live->run[i].qp != qp || id >= a->wrs.cnt)
            continue;
        if (!VEC_GROW(a->completion, a->completion_cnt, a->completion_cap))
            return error_set(error, "no memory");
        a->completion[a->completion_cnt++] = (struct completion){
            .event = req->conn[i].tracker.step, .wr = (uint32_t)id, .status = status};
        if (status != RNIC_WC_SUCCESS && a->error_event == EVENT_NONE)
            a->error_event = req->conn[i].tracker.step;
        wr = &a->wrs.wr[id];
        if (status == RNIC_WC_SUCCESS && is_fetch(wr->kind) &&
            (wr->kind == ROCE_KIND_READ ? read_crc(a, wr, &crc) && crc != got
                                        : !atomic_right(a, wr, first ? first : "")) &&
            a->wrong_data++ == 0)
            a->wrong_wr = (uint32_t)id;
    }
    return 0;
}

/* Waits until the target has all completions that the responses already sent must cause, at most
 * the time of option --tolerance. Returns 0, or -1 and an error. */
static int wait_completions(struct live_requester *req, struct requester_conn *conn,
                            struct error *error)
{
    uint64_t limit = live_now() + req->live->options->tolerance_ns;

    for (;;) {
        size_t wanted = conn->tracker.expect.done_cnt + conn->tracker.expect.over;

        if (agent_client_poll(&req->live->agent, take_completion, req, NULL, error) != 0)
            return -1;
        if (conn->tracker.asker->completion_cnt >= wanted || live_now() >= limit)
            return 0;
        if (poll_frames_until(req, live_now() + POLL_NS, error) != 0)
            return -1;
    }
}

/* ---- playing the conversation ------------------------------------------------------------------
 */

static int post_due(struct live_requester *req, uint32_t idx, struct error *error)
{
    struct requester_conn *conn = &req->conn[idx];
    const struct work_requests *w = &conn->tracker.asker->wrs;

    /* Post no work requests to a QP that is in the error state. The recorded program posted none
     * either. */
    while (conn->posted < w->cnt && w->wr[conn->posted].posted_by <= conn->tracker.step &&
           conn->posted - conn->tracker.asker->completion_cnt < SEND_DEPTH &&
           conn->tracker.asker->error_event == EVENT_NONE && !conn->tracker.asker->failed)
        if (post_work(req, idx, conn->posted++, error) != 0)
            return -1;
    return 0;
}

/* Waits until request_tracker_may_proceed() returns true for the event, at most the time of option
 * --tolerance. Returns 0, or -1 and an error. */
static int wait_step(struct live_requester *req, struct requester_conn *conn, uint32_t event,
                     struct error *error)
{
    uint64_t limit = live_now() + req->live->options->tolerance_ns;

    while (!request_tracker_may_proceed(&conn->tracker, event) && live_now() < limit)
        if (poll_frames(req, limit, error) != 0)
            return -1;
    return 0;
}

static int play_turn(struct live_requester *req, const struct requester_turn *turn,
                     struct error *error)
{
    struct live *live = req->live;
    struct requester_conn *conn = &req->conn[turn->conn];
    struct requester_run *a = conn->tracker.asker;
    const struct inferred_setup *s = a->wrs.setup;
    const struct pkt_event *event = &s->event[turn->step];
    const struct trace_packet *p = event_packet(s, turn->step);
    int64_t idx = work_requests_psn_idx(&a->wrs, event->rel);
    uint8_t buf[ROCE_FRAME_MAX];
    uint64_t due;

    conn->tracker.step = turn->step;
    if (a->failed)
        return 0;
    if (post_due(req, turn->conn, error) != 0 || poll_frames(req, 0, error) != 0)
        return -1;
    if (a->failed)
        return 0;
    if (!event->response) {
        if (idx < 0 || a->retransmit[turn->step] == RETX_WIRE_DUPLICATE)
            return 0;
        request_tracker_add_recorded(&conn->tracker, turn->step);
        /* Do not wait for a new request, because the target may send it at another time. If the
         * recorded requester went back to an earlier PSN, wait until the target has gone back,
         * too. */
        return wait_step(req, conn, turn->step, error);
    }
    if (a->outcome[turn->step] != RESP_ACCEPTED)
        return 0;
    if (wait_step(req, conn, turn->step, error) != 0)
        return -1;
    due = live_pace_due(&req->pace, p->time);
    if (due > live_now() && poll_frames_until(req, due, error) != 0)
        return -1;
    if (live_send(live, p, buf,
                  rewrite_to_live(&live->run[turn->conn].rewrite, p, buf, sizeof(buf)), error) != 0)
        return -1;
    live_pace_set(&req->pace, p->time);
    request_tracker_add_response(&conn->tracker, turn->step);
    return wait_completions(req, conn, error);
}

static int turn_cmp(const void *a, const void *b)
{
    const struct requester_turn *x = a, *y = b;

    if (x->pkt != y->pkt)
        return x->pkt < y->pkt ? -1 : 1;
    return (x->conn > y->conn) - (x->conn < y->conn);
}

static int list_turns(struct live_requester *req, struct error *error)
{
    size_t cap = 0;

    for (uint32_t i = 0; i < req->live->drive->dir_cnt; i++)
        cap += requester_setup(&req->live->drive->dir[i])->event_cnt;
    req->turn = malloc((cap + 1) * sizeof(*req->turn));
    if (!req->turn)
        return error_set(error, "no memory");
    for (uint32_t i = 0; i < req->live->drive->dir_cnt; i++) {
        const struct inferred_setup *s = requester_setup(&req->live->drive->dir[i]);

        for (uint32_t k = 0; req->live->run[i].made && k < s->event_cnt; k++)
            req->turn[req->turn_cnt++] = (struct requester_turn){s->event[k].sent_at, i, k};
    }
    if (req->turn_cnt)
        qsort(req->turn, req->turn_cnt, sizeof(*req->turn), turn_cmp);
    return 0;
}

/* Connects the QPs of all directions that can be played. Removes the requests of our RNIC from the
 * session, because the target's requests will replace them. Returns 0, or -1 and an error. */
static int connect_qps(struct live_requester *req, struct rc_requester *requester,
                       struct error *error)
{
    for (uint32_t i = 0; i < requester->run_cnt; i++) {
        struct requester_run *a = &requester->run[i];
        struct requester_conn *conn = &req->conn[i];
        const char *why = NULL;

        conn->tracker.asker = a;
        if (a->dir->setup.skip || a->wrs.skip || a->failed)
            continue;
        why = i < LIVE_QPNS ? unsupported_work(req->live, &a->wrs)
                            : "more connections than free QPNs";
        if (!why &&
            !agent_setup_connect(req->live, i,
                                 a->wrs.cnt < SEND_DEPTH ? (uint32_t)a->wrs.cnt : SEND_DEPTH, 0,
                                 false, &why, error) &&
            !why)
            return -1;
        a->failed = why;
        if (why)
            continue;
        if (request_tracker_open(&conn->tracker, a) != 0)
            return error_set(error, "no memory");
    }
    return list_turns(req, error);
}

int live_requester_play(struct live *live, struct rc_requester *requester, struct error *error)
{
    struct live_requester req = {.live = live};
    int rc;

    req.conn = calloc(requester->run_cnt + 1, sizeof(*req.conn));
    rc = req.conn ? connect_qps(&req, requester, error) : error_set(error, "no memory");
    live->agent.idle = NULL; /* no longer needed: the wait functions below handle received frames */
    live->take = take_frame;
    live->take_ctx = &req;
    for (size_t i = 0; rc == 0 && i < req.turn_cnt; i++) {
        struct requester_conn *conn = &req.conn[req.turn[i].conn];

        rc = play_turn(&req, &req.turn[i], error);
        conn->tracker.asker->tx_cnt_after[conn->tracker.step] =
            (uint32_t)conn->tracker.asker->tx_cnt;
    }
    if (rc == 0)
        rc = poll_frames_until(&req, live_now() + QUIET_NS, error);
    if (rc == 0)
        rc = agent_client_poll(&live->agent, take_completion, &req, NULL, error);
    for (size_t i = 0; req.conn && i < requester->run_cnt; i++)
        request_tracker_close(&req.conn[i].tracker);
    free(req.conn);
    free(req.turn);
    return rc;
}

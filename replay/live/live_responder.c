/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/error.h"
#include "live/agent_setup.h"
#include "live/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "infer/request_table.h"

/* Maximum number of earlier packets in which the request of a response is searched, or in which
 * responses of one kind are counted. */
#define LOOK_BACK 512u

/* Limit of responses of one connection that the target sends later than --tolerance, or not at all.
 * After this number, the replay no longer waits for responses of this connection. */
#define MISSES_MAX 4u

/* Time to wait for unexpected packets after the last frame, ns. */
#define QUIET_NS UINT64_C(30000000)

/* ---- responses of the target -------------------------------------------------------------------
 */

static bool is_ack(uint8_t opcode, uint8_t syndrome)
{
    return roce_opcode(opcode)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(syndrome) == ROCE_SYN_ACK;
}

/* Returns the number of PSNs of request `event`. Returns 1 if the request begins inside another
 * request: for example, a READ that requests only the rest of the data again. */
static int64_t psn_count(const struct inferred_setup *s, uint32_t event)
{
    const struct request_pkt *e = request_at(s, s->event[event].rel);

    return e && e->rel == s->event[event].rel ? e->cnt : 1;
}

/* Returns the index in setup.event of the latest sent request to which a response with PSN `rel`
 * can belong. If there is none, returns the index of the latest sent request. */
static uint32_t request_of_response(const struct live_run *lr, int64_t rel)
{
    const struct inferred_setup *s = lr->rewrite.setup;

    for (uint32_t i = lr->last + 1, tries = 0; i-- > 0 && tries < LOOK_BACK; tries++)
        if (!s->event[i].response && !s->event[i].lost && !s->event[i].before_first &&
            s->event[i].rel <= rel && rel < s->event[i].rel + psn_count(s, i))
            return i;
    return lr->last;
}

static const uint8_t *keep_payload(struct session *d, const struct roce_pkt *pkt)
{
    uint8_t *p;

    if (!VEC_GROW(d->kept, d->kept_cnt, d->kept_cap) || !(p = malloc(pkt->payload_len)))
        return NULL;
    memcpy(p, pkt->payload, pkt->payload_len);
    d->kept[d->kept_cnt++] = p;
    return p;
}

/* Records that the target has executed all messages that response `a` acknowledges. Returns false
 * if out of memory. */
static bool note_progress(struct live_run *lr, struct rc_direction *dir,
                          const struct tx_response *a)
{
    const struct inferred_setup *s = lr->rewrite.setup;
    int64_t from = dir->advance_cnt ? dir->advance[dir->advance_cnt - 1].epsn : s->first;
    bool acks = roce_opcode(a->opcode)->kind != ROCE_KIND_ACK || is_ack(a->opcode, a->syndrome);
    int64_t to = acks ? a->rel + 1 : a->rel;
    const struct request_pkt *last = request_at(s, to - 1);

    /* READ response packets other than the last one may contain the MSN from before the READ
     * (R103), so they do not show progress. */
    if (roce_opcode(a->opcode)->kind == ROCE_KIND_READ_RESP &&
        !roce_opcode_ends(roce_opcode(a->opcode)))
        return true;
    for (const struct request_pkt *e = request_at(s, from);
         e && e < s->req + s->req_cnt && e->rel + e->cnt <= to; e++) {
        const struct epsn_advance *before =
            dir->advance_cnt ? &dir->advance[dir->advance_cnt - 1] : NULL;
        /* The responder executed the message when its last packet arrived, not when it sent the
         * ACK. So record the progress at this packet. If the packet was lost, record it at the
         * retransmission. */
        uint32_t event = s->event[e->event].lost ? request_of_response(lr, e->rel) : e->event;

        if (before && before->event > event)
            event = before->event;
        if (!VEC_GROW(dir->advance, dir->advance_cnt, dir->advance_cap))
            return false;
        dir->advance[dir->advance_cnt++] = (struct epsn_advance){
            .event = event < a->event ? event : a->event,
            .epsn = e->rel + e->cnt,
            .msn = (a->msn - (last ? last->msgs_done : e->msgs_done) + e->msgs_done) & 0xFFFFFF};
    }
    return true;
}

bool live_parse(struct live *live, const struct rnic_frame *frame, struct roce_pkt *pkt,
                uint32_t *idx)
{
    if (roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) != 0)
        return false;
    *idx = pkt->bth.dest_qp - live->port.qpn;
    return true;
}

bool live_check_icrc(struct live *live, const struct roce_pkt *pkt)
{
    live->received++;
    if (!roce_pkt_dropped(pkt) && roce_pkt_icrc_check(pkt, NULL) != ROCE_ICRC_BAD)
        return true;
    live->damaged++;
    return false;
}

static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct live *live = user;
    struct roce_pkt pkt;
    uint32_t idx;

    if (!live_parse(live, frame, &pkt, &idx))
        return;
    if (idx >= live->drive->dir_cnt || !live->run[idx].made ||
        !roce_opcode_is_response(roce_opcode(pkt.bth.opcode))) {
        live->foreign++;
        return;
    }
    if (live_check_icrc(live, &pkt))
        live_take_response(live, idx, &pkt);
}

void live_take_response(struct live *live, uint32_t idx, struct roce_pkt *pkt)
{
    struct live_run *lr = &live->run[idx];
    struct rc_direction *dir = &live->drive->dir[idx];
    struct tx_response *a;
    uint32_t event;
    int64_t rel;

    rewrite_to_recorded(&lr->rewrite, pkt);
    rel = dir->setup.event[lr->last].rel +
          roce_psn_diff(roce_pkt_psn(pkt), roce_psn_of(event_packet(&dir->setup, lr->last)->psn));
    event = request_of_response(lr, rel);
    if (dir->response_cnt && dir->response[dir->response_cnt - 1].event > event)
        /* dir->response is sorted by the requests: begin with the request of the previous
         * response. */
        event = dir->response[dir->response_cnt - 1].event;
    a = session_add_response(dir, pkt, event, live_now(), rel);
    if (!a) {
        live->no_memory = true;
        return;
    }
    if (a->payload_len)
        a->payload = keep_payload(live->drive, pkt);
    if (roce_syndrome_kind(a->syndrome) == ROCE_SYN_NAK &&
        roce_opcode(a->opcode)->kind == ROCE_KIND_ACK && (a->syndrome & 0x1F) != ROCE_NAK_PSN_SEQ &&
        dir->error_event == EVENT_NONE)
        dir->error_event = event;
    rel -= roce_opcode(a->opcode)->kind == ROCE_KIND_ACK && !is_ack(a->opcode, a->syndrome);
    if (rel > lr->acked)
        lr->acked = rel;
    if (!note_progress(lr, dir, a))
        live->no_memory = true;
}

/* ---- waiting for the target --------------------------------------------------------------------
 */

int live_poll(struct live *live, uint64_t until, struct error *error)
{
    uint64_t due = live->tick ? live->tick(live->take_ctx) : UINT64_MAX;

    if (live_port_wait(&live->port, due < until ? due : until, live->take, live->take_ctx) < 0)
        return error_set(error, "interface %s: no longer available", live->port.iface.name);
    return 0;
}

int live_wait_until(struct live *live, uint64_t until, struct error *error)
{
    while (live_now() < until)
        if (live_poll(live, until, error) != 0)
            return -1;
    return 0;
}

uint64_t live_pace_due(const struct live_pace *pace, uint64_t time)
{
    return pace->at + (pace->recorded && time > pace->recorded ? time - pace->recorded : 0);
}

int live_pace_wait(struct live *live, const struct live_pace *pace, uint64_t time,
                   struct error *error)
{
    return live_wait_until(live, live_pace_due(pace, time), error);
}

void live_pace_set(struct live_pace *pace, uint64_t time)
{
    *pace = (struct live_pace){.recorded = time, .at = live_now()};
}

bool live_same_kind(const struct trace_packet *p, const struct tx_response *a)
{
    return roce_opcode(p->opcode)->kind == roce_opcode(a->opcode)->kind &&
           is_ack(p->opcode, p->syndrome) == is_ack(a->opcode, a->syndrome);
}

bool live_has_responded(const struct live *live, uint32_t dir_idx, uint32_t event)
{
    const struct rc_direction *dir = &live->drive->dir[dir_idx];
    const struct inferred_setup *s = &dir->setup;
    const struct trace_packet *p = event_packet(s, event);
    int64_t rel = s->event[event].rel;
    unsigned wanted = 0, have = 0;

    if (is_ack(p->opcode, p->syndrome))
        return live->run[dir_idx].acked >= rel;
    for (uint32_t i = event + 1, tries = 0; i-- > 0 && tries < LOOK_BACK; tries++) {
        const struct trace_packet *q = event_packet(s, i);

        wanted += s->event[i].response && s->event[i].usable && s->event[i].rel == rel &&
                  roce_opcode(q->opcode)->kind == roce_opcode(p->opcode)->kind &&
                  is_ack(q->opcode, q->syndrome) == is_ack(p->opcode, p->syndrome);
    }
    for (size_t i = dir->response_cnt; i-- > 0 && dir->response_cnt - i <= 2 * LOOK_BACK;)
        have += dir->response[i].rel == rel && live_same_kind(p, &dir->response[i]);
    return have >= wanted;
}

int live_wait_response(struct live *live, const struct live_event *e, bool *waited,
                       struct error *error)
{
    struct live_run *lr = &live->run[e->run];
    uint64_t limit = live_now() + live->options->tolerance_ns;
    const struct trace_packet *p;

    *waited = false;
    if (!lr->made || lr->misses >= MISSES_MAX)
        return 0;
    p = event_packet(lr->rewrite.setup, e->step);
    if (is_ack(p->opcode, p->syndrome) && lr->owed < lr->rewrite.setup->event[e->step].rel)
        return 0;
    *waited = true;
    while (!live_has_responded(live, e->run, e->step)) {
        if (live_now() >= limit) {
            lr->misses++;
            if (!VEC_GROW(live->late, live->late_cnt, live->late_cap))
                return error_set(error, "no memory");
            live->late[live->late_cnt++] = (struct live_late){e->run, e->step};
            return 0;
        }
        if (live_poll(live, limit, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- playing the script ------------------------------------------------------------------------
 */

int live_send(struct live *live, const struct trace_packet *p, uint8_t *buf, int len,
              struct error *error)
{
    struct rnic_frame frame = {.data = buf, .len = (uint32_t)len};

    if (len < 0)
        return error_set(error, "%s: frame %u: the capture is truncated", live->drive->trace->name,
                         p->frame);
    live->sent++;
    return live_port_send(&live->port, &frame, 1, error);
}

int live_send_frame(struct live *live, const struct live_event *e, struct error *error)
{
    struct live_run *lr = &live->run[e->run];
    const struct inferred_setup *s = lr->rewrite.setup;
    const struct trace_packet *p = event_packet(s, e->step);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    uint8_t buf[ROCE_FRAME_MAX];
    int len = rewrite_to_live(&lr->rewrite, p, buf, sizeof(buf));
    int64_t last = s->event[e->step].rel + psn_count(s, e->step) - 1;

    lr->last = e->when;
    lr->sent_at[e->when] = live_now();
    if (!s->event[e->step].damaged && last > lr->owed &&
        (p->ackreq || op->kind == ROCE_KIND_READ || roce_opcode_is_atomic(op)))
        lr->owed = last;
    return live_send(live, p, buf, len, error);
}

static int play_event(struct live *live, struct error *error)
{
    const struct trace *trace = live->drive->trace;
    struct live_pace pace = {0};

    for (size_t i = 0; i < live->script.cnt; i++) {
        const struct live_event *e = &live->script.event[i];
        uint64_t time = trace->pkt[e->pkt].time;
        bool waited;

        if (e->kind == LIVE_ANSWER) {
            if (live_wait_response(live, e, &waited, error) != 0)
                return -1;
            if (waited)
                live_pace_set(&pace, time);
            continue;
        }
        if (e->kind != LIVE_FRAME) {
            if (agent_setup_event(live, e, error) != 0)
                return -1;
            continue;
        }
        if (!live->run[e->run].made)
            continue;
        if (live_pace_wait(live, &pace, time, error) != 0 || live_send_frame(live, e, error) != 0)
            return -1;
        live_pace_set(&pace, time);
        /* Process the frames that arrived meanwhile, because the next event may depend on them. */
        if (live_poll(live, 0, error) != 0)
            return -1;
    }
    return live_wait_until(live, live_now() + QUIET_NS, error);
}

bool live_drop_simulated(struct live *live)
{
    for (size_t i = 0; i < live->drive->dir_cnt; i++) {
        struct rc_direction *dir = &live->drive->dir[i];

        live->run[i] =
            (struct live_run){.acked = dir->setup.first - 1,
                              .owed = dir->setup.first - 1,
                              .executed = dir->advance_cnt ? dir->advance[dir->advance_cnt - 1].epsn
                                                           : dir->setup.first};
        dir->response_cnt = 0;
        dir->advance_cnt = 0;
        dir->error_event = EVENT_NONE;
        live->run[i].sent_at = calloc(dir->setup.event_cnt + 1, sizeof(uint64_t));
        if (!live->run[i].sent_at)
            return false;
    }
    return true;
}

static bool allocate_tables(struct live *live)
{
    struct session *d = live->drive;
    bool fine;

    live->run = calloc(d->dir_cnt + 1, sizeof(*live->run));
    live->region = calloc(d->host_cnt + 1, sizeof(*live->region));
    live->rewrite = calloc(d->host_cnt + 1, sizeof(*live->rewrite));
    fine = live->run && live->region && live->rewrite;
    for (size_t i = 0; fine && i < d->host_cnt; i++) {
        size_t cnt = d->host[i].memory.keys.cnt + 1;

        live->region[i] = calloc(cnt, sizeof(*live->region[i]));
        live->rewrite[i] = calloc(cnt, sizeof(*live->rewrite[i]));
        fine = live->region[i] && live->rewrite[i];
    }
    return fine;
}

/* Answers ARP requests while the client waits for a reply of the agent. Without an ARP reply, the
 * target cannot resolve our address, and the agent sends no reply. */
static void serve_neighbours(void *ctx)
{
    live_port_wait(ctx, 0, NULL, NULL);
}

int live_open(struct live *live, const struct live_options *options, struct session *session,
              struct error *error)
{
    uint8_t target[16], ours[16];

    live->options = options;
    live->drive = session;
    live->agent.fd = -1;
    if (!live_address(options->target, target))
        return error_set(error, "--target %s: not an IPv4 or IPv6 address", options->target);
    if (options->address && !live_address(options->address, ours))
        return error_set(error, "--address %s: not an IPv4 or IPv6 address", options->address);
    if (!allocate_tables(live))
        return error_set(error, "no memory");
    if (live_port_open(&live->port, options->iface, target, options->address ? ours : NULL,
                       options->really, error) != 0)
        return -1;
    live_port_announce(&live->port, "up to %zu packets of %s, and retransmissions,",
                       session->trace->cnt, session->trace->name);
    if (live_port_resolve(&live->port, error) != 0 ||
        (options->agent && agent_client_open(&live->agent, options->agent, target, error) != 0))
        return -1;
    memcpy(live->path.mac, live->port.mac, 6);
    memcpy(live->path.dmac, live->port.dmac, 6);
    memcpy(live->path.addr, live->port.addr, 16);
    memcpy(live->path.target, live->port.target, 16);
    live->agent.idle = serve_neighbours;
    live->agent.idle_ctx = &live->port;
    return 0;
}

int live_play(struct live *live, struct error *error)
{
    if (!live_drop_simulated(live) || live_script_finish(&live->script, live->drive) != 0)
        return error_set(error, "no memory");
    if (agent_setup_all(live, error) != 0)
        return -1;
    live->agent.idle = NULL; /* no longer needed: the wait functions below handle received frames */
    live->take = take_frame;
    live->take_ctx = live;
    if (play_event(live, error) != 0)
        return -1;
    return live->no_memory ? error_set(error, "no memory") : 0;
}

void live_close(struct live *live)
{
    for (size_t i = 0; live->run && i < live->drive->dir_cnt; i++)
        free(live->run[i].sent_at);
    for (size_t i = 0; live->drive && i < live->drive->host_cnt; i++) {
        if (live->region)
            free(live->region[i]);
        if (live->rewrite)
            free(live->rewrite[i]);
    }
    free(live->region);
    free(live->rewrite);
    free(live->run);
    free(live->late);
    live_script_free(&live->script);
    if (live->drive) {
        agent_client_close(&live->agent);
        live_port_close(&live->port);
    }
    memset(live, 0, sizeof(*live));
}

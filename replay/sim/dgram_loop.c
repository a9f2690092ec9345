/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/dgram_loop.h"

#include <stdlib.h>
#include <string.h>
#include "sim/sim_host.h"
#include "sim/sim_link.h"
#include "engine/inject.h"
#include "engine/dgram_receiver.h"
#include "infer/roles.h"
#include "engine/dgram_sender.h"
#include "wire/cm_msg.h"

/* A sender of ours while it is played. */
struct sender {
    struct transmit *transmit; /* NULL: not ours, or not played */
    struct judge judge;
    rnic_time free; /* when it can send next */
};

struct loop {
    struct closed_streams *play;
    struct editor *editor;
    struct record *record;
    struct link link;
    struct receive *receive; /* NULL: the receivers are not ours */
    struct sender *sender;   /* one for each stream */
    uint32_t next;           /* packet of the recording that is sent next, if that is the sender */
    rnic_time now;
    struct edit_out out;
};

/* ---- which streams -----------------------------------------------------------------------------
 */

/* Whether it has messages of the connection manager. */
static bool is_cm(const struct streams *streams, const struct stream *s)
{
    for (size_t i = 0; s->qpn == ROCE_QP_GSI && i < s->cnt; i++) {
        struct roce_cm_msg msg;
        struct roce_pkt pkt;

        if (streams->trace->pkt[s->pkt[i]].dropped)
            continue;
        trace_parse(&streams->trace->pkt[s->pkt[i]], &pkt);
        return roce_cm_msg_of_pkt(&msg, &pkt) == 0;
    }
    return false;
}

bool closed_streams_has(const struct closed_streams *play, uint32_t idx)
{
    const struct stream *s = &play->streams.stream[idx];
    unsigned side = s->role == STREAM_RECEIVER ? REPLAY_RESPONDER : REPLAY_REQUESTER;

    return (play->sides & side) && !is_cm(&play->streams, s);
}

/* ---- frames ------------------------------------------------------------------------------------
 */

/* A frame of a sender goes on the link, through the edits. `stream` is the sender's. */
static int send_frame(struct loop *l, uint32_t stream, uint32_t pkt, const uint8_t *data,
                      size_t len, rnic_time now)
{
    const struct streams *streams = &l->play->streams;
    uint32_t receiver = streams->receiver[pkt];
    struct edit_frame in = {.stream = {stream + 1, receiver == MAP_NONE ? 0 : receiver + 1},
                            .way = EDIT_REQUEST,
                            .now = now,
                            .data = data,
                            .len = len};
    const struct trace_packet *first =
        &streams->trace->pkt[streams->stream[stream == MAP_NONE ? receiver : stream].pkt[0]];
    struct edit_out *out = &l->out;
    struct roce_pkt parsed;

    if (roce_pkt_parse(&parsed, ROCE_LINK_ETHERNET, data, len, len) != 0)
        return 0;
    if (stream == MAP_NONE)
        in.stream[0] = 0;
    in.rel = roce_psn_diff(roce_pkt_psn(&parsed), roce_psn_of(first->psn));
    if (editor_pass(l->editor, &in, out) != 0)
        return -1;
    l->play->frames++;
    l->play->lost += out->copies == 0;
    l->play->damaged += out->damaged;
    l->play->forged += out->forged;
    record_frame(l->record, now, data, len, out->note);
    out->note[0] = '\0';
    return link_send(&l->link, out, &(struct link_to){.responder = true, .mark = pkt}, now);
}

static int on_sent(void *ctx, uint32_t stream, size_t at, const uint8_t *frame, size_t len)
{
    struct loop *l = ctx;
    struct sender *sender = &l->sender[stream];

    sender->free = (sender->free > l->now ? sender->free : l->now) + END_TX_NS;
    judge_frame(&sender->judge, true, frame, len, sender->free);
    return send_frame(l, stream, l->play->streams.stream[stream].pkt[at], frame, len, sender->free);
}

/* The recording's next packet to a receiver of ours. */
static rnic_time recorded_time(struct loop *l)
{
    const struct streams *streams = &l->play->streams;

    if (l->play->sides != REPLAY_RESPONDER)
        return RNIC_NEVER;
    while (l->next < streams->trace->cnt &&
           (streams->receiver[l->next] == MAP_NONE ||
            !closed_streams_has(l->play, streams->receiver[l->next])))
        l->next++;
    return l->next == streams->trace->cnt
               ? RNIC_NEVER
               : streams->trace->pkt[l->next].time - streams->trace->pkt[0].time + END_TIME_BASE;
}

static int arrive(struct loop *l)
{
    struct link_frame frame = link_take(&l->link);
    uint32_t receiver = l->play->streams.receiver[frame.mark];
    struct receive_in in = {.stream = receiver,
                            .pkt = frame.mark,
                            .frame = frame.data,
                            .len = frame.len,
                            .forged = frame.forged};
    int rc = l->receive && receiver != MAP_NONE ? receive_frame(l->receive, &in, l->now) : 0;

    free(frame.data);
    free(frame.note);
    return rc;
}

/* ---- time --------------------------------------------------------------------------------------
 */

/* The sender that posts next, or NULL. */
static struct sender *next_sender(struct loop *l, rnic_time *at)
{
    struct sender *next = NULL;

    *at = RNIC_NEVER;
    for (size_t i = 0; i < l->play->streams.cnt; i++) {
        rnic_time due = l->sender[i].transmit ? transmit_due(l->sender[i].transmit) : RNIC_NEVER;

        if (due < *at) {
            *at = due;
            next = &l->sender[i];
        }
    }
    return next;
}

static int run(struct loop *l)
{
    for (;;) {
        rnic_time post, recorded = recorded_time(l), link = link_due(&l->link);
        struct sender *sender = next_sender(l, &post);
        int rc;

        if (post == RNIC_NEVER && recorded == RNIC_NEVER && link == UINT64_MAX)
            return 0;
        if (link <= post && link <= recorded) {
            l->now = link;
            rc = arrive(l);
        } else if (post <= recorded) {
            l->now = post;
            rc = transmit_step(sender->transmit);
        } else {
            uint8_t frame[ROCE_FRAME_MAX];
            uint32_t pkt = l->next++;
            size_t len = feed_frame(&l->play->streams.trace->pkt[pkt], frame);

            l->now = recorded;
            rc = len ? send_frame(l, MAP_NONE, pkt, frame, len, l->now) : 0;
        }
        if (rc != 0)
            return -1;
    }
}

/* ---- a play ------------------------------------------------------------------------------------
 */

/* The streams as they were derived. */
static int copy_streams(struct streams *to, const struct streams *from)
{
    *to = (struct streams){
        .trace = from->trace, .cnt = from->cnt, .cap = from->cnt, .receiver = from->receiver};
    to->stream = malloc((from->cnt + 1) * sizeof(*to->stream));
    if (!to->stream)
        return -1;
    for (size_t i = 0; i < from->cnt; i++)
        to->stream[i] = from->stream[i];
    return 0;
}

static int open_ends(struct loop *l, const struct transmit_sink *sink)
{
    struct streams *streams = &l->play->streams;

    l->sender = calloc(streams->cnt + 1, sizeof(*l->sender));
    if (!l->sender)
        return -1;
    if (l->play->sides & REPLAY_RESPONDER) {
        l->receive = receive_new(streams);
        if (!l->receive)
            return -1;
    }
    for (uint32_t i = 0; i < streams->cnt; i++) {
        struct sender *sender = &l->sender[i];

        if (streams->stream[i].role != STREAM_SENDER || !closed_streams_has(l->play, i))
            continue;
        sender->transmit = transmit_new(streams, i, sink);
        if (!sender->transmit || !judge_init(&sender->judge))
            return -1;
    }
    return 0;
}

/* What the judge of a sender found is a difference too. */
static int close_sender(struct loop *l, uint32_t idx)
{
    struct streams *streams = &l->play->streams;
    struct sender *sender = &l->sender[idx];
    struct field_diffs d = {.cnt = 0};

    judge_finish(&sender->judge);
    transmit_del(sender->transmit);
    if (sender->judge.errors)
        fields_differ(&d, "rules", "none broken", sender->judge.first);
    return streams_report(streams, idx, streams->stream[idx].pkt[0], &d, "our RNIC breaks a rule");
}

int closed_streams_play(struct closed_streams *play, const struct streams *streams, unsigned sides,
                        struct editor *editor, struct record *record)
{
    struct loop l = {.play = play, .editor = editor, .record = record, .now = END_TIME_BASE};
    const struct transmit_sink sink = {.ctx = &l, .sent = on_sent};
    int rc = 0;

    *play = (struct closed_streams){.sides = sides};
    if (copy_streams(&play->streams, streams) != 0)
        return -1;
    rc = open_ends(&l, &sink);
    if (rc == 0)
        rc = run(&l);
    for (uint32_t i = 0; l.sender && i < play->streams.cnt; i++)
        if (l.sender[i].transmit && close_sender(&l, i) != 0)
            rc = -1;
    receive_del(l.receive);
    link_free(&l.link);
    streams_judge(&play->streams);
    for (uint32_t i = 0; i < play->streams.cnt; i++)
        if (!closed_streams_has(play, i)) {
            play->streams.stream[i].verdict = VERDICT_SKIPPED;
            play->streams.stream[i].skip = is_cm(streams, &streams->stream[i])
                                               ? "it is played as an exchange"
                                               : "this end is the recording's";
        }
    free(l.sender);
    return rc;
}

void closed_streams_free(struct closed_streams *play)
{
    free(play->streams.stream);
    free(play->streams.diff);
    memset(play, 0, sizeof(*play));
}

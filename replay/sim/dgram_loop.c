/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/dgram_loop.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"
#include "engine/dgram/dgram_receiver.h"
#include "engine/dgram/dgram_sender.h"
#include "infer/roles.h"
#include "sim/sim_host.h"
#include "sim/sim_link.h"
#include "wire/cm_msg.h"

/* Maximum number of senders that have a device at the same time. */
#define DEVICES_MAX 64u

/* Sender of one stream. It is open from its first message to its last one. */
struct dgram_sender_slot {
    struct dgram_sender *transmit; /* NULL while the sender is closed */
    char *violation;               /* text of the first rule violation by the sender; NULL: none */
    rnic_time due;  /* time of the sender's next message, ns. RNIC_NEVER if no message remains, or
                     * if recorded packets replace the sender */
    rnic_time free; /* time at which the sender can send its next frame, ns */
};

struct dgram_loop {
    struct dgram_loop_result *play;
    struct impair *impair;
    struct sim_pcap *pcap;
    struct sim_link link;
    struct dgram_receivers *receive;  /* our receivers; NULL if our RNIC does not play the
                                       * receivers */
    struct dgram_sender_slot *sender; /* one element for each stream */
    struct dgram_sender_sink sink;    /* callback that gets the frames of all senders */
    struct flow_oracle oracle;        /* judges the frames of all senders */
    rnic_time judged;                 /* time of the last frame that the oracle judged, ns */
    uint32_t device[DEVICES_MAX]; /* indexes of the senders that have a device, plus 1; 0: none */
    uint32_t opened;              /* number of devices opened so far */
    uint32_t next; /* index into trace.pkt of the next recorded packet to send; used only if
                    * recorded packets replace the senders */
    rnic_time now;
    struct impair_result out;
};

/* ---- selecting streams -------------------------------------------------------------------------
 */

/* Returns whether the stream carries CM messages. */
static bool is_cm(const struct dgram_streams *streams, const struct dgram_stream *s)
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

bool dgram_loop_has(const struct dgram_loop_result *play, uint32_t idx)
{
    const struct dgram_stream *s = &play->streams.stream[idx];
    unsigned side = s->role == DGRAM_RECEIVER ? REPLAY_RESPONDER : REPLAY_REQUESTER;

    return (play->sides & side) && !is_cm(&play->streams, s);
}

/* ---- sending frames ----------------------------------------------------------------------------
 */

/* Impairs a frame and puts it on the link. `stream` is the index of the sender's stream, or
 * KEYMAP_NONE if the frame is a recorded packet. Returns 0, or -1 if out of memory. */
static int send_frame(struct dgram_loop *l, uint32_t stream, uint32_t pkt, const uint8_t *data,
                      size_t len, rnic_time now)
{
    const struct dgram_streams *streams = &l->play->streams;
    uint32_t receiver = streams->receiver[pkt];
    struct impair_frame in = {.stream = {stream + 1, receiver == KEYMAP_NONE ? 0 : receiver + 1},
                              .data = data,
                              .len = len};
    const struct trace_packet *first =
        &streams->trace->pkt[streams->stream[stream == KEYMAP_NONE ? receiver : stream].pkt[0]];
    struct impair_result *out = &l->out;
    struct roce_pkt parsed;

    if (roce_pkt_parse(&parsed, ROCE_LINK_ETHERNET, data, len, len) != 0)
        return 0;
    if (stream == KEYMAP_NONE)
        in.stream[0] = 0;
    in.rel = roce_psn_diff(roce_pkt_psn(&parsed), roce_psn_of(first->psn));
    if (impair_apply(l->impair, &in, out) != 0)
        return -1;
    l->play->frames++;
    l->play->lost += out->copies == 0;
    l->play->damaged += out->damaged;
    l->play->forged += out->forged;
    sim_pcap_write(l->pcap, now, data, len, out->note);
    out->note[0] = '\0';
    return sim_link_send(&l->link, out, true, pkt, now);
}

/* Passes a frame of a sender to the oracle. The senders transmit independently, so the time of a
 * frame may be before the time of the previous frame. In this case the oracle gets the time of the
 * previous frame. Returns 0, or -1 if out of memory. */
static int judge_frame(struct dgram_loop *l, struct dgram_sender_slot *sender, const uint8_t *frame,
                       size_t len)
{
    if (l->judged < sender->free)
        l->judged = sender->free;
    flow_oracle_feed(&l->oracle, true, frame, len, l->judged);
    if (l->oracle.errors == 0)
        return 0;
    l->oracle.errors = 0;
    if (!sender->violation)
        sender->violation = strdup(l->oracle.first);
    return sender->violation ? 0 : -1;
}

static int on_sent(void *ctx, uint32_t stream, size_t at, const uint8_t *frame, size_t len)
{
    struct dgram_loop *l = ctx;
    struct dgram_sender_slot *sender = &l->sender[stream];

    sender->free = (sender->free > l->now ? sender->free : l->now) + SIM_HOST_TX_NS;
    if (judge_frame(l, sender, frame, len) != 0)
        return -1;
    return send_frame(l, stream, l->play->streams.stream[stream].pkt[at], frame, len, sender->free);
}

/* Returns the time at which the next recorded packet is sent to one of our receivers, ns, or
 * RNIC_NEVER. */
static rnic_time recorded_time(struct dgram_loop *l)
{
    const struct dgram_streams *streams = &l->play->streams;

    if (l->play->sides != REPLAY_RESPONDER)
        return RNIC_NEVER;
    while (l->next < streams->trace->cnt && (streams->receiver[l->next] == KEYMAP_NONE ||
                                             !dgram_loop_has(l->play, streams->receiver[l->next])))
        l->next++;
    return l->next == streams->trace->cnt
               ? RNIC_NEVER
               : streams->trace->pkt[l->next].time - streams->trace->pkt[0].time + SIM_TIME_BASE;
}

static int deliver_next(struct dgram_loop *l)
{
    struct sim_link_frame *frame = sim_link_take(&l->link);
    uint32_t receiver = l->play->streams.receiver[frame->mark];
    struct dgram_arrival_in in = {.stream = receiver,
                                  .pkt = frame->mark,
                                  .frame = frame->data,
                                  .len = frame->len,
                                  .forged = frame->forged};
    int rc =
        l->receive && receiver != KEYMAP_NONE ? dgram_receivers_frame(l->receive, &in, l->now) : 0;

    free(frame);
    return rc;
}

/* ---- advancing the time ------------------------------------------------------------------------
 */

/* Returns the index of the sender of the next due message, and sets *at to the time of this
 * message. *at is RNIC_NEVER if no message is left. */
static uint32_t next_sender(struct dgram_loop *l, rnic_time *at)
{
    uint32_t next = 0;

    *at = RNIC_NEVER;
    for (uint32_t i = 0; i < l->play->streams.cnt; i++)
        if (l->sender[i].due < *at) {
            *at = l->sender[i].due;
            next = i;
        }
    return next;
}

/* Closes a sender. If the sender violated a rule, adds a difference to its stream. Returns 0, or -1
 * if out of memory. */
static int close_sender(struct dgram_loop *l, uint32_t idx)
{
    struct dgram_streams *streams = &l->play->streams;
    struct dgram_sender_slot *sender = &l->sender[idx];
    struct field_diffs d = {.cnt = 0};
    int rc;

    dgram_sender_del(sender->transmit);
    sender->transmit = NULL;
    if (sender->violation)
        field_diff_add(&d, "rules", "none violated", sender->violation);
    rc = dgram_streams_report(streams, idx, streams->stream[idx].pkt[0], &d,
                              "our RNIC violates a rule");
    free(sender->violation);
    sender->violation = NULL;
    return rc;
}

/* Makes room for the device of sender `idx`: if DEVICES_MAX devices are open, closes the one that
 * was opened first. */
static void make_room(struct dgram_loop *l, uint32_t idx)
{
    uint32_t *device = &l->device[l->opened++ % DEVICES_MAX];

    if (*device && l->sender[*device - 1].transmit)
        dgram_sender_close_device(l->sender[*device - 1].transmit);
    *device = idx + 1;
}

/* Posts the next message of a sender. Opens the sender before its first message and closes it after
 * its last one. Returns 0, or -1 if out of memory. */
static int step_sender(struct dgram_loop *l, uint32_t idx)
{
    struct dgram_sender_slot *sender = &l->sender[idx];
    int rc = 0;

    if (!sender->transmit) {
        sender->transmit = dgram_sender_new(&l->play->streams, idx, &l->sink);
        if (!sender->transmit)
            return -1;
    }
    if (!dgram_sender_has_device(sender->transmit))
        make_room(l, idx);
    if (dgram_sender_due(sender->transmit) <= l->now)
        rc = dgram_sender_step(sender->transmit);
    sender->due = dgram_sender_due(sender->transmit);
    if (sender->due == RNIC_NEVER && close_sender(l, idx) != 0)
        rc = -1;
    return rc;
}

static int run_events(struct dgram_loop *l)
{
    for (;;) {
        rnic_time post, recorded = recorded_time(l), link = sim_link_due(&l->link);
        uint32_t sender = next_sender(l, &post);
        int rc;

        if (post == RNIC_NEVER && recorded == RNIC_NEVER && link == UINT64_MAX)
            return 0;
        if (link <= post && link <= recorded) {
            l->now = link;
            rc = deliver_next(l);
        } else if (post <= recorded) {
            l->now = post;
            rc = step_sender(l, sender);
        } else {
            uint8_t frame[ROCE_FRAME_MAX];
            uint32_t pkt = l->next++;
            size_t len = inject_frame(&l->play->streams.trace->pkt[pkt], frame);

            l->now = recorded;
            rc = len ? send_frame(l, KEYMAP_NONE, pkt, frame, len, l->now) : 0;
        }
        if (rc != 0)
            return -1;
    }
}

/* ---- playing all streams -----------------------------------------------------------------------
 */

/* Copies the streams without the results of earlier plays. Returns 0, or -1 if out of memory. */
static int copy_streams(struct dgram_streams *to, const struct dgram_streams *from)
{
    *to = (struct dgram_streams){
        .trace = from->trace, .cnt = from->cnt, .cap = from->cnt, .receiver = from->receiver};
    to->stream = malloc((from->cnt + 1) * sizeof(*to->stream));
    if (!to->stream)
        return -1;
    for (size_t i = 0; i < from->cnt; i++)
        to->stream[i] = from->stream[i];
    return 0;
}

static int open_ends(struct dgram_loop *l)
{
    struct dgram_streams *streams = &l->play->streams;

    l->sender = calloc(streams->cnt + 1, sizeof(*l->sender));
    if (!l->sender || !flow_oracle_init(&l->oracle))
        return -1;
    if (l->play->sides & REPLAY_RESPONDER) {
        l->receive = dgram_receivers_new(streams);
        if (!l->receive)
            return -1;
    }
    for (uint32_t i = 0; i < streams->cnt; i++) {
        const struct dgram_stream *s = &streams->stream[i];
        const struct trace_packet *pkt = streams->trace->pkt;

        l->sender[i].due = s->role == DGRAM_SENDER && dgram_loop_has(l->play, i)
                               ? pkt[s->pkt[0]].time - pkt[0].time + DGRAM_SENDER_TIME_BASE
                               : RNIC_NEVER;
    }
    return 0;
}

int dgram_loop_play(struct dgram_loop_result *play, const struct dgram_streams *streams,
                    unsigned sides, struct impair *impair, struct sim_pcap *pcap)
{
    struct dgram_loop l = {.play = play,
                           .impair = impair,
                           .pcap = pcap,
                           .now = SIM_TIME_BASE,
                           .sink = {.ctx = &l, .sent = on_sent}};
    int rc = 0;

    *play = (struct dgram_loop_result){.sides = sides};
    if (copy_streams(&play->streams, streams) != 0)
        return -1;
    rc = open_ends(&l);
    if (rc == 0)
        rc = run_events(&l);
    for (uint32_t i = 0; l.sender && i < play->streams.cnt; i++)
        if (l.sender[i].transmit && close_sender(&l, i) != 0)
            rc = -1;
    flow_oracle_finish(&l.oracle);
    dgram_receivers_del(l.receive);
    sim_link_free(&l.link);
    dgram_streams_judge(&play->streams);
    for (uint32_t i = 0; i < play->streams.cnt; i++)
        if (!dgram_loop_has(play, i)) {
            play->streams.stream[i].verdict = VERDICT_SKIPPED;
            play->streams.stream[i].skip =
                is_cm(streams, &streams->stream[i])
                    ? "replay plays this stream as a CM exchange"
                    : "the recorded packets take the place of this endpoint";
        }
    free(l.sender);
    return rc;
}

void dgram_loop_free(struct dgram_loop_result *play)
{
    free(play->streams.stream);
    free(play->streams.diff);
    memset(play, 0, sizeof(*play));
}

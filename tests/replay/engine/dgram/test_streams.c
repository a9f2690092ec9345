/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of UC and UD, the services without responses: messages that receivers deliver, packets
 * that senders send, and differences that the replay must find. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/dgram/dgram_receiver.h"
#include "engine/dgram/dgram_sender.h"
#include "engine/diff_rule.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA   UINT64_C(0x7f0000001000)
#define RKEY TALK_RKEY
#define QKEY 0x11111111u

/* Returns the datagram stream of a role with QPN `qpn`: the source QPN of a UD sender, the
 * destination QPN of all others. Fails the test and returns NULL if there is none. */
static const struct dgram_stream *find(const struct replay *r, enum dgram_role role, uint32_t qpn)
{
    for (size_t i = 0; i < r->dgrams.cnt; i++)
        if (r->dgrams.stream[i].role == role && r->dgrams.stream[i].qpn == qpn)
            return &r->dgrams.stream[i];
    suite_fail(__FILE__, __LINE__, "no stream of role %d with QP 0x%x", role, qpn);
    return NULL;
}

static void expect_holds(struct replay *r)
{
    EXPECT_EQ(report_verdict(r), VERDICT_PASS);
    for (size_t i = 0; i < r->dgrams.cnt; i++)
        EXPECT_EQ(r->dgrams.stream[i].verdict, VERDICT_PASS);
    if (report_verdict(r) != VERDICT_PASS)
        report_text(stdout, r, &(struct report_options){.ladder = false});
}

/* ---- streams of UC -----------------------------------------------------------------------------
 */

static void uc_send(struct talk *t, uint8_t opcode, uint32_t psn, uint32_t len)
{
    talk_send(t, opcode, psn, len, (uint8_t)psn);
}

static void uc_messages_hold(void)
{
    const struct dgram_stream *s;
    struct talk t;
    struct replay r;

    talk_init(&t);
    uc_send(&t, ROCE_OP_UC_SEND_FIRST, 0xFFFFFE, 1024);
    uc_send(&t, ROCE_OP_UC_SEND_MIDDLE, 0xFFFFFF, 1024);
    uc_send(&t, ROCE_OP_UC_SEND_LAST_IMM, 0, 10);
    talk_write(&t, ROCE_OP_UC_WRITE_FIRST, 1, VA, RKEY, 1500, 1024, 1);
    talk_write(&t, ROCE_OP_UC_WRITE_LAST_IMM, 2, 0, 0, 0, 476, 2);
    talk_write(&t, ROCE_OP_UC_WRITE_ONLY, 3, VA, RKEY, 8, 8, 3);
    uc_send(&t, ROCE_OP_UC_SEND_ONLY, 4, 0);
    if (talk_replay(&t, &r, NULL) == 0) {
        expect_holds(&r);
        s = find(&r, DGRAM_RECEIVER, t.responder_qp);
        EXPECT_EQ(s->compared, 7);
        EXPECT_EQ(s->messages, 4);
        EXPECT_EQ(s->dropped, 0);
        EXPECT_EQ(s->bytes, 2058 + 1500 + 8);
        s = find(&r, DGRAM_SENDER, t.responder_qp);
        EXPECT_EQ(s->compared, 7);
        EXPECT_EQ(s->messages, 4);
        EXPECT_EQ(s->not_captured + s->not_posted + s->resumed, 0);
    }
    replay_free(&r);
    talk_free(&t);
}

/* UC packets are lost. The receiver must drop the messages that lack a packet, and receive the
 * others (R163, R164). */
static void a_lost_uc_packet_costs_its_message(void)
{
    const struct dgram_stream *s;
    struct talk t;
    struct replay r;

    talk_init(&t);
    uc_send(&t, ROCE_OP_UC_SEND_FIRST, 0, 1024);
    uc_send(&t, ROCE_OP_UC_SEND_MIDDLE, 1, 1024);
    uc_send(&t, ROCE_OP_UC_SEND_LAST, 3, 10); /* PSN 2 is lost */
    uc_send(&t, ROCE_OP_UC_SEND_ONLY, 4, 100);
    talk_write(&t, ROCE_OP_UC_WRITE_FIRST, 5, VA, RKEY, 2048, 1024, 1); /* PSN 6 is lost */
    talk_write(&t, ROCE_OP_UC_WRITE_ONLY_IMM, 7, VA + 4096, RKEY, 8, 8, 3);
    uc_send(&t, ROCE_OP_UC_SEND_LAST, 20, 10); /* PSNs 8 to 19 are lost */
    uc_send(&t, ROCE_OP_UC_SEND_ONLY, 21, 11);
    if (talk_replay(&t, &r, NULL) == 0) {
        expect_holds(&r);
        s = find(&r, DGRAM_RECEIVER, t.responder_qp);
        EXPECT_EQ(s->messages, 3);
        EXPECT_EQ(s->dropped, 2);
        s = find(&r, DGRAM_SENDER, t.responder_qp);
        EXPECT_EQ(s->messages, 5);
        EXPECT_EQ(s->compared, 7);
        EXPECT_EQ(s->not_captured, 2); /* the packets with PSN 2 and PSN 6 */
        EXPECT_EQ(s->not_posted,
                  1);             /* the packet with PSN 20; the start of its message is missing */
        EXPECT_EQ(s->resumed, 1); /* a new QP begins at PSN 21, after the gap */
    }
    replay_free(&r);
    talk_free(&t);
}

/* UC packets of wrong length must be dropped, and later messages received (R165). */
static void uc_packets_of_wrong_length_are_dropped(void)
{
    const struct dgram_stream *s;
    struct talk t;
    struct replay r;

    talk_init(&t);
    uc_send(&t, ROCE_OP_UC_SEND_FIRST, 0, 1024);
    uc_send(&t, ROCE_OP_UC_SEND_MIDDLE, 1, 1000);
    uc_send(&t, ROCE_OP_UC_SEND_LAST, 2, 10);
    talk_write(&t, ROCE_OP_UC_WRITE_ONLY, 3, VA, RKEY, 9, 8, 3);
    uc_send(&t, ROCE_OP_UC_SEND_ONLY, 4, 10);
    if (talk_replay(&t, &r, NULL) == 0) {
        s = find(&r, DGRAM_RECEIVER, t.responder_qp);
        EXPECT_EQ(s->verdict, VERDICT_PASS);
        EXPECT_EQ(s->messages, 1);
        EXPECT_EQ(s->dropped, 3);
        s = find(&r, DGRAM_SENDER, t.responder_qp);
        EXPECT_EQ(s->verdict, VERDICT_PASS);
        EXPECT_EQ(s->messages, 1);
        EXPECT_EQ(s->not_posted, 4);
    }
    replay_free(&r);
    talk_free(&t);
}

/* ---- streams of UD -----------------------------------------------------------------------------
 */

static void datagram(struct talk *t, uint8_t opcode, uint32_t psn, uint32_t src_qp, uint32_t qkey,
                     uint32_t len)
{
    struct roce_pkt pkt;
    uint8_t bytes[4096];

    for (uint32_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(psn + i);
    talk_packet(t, &pkt, opcode, psn, true);
    pkt.deth = (struct roce_deth){.qkey = qkey, .src_qp = src_qp};
    pkt.immdt.imm = 0xABCD0000u | psn;
    pkt.bth.se = psn & 1;
    pkt.payload = bytes;
    pkt.payload_len = len;
    talk_add(t, &pkt);
}

static void datagrams_hold(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V1, ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};
    const struct dgram_stream *s;
    struct talk t;
    struct replay r;

    for (unsigned i = 0; i < 3; i++) {
        talk_init(&t);
        t.encap = encaps[i];
        datagram(&t, ROCE_OP_UD_SEND_ONLY, 0xFFFFFF, 0x31, QKEY, 1024);
        datagram(&t, ROCE_OP_UD_SEND_ONLY_IMM, 0, 0x31, QKEY, 0);
        datagram(&t, ROCE_OP_UD_SEND_ONLY, 7, 0x32, QKEY, 4096);
        datagram(&t, ROCE_OP_UD_SEND_ONLY, 1, 0x31, QKEY + 1, 9); /* dropped, because the Q_Key is
                                                                   * wrong (R170) */
        datagram(&t, ROCE_OP_UD_SEND_ONLY, 9, 0x32, QKEY, 9);     /* PSN 8 is lost */
        if (talk_replay(&t, &r, NULL) == 0) {
            expect_holds(&r);
            EXPECT_EQ(r.dgrams.cnt, 3);
            s = find(&r, DGRAM_RECEIVER, t.responder_qp);
            EXPECT_EQ(s->compared, 5);
            EXPECT_EQ(s->messages, 4);
            EXPECT_EQ(s->dropped, 1);
            s = find(&r, DGRAM_SENDER, 0x31);
            EXPECT_EQ(s->compared, 3);
            EXPECT_EQ(s->resumed, 0);
            s = find(&r, DGRAM_SENDER, 0x32);
            EXPECT_EQ(s->compared, 2);
            EXPECT_EQ(s->resumed, 1);
        }
        replay_free(&r);
        talk_free(&t);
    }
}

/* Management datagrams to QP 1 pass. If the capture also has an RC packet, which the replay skips,
 * the verdict must be SKIPPED, not PASS. */
static void datagrams_of_qp_1_do_not_hide_skipped_data(void)
{
    struct talk t;
    struct replay r;

    talk_init(&t);
    t.responder_qp = 1;
    datagram(&t, ROCE_OP_UD_SEND_ONLY, 5, 1, 0x80010000u, 256);
    if (talk_replay(&t, &r, NULL) == 0)
        expect_holds(&r);
    replay_free(&r);
    t.responder_qp = 0x22;
    talk_ack(&t, 7, 0x1F, 1);
    if (talk_replay(&t, &r, NULL) == 0)
        EXPECT_EQ(report_verdict(&r), VERDICT_SKIPPED);
    replay_free(&r);
    talk_free(&t);
}

/* ---- differences that the comparison must find ----------------------------------------------- */

/* Asserts that a difference of some kinds names the rule that the recorded device violates. */
static void expect_rule(const struct dgram_streams *streams, const struct diff *d)
{
    bool uc = streams->stream[d->dir].svc == ROCE_SVC_UC;
    const char *rule = diff_rule_stream(streams, d);
    const char *want = strcmp(d->field, "packets") == 0 ? (uc ? "UC-REQ-167" : "UD-REQ-168")
                       : strcmp(d->field, "completion") == 0 && strcmp(d->recorded, "none") == 0
                           ? (uc ? "UC-RSP-166" : "UD-RSP-174")
                       : strcmp(d->field, "data") == 0 && strcmp(d->recorded, "unchanged") == 0
                           ? "UC-RSP-165"
                           : NULL;

    if (want && (!rule || strcmp(rule, want) != 0))
        suite_fail(__FILE__, __LINE__, "%s: rule %s, not %s", d->field, rule ? rule : "none", want);
}

/* Replays the capture. Then changes packet `at` of the parsed packets, but not its frame, and
 * compares again. Asserts a difference in field `received` of the receiver and in field `sent` of
 * the sender; NULL: no difference. */
static void expect_seen(struct talk *t, size_t at, void (*change)(struct trace_packet *),
                        const char *received, const char *sent)
{
    struct error error = {""};
    struct dgram_streams streams;
    struct trace trace;
    const struct capture *c = &t->capture;
    bool seen[2] = {received == NULL, sent == NULL};
    struct replay r;

    memset(&streams, 0, sizeof(streams));
    if (capture_replay(c, &(struct replay_options){0}, &r, &error) != 0) {
        suite_fail(__FILE__, __LINE__, "%s", error.text);
        replay_free(&r);
        return;
    }
    trace = r.trace;
    EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
    change(&r.trace.pkt[at]);
    trace = r.trace;
    EXPECT_EQ(dgram_streams_find(&streams, &trace, true, true), 0);
    EXPECT_EQ(dgram_receivers_play(&streams), 0);
    EXPECT_EQ(dgram_senders_play(&streams), 0);
    dgram_streams_judge(&streams);
    for (size_t i = 0; i < streams.diff_cnt; i++) {
        const struct diff *d = &streams.diff[i];
        bool sender = streams.stream[d->dir].role == DGRAM_SENDER;
        const char *want = sender ? sent : received;

        EXPECT_EQ(streams.stream[d->dir].verdict, VERDICT_FAIL);
        if (want && strcmp(d->field, want) == 0)
            seen[sender] = true;
        expect_rule(&streams, d);
    }
    if (!seen[0] || !seen[1])
        suite_fail(__FILE__, __LINE__, "not seen: %s%s%s", seen[0] ? "" : received,
                   seen[0] || seen[1] ? "" : ", ", seen[1] ? "" : sent);
    dgram_streams_free(&streams);
    replay_free(&r);
    talk_free(t);
}

/* Moves the start of the payload 4 bytes towards the start of the frame. */
static void shift(struct trace_packet *p)
{
    p->payload_off -= 4;
}

/* Marks the packet as damaged, so that the receiver is expected to drop it. */
static void damage(struct trace_packet *p)
{
    p->dropped = true;
}

/* Changes the PSN of the parsed packet. */
static void renumber(struct trace_packet *p)
{
    p->psn = 0x123;
}

static struct talk of_uc(void)
{
    struct talk t;

    talk_init(&t);
    uc_send(&t, ROCE_OP_UC_SEND_FIRST, 0, 1024);
    uc_send(&t, ROCE_OP_UC_SEND_LAST, 1, 10);
    talk_write(&t, ROCE_OP_UC_WRITE_ONLY, 2, VA, RKEY, 64, 64, 1);
    talk_write(&t, ROCE_OP_UC_WRITE_ONLY, 3, VA, RKEY, 64, 64, 2);
    return t;
}

static struct talk of_ud(void)
{
    struct talk t;

    talk_init(&t);
    datagram(&t, ROCE_OP_UD_SEND_ONLY, 0, 0x31, QKEY, 100);
    datagram(&t, ROCE_OP_UD_SEND_ONLY, 1, 0x31, QKEY, 100);
    return t;
}

static void other_bytes_differ(void)
{
    struct talk t = of_uc();

    expect_seen(&t, 1, shift, "data", "payload");
    t = of_uc();
    expect_seen(&t, 2, shift, "data", "payload");
    t = of_ud();
    expect_seen(&t, 1, shift, "data", "payload");
}

static void additional_delivery_differs(void)
{
    struct talk t = of_uc();

    expect_seen(&t, 1, damage, "completion", NULL);
    t = of_uc();
    expect_seen(&t, 3, damage, "data", NULL); /* the damaged WRITE would overwrite the previous
                                               * WRITE */
    t = of_ud();
    expect_seen(&t, 1, damage, "completion", NULL);
}

static void other_psn_differs(void)
{
    struct talk t = of_ud();

    expect_seen(&t, 0, renumber, NULL, "packets");
}

SUITE("replay.streams", TEST(uc_messages_hold), TEST(a_lost_uc_packet_costs_its_message),
      TEST(uc_packets_of_wrong_length_are_dropped), TEST(datagrams_hold),
      TEST(datagrams_of_qp_1_do_not_hide_skipped_data), TEST(other_bytes_differ),
      TEST(additional_delivery_differs), TEST(other_psn_differs))

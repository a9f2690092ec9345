/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Spurious timeouts: retransmissions that were not needed, because the response to the first
 * transmission was only late. Also similar retransmissions that a loss caused.
 */
#include "judge.h"
#include "support/suite.h"

#define MS UINT64_C(1000000)
/* The requester waits 67 ms; the responses come after 100 ms. */
#define TIMEOUT (67 * MS)
#define LATE    (33 * MS)

static struct verdict v;

static const struct roce_retx_summary *retx(enum roce_cause cause)
{
    return &v.conn[0].side[0].retx[cause];
}

/* Ends the conversation. Expects `spurious` spurious go-backs and `timeouts` go-backs after a real
 * timeout. */
static void expect(struct flowgen *g, unsigned spurious, unsigned timeouts)
{
    judge_end(g, &v);
    EXPECT_EQ(judge_errors(&v, "spurious"), 0);
    EXPECT_EQ(v.conn_cnt, 1);
    EXPECT_EQ(retx(ROCE_CAUSE_SPURIOUS)->go_backs, spurious);
    EXPECT_EQ(retx(ROCE_CAUSE_TIMEOUT)->go_backs, timeouts);
    CU_ASSERT(judge_found(&v, ROCE_RULE_SPURIOUS_TIMEOUT) == (spurious > 0));
}

static void begin(struct flowgen *g)
{
    flowgen_begin(g);
    flowgen_write(g, 0, 3000); /* shows the path MTU */
}

static void repeat(struct flowgen *g, const struct roce_pkt *p)
{
    flowgen_wait(g, TIMEOUT);
    flowgen_put(g, 0, p);
}

static void ack(struct flowgen *g, uint64_t wait, uint32_t psn)
{
    flowgen_wait(g, wait);
    flowgen_ack(g, 1, psn, 0x1F);
}

/* ---- spurious retransmissions ---------------------------------------------------------------- */

static void late_ack_of_a_send_is_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    ack(&g, LATE, p.bth.psn);
    ack(&g, TIMEOUT, p.bth.psn);
    expect(&g, 1, 0);
    EXPECT_EQ(retx(ROCE_CAUSE_SPURIOUS)->packets, 1);
    EXPECT_EQ(retx(ROCE_CAUSE_SPURIOUS)->bytes, 64);
    EXPECT_EQ(retx(ROCE_CAUSE_TIMEOUT)->packets, 0);
    EXPECT_EQ(retx(ROCE_CAUSE_TIMEOUT)->bytes, 0);
    EXPECT_EQ(retx(ROCE_CAUSE_TIMEOUT)->waited_ns, 0);
    EXPECT_EQ(v.conn[0].side[0].late_response_ns, TIMEOUT + LATE + 20000);
}

static void late_read_responses_are_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 3000);
    repeat(&g, &p);
    for (int i = 0; i < 2; i++) {
        flowgen_wait(&g, i ? TIMEOUT : LATE);
        flowgen_read_resp(&g, 1, p.bth.psn, 3000, 0, 2);
    }
    expect(&g, 1, 0);
}

/* No response was captured before the timeout, so the path MTU and the PSNs of the last READ are
 * unknown. */
static void late_responses_to_the_first_reads_are_spurious(void)
{
    struct flowgen g;
    struct roce_pkt read[3];

    flowgen_begin(&g);
    for (int i = 0; i < 3; i++)
        read[i] = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2 * g.mtu);
    flowgen_wait(&g, TIMEOUT);
    for (int i = 0; i < 3; i++)
        flowgen_put(&g, 0, &read[i]);
    for (int copy = 0; copy < 2; copy++) {
        flowgen_wait(&g, copy ? TIMEOUT : LATE);
        for (int i = 0; i < 3; i++)
            flowgen_read_resp(&g, 1, read[i].bth.psn, 2 * g.mtu, 0, 1);
    }
    expect(&g, 1, 0);
}

/* The responder stops in the middle of a READ. The requester restarts the READ there. Then the rest
 * of the first responses arrives. Their opcodes show that they do not answer the restart. */
static void late_rest_of_a_read_is_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p, rest;

    begin(&g);
    for (int i = 0; i < 10; i++)
        flowgen_send(&g, 0, 64);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 5 * g.mtu);
    flowgen_read_resp(&g, 1, p.bth.psn, 5 * g.mtu, 0, 1);
    g.conn.psn[0] = p.bth.psn + 2;
    rest = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 3 * g.mtu);
    rest.reth.va = p.reth.va + 2 * g.mtu;
    rest.reth.rkey = p.reth.rkey;
    g.conn.msn[0]--;
    repeat(&g, &rest);
    flowgen_wait(&g, LATE);
    for (uint32_t k = 2; k < 5; k++) {
        struct roce_pkt r =
            flowgen_resp(&g, 1, k < 4 ? ROCE_OP_RC_READ_RESP_MIDDLE : ROCE_OP_RC_READ_RESP_LAST,
                         p.bth.psn + k, g.mtu);

        flowgen_put(&g, 1, &r);
    }
    flowgen_wait(&g, TIMEOUT);
    flowgen_read_resp(&g, 1, rest.bth.psn, 3 * g.mtu, 0, 2);
    expect(&g, 1, 0);
    EXPECT_EQ(judge_worst(&v, ROCE_RULE_READ_RESTART), ROCE_SEV_WARN); /* may have another cause */
    EXPECT_EQ(v.conn[0].side[0].read_restarts.missing, 0);
}

static void late_atomic_response_is_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_FETCH_ADD, 0);
    repeat(&g, &p);
    for (int i = 0; i < 2; i++) {
        struct roce_pkt r = flowgen_resp(&g, 1, ROCE_OP_RC_ATOMIC_ACK, p.bth.psn, 0);

        flowgen_wait(&g, i ? TIMEOUT : LATE);
        flowgen_put(&g, 1, &r);
    }
    expect(&g, 1, 0);
}

/* The responder stops for 300 ms, then answers all transmissions at once. */
static void each_timeout_of_a_stalled_responder_is_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 100);
    for (int i = 0; i < 4; i++)
        repeat(&g, &p);
    flowgen_wait(&g, LATE);
    for (int i = 0; i < 5; i++)
        flowgen_read_resp(&g, 1, p.bth.psn, 100, 0, 0);
    expect(&g, 4, 0);
}

/* A go-back of several WRITE packets. Soft-RoCE acknowledges each duplicate packet (`each`); other
 * responders send one ACK for all duplicates. */
static void late_ack_of_a_long_write_is_spurious(void)
{
    for (int each = 0; each < 2; each++) {
        struct flowgen g;
        size_t from, cnt;
        uint32_t psn;

        begin(&g);
        from = g.frame_cnt;
        psn = flowgen_message(&g, 0, ROCE_KIND_WRITE, 4096);
        cnt = g.frame_cnt - from;
        flowgen_wait(&g, TIMEOUT);
        g.conn.psn[0] = psn;
        (void)flowgen_message(&g, 0, ROCE_KIND_WRITE, 4096);
        psn += (uint32_t)cnt - 1;
        ack(&g, LATE, psn);
        flowgen_wait(&g, TIMEOUT);
        for (size_t i = 0; i < (each ? cnt : 1); i++)
            flowgen_ack(&g, 1, psn, 0x1F);
        expect(&g, 1, 0);
        EXPECT_EQ(retx(ROCE_CAUSE_SPURIOUS)->packets, cnt);
        EXPECT_EQ(retx(ROCE_CAUSE_TIMEOUT)->packets, 0);
    }
}

/* The round trip is always 80 ms or longer. A response 20 ms after the retransmission answers the
 * first transmission; the capture ends before the second response. */
static void response_sooner_than_any_round_trip_is_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    g.frame_cnt = 0;
    for (int i = 0; i < 10; i++) {
        p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        ack(&g, 80 * MS, p.bth.psn);
    }
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_wait(&g, 90 * MS);
    flowgen_put(&g, 0, &p);
    ack(&g, 20 * MS, p.bth.psn);
    expect(&g, 1, 0);
}

/* Sends `messages` WRITEs of four packets, the first one with PSN `psn`. Only the last packet of
 * each WRITE has AckReq. */
static void write_all(struct flowgen *g, uint32_t psn, unsigned messages)
{
    g->conn.psn[0] = psn;
    for (unsigned i = 0; i < messages; i++)
        (void)flowgen_message(g, 0, ROCE_KIND_WRITE, 4096);
}

/* Nothing is lost. After a stall, the responder processes all transmissions in one burst: it
 * acknowledges the messages in sequence, and then each duplicate packet with AckReq. If the first
 * transmissions were lost, the last ACK would not be repeated. */
static void burst_after_a_stall_shows_spurious_timeouts(void)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        const unsigned messages = 4, go_backs = 3;
        struct flowgen g;
        uint32_t psn;

        begin(&g);
        psn = g.conn.psn[0];
        write_all(&g, psn, messages);
        for (unsigned i = 0; i < go_backs; i++) {
            flowgen_wait(&g, TIMEOUT);
            write_all(&g, psn, messages);
        }
        for (unsigned i = 0; i < messages; i++) {
            g.conn.msn[0] = 2 + i;
            flowgen_ack(&g, 1, psn + 4 * i + 3, 0x1F);
        }
        g.conn.msn[0] = 1 + messages;
        for (unsigned i = 0; !lost && i < go_backs * messages; i++)
            flowgen_ack(&g, 1, psn + 4 * messages - 1, 0x1F);
        expect(&g, lost ? 0 : go_backs, lost ? go_backs : 0);
    }
}

/* Sends SENDs that are answered within 20 us each. Then sends a message of `packets` packets, and
 * a go-back over this message. The next response comes 33 ms after the go-back. Returns the PSN of
 * the message. */
static uint32_t late_flight(struct flowgen *g, unsigned packets)
{
    uint32_t psn;

    begin(g);
    for (unsigned i = 0; i < 3; i++)
        flowgen_send(g, 0, 64);
    psn = g->conn.psn[0];
    (void)flowgen_message(g, 0, ROCE_KIND_WRITE, packets * g->mtu);
    flowgen_wait(g, TIMEOUT);
    g->conn.psn[0] = psn;
    (void)flowgen_message(g, 0, ROCE_KIND_WRITE, packets * g->mtu);
    g->conn.msn[0]--;
    flowgen_wait(g, LATE);
    return psn;
}

/* The ACK comes long after both transmissions, and the capture ends before the ACKs of duplicates.
 * A responder that missed some of the first packets would have sent a sequence NAK. */
static void ack_long_after_a_go_back_of_many_packets_shows_a_spurious_timeout(void)
{
    for (unsigned packets = 7; packets < 9; packets++) {
        struct flowgen g;
        uint32_t psn = late_flight(&g, packets);

        flowgen_ack(&g, 1, psn + packets - 1, 0x1F);
        expect(&g, packets == 8, packets == 7);
        if (packets == 8)
            CU_ASSERT(v.conn[0].side[0].late_response_ns > TIMEOUT + LATE);
    }
}

/* The packets have no IPv4 identification, and two equal ACKs are 1 us apart. They must not count
 * as two captures of one ACK: no earlier ACK was captured twice, and the first of these two ACKs is
 * late. The responder stalled, and then answered both transmissions. */
static void two_late_acks_close_together_show_a_spurious_timeout(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    g.encap = ROCE_ENCAP_V2_IP6;
    flowgen_write(&g, 0, 3000);
    flowgen_send(&g, 0, 64);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    ack(&g, LATE, p.bth.psn);
    g.step = 1000;
    ack(&g, 0, p.bth.psn);
    expect(&g, 1, 0);
}

/* The capture begins with a request to a stalled responder, before the responder's first
 * response. */
static void timeout_before_the_first_response_can_be_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    ack(&g, LATE, p.bth.psn);
    ack(&g, TIMEOUT, p.bth.psn);
    expect(&g, 1, 0);
}

/* Sends `cnt` SENDs one after the other, each retransmitted after the ACK timeout, and then one
 * more SEND. The ACK of each SEND is captured 48 ms after the SEND, but reaches the requester only
 * after the timeout. If `lost`, this ACK is lost after the capture point, and the next SEND
 * follows the ACK of the retransmission. */
static void long_path(struct flowgen *g, unsigned cnt, bool lost)
{
    struct roce_pkt p = {0};

    begin(g);
    for (unsigned i = 0; i <= cnt; i++) {
        uint32_t before = p.bth.psn;

        p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        g->conn.msn[0] = i + 1;
        if (i && !lost)
            ack(g, 43 * MS, before);
        if (i == cnt)
            break;
        g->conn.msn[0] = i + 2;
        ack(g, (lost ? 48 : i ? 5 : 48) * MS, p.bth.psn);
        flowgen_wait(g, TIMEOUT - 48 * MS);
        flowgen_put(g, 0, &p);
        if (lost)
            ack(g, 1 * MS, p.bth.psn);
        flowgen_wait(g, 5 * MS);
    }
}

/* After each go-back the requester sends its next request before a response to the go-back is
 * captured. So it must have received the earlier ACK: the ACK was late and not lost. */
static void request_before_the_next_response_shows_a_late_ack(void)
{
    static const struct {
        unsigned cnt, spurious;
        bool lost;
    } rows[] = {{2, 0, false}, {3, 3, false}, {6, 6, false}, {6, 0, true}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        long_path(&g, rows[i].cnt, rows[i].lost);
        expect(&g, rows[i].spurious, rows[i].cnt - rows[i].spurious);
        EXPECT_EQ(v.conn[0].side[0].timeout_losses.acked, rows[i].cnt - rows[i].spurious);
        EXPECT_EQ(retx(ROCE_CAUSE_SPURIOUS)->packets, rows[i].spurious);
    }
}

/* ---- timeouts after a loss ---------------------------------------------------------------------
 */

static void lost_request_is_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    ack(&g, 0, p.bth.psn);
    expect(&g, 0, 1);
}

/* The ACK is lost before the capture point. The responder acknowledges the duplicate. */
static void lost_ack_is_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    ack(&g, LATE, p.bth.psn);
    flowgen_send(&g, 0, 64);
    expect(&g, 0, 1);
}

/* The ACK is lost after it passed the capture point, once or twice. */
static void ack_lost_behind_the_capture_point_is_not_spurious(void)
{
    for (unsigned lost = 1; lost < 3; lost++) {
        struct flowgen g;
        struct roce_pkt p;

        begin(&g);
        p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        for (unsigned i = 0; i < lost; i++) {
            ack(&g, 0, p.bth.psn);
            repeat(&g, &p);
        }
        ack(&g, 0, p.bth.psn);
        expect(&g, 0, lost);
    }
}

/* The first transmission is lost. The responder answers the second transmission late, and later
 * also the third one. */
static void lost_request_before_a_late_response_is_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    repeat(&g, &p);
    ack(&g, LATE, p.bth.psn);
    ack(&g, TIMEOUT, p.bth.psn);
    expect(&g, 1, 1);
}

/* The first ACKs are lost before the capture point. The responder acknowledges each duplicate
 * packet, as Soft-RoCE does. */
static void lost_acks_of_a_long_write_are_not_spurious(void)
{
    struct flowgen g;
    uint32_t psn;

    begin(&g);
    psn = g.conn.psn[0];
    write_all(&g, psn, 4);
    flowgen_wait(&g, TIMEOUT);
    write_all(&g, psn, 4);
    for (int i = 0; i < 16; i++)
        flowgen_ack(&g, 1, psn + 15, 0x1F);
    expect(&g, 0, 1);
}

/* Only the last packet of a WRITE is lost. The responder acknowledges each duplicate with the PSN
 * of the last packet that it received. */
static void lost_last_packet_is_not_spurious(void)
{
    struct flowgen g;
    uint32_t psn;

    begin(&g);
    psn = flowgen_message(&g, 0, ROCE_KIND_WRITE, 4096);
    flowgen_wait(&g, TIMEOUT);
    g.conn.psn[0] = psn;
    (void)flowgen_message(&g, 0, ROCE_KIND_WRITE, 4096);
    for (int i = 0; i < 3; i++)
        flowgen_ack(&g, 1, psn + 2, 0x1F);
    flowgen_ack(&g, 1, psn + 3, 0x1F);
    expect(&g, 0, 1);
}

static void lost_read_responses_are_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 3000);
    repeat(&g, &p);
    flowgen_wait(&g, LATE);
    flowgen_read_resp(&g, 1, p.bth.psn, 3000, 0, 2);
    expect(&g, 0, 1);
}

/* The network copies the retransmission: the responder answers it twice. */
static void copied_retransmission_is_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    flowgen_copy(&g);
    ack(&g, 0, p.bth.psn);
    ack(&g, 0, p.bth.psn);
    expect(&g, 0, 1);
}

/* The packets have no IPv4 identification, so a response that is captured twice looks like two
 * responses. */
static void response_captured_twice_is_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    g.encap = ROCE_ENCAP_V2_IP6;
    flowgen_send(&g, 0, 64);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    ack(&g, LATE, p.bth.psn);
    flowgen_copy(&g);
    expect(&g, 0, 1);
}

static void response_soon_after_few_round_trips_is_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    g.frame_cnt = 0;
    for (int i = 0; i < 3; i++) {
        p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        ack(&g, 80 * MS, p.bth.psn);
    }
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_wait(&g, 90 * MS);
    flowgen_put(&g, 0, &p);
    ack(&g, 20 * MS, p.bth.psn);
    expect(&g, 0, 1);
}

/* The third packet of both transmissions is lost after the capture point, and the responder sends
 * its sequence NAK late. */
static void late_sequence_nak_is_not_spurious(void)
{
    struct flowgen g;
    uint32_t psn = late_flight(&g, 8);

    g.conn.msn[0]--;
    flowgen_ack(&g, 1, psn + 1, 0x1F);
    flowgen_ack(&g, 1, psn + 2, 0x60);
    g.conn.psn[0] = psn + 2;
    g.conn.msn[0]++;
    flowgen_ack(&g, 1, psn + 7, 0x1F);
    expect(&g, 0, 1);
}

/* The receiver is not ready: both transmissions get an RNR NAK. */
static void late_rnr_naks_are_not_spurious(void)
{
    struct flowgen g;
    struct roce_pkt p;

    begin(&g);
    p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    repeat(&g, &p);
    g.conn.msn[0]--;
    for (int i = 0; i < 2; i++) {
        flowgen_wait(&g, i ? TIMEOUT : LATE);
        flowgen_ack(&g, 1, p.bth.psn, 0x2E);
    }
    g.conn.msn[0]++;
    flowgen_wait(&g, 2 * MS);
    flowgen_put(&g, 0, &p);
    ack(&g, 0, p.bth.psn);
    expect(&g, 0, 1);
}

SUITE("flow.spurious", TEST(late_ack_of_a_send_is_spurious), TEST(late_read_responses_are_spurious),
      TEST(late_responses_to_the_first_reads_are_spurious), TEST(late_rest_of_a_read_is_spurious),
      TEST(late_atomic_response_is_spurious), TEST(each_timeout_of_a_stalled_responder_is_spurious),
      TEST(late_ack_of_a_long_write_is_spurious), TEST(burst_after_a_stall_shows_spurious_timeouts),
      TEST(lost_acks_of_a_long_write_are_not_spurious),
      TEST(response_sooner_than_any_round_trip_is_spurious), TEST(lost_request_is_not_spurious),
      TEST(lost_ack_is_not_spurious), TEST(ack_lost_behind_the_capture_point_is_not_spurious),
      TEST(lost_request_before_a_late_response_is_not_spurious),
      TEST(lost_last_packet_is_not_spurious), TEST(lost_read_responses_are_not_spurious),
      TEST(copied_retransmission_is_not_spurious), TEST(response_captured_twice_is_not_spurious),
      TEST(response_soon_after_few_round_trips_is_not_spurious),
      TEST(ack_long_after_a_go_back_of_many_packets_shows_a_spurious_timeout),
      TEST(two_late_acks_close_together_show_a_spurious_timeout),
      TEST(timeout_before_the_first_response_can_be_spurious),
      TEST(request_before_the_next_response_shows_a_late_ack),
      TEST(late_sequence_nak_is_not_spurious), TEST(late_rnr_naks_are_not_spurious))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests captures that were taken at several points, or far from the sender. The order of packets in
 * such a capture may look like a violation, which must not be reported. Real violations must still
 * be reported.
 */
#include <stdlib.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

/* The MSN may count a READ from its last response on, or from its first (C9-148). The first
 * response has either MSN; the analysis engine must accept both. */
static void read_that_counts_late_is_no_error(void)
{
    for (uint32_t before = 0; before < 2; before++) {
        struct flowgen g;
        struct roce_pkt read, p;

        flowgen_begin(&g);
        g.conn.msn[0] = before;
        flowgen_message(&g, 0, ROCE_KIND_SEND, 1500);
        read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2048);
        flowgen_put(&g, 0, &read);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_FIRST, read.bth.psn, 1024);
        p.aeth.msn--;
        flowgen_put(&g, 1, &p);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_LAST, read.bth.psn + 1, 1024);
        flowgen_put(&g, 1, &p);
        for (int i = 0; i < 3; i++)
            flowgen_send(&g, 0, 64);
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_MSN), ROCE_SEV_NOTE);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_MSN_TOO_HIGH), ROCE_SEV_NOTE);
    }
}

/* Sends a SEND, an RNR NAK with a wait of 1.28 ms, and the SEND again. The second SEND is sent
 * `again` ns after the first one, and `waited` ns after the NAK was captured. */
static void rnr(struct flowgen *g, uint64_t waited, uint64_t again)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    uint64_t start = g->now;

    flowgen_put(g, 0, &p);
    g->conn.msn[0]--;
    g->now = start + again - waited;
    flowgen_ack(g, 1, p.bth.psn, RNR_1MS);
    g->conn.msn[0]++;
    g->now = start + again;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

/* After an RNR NAK, the requester seems to retransmit too early. This must not be an ERROR if the
 * clock of the point that captured the NAK is late, if the clock is coarse, or if the ACK timer of
 * the requester may have expired. If the requester really did not wait, this must be an ERROR. */
static void rnr_wait_of_two_clocks_is_no_error(void)
{
    static const struct {
        uint64_t waited, again, tick;
        enum roce_severity severity;
    } rows[] = {
        {1290000, 1400000, 1, ROCE_SEV_NOTE},
        {900000, 1330000, 1, ROCE_SEV_NOTE}, /* the NAK may be captured late, because another clock
                                              * stamped it */
        {900000, 1330000, 1000000,
         ROCE_SEV_NOTE}, /* the difference is within the clock resolution */
        {200000, 1100000, 1,
         ROCE_SEV_WARN}, /* the ACK timer may be shorter than the timeout in the CM messages */
        {900000, 999000, 1, ROCE_SEV_ERROR},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        g.step = 1;
        flowgen_connect(&g);
        g.now += 1234567;
        flowgen_send(&g, 0, 64);
        rnr(&g, rows[i].waited, rows[i].again);
        for (size_t k = 0; k < g.frame_cnt; k++)
            if (g.frame[k].side == 1)
                g.frame[k].time -= g.frame[k].time % rows[i].tick;
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_WAIT), rows[i].severity != ROCE_SEV_NOTE);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_RNR_WAIT), rows[i].severity);
    }
}

/* The response to a READ is lost after the capture point. An RNR NAK for a later request then
 * makes the requester go back at once (R139), so its short wait must not be reported. The
 * retransmitted READ request is not captured. Without a READ, the short wait must be an ERROR. */
static void lost_read_response_explains_the_go_back(void)
{
    for (unsigned read = 0; read < 2; read++) {
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        if (read)
            flowgen_read(&g, 0, 64);
        rnr(&g, 100000, 200000);
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_RNR_WAIT), read ? ROCE_SEV_NOTE : ROCE_SEV_ERROR);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_WAIT), !read);
    }
}

/* The response to a READ is lost after the capture point. Ten WRITEs follow, and a SEND that gets
 * an RNR NAK. The requester goes back to the READ at once (R139), so its short wait must not be an
 * ERROR. Without the READ, the short wait must be an ERROR. */
static void earlier_read_explains_the_go_back(void)
{
    for (unsigned read = 0; read < 2; read++) {
        struct roce_pkt p[12];
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        for (unsigned i = 0; i < 12; i++) {
            p[i] = flowgen_req(&g, 0,
                               i == 11          ? ROCE_OP_RC_SEND_ONLY
                               : i == 0 && read ? ROCE_OP_RC_READ_REQUEST
                                                : ROCE_OP_RC_WRITE_ONLY,
                               64);
            flowgen_put(&g, 0, &p[i]);
        }
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, p[10].bth.psn, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
        for (unsigned i = 0; i < 3 && read; i++)
            flowgen_put(&g, 0, &p[i]);
        flowgen_ack(&g, 1, p[11].bth.psn, RNR_1MS);
        for (unsigned i = 0; i < 8 && read; i++)
            flowgen_put(&g, 0, &p[i]);
        if (read)
            flowgen_read_resp(&g, 1, p[0].bth.psn, 64, 0, 0);
        flowgen_put(&g, 0, &p[11]); /* the retransmissions before this one were acknowledged */
        g.conn.msn[0]++;
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_RNR_WAIT), read ? ROCE_SEV_NOTE : ROCE_SEV_ERROR);
    }
}

/* The first two packets of the capture are in the wrong order, because the mirror port swapped
 * them: two messages, or two packets of one WRITE. If the lower PSN is captured 70 ms later, or
 * after a NAK with this PSN, the packet is a retransmission. */
static void swapped_first_packets_are_out_of_order(void)
{
    static const struct {
        bool whole, nak;
        uint64_t wait;
        unsigned retransmissions;
    } rows[] = {
        {true, false, 0, 0},
        {false, false, 0, 0},
        {true, false, 70000000, 1},
        {true, true, 0, 1},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roce_pkt p[3];
        struct flowgen g;
        uint64_t packets = 0;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 3; k++)
            p[k] = flowgen_req(&g, 0,
                               (uint8_t)(rows[i].whole ? ROCE_OP_RC_SEND_ONLY
                                         : k == 0      ? ROCE_OP_RC_WRITE_FIRST
                                         : k == 1      ? ROCE_OP_RC_WRITE_MIDDLE
                                                       : ROCE_OP_RC_WRITE_LAST),
                               rows[i].whole ? 64 : 1024);
        p[0].reth.dma_len = 3 * 1024;
        flowgen_put(&g, 0, &p[1]);
        if (rows[i].nak)
            flowgen_ack(&g, 1, p[0].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
        flowgen_wait(&g, rows[i].wait);
        flowgen_put(&g, 0, &p[0]);
        flowgen_put(&g, 0, &p[2]);
        flowgen_ack_all(&g, 1);
        flowgen_send(&g, 0, 64);
        judge_end(&g, &v);
        for (int c = 0; c < ROCE_CAUSE_CNT; c++)
            packets += v.conn[0].side[0].retx[c].packets;
        EXPECT_EQ(packets, rows[i].retransmissions);
        EXPECT_EQ(v.conn[0].side[0].out_of_order, !rows[i].retransmissions);
        EXPECT_EQ(v.conn[0].side[0].missing_psns, 0);
        EXPECT_EQ(v.conn[0].side[0].first_psn, p[0].bth.psn);
    }
}

/* Sequence NAKs for packets that were delayed, not lost, must be counted. There are two signs of a
 * delayed packet. If the packet was captured out of order, the network delayed it before the
 * capture point. If a second NAK has a higher PSN than the packet although no retransmission was
 * captured before, the network delayed it after the capture point. A NAK for any other packet shows
 * a loss. */
static void naks_for_late_packets_are_counted(void)
{
    static const struct {
        const char *name;
        unsigned order[8]; /* packet numbers in the order of the capture */
        int nak[2];        /* for each NAK: number of the packet with the PSN of the NAK; -1: no NAK
                            * */
        uint64_t late;
    } rows[] = {
        {"late after the capture point", {0, 1, 2, 3, 4, 5, 6, 7}, {1, 3}, 1},
        {"late, then lost, after the capture point", {0, 1, 2, 3, 4, 5, 6, 7}, {1, 5}, 1},
        {"lost after the capture point", {0, 1, 2, 3, 4, 5, 6, 7}, {3, -1}, 0},
        {"late before the capture point", {0, 2, 1, 3, 4, 5, 6, 7}, {1, -1}, 1},
        {"late before, lost after the capture point", {0, 2, 1, 3, 4, 5, 6, 7}, {5, -1}, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_pkt p[8];
        uint32_t from = 0;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 4; k++)
            flowgen_send(&g, 0, 64);
        for (unsigned k = 0; k < 8; k++) {
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            p[k].ip4.id = ++g.ip_id[0];
        }
        for (unsigned k = 0; k < 8; k++)
            flowgen_put(&g, 0, &p[rows[i].order[k]]);
        for (unsigned n = 0; n < 2 && rows[i].nak[n] >= 0; n++) {
            from = (uint32_t)rows[i].nak[n];
            flowgen_ack(&g, 1, p[from].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
        }
        for (; from < 8; from++) {
            p[from].ip4.id = 0; /* the retransmission has a new identification */
            flowgen_put(&g, 0, &p[from]);
        }
        flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        if (v.conn[0].side[0].naks_for_late != rows[i].late)
            suite_fail(__FILE__, __LINE__, "%s: %u", rows[i].name,
                       (unsigned)v.conn[0].side[0].naks_for_late);
    }
}

/* A sequence NAK names a request that is missing or truncated in the capture. The capture does not
 * show whether this request passed the capture point undamaged. The analysis engine must count
 * these NAKs. */
static void naks_for_unseen_requests_are_counted(void)
{
    static const struct {
        bool put;
        uint32_t snap, unseen;
    } rows[] = {{true, 0, 0}, {true, 96, 1}, {false, 0, 1}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rng rng = rng_of(1);
        const struct judge_spoil spoil = {
            .rng = &rng, .snap_min = rows[i].snap, .snap_max = rows[i].snap};
        struct flowgen g;
        struct roce_pkt p[3];

        flowgen_begin(&g);
        for (unsigned k = 0; k < 4; k++)
            flowgen_send(&g, 0, 64);
        for (unsigned k = 0; k < 3; k++) {
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            if (k > 0 || rows[i].put)
                flowgen_put(&g, 0, &p[k]);
        }
        flowgen_ack(&g, 1, p[0].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
        for (unsigned k = 0; k < 3; k++)
            flowgen_put(&g, 0, &p[k]);
        flowgen_ack_all(&g, 1);
        judge(&g, NULL, &spoil, &v);
        EXPECT_EQ(v.conn[0].side[1].naks_unseen, rows[i].unseen);
        flowgen_free(&g);
    }
}

/* The network delays a READ request after the capture point. The responder sends a NAK for the
 * READ, and then the first response to it, before the requester retransmits. */
static void late_read_request_is_not_lost(void)
{
    struct flowgen g;
    struct roce_pkt read, next;

    flowgen_begin(&g);
    flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
    read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 4 * g.mtu);
    flowgen_put(&g, 0, &read);
    next = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &next);
    flowgen_ack(&g, 1, read.bth.psn, NAK_SEQ);
    flowgen_read_resp(&g, 1, read.bth.psn, 4 * g.mtu, 0, 1);
    flowgen_put(&g, 0, &read);
    flowgen_put(&g, 0, &next);
    flowgen_read_resp(&g, 1, read.bth.psn, 4 * g.mtu, 2, 3);
    flowgen_ack_all(&g, 1);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[0].naks_for_late, 1);
}

/* After a go-back, a sequence NAK arrives for the second packet of the go-back. If it arrives
 * sooner than one round-trip time, it cannot be a response to the retransmissions. So it is a
 * response to the first transmissions, which were late and not lost. */
static void nak_before_the_round_trip_shows_a_late_packet(void)
{
    for (unsigned soon = 0; soon < 2; soon++) {
        struct flowgen g;
        struct roce_pkt p[4];

        flowgen_begin(&g);
        g.step = 20000;
        for (unsigned k = 0; k < 10; k++)
            flowgen_send(&g, 0, 64);
        g.step = 1000;
        for (unsigned k = 0; k < 4; k++) {
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_put(&g, 0, &p[k]);
        }
        g.conn.msn[0] = 11;
        flowgen_wait(&g, 20000);
        flowgen_ack(&g, 1, p[1].bth.psn, NAK_SEQ);
        for (unsigned k = 1; k < 4; k++)
            flowgen_put(&g, 0, &p[k]);
        g.conn.msn[0] = 12;
        flowgen_wait(&g, soon ? 1000 : 40000);
        flowgen_ack(&g, 1, p[2].bth.psn, NAK_SEQ);
        for (unsigned k = 2; k < 4; k++)
            flowgen_put(&g, 0, &p[k]);
        g.conn.msn[0] = 14;
        flowgen_wait(&g, 40000);
        flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        EXPECT_EQ(v.conn[0].side[0].naks_for_late, soon);
    }
}

/* A request is so late that its retransmission is captured first. The late request must count as
 * out of order. It must not count as a copy or as another retransmission. */
static void late_request_behind_its_retransmission_is_out_of_order(void)
{
    for (unsigned ids = 0; ids < 2; ids++) {
        static const uint8_t order[] = {0, 1, 2, 4, 5, 6, 3, 4, 5, 6, 3, 7};
        struct roce_pkt p[8];
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 4; k++) {
            g.ip_id[0] = ids ? g.ip_id[0] : 0;
            flowgen_send(&g, 0, 64);
        }
        for (unsigned k = 0; k < 8; k++)
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        for (unsigned k = 0; k < sizeof(order); k++) {
            const uint16_t id = g.ip_id[0];

            if (k == 6) {
                g.conn.msn[0] = 4 + 3;
                flowgen_ack(&g, 1, p[3].bth.psn, NAK_SEQ);
            }
            if (k == 10)
                g.ip_id[0] = (uint16_t)(id - 8); /* the late request was sent before request 4 */
            if (!ids)
                g.ip_id[0] = 0;
            flowgen_put(&g, 0, &p[order[k]]);
            if (k == 10)
                g.ip_id[0] = id;
        }
        g.conn.msn[0] = 4 + 8;
        flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        EXPECT_EQ(v.conn[0].side[0].out_of_order, 1);
        EXPECT_EQ(v.conn[0].side[0].copies, 0);
        EXPECT_EQ(v.conn[0].side[0].naks_for_late, 1);
        EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].packets, 4);
        EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_UNKNOWN].packets, 0);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct flowgen_frame *x = a, *y = b;

    return x->time < y->time ? -1 : x->time > y->time;
}

/* Two mirror ports capture the two directions, and the clock of one is 5 us ahead, so the responses
 * precede their requests. The analysis engine must count the operations as completed, and must not
 * report packets or READ responses that are missing. */
static void requests_captured_after_their_responses_are_completed(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    g.step = 1000;
    for (unsigned i = 0; i < 15; i++) {
        flowgen_write(&g, 0, 3000);
        flowgen_read(&g, 0, 3000);
        flowgen_wait(&g, 4000);
    }
    for (size_t i = 4; i < g.frame_cnt; i++)
        g.frame[i].time -= g.frame[i].side ? 5000 : 0;
    qsort(g.frame + 4, g.frame_cnt - 4, sizeof(g.frame[0]), by_time);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_WRITE].completed, 15);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, 15);
    EXPECT_EQ(v.conn[0].side[0].unseen_packets, 0);
    EXPECT_EQ(v.conn[0].side[1].missing_responses, 0);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_IMPLIED_NAK), false);
    CU_ASSERT(v.conn[0].side[0].behind_responses >= 15);
    CU_ASSERT(v.conn[0].side[0].behind_ns >= 1000 && v.conn[0].side[0].behind_ns < 5000);
}

SUITE("flow.capture_points", TEST(naks_for_late_packets_are_counted),
      TEST(naks_for_unseen_requests_are_counted), TEST(late_read_request_is_not_lost),
      TEST(nak_before_the_round_trip_shows_a_late_packet),
      TEST(late_request_behind_its_retransmission_is_out_of_order),
      TEST(swapped_first_packets_are_out_of_order), TEST(read_that_counts_late_is_no_error),
      TEST(rnr_wait_of_two_clocks_is_no_error), TEST(lost_read_response_explains_the_go_back),
      TEST(earlier_read_explains_the_go_back),
      TEST(requests_captured_after_their_responses_are_completed))

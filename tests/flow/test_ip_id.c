/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the order of sending that IPv4 identifications show. The network reorders packets: they are
 * captured in another order than the one in which the sender sent them. If the sender increases the
 * identification from packet to packet, the analysis must recognise first transmissions,
 * retransmissions and responses that were captured out of order. If the identification is constant
 * or random, it shows nothing.
 */
#include "judge.h"
#include "support/suite.h"

#define SENDS     6u /* number of SENDs before the packets of a test */
#define PACKETS   8u
#define FRAME_MAX 64u

static struct verdict v;
/* results of the frames; r[n] belongs to frame n */
static struct roce_flow_result r[FRAME_MAX + 1];

/* Identifications of a sender: a counter, one value for all packets, or unrelated values. */
enum ids { COUNTED, CONSTANT, RANDOM };

/* A request as captured: number of its packet in PSN order, place in the order of sending, and time
 * since the previous captured packet, us. */
struct sent {
    unsigned packet, place;
    unsigned us;
};

static uint16_t id_of(enum ids ids, unsigned place)
{
    switch (ids) {
    case COUNTED: return (uint16_t)(1000 + place);
    case CONSTANT: return 1;
    default: return (uint16_t)(place * 40503u + 12345u);
    }
}

/* Judges SENDs in order, and then the requests of `sent`. An element with `us` 0 ends the list.
 * r[frame] receives the results: first[0] is the frame of sent[0]. */
static unsigned capture(enum ids ids, const struct sent *sent)
{
    struct roce_pkt p[PACKETS];
    unsigned first = 2 * SENDS + 1;
    struct flowgen g;

    flowgen_begin(&g);
    for (unsigned i = 0; i < SENDS; i++) {
        struct roce_pkt q = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

        q.ip4.id = id_of(ids, i);
        flowgen_put(&g, 0, &q);
        flowgen_ack_all(&g, 1);
    }
    for (unsigned i = 0; i < PACKETS; i++)
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    for (unsigned i = 0; sent[i].us; i++) {
        struct roce_pkt q = p[sent[i].packet];

        q.ip4.id = id_of(ids, SENDS + sent[i].place);
        flowgen_wait(&g, sent[i].us * UINT64_C(1000));
        flowgen_put(&g, 0, &q);
    }
    v = (struct verdict){.results = r + 1, .results_cap = FRAME_MAX};
    judge_end(&g, &v);
    return first;
}

static bool has(unsigned frame, enum roce_analysis flag)
{
    return (r[frame].flags & flag) != 0;
}

/* Packet 0 is captured 15 ms after packets 1 to 3, which the requester sent after it. It is the
 * first transmission, not a retransmission. */
static void late_first_transmission_is_no_retransmission(void)
{
    static const struct sent sent[] = {
        {1, 1, 10}, {2, 2, 10}, {3, 3, 10}, {0, 0, 15000}, {0, 0, 0}};

    for (enum ids ids = COUNTED; ids <= RANDOM; ids++) {
        unsigned frame = capture(ids, sent) + 3;

        EXPECT_EQ(has(frame, ROCE_AN_OUT_OF_ORDER), ids == COUNTED);
        EXPECT_EQ(has(frame, ROCE_AN_RETRANSMISSION), ids != COUNTED);
        EXPECT_EQ(v.conn[0].side[0].out_of_order, ids == COUNTED);
    }
}

/* Packet 0 is lost before the capture point. The requester retransmits it 100 us later, without a
 * captured NAK: it sent this packet after packet 3. */
static void early_retransmission_is_not_out_of_order(void)
{
    static const struct sent sent[] = {{1, 1, 10}, {2, 2, 10}, {3, 3, 10}, {0, 4, 100}, {0, 0, 0}};

    for (enum ids ids = COUNTED; ids <= RANDOM; ids++) {
        unsigned frame = capture(ids, sent) + 3;

        EXPECT_EQ(has(frame, ROCE_AN_RETRANSMISSION), ids == COUNTED);
        EXPECT_EQ(has(frame, ROCE_AN_OUT_OF_ORDER), ids != COUNTED);
    }
}

/* The retransmission of packet 0 is captured 15 ms after packets 1 and 2, and the first
 * transmission of packet 0 is captured after its retransmission. */
static void first_transmission_behind_its_retransmission_is_out_of_order(void)
{
    static const struct sent sent[] = {
        {1, 1, 10}, {2, 2, 10}, {0, 3, 15000}, {0, 0, 5000}, {0, 0, 0}};
    unsigned frame = capture(COUNTED, sent) + 2;

    CU_ASSERT(has(frame, ROCE_AN_RETRANSMISSION));
    CU_ASSERT_FALSE(has(frame + 1, ROCE_AN_RETRANSMISSION));
    CU_ASSERT(has(frame + 1, ROCE_AN_OUT_OF_ORDER));
}

/* The requester goes back to packet 0. The packets of this go-back are captured in another order
 * than they were sent, and so late that each could begin a go-back. */
static void reordered_go_back_is_one_go_back(void)
{
    static const struct sent sent[] = {{0, 0, 10},   {1, 1, 10},    {2, 2, 10},
                                       {3, 3, 10},   {2, 6, 30000}, {0, 4, 2000},
                                       {3, 7, 2000}, {1, 5, 2000},  {0, 0, 0}};
    unsigned frame = capture(COUNTED, sent) + 4;
    uint64_t go_backs = 0;

    for (unsigned cause = 0; cause < ROCE_CAUSE_CNT; cause++)
        go_backs += v.conn[0].side[0].retx[cause].go_backs;
    EXPECT_EQ(go_backs, 1);
    for (unsigned i = 0; i < 4; i++) {
        CU_ASSERT(has(frame + i, ROCE_AN_RETRANSMISSION));
        EXPECT_EQ(r[frame + i].go_back_frame, frame);
    }
}

/* The requester goes back twice, each time to packet 0. In the capture, the second go-back follows
 * the first one without a pause. */
static void second_go_back_is_recognised(void)
{
    static const struct sent sent[] = {{0, 0, 10},    {1, 1, 10}, {2, 2, 10},
                                       {0, 3, 30000}, {1, 4, 10}, {2, 5, 10},
                                       {0, 6, 10},    {1, 7, 10}, {0, 0, 0}};
    unsigned frame = capture(COUNTED, sent) + 6;

    CU_ASSERT(has(frame, ROCE_AN_RETRANSMISSION));
    EXPECT_EQ(r[frame].go_back_frame, frame);
    EXPECT_EQ(r[frame + 1].go_back_frame, frame);
}

/* A sender with two counters, one for each of two processors, shows no order. */
static void two_counters_show_no_order(void)
{
    static const struct sent sent[] = {{0, 200, 10}, {1, 0, 10},    {2, 201, 10}, {3, 1, 10},
                                       {5, 202, 10}, {4, 2, 15000}, {0, 0, 0}};
    unsigned frame = capture(COUNTED, sent) + 5;

    CU_ASSERT(has(frame, ROCE_AN_RETRANSMISSION));
}

/* The responses of a READ are captured in the order 0 2 1, and the requester restarts the READ at
 * PSN offset 1. A response to the first transmission is captured after responses to the restart.
 * This late response shows no second restart and no gap. */
static void late_read_response_shows_no_gap(void)
{
    struct flowgen g;
    struct roce_pkt p, again;

    flowgen_begin(&g);
    for (unsigned i = 0; i < SENDS; i++)
        flowgen_send(&g, 0, 2000); /* shows the path MTU */
    p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 8 * 1024);
    flowgen_put(&g, 0, &p);
    flowgen_read_resp(&g, 1, p.bth.psn, 8 * 1024, 0, 0);
    flowgen_read_resp(&g, 1, p.bth.psn, 8 * 1024, 2, 3);
    g.ip_id[1] = (uint16_t)(g.ip_id[1] + 4); /* responses 4 to 7 are late */
    again = p;
    again.bth.psn = (p.bth.psn + 1) & ROCE_PSN_MASK;
    again.reth.va += 1024;
    again.reth.dma_len -= 1024;
    again.ip4.id = 0;
    flowgen_put(&g, 0, &again);
    for (uint32_t k = 1; k < 3; k++) {
        struct roce_pkt q =
            flowgen_resp(&g, 1, k == 1 ? ROCE_OP_RC_READ_RESP_FIRST : ROCE_OP_RC_READ_RESP_MIDDLE,
                         p.bth.psn + k, 1024);

        flowgen_put(&g, 1, &q);
    }
    {
        struct roce_pkt q = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 5, 1024);
        uint16_t id = g.ip_id[1];

        q.ip4.id = (uint16_t)(id - 5);
        flowgen_put(&g, 1, &q);
    }
    for (uint32_t k = 3; k < 8; k++) {
        struct roce_pkt q =
            flowgen_resp(&g, 1, k == 7 ? ROCE_OP_RC_READ_RESP_LAST : ROCE_OP_RC_READ_RESP_MIDDLE,
                         p.bth.psn + k, 1024);

        flowgen_put(&g, 1, &q);
    }
    v = (struct verdict){.results = r + 1, .results_cap = FRAME_MAX};
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[1].response_gaps, 1);
    EXPECT_EQ(v.conn[0].side[1].missing_responses, 1);
}

SUITE("flow.ip_id", TEST(late_first_transmission_is_no_retransmission),
      TEST(early_retransmission_is_not_out_of_order),
      TEST(first_transmission_behind_its_retransmission_is_out_of_order),
      TEST(reordered_go_back_is_one_go_back), TEST(second_go_back_is_recognised),
      TEST(two_counters_show_no_order), TEST(late_read_response_shows_no_gap))

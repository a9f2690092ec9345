/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the result of each frame (numbers, links, flags) and the summary of a connection. */
#include "judge.h"
#include "support/suite.h"

#define FRAMES 64

static struct roce_flow_result r[FRAMES + 1]; /* results of the frames; r[n] belongs to frame n */
static struct verdict v;

static void run(struct flowgen *g)
{
    v.results = r + 1;
    v.results_cap = FRAMES;
    judge_end(g, &v);
    EXPECT_EQ(judge_errors(&v, "result"), 0);
}

static void write_of_three_packets_is_one_message(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_write(&g, 0, 2500);
    run(&g);
    EXPECT_EQ(r[1].msg_offset, 0);
    EXPECT_EQ(r[2].msg_offset, 1024);
    EXPECT_EQ(r[3].msg_bytes, 2500);
    EXPECT_EQ(r[3].msg_total, 2500);
    EXPECT_EQ(r[3].msg_first_frame, 1);
    EXPECT_EQ(r[2].rel_psn, 1);
    EXPECT_EQ(r[2].next_psn, 0x5002);
    CU_ASSERT(r[3].flags & ROCE_AN_MSG_END);
    EXPECT_EQ(r[4].acked_packets, 3);
    EXPECT_EQ(r[4].request_frame, 3);
    EXPECT_EQ(r[4].rtt, 10000);
    EXPECT_EQ(r[4].message_time, 30000);
    EXPECT_EQ(v.links[ROCE_LINK_ACKED_IN], 3);
    EXPECT_EQ(r[4].psns_in_flight, 0);
    EXPECT_EQ(r[4].bytes_in_flight, 0);
}

static void read_is_timed_and_counted(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_write(&g, 0, 2048); /* frames 1, 2, 3 */
    flowgen_read(&g, 0, 3000);  /* frames 4 to 7 */
    flowgen_send(&g, 0, 0);     /* frames 8 and 9 */
    run(&g);
    EXPECT_EQ(r[4].next_psn, 0x5005);
    EXPECT_EQ(r[4].reads_in_flight, 1);
    EXPECT_EQ(r[4].psns_in_flight, 3);
    EXPECT_EQ(r[4].read_bytes_in_flight, 3000);
    EXPECT_EQ(r[5].request_frame, 4);
    EXPECT_EQ(r[5].read_bytes_in_flight, 3000 - 1024);
    EXPECT_EQ(r[6].read_bytes_in_flight, 3000 - 2048);
    EXPECT_EQ(r[7].response_time, 30000);
    EXPECT_EQ(r[7].msg_bytes, 3000);
    EXPECT_EQ(r[7].reads_in_flight, 0);
    EXPECT_EQ(r[7].read_bytes_in_flight, 0);
    EXPECT_EQ(v.links[ROCE_LINK_FIRST_RESPONSE], 1);
    EXPECT_EQ(v.links[ROCE_LINK_LAST_RESPONSE], 1);
    EXPECT_EQ(r[8].gap, 0);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].bytes, 3000);
}

/* One packet is lost before the capture point, and retransmitted 30 ms later. If it is the first
 * packet of the message, the capture does not show when the message began. */
static void message_whose_first_packet_was_not_captured_is_not_timed(void)
{
    static const struct {
        uint8_t ops[3];
        unsigned lost;
        bool timed;
    } rows[] = {
        {{ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE, ROCE_OP_RC_WRITE_LAST}, 0, false},
        {{ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE, ROCE_OP_RC_WRITE_LAST}, 1, true},
        {{ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_SEND_ONLY}, 0, false},
        {{ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_SEND_ONLY}, 0, true},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool read = rows[i].ops[0] == ROCE_OP_RC_READ_REQUEST;
        struct roce_pkt p[3];
        struct flowgen g;

        flowgen_init(&g);
        flowgen_write(&g, 0, 3000); /* shows the path MTU */
        for (unsigned k = 0; k < 3; k++) {
            p[k] = flowgen_req(&g, 0, rows[i].ops[k], 1024);
            if (k != rows[i].lost)
                flowgen_put(&g, 0, &p[k]);
        }
        flowgen_wait(&g, 30000000);
        for (unsigned k = rows[i].lost; k < 3; k++)
            flowgen_put(&g, 0, &p[k]);
        for (unsigned k = 0; k < 2; k++)
            if (rows[i].ops[k] == ROCE_OP_RC_READ_REQUEST) {
                g.conn.msn[0] = 2 + k;
                flowgen_read_resp(&g, 1, p[k].bth.psn, 1024, 0, 0);
            }
        if (!read)
            flowgen_ack_all(&g, 1);
        run(&g);
        EXPECT_EQ(v.last.message_time != ROCE_NEVER_NS, rows[i].timed);
        EXPECT_EQ(v.last.response_time != ROCE_NEVER_NS, read && rows[i].timed);
    }
}

static void go_back_names_its_cause(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64); /* frames 1 and 2 */
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p); /* frame 3: captured, then lost after the capture point */
    g.conn.msn[0]--;
    flowgen_message(&g, 0, ROCE_KIND_SEND, 64); /* frame 4 */
    g.conn.msn[0]--;
    flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_NAK); /* frame 5 */
    flowgen_put(&g, 0, &p);                           /* frame 6 */
    p.bth.psn++;
    flowgen_put(&g, 0, &p); /* frame 7 */
    g.conn.msn[0] += 2;
    flowgen_ack_all(&g, 1); /* frame 8 */
    run(&g);
    CU_ASSERT(r[5].flags & ROCE_AN_NAK);
    CU_ASSERT(r[6].flags & ROCE_AN_RETRANSMISSION);
    EXPECT_EQ(r[6].cause, ROCE_CAUSE_SEQ_NAK);
    EXPECT_EQ(r[6].trigger_frame, 5);
    EXPECT_EQ(r[6].repeats_frame, 3);
    EXPECT_EQ(r[6].rto, 30000);
    EXPECT_EQ(r[7].cause, ROCE_CAUSE_SEQ_NAK);
    EXPECT_EQ(r[3].msg_number, 1);
    EXPECT_EQ(r[4].msg_number, 2);
    EXPECT_EQ(r[6].msg_number, 1); /* number of the retransmitted message, although a later message
                                    * was already sent */
    EXPECT_EQ(r[7].msg_number, 2);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].go_backs, 1);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].packets, 2);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].bytes, 128);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].completed, 3);
}

static void out_of_order_packet_gets_its_message_number(void)
{
    struct flowgen g;
    struct roce_pkt p[6];

    flowgen_init(&g);
    flowgen_send(&g, 0, 64); /* frames 1 and 2 */
    for (int i = 0; i < 6; i++)
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64); /* messages 1 to 6 */
    flowgen_put(&g, 0, &p[3]);                               /* frame 3 */
    flowgen_put(&g, 0, &p[0]);                               /* frame 4 */
    flowgen_put(&g, 0, &p[1]);                               /* frame 5 */
    flowgen_put(&g, 0, &p[4]);                               /* frame 6 */
    flowgen_put(&g, 0, &p[2]);                               /* frame 7 */
    flowgen_put(&g, 0, &p[5]);                               /* frame 8 */
    g.conn.msn[0] = 7;
    flowgen_ack_all(&g, 1); /* frame 9 */
    flowgen_wait(&g, 20000000);
    for (int i = 0; i < 6; i++)
        flowgen_put(&g, 0, &p[i]); /* frames 10 to 15 */
    flowgen_ack_all(&g, 1);
    flowgen_send(&g, 0, 64); /* frame 17 */
    run(&g);
    EXPECT_EQ(r[4].msg_number, 1);
    EXPECT_EQ(r[5].msg_number, 2);
    EXPECT_EQ(r[6].msg_number, 4);
    EXPECT_EQ(r[7].msg_number, 3);
    EXPECT_EQ(r[8].msg_number, 6);
    for (uint32_t i = 0; i < 6; i++)
        EXPECT_EQ(r[10 + i].msg_number, 1 + i);
    EXPECT_EQ(r[17].msg_number, 7);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_MSN], 0);
}

/* Without CM messages, the first PSN is the PSN of the first captured packet. But if a packet with
 * a lower PSN was captured later, the first PSN must be this lower PSN. */
static void overtaken_packet_has_the_first_psn(void)
{
    struct flowgen g;
    struct roce_pkt p[2];

    flowgen_init(&g);
    for (int i = 0; i < 2; i++)
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p[1]);
    flowgen_put(&g, 0, &p[0]);
    g.conn.msn[0] = 2;
    flowgen_ack_all(&g, 1);
    run(&g);
    EXPECT_EQ(v.conn[0].side[0].first_psn, p[0].bth.psn);
    CU_ASSERT(v.conn[0].side[0].first_psn_sure); /* sure, because the MSN counts from this packet
                                                  * on */
    /* relative PSNs still count from the first captured packet */
    EXPECT_EQ(r[1].rel_psn, 0);
    EXPECT_EQ(r[2].rel_psn, ROCE_PSN_MASK);
    EXPECT_EQ(r[3].rel_psn, 0);
    CU_ASSERT_FALSE(r[3].flags & ROCE_AN_REL_PSN);
}

static void incomplete_message_counts_captured_bytes(void)
{
    static const uint8_t op[] = {ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE,
                                 ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST};

    for (unsigned missing = 0; missing < 5; missing++) {
        struct flowgen g;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        for (unsigned i = 0; i < 4; i++) {
            struct roce_pkt p = flowgen_req(&g, 0, op[i], i < 3 ? 1024 : 100);

            if (i != missing)
                flowgen_put(&g, 0, &p);
        }
        g.conn.msn[0] = 2;
        flowgen_ack_all(&g, 1);
        flowgen_send(&g, 0, 32);
        run(&g);
        if (missing == 3) /* the Last packet is missing, so the message does not count */
            EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].bytes, 64 + 32);
        else
            EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].bytes,
                      64 + 32 + 3 * 1024 + 100 - (missing < 3 ? 1024 : 0));
    }
}

/* The response to the first of several READs is lost, and the requester retransmits all READs from
 * the first one on. The analysis engine must still have the first READ in its window, so that all
 * READs are completed. */
static void unanswered_read_stays_in_the_window(void)
{
    struct flowgen g;
    struct roce_pkt p[16];

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_write(&g, 0, 3000); /* shows the path MTU */
    for (int i = 0; i < 16; i++) {
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2 * g.mtu);
        flowgen_put(&g, 0, &p[i]);
        if (i > 0)
            flowgen_read_resp(&g, 1, p[i].bth.psn, 2 * g.mtu, 0, 1);
    }
    flowgen_wait(&g, 20000000);
    for (int i = 0; i < 16; i++)
        flowgen_put(&g, 0, &p[i]);
    for (int i = 0; i < 16; i++)
        flowgen_read_resp(&g, 1, p[i].bth.psn, 2 * g.mtu, 0, 1);
    run(&g);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].messages, 16);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, 16);
}

static void summary_names_why_a_qp_failed(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
    g.conn.msn[0]--;
    flowgen_ack(&g, 1, g.conn.psn[0] - 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    run(&g);
    EXPECT_EQ(v.conn[0].facts.end, ROCE_END_NAK);
    EXPECT_EQ(v.conn[0].facts.end_side, 0);
    EXPECT_EQ(v.conn[0].facts.end_syndrome, 0x62);
    EXPECT_EQ(v.conn[0].facts.end_frame, 4);
    EXPECT_EQ(v.conn[0].facts.end_request_frame, 3);
}

/* The requester retransmits one request, and the capture contains no response to it. If packets of
 * both sides were captured, the request must be reported as unanswered. If a later request was
 * sent, there must have been a response that was not captured. */
static void unanswered_request_ends_the_connection(void)
{
    for (unsigned times = 2; times <= 4; times++)
        for (unsigned more = 0; more < 2; more++) {
            struct flowgen g;
            struct roce_pkt p;

            flowgen_init(&g);
            p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            for (unsigned i = 0; i < times; i++) {
                flowgen_put(&g, 0, &p);
                flowgen_wait(&g, 20000000);
            }
            if (more)
                flowgen_send(&g, 0, 64);
            run(&g);
            EXPECT_EQ(v.conn[0].facts.end,
                      times > 2 && !more ? ROCE_END_UNANSWERED : ROCE_END_OPEN);
            EXPECT_EQ(v.totals.rules[ROCE_RULE_RETRY_EXHAUSTED], 0);
            if (v.conn[0].facts.end == ROCE_END_OPEN)
                continue;
            EXPECT_EQ(v.conn[0].facts.end_side, 0);
            EXPECT_EQ(v.conn[0].facts.end_tries, times);
            EXPECT_EQ(v.conn[0].facts.end_psn, p.bth.psn);
            EXPECT_EQ(v.conn[0].facts.end_frame, times);
        }
}

/* An RNR retry count is at most 6; the value 7 means no limit. So a seventh retransmission shows
 * that the requester has no limit. */
static void seventh_rnr_retry_means_no_limit(void)
{
    for (unsigned repeats = 1; repeats <= 9; repeats++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        flowgen_ack_all(&g, 1);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        for (unsigned i = 0; i <= repeats; i++) {
            flowgen_put(&g, 0, &p);
            flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 1);
            flowgen_wait(&g, 1000000);
        }
        flowgen_silence(&g, 100000000);
        run(&g);
        EXPECT_EQ(v.conn[0].facts.end, repeats < 7 ? ROCE_END_RNR_EXHAUSTED : ROCE_END_RNR_WAITING);
        EXPECT_EQ(v.totals.rules[ROCE_RULE_RNR_EXHAUSTED], repeats < 7);
    }
}

static void cnp_is_linked_to_its_marked_packet(void)
{
    struct flowgen g;
    struct roce_pkt p, cnp;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64); /* frames 1 and 2 */
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.ip4.ecn = 3;
    flowgen_put(&g, 0, &p); /* frame 3 */
    p = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, 0, 0);
    roce_pkt_init(&cnp, g.encap, ROCE_OP_CNP_ROCE);
    cnp.eth = p.eth;
    cnp.ip4 = p.ip4;
    cnp.bth.dest_qp = p.bth.dest_qp;
    cnp.bth.becn = 1;
    flowgen_put(&g, 1, &cnp); /* frame 4 */
    run(&g);
    CU_ASSERT(r[3].flags & ROCE_AN_CE);
    CU_ASSERT(r[4].flags & ROCE_AN_CNP);
    EXPECT_EQ(r[4].conn_index, r[3].conn_index);
    EXPECT_EQ(r[4].ce_frame, 3);
    EXPECT_EQ(r[4].cnp_delay, 10000);
    EXPECT_EQ(v.conn[0].side[1].cnps, 1);
}

static void joined_direction_changes_its_number_once(void)
{
    struct roce_flow *flow = roce_flow_new(NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
    EXPECT_EQ(roce_flow_conn_index(flow, 5), 5);
    roce_flow_finish(flow);
    roce_flow_finish(flow);
    roce_flow_del(flow);
    roce_flow_del(NULL);
}

SUITE("flow.result", TEST(write_of_three_packets_is_one_message), TEST(read_is_timed_and_counted),
      TEST(message_whose_first_packet_was_not_captured_is_not_timed), TEST(go_back_names_its_cause),
      TEST(out_of_order_packet_gets_its_message_number), TEST(overtaken_packet_has_the_first_psn),
      TEST(incomplete_message_counts_captured_bytes), TEST(unanswered_read_stays_in_the_window),
      TEST(summary_names_why_a_qp_failed), TEST(unanswered_request_ends_the_connection),
      TEST(seventh_rnr_retry_means_no_limit), TEST(cnp_is_linked_to_its_marked_packet),
      TEST(joined_direction_changes_its_number_once))

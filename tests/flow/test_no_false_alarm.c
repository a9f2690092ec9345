/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that effects of the network and of the capture cause no ERROR. */
#include <string.h>
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

static void end(struct flowgen *g, const struct judge_spoil *spoil, const char *why)
{
    judge(g, NULL, spoil, &v);
    flowgen_free(g);
    EXPECT_EQ(judge_errors(&v, why), 0);
}

static const struct roce_finding *finding(enum roce_rule rule)
{
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == rule)
            return &v.finding[i];
    return NULL;
}

static void flip(struct flowgen *g, size_t off, uint8_t bits)
{
    g->bytes[g->frame[g->frame_cnt - 1].off + off] ^= bits;
}

/* ---- late responses -------------------------------------------------------------------------- */

/* The requester restarts a READ of four packets at its second PSN (R112), while the response to the
 * READ is still in flight. The rest of this response is captured before or after the response to
 * the restart. Neither order may cause an ERROR. */
static void late_response_to_a_restarted_read_is_no_error(void)
{
    static const uint8_t orders[][2] = {{0, 1}, {1, 0}};

    for (unsigned i = 0; i < 2; i++) {
        struct flowgen g;
        struct roce_pkt read;
        struct roce_pkt resp;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 2048);
        read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 4096);
        psn = read.bth.psn;
        flowgen_put(&g, 0, &read);
        flowgen_read_resp(&g, 1, psn, 4096, 0, 0);
        read.bth.psn = psn + 1;
        read.reth.va += 1024;
        read.reth.dma_len -= 1024;
        flowgen_put(&g, 0, &read);
        for (unsigned k = 0; k < 2; k++) {
            if (orders[i][k]) {
                resp = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_FIRST, psn + 1, 1024);
                flowgen_put(&g, 1, &resp);
                resp = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_MIDDLE, psn + 2, 1024);
                flowgen_put(&g, 1, &resp);
                resp = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_LAST, psn + 3, 1024);
                flowgen_put(&g, 1, &resp);
            } else {
                flowgen_read_resp(&g, 1, psn, 4096, 1, 3);
            }
        }
        flowgen_send(&g, 0, 64);
        end(&g, NULL, "late answers");
        EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, 1);
    }
}

/* The capture begins with the restart of a READ in its middle. The response to the whole READ is
 * still in flight, and has a Middle at the PSN of the restart. This must not cause an ERROR. */
static void response_to_an_uncaptured_read_is_no_error(void)
{
    struct flowgen g;
    struct roce_pkt read;
    uint32_t psn;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 2048);
    g.conn.psn[0] += 8; /* the PSNs of requests that were not captured */
    psn = g.conn.psn[0];
    g.conn.psn[0] += 1;
    read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 3072);
    flowgen_put(&g, 0, &read);
    flowgen_read_resp(&g, 1, psn, 4096, 1, 3);
    flowgen_send(&g, 0, 64);
    end(&g, NULL, "answers to a READ not captured");
}

/* The capture begins with the retransmission of three executed messages. The response to each has
 * the MSN of the last message (R102). Later MSNs are consecutive. This must not cause an ERROR. */
static void msn_of_replayed_responses_is_no_error(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    g.conn.msn[0] = 40; /* 40 messages were executed before the capture; the ACKs of the last three
                         * were lost */
    for (unsigned i = 0; i < 3; i++) {
        struct roce_pkt req = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        struct roce_pkt ack;

        g.conn.msn[0] = 40;
        flowgen_put(&g, 0, &req);
        ack = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, req.bth.psn, 0);
        flowgen_put(&g, 1, &ack);
    }
    for (unsigned i = 0; i < 20; i++)
        flowgen_send(&g, 0, 64);
    end(&g, NULL, "MSN of repetitions");
    CU_ASSERT(!judge_found(&v, ROCE_RULE_MSN));
}

/* An MSN that decreases must be an ERROR, if several messages before have confirmed the MSN. */
static void msn_that_goes_back_is_an_error(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    g.conn.msn[0] = 40;
    for (unsigned i = 0; i < 8; i++)
        flowgen_send(&g, 0, 64);
    g.conn.msn[0] -= 2;
    flowgen_send(&g, 0, 64);
    judge_end(&g, &v);
    CU_ASSERT_FATAL(finding(ROCE_RULE_MSN) != NULL);
    EXPECT_EQ(finding(ROCE_RULE_MSN)->severity, ROCE_SEV_ERROR);
}

/* ---- damaged packets ------------------------------------------------------------------------- */

/* Inverts each bit of a BTH without correcting the ICRC. If the ICRC is checked, only the damage
 * must be reported. If not, no finding may be an ERROR, because the packet may be damaged. */
static void any_damaged_bth_bit_is_no_violation(void)
{
    for (unsigned no_icrc = 0; no_icrc < 2; no_icrc++) {
        struct judge_spoil spoil = {.no_icrc = no_icrc};

        for (unsigned bit = 0; bit < 12 * 8; bit++) {
            struct flowgen g;

            flowgen_begin(&g);
            flowgen_send(&g, 0, 2048);
            flowgen_read(&g, 0, 3000);
            flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
            flip(&g, 14 + 20 + 8 + bit / 8, (uint8_t)(1u << bit % 8));
            flowgen_send(&g, 0, 64);
            end(&g, &spoil, no_icrc ? "damaged, ICRC not looked at" : "damaged");
            if (!no_icrc && bit / 8 != 4) /* the ICRC does not cover byte 4 */
                EXPECT_EQ(v.totals.rules[ROCE_RULE_ICRC_BAD], 1);
        }
    }
}

/* A packet has a wrong transport version. This must be an ERROR if the ICRC is correct, so that
 * the requester sent the wrong version. It must not be an ERROR if the ICRC is wrong or
 * unchecked. */
static void wrong_version_is_an_error_only_if_undamaged(void)
{
    static const struct {
        bool damaged, no_icrc, found;
        enum roce_severity severity;
    } rows[] = {
        {false, false, true, ROCE_SEV_ERROR},
        {true, false, false, ROCE_SEV_NOTE},
        {true, true, true, ROCE_SEV_WARN},
        {false, true, true, ROCE_SEV_WARN},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct judge_spoil spoil = {.no_icrc = rows[i].no_icrc};
        struct roce_pkt p;
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        p.bth.tver = rows[i].damaged ? 0 : 1;
        flowgen_put(&g, 0, &p);
        if (rows[i].damaged)
            flip(&g, 14 + 20 + 8 + 1, 1);
        judge(&g, NULL, &spoil, &v);
        flowgen_free(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_TVER), rows[i].found);
        if (finding(ROCE_RULE_TVER))
            EXPECT_EQ(finding(ROCE_RULE_TVER)->severity, rows[i].severity);
    }
}

/* ---- ambiguous responses --------------------------------------------------------------------- */

/* Several QP pairs have equal PSNs, no CM messages, and source ports that prove nothing. The
 * analysis engine may assign a response to the wrong pair, but this must cause no ERROR. */
static void twin_connections_cause_no_errors(void)
{
    struct rng rng = rng_seed();

    for (unsigned i = 0; i < SUITE_TURNS(200); i++) {
        struct flowgen_conn conn[4];
        struct judge_spoil spoil = {.rng = &rng, .head = rng_below(&rng, 30)};
        uint32_t psn = rng_below(&rng, 1 << 24);
        struct flowgen g;

        flowgen_init(&g);
        for (uint32_t c = 0; c < 4; c++)
            conn[c] = flowgen_conn_of(c + 1, psn, psn);
        for (unsigned round = 0; round < 24; round++) {
            uint32_t c = rng_below(&rng, 4);

            g.conn = conn[c];
            flowgen_random(&g, &rng, 1 + rng_below(&rng, 4));
            conn[c] = g.conn;
        }
        end(&g, &spoil, "twins");
    }
}

/* ---- guessed pairs --------------------------------------------------------------------------- */

/* Generates the packets of `qps` QP pairs between two hosts with overlapping PSNs. Without matching
 * UDP source ports (RoCEv1 has none), the analysis engine can only guess the pairs. If `half`, the
 * capture lacks the responses of the first pair and the requests of the second one. The two
 * remaining directions seem to be a pair, but are not. */
static void crowd(struct rng *rng, enum roce_encap encap, unsigned qps, bool half)
{
    struct flowgen_conn conn[6];
    uint32_t start = rng_below(rng, 1u << 24), kinds = 1 + rng_below(rng, 4);
    struct flowgen g;
    size_t kept = 0;
    uint8_t of[8192];

    flowgen_init(&g);
    g.encap = encap;
    for (uint32_t i = 0; i < qps; i++) {
        uint32_t most = half ? 1 : 4;

        conn[i] = flowgen_conn_of(i, (start + rng_below(rng, most)) & ROCE_PSN_MASK,
                                  (start + rng_below(rng, most)) & ROCE_PSN_MASK);
        conn[i].sport = 0xC123;
    }
    for (unsigned n = 0; n < 100 * qps && g.frame_cnt < 7000; n++) {
        uint32_t i = rng_below(rng, qps);
        size_t first = g.frame_cnt;

        g.conn = conn[i];
        if (half && n < 80) { /* both QPs send in lockstep, as the QPs of one program */
            g.conn = conn[i = n & 1];
            flowgen_write(&g, 0, 64);
        } else if (half) { /* requests of one side only */
            switch (rng_below(rng, kinds)) {
            case 0: flowgen_write(&g, 0, 1 + rng_below(rng, 3000)); break;
            case 1: flowgen_send(&g, 0, rng_below(rng, 3000)); break;
            case 2: flowgen_read(&g, 0, 1 + rng_below(rng, 3000)); break;
            default: flowgen_atomic(&g, 0); break;
            }
        } else {
            flowgen_random(&g, rng, 1);
        }
        conn[i] = g.conn;
        for (size_t f = first; f < g.frame_cnt && f < sizeof(of); f++)
            of[f] = (uint8_t)i;
    }
    for (size_t f = 0; f < g.frame_cnt && f < sizeof(of); f++)
        if (!half || of[f] > 1 || g.frame[f].side == of[f])
            g.frame[kept++] = g.frame[f];
    g.frame_cnt = kept;
    end(&g, NULL, half ? "two halves of two pairs" : "overlapping PSNs");
}

static void guessed_pairs_cause_no_errors(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V1, ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};
    struct rng rng = rng_seed();

    for (unsigned n = 0; n < SUITE_TURNS(60); n++)
        for (unsigned e = 0; e < 3; e++) {
            crowd(&rng, encaps[e], 2 + rng_below(&rng, 5), false);
            crowd(&rng, encaps[e], 2, true);
        }
}

/* ---- missing facts --------------------------------------------------------------------------- */

/* No packet shows the path MTU. But a READ that one response answers has one PSN. So the analysis
 * engine must not take later responses for an implied NAK (R139). */
static void one_packet_read_needs_no_mtu(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    flowgen_read(&g, 0, 771);
    flowgen_send(&g, 0, 64);
    end(&g, NULL, "a short READ");
    EXPECT_EQ(judge_found(&v, ROCE_RULE_IMPLIED_NAK), false);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, 1);
}

/* The clock of the capture is coarse, or was set back, so the wait of the requester after an RNR
 * NAK looks too short. This must cause no ERROR. */
static void coarse_clocks_cause_no_errors(void)
{
    static const uint64_t ticks[] = {1000000, 10000000, 1000000000};

    for (unsigned i = 0; i < 4; i++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 14); /* RNR NAK with a wait of 1.28 ms */
        g.conn.msn[0]++;
        flowgen_wait(&g, 1300000);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        for (size_t k = 0; k < g.frame_cnt; k++)
            if (i < 3)
                g.frame[k].time -= g.frame[k].time % ticks[i];
            else if (k >= 4)
                g.frame[k].time -= 500000000;
        end(&g, NULL, "clocks of captures");
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_WAIT), false);
    }
}

/* Without CM messages, the limits of the requester are unknown. Seven retries and 255 outstanding
 * READs, the maxima of the attributes (R154, R193), must cause no finding. An eighth retry and a
 * 256th READ must be reported. */
static void limits_without_cm_are_the_attribute_limits(void)
{
    for (unsigned more = 0; more < 2; more++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p);
        for (unsigned i = 0; i < 7 + more; i++) {
            flowgen_wait(&g, 70000000);
            flowgen_put(&g, 0, &p);
        }
        flowgen_ack_all(&g, 1);
        end(&g, NULL, "retries without CM");
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RETRY_COUNT), more);

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        for (unsigned i = 0; i < 255 + more; i++) {
            p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 64);
            flowgen_put(&g, 0, &p);
        }
        end(&g, NULL, "READs without CM");
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RD_ATOMIC), more);
    }
}

/* ---- packets changed by the capture point ---------------------------------------------------- */

/* The capture point changed the UDP source port, so every ICRC is wrong, although all packets
 * arrived intact. The analysis engine must still follow the connection, and must report the wrong
 * ICRCs only once for each host, as WARN. */
static void host_without_a_right_icrc_is_believed(void)
{
    struct flowgen g;

    flowgen_init(&g);
    for (int i = 0; i < 20; i++) {
        flowgen_send(&g, i & 1, 64);
        flowgen_read(&g, 0, 3000);
    }
    for (size_t i = 0; i < g.frame_cnt; i++)
        roce_be_put(g.bytes + g.frame[i].off + 34, 2, ROCE_UDP_PORT);
    end(&g, NULL, "source ports rewritten");
    EXPECT_EQ(v.totals.rules[ROCE_RULE_ICRC_BAD], 0); /* not one finding for each packet */
    EXPECT_EQ(v.totals.dropped, 6);                   /* the first three packets of each side count
                                                       * as damaged */
    EXPECT_EQ(v.totals.rules[ROCE_RULE_ICRC_NEVER_GOOD], 2);
    EXPECT_EQ(finding(ROCE_RULE_ICRC_NEVER_GOOD)->severity, ROCE_SEV_WARN);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_SPORT_RANGE), false);
    CU_ASSERT(v.conn_cnt == 1 || v.conn_cnt == 2);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_UNSEEN), false);
}

/* A host sends one right ICRC, so the capture point does not change packets. Its later wrong ICRCs
 * must be reported as damage. */
static void one_right_icrc_makes_wrong_ones_damage(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    for (int i = 0; i < 12; i++) {
        flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
        if (i != 6)
            flip(&g, 60, 0x10);
    }
    end(&g, NULL, "one of twelve is right");
    EXPECT_EQ(judge_found(&v, ROCE_RULE_ICRC_NEVER_GOOD), false);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_ICRC_BAD], 3 + 5);
    EXPECT_EQ(v.totals.dropped, 3 + 5);
}

/* The first packets of a host have wrong ICRCs. The analysis engine must report them later: when a
 * right ICRC of the host, or the end of the capture, proves that they were damaged. */
static void damaged_first_packets_are_reported_later(void)
{
    for (unsigned good = 0; good < 2; good++) {
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned i = 0; i < 2 + good; i++) {
            flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
            if (i < 2)
                flip(&g, 60, 0x10);
        }
        end(&g, NULL, "damage at the begin");
        EXPECT_EQ(v.totals.rules[ROCE_RULE_ICRC_BAD], 2);
        EXPECT_EQ(v.finding[0].frame, 1);
        EXPECT_EQ(v.finding[1].frame, 2);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_ICRC_NEVER_GOOD), false);
    }
}

/* LIDs in CM messages (R226) and packets to QP 0 (R046) are not valid on RoCE, but on native
 * InfiniBand they must not be reported. */
static void native_infiniband_may_use_lids_and_qp0(void)
{
    static uint8_t mad[ROCE_MAD_SIZE], frame[ROCE_FRAME_MAX];
    struct roce_flow *flow = roce_flow_new(&(struct roce_flow_opts){0});
    struct flowgen g;
    struct roce_cm_msg m;
    struct roce_pkt p;
    int len;

    flowgen_init(&g);
    m = flowgen_cm_req(&g);
    m.req.primary_local_lid = 18;
    m.req.primary_remote_lid = 12;
    EXPECT_EQ(roce_cm_msg_build(&m, mad, sizeof(mad)), ROCE_MAD_SIZE);
    roce_pkt_init(&p, ROCE_ENCAP_IB_LOCAL, ROCE_OP_UD_SEND_ONLY);
    p.lrh.slid = 18;
    p.lrh.dlid = 12;
    p.bth.dest_qp = ROCE_QP_GSI;
    p.deth = (struct roce_deth){.qkey = ROCE_QKEY_GSI, .src_qp = ROCE_QP_GSI};
    p.payload = mad;
    p.payload_len = p.payload_cap_len = sizeof(mad);
    len = roce_pkt_build(&p, 0, frame, sizeof(frame));
    CU_ASSERT_FATAL(len > 0);
    EXPECT_EQ(roce_pkt_parse(&p, ROCE_LINK_IB, frame, (size_t)len, (size_t)len), 0);
    roce_flow_feed(flow, &(struct roce_flow_in){.pkt = &p, .frame = 1}, NULL);
    EXPECT_EQ(roce_flow_totals(flow)->rules[ROCE_RULE_CM_LID], 0);
    p.bth.dest_qp = 0; /* a packet of subnet management */
    p.bth.migreq = 0;
    roce_flow_feed(flow, &(struct roce_flow_in){.pkt = &p, .frame = 2}, NULL);
    EXPECT_EQ(roce_flow_totals(flow)->rules[ROCE_RULE_DEST_QP0], 0);
    EXPECT_EQ(roce_flow_totals(flow)->rules[ROCE_RULE_MIGREQ], 0);
    roce_flow_del(flow);
    flowgen_free(&g);
}

/* A violation that the packets of one side alone prove must be an ERROR, even if the pairing is a
 * guess. */
static void one_sided_error_needs_no_pair(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    g.conn.sport = 0xC123;
    for (int i = 0; i < 4; i++)
        flowgen_send(&g, 0, 64);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_FIRST, 1024);
    flowgen_put(&g, 0, &p);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    judge_end(&g, &v);
    CU_ASSERT_PTR_NOT_NULL_FATAL(finding(ROCE_RULE_INTERLEAVED));
    EXPECT_EQ(finding(ROCE_RULE_INTERLEAVED)->severity, ROCE_SEV_ERROR);
    EXPECT_EQ(v.conn_cnt, 1);
}

/* Appends frame `n` again: if `copied`, as a copy; otherwise as a retransmission, with another IPv4
 * identification. */
static void once_more(struct flowgen *g, size_t n, bool copied)
{
    struct flowgen_frame f = g->frame[n];
    uint8_t bytes[2048];
    struct roce_pkt p;

    CU_ASSERT_FATAL(f.len <= sizeof(bytes));
    memcpy(bytes, g->bytes + f.off, f.len);
    EXPECT_EQ(roce_pkt_parse(&p, ROCE_LINK_ETHERNET, bytes, f.len, f.len), 0);
    if (!copied)
        p.ip4.id = 0;
    flowgen_put(g, f.side, &p);
}

/* A network copies packets and delays some copies. So a NAK is captured again after another
 * response, and requests are captured again during a retransmission. This must cause no ERROR. */
static void late_copies_cause_no_errors(void)
{
    static const uint8_t naks[] = {ROCE_SYNDROME_NAK, ROCE_SYNDROME_RNR | 12};

    for (unsigned i = 0; i < 2; i++) {
        struct flowgen g;
        struct roce_pkt read;
        uint32_t psn;
        size_t first, nak;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2048);
        flowgen_put(&g, 0, &read);
        flowgen_read_resp(&g, 1, read.bth.psn, 2048, 0, 1);
        first = g.frame_cnt;
        psn = flowgen_message(&g, 0, ROCE_KIND_SEND, 3072);
        g.conn.msn[0]--; /* the message was not complete when the NAK was sent */
        nak = g.frame_cnt;
        flowgen_ack(&g, 1, psn, naks[i]);
        once_more(&g, first - 1, true);
        once_more(&g, nak, true);
        g.conn.msn[0]++;
        flowgen_wait(&g, 10000000);
        for (unsigned k = 0; k < 3; k++) {
            once_more(&g, first + k, true);
            once_more(&g, first + k, false);
        }
        flowgen_ack_all(&g, 1);
        flowgen_send(&g, 0, 64);
        end(&g, NULL, "copies that come late");
        EXPECT_EQ(v.conn[0].side[1].psn_naks + v.conn[0].side[1].rnr_naks, 1);
        EXPECT_EQ(v.conn[0].side[0].copies, 3);
        EXPECT_EQ(v.conn[0].side[0].retx[i ? ROCE_CAUSE_RNR_NAK : ROCE_CAUSE_SEQ_NAK].packets, 3);
    }
}

SUITE("flow.no_false_alarm", TEST(late_response_to_a_restarted_read_is_no_error),
      TEST(response_to_an_uncaptured_read_is_no_error), TEST(msn_of_replayed_responses_is_no_error),
      TEST(msn_that_goes_back_is_an_error), TEST(any_damaged_bth_bit_is_no_violation),
      TEST(wrong_version_is_an_error_only_if_undamaged), TEST(twin_connections_cause_no_errors),
      TEST(guessed_pairs_cause_no_errors), TEST(one_packet_read_needs_no_mtu),
      TEST(coarse_clocks_cause_no_errors), TEST(limits_without_cm_are_the_attribute_limits),
      TEST(host_without_a_right_icrc_is_believed), TEST(one_right_icrc_makes_wrong_ones_damage),
      TEST(damaged_first_packets_are_reported_later), TEST(native_infiniband_may_use_lids_and_qp0),
      TEST(one_sided_error_needs_no_pair), TEST(late_copies_cause_no_errors))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP reuse: another program, or the next connection of the same program, gets the QPNs of destroyed
 * QPs. Without CM messages, only the packets can show the reuse. Packets that may belong to the old
 * or the new connection must cause no ERROR, even if the capture is incomplete. The API of the
 * analysis engine calls each of these connections a use of the QP pair (struct roce_flow_use).
 *
 * REUSE_ROUNDS=<n> runs n times as many conversations, REUSE_SEED=<n> uses another seed. With seed
 * 1 the engine reports no ERROR. With other seeds it reports a few ERRORs in 100,000 conversations.
 * The cause: the capture lacks the first packets of the new connection, and by chance the PSNs and
 * MSN of its next packets continue the old connection. So they look like a fault of the old
 * connection.
 */
#include <stdio.h>
#include <string.h>
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

static void end(struct flowgen *g, const char *why)
{
    judge_end(g, &v);
    EXPECT_EQ(judge_errors(&v, why), 0);
}

/* Another program gets the QPNs, with another service, another path MTU, or another peer QP. The
 * analysis engine must detect the reuse. */
static void reuse_by_another_program_is_detected(void)
{
    static const uint64_t rests[] = {150000000, 1000000000};

    for (unsigned i = 0; i < 6; i++) {
        struct flowgen g;
        struct flowgen_conn first;

        flowgen_begin(&g);
        first = g.conn;
        if (i / 2 == 0)
            g.svc = ROCE_SVC_UC;
        for (int n = 0; n < 6; n++) {
            flowgen_message(&g, 0, ROCE_KIND_WRITE, 3000);
            if (g.svc != ROCE_SVC_UC)
                flowgen_ack_all(&g, 1);
        }
        flowgen_wait(&g, rests[i & 1]);
        g.conn.psn[0] = first.psn[0];
        g.conn.msn[0] = 0;
        g.svc = ROCE_SVC_RC;
        if (i / 2 == 1)
            g.mtu = 512;
        if (i / 2 == 2) {
            g.conn.qpn[1]++;
            g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
        }
        for (int n = 0; n < 6; n++) {
            flowgen_read(&g, 0, 2500);
            flowgen_write(&g, 0, 2500);
        }
        end(&g, "by another program");
        EXPECT_EQ(v.totals.rules[ROCE_RULE_QP_REUSED], 1);
        EXPECT_EQ(v.conn[v.conn_cnt - 1].side[0].oper[ROCE_OPER_READ].completed, 6);
    }
}

/* Two connections follow each other on the same QPs and have the same PSNs. The first request of
 * each gets an RNR NAK. In the second connection, the requester does not wait. This must be
 * reported. */
static void short_rnr_wait_after_a_reuse_is_reported(void)
{
    struct flowgen_conn first;
    struct flowgen g;

    flowgen_begin(&g);
    first = g.conn;
    for (unsigned use = 0; use < 2; use++) {
        struct roce_pkt p;

        g.conn = first;
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 32 + use);
        flowgen_put(&g, 0, &p);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 14); /* a wait of 1.28 ms */
        g.conn.msn[0]++;
        flowgen_wait(&g, use ? 700000 : 1400000);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        for (unsigned i = 0; i < 3; i++)
            flowgen_send(&g, 0, 64 + use);
        flowgen_wait(&g, 150000000);
    }
    judge_end(&g, &v);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_QP_REUSED], 1);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_RNR_WAIT], 1);
}

/* The PSNs of both directions restart. The requester retransmits the first request after the reuse
 * before the response arrives. The MSN of the response restarts, too. The analysis engine must
 * report the reuse once. */
static void reuse_is_reported_once(void)
{
    struct flowgen g;
    struct flowgen_conn first;

    flowgen_begin(&g);
    first = g.conn;
    for (int life = 0; life < 2; life++) {
        g.conn = first;
        if (life == 1) {
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 32);

            flowgen_put(&g, 0, &p);
            flowgen_wait(&g, 5000000);
            flowgen_put(&g, 0, &p);
            flowgen_ack_all(&g, 1);
        }
        for (int i = 0; i < 3; i++) {
            flowgen_send(&g, 0, (uint32_t)(64 + life));
            flowgen_write(&g, 1, (uint32_t)(64 + life));
        }
        flowgen_wait(&g, 5000000);
    }
    end(&g, "a new use");
    EXPECT_EQ(v.totals.rules[ROCE_RULE_QP_REUSED], 1);
    EXPECT_EQ(v.conn_cnt, 1);
    EXPECT_EQ(v.conn[0].facts.qp_uses, 2);
}

/* The first connection has more packets than the analysis engine's window, and ends with a go-back
 * over its last requests. Then the QPs are reused, beginning with the same PSN. The reuse must be
 * reported for the first packet of the second connection. */
static void reuse_after_a_go_back_begins_with_its_first_packet(void)
{
    enum { PACKETS = 75, AGAIN = 29 };
    const struct roce_flow_opts opts = {.window_max = 64};
    struct roce_pkt p[PACKETS];
    struct flowgen g;
    struct flowgen_conn first;
    uint32_t frame = 0;

    flowgen_begin(&g);
    first = g.conn;
    for (unsigned i = 0; i < PACKETS; i++) {
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p[i]);
    }
    flowgen_wait(&g, 5000000);
    for (unsigned i = PACKETS - AGAIN; i < PACKETS; i++)
        flowgen_put(&g, 0, &p[i]);
    flowgen_ack_all(&g, 1);
    flowgen_wait(&g, 50000000);
    g.conn = first;
    for (int i = 0; i < 6; i++)
        flowgen_message(&g, 0, ROCE_KIND_WRITE, 12000);
    flowgen_ack_all(&g, 1);
    judge(&g, &opts, NULL, &v);
    flowgen_free(&g);
    EXPECT_EQ(judge_errors(&v, "a new use after a go-back"), 0);
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == ROCE_RULE_QP_REUSED)
            frame = v.finding[i].frame;
    EXPECT_EQ(frame, PACKETS + AGAIN + 2); /* frame after the packets, the go-back and an ACK */
}

/* ---- the first packets of the new use are not in the capture --------------------------------- */

/* Ways in which the capture lacks the first packets after a QP reuse (see lost_names). The
 * connections before and after the reuse have the same PSNs. */
enum lost { READ_LOST, ATOMIC_LOST, FIRST_LOST, MIDDLE_LOST, RESTARTED, LOSTS };

static const char *const lost_names[LOSTS] = {
    "an answer to a READ that was not captured", "an answer to an atomic that was not captured",
    "a message without its First", "a message without its Middle",
    "a message that begins where another had not ended"};

static void begin_of(struct flowgen *g, enum lost lost)
{
    size_t at = g->frame_cnt + (lost == MIDDLE_LOST || lost == RESTARTED);
    struct roce_pkt p;

    switch (lost) {
    case READ_LOST:
        p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, 900);
        flowgen_read_resp(g, 1, p.bth.psn, 900, 0, 0);
        break;
    case ATOMIC_LOST:
        p = flowgen_req(g, 0, ROCE_OP_RC_FETCH_ADD, 0);
        p = flowgen_resp(g, 1, ROCE_OP_RC_ATOMIC_ACK, p.bth.psn, 0);
        flowgen_put(g, 1, &p);
        break;
    default:
        flowgen_message(g, 0, ROCE_KIND_WRITE, 3000);
        g->frame_cnt--;
        memmove(&g->frame[at], &g->frame[at + 1], (g->frame_cnt - at) * sizeof(*g->frame));
        flowgen_ack_all(g, 1);
        break;
    }
}

/* The capture lacks the first packets after a QP reuse. The captured packets may belong to the
 * connection before or after the reuse, and must cause no ERROR. */
static void reuse_without_first_packets_causes_no_error(void)
{
    static const uint64_t rests[] = {1000000, 20000000, 400000000};

    for (enum lost lost = 0; lost < LOSTS; lost++)
        for (unsigned i = 0; i < 6; i++) {
            struct flowgen g;
            struct flowgen_conn first;
            char why[96];

            flowgen_begin(&g);
            first = g.conn;
            if (lost == RESTARTED)
                flowgen_message(&g, 0, ROCE_KIND_SEND, 2000);
            else
                flowgen_send(&g, 0, 100);
            flowgen_wait(&g, rests[i % 3]);
            g.conn.psn[0] = first.psn[0];
            g.conn.msn[0] = 0;
            begin_of(&g, lost);
            for (int n = 0; n < 8; n++) {
                flowgen_wait(&g, 50000);
                if (i < 3)
                    flowgen_write(&g, 0, 2000);
                else
                    flowgen_read(&g, 0, 2000);
            }
            snprintf(why, sizeof(why), "%s, %u", lost_names[lost], i);
            end(&g, why);
        }
}

/* The capture contains only one packet after a QP reuse. A packet before the reuse has the same
 * PSN, but another opcode and length. This must cause no ERROR. */
static void reuse_with_one_packet_causes_no_error(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    for (int n = 0; n < 6; n++)
        flowgen_write(&g, 0, 3000);
    flowgen_wait(&g, 90000000);
    g.conn.psn[0] -= 2;
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 101);
    flowgen_put(&g, 0, &p);
    end(&g, "one packet");
}

/* ---- random conversations -------------------------------------------------------------------- */

/* How a connection ends before its QPNs are reused. */
enum ending { ENDED, REFUSED, KILLED, ENDINGS };

static void end_of_life(struct flowgen *g, struct rng *rng, enum ending ending)
{
    int side = rng_below(rng, 2) == 0;
    struct roce_pkt p;

    switch (ending) {
    case REFUSED: /* ended by a fatal NAK */
        p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        flowgen_put(g, 0, &p);
        g->conn.msn[0]--;
        flowgen_ack(g, 1, p.bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
        break;
    case KILLED: /* the program was killed before its last request was completely sent, or before it
                  * was answered */
        if (rng_below(rng, 2)) {
            uint32_t len = rng_below(rng, 6000);

            p = flowgen_req(g, side, ROCE_OP_RC_READ_REQUEST, len);
            flowgen_put(g, side, &p);
            if (len > 2048)
                flowgen_read_resp(g, !side, p.bth.psn, len, 0, 0);
        } else {
            flowgen_message(g, side, rng_below(rng, 2) ? ROCE_KIND_SEND : ROCE_KIND_WRITE,
                            rng_below(rng, 6000));
            g->frame_cnt -= rng_below(rng, 2);
        }
        break;
    default: break;
    }
}

/* First PSNs after a reuse. */
enum start {
    EQUAL,  /* equal to those before the reuse, as in most programs */
    RANDOM, /* random PSNs */
    NEAR,   /* near those before the reuse, so that some PSNs are equal */
    STARTS
};

static const char *const start_names[STARTS] = {"the same PSNs", "random PSNs", "PSNs near by"};

static uint32_t psn_of(struct rng *rng, enum start start, uint32_t first, uint32_t next)
{
    switch (start) {
    case EQUAL: return first;
    case RANDOM: return rng_below(rng, 1u << 24);
    default: return ((rng_below(rng, 2) ? first : next) + rng_below(rng, 101) - 50) & ROCE_PSN_MASK;
    }
}

static void some_traffic(struct flowgen *g, struct rng *rng)
{
    if (rng_below(rng, 8) == 0)
        flowgen_lossy(g, rng, 8 + rng_below(rng, 40), 50, NULL, 0);
    else
        flowgen_random(g, rng, 1 + rng_below(rng, 8));
}

/* Generates conversation `i`: a QP has two or three connections soon after each other, without CM
 * messages. The peer QP is the same or another one. The source ports are derived from the QPNs, or
 * not. */
static void talk(struct flowgen *g, struct rng *rng, enum start start, unsigned i)
{
    static const uint64_t rests[] = {100000, 1000000, 20000000, 90000000, 400000000};
    unsigned partner = i / ENDINGS % 3, lives = 2 + (rng_below(rng, 4) == 0);
    bool ports = i / (ENDINGS * 3) % 2;

    flowgen_begin(g);
    if (!ports)
        g->conn.sport = 0xC123;
    for (unsigned life = 0; life < lives; life++) {
        struct flowgen_conn first = g->conn;

        some_traffic(g, rng);
        if (life + 1 == lives)
            break;
        end_of_life(g, rng, (enum ending)(i % ENDINGS));
        flowgen_wait(g, rests[rng_below(rng, 5)]);
        for (int s = 0; s < 2; s++) {
            g->conn.psn[s] = psn_of(rng, start, first.psn[s], g->conn.psn[s]);
            g->conn.msn[s] = 0;
        }
        if (partner)
            g->conn.qpn[partner - 1]++;
        if (ports)
            g->conn.sport = flowgen_linux_sport(g->conn.qpn[0], g->conn.qpn[1]);
    }
}

/* what is missing in the capture */
static const struct {
    const char *name;
    bool thinned, one_side, head, cut;
} spoils[] = {
    {"whole", false, false, false, false},        {"thinned", true, false, false, false},
    {"one direction", false, true, false, false}, {"started late", false, false, true, false},
    {"cut", false, false, false, true},           {"all at once", true, false, true, true},
};

#define SPOILS (sizeof(spoils) / sizeof(spoils[0]))

static void used_again(enum start start)
{
    uint64_t seed = suite_env("REUSE_SEED", 1);
    struct rng rng = rng_of(seed * STARTS + start);
    unsigned talks = (unsigned)suite_env("REUSE_ROUNDS", 1) * SUITE_TURNS(1000);

    for (unsigned k = 0; k < SPOILS; k++) {
        unsigned accused = 0;

        for (unsigned i = 0; i < talks; i++) {
            struct judge_spoil s = {.rng = &rng};
            char why[96];
            struct flowgen g;

            talk(&g, &rng, start, i);
            s.drop_permille = spoils[k].thinned ? 10 + rng_below(&rng, 191) : 0;
            s.one_side = spoils[k].one_side;
            s.side = (int)rng_below(&rng, 2);
            s.head = spoils[k].head ? rng_below(&rng, (uint32_t)g.frame_cnt) : 0;
            s.snap_min = spoils[k].cut ? 64 : 0;
            s.snap_max = 128;
            judge(&g, NULL, &s, &v);
            flowgen_free(&g);
            snprintf(why, sizeof(why), "%s, %s, talk %u", start_names[start], spoils[k].name, i);
            accused += judge_errors(&v, why) > 0;
        }
        printf("    %s, %s: ERROR findings in %u of %u conversations\n", start_names[start],
               spoils[k].name, accused, talks);
        CU_ASSERT(accused <= (seed == 1 ? 0 : 1 + talks / 3000));
    }
}

static void reuse_from_the_same_psns_causes_no_error(void)
{
    used_again(EQUAL);
}

static void reuse_from_random_psns_causes_no_error(void)
{
    used_again(RANDOM);
}

static void reuse_from_close_psns_causes_no_error(void)
{
    used_again(NEAR);
}

SUITE("flow.reuse", TEST(reuse_by_another_program_is_detected), TEST(reuse_is_reported_once),
      TEST(short_rnr_wait_after_a_reuse_is_reported),
      TEST(reuse_after_a_go_back_begins_with_its_first_packet),
      TEST(reuse_without_first_packets_causes_no_error),
      TEST(reuse_with_one_packet_causes_no_error), TEST(reuse_from_the_same_psns_causes_no_error),
      TEST(reuse_from_random_psns_causes_no_error), TEST(reuse_from_close_psns_causes_no_error))

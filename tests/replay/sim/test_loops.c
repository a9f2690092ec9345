/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Closed loops of every service, on random recordings of our own devices. On every impaired link,
 * no part is skipped, and all parts pass. */
#include <stdio.h>
#include <string.h>
#include "replay/recording.h"
#include "replay/talk.h"
#include "report/report_loop.h"
#include "support/suite.h"

#define ROUNDS SUITE_TURNS(6u)

/* Impairments of the link; NULL for a perfect link. */
static const char *const links[] = {NULL,
                                    "drop@p=0.05",
                                    "dup=2@p=0.1",
                                    "corrupt@p=0.05",
                                    "corrupt=header@p=0.05",
                                    "reorder=3@p=0.1",
                                    "delay=50us@p=0.2",
                                    "ce@p=0.2",
                                    "corrupt=header@p=0.03,icrc=fix",
                                    "set=bth.psn=5@p=0.03",
                                    "set=deth.qkey=5@p=0.2",
                                    "set=eth.dst=02:00:00:00:00:77@p=0.1"};

#define LINK_CNT (sizeof(links) / sizeof(links[0]))

/* Returns the number of skipped connections, CM exchanges and datagram streams. */
static size_t skipped(const struct loop_summary *sum)
{
    size_t cnt = 0;

    for (size_t i = 0; i < sum->clean.cnt; i++)
        cnt += sum->clean.conn[i].verdict == VERDICT_SKIPPED;
    for (size_t i = 0; i < sum->clean.cm_cnt; i++)
        cnt += sum->clean.cm[i].verdict == VERDICT_SKIPPED;
    for (uint32_t i = 0; i < sum->clean.streams.streams.cnt; i++)
        cnt += dgram_loop_has(&sum->clean.streams, i) &&
               sum->clean.streams.streams.stream[i].verdict == VERDICT_SKIPPED;
    return cnt;
}

static void expect_loop_holds(const char *what, struct capture *c, unsigned sides, uint64_t seed)
{
    struct error error = {""};
    struct replay r;

    if (capture_replay(c, &(struct replay_options){.roles = REPLAY_NEITHER}, &r, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s: %s", what, error.text);
    for (size_t i = 0; i < LINK_CNT && !error.text[0]; i++) {
        struct loop_options options = {.sides = sides, .seed = seed, .repeat = 3};
        struct loop_summary sum;

        options.exchanges = &r.cm_exchanges;
        options.streams = &r.dgrams;
        if (links[i] && impair_rules_add(&options.impair, links[i], IMPAIR_OFFLINE, &error) != 0)
            suite_fail(__FILE__, __LINE__, "%s", error.text);
        if (closed_sum_run(&sum, &r.session, &options, &error) != 0) {
            suite_fail(__FILE__, __LINE__, "%s: %s", what, error.text);
        } else if (loop_summary_verdict(&sum) != VERDICT_PASS || skipped(&sum)) {
            suite_fail(__FILE__, __LINE__, "%s, seed %llu, side %u, %s", what,
                       (unsigned long long)seed, sides, links[i] ? links[i] : "no edit");
            report_closed_text(stdout, &sum, &options);
        }
        loop_summary_free(&sum);
    }
    replay_free(&r);
}

static void expect_loops_hold(const char *what, const struct qp_pair_opts *opts)
{
    struct rng rng = rng_seed();
    uint64_t seed = rng_u64(&rng) & 0xFFFFFFFF;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct capture c;

        if (!recording_make(&c, seed + i, opts, 0))
            return;
        for (unsigned sides = REPLAY_RESPONDER; sides <= REPLAY_BOTH; sides++)
            expect_loop_holds(what, &c, sides, seed + i);
        capture_free(&c);
    }
}

static void rc_loops_hold(void)
{
    expect_loops_hold("RC", &(struct qp_pair_opts){.type = RNIC_QPT_RC});
}

static void rc_loops_with_srqs_hold(void)
{
    expect_loops_hold("RC with SRQs", &(struct qp_pair_opts){.type = RNIC_QPT_RC, .srq = true});
}

static void xrc_loops_hold(void)
{
    expect_loops_hold("XRC", &(struct qp_pair_opts){.type = RNIC_QPT_XRC_SEND});
}

static void uc_loops_hold(void)
{
    expect_loops_hold("UC", &(struct qp_pair_opts){.type = RNIC_QPT_UC});
}

static void add_flush(struct talk *t, uint32_t psn, uint64_t va)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_FLUSH, psn, true);
    pkt.bth.ackreq = true;
    pkt.feth = (struct roce_feth){.plt = RNIC_FLUSH_GLOBAL, .sel = RNIC_FLUSH_RANGE};
    pkt.reth = (struct roce_reth){.va = va, .rkey = TALK_RKEY, .dma_len = 100};
    talk_add(t, &pkt);
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + 1, 0, 0);
}

/* A READ returns wrong data. The play fails if a FLUSH of the same bytes follows. It does not fail
 * if a WRITE follows, because the READ may then return the written data. */
static void wrong_read_data_before_a_flush_fails(void)
{
    const struct closed_loop_sides ends = {.sides = REPLAY_BOTH};
    const uint64_t va = UINT64_C(0x7f0000001000);

    for (unsigned flush = 0; flush < 2; flush++) {
        struct closed_loop clean = {0}, played = {0};
        struct impair_rules none = {0};
        struct error error = {""};
        struct replay r;
        struct talk t;

        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, va, TALK_RKEY, 100, 100, 1);
        talk_ack(&t, 0, 0x1F, 1);
        talk_read(&t, 1, va, TALK_RKEY, 100);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 1, 2, 100, 1);
        if (flush) {
            add_flush(&t, 2, va);
        } else {
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 2, va, TALK_RKEY, 100, 100, 2);
            talk_ack(&t, 2, 0x1F, 3);
        }
        if (capture_replay(&t.capture, &(struct replay_options){.roles = REPLAY_NEITHER}, &r,
                           &error) == 0 &&
            closed_loop_play(&clean, &r.session, &ends, &none, 1, NULL, &error) == 0 &&
            closed_loop_play(&played, &r.session, &ends, &none, 1, NULL, &error) == 0) {
            EXPECT_EQ(played.conn[0].sent.cnt, 3);
            played.conn[0].sent.entry[1].hash ^= 1;
            closed_loop_compare(&played, &clean);
            EXPECT_EQ(closed_loop_verdict(&played), flush ? VERDICT_FAIL : VERDICT_PASS);
        }
        CU_ASSERT_STRING_EQUAL(error.text, "");
        closed_loop_free(&played);
        closed_loop_free(&clean);
        replay_free(&r);
        talk_free(&t);
    }
}

/* Closed loops with FLUSH and ATOMIC WRITE (annex A19) pass. */
static void a19_loops_hold(void)
{
    static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint64_t va = UINT64_C(0x7f0000001000);
    struct roce_pkt pkt;
    struct talk t;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, va, TALK_RKEY, 100, 100, 1);
    talk_ack(&t, 0, 0x1F, 1);
    add_flush(&t, 1, va);
    talk_packet(&t, &pkt, ROCE_OP_RC_ATOMIC_WRITE, 2, true);
    pkt.bth.ackreq = true;
    pkt.reth = (struct roce_reth){.va = va, .rkey = TALK_RKEY, .dma_len = 8};
    pkt.payload = bytes;
    pkt.payload_len = sizeof(bytes);
    talk_add(&t, &pkt);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 2, 3, 0, 0);
    for (unsigned sides = REPLAY_RESPONDER; sides <= REPLAY_BOTH; sides++)
        for (uint64_t seed = 1; seed <= SUITE_TURNS(10); seed++)
            expect_loop_holds("FLUSH and ATOMIC WRITE", &t.capture, sides, seed);
    talk_free(&t);
}

static void ud_loops_hold(void)
{
    static const char *const names[] = {"ud-unicast", "ud-multicast", "ud-multicast-ipv6",
                                        "ipv6-uc-ud", "udaddy",       "ibv-ud-pingpong"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[4096];
        struct capture c;

        snprintf(path, sizeof(path), "%s/captures/%s.pcap", TRACES_DIR, names[i]);
        if (!capture_load(&c, path)) {
            suite_fail(__FILE__, __LINE__, "%s cannot be read", path);
            return;
        }
        for (unsigned sides = REPLAY_RESPONDER; sides <= REPLAY_BOTH; sides++)
            expect_loop_holds(names[i], &c, sides, 1 + i);
        capture_free(&c);
    }
}

SUITE("replay.loops", TEST(wrong_read_data_before_a_flush_fails), TEST(a19_loops_hold),
      TEST(ud_loops_hold), TEST(rc_loops_hold), TEST(rc_loops_with_srqs_hold), TEST(xrc_loops_hold),
      TEST(uc_loops_hold))

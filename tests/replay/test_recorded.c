/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Recordings of our own devices in the simulation, with random work and
 * losses: what was right when it was recorded holds at both ends when it is replayed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture.h"
#include "support/pair.h"
#include "support/suite.h"

#define ROUNDS 80u

/* Of lossy recordings so many may differ: a request recorded before it was lost, of which nothing
 * but its repetition tells, is taken for one that arrived (measured: 1 of 800). */
#define LOSSY_MAX 3u

static struct pair pair;

/* UC has the first four. */
static enum rnic_wr_opcode random_opcode(struct rng *rng, bool uc)
{
    static const enum rnic_wr_opcode opcodes[] = {
        RNIC_WR_WRITE, RNIC_WR_WRITE_IMM, RNIC_WR_SEND,     RNIC_WR_SEND_IMM,
        RNIC_WR_READ,  RNIC_WR_CMP_SWAP,  RNIC_WR_FETCH_ADD};

    return opcodes[rng_below(rng, uc ? 4 : sizeof(opcodes) / sizeof(opcodes[0]))];
}

/* A random conversation, recorded. */
static bool record(struct capture *out, uint64_t seed, const struct pair_opts *opts,
                   uint32_t loss_ppm)
{
    char *path = capture_temp("", 0);
    const struct simnet_path like = {.delay_ns = 5000, .loss_ppm = loss_ppm};
    struct rng rng = rng_of(seed);
    bool ok;

    memset(out, 0, sizeof(*out));
    pair_init_as(&pair, seed, (seed & 1) ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6, 2, 64, opts);
    pair_connect(&pair);
    simnet_paths(&pair.net, &like);
    ok = simnet_record(&pair.net, path);
    for (unsigned i = 0; i < 32; i++)
        for (unsigned side = 0; side < 2; side++)
            for (unsigned qp = 0; qp < 2; qp++)
                pair_recv(&pair, side, qp, i, 500000 + i * 8192, 8192);
    for (unsigned i = 0; i < 24; i++) {
        enum rnic_wr_opcode opcode = random_opcode(&rng, opts->type == RNIC_QPT_UC);
        bool atomic = opcode == RNIC_WR_CMP_SWAP || opcode == RNIC_WR_FETCH_ADD;
        uint32_t len = atomic ? 8 : rng_below(&rng, 6000);
        unsigned qp = rng_below(&rng, 2);
        /* Each QP has memory of its own: what two do to the same at once depends on the wire. */
        uint32_t roff = 8 * rng_below(&rng, 1000) + 20000 * qp;
        /* What is fetched does not go where what is sent again comes from. */
        uint32_t off = atomic || opcode == RNIC_WR_READ ? 200000 : 100000;

        pair_send(&pair, rng_below(&rng, 2), qp, i, opcode, off, len, roff);
        if (rng_below(&rng, 3) == 0)
            pair_run(&pair, UINT64_C(1000000000));
    }
    pair_run(&pair, UINT64_C(10000000000));
    pair_free(&pair);
    ok = ok && capture_load(out, path);
    unlink(path);
    free(path);
    if (!ok)
        suite_fail(__FILE__, __LINE__, "no recording");
    return ok;
}

static void replay_rounds(const char *what, const struct pair_opts *opts, uint32_t loss_ppm)
{
    struct rng rng = rng_seed();
    uint64_t seed = rng_u64(&rng) & 0xFFFFFFFF;
    unsigned cnt[3] = {0};
    uint32_t compared = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fault fault = {""};
        struct capture c;
        struct replay r;

        if (!record(&c, seed + i, opts, loss_ppm))
            return;
        if (capture_replay(&c, &(struct replay_options){0}, &r, &fault) == 0) {
            cnt[report_verdict(&r)]++;
            for (size_t k = 0; k < r.drive.run_cnt; k++)
                compared += r.comparison.result[k].compared + r.verification.result[k].compared;
            for (size_t k = 0; k < r.streams.cnt; k++)
                compared += r.streams.stream[k].compared;
            if (report_verdict(&r) != VERDICT_PASS &&
                (!loss_ppm || cnt[VERDICT_FAIL] > LOSSY_MAX)) {
                suite_fail(__FILE__, __LINE__, "%s, seed %llu", what,
                           (unsigned long long)(seed + i));
                report_text(stdout, &r, &(struct report_options){.ladder = false});
            }
        } else {
            suite_fail(__FILE__, __LINE__, "%s", fault.text);
        }
        replay_free(&r);
        capture_free(&c);
    }
    printf("\n    %s: %u hold, %u differ, %u skipped; %u packets compared ", what,
           cnt[VERDICT_PASS], cnt[VERDICT_FAIL], cnt[VERDICT_SKIPPED], compared);
    CU_ASSERT(compared > 10 * ROUNDS);
}

static void rc_recordings_hold(void)
{
    replay_rounds("RC", &(struct pair_opts){.type = RNIC_QPT_RC}, 0);
}

static void lossy_rc_recordings_hold(void)
{
    replay_rounds("RC, 2 % lost", &(struct pair_opts){.type = RNIC_QPT_RC}, 20000);
}

static void xrc_recordings_hold(void)
{
    replay_rounds("XRC", &(struct pair_opts){.type = RNIC_QPT_XRC_SEND}, 0);
}

static void lossy_xrc_recordings_hold(void)
{
    replay_rounds("XRC, 2 % lost", &(struct pair_opts){.type = RNIC_QPT_XRC_SEND}, 20000);
}

static void shared_receive_queue_recordings_hold(void)
{
    replay_rounds("RC with SRQs, 1 % lost", &(struct pair_opts){.type = RNIC_QPT_RC, .srq = true},
                  10000);
}

static void uc_recordings_hold(void)
{
    replay_rounds("UC, 2 % lost", &(struct pair_opts){.type = RNIC_QPT_UC}, 20000);
}

SUITE("replay.recorded", TEST(rc_recordings_hold), TEST(lossy_rc_recordings_hold),
      TEST(xrc_recordings_hold), TEST(lossy_xrc_recordings_hold),
      TEST(shared_receive_queue_recordings_hold), TEST(uc_recordings_hold))

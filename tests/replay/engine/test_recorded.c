/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Recordings of our own simulated devices, with random work requests and losses, pass at both
 * ends, because the recorded devices were right. */
#include "replay/recording.h"
#include "report/verdict.h"
#include "support/suite.h"

#define ROUNDS SUITE_TURNS(80u)

/* Number of lossy recordings that are allowed to differ. If only a retransmission shows that a
 * request was lost after its capture, the replay assumes that the request arrived (measured: 1 of
 * 800). */
#define LOSSY_MAX 3u

static void replay_rounds(const char *what, const struct qp_pair_opts *opts, uint32_t loss_ppm)
{
    struct rng rng = rng_seed();
    uint64_t seed = rng_u64(&rng) & 0xFFFFFFFF;
    unsigned cnt[3] = {0};
    uint32_t compared = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct error error = {""};
        struct capture c;
        struct replay r;

        if (!recording_make(&c, seed + i, opts, loss_ppm))
            return;
        if (capture_replay(&c, &(struct replay_options){0}, &r, &error) == 0) {
            cnt[report_verdict(&r)]++;
            for (size_t k = 0; k < r.session.dir_cnt; k++)
                compared += r.responses.result[k].compared + r.requests.result[k].compared;
            for (size_t k = 0; k < r.dgrams.cnt; k++)
                compared += r.dgrams.stream[k].compared;
            if (report_verdict(&r) != VERDICT_PASS &&
                (!loss_ppm || cnt[VERDICT_FAIL] > LOSSY_MAX)) {
                suite_fail(__FILE__, __LINE__, "%s, seed %llu", what,
                           (unsigned long long)(seed + i));
                report_text(stdout, &r, &(struct report_options){.ladder = false});
            }
        } else {
            suite_fail(__FILE__, __LINE__, "%s", error.text);
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
    replay_rounds("RC", &(struct qp_pair_opts){.type = RNIC_QPT_RC}, 0);
}

static void lossy_rc_recordings_hold(void)
{
    replay_rounds("RC, 2 % lost", &(struct qp_pair_opts){.type = RNIC_QPT_RC}, 20000);
}

static void xrc_recordings_hold(void)
{
    replay_rounds("XRC", &(struct qp_pair_opts){.type = RNIC_QPT_XRC_SEND}, 0);
}

static void lossy_xrc_recordings_hold(void)
{
    replay_rounds("XRC, 2 % lost", &(struct qp_pair_opts){.type = RNIC_QPT_XRC_SEND}, 20000);
}

static void shared_receive_queue_recordings_hold(void)
{
    replay_rounds("RC with SRQs, 1 % lost",
                  &(struct qp_pair_opts){.type = RNIC_QPT_RC, .srq = true}, 10000);
}

static void uc_recordings_hold(void)
{
    replay_rounds("UC, 2 % lost", &(struct qp_pair_opts){.type = RNIC_QPT_UC}, 20000);
}

SUITE("replay.recorded", TEST(rc_recordings_hold), TEST(lossy_rc_recordings_hold),
      TEST(xrc_recordings_hold), TEST(lossy_xrc_recordings_hold),
      TEST(shared_receive_queue_recordings_hold), TEST(uc_recordings_hold))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* A capture of our own devices passes a strict replay. If one packet is missing, added or changed,
 * the strict replay fails. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "replay/capture.h"
#include "report/verdict.h"
#include "support/qp_pair.h"
#include "support/suite.h"

static struct qp_pair pair;

/* Records a conversation of our own simulated devices. Fails the test and returns false if the
 * recording fails. */
static bool record(struct capture *out, uint64_t seed)
{
    char *path = capture_temp("", 0);
    const struct simnet_path path_like = {.delay_ns = 5000, .bps = UINT64_C(10000000000)};
    bool ok;

    memset(out, 0, sizeof(*out));
    qp_pair_init_as(&pair, seed, ROCE_ENCAP_V2_IP4, 1, 64,
                    &(struct qp_pair_opts){.no_credits = true});
    qp_pair_connect(&pair);
    simnet_paths(&pair.net, &path_like);
    ok = simnet_record(&pair.net, path);
    for (unsigned i = 0; i < 8; i++)
        qp_pair_recv(&pair, 1, 0, i, 65536 + i * 8192, 8192);
    for (unsigned i = 0; i < 8; i++) {
        qp_pair_send(&pair, 0, 0, 10 * i, RNIC_WR_WRITE, 0, 3000 + i, 300000);
        qp_pair_send(&pair, 0, 0, 10 * i + 1, RNIC_WR_SEND, 4096, 100 * i, 0);
        qp_pair_send(&pair, 0, 0, 10 * i + 2, RNIC_WR_READ, 16384, 5000, 300000);
        qp_pair_send(&pair, 0, 0, 10 * i + 3, RNIC_WR_FETCH_ADD, 32768, 8, 400000);
        EXPECT_EQ(qp_pair_run(&pair, UINT64_C(1000000000)), true);
    }
    qp_pair_free(&pair);
    ok = ok && capture_load(out, path);
    unlink(path);
    free(path);
    if (!ok)
        suite_fail(__FILE__, __LINE__, "no recording");
    return ok;
}

static enum verdict verdict_of(const struct capture *c, bool strict, bool tell)
{
    const struct replay_options options = {.strict = strict};
    struct error error = {""};
    enum verdict verdict = VERDICT_SKIPPED;
    struct replay r;

    if (capture_replay(c, &options, &r, &error) == 0)
        verdict = report_verdict(&r);
    else
        suite_fail(__FILE__, __LINE__, "%s", error.text);
    if (tell)
        report_text(stdout, &r, &(struct report_options){.ladder = false});
    replay_free(&r);
    return verdict;
}

static void our_own_recording_is_strictly_equal(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct capture c;

        if (record(&c, seed)) {
            enum verdict verdict = verdict_of(&c, true, false);

            EXPECT_EQ(verdict, VERDICT_PASS);
            if (verdict != VERDICT_PASS)
                verdict_of(&c, true, true);
        }
        capture_free(&c);
    }
}

/* Inverts the AckReq bit of a frame. */
static void flip_ackreq(struct capture *c, size_t at)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    int len;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, c->frame[at].data, c->frame[at].len,
                       c->frame[at].len) != 0)
        abort();
    pkt.bth.ackreq ^= 1;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    if (len < 0)
        abort();
    capture_put(c, at, buf, (size_t)len);
}

static void permitted_differences_fail_if_strict(void)
{
    struct capture all, c;
    unsigned acks = 0;

    if (!record(&all, 1))
        return;
    flip_ackreq(&all, 0);
    EXPECT_EQ(verdict_of(&all, false, false), VERDICT_PASS);
    EXPECT_EQ(verdict_of(&all, true, false), VERDICT_FAIL);
    flip_ackreq(&all, 0);
    for (size_t leave = 0; leave < all.cnt && acks < 3; leave++) {
        struct roce_pkt pkt;

        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, all.frame[leave].data, all.frame[leave].len,
                       all.frame[leave].len);
        if (pkt.op->kind != ROCE_KIND_ACK || leave + 1 == all.cnt)
            continue;
        acks++;
        memset(&c, 0, sizeof(c));
        for (size_t i = 0; i < all.cnt; i++)
            if (i != leave)
                capture_add(&c, all.frame[i].data, all.frame[i].len, all.frame[i].time);
        EXPECT_EQ(verdict_of(&c, false, false), VERDICT_PASS);
        EXPECT_EQ(verdict_of(&c, true, false), VERDICT_FAIL);
        capture_free(&c);
    }
    EXPECT_EQ(acks, 3);
    capture_free(&all);
}

SUITE("replay.strict", TEST(our_own_recording_is_strictly_equal),
      TEST(permitted_differences_fail_if_strict))

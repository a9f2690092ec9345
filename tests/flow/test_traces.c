/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Judges captures of real devices (traces/). The analysis engine must report no ERROR except known
 * deviations of the device, whether the capture is complete or not.
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "judge.h"
#include "support/suite.h"

#define ROUNDS 8

/* Loads the frames of a capture file into a flowgen. */
static bool load(const char *path, struct flowgen *g)
{
    char err[PCAP_ERRBUF_SIZE];
    pcap_t *p = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, err);
    struct pcap_pkthdr *h;
    const u_char *data;
    uint8_t first[4] = {0};

    if (!p)
        return false;
    flowgen_init(g);
    while (pcap_next_ex(p, &h, &data) == 1) {
        struct roce_pkt pkt;

        if (g->frame_cnt == g->frame_cap) {
            g->frame_cap = g->frame_cap * 2 + 64;
            g->frame = realloc(g->frame, g->frame_cap * sizeof(*g->frame));
        }
        g->byte_cap = g->byte_cnt + h->caplen;
        g->bytes = realloc(g->bytes, g->byte_cap);
        if (!g->frame || !g->bytes || h->caplen != h->len)
            abort(); /* out of memory, or a cut reference capture */
        memcpy(g->bytes + g->byte_cnt, data, h->caplen);
        g->frame[g->frame_cnt] = (struct flowgen_frame){
            .off = g->byte_cnt,
            .len = h->caplen,
            .time = (uint64_t)h->ts.tv_sec * UINT64_C(1000000000) + (uint64_t)h->ts.tv_usec};
        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, data, h->caplen, h->len) == 0) {
            uint8_t src[16], dst[16];

            roce_pkt_addr(&pkt, src, dst);
            if (first[0] + first[1] + first[2] + first[3] == 0)
                memcpy(first, src + 12, 4);
            g->frame[g->frame_cnt].side = memcmp(first, src + 12, 4) != 0;
        }
        g->byte_cnt += h->caplen;
        g->frame_cnt++;
    }
    pcap_close(p);
    return true;
}

static void expect_no_error(const struct flowgen *g, const char *name,
                            const struct roce_flow_opts *opts, const struct judge_spoil *spoil,
                            const char *what)
{
    static struct verdict v;
    char why[256];

    judge(g, opts, spoil, &v);
    snprintf(why, sizeof(why), "%s, %s", name, what);
    if (judge_errors(&v, why))
        suite_fail(__FILE__, __LINE__,
                   "%s: an ERROR finding that is not a known deviation of the peer", why);
    else
        CU_PASS("no error");
}

static void check_spoiled(const struct flowgen *g, const char *name,
                          const struct roce_flow_opts *opts, struct rng *rng)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct judge_spoil s = {.rng = rng};

        s.drop_permille = 10 + rng_below(rng, 191);
        expect_no_error(g, name, opts, &s, "packets missing");
        s.snap_min = 64;
        s.snap_max = 128;
        expect_no_error(g, name, opts, &s, "packets missing, cut");
        s.drop_permille = 0;
        expect_no_error(g, name, opts, &s, "cut");
        s = (struct judge_spoil){.one_side = true, .side = i & 1};
        expect_no_error(g, name, opts, &s, "one direction");
        s = (struct judge_spoil){.head = rng_below(rng, (uint32_t)g->frame_cnt)};
        expect_no_error(g, name, opts, &s, "started late");
    }
}

/* Calls check() for each capture whose peer has a list of known deviations. The manifest lists the
 * captures and their peers. */
static void each(void (*check)(const struct flowgen *g, const char *name,
                               const struct roce_flow_opts *opts, struct rng *rng),
                 struct rng *rng)
{
    FILE *f = fopen(TRACES "/manifest.tsv", "r");
    char line[4096], path[4096 + 64];
    unsigned cnt = 0;

    if (!f) {
        suite_skip("no captures here");
        return;
    }
    while (fgets(line, sizeof(line), f)) {
        char *name = strtok(line, "\t"), *peer = strtok(NULL, "\t");
        struct roce_flow_opts opts = {0};
        struct flowgen g;

        if (!name || !peer || strcmp(name, "file") == 0)
            continue;
        opts.profile = roce_profile_find(peer);
        if (opts.profile == ROCE_PROFILE_CNT)
            opts.profile = ROCE_PROFILE_NONE;
        snprintf(path, sizeof(path), TRACES "/captures/%s", name);
        if (!load(path, &g))
            continue;
        check(&g, name, &opts, rng);
        flowgen_free(&g);
        cnt++;
    }
    fclose(f);
    CU_ASSERT(cnt > 0);
}

static void check_whole(const struct flowgen *g, const char *name,
                        const struct roce_flow_opts *opts, struct rng *rng)
{
    (void)rng;
    expect_no_error(g, name, opts, NULL, "whole");
}

static void real_captures_have_no_errors(void)
{
    each(check_whole, NULL);
}

static void spoiled_real_captures_have_no_errors(void)
{
    struct rng rng = rng_seed();

    each(check_spoiled, &rng);
}

/* These counts are from a manual count in Wireshark's packet list. */
static void counts_equal_manual_counts(void)
{
    static const struct {
        const char *name;
        uint64_t seq_naks, seq_retries, rnr_naks, missing;
    } rows[] = {
        {"rc-rnr-pipeline.pcap", 4, 0, 4, 0},
        {"rc-rnr-exhausted.pcap", 0, 0, 3, 0},
        {"rc-psn-wrap-loss.pcap", 1, 1, 0, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct verdict v;
        struct flowgen g;
        char path[256];

        snprintf(path, sizeof(path), TRACES "/captures/%s", rows[i].name);
        if (!load(path, &g))
            continue;
        judge_end(&g, &v);
        EXPECT_EQ(v.conn_cnt, 1);
        EXPECT_EQ(v.conn[0].side[1].psn_naks, rows[i].seq_naks);
        EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].go_backs, rows[i].seq_retries);
        EXPECT_EQ(v.conn[0].side[1].rnr_naks, rows[i].rnr_naks);
        EXPECT_EQ(v.conn[0].side[0].missing_psns, rows[i].missing);
    }
    CU_PASS("counted");
}

SUITE("flow.traces", TEST(real_captures_have_no_errors), TEST(spoiled_real_captures_have_no_errors),
      TEST(counts_equal_manual_counts))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hostile captures: recorded captures with bytes changed and frames dropped, duplicated, swapped or
 * cut at random. Half of the changed packets have a recomputed ICRC. The replay must end with a
 * verdict or an error. The sanitizer builds detect memory errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "replay/capture.h"
#include "report/verdict.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/bytes.h"

#define ROUNDS SUITE_TURNS(12) /* number of altered copies of each capture */

static void fix_icrc(struct capture_frame *f)
{
    struct roce_pkt pkt;
    uint32_t icrc;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0 &&
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD)
        roce_le32_put(f->data + pkt.icrc_off, icrc);
}

static void spoil(struct capture *c, struct rng *rng)
{
    unsigned changes = 1 + rng_below(rng, 8);

    for (unsigned i = 0; i < changes && c->cnt > 0; i++) {
        struct capture_frame *f = &c->frame[rng_below(rng, (uint32_t)c->cnt)];
        struct capture_frame *g = &c->frame[rng_below(rng, (uint32_t)c->cnt)];
        struct capture_frame swap = *f;

        switch (rng_below(rng, 8)) {
        case 0: /* swaps two frames */
            f->data = g->data;
            f->len = g->len;
            g->data = swap.data;
            g->len = swap.len;
            break;
        case 1: /* appends a copy of a frame */ capture_add(c, f->data, f->len, f->time); break;
        case 2: /* truncates a frame */
            if (f->len)
                f->len = rng_below(rng, f->len);
            break;
        case 3: /* replaces a frame by another */
            capture_put(c, (size_t)(g - c->frame), f->data, f->len);
            break;
        default: /* changes one of the first 48 bytes after the UDP header */
            if (f->len > 42) {
                f->data[42 + rng_below(rng, f->len - 42 < 48 ? f->len - 42 : 48)] =
                    (uint8_t)rng_u64(rng);
                if (rng_below(rng, 2))
                    fix_icrc(f);
            }
            break;
        }
    }
}

static void spoilt_captures_end_in_a_verdict(void)
{
    FILE *manifest = fopen(TRACES_DIR "/manifest.tsv", "r");
    unsigned cnt[4] = {0};
    struct rng rng = rng_seed();
    char line[4096];

    CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
    while (fgets(line, sizeof(line), manifest)) {
        char *name = strtok(line, "\t");
        char path[4096];

        snprintf(path, sizeof(path), "%s/captures/%s", TRACES_DIR, name ? name : "");
        for (unsigned i = 0; i < ROUNDS && name && strcmp(name, "file") != 0; i++) {
            struct error error = {""};
            struct capture c;
            struct replay r;

            if (!capture_load(&c, path))
                break;
            spoil(&c, &rng);
            if (capture_replay(&c, &(struct replay_options){.quirks = NULL}, &r, &error) == 0)
                cnt[report_verdict(&r)]++;
            else
                cnt[3]++;
            replay_free(&r);
            capture_free(&c);
        }
    }
    fclose(manifest);
    printf("\n%u passed, %u failed, %u skipped, %u refused\n", cnt[VERDICT_PASS], cnt[VERDICT_FAIL],
           cnt[VERDICT_SKIPPED], cnt[3]);
    CU_ASSERT(cnt[VERDICT_PASS] + cnt[VERDICT_FAIL] > 0);
}

/* A capture file with bytes changed anywhere, including its headers, ends in a verdict or an
 * error. */
static void spoilt_files_end_in_a_verdict(void)
{
    struct rng rng = rng_seed();
    FILE *file = fopen(TRACES_DIR "/captures/demo-conversation.pcap", "rb");
    uint8_t buf[1u << 16], spoilt[1u << 16];
    size_t len;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    len = fread(buf, 1, sizeof(buf), file);
    fclose(file);
    for (unsigned i = 0; i < 400; i++) {
        struct error error = {""};
        struct replay r;
        char *path;

        memcpy(spoilt, buf, len);
        for (unsigned k = 0; k < 1 + i % 4; k++)
            spoilt[rng_below(&rng, (uint32_t)len)] = (uint8_t)rng_u64(&rng);
        path = capture_temp(spoilt, i % 3 ? len : rng_below(&rng, (uint32_t)len));
        if (replay_run(&r, path, &(struct replay_options){.quirks = "linux-rxe-6.1"}, &error) != 0)
            CU_ASSERT(error.text[0] != '\0');
        replay_free(&r);
        unlink(path);
        free(path);
    }
}

SUITE("replay.hostile", TEST(spoilt_captures_end_in_a_verdict), TEST(spoilt_files_end_in_a_verdict))

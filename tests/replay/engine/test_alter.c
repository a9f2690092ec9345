/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sensitivity: alters packets of every recorded capture that replays, and expects each replay to
 * fail. Each altered capture has one changed obligation (a field whose value the protocol
 * prescribes) in one response or retransmitted request.
 *
 * Some altered captures are correct, because a conformant device may have sent these packets.
 * Further replays find these cases (equivalence.h). Any other altered capture that passes counts as
 * missed. Captures with loss, RNR NAKs or damage are counted separately.
 *
 * To remove a frame is not an alteration: real captures lack frames, and no replay may fail for
 * that (test_incomplete.c). To simulate a responder that does not send a NAK, an ACK replaces the
 * NAK here; mutants.c has devices that do not send it.
 *
 * ALTER_SAMPLE=N alters N packets of each capture, drawn with the seed ROCEDRILL_SEED, and asserts
 * only the share of all detected alterations. ALTER_TRACES=FOLDER uses the captures of
 * FOLDER/manifest.tsv in FOLDER/captures, in place of those of traces/. ALTER_ONLY=words uses only
 * captures with these words in their name. ALTER_VERBOSE=1 prints each alteration that was not
 * found in its own frame. ALTER_KEEP=FOLDER stores the captures of missed alterations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/reasons/peer_quirks.h"
#include "equivalence.h"
#include "report/verdict.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/codes.h"

struct tally {
    unsigned tried, named, elsewhere, missed;
    unsigned equal[EQUIVALENCE_CNT];
};

/* The test asserts the share of detected captures of one kind of alteration only if at least this
 * number of captures of that kind are wrong. */
#define OFTEN 20u

/* Classes of captures. A LOSSY capture has lost packets, RNR NAKs or damaged packets. */
enum { CLEAN, LOSSY, CLASSES };

/* ---- trying one alteration ---------------------------------------------------------------------
 */

/* Returns whether the replay reports a difference in frame number `frame`, for the requester or for
 * the responder. */
static bool is_named(const struct replay *replay, uint32_t frame)
{
    const struct request_comparison *all = &replay->requests;

    for (size_t i = 0; i < all->diff_cnt; i++)
        if (!all->diff[i].known && replay->trace.pkt[all->diff[i].pkt].frame == frame)
            return true;
    return capture_differs(replay, frame, NULL);
}

static void tell(const struct subject *subject, const char *what, uint32_t frame,
                 enum alteration kind)
{
    if (getenv("ALTER_VERBOSE"))
        printf("%s: %s frame %u: %s\n", what, subject->name, frame, alteration_name(kind));
}

static void keep(const struct subject *subject, uint32_t frame, enum alteration kind)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s-%u-%u.pcap", getenv("ALTER_KEEP"), subject->name, frame,
             kind);
    capture_keep(&subject->capture, path);
}

static void count(const struct subject *subject, const struct replay *replay, uint32_t frame,
                  enum alteration kind, struct tally *tally)
{
    enum equivalence equal;

    if (report_verdict(replay) == VERDICT_FAIL && is_named(replay, frame)) {
        tally->named++;
        return;
    }
    if (report_verdict(replay) == VERDICT_FAIL) {
        tally->elsewhere++;
        tell(subject, "elsewhere", frame, kind);
        return;
    }
    equal = equivalence_of(subject, replay, frame, kind);
    if (equal != WRONG) {
        tally->equal[equal]++;
        tell(subject, equivalence_name(equal), frame, kind);
        return;
    }
    tally->missed++;
    tell(subject, "missed", frame, kind);
    if (getenv("ALTER_KEEP"))
        keep(subject, frame, kind);
}

static void try_one(struct subject *subject, uint32_t frame, enum alteration kind,
                    struct tally *tally)
{
    struct capture_frame *at = &subject->capture.frame[frame - 1];
    struct capture_frame saved = *at;
    uint8_t buf[ROCE_FRAME_MAX];
    struct error error = {""};
    struct replay replay;
    int len = alteration_make(kind, &subject->capture, frame, buf);

    if (len == 0)
        return;
    if (len < 0) {
        suite_fail(__FILE__, __LINE__, "%s: frame %u: %s cannot be built", subject->name, frame,
                   alteration_name(kind));
        return;
    }
    at->data = buf;
    at->len = (uint32_t)len;
    tally->tried++;
    if (capture_replay(&subject->capture, &(struct replay_options){.quirks = subject->peer},
                       &replay, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s: frame %u: %s: %s", subject->name, frame,
                   alteration_name(kind), error.text);
    else
        count(subject, &replay, frame, kind, tally);
    replay_free(&replay);
    *at = saved;
}

/* ---- altering one capture ----------------------------------------------------------------------
 */

/* Returns whether no packet was lost, retransmitted or damaged, and every direction has at least
 * three compared responses. */
static bool is_clean(const struct replay *replay)
{
    for (size_t r = 0; r < replay->session.dir_cnt; r++) {
        const struct inferred_setup *s = &replay->session.dir[r].setup;

        if (s->retransmitted || s->damaged_cnt || s->seq_naks || s->rnr_naks ||
            replay->responses.result[r].compared < 3 || replay->responses.result[r].wire_duplicates)
            return false;
    }
    return true;
}

/* Returns the frames of responses that were compared and matched. The caller frees the array.
 * Returns NULL if out of memory. */
static uint32_t *right_answers(const struct replay *replay, size_t *cnt)
{
    uint32_t *frame = calloc(replay->trace.cnt + 1, sizeof(*frame));

    *cnt = 0;
    for (size_t r = 0; frame && r < replay->session.dir_cnt; r++) {
        const struct inferred_setup *s = &replay->session.dir[r].setup;

        for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;)
            if (s->event[i].response && replay->responses.result[r].mark[i] == MARK_OK)
                frame[(*cnt)++] = event_packet(s, i)->frame;
    }
    return frame;
}

/* Returns the frames of the retransmitted requests that were compared and matched. Duplicates made
 * by the network do not count. With `begins`, returns only the first request of each go-back-N. The
 * caller frees the array. Returns NULL if out of memory. */
static uint32_t *right_requests(const struct replay *replay, bool begins, size_t *cnt)
{
    uint32_t *frame = calloc(replay->trace.cnt + 1, sizeof(*frame));

    *cnt = 0;
    for (size_t r = 0; frame && r < replay->requester.run_cnt; r++) {
        const struct requester_run *a = &replay->requester.run[r];
        const struct inferred_setup *s = requester_setup(a->dir);

        for (uint32_t i = 0; i < s->event_cnt && replay->requests.result[r].mark; i++)
            if (!s->event[i].response && replay->requests.result[r].mark[i] == MARK_OK &&
                (a->retransmit[i] == RETX_GO_BACK ||
                 (!begins && a->retransmit[i] == RETX_CONTINUES)))
                frame[(*cnt)++] = event_packet(s, i)->frame;
    }
    return frame;
}

/* Frames from which one is chosen, and the range of alterations that apply to it. */
struct choice {
    uint32_t *frame;
    size_t cnt;
    unsigned from, to; /* alterations `from` to `to` - 1 */
};

/* Alters at most 40 packets, evenly spread over the capture, because long captures repeat similar
 * situations. */
static void alter_frames(struct subject *subject, const struct choice *c, struct tally *tally)
{
    for (size_t i = 0; c->frame && i < c->cnt; i += c->cnt / 40 + 1)
        for (unsigned kind = c->from; kind < c->to; kind++)
            try_one(subject, c->frame[i], (enum alteration)kind, &tally[kind]);
}

/* Makes `want` alterations of random kinds to random packets. Gives up if most packets do not have
 * the altered field. */
static void alter_some(struct subject *subject, const struct choice choices[3], unsigned want,
                       struct rng *rng, struct tally *tally)
{
    for (unsigned draws = 0; want > 0 && draws < 4 * ALTER_CNT; draws++) {
        unsigned kind = rng_below(rng, ALTER_CNT);
        const struct choice *c = choices;
        unsigned tried = tally[kind].tried;

        while (kind >= c->to)
            c++;
        if (c->cnt == 0)
            continue;
        try_one(subject, c->frame[rng_below(rng, (uint32_t)c->cnt)], (enum alteration)kind,
                &tally[kind]);
        want -= tally[kind].tried - tried;
    }
}

static void alter_capture(const char *name, const char *path, const char *quirks, unsigned sample,
                          struct rng *rng, struct tally tallies[CLASSES][ALTER_CNT])
{
    struct subject subject = {.name = name, .peer = quirks};
    struct choice choices[3] = {{.from = 0, .to = ALTER_AGAIN},
                                {.from = ALTER_AGAIN, .to = ALTER_AGAIN_EARLIER},
                                {.from = ALTER_AGAIN_EARLIER, .to = ALTER_CNT}};
    struct error error = {""};
    struct replay replay;
    struct tally *tally;

    if (!capture_load(&subject.capture, path) || !capture_load(&subject.original, path)) {
        suite_fail(__FILE__, __LINE__, "%s cannot be read", path);
        return;
    }
    if (capture_replay(&subject.capture,
                       &(struct replay_options){.quirks = quirks, .memory_log = true}, &replay,
                       &error) != 0 ||
        report_verdict(&replay) != VERDICT_PASS) {
        replay_free(&replay);
        capture_free(&subject.capture);
        capture_free(&subject.original);
        return;
    }
    subject.setup = equivalence_setup(&replay);
    choices[0].frame = right_answers(&replay, &choices[0].cnt);
    subject.lost = equivalence_lost(&replay, subject.capture.cnt);
    choices[1].frame = right_requests(&replay, false, &choices[1].cnt);
    choices[2].frame = right_requests(&replay, true, &choices[2].cnt);
    tally = tallies[is_clean(&replay) ? CLEAN : LOSSY];
    replay_free(&replay);
    if (sample)
        alter_some(&subject, choices, sample, rng, tally);
    for (unsigned i = 0; i < 3; i++) {
        if (!sample)
            alter_frames(&subject, &choices[i], tally);
        free(choices[i].frame);
    }
    free(subject.lost);
    json_decref(subject.setup);
    capture_free(&subject.capture);
    capture_free(&subject.original);
}

/* ---- the table of results ----------------------------------------------------------------------
 */

static unsigned equals(const struct tally *t)
{
    unsigned cnt = 0;

    for (unsigned i = 0; i < EQUIVALENCE_CNT; i++)
        cnt += t->equal[i];
    return cnt;
}

/* Returns the percentage of the wrong captures that were detected. */
static double share(const struct tally *t)
{
    unsigned wrong = t->tried - equals(t);

    return wrong ? 100.0 * (t->named + t->elsewhere) / wrong : 100.0;
}

static void print_tally(const char *name, const struct tally *t)
{
    printf("%-26s %6u %6u %9u", name, t->tried, t->named, t->elsewhere);
    for (unsigned i = WRONG + 1; i < EQUIVALENCE_CNT; i++)
        printf(" %10u", t->equal[i]);
    printf(" %6u %6.1f %%\n", t->missed, share(t));
}

static struct tally sum_up(const char *title, const struct tally *tally)
{
    struct tally all = {0};

    printf("\n%-26s %6s %6s %9s", title, "tried", "named", "elsewhere");
    for (unsigned i = WRONG + 1; i < EQUIVALENCE_CNT; i++)
        printf(" %10s", equivalence_name((enum equivalence)i));
    printf(" %6s %8s\n", "missed", "caught");
    for (unsigned i = 0; i < ALTER_CNT; i++) {
        print_tally(alteration_name((enum alteration)i), &tally[i]);
        all.tried += tally[i].tried;
        all.named += tally[i].named;
        all.elsewhere += tally[i].elsewhere;
        all.missed += tally[i].missed;
        for (unsigned k = 0; k < EQUIVALENCE_CNT; k++)
            all.equal[k] += tally[i].equal[k];
    }
    print_tally("all", &all);
    return all;
}

/* Asserts that at least 99 % of all wrong captures are detected. For each kind with OFTEN or more
 * wrong captures, asserts that at least `each` percent are detected. */
static void expect_caught(const char *title, const struct tally *tally, double each)
{
    struct tally all = sum_up(title, tally);

    CU_ASSERT(all.tried > 0 || getenv("ALTER_TRACES"));
    CU_ASSERT(all.tried == all.named + all.elsewhere + equals(&all) + all.missed);
    CU_ASSERT(share(&all) >= 99.0);
    for (unsigned i = 0; i < ALTER_CNT; i++)
        if (tally[i].tried - equals(&tally[i]) >= OFTEN && share(&tally[i]) < each)
            suite_fail(__FILE__, __LINE__, "%s: %s: only %.1f %% caught", title,
                       alteration_name((enum alteration)i), share(&tally[i]));
}

static void every_altered_packet_is_caught(void)
{
    struct tally tally[CLASSES][ALTER_CNT] = {{{0}}};
    const char *only = getenv("ALTER_ONLY"), *traces = getenv("ALTER_TRACES");
    unsigned sample = (unsigned)suite_env("ALTER_SAMPLE", 0);
    struct rng rng = rng_seed();
    FILE *manifest;
    char line[4096];

    if (!traces)
        traces = TRACES_DIR;
    snprintf(line, sizeof(line), "%s/manifest.tsv", traces);
    manifest = fopen(line, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
    while (fgets(line, sizeof(line), manifest)) {
        char *name = strtok(line, "\t"), *peer = strtok(NULL, "\t\n");
        char path[8200];

        if (!name || !peer || strcmp(name, "file") == 0 || (only && !strstr(name, only)))
            continue;
        snprintf(path, sizeof(path), "%s/captures/%s", traces, name);
        alter_capture(name, path, peer_quirks_profile_known(peer) ? peer : NULL, sample, &rng,
                      tally);
    }
    fclose(manifest);
    expect_caught("captures without loss", tally[CLEAN], sample ? 0.0 : 97.0);
    expect_caught("captures with loss", tally[LOSSY], sample ? 0.0 : 90.0);
}

SUITE("replay.alter", TEST(every_altered_packet_is_caught))

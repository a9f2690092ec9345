/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sensitivity: every answer of every recorded capture that replays is altered in one obligation at
 * a time, and the replay has to fail and to name that frame.
 *
 * Equivalent are changes after which a right responder may have sent just that: bytes that are the
 * first to tell what was in memory (with --setup, from the capture as it was, they are seen); an
 * ACK of another PSN that had arrived, with its MSN; an answer with a wrong ICRC, where the capture
 * holds without that answer as well: a link damages frames, and the requester drops them. What else
 * survives is missed: the only answer of a capture; one of two copies of an answer. Captures
 * without loss are counted apart from the others, and so are ACKs with a wrong ICRC that a later
 * answer makes up for.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture.h"
#include "deviations.h"
#include "setup_json.h"
#include "support/suite.h"
#include "wire/codes.h"

enum alteration {
    ALTER_SYNDROME_SEQ,
    ALTER_SYNDROME_ACCESS,
    ALTER_SYNDROME_ACK,
    ALTER_MSN_UP,
    ALTER_MSN_FAR,
    ALTER_PSN_UP,
    ALTER_PSN_DOWN,
    ALTER_PAYLOAD,
    ALTER_ORIGINAL,
    ALTER_OPCODE,
    ALTER_DEST_QP,
    ALTER_PKEY,
    ALTER_MSN_BAD_ICRC,
    ALTER_ICRC,
    ALTER_CNT
};

static const char *const names[ALTER_CNT] = {"syndrome to NAK 0x60",
                                             "syndrome to NAK 0x62",
                                             "syndrome to ACK",
                                             "MSN + 1",
                                             "MSN + 4096",
                                             "PSN + 1",
                                             "PSN - 1",
                                             "payload byte",
                                             "atomic original value",
                                             "opcode",
                                             "DestQP",
                                             "P_Key",
                                             "MSN + 1, ICRC kept",
                                             "ICRC only"};

struct tally {
    unsigned tried, named, elsewhere, survived;
    unsigned equal; /* no survivors: a right device may have sent it, see is_equivalent() */
};

/* Captures without and with loss, RNR or damage; ACKs damaged that nobody misses. */
enum { CLEAN, OTHER, SPARE, CLASSES };

/* An answer that replay compared and found right. */
struct right {
    uint32_t frame;
    bool spare; /* an ACK, and a later answer acknowledges as much */
};

static uint8_t other_opcode(uint8_t opcode)
{
    switch (opcode) {
    case ROCE_OP_RC_READ_RESP_FIRST: return ROCE_OP_RC_READ_RESP_MIDDLE;
    case ROCE_OP_RC_READ_RESP_MIDDLE: return ROCE_OP_RC_READ_RESP_LAST;
    case ROCE_OP_RC_READ_RESP_LAST: return ROCE_OP_RC_READ_RESP_ONLY;
    case ROCE_OP_RC_READ_RESP_ONLY: return ROCE_OP_RC_READ_RESP_LAST;
    case ROCE_OP_RC_ATOMIC_ACK: return ROCE_OP_RC_ACK;
    default: return ROCE_OP_RC_ATOMIC_ACK;
    }
}

/* Alters the model; false if this kind of packet has no such obligation. */
static bool alter(struct roce_pkt *pkt, enum alteration kind, uint8_t *payload, unsigned *flags)
{
    bool aeth = roce_pkt_has(pkt, ROCE_HDR_AETH);
    uint8_t syndrome = pkt->aeth.syndrome;

    *flags = ROCE_BUILD_KEEP_PAD;
    switch (kind) {
    case ALTER_SYNDROME_SEQ: pkt->aeth.syndrome = 0x60; break;
    case ALTER_SYNDROME_ACCESS: pkt->aeth.syndrome = 0x62; break;
    case ALTER_SYNDROME_ACK: pkt->aeth.syndrome = 0x1F; break;
    case ALTER_MSN_UP: pkt->aeth.msn = (pkt->aeth.msn + 1) & ROCE_PSN_MASK; return aeth;
    case ALTER_MSN_FAR: pkt->aeth.msn = (pkt->aeth.msn + 4096) & ROCE_PSN_MASK; return aeth;
    case ALTER_PSN_UP: pkt->bth.psn = (pkt->bth.psn + 1) & ROCE_PSN_MASK; return true;
    case ALTER_PSN_DOWN: pkt->bth.psn = (pkt->bth.psn - 1) & ROCE_PSN_MASK; return true;
    case ALTER_PAYLOAD:
        if (pkt->payload_len == 0)
            return false;
        payload[pkt->payload_len / 2] ^= 0x40;
        return true;
    case ALTER_ORIGINAL:
        pkt->atomicacketh.orig ^= 0x100;
        return roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH);
    case ALTER_OPCODE:
        pkt->bth.opcode = other_opcode(pkt->bth.opcode);
        if (!aeth)
            pkt->aeth.syndrome = 0x1F;
        return true;
    case ALTER_DEST_QP: pkt->bth.dest_qp ^= 0x800; return true;
    case ALTER_PKEY: pkt->bth.pkey ^= 0x0101; return true;
    case ALTER_MSN_BAD_ICRC:
        pkt->aeth.msn = (pkt->aeth.msn + 1) & ROCE_PSN_MASK;
        *flags |= ROCE_BUILD_KEEP_ICRC;
        return aeth;
    case ALTER_ICRC:
        pkt->icrc ^= 1;
        *flags |= ROCE_BUILD_KEEP_ICRC;
        return true;
    default: return false;
    }
    /* Kinds of acknowledgement, not credits. */
    return aeth && roce_syndrome_kind(syndrome) != roce_syndrome_kind(pkt->aeth.syndrome);
}

/* An ACK in the place of another one, of a PSN that had arrived and with the MSN that belongs to
 * it: where a responder acknowledges is its own affair (R099, R100). */
static bool is_free_ack(const struct replay *replay, uint32_t frame)
{
    for (size_t r = 0; r < replay->drive.run_cnt; r++) {
        const struct setup *s = &replay->drive.run[r].setup;

        for (uint32_t i = 0; i < s->step_cnt; i++)
            if (s->step[i].response && setup_packet(s, i)->frame == frame)
                return setup_is_syndrome(s, i, ROCE_SYN_ACK) &&
                       setup_op(s, i)->kind == ROCE_KIND_ACK && setup_msn_fits(s, i);
    }
    return false;
}

/* Whether the alteration is seen by who knows what the devices had: then it survived only because
 * the bytes it changed are the first that tell what was in memory. */
static bool is_seen_with(const char *setup, const struct capture *capture, const char *peer,
                         uint32_t frame)
{
    struct fault fault = {""};
    struct replay replay;
    struct given given;
    bool seen = false;

    if (given_read(&given, setup, &fault) == 0) {
        seen = capture_replay(capture, &(struct replay_options){.peer = peer, .given = &given},
                              &replay, &fault) == 0 &&
               capture_differs(&replay, frame, NULL);
        replay_free(&replay);
    }
    if (fault.text[0])
        suite_fail(__FILE__, __LINE__, "%s: %s", setup, fault.text);
    given_free(&given);
    return seen;
}

/* Whether the capture holds without the frame: a damaged one is a lost one to its receiver, and any
 * link damages frames. */
static bool holds_without(const struct capture *capture, const char *peer, uint32_t frame)
{
    struct capture less = {.cnt = capture->cnt - 1};
    struct fault fault = {""};
    struct replay replay;
    bool holds;

    less.frame = malloc((less.cnt + 1) * sizeof(*less.frame));
    if (!less.frame)
        return false;
    for (size_t i = 0, to = 0; i < capture->cnt; i++)
        if (i + 1 != frame)
            less.frame[to++] = capture->frame[i];
    holds = capture_replay(&less, &(struct replay_options){.peer = peer}, &replay, &fault) == 0 &&
            report_verdict(&replay) == VERDICT_PASS;
    replay_free(&replay);
    free(less.frame);
    return holds;
}

/* A capture while its answers are altered. */
struct subject {
    const char *name, *peer;
    struct capture capture;
    char setup[64]; /* the file that says what its devices had */
};

static bool is_equivalent(const struct subject *subject, const struct replay *replay,
                          uint32_t frame, enum alteration kind)
{
    if (kind == ALTER_PSN_UP || kind == ALTER_PSN_DOWN)
        return is_free_ack(replay, frame);
    if (kind == ALTER_MSN_BAD_ICRC || kind == ALTER_ICRC)
        return holds_without(&subject->capture, subject->peer, frame);
    return (kind == ALTER_PAYLOAD || kind == ALTER_ORIGINAL) &&
           is_seen_with(subject->setup, &subject->capture, subject->peer, frame);
}

static void try_one(struct subject *subject, uint32_t frame, enum alteration kind,
                    struct tally *tally)
{
    struct capture *capture = &subject->capture;
    const char *name = subject->name, *peer = subject->peer;
    struct capture_frame *at = &capture->frame[frame - 1];
    struct capture_frame saved = *at;
    uint8_t payload[ROCE_FRAME_MAX], buf[ROCE_FRAME_MAX];
    struct fault fault = {""};
    struct replay replay;
    struct roce_pkt pkt;
    enum verdict verdict;
    unsigned flags;
    int len;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, at->data, at->len, at->len) != 0)
        return;
    if (pkt.payload_len) {
        memcpy(payload, pkt.payload, pkt.payload_len);
        pkt.payload = payload;
    }
    if (!alter(&pkt, kind, payload, &flags))
        return;
    len = roce_pkt_build(&pkt, flags, buf, sizeof(buf));
    if (len < 0) {
        suite_fail(__FILE__, __LINE__, "%s: frame %u: %s cannot be built", name, frame,
                   names[kind]);
        return;
    }
    at->data = buf;
    at->len = (uint32_t)len;
    tally->tried++;
    if (capture_replay(capture, &(struct replay_options){.peer = peer}, &replay, &fault) != 0) {
        suite_fail(__FILE__, __LINE__, "%s: frame %u: %s: %s", name, frame, names[kind],
                   fault.text);
    } else {
        verdict = report_verdict(&replay);
        if (verdict == VERDICT_FAIL && capture_differs(&replay, frame, NULL)) {
            tally->named++;
        } else if (verdict == VERDICT_FAIL) {
            tally->elsewhere++;
            if (getenv("ALTER_VERBOSE"))
                printf("elsewhere: %s frame %u: %s\n", name, frame, names[kind]);
        } else if (is_equivalent(subject, &replay, frame, kind)) {
            tally->equal++;
            if (getenv("ALTER_VERBOSE"))
                printf("equivalent: %s frame %u: %s\n", name, frame, names[kind]);
        } else {
            tally->survived++;
            if (getenv("ALTER_VERBOSE"))
                printf("survived: %s frame %u: %s (%s)\n", name, frame, names[kind],
                       verdict_name(verdict));
        }
    }
    replay_free(&replay);
    *at = saved;
}

/* Nothing was lost, repeated or damaged, and every side has enough answers to agree on a base. */
static bool is_clean(const struct replay *replay)
{
    for (size_t r = 0; r < replay->drive.run_cnt; r++) {
        const struct setup *s = &replay->drive.run[r].setup;

        if (s->retransmitted || s->damaged_cnt || s->seq_naks || s->rnr_naks ||
            replay->comparison.result[r].compared < 3 || replay->comparison.result[r].repeated)
            return false;
    }
    return true;
}

static struct right *right_answers(const struct replay *replay, size_t *cnt)
{
    struct right *right = calloc(replay->trace.cnt + 1, sizeof(*right));

    *cnt = 0;
    for (size_t r = 0; right && r < replay->drive.run_cnt; r++) {
        const struct setup *s = &replay->drive.run[r].setup;
        int64_t later = INT64_MIN;

        for (uint32_t i = (uint32_t)s->step_cnt; i-- > 0;) {
            if (!s->step[i].response)
                continue;
            if (replay->comparison.result[r].mark[i] == MARK_OK)
                right[(*cnt)++] = (struct right){.frame = setup_packet(s, i)->frame,
                                                 .spare = setup_is_syndrome(s, i, ROCE_SYN_ACK) &&
                                                          later >= s->step[i].rel};
            if (!s->step[i].damaged && setup_executed_by(s, i) > later)
                later = setup_executed_by(s, i);
        }
    }
    return right;
}

static void alter_capture(const char *name, const char *path, const char *peer,
                          struct tally tallies[CLASSES][ALTER_CNT])
{
    struct subject subject = {.name = name, .peer = peer, .setup = "/tmp/rocedrill-alter-XXXXXX"};
    struct tally *tally;
    struct fault fault = {""};
    struct replay replay;
    struct right *right;
    size_t cnt;
    int fd;

    if (!capture_load(&subject.capture, path)) {
        suite_fail(__FILE__, __LINE__, "%s cannot be read", path);
        return;
    }
    if (capture_replay(&subject.capture, &(struct replay_options){.peer = peer, .stores = true},
                       &replay, &fault) != 0 ||
        report_verdict(&replay) != VERDICT_PASS) {
        replay_free(&replay);
        capture_free(&subject.capture);
        return;
    }
    fd = mkstemp(subject.setup);
    if (fd < 0 || setup_json_write(&replay.drive, &replay.stores, subject.setup, &fault) != 0)
        suite_fail(__FILE__, __LINE__, "%s: %s", subject.setup, fault.text);
    close(fd);
    right = right_answers(&replay, &cnt);
    tally = tallies[is_clean(&replay) ? CLEAN : OTHER];
    replay_free(&replay);
    /* Long captures say the same thing many times: at most 40 answers, spread over the whole. */
    for (size_t i = 0; right && i < cnt; i += cnt / 40 + 1)
        for (unsigned kind = 0; kind < ALTER_CNT; kind++) {
            bool spare = right[i].spare && (kind == ALTER_MSN_BAD_ICRC || kind == ALTER_ICRC);

            try_one(&subject, right[i].frame, (enum alteration)kind,
                    spare ? &tallies[SPARE][kind] : &tally[kind]);
        }
    free(right);
    unlink(subject.setup);
    capture_free(&subject.capture);
}

static double share(const struct tally *t)
{
    return t->tried > t->equal ? 100.0 * (t->named + t->elsewhere) / (t->tried - t->equal) : 100.0;
}

static void print_tally(const char *name, const struct tally *t)
{
    printf("%-24s %6u %6u %9u %10u %8u  %5.1f %%\n", name, t->tried, t->named, t->elsewhere,
           t->equal, t->survived, share(t));
}

static struct tally sum_up(const char *title, const struct tally *tally)
{
    struct tally all = {0};

    printf("\n%-24s %6s %6s %9s %10s %8s\n", title, "tried", "named", "elsewhere", "equivalent",
           "survived");
    for (unsigned i = 0; i < ALTER_CNT; i++) {
        print_tally(names[i], &tally[i]);
        all.tried += tally[i].tried;
        all.named += tally[i].named;
        all.elsewhere += tally[i].elsewhere;
        all.survived += tally[i].survived;
        all.equal += tally[i].equal;
    }
    print_tally("all", &all);
    return all;
}

static void every_altered_answer_is_caught(void)
{
    struct tally tally[CLASSES][ALTER_CNT] = {{{0}}}, all;
    FILE *manifest = fopen(TRACES_DIR "/manifest.tsv", "r");
    const char *only = getenv("ALTER_ONLY");
    char line[4096];

    CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
    while (fgets(line, sizeof(line), manifest)) {
        char *name = strtok(line, "\t"), *peer = strtok(NULL, "\t");
        char path[4096];

        if (!name || !peer || strcmp(name, "file") == 0 || (only && !strstr(name, only)))
            continue;
        snprintf(path, sizeof(path), "%s/captures/%s", TRACES_DIR, name);
        alter_capture(name, path, deviation_peer_known(peer) ? peer : NULL, tally);
    }
    fclose(manifest);
    all = sum_up("captures without loss", tally[CLEAN]);
    CU_ASSERT(all.tried > 0);
    CU_ASSERT(share(&all) >= 99.0);
    for (unsigned i = 0; i < ALTER_CNT; i++)
        if (share(&tally[CLEAN][i]) < 97.0)
            suite_fail(__FILE__, __LINE__, "%s: only %.1f %% caught", names[i],
                       share(&tally[CLEAN][i]));
    sum_up("damaged, nobody misses it", tally[SPARE]);
    sum_up("captures with loss", tally[OTHER]);
    for (unsigned i = 0; i < ALTER_CNT; i++)
        if (share(&tally[OTHER][i]) < 85.0)
            suite_fail(__FILE__, __LINE__, "%s: only %.1f %% caught", names[i],
                       share(&tally[OTHER][i]));
}

SUITE("replay.alter", TEST(every_altered_answer_is_caught))

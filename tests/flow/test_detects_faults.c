/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Detection of faults: the test alters one field of one packet of a conformant conversation. The
 * percentage of alterations that the analysis engine reports as ERROR must not decrease. For some
 * alterations a WARN is sufficient, because packets cannot prove them.
 *
 * The engine avoids false alarms (test_no_false_alarm.c), and therefore misses some faults. The
 * packets of a capture cannot prove every fault: an MSN that is one too high may count a request
 * that was not captured.
 *
 * SENSE_SEED=<n> uses other conversations; the percentages are checked for seed 1 only.
 */
#include <stdio.h>
#include <string.h>
#include "judge.h"
#include "support/suite.h"

#define TALKS 300u

/* Packet of the conversation that the test alters. */
enum kind {
    REQUEST, /* any request packet */
    MESSAGE, /* SEND or WRITE */
    ACK,     /* positive ACK */
    READ_RESP,
    ATOMIC_ACK,
    AETH,    /* any packet with an AETH */
    AGAIN,   /* a request of one packet that is acknowledged; the test adds an altered copy of this
              * packet at the end of the capture */
    WAITING, /* a request of one packet at the end of the capture, without an acknowledgement; the
              * test adds an altered copy of this packet after it */
    REPLAY,  /* an Atomic ACK; the test leaves it as it is and adds an altered copy at the end of
              * the capture */
    ANY,     /* any packet of the connection */
};

/* Changes packet `p`. Returns true, or false if this change does not apply to the packet. */
typedef bool alter_fn(struct roce_pkt *p);

static bool to_middle(struct roce_pkt *p)
{
    uint8_t place = p->bth.opcode & 0x1F;

    if (place != ROCE_OP_RC_SEND_FIRST && place != ROCE_OP_RC_WRITE_FIRST)
        return false;
    p->bth.opcode++; /* changes First to Middle */
    return true;
}

static bool other_kind(struct roce_pkt *p)
{
    if (p->bth.opcode != ROCE_OP_RC_SEND_MIDDLE && p->bth.opcode != ROCE_OP_RC_SEND_LAST)
        return false;
    p->bth.opcode += ROCE_OP_RC_WRITE_FIRST - ROCE_OP_RC_SEND_FIRST;
    return true;
}

static bool to_only(struct roce_pkt *p)
{
    if (p->bth.opcode != ROCE_OP_RC_SEND_MIDDLE && p->bth.opcode != ROCE_OP_RC_SEND_LAST)
        return false;
    p->bth.opcode = ROCE_OP_RC_SEND_ONLY;
    return true;
}

static bool longer_dma(struct roce_pkt *p)
{
    bool write = p->op->kind == ROCE_KIND_WRITE && roce_opcode_has(p->op, ROCE_HDR_RETH);

    p->reth.dma_len += 8;
    return write;
}

static bool msn_back(struct roce_pkt *p)
{
    p->aeth.msn = (p->aeth.msn - 1) & ROCE_PSN_MASK;
    return true;
}

static bool msn_ahead(struct roce_pkt *p)
{
    p->aeth.msn = (p->aeth.msn + 5) & ROCE_PSN_MASK;
    return true;
}

static bool reserved_syndrome(struct roce_pkt *p)
{
    p->aeth.syndrome = 0x45;
    return true;
}

static bool response_place(struct roce_pkt *p)
{
    if (p->bth.opcode == ROCE_OP_RC_READ_RESP_MIDDLE)
        return false;
    p->bth.opcode = p->bth.opcode == ROCE_OP_RC_READ_RESP_ONLY ? ROCE_OP_RC_READ_RESP_FIRST
                                                               : ROCE_OP_RC_READ_RESP_ONLY;
    return true;
}

static bool shorter(struct roce_pkt *p)
{
    if (p->payload_len < 8)
        return false;
    p->payload_len -= 4;
    p->payload_cap_len = p->payload_len;
    return true;
}

static bool psn_on(struct roce_pkt *p)
{
    p->bth.psn = (p->bth.psn + 1) & ROCE_PSN_MASK;
    return true;
}

static bool psn_back(struct roce_pkt *p)
{
    p->bth.psn = (p->bth.psn - 1) & ROCE_PSN_MASK;
    return true;
}

static bool refused(struct roce_pkt *p)
{
    p->aeth.syndrome = ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS;
    return true;
}

static bool other_va(struct roce_pkt *p)
{
    p->reth.va += 64;
    p->atomiceth.va += 64;
    return roce_opcode_has(p->op, ROCE_HDR_RETH) || roce_opcode_has(p->op, ROCE_HDR_ATOMICETH);
}

static bool other_opcode(struct roce_pkt *p)
{
    if (p->bth.opcode != ROCE_OP_RC_SEND_ONLY)
        return false;
    p->bth.opcode = ROCE_OP_RC_SEND_ONLY_IMM;
    return true;
}

/* clang-format off */
static bool tver(struct roce_pkt *p)        { p->bth.tver = 1; return true; }
static bool reserved(struct roce_pkt *p)    { p->bth.resv7 = 1; return true; }
static bool ackreq(struct roce_pkt *p)      { p->bth.ackreq = 1; return true; }
static bool other_pkey(struct roce_pkt *p)  { p->bth.pkey ^= 0x10; return true; }
static bool migreq(struct roce_pkt *p)      { p->bth.migreq = 0; return true; }
static bool past_all(struct roce_pkt *p)    { p->bth.psn = (p->bth.psn + 1000) & ROCE_PSN_MASK; return true; }
static bool dma_too_long(struct roce_pkt *p){ p->reth.dma_len = 0x80000001; return roce_opcode_has(p->op, ROCE_HDR_RETH); }
static bool no_dma(struct roce_pkt *p)      { p->reth.dma_len = 0; return roce_opcode_has(p->op, ROCE_HDR_RETH) && p->payload_len; }
static bool va_wraps(struct roce_pkt *p)    { p->reth.va = UINT64_MAX - 3; return roce_opcode_has(p->op, ROCE_HDR_RETH) && p->reth.dma_len > 4; }
static bool not_asked(struct roce_pkt *p)   { p->bth.opcode = ROCE_OP_RC_ATOMIC_ACK; return true; }
static bool unaligned(struct roce_pkt *p)   { p->atomiceth.va += 4; return roce_opcode_has(p->op, ROCE_HDR_ATOMICETH); }
static bool rnr(struct roce_pkt *p)         { p->aeth.syndrome = ROCE_SYNDROME_RNR | 5; return true; }
static bool nak_code(struct roce_pkt *p)    { p->aeth.syndrome = ROCE_SYNDROME_NAK | 9; return true; }
/* clang-format on */

static bool solicited(struct roce_pkt *p)
{
    p->bth.se = 1;
    return p->op->kind != ROCE_KIND_SEND || !roce_opcode_ends(p->op);
}

/* Shortens a First or Middle packet by one byte. Its length is then not the path MTU, and it needs
 * a pad byte. */
static bool odd_length(struct roce_pkt *p)
{
    if (p->op->payload != ROCE_PAYLOAD_MTU)
        return false;
    p->payload_len--;
    p->payload_cap_len = p->payload_len;
    return true;
}

/* Changes the original value in an Atomic ACK. Only the kind REPLAY uses this function. */
static bool other_orig(struct roce_pkt *p)
{
    p->atomicacketh.orig ^= 1;
    return true;
}

/* Shortens the Last packet of a WRITE, so that the message is shorter than the DMA length in its
 * RETH. */
static bool last_shorter(struct roce_pkt *p)
{
    return p->op->kind == ROCE_KIND_WRITE && p->op->pos == ROCE_POS_LAST && shorter(p);
}

static bool other_payload(struct roce_pkt *p)
{
    static const uint8_t other[8192];

    p->payload = other;
    return p->payload_len > 0;
}

static bool other_rkey(struct roce_pkt *p)
{
    p->reth.rkey ^= 0x100;
    p->atomiceth.rkey ^= 0x100;
    return roce_opcode_has(p->op, ROCE_HDR_RETH) || roce_opcode_has(p->op, ROCE_HDR_ATOMICETH);
}

/* Evidence that shows which two directions are one connection. */
enum setting {
    WITH_CM,    /* CM messages set up the connection */
    WITHOUT_CM, /* matching source ports */
    USED_AGAIN, /* matching source ports; an earlier connection used the same QP numbers */
    SETTINGS
};

/* The alterations. `least`: for each enum setting, lowest percentage of altered packets that the
 * analysis engine must report as ERROR. */
static const struct {
    const char *name;
    enum kind kind;
    alter_fn *alter;
    uint8_t least[SETTINGS];
    bool warn; /* a WARN counts as reported, too */
} rows[] = {
    /* clang-format off */
    {"First becomes Middle",           MESSAGE,    to_middle, {88, 82, 82}, false},
    {"SEND becomes WRITE inside",      MESSAGE,    other_kind, {100, 100, 96}, false},
    {"Middle or Last becomes Only",    MESSAGE,    to_only, {100, 100, 95}, false},
    {"DMA length too long",            MESSAGE,    longer_dma, {100, 100, 93}, false},
    {"MSN one too low",                AETH,       msn_back, {87, 73, 59}, false},
    {"MSN five too high",              AETH,       msn_ahead, {60, 56, 45}, false},
    {"reserved syndrome",              ACK,        reserved_syndrome, {100, 100, 100}, false},
    {"READ response: place",           READ_RESP,  response_place, {58, 58, 52}, false},
    {"READ response: four bytes short", READ_RESP, shorter, {100, 96, 90}, false},
    {"READ response: PSN one on",      READ_RESP,  psn_on, {15, 26, 15}, false},
    {"Atomic ACK: PSN one back",       ATOMIC_ACK, psn_back, {76, 68, 70}, false},
    {"NAK in place of an ACK",         ACK,        refused, {81, 76, 76}, false},
    {"again: another address",         AGAIN,      other_va, {62, 66, 65}, false},
    {"again: another opcode",          AGAIN,      other_opcode, {56, 60, 64}, false},
    {"again unanswered: address",      WAITING,    other_va, {100, 100, 95}, false},
    {"again unanswered: opcode",       WAITING,    other_opcode, {100, 100, 98}, false},
    {"again: another key",             AGAIN,      other_rkey, {68, 57, 67}, false},
    {"Atomic ACK again: other value",  REPLAY,     other_orig, {67, 0, 0}, false},
    {"transport version",              ANY,        tver, {100, 100, 100}, false},
    {"a reserved bit",                 ANY,        reserved, {100, 100, 100}, false},
    {"solicited where nothing is",     REQUEST,    solicited, {100, 100, 100}, false},
    {"AckReq of a response",           AETH,       ackreq, {100, 100, 100}, false},
    {"First, Middle with pad",         MESSAGE,    odd_length, {100, 100, 94}, false},
    {"Last four bytes short",          MESSAGE,    last_shorter, {100, 100, 93}, false},
    {"DMA length 2^31 + 1",            REQUEST,    dma_too_long, {100, 100, 97}, false},
    {"DMA length 0",                   MESSAGE,    no_dma, {100, 100, 100}, false},
    {"an atomic that is not aligned",  REQUEST,    unaligned, {100, 100, 92}, false},
    {"READ response to no READ",       READ_RESP,  past_all, {0, 0, 0}, false},
    {"Atomic ACK in place of an ACK",  ACK,        not_asked, {100, 89, 81}, false},
    {"NAK code 9",                     ACK,        nak_code, {100, 100, 100}, false},
    /* alterations for which the analysis engine can report only a WARN */
    {"RNR NAK in place of an ACK",     ACK,        rnr, {91, 90, 77}, true},
    {"another P_Key",                  ANY,        other_pkey, {100, 100, 100}, true},
    {"MigReq 0",                       ANY,        migreq, {100, 100, 100}, true},
    {"address range wraps",            REQUEST,    va_wraps, {100, 100, 100}, true},
    {"again unanswered: payload",      WAITING,    other_payload, {100, 100, 100}, true},
    {"ACK of what was not sent",       ACK,        past_all, {0, 0, 1}, true},
    /* clang-format on */
};

static bool is_of(enum kind kind, const struct roce_pkt *p)
{
    const struct roce_opcode *op = p->op;
    bool request = op->svc == ROCE_SVC_RC && roce_opcode_is_request(op);

    switch (kind) {
    case REQUEST: return request;
    case MESSAGE: return request && (op->kind == ROCE_KIND_SEND || op->kind == ROCE_KIND_WRITE);
    case ACK:
        return op->svc == ROCE_SVC_RC && op->kind == ROCE_KIND_ACK &&
               roce_syndrome_kind(p->aeth.syndrome) == ROCE_SYN_ACK;
    case READ_RESP: return op->kind == ROCE_KIND_READ_RESP;
    case REPLAY:
    case ATOMIC_ACK: return op->kind == ROCE_KIND_ATOMIC_ACK;
    case ANY: return op->svc == ROCE_SVC_RC;
    case AETH: return op->svc == ROCE_SVC_RC && roce_pkt_has(p, ROCE_HDR_AETH);
    case AGAIN:
    case WAITING: return request && op->pos == ROCE_POS_ONLY;
    }
    return false;
}

static bool parse(const struct flowgen *g, size_t i, struct roce_pkt *p)
{
    const struct flowgen_frame *f = &g->frame[i];

    return roce_pkt_parse(p, ROCE_LINK_ETHERNET, g->bytes + f->off, f->len, f->len) == 0;
}

/* Generates a conformant conversation, with the evidence `setting` for the pairing of the
 * directions. Returns the number of the first frame that may be altered. */
static size_t talk(struct flowgen *g, struct rng *rng, enum setting setting, bool waiting)
{
    uint32_t start[2] = {rng_below(rng, 1u << 24), rng_below(rng, 1u << 24)};
    size_t first = 0;

    flowgen_init(g);
    memcpy(g->conn.psn, start, sizeof(start));
    g->conn.sport = flowgen_linux_sport(g->conn.qpn[0], g->conn.qpn[1]);
    if (setting == WITH_CM)
        flowgen_connect(g);
    if (setting == USED_AGAIN) {
        static const uint64_t rests[] = {1000000, 20000000, 400000000, 3000000000};
        bool same = rng_below(rng, 2);

        flowgen_random(g, rng, 6 + rng_below(rng, 10));
        flowgen_wait(g, rests[rng_below(rng, 4)]);
        for (int s = 0; s < 2; s++) {
            g->conn.psn[s] = same ? start[s] : rng_below(rng, 1u << 24);
            g->conn.msn[s] = 0;
        }
        first = g->frame_cnt;
    }
    flowgen_random(g, rng, 6 + rng_below(rng, 10));
    if (waiting) {
        static const uint8_t ops[] = {ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_WRITE_ONLY,
                                      ROCE_OP_RC_READ_REQUEST};
        struct roce_pkt p = flowgen_req(g, 0, ops[rng_below(rng, 3)], 64);

        flowgen_put(g, 0, &p);
    }
    return first;
}

/* Copies conversation `g` to `out`, with frame `at` altered, or, if `again`, with an altered copy
 * of this frame at the end. Returns true, or false if the alteration does not apply to the
 * frame. */
static bool altered(const struct flowgen *g, size_t at, bool again, alter_fn *alter,
                    struct flowgen *out)
{
    struct roce_pkt p;
    bool done = false;

    flowgen_init(out);
    for (size_t i = 0; i < g->frame_cnt + again; i++) {
        size_t from = i < g->frame_cnt ? i : at;
        const struct flowgen_frame *f = &g->frame[from];

        if (!parse(g, from, &p))
            continue;
        if (i == (again ? g->frame_cnt : at)) {
            const struct roce_opcode *was = p.op;

            if (!alter(&p))
                return false;
            if (p.bth.opcode != was->value) { /* the altered packet needs the headers of the new
                                               * opcode */
                struct roce_pkt q;

                roce_pkt_init(&q, p.encap, p.bth.opcode);
                p.op = q.op;
                p.present = q.present;
            }
            if (again)
                p.ip4.id = 0;
            done = true;
        }
        out->now = i < g->frame_cnt ? f->time - out->step : g->now + 70000000;
        for (unsigned side = 0; side < 2; side++)
            out->ip_id[side] = (uint16_t)(g->ip_id[side] + again);
        flowgen_put(out, f->side, &p);
    }
    return done;
}

static void shares(enum setting setting)
{
    static struct verdict v;
    uint64_t seed = suite_env("SENSE_SEED", 1);

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct rng rng = rng_of(seed * 1000 + r);
        unsigned tried = 0, found = 0, least = rows[r].least[setting];

        for (unsigned n = 0; n < TALKS; n++) {
            bool waiting = rows[r].kind == WAITING,
                 again = waiting || rows[r].kind == AGAIN || rows[r].kind == REPLAY;
            struct flowgen g, bad = {0};
            struct roce_pkt p;
            size_t at, first, tries = 0;

            first = talk(&g, &rng, setting, waiting);
            do
                at = waiting ? g.frame_cnt - 1
                             : first + rng_below(&rng, (uint32_t)(g.frame_cnt - first));
            while (++tries < 100 && (!parse(&g, at, &p) || !is_of(rows[r].kind, &p)));
            if (tries < 100 && altered(&g, at, again, rows[r].alter, &bad)) {
                tried++;
                judge(&bad, NULL, NULL, &v);
                found += v.totals.findings[ROCE_SEV_ERROR] > 0 ||
                         (rows[r].warn && v.totals.findings[ROCE_SEV_WARN] > 0);
            }
            flowgen_free(&bad);
            flowgen_free(&g);
        }
        printf("    %-32s %3u of %3u\n", rows[r].name, found, tried);
        CU_ASSERT(tried > 0);
        if (seed == 1)
            CU_ASSERT(found * 100 >= tried * least);
    }
}

static void faults_with_cm_are_detected(void)
{
    shares(WITH_CM);
}

static void faults_without_cm_are_detected(void)
{
    shares(WITHOUT_CM);
}

static void faults_after_a_reuse_are_detected(void)
{
    shares(USED_AGAIN);
}

SUITE("flow.detects_faults", TEST(faults_with_cm_are_detected),
      TEST(faults_without_cm_are_detected), TEST(faults_after_a_reuse_are_detected))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: a requester and its completer (rnic/transport) with a hostile responder. The input
 * is a script of actions. The program posts work requests of every kind, and makes keys invalid and
 * valid again. The responder sends responses with any PSN, opcode, syndrome and length. Packets are
 * fetched from the requester, and time advances.
 *
 * Invariants (R247, R250): each work request completes exactly once, in order. Only memory that the
 * work requests name is written. The numbers of outstanding READs and PSNs stay within their
 * limits.
 *
 * The send queue never gets stuck. If work requests are incomplete, one of them can be sent, or a
 * timer runs, or the timeout is 0 and a response is outstanding.
 */
#include <string.h>
#include "fuzz.h"
#include "script.h"
#include "transport/completer.h"
#include "wire/codes.h"

#define GUARD   256u
#define MEM_LEN 8192u
#define VA      (UINT64_MAX - 0x20000)
#define KEY     1u
#define MTU     256u
#define DEPTH   16u

static struct fuzz {
    struct rnic_requester req;
    struct rnic_transport_counters counters;
    uint8_t mem[GUARD + MEM_LEN + GUARD];
    uint8_t scratch[MTU];
    uint64_t now;
    uint64_t posted; /* number of posted work requests; also the next wr_id */
    uint64_t done;
    bool failed;
    bool key_gone;
} fuzz;

static enum rnic_mem host_mem(void *ctx, uint32_t key, uint64_t va, uint64_t len, unsigned access,
                              uint8_t **out)
{
    struct fuzz *f = ctx;

    FUZZ_CHECK(len > 0 && (access & ~(unsigned)RNIC_ACCESS_LOCAL_WRITE) == 0);
    if (key != KEY || f->key_gone)
        return RNIC_MEM_KEY;
    if (va < VA || va - VA > MEM_LEN || len > MEM_LEN - (va - VA))
        return RNIC_MEM_RANGE;
    *out = f->mem + GUARD + (va - VA);
    return RNIC_MEM_OK;
}

static bool host_invalidate(void *ctx, uint32_t key)
{
    (void)ctx;
    return key == KEY;
}

static bool host_bind(void *ctx, const struct rnic_mw_bind *bind)
{
    (void)ctx;
    return bind->mr_key == KEY;
}

static void host_sent(void *ctx, const struct rnic_wc *wc)
{
    struct fuzz *f = ctx;

    FUZZ_CHECK(wc->wr_id == f->done && f->done < f->posted);
    FUZZ_CHECK(!f->failed || wc->status == RNIC_WC_WR_FLUSH_ERR);
    f->done++;
}

static void host_failed(void *ctx)
{
    struct fuzz *f = ctx;

    FUZZ_CHECK(!f->failed);
    f->failed = true;
    rnic_requester_flush(&f->req);
    FUZZ_CHECK(f->done == f->posted);
}

static const struct rnic_transport_ops host = {.translate = host_mem,
                                               .invalidate = host_invalidate,
                                               .bind = host_bind,
                                               .sent = host_sent,
                                               .failed = host_failed};

static void start(struct fuzz *f, struct script *script)
{
    static const enum roce_svc services[] = {ROCE_SVC_RC, ROCE_SVC_RC, ROCE_SVC_XRC, ROCE_SVC_UC};
    struct rnic_requester_attr attr = {
        .svc = services[u8(script) % 4],
        .path_mtu = MTU,
        .dest_qpn = 2,
        .pkey = 0xFFFF,
        .sq_psn = roce_psn_of(0xFFFFF0),
        .max_rd_atomic = u8(script) % 5,
        .timeout = u8(script) % 8,
        .retry_cnt = u8(script) % 8,
        .rnr_retry = u8(script) % 8,
    };

    f->failed = false;
    f->done = f->posted; /* in RESET, all work requests are discarded without completions (R190) */
    rnic_requester_reset(&f->req);
    rnic_requester_start(&f->req, &attr);
}

static void post(struct fuzz *f, struct script *script)
{
    static const uint32_t lens[] = {0, 1, 8, 8, MTU, MTU + 1, 3 * MTU, 2000, UINT32_C(1) << 31};
    struct rnic_sge sge[3];
    struct rnic_send_wr wr = {.wr_id = f->posted,
                              .opcode = (enum rnic_wr_opcode)(u8(script) % 16),
                              .flags = RNIC_SEND_SIGNALED | (u8(script) & RNIC_SEND_FENCE),
                              .sge = sge,
                              .sge_cnt = u8(script) % 4,
                              .invalidate_key = u8(script) % 8 ? KEY : 0};

    for (unsigned i = 0; i < 3; i++)
        sge[i] = (struct rnic_sge){VA + 32 * u8(script),
                                   lens[u8(script) % (sizeof(lens) / sizeof(lens[0]))],
                                   u8(script) % 16 ? KEY : 0};
    if (rnic_wr_is_atomic(wr.opcode))
        wr.sge_cnt = 1;
    if (rnic_wr_is_local(wr.opcode) || wr.opcode == RNIC_WR_FLUSH)
        wr.sge_cnt = 0;
    wr.flush.type = 1 + u8(script) % 4;
    wr.flush.level = u8(script) % 2 ? RNIC_FLUSH_MR : RNIC_FLUSH_RANGE;
    wr.mw.mr_key = u8(script) % 8 ? KEY : 0;
    f->posted++; /* incremented before the call, because the request may complete during the call */
    if (f->failed || rnic_requester_post(&f->req, &wr) != RNIC_SQ_POSTED) {
        FUZZ_CHECK(f->done < f->posted || f->failed);
        f->posted--;
    }
}

static void respond(struct fuzz *f, struct script *script)
{
    static const uint8_t opcodes[] = {ROCE_OP_RC_ACK,
                                      ROCE_OP_RC_ACK,
                                      ROCE_OP_RC_ACK,
                                      ROCE_OP_RC_ATOMIC_ACK,
                                      ROCE_OP_RC_READ_RESP_FIRST,
                                      ROCE_OP_RC_READ_RESP_MIDDLE,
                                      ROCE_OP_RC_READ_RESP_LAST,
                                      ROCE_OP_RC_READ_RESP_ONLY};
    static const uint8_t syndromes[] = {0x1F, 0x1F, 0x1F, 0x00, 0x03, 0x60, 0x60, 0x21, 0x38};
    static const uint8_t data[2 * MTU] = {0xEE};
    struct roce_pkt pkt;
    uint8_t choice = u8(script);
    int32_t ahead = (int8_t)u8(script);

    if (f->req.attr.svc == ROCE_SVC_UC)
        return; /* UC has no responses */
    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4,
                  roce_opcode_in(opcodes[choice % 8], f->req.attr.svc)->value);
    if (ahead > 100) /* choose a PSN far ahead */
        ahead <<= 16;
    else if (ahead > 0)
        ahead = ahead / 4;
    pkt.bth.psn = roce_psn_add(rnic_pos_psn(f->req.attr.sq_psn, f->req.una), ahead).v;
    choice = u8(script);
    pkt.aeth.syndrome = choice < 250 ? syndromes[choice % 9] : u8(script);
    pkt.aeth.msn = u8(script);
    if (pkt.op->kind == ROCE_KIND_READ_RESP) {
        choice = u8(script);
        pkt.payload_len = choice % 2 ? MTU : choice < 8 ? choice : choice * 2u;
        pkt.payload = pkt.payload_len ? data : NULL;
    }
    rnic_completer_input(&f->req, &pkt, f->now);
}

static void check(const struct fuzz *f)
{
    const struct rnic_requester *req = &f->req;
    enum rnic_req_gate gate = rnic_requester_gate(req);
    bool waits = req->retry.wait != RNIC_RETRY_IDLE;

    FUZZ_CHECK(req->una <= req->nxt && req->nxt <= req->max);
    FUZZ_CHECK(req->nxt - req->una <= RNIC_PSN_SPAN);
    FUZZ_CHECK(req->fetch_cnt <= req->attr.max_rd_atomic);
    FUZZ_CHECK(req->fetch_psns <= req->nxt - req->una);
    FUZZ_CHECK(req->cur - req->sq.head <= rnic_sq_cnt(&req->sq));
    FUZZ_CHECK(f->posted - f->done == rnic_sq_cnt(&req->sq));
    FUZZ_CHECK(waits == (req->retry.deadline != RNIC_RETRY_NEVER));
    if (!req->started) {
        FUZZ_CHECK(!waits && rnic_sq_empty(&req->sq));
        return;
    }
    /* PSNs are outstanding: a timer must run, unless the timeout is 0 (R149, R151). */
    if (req->una < req->nxt)
        FUZZ_CHECK(waits || req->attr.timeout == 0);
    /* No PSN is outstanding: the next request must be sendable, or wait after an RNR NAK. */
    else if (!rnic_sq_empty(&req->sq))
        FUZZ_CHECK(gate == RNIC_REQ_OPEN || gate == RNIC_REQ_RNR_WAIT);
}

static void run(struct fuzz *f, struct script *script)
{
    struct roce_pkt pkt;

    switch (u8(script) % 12) {
    case 0:
    case 1:
    case 2: post(f, script); break;
    case 3:
        for (unsigned i = u8(script) % 32; i; i--)
            rnic_requester_output(&f->req, &pkt, f->scratch, f->now);
        break;
    case 4: rnic_requester_output(&f->req, &pkt, f->scratch, f->now); break;
    case 5:
        f->now += (uint64_t)u8(script) << (u8(script) % 16);
        rnic_requester_expire(&f->req, f->now);
        break;
    case 6: f->key_gone = u8(script) % 4 == 0; break;
    case 7:
        if (u8(script) % 16 == 0)
            start(f, script);
        break;
    default: respond(f, script); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct fuzz *f = &fuzz;

    memset(f, 0, sizeof(*f));
    memset(f->mem, 0xA5, sizeof(f->mem));
    FUZZ_CHECK(rnic_requester_init(&f->req, &host, f, &f->counters, DEPTH, 3, 0));
    start(f, &script);
    while (script.left) {
        run(f, &script);
        check(f);
    }
    for (unsigned i = 0; i < GUARD; i++)
        FUZZ_CHECK(f->mem[i] == 0xA5 && f->mem[GUARD + MEM_LEN + i] == 0xA5);
    rnic_requester_free(&f->req);
    return 0;
}

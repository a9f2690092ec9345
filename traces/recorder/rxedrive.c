/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The steps of rxedrive and their execution. See rxedrive.h. */
#include "recorder/rxedrive_step.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_OUTSTANDING = 1024, /* maximum number of requests and receives of one side */
    MAX_MESSAGES = 1024,    /* maximum number of messages that one side receives */
    DRAIN_MS = 300,         /* longest wait for a receive after the latest completion, ms */
};

/* A posted work request. Index in the table = wr_id. */
struct posted {
    const struct step *step; /* NULL: slot unused */
    bool receive;
    uint8_t *data;   /* source, sink or receive buffer */
    uint8_t *expect; /* expected result of a READ or atomic, or NULL */
    uint32_t len;
    int number; /* message number */
};

/* A message that this side must receive. */
struct message {
    const struct step *step; /* NULL: received */
    uint32_t len;
    int number;
};

struct state {
    struct rig rig;
    uint8_t *shadow[SIDES]; /* expected content of each side's region */
    struct posted posted[MAX_OUTSTANDING];
    int posted_cnt, sends_open;
    struct message message[MAX_MESSAGES];
    int message_cnt, messages_open;
    int number; /* number of the latest message; both sides count the same messages */
    int failures;
};

void fatal(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fputs("rxedrive: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

__attribute__((format(printf, 2, 3))) static void fail(struct state *s, const char *format, ...)
{
    va_list args;

    s->failures++;
    fputs("FAILED: ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns byte i of message n. The bytes differ between messages, and between the packets of a
 * message. */
static uint8_t pattern(int n, size_t i)
{
    return (uint8_t)(n * 59 + i * 7 + (i >> 8) * 13 + 1);
}

static void fill(uint8_t *to, int n, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = pattern(n, i);
}

static uint8_t *take(struct state *s, size_t len)
{
    uint8_t *at = s->rig.arena + s->rig.arena_used;

    s->rig.arena_used += (len + 63) & ~(size_t)63;
    if (s->rig.arena_used > ARENA_LEN)
        fatal("the steps need more memory than %d bytes", ARENA_LEN);
    return at;
}

static struct posted *post_slot(struct state *s, const struct step *step, size_t len)
{
    struct posted *p = &s->posted[s->posted_cnt];

    if (++s->posted_cnt > MAX_OUTSTANDING)
        fatal("more than %d work requests", MAX_OUTSTANDING);
    *p = (struct posted){.step = step, .len = len, .data = take(s, len)};
    return p;
}

/* --- completions */

/* Finds the message that a completed receive contains. It may not be the next message, because an
 * unreliable service may have lost messages, and because an SRQ has the receives of several QPs. */
static void match_message(struct state *s, const struct posted *p, const struct ibv_wc *wc)
{
    uint32_t grh = s->rig.opt.type == IBV_QPT_UD ? GRH_LEN : 0;
    bool with_data = wc->opcode == IBV_WC_RECV;
    uint32_t len = wc->byte_len - (with_data ? grh : 0);

    for (int i = 0; i < s->message_cnt; i++) {
        struct message *m = &s->message[i];
        uint32_t k = 0;

        if (!m->step || m->len != len || m->step->has_imm != !!(wc->wc_flags & IBV_WC_WITH_IMM))
            continue;
        while (with_data && k < len && p->data[grh + k] == pattern(m->number, k))
            k++;
        if (with_data && k < len)
            continue;
        printf("received message %d: %u bytes, data right", m->number, len);
        if (wc->wc_flags & IBV_WC_WITH_IMM)
            printf(", immediate 0x%08x", be32toh(wc->imm_data));
        if (wc->wc_flags & IBV_WC_WITH_INV)
            printf(", invalidated rkey 0x%x", wc->invalidated_rkey);
        putchar('\n');
        m->step = NULL;
        s->messages_open--;
        return;
    }
    fail(s, "received %u bytes that belong to no expected message", len);
}

static void complete_receive(struct state *s, struct posted *p, const struct ibv_wc *wc)
{
    if (wc->status == IBV_WC_SUCCESS) {
        match_message(s, p, wc);
    } else {
        printf("receive: %s\n", status_name(wc->status));
        for (int i = 0; i < s->message_cnt; i++) {
            struct message *m = &s->message[i];

            if (!m->step)
                continue;
            if (m->step->peer != WC_ANY && m->step->peer != (int)wc->status)
                fail(s, "receive status wanted: %s", status_name(m->step->peer));
            m->step = NULL;
            s->messages_open--;
            break;
        }
    }
}

static void complete_request(struct state *s, struct posted *p, const struct ibv_wc *wc)
{
    const struct step *step = p->step;

    s->sends_open--;
    printf("%s: message %d on qp %d completed: %s\n", step->text, p->number, step->qp,
           status_name(wc->status));
    if (step->expect != WC_ANY && (int)wc->status != step->expect)
        fail(s, "wanted: %s (vendor error 0x%x)", status_name(step->expect), wc->vendor_err);
    if (wc->status == IBV_WC_SUCCESS && p->expect && memcmp(p->data, p->expect, p->len))
        fail(s, "fetched data are wrong");
    free(p->expect);
    p->expect = NULL;
}

static bool poll_one(struct state *s)
{
    struct ibv_wc wc;
    struct posted *p;

    if (!s->rig.cq || ibv_poll_cq(s->rig.cq, 1, &wc) != 1)
        return false;
    p = &s->posted[wc.wr_id];
    if (p->receive)
        complete_receive(s, p, &wc);
    else
        complete_request(s, p, &wc);
    p->step = NULL;
    return true;
}

/* Waits until every request of this side is complete. */
static void wait_requests(struct state *s)
{
    uint64_t end = now_ms() + s->rig.opt.patience * 1000ull;

    while (s->sends_open > 0) {
        if (!poll_one(s) && now_ms() > end) {
            fail(s, "%d requests without completion", s->sends_open);
            s->sends_open = 0;
        }
    }
}

/* Waits for the receives that the peer's completed requests consume, then checks the bytes of the
 * region. */
static void settle(struct state *s)
{
    uint64_t end = now_ms() + DRAIN_MS;
    const struct options *opt = &s->rig.opt;

    while (s->messages_open > 0 && now_ms() < end) {
        if (poll_one(s))
            end = now_ms() + DRAIN_MS;
    }
    for (int i = 0; i < s->message_cnt && s->messages_open > 0; i++) {
        struct message *m = &s->message[i];

        if (!m->step)
            continue;
        if (opt->lossy || m->step->peer == WC_NONE || m->step->peer == WC_ANY)
            printf("message %d was not received\n", m->number);
        else
            fail(s, "message %d was not received", m->number);
        m->step = NULL;
        s->messages_open--;
    }
    s->message_cnt = 0;
    if (!opt->lossy && memcmp(s->rig.region, s->shadow[opt->me], REGION_LEN)) {
        fail(s, "the region differs from the expected result of the requests");
        memcpy(s->shadow[opt->me], s->rig.region, REGION_LEN);
    }
}

/* --- steps */

static bool is_atomic(const struct step *step)
{
    return step->op->wr == IBV_WR_ATOMIC_CMP_AND_SWP || step->op->wr == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_send(const struct step *step)
{
    return step->op->wr == IBV_WR_SEND;
}

/* Returns true if this side executes the step. */
static bool acts(const struct state *s, const struct step *step)
{
    return (s->rig.opt.me == step->requester) != step->op->by_responder;
}

static bool takes_receive(const struct step *step)
{
    return is_send(step) || (step->op->wr == IBV_WR_RDMA_WRITE && step->has_imm);
}

static enum ibv_wr_opcode wr_opcode(const struct step *step)
{
    if (is_send(step) && step->inv)
        return IBV_WR_SEND_WITH_INV;
    if (step->has_imm)
        return is_send(step) ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM;
    return step->op->wr;
}

/*
 * Posts a request with the extended interface (ibv_wr_*), because this interface has more kinds of
 * requests, and because with it rxe sends even an unaligned atomic to the peer.
 */
static int post_extended(struct rig *rig, const struct step *step, struct posted *p, uint64_t wr_id)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(rig->qp[step->qp]);
    uint64_t va = rig->peer.va + step->off;
    uint32_t rkey = rig->peer.rkey[step->key];

    ibv_wr_start(qp);
    qp->wr_id = wr_id;
    qp->wr_flags = IBV_SEND_SIGNALED;
    switch (step->op->wr) {
    case IBV_WR_ATOMIC_FETCH_AND_ADD: ibv_wr_atomic_fetch_add(qp, rkey, va, step->value); break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        ibv_wr_atomic_cmp_swp(qp, rkey, va, step->value, step->value2);
        break;
#ifdef RXEDRIVE_FLUSH
    case IBV_WR_ATOMIC_WRITE: ibv_wr_atomic_write(qp, rkey, va, p->data); break;
    case IBV_WR_FLUSH:
        ibv_wr_flush(qp, rkey, va, step->value,
                     step->persistent ? IBV_FLUSH_PERSISTENT : IBV_FLUSH_GLOBAL,
                     step->whole ? IBV_FLUSH_MR : IBV_FLUSH_RANGE);
        break;
#endif
    default: return EINVAL;
    }
    if (is_atomic(step))
        ibv_wr_set_sge(qp, rig->arena_mr->lkey, (uintptr_t)p->data, p->len);
    return ibv_wr_complete(qp);
}

static bool is_extended(const struct rig *rig, const struct step *step)
{
    bool extended = rig->opt.extended && is_atomic(step);

#ifdef RXEDRIVE_FLUSH
    extended |= step->op->wr == IBV_WR_ATOMIC_WRITE || step->op->wr == IBV_WR_FLUSH;
#endif
    return extended;
}

/* Returns true if the packets of the request contain the bytes of the message. */
static bool carries_data(const struct step *step)
{
    bool carries = is_send(step) || step->op->wr == IBV_WR_RDMA_WRITE;

#ifdef RXEDRIVE_FLUSH
    carries |= step->op->wr == IBV_WR_ATOMIC_WRITE;
#endif
    return carries;
}

static bool fetches_data(const struct step *step)
{
    return step->op->wr == IBV_WR_RDMA_READ || is_atomic(step);
}

/* Returns the bytes of local memory that a request needs. */
static uint32_t local_len(const struct step *step)
{
    if (is_atomic(step))
        return 8;
    return carries_data(step) || fetches_data(step) ? step->value : 0;
}

/* Updates the expected bytes of the responder's region after a successful request. Both sides do
 * this. */
static void account(uint8_t *memory, const struct step *step, int number)
{
    uint64_t old;

    if (step->off > REGION_LEN || step->off + (is_atomic(step) ? 8 : step->value) > REGION_LEN)
        return;
    if (carries_data(step) && !is_send(step)) {
        fill(memory + step->off, number, step->value);
    } else if (is_atomic(step)) {
        memcpy(&old, memory + step->off, sizeof(old));
        if (step->op->wr == IBV_WR_ATOMIC_FETCH_AND_ADD)
            old += step->value;
        else if (old == step->value)
            old = step->value2;
        memcpy(memory + step->off, &old, sizeof(old));
    }
}

static void post_request(struct state *s, const struct step *step)
{
    struct rig *rig = &s->rig;
    uint32_t len = local_len(step);
    struct posted *p = post_slot(s, step, len);
    struct ibv_sge sge = {.addr = (uintptr_t)p->data, .length = len, .lkey = rig->arena_mr->lkey};
    uint32_t rkey = rig->peer.rkey[step->key];
    uint64_t va = rig->peer.va + step->off;
    struct ibv_send_wr wr = {
        .wr_id = p - s->posted,
        .sg_list = &sge,
        .num_sge = len > 0,
        .opcode = wr_opcode(step),
        .send_flags =
            (step->solicited ? IBV_SEND_SOLICITED : 0) | (step->fence ? IBV_SEND_FENCE : 0),
        .wr.rdma = {.remote_addr = va, .rkey = rkey},
    };
    struct ibv_send_wr *bad;
    int error;

    p->number = s->number;
    if (carries_data(step))
        fill(p->data, s->number, len);
    else if (fetches_data(step) && step->off + len <= REGION_LEN) {
        p->expect = malloc(len + 1);
        memcpy(p->expect, s->shadow[!rig->opt.me] + step->off, len);
    }
    if (step->has_imm)
        wr.imm_data = htobe32(step->imm);
    if (step->inv)
        wr.invalidate_rkey = rkey;
    if (is_atomic(step)) {
        wr.wr.atomic.remote_addr = va;
        wr.wr.atomic.rkey = rkey;
        wr.wr.atomic.compare_add = step->value;
        wr.wr.atomic.swap = step->value2;
    }
    if (rig->opt.type == IBV_QPT_UD) {
        wr.wr.ud.ah = rig->ah;
        wr.wr.ud.remote_qpn =
            rig->opt.group && rig->opt.me == LEFT ? 0xffffff : rig->peer.qpn[step->qp];
        wr.wr.ud.remote_qkey = UD_QKEY;
    }
    error = is_extended(rig, step) ? post_extended(rig, step, p, wr.wr_id)
                                   : ibv_post_send(rig->qp[step->qp], &wr, &bad);
    if (error)
        fatal("%s: %s", step->text, strerror(error));
    s->sends_open++;
}

static void expect_message(struct state *s, const struct step *step)
{
    if (s->message_cnt == MAX_MESSAGES)
        fatal("more than %d messages to receive", MAX_MESSAGES);
    s->message[s->message_cnt++] =
        (struct message){.step = step, .len = step->value, .number = s->number};
    s->messages_open++;
}

static void run_request(struct state *s, const struct step *step)
{
    s->number++;
    if (acts(s, step))
        post_request(s, step);
    else if (takes_receive(step))
        expect_message(s, step);
    if (step->expect == IBV_WC_SUCCESS)
        account(s->shadow[!step->requester], step, s->number);
}

static void run_recv(struct state *s, const struct step *step)
{
    struct rig *rig = &s->rig;
    uint32_t len = step->value + (rig->opt.type == IBV_QPT_UD ? GRH_LEN : 0);
    struct posted *p;
    struct ibv_sge sge;
    struct ibv_recv_wr wr, *bad;
    int error;

    if (!acts(s, step))
        return;
    p = post_slot(s, step, len);
    p->receive = true;
    sge = (struct ibv_sge){.addr = (uintptr_t)p->data, .length = len, .lkey = rig->arena_mr->lkey};
    wr = (struct ibv_recv_wr){.wr_id = p - s->posted, .sg_list = &sge, .num_sge = len > 0};
    error = rig->srq ? ibv_post_srq_recv(rig->srq, &wr, &bad)
                     : ibv_post_recv(rig->qp[step->qp], &wr, &bad);
    if (error)
        fatal("%s: %s", step->text, strerror(error));
}

/* Binds a type 2 memory window to part of the responder's region and sends its key to the peer. */
static void run_bind(struct state *s, const struct step *step)
{
    struct rig *rig = &s->rig;
    struct ibv_send_wr wr, *bad;
    int error;

    if (!acts(s, step)) {
        rig->peer.rkey[KEY_MW] = peer_meet(rig, 0);
        return;
    }
    if (!rig->mw)
        rig->mw = ibv_alloc_mw(rig->pd, IBV_MW_TYPE_2);
    if (!rig->mw)
        fatal("no memory window: %s", strerror(errno));
    rig->mine.rkey[KEY_MW] =
        ibv_inc_rkey(rig->mine.rkey[KEY_MW] ? rig->mine.rkey[KEY_MW] : rig->mw->rkey);
    wr = (struct ibv_send_wr){
        .wr_id = post_slot(s, step, 0) - s->posted,
        .opcode = IBV_WR_BIND_MW,
        .bind_mw = {.mw = rig->mw,
                    .rkey = rig->mine.rkey[KEY_MW],
                    .bind_info = {.mr = rig->mr[KEY_ALL],
                                  .addr = (uintptr_t)rig->region + step->off,
                                  .length = step->value,
                                  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
                                                     IBV_ACCESS_REMOTE_READ |
                                                     IBV_ACCESS_REMOTE_ATOMIC}},
    };
    error = ibv_post_send(rig->qp[step->qp], &wr, &bad);
    if (error)
        fatal("%s: %s", step->text, strerror(error));
    s->sends_open++;
    printf("memory window rkey 0x%x va 0x%" PRIx64 " length %" PRIu64 "\n", rig->mine.rkey[KEY_MW],
           wr.bind_mw.bind_info.addr, step->value);
    wait_requests(s);
    rig->mw->rkey = rig->mine.rkey[KEY_MW]; /* the next bind requires the current key */
    peer_meet(rig, rig->mine.rkey[KEY_MW]);
}

/* Invalidates the responder's own memory window. */
static void run_linv(struct state *s, const struct step *step)
{
    struct rig *rig = &s->rig;
    struct ibv_send_wr wr, *bad;
    int error;

    if (!acts(s, step))
        return;
    wr = (struct ibv_send_wr){.wr_id = post_slot(s, step, 0) - s->posted,
                              .opcode = IBV_WR_LOCAL_INV,
                              .invalidate_rkey = rig->mine.rkey[KEY_MW]};
    error = ibv_post_send(rig->qp[step->qp], &wr, &bad);
    if (error)
        fatal("%s: %s", step->text, strerror(error));
    s->sends_open++;
    wait_requests(s);
}

static void run_wait(struct state *s, const struct step *step)
{
    (void)step;
    wait_requests(s);
}

static void run_disconnect(struct state *s, const struct step *step)
{
    if (acts(s, step) && rdma_disconnect(s->rig.id))
        fail(s, "disconnect");
}

static void run_sleep(struct state *s, const struct step *step)
{
    (void)s;
    usleep(step->value * 1000);
}

void run_sh(struct state *s, const struct step *step)
{
    fflush(stdout);
    if (acts(s, step) && system(step->rest))
        fail(s, "%s", step->text);
}

static void run_destroy(struct state *s, const struct step *step)
{
    if (acts(s, step) && ibv_destroy_qp(s->rig.qp[step->qp]))
        fail(s, "destroy");
}

static void run_error(struct state *s, const struct step *step)
{
    if (acts(s, step) && !qp_to_error(s->rig.qp[step->qp]))
        fail(s, "error");
}

/* clang-format off */
const struct op ops[] = {
/*  name            opcode                       request by-responder run */
{ "send",         IBV_WR_SEND,                 true,  false, run_request,  "BYTES; with imm=N, inv, solicited" },
{ "write",        IBV_WR_RDMA_WRITE,           true,  false, run_request,  "BYTES; with imm=N" },
{ "read",         IBV_WR_RDMA_READ,            true,  false, run_request,  "BYTES" },
{ "cas",          IBV_WR_ATOMIC_CMP_AND_SWP,   true,  false, run_request,  "COMPARE:SWAP" },
{ "fadd",         IBV_WR_ATOMIC_FETCH_AND_ADD, true,  false, run_request,  "ADDEND" },
#ifdef RXEDRIVE_FLUSH
{ "atomic-write", IBV_WR_ATOMIC_WRITE,         true,  false, run_request,  "8" },
{ "flush",        IBV_WR_FLUSH,                true,  false, run_request,  "BYTES; with whole (region), persistent" },
#endif
{ "recv",         0,                           false, true,  run_recv,     "BYTES: responder posts a receive" },
{ "bind",         IBV_WR_BIND_MW,              false, true,  run_bind,     "BYTES: responder binds its memory window" },
{ "linv",         IBV_WR_LOCAL_INV,            false, true,  run_linv,     "responder invalidates its memory window" },
{ "destroy",      0,                           false, true,  run_destroy,  "responder destroys its QP" },
{ "error",        0,                           false, true,  run_error,    "responder's QP goes to the error state" },
{ "wait",         0,                           false, false, run_wait,     "both sides wait for their requests sent with nowait" },
{ "sleep",        0,                           false, false, run_sleep,    "MILLISECONDS" },
{ "sh",           0,                           false, false, run_sh,       "COMMAND (to the end of the argument) on the requester" },
{ "peer-sh",      0,                           false, true,  run_sh,       "COMMAND on the responder" },
{ "disconnect",   0,                           false, false, run_disconnect, "requester starts it and does not wait" },
{ 0 },
};
/* clang-format on */

static void run_step(struct state *s, const struct step *step)
{
    bool request = step->op->request, wait = step->op->run == run_wait;

    for (int n = 0; n < step->count; n++) {
        step->op->run(s, step);
        if (request && !step->nowait && acts(s, step))
            wait_requests(s);
    }
    if (request && step->nowait)
        return;
    peer_meet(&s->rig, 0);
    if (request || wait) {
        settle(s);
        /* Start the next step only after the region was checked. */
        peer_meet(&s->rig, 0);
    }
}

int main(int argc, char **argv)
{
    struct state *s = calloc(1, sizeof(*s));
    struct step *steps = calloc(argc, sizeof(*steps));
    int step_cnt = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    s->rig.opt = parse_options(argc, argv);
    for (int i = optind; i < argc; i++)
        steps[step_cnt++] = parse_step(argv[i]);
    for (int side = 0; side < SIDES; side++)
        s->shadow[side] = calloc(1, REGION_LEN);

    peer_connect(&s->rig);
    rig_connect(&s->rig);
    if (s->rig.opt.cm != CM_REJECT) {
        peer_meet(&s->rig, 0);
        for (int i = 0; i < step_cnt; i++)
            run_step(s, &steps[i]);
    }
    rig_disconnect(&s->rig);
    while (poll_one(s))
        ;
    rig_report_events(&s->rig);
    peer_meet(&s->rig, 0); /* neither side exits while the other may need it */
    return s->failures ? 1 : 0;
}

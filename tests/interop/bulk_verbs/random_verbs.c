/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Posts the random work requests of one end and polls their completions. random_verbs.h describes
 * the program. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bulk_verbs/random_verbs.h"

static const struct {
    const char *name;
    size_t at;
    long usual;
} names[] = {
#define NAME(member, usual)                                                                        \
    {                                                                                              \
#member, offsetof(struct options, member), usual                                           \
    }
#define INDEXED(name, member, usual)                                                               \
    {                                                                                              \
        name, offsetof(struct options, member), usual                                              \
    }
    NAME(side, 0),               /* 0: left, 1: right */
    NAME(seed, 1),               /* seed; the two ends derive different random sequences from this
                                  * seed */
    NAME(type, IBV_QPT_RC),      /* enum ibv_qp_type */
    NAME(qps, 1),                /* number of QPs */
    NAME(rounds, 1),             /* number of rounds; each uses every QP once */
    NAME(reuse, 0),              /* after a round, 1: move QPs to RESET; 0: destroy them */
    INDEXED("ops0", ops[0], 20), /* work requests of the left end for each QP and round */
    INDEXED("ops1", ops[1], 20), /* work requests of the right end for each QP and round */
    INDEXED("send", weight[OP_SEND], 1), /* weights (relative frequencies) of operations */
    INDEXED("sendimm", weight[OP_SEND_IMM], 0),
    INDEXED("write", weight[OP_WRITE], 0),
    INDEXED("writeimm", weight[OP_WRITE_IMM], 0),
    INDEXED("read", weight[OP_READ], 0),
    INDEXED("fadd", weight[OP_FADD], 0),
    INDEXED("cas", weight[OP_CAS], 0),
    INDEXED("sendinv", weight[OP_SEND_INV], 0),
    INDEXED("bind", weight[OP_BIND], 0),
    INDEXED("inv", weight[OP_INV], 0),
    NAME(bad, 0),               /* number of invalid work requests in 1000 */
    NAME(mtu, 1024),            /* path MTU, bytes */
    NAME(sq, 32),               /* depth of the send queue */
    NAME(rq, 32),               /* depth of the receive queue */
    NAME(srq, 0),               /* 1: the QPs share an SRQ */
    NAME(sge, 1),               /* maximum number of SGEs */
    NAME(inlined, 0),           /* maximum inline bytes */
    NAME(sig, 1),               /* N: every N-th work request is signaled */
    NAME(size, 4096),           /* maximum length of a message, bytes */
    NAME(timeout, 12),          /* ACK timeout code */
    NAME(retry, 7),             /* retry count */
    NAME(rnr, 7),               /* RNR retry count */
    NAME(minrnr, 12),           /* RNR timer code */
    NAME(rd, 4),                /* max_rd_atomic of the QPs */
    NAME(dest, 4),              /* max_dest_rd_atomic of the QPs */
    INDEXED("psn0", psn[0], 0), /* first PSN of the left end's QP 0; -1: random */
    INDEXED("psn1", psn[1], 0),
    NAME(psnstep, 0),   /* difference between the first PSNs of successive QPs */
    NAME(recvs, 32),    /* number of receives posted on a QP before a round */
    NAME(recvdelay, 0), /* maximum time until a consumed receive is replaced, us */
    NAME(recvshort, 0), /* number of receives with a too small buffer in 1000 */
    NAME(pause, 0),     /* maximum time between posts, us */
    NAME(chain, 1),     /* maximum work requests for a call of ibv_post_send() */
    NAME(rewrite, 0),   /* 1: the program overwrites send buffers while they are in flight; 2: also
                         * remote memory */
    NAME(shared, 0),    /* 1: all QPs write to the same 64 bytes of remote memory; 2: to the same 16
                         * KiB */
    NAME(rereg, 0),     /* number of turns of the main loop, out of 100000, in which a memory region
                         * is registered again */
    NAME(cm, 0),        /* 1: rdma_cm connects the QPs */
    NAME(reject, 0),    /* number of connections that the right end rejects */
    NAME(leaveside, 0), /* end that leaves early, 0 or 1 */
    NAME(leaveus, 0),   /* time from the start of the last round until `leaveside` leaves, us */
    NAME(leave, 0),     /* enum leave: how `leaveside` leaves; 0: it does not leave */
    NAME(seconds, 4),   /* maximum time of a round, s */
    NAME(barrier, 1),   /* 0: an end may send before the other end has connected its QPs; 1: it
                         * waits */
    NAME(linger, 5000), /* time between the last completion and the end of a round, us */
};

static const char *const op_names[OPS] = {"SEND", "SEND_IMM", "WRITE",    "WRITE_IMM", "READ",
                                          "FADD", "CAS",      "SEND_INV", "BIND",      "INV"};
static const enum ibv_wr_opcode opcodes[OPS] = {
    IBV_WR_SEND,
    IBV_WR_SEND_WITH_IMM,
    IBV_WR_RDMA_WRITE,
    IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_RDMA_READ,
    IBV_WR_ATOMIC_FETCH_AND_ADD,
    IBV_WR_ATOMIC_CMP_AND_SWP,
    IBV_WR_SEND_WITH_INV,
    IBV_WR_BIND_MW,
    IBV_WR_LOCAL_INV,
};

#define RECV_ID (1ULL << 63) /* set in the wr_id of receives, not of send work requests */

void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("fail: ");
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    _exit(3);
}

int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t random_below(struct end *end, uint64_t limit)
{
    end->random ^= end->random << 13;
    end->random ^= end->random >> 7;
    end->random ^= end->random << 17;
    return limit ? (end->random >> 11) % limit : 0;
}

static bool one_in(struct end *end, uint64_t n)
{
    return random_below(end, n) == 0;
}

static void stamp(void)
{
    const int64_t now = now_ns() / 1000;

    printf("%lld.%06lld ", (long long)(now / 1000000), (long long)(now % 1000000));
}

/* Returns the buffer in `arena` for work request `number` of QP `i`. The queues are so short that
 * no two outstanding requests use the same buffer. */
static uint8_t *slot_of(const struct end *end, uint8_t *arena, int i, long number)
{
    return arena +
           (size_t)(number * end->opt.qps + i) % (ARENA_LEN / end->slot_len) * end->slot_len;
}

/* --- receives */

static void recv_post(struct end *end, int i)
{
    struct queue *q = &end->q[i];
    struct ibv_sge sge = {.addr = (uintptr_t)slot_of(end, end->in, i, q->recvs),
                          .length = (uint32_t)(end->opt.size + GRH_LEN),
                          .lkey = end->in_mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = RECV_ID | (uint64_t)q->recvs, .sg_list = &sge, .num_sge = 1},
                       *bad;
    int error;

    if ((long)random_below(end, 1000) < end->opt.recvshort)
        sge.length = (uint32_t)random_below(end, (uint64_t)end->opt.size);
    error = end->srq ? ibv_post_srq_recv(end->srq, &wr, &bad) : ibv_post_recv(q->qp, &wr, &bad);
    if (error)
        return; /* the queue is full, or the QP has failed */
    q->recvs++;
    if (sge.length == end->opt.size + GRH_LEN && q->recvs < end->opt.recvs)
        return; /* print only the last receive that was posted before the round */
    stamp();
    printf("recv %d %llu len=%u\n", i, (unsigned long long)(wr.wr_id & ~RECV_ID), sge.length);
}

static void recv_owe(struct end *end, int i)
{
    struct queue *q = &end->q[i];

    q->owed_recvs++;
    if (!q->next_recv)
        q->next_recv =
            now_ns() + 1000 * (int64_t)random_below(end, (uint64_t)end->opt.recvdelay + 1);
}

static void recv_due(struct end *end, int i)
{
    struct queue *q = &end->q[i];

    while (q->owed_recvs > 0 && now_ns() >= q->next_recv) {
        recv_post(end, i);
        q->owed_recvs--;
        q->next_recv =
            q->owed_recvs
                ? now_ns() + 1000 * (int64_t)random_below(end, (uint64_t)end->opt.recvdelay + 1)
                : 0;
    }
}

/* --- work requests */

static enum op op_pick(struct end *end)
{
    long sum = 0, at;

    for (int i = 0; i < OPS; i++)
        sum += end->opt.weight[i];
    at = (long)random_below(end, (uint64_t)sum);
    for (int i = 0; i < OPS; i++)
        if ((at -= end->opt.weight[i]) < 0)
            return (enum op)i;
    return OP_SEND;
}

static uint32_t size_pick(struct end *end)
{
    const long max = end->opt.size, mtu = end->opt.mtu;
    long size;

    switch (random_below(end, 8)) {
    case 0: size = (long)random_below(end, 65); break;
    case 1: size = mtu * (long)(1 + random_below(end, 4)) + (long)random_below(end, 3) - 1; break;
    case 2: size = one_in(end, 3) ? 0 : max; break;
    default: size = (long)random_below(end, (uint64_t)max >> random_below(end, 6)) + 1;
    }
    if (end->opt.type == IBV_QPT_UD && size > mtu && !one_in(end, 50))
        size = mtu;
    return (uint32_t)(size > max ? max : size);
}

struct request {
    struct ibv_send_wr wr;
    struct ibv_sge sge[MAX_SGE];
    enum op op;
    uint32_t len;
    const char *bad;
};

static void buffers_set(struct end *end, int i, struct request *r, long number)
{
    const bool sent = r->op != OP_READ && r->op != OP_FADD && r->op != OP_CAS;
    const int count = 1 + (int)random_below(end, (uint64_t)end->opt.sge);
    uint8_t *slot = slot_of(end, sent ? end->out : end->got, i, number);
    uint32_t left = r->len, part;

    for (uint32_t at = 0; sent && at < r->len; at += 8)
        memcpy(slot + at, &(uint64_t){random_below(end, ~0ULL)}, 8);
    r->wr.sg_list = r->sge;
    for (int n = 0; n < count && (left > 0 || n == 0); n++) {
        part = n == count - 1 ? left : (uint32_t)random_below(end, left + 1);
        r->sge[n] = (struct ibv_sge){.addr = (uintptr_t)slot + r->len - left,
                                     .length = part,
                                     .lkey = sent ? end->out_mr->lkey : end->got_mr->lkey};
        left -= part;
        r->wr.num_sge = n + 1;
    }
    if (r->op == OP_FADD || r->op == OP_CAS) {
        r->sge[0].length = 8;
        r->wr.num_sge = 1;
    } else if (r->len == 0 && one_in(end, 2)) {
        r->wr.num_sge = 0;
    }
}

static uint64_t offset_pick(struct end *end, int i, uint32_t len)
{
    const uint64_t part = REGION_LEN / (uint64_t)end->opt.qps;

    if (end->opt.shared == 1)
        return random_below(end, 8) * 8;
    if (end->opt.shared == 2)
        return random_below(end, 16384);
    return (uint64_t)i * part + random_below(end, part > len ? part - len : 1);
}

static void remote_set(struct end *end, int i, struct request *r)
{
    const uint32_t window = end->q[i].peer_mw;
    uint64_t va = end->peer.va + offset_pick(end, i, r->len);
    uint32_t key = window && one_in(end, 2) ? window : end->peer.rkey[KEY_ALL];

    if (r->op == OP_FADD || r->op == OP_CAS) {
        r->wr.wr.atomic.remote_addr = va & ~7ULL;
        r->wr.wr.atomic.rkey = key;
        r->wr.wr.atomic.compare_add =
            one_in(end, 2) ? random_below(end, 4) : random_below(end, ~0ULL);
        r->wr.wr.atomic.swap = random_below(end, ~0ULL);
    } else {
        r->wr.wr.rdma.remote_addr = va;
        r->wr.wr.rdma.rkey = key;
    }
}

/* Makes a work request invalid in a random way. (wr.rdma and wr.atomic both begin with the address,
 * but have the R_Key at different offsets.) */
static void spoil(struct end *end, struct request *r)
{
    const bool atomic = r->op == OP_FADD || r->op == OP_CAS;
    const bool remote = atomic || r->op == OP_READ || r->op == OP_WRITE || r->op == OP_WRITE_IMM;
    uint64_t *va = atomic ? &r->wr.wr.atomic.remote_addr : &r->wr.wr.rdma.remote_addr;
    uint32_t *key = atomic ? &r->wr.wr.atomic.rkey : &r->wr.wr.rdma.rkey;

    if (!remote) {
        if (one_in(end, 3) && r->wr.num_sge > 0 && r->op <= OP_SEND_IMM) {
            r->bad = "lkey";
            r->sge[0].lkey ^= 0x5500;
        } else if (r->op <= OP_SEND_IMM && end->opt.type != IBV_QPT_UD) {
            r->bad = "long";
            r->len = (uint32_t)end->opt.size + GRH_LEN + 1 + (uint32_t)random_below(end, 64);
            r->sge[0].addr = (uintptr_t)end->out;
            r->sge[0].length = r->len;
            r->sge[0].lkey = end->out_mr->lkey;
            r->wr.num_sge = 1;
        }
        return;
    }
    switch (random_below(end, 6)) {
    case 0:
        r->bad = "key";
        *key ^= 1U << random_below(end, 24);
        break;
    case 1:
        r->bad = "stale";
        *key = end->peer.rkey[KEY_STALE];
        break;
    case 2:
        r->bad = "access";
        *key = end->peer.rkey[r->op == OP_READ ? KEY_WRITE : KEY_READ];
        break;
    case 3:
        r->bad = "bounds";
        *va = end->peer.va + REGION_LEN - random_below(end, 9);
        break;
    case 4:
        r->bad = "before";
        *va = end->peer.va - 1 - random_below(end, 4096);
        break;
    default: r->bad = "misaligned"; *va += 1 + random_below(end, 7);
    }
}

static void window_bind(struct end *end, struct queue *q, struct request *r)
{
    const uint64_t at = random_below(end, 8) * 4096;

    r->wr.bind_mw.mw = q->mw;
    r->wr.bind_mw.rkey = ibv_inc_rkey(q->mw_rkey ? q->mw_rkey : q->mw->rkey);
    r->wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
        .mr = end->mr[KEY_ALL],
        .addr = end->mine.va + at,
        .length = REGION_LEN - at,
        .mw_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
}

/* Fills *r with a random work request, number `number` of QP `i`. */
static void request_make(struct end *end, int i, struct request *r, long number)
{
    struct queue *q = &end->q[i];
    const bool last = q->to_post == number + 1;

    *r = (struct request){.op = op_pick(end)};
    if ((r->op == OP_BIND && !q->mw) || (r->op == OP_INV && !q->mw_rkey) ||
        (r->op == OP_SEND_INV && !q->peer_mw))
        r->op = OP_SEND;
    r->len = r->op == OP_FADD || r->op == OP_CAS ? 8 : r->op >= OP_BIND ? 0 : size_pick(end);
    r->wr.wr_id = (uint64_t)number;
    r->wr.opcode = opcodes[r->op];
    if (r->op < OP_BIND)
        buffers_set(end, i, r, number);
    if (last || number % end->opt.sig == 0 || r->op >= OP_BIND)
        r->wr.send_flags |= IBV_SEND_SIGNALED;
    if (one_in(end, 8))
        r->wr.send_flags |= IBV_SEND_SOLICITED;
    if (one_in(end, 12) && end->opt.type == IBV_QPT_RC)
        r->wr.send_flags |= IBV_SEND_FENCE;
    if (r->op < OP_READ && end->opt.inlined && r->len <= end->opt.inlined && one_in(end, 2))
        r->wr.send_flags |= IBV_SEND_INLINE;
    if (r->op == OP_BIND) {
        window_bind(end, q, r);
    } else if (r->op == OP_INV) {
        r->wr.invalidate_rkey = q->mw_rkey;
    } else if (r->op == OP_SEND_INV) {
        r->wr.invalidate_rkey = q->peer_mw;
        q->peer_mw = 0;
    } else if (end->opt.type == IBV_QPT_UD) {
        r->wr.wr.ud.ah = q->ah;
        r->wr.wr.ud.remote_qpn = end->peer.qpn[random_below(end, (uint64_t)end->opt.qps)];
        r->wr.wr.ud.remote_qkey = QKEY;
        if ((long)random_below(end, 1000) < end->opt.bad) {
            r->bad = "qkey";
            r->wr.wr.ud.remote_qkey ^= 1;
        }
        return;
    } else if (r->op >= OP_WRITE) {
        remote_set(end, i, r);
    }
    if (r->op == OP_SEND_IMM || r->op == OP_WRITE_IMM)
        r->wr.imm_data = (uint32_t)random_below(end, 1ULL << 32);
    if ((long)random_below(end, 1000) < end->opt.bad && r->op < OP_SEND_INV)
        spoil(end, r);
}

static void request_print(const struct end *end, int i, const struct request *r)
{
    const bool atomic = r->op == OP_FADD || r->op == OP_CAS;

    stamp();
    printf("post %d %llu %s len=%u", i, (unsigned long long)r->wr.wr_id, op_names[r->op], r->len);
    if (r->op == OP_BIND)
        printf(" rkey=0x%x", r->wr.bind_mw.rkey);
    else if (r->op == OP_INV || r->op == OP_SEND_INV)
        printf(" rkey=0x%x", r->wr.invalidate_rkey);
    else if (end->opt.type == IBV_QPT_UD)
        printf(" to=0x%x", r->wr.wr.ud.remote_qpn);
    else if (r->op >= OP_WRITE)
        printf(" va=0x%llx rkey=0x%x", (unsigned long long)r->wr.wr.rdma.remote_addr,
               atomic ? r->wr.wr.atomic.rkey : r->wr.wr.rdma.rkey);
    printf(" flags=%u sge=%d%s%s\n", r->wr.send_flags, r->wr.num_sge, r->bad ? " bad=" : "",
           r->bad ? r->bad : "");
}

/* Posts a chain of work requests to QP `i` if the send queue has free entries. Returns whether it
 * posted any. */
static bool requests_post(struct end *end, int i)
{
    struct queue *q = &end->q[i];
    struct request r[8];
    struct ibv_send_wr *bad = NULL;
    long n = 1 + (long)random_below(end, (uint64_t)end->opt.chain),
         room = end->opt.sq - (q->posted - q->retired);
    int error;

    n = n > 8 ? 8 : n;
    n = n > room ? room : n;
    n = n > q->to_post - q->posted ? q->to_post - q->posted : n;
    if (n <= 0 || q->failed || now_ns() < q->next_post)
        return false;
    for (long k = 0; k < n; k++) {
        request_make(end, i, &r[k], q->posted + k);
        if (k > 0)
            r[k - 1].wr.next = &r[k].wr;
    }
    for (long k = 0; k < n; k++)
        request_print(end, i, &r[k]);
    error = ibv_post_send(q->qp, &r[0].wr, &bad);
    if (error) {
        printf("QP %d: ibv_post_send rejected the work requests from %llu on: %s\n", i,
               bad ? (unsigned long long)bad->wr_id : 0, strerror(error));
        n = bad ? (long)bad->wr_id - q->posted : 0;
        /* Post no more on this QP: after a rejected post, the program would wait for the wrong
         * signaled requests. */
        q->to_post = q->posted + n;
        if (n > 0 && !(r[n - 1].wr.send_flags & IBV_SEND_SIGNALED))
            q->failed = true;
    }
    q->posted += n;
    if (end->opt.pause)
        q->next_post = now_ns() + 1000 * (int64_t)random_below(end, (uint64_t)end->opt.pause);
    return n > 0;
}

/* --- completions */

static int queue_of(const struct end *end, uint32_t qpn)
{
    for (int i = 0; i < end->opt.qps; i++)
        if (end->q[i].qp && end->q[i].qp->qp_num == qpn)
            return i;
    return -1;
}

static void window_note(struct end *end, int i, const struct ibv_wc *wc)
{
    struct queue *q = &end->q[i];
    struct message message = {.kind = MESSAGE_KEY, .a = (uint32_t)i};

    if (wc->status != IBV_WC_SUCCESS)
        return;
    if (wc->opcode == IBV_WC_BIND_MW) {
        q->mw_rkey = ibv_inc_rkey(q->mw_rkey ? q->mw_rkey : q->mw->rkey);
        message.b = q->mw_rkey;
        peer_send(end, &message);
    } else if (wc->opcode == IBV_WC_LOCAL_INV && one_in(end, 2)) {
        /* In half of the tries, do not report the new key to the peer, so that it still uses the
         * invalid key. */
        peer_send(end, &message);
    }
}

static void complete(struct end *end, const struct ibv_wc *wc)
{
    const int i = queue_of(end, wc->qp_num);
    /* Decide by the wr_id, because the opcode of a failed completion is not valid. */
    const bool recv = wc->wr_id & RECV_ID;

    if (i >= 0 && recv && wc->status == IBV_WC_WR_FLUSH_ERR && end->q[i].failed)
        return; /* of the flushed receives, only the first is printed */
    stamp();
    printf("%s %d %llu %s len=%u%s\n", recv ? "rwc" : "wc", i,
           (unsigned long long)(wc->wr_id & ~RECV_ID), ibv_wc_status_str(wc->status),
           wc->status == IBV_WC_SUCCESS ? wc->byte_len : 0,
           wc->status == IBV_WC_SUCCESS && wc->wc_flags & IBV_WC_WITH_INV ? " invalidated" : "");
    if (i < 0)
        return;
    if (wc->status != IBV_WC_SUCCESS)
        end->q[i].failed = true;
    if (recv && wc->status == IBV_WC_SUCCESS) {
        recv_owe(end, i);
    } else if (!recv) {
        end->q[i].retired = (long)wc->wr_id + 1;
        window_note(end, i, wc);
    }
}

static bool completions_poll(struct end *end)
{
    struct ibv_wc wc[16];
    const int n = ibv_poll_cq(end->cq, 16, wc);

    for (int k = 0; k < n; k++)
        complete(end, &wc[k]);
    return n > 0;
}

static void events_print(struct end *end)
{
    struct ibv_async_event event;
    struct rdma_cm_event *cm;

    while (ibv_get_async_event(end->ctx, &event) == 0) {
        stamp();
        printf("async event: %s\n", ibv_event_type_str(event.event_type));
        ibv_ack_async_event(&event);
    }
    while (end->channel && rdma_get_cm_event(end->channel, &cm) == 0) {
        stamp();
        printf("cm event %s status=%d\n", rdma_event_str(cm->event), cm->status);
        rdma_ack_cm_event(cm);
    }
}

/* --- a round */

static void disturb(struct end *end)
{
    if (end->opt.rewrite && one_in(end, 3))
        memset(end->out + random_below(end, ARENA_LEN - 4096), (int)random_below(end, 256),
               random_below(end, 4096));
    /* The responder's program also writes to the memory that the peer accesses. */
    if (end->opt.rewrite == 2 && one_in(end, 10))
        memset(end->region + random_below(end, REGION_LEN - 256), (int)random_below(end, 256),
               random_below(end, 256));
    if ((long)random_below(end, 100000) < end->opt.rereg)
        end_key_renew(end);
}

static void leave(struct end *end)
{
    stamp();
    printf("leaves: %ld\n", end->opt.leave);
    fflush(stdout);
    if (end->opt.leave == LEAVE_EXIT)
        _exit(9);
    for (int i = 0; i < end->opt.qps; i++) {
        struct queue *q = &end->q[i];

        if (!q->qp)
            continue;
        q->failed = true;
        if (end->opt.leave == LEAVE_DISCONNECT && q->id)
            rdma_disconnect(q->id);
        else if (end->opt.leave == LEAVE_DESTROY && !q->id)
            ibv_destroy_qp(q->qp), q->qp = NULL;
        else
            queue_move(q, end->opt.leave == LEAVE_RESET ? IBV_QPS_RESET : IBV_QPS_ERR);
    }
}

static bool all_done(const struct end *end)
{
    for (int i = 0; i < end->opt.qps; i++) {
        const struct queue *q = &end->q[i];

        if (q->qp &&
            (q->failed ? q->retired < q->posted && end->opt.leave == 0 : q->retired < q->to_post))
            return false;
    }
    return true;
}

static void round_run(struct end *end, bool leaves)
{
    const struct message done = {.kind = MESSAGE_DONE};
    const int64_t start = now_ns(), over = start + end->opt.seconds * 1000000000;
    int64_t gone = 0;
    bool told = false, left = false, busy;
    int idle = 0;

    while (now_ns() < over) {
        peer_poll(end);
        busy = completions_poll(end);
        for (int i = 0; i < end->opt.qps; i++) {
            if (!end->q[i].qp)
                continue;
            recv_due(end, i);
            busy |= requests_post(end, i);
        }
        disturb(end);
        events_print(end);
        if (leaves && !left && now_ns() > start + end->opt.leaveus * 1000) {
            leave(end);
            left = true;
        }
        if (!told && (all_done(end) || left)) {
            peer_send(end, &done);
            told = true;
        }
        if (end->peer_gone && !gone)
            /* The peer is gone. Wait 1.5 s more, so that the QPs of this end detect that it no
             * longer answers. */
            gone = now_ns() + 1500000000;
        if (told && (end->peer_done || (gone && now_ns() > gone)))
            break;
        idle = busy ? 0 : idle + 1;
        if (idle) /* While this end has nothing to do, let the other guest use the processor. */
            usleep(idle < 50 ? 40 : 1000);
    }
    if (!told)
        peer_send(end, &done);
    end->incomplete |= !all_done(end);
    stamp();
    printf("round over%s\n", all_done(end) ? "" : ", not all completed");
    fflush(stdout);
    for (const int64_t until = now_ns() + end->opt.linger * 1000; now_ns() < until; usleep(100))
        completions_poll(end);
}

static bool exchange(struct end *end)
{
    struct message message = {.kind = MESSAGE_ENDPOINT, .end = end->mine};

    peer_send(end, &message);
    if (!peer_wait(end, MESSAGE_ENDPOINT, &message))
        return false;
    end->peer = message.end;
    return true;
}

static void psns_pick(struct end *end)
{
    const long first = end->opt.psn[end->opt.side];

    for (int i = 0; i < end->opt.qps; i++)
        end->mine.psn[i] = (uint32_t)(first < 0 ? (long)random_below(end, 1 << 24)
                                                : first + i * end->opt.psnstep) &
                           0xffffff;
}

static void receives_post(struct end *end)
{
    for (int i = 0; i < end->opt.qps; i++)
        for (long n = 0; n < end->opt.recvs && end->q[i].qp && (!end->srq || i == 0); n++)
            recv_post(end, i);
}

/* Creates and connects all QPs. Returns true, or false if the peer is gone. */
static bool queues_open(struct end *end)
{
    if (end->opt.cm) {
        cm_connect_all(end);
        receives_post(end);
        return exchange(end);
    }
    psns_pick(end);
    for (int i = 0; i < end->opt.qps; i++) {
        if (!end->q[i].qp)
            queue_create(end, i);
        queue_to_init(end, i);
        end->mine.qpn[i] = end->q[i].qp->qp_num;
    }
    receives_post(end);
    if (!exchange(end))
        return false;
    for (int i = 0; i < end->opt.qps; i++)
        queue_connect(end, i);
    return !end->opt.barrier || exchange(end);
}

static void queues_close(struct end *end)
{
    for (int i = 0; i < end->opt.qps; i++) {
        struct queue *q = &end->q[i];

        if (end->opt.cm && q->id && i % 2 == end->opt.side)
            rdma_disconnect(q->id);
        if (end->opt.reuse && q->qp)
            queue_move(q, IBV_QPS_RESET);
    }
    for (const int64_t until = now_ns() + 20000000; end->opt.cm && now_ns() < until; usleep(500))
        events_print(end);
    while (completions_poll(end)) {
    }
    for (int i = 0; i < end->opt.qps && !end->opt.reuse; i++)
        queue_destroy(&end->q[i]);
}

static void rounds_run(struct end *end)
{
    for (long round = 0; round < end->opt.rounds; round++) {
        for (int i = 0; i < end->opt.qps; i++) {
            struct queue *q = &end->q[i];

            q->posted = q->retired = q->recvs = q->owed_recvs = 0;
            q->next_recv = q->next_post = 0;
            q->failed = false;
            q->to_post = end->opt.ops[end->opt.side];
        }
        end->peer_done = false;
        stamp();
        printf("round %ld\n", round);
        if (!queues_open(end)) {
            printf("the peer is gone\n");
            return;
        }
        round_run(end, end->opt.leave && end->opt.leaveside == end->opt.side &&
                           round == end->opt.rounds - 1);
        queues_close(end);
        if (end->peer_gone)
            return;
    }
}

/* Parses an argument "left=ADDRESS", "right=ADDRESS" or "control=ADDRESS". Returns true, or false
 * for any other argument. */
static bool address_parse(struct end *end, const char *argument)
{
    if (strncmp(argument, "left=", 5) == 0)
        end->ip[LEFT] = argument + 5;
    else if (strncmp(argument, "right=", 6) == 0)
        end->ip[RIGHT] = argument + 6;
    else if (strncmp(argument, "control=", 8) == 0)
        end->control = argument + 8;
    else
        return false;
    return true;
}

static void options_parse(struct end *end, int argc, char **argv)
{
    struct options *opt = &end->opt;

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        *(long *)((char *)opt + names[n].at) = names[n].usual;
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        size_t n = 0;

        if (address_parse(end, argv[i]))
            continue;
        while (equals && n < sizeof(names) / sizeof(names[0]) &&
               (strncmp(argv[i], names[n].name, (size_t)(equals - argv[i])) ||
                strlen(names[n].name) != (size_t)(equals - argv[i])))
            n++;
        if (!equals || n == sizeof(names) / sizeof(names[0]))
            fail("unknown option: %s", argv[i]);
        *(long *)((char *)opt + names[n].at) = strtol(equals + 1, NULL, 0);
    }
    if (opt->qps < 1 || opt->qps > MAX_QPS || opt->sge < 1 || opt->sge > MAX_SGE ||
        opt->sq > MAX_DEPTH || opt->rq > MAX_DEPTH || opt->size > MAX_SIZE)
        fail("an option is out of range");
}

int main(int argc, char **argv)
{
    static struct end end = {.ip = {"192.0.2.1", "192.0.2.2"}, .control = "198.51.100.2"};

    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    options_parse(&end, argc, argv);
    end.random = 0x9e3779b97f4a7c15ULL * (uint64_t)(2 * end.opt.seed + end.opt.side + 1);
    for (int i = 0; i < 10; i++)
        random_below(&end, 1);
    end_open(&end);
    if (end.opt.cm)
        cm_listen(&end);
    peer_connect(&end);
    rounds_run(&end);
    printf("over\n");
    return end.incomplete;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mistakes: makes typical programming mistakes, each on a new pair of QPs of one process, and
 * checks the errors. Prints each case with its status. The exit status is 1 if a case has another
 * status than the verbs manual pages and the specification require.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "endpoint.h"

struct pair {
    struct endpoint a, b;
    struct ibv_mr *mr_a, *mr_b;
    char buf_a[12288], buf_b[12288];
};

static struct ibv_context *context;
static int failures;

static void expect(const char *what, int got, int wanted, const char *word)
{
    bool good = got == wanted;
    printf("%-58s %s%s\n", what, word, good ? "" : "   <-- another result was expected");
    failures += !good;
}

static void expect_status(const char *what, struct ibv_wc wc, enum ibv_wc_status wanted)
{
    expect(what, (int)wc.status, (int)wanted, ibv_wc_status_str(wc.status));
}

static void expect_errno(const char *what, int got, int wanted)
{
    expect(what, got, wanted, got ? strerror(got) : "success");
}

static struct ibv_qp_init_attr init_attr(void)
{
    return (struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 8,
                .max_recv_wr = 8,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 64},
    };
}

static struct pair *pair_open(int cqe)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct ibv_qp_init_attr init = init_attr();
    endpoint_open(&pair->a, context, cqe, &init);
    init = init_attr();
    endpoint_open(&pair->b, context, cqe, &init);
    const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                    IBV_ACCESS_REMOTE_ATOMIC;
    pair->mr_a = ibv_reg_mr(pair->a.pd, pair->buf_a, sizeof pair->buf_a, all);
    pair->mr_b = ibv_reg_mr(pair->b.pd, pair->buf_b, sizeof pair->buf_b, all);
    if (!pair->mr_a || !pair->mr_b)
        die("ibv_reg_mr: %s", strerror(errno));
    const struct endpoint_address a = {.qpn = pair->a.qp->qp_num, .psn = 100, .gid = pair->a.gid};
    const struct endpoint_address b = {.qpn = pair->b.qp->qp_num, .psn = 200, .gid = pair->b.gid};
    endpoint_connect(&pair->a, &b, a.psn);
    endpoint_connect(&pair->b, &a, b.psn);
    return pair;
}

static void pair_close(struct pair *pair)
{
    if ((pair->mr_a && ibv_dereg_mr(pair->mr_a)) || (pair->mr_b && ibv_dereg_mr(pair->mr_b)))
        die("ibv_dereg_mr failed");
    endpoint_close(&pair->a);
    endpoint_close(&pair->b);
    free(pair);
}

/* Returns a valid WRITE of 64 bytes from `a` to `b`. Each case then changes it to make its
 * mistake. */
static struct ibv_send_wr write_wr(struct pair *pair, struct ibv_sge *sge)
{
    *sge = (struct ibv_sge){.addr = (uintptr_t)pair->buf_a, .length = 64, .lkey = pair->mr_a->lkey};
    return (struct ibv_send_wr){
        .wr_id = 1,
        .sg_list = sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr = (uintptr_t)pair->buf_b, .rkey = pair->mr_b->rkey},
    };
}

static int post(struct pair *pair, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad = NULL;
    int error = ibv_post_send(pair->a.qp, wr, &bad);
    if (error && bad != wr)
        die("bad_wr does not name the request");
    return error;
}

static int post_recv(struct endpoint *ep, struct ibv_mr *mr, char *buf, uint32_t len, int sges)
{
    struct ibv_sge sge[3] = {{(uintptr_t)buf, len, mr->lkey}};
    struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = sge, .num_sge = sges}, *bad = NULL;
    return ibv_post_recv(ep->qp, &wr, &bad);
}

static void good(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    memset(pair->buf_a, 'x', 64);
    expect_errno("nothing wrong: post", post(pair, &wr), 0);
    expect_status("nothing wrong: completion", endpoint_wait(pair->a.cq), IBV_WC_SUCCESS);
    expect("nothing wrong: the bytes", memcmp(pair->buf_a, pair->buf_b, 64), 0, "compared");
    pair_close(pair);
}

static void local_key(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    static char elsewhere[64];
    /* The mistake: this memory is not in the region to which the L_Key belongs. */
    sge.addr = (uintptr_t)elsewhere;
    expect_errno("unregistered memory: post", post(pair, &wr), 0);
    expect_status("unregistered memory", endpoint_wait(pair->a.cq), IBV_WC_LOC_PROT_ERR);
    pair_close(pair);
}

static void remote_key(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    wr.wr.rdma.rkey ^= 0x5a5a;
    post(pair, &wr);
    expect_status("wrong rkey", endpoint_wait(pair->a.cq), IBV_WC_REM_ACCESS_ERR);
    pair_close(pair);
}

static void remote_range(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    wr.wr.rdma.remote_addr += sizeof pair->buf_b - 63;
    post(pair, &wr);
    expect_status("one byte beyond the region", endpoint_wait(pair->a.cq), IBV_WC_REM_ACCESS_ERR);
    pair_close(pair);
}

static void deregistered(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    ibv_dereg_mr(pair->mr_b);
    pair->mr_b = NULL;
    post(pair, &wr);
    expect_status("deregistered region at the peer", endpoint_wait(pair->a.cq),
                  IBV_WC_REM_ACCESS_ERR);
    pair_close(pair);
}

static void deregistered_here(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    ibv_dereg_mr(pair->mr_a);
    pair->mr_a = NULL;
    post(pair, &wr);
    expect_status("deregistered region here", endpoint_wait(pair->a.cq), IBV_WC_LOC_PROT_ERR);
    pair_close(pair);
}

static void no_receive(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    wr.opcode = IBV_WR_SEND;
    post(pair, &wr);
    expect_status("no receive posted, rnr_retry 1", endpoint_wait(pair->a.cq),
                  IBV_WC_RNR_RETRY_EXC_ERR);
    pair_close(pair);
}

static void short_receive(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    wr.opcode = IBV_WR_SEND;
    expect_errno("receive buffer too short: post",
                 post_recv(&pair->b, pair->mr_b, pair->buf_b, 32, 1), 0);
    post(pair, &wr);
    expect_status("receive buffer too short: sender", endpoint_wait(pair->a.cq),
                  IBV_WC_REM_INV_REQ_ERR);
    expect_status("receive buffer too short: receiver", endpoint_wait(pair->b.cq),
                  IBV_WC_LOC_LEN_ERR);
    pair_close(pair);
}

static void peer_gone(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    ibv_modify_qp(pair->b.qp, &attr, IBV_QP_STATE);
    post(pair, &wr);
    expect_status("the peer does not answer", endpoint_wait(pair->a.cq), IBV_WC_RETRY_EXC_ERR);
    expect_errno("a request after that: post", post(pair, &wr), 0);
    expect_status("a request after that", endpoint_wait(pair->a.cq), IBV_WC_WR_FLUSH_ERR);
    pair_close(pair);
}

static void refused_posts(void)
{
    struct pair *pair = pair_open(16);
    struct ibv_sge sge[3] = {{0}};
    struct ibv_send_wr wr = write_wr(pair, sge);
    wr.num_sge = 3;
    sge[1] = sge[2] = sge[0];
    expect_errno("too many SGEs: ibv_post_send", post(pair, &wr), EINVAL);
    expect_errno("too many SGEs: ibv_post_recv",
                 post_recv(&pair->a, pair->mr_a, pair->buf_a, 64, 3), EINVAL);
    wr.num_sge = 1;
    wr.send_flags |= IBV_SEND_INLINE;
    sge[0].length = 65;
    expect_errno("inline data longer than max_inline_data", post(pair, &wr), EINVAL);
    wr.send_flags &= ~(unsigned)IBV_SEND_INLINE;
    sge[0].length = 64;
    wr.opcode = (enum ibv_wr_opcode)77;
    expect_errno("an opcode that is none", post(pair, &wr), EINVAL);
    int error = 0;
    for (int i = 0; i < 9 && !error; i++)
        error = post_recv(&pair->a, pair->mr_a, pair->buf_a, 64, 1);
    expect_errno("more receives than max_recv_wr", error, ENOMEM);
    pair_close(pair);
}

static void wrong_state(void)
{
    struct ibv_qp_init_attr init = init_attr();
    struct endpoint ep;
    endpoint_open(&ep, context, 16, &init);
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
    struct ibv_recv_wr recv = {.wr_id = 1}, *bad_recv;
    expect_errno("QP in INIT: ibv_post_send", ibv_post_send(ep.qp, &wr, &bad), EINVAL);
    expect_errno("QP in INIT: ibv_post_recv", ibv_post_recv(ep.qp, &recv, &bad_recv), 0);
    struct ibv_recv_wr nowhere = {.num_sge = 1};
    expect_errno("a receive without its list of SGEs", ibv_post_recv(ep.qp, &nowhere, &bad_recv),
                 EINVAL);
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 1, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(ep.pd, &shared);
    expect_errno("the same of an SRQ", srq ? ibv_post_srq_recv(srq, &nowhere, &bad_recv) : 0,
                 EINVAL);
    expect_errno("the SRQ goes", srq ? ibv_destroy_srq(srq) : EINVAL, 0);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
    expect_errno("INIT to RTS", ibv_modify_qp(ep.qp, &attr, IBV_QP_STATE), EINVAL);
    attr.qp_state = IBV_QPS_RTR;
    expect_errno("INIT to RTR without its attributes", ibv_modify_qp(ep.qp, &attr, IBV_QP_STATE),
                 EINVAL);
    attr.qp_state = IBV_QPS_RESET;
    expect_errno("any to RESET", ibv_modify_qp(ep.qp, &attr, IBV_QP_STATE), 0);
    expect_errno("QP in RESET: ibv_post_recv", ibv_post_recv(ep.qp, &recv, &bad_recv), EINVAL);
    endpoint_close(&ep);
}

static void overrun(void)
{
    struct pair *pair = pair_open(2);
    struct ibv_sge sge;
    struct ibv_send_wr wr = write_wr(pair, &sge);
    struct ibv_async_event event;
    for (int i = 0; i <= pair->a.cq->cqe; i++)
        post(pair, &wr);
    if (ibv_get_async_event(context, &event) != 0)
        die("ibv_get_async_event: %s", strerror(errno));
    expect("CQ overrun: asynchronous event", (int)event.event_type, IBV_EVENT_CQ_ERR,
           ibv_event_type_str(event.event_type));
    expect("CQ overrun: of the CQ", event.element.cq == pair->a.cq, 1, "compared");
    ibv_ack_async_event(&event);
    if (ibv_get_async_event(context, &event) != 0)
        die("ibv_get_async_event: %s", strerror(errno));
    expect("CQ overrun: and of the QP", (int)event.event_type, IBV_EVENT_QP_FATAL,
           ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
    pair_close(pair);
}

static void bad_memory(void)
{
    struct ibv_pd *pd = ibv_alloc_pd(context);
    long page = sysconf(_SC_PAGESIZE);
    char *map =
        mmap(NULL, (size_t)page * 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(map + page, (size_t)page);
    mprotect(map + 2 * page, (size_t)page, PROT_READ);
    const int write = IBV_ACCESS_LOCAL_WRITE;
    struct ibv_mr *mr = ibv_reg_mr(pd, map, (size_t)page, write);
    expect_errno("memory that is there", mr ? 0 : errno, 0);
    if (mr)
        ibv_dereg_mr(mr);
    mr = ibv_reg_mr(pd, map + page, (size_t)page, 0);
    expect_errno("memory that is not mapped", mr ? 0 : errno, EFAULT);
    mr = ibv_reg_mr(pd, map, (size_t)page * 3, 0);
    expect_errno("memory with a hole", mr ? 0 : errno, EFAULT);
    mr = ibv_reg_mr(pd, map + 2 * page, (size_t)page, write);
    expect_errno("read-only memory with LOCAL_WRITE", mr ? 0 : errno, EFAULT);
    mr = ibv_reg_mr(pd, map + 2 * page, (size_t)page, 0);
    expect_errno("read-only memory without", mr ? 0 : errno, 0);
    if (mr)
        ibv_dereg_mr(mr);
    mr = ibv_reg_mr(pd, map, (size_t)page, IBV_ACCESS_REMOTE_WRITE);
    expect_errno("REMOTE_WRITE without LOCAL_WRITE", mr ? 0 : errno, EINVAL);
    mr = ibv_reg_mr(pd, NULL, SIZE_MAX, write);
    expect_errno("all of memory", mr ? 0 : errno, EFAULT);
    munmap(map, (size_t)page);
    munmap(map + 2 * page, (size_t)page);
    ibv_dealloc_pd(pd);
}

static void busy(void)
{
    struct pair *pair = pair_open(16);
    expect_errno("a PD that is in use", ibv_dealloc_pd(pair->a.pd), EBUSY);
    expect_errno("a CQ that is in use", ibv_destroy_cq(pair->a.cq), EBUSY);
    struct ibv_qp_init_attr init = init_attr();
    init.send_cq = init.recv_cq = pair->a.cq;
    init.cap.max_inline_data = 1 << 20;
    struct ibv_qp *qp = ibv_create_qp(pair->a.pd, &init);
    expect_errno("max_inline_data of a megabyte", qp ? 0 : errno, EINVAL);
    init = init_attr();
    init.send_cq = init.recv_cq = pair->a.cq;
    init.cap.max_send_wr = 1 << 30;
    qp = ibv_create_qp(pair->a.pd, &init);
    expect_errno("max_send_wr of 2^30", qp ? 0 : errno, EINVAL);
    pair_close(pair);
}

/* ibv_create_qp_ex() must fail if the QP's type lacks an operation that the program asks for (table
 * of ibv_wr_post(3)). */
static void operations_of_types(void)
{
    const uint64_t send = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    const struct {
        const char *what;
        enum ibv_qp_type type;
        uint64_t ops;
        int wanted;
    } cases[] = {
        {"SEND on UD", IBV_QPT_UD, send, 0},
        {"SEND with Invalidate on UD", IBV_QPT_UD, IBV_QP_EX_WITH_SEND_WITH_INV, EOPNOTSUPP},
        {"WRITE on UD", IBV_QPT_UD, send | IBV_QP_EX_WITH_RDMA_WRITE, EOPNOTSUPP},
        {"READ on UD", IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_READ, EOPNOTSUPP},
        {"a bind on UD", IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW, EOPNOTSUPP},
        {"WRITE and a bind on UC", IBV_QPT_UC,
         send | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_BIND_MW |
             IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV,
         0},
        {"READ on UC", IBV_QPT_UC, send | IBV_QP_EX_WITH_RDMA_READ, EOPNOTSUPP},
        {"an atomic on UC", IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, EOPNOTSUPP},
        {"an atomic on RC", IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, 0},
    };
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ibv_qp_init_attr_ex attr = {
            .send_cq = cq,
            .recv_cq = cq,
            .qp_type = cases[i].type,
            .cap = init_attr().cap,
            .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
            .pd = pd,
            .send_ops_flags = cases[i].ops,
        };
        struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);
        expect_errno(cases[i].what, qp ? 0 : errno, cases[i].wanted);
        if (qp)
            ibv_destroy_qp(qp);
    }
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
}

/* The memory of a registered region is unmapped, becomes read-only, or its file is truncated.
 * Hardware pins the pages, but this device does not. So the request must fail at the end that has
 * the memory, without an effect on other QPs. */
static void unmapped(void)
{
    enum { LEN = 3 << 12, PART = 5000 }; /* lengths of the region, and of the shorter messages */
    static const struct {
        const char *what;
        enum ibv_wr_opcode opcode;
        enum { THERE, HERE, RECEIVED } whose;
        enum { GONE, READ_ONLY, CUT } how;
        enum ibv_wc_status status;
    } cases[] = {
        {"WRITE to unmapped memory", IBV_WR_RDMA_WRITE, THERE, GONE, IBV_WC_REM_ACCESS_ERR},
        {"READ of unmapped memory", IBV_WR_RDMA_READ, THERE, GONE, IBV_WC_REM_ACCESS_ERR},
        {"atomic on unmapped memory", IBV_WR_ATOMIC_FETCH_AND_ADD, THERE, GONE,
         IBV_WC_REM_ACCESS_ERR},
        {"WRITE from unmapped memory", IBV_WR_RDMA_WRITE, HERE, GONE, IBV_WC_LOC_PROT_ERR},
        {"READ into unmapped memory", IBV_WR_RDMA_READ, HERE, GONE, IBV_WC_LOC_PROT_ERR},
        {"SEND to an unmapped buffer", IBV_WR_SEND, RECEIVED, GONE, IBV_WC_REM_OP_ERR},
        {"WRITE to what is read-only now", IBV_WR_RDMA_WRITE, THERE, READ_ONLY,
         IBV_WC_REM_ACCESS_ERR},
        {"READ of what is read-only now", IBV_WR_RDMA_READ, THERE, READ_ONLY, IBV_WC_SUCCESS},
        {"WRITE to a file that was cut", IBV_WR_RDMA_WRITE, THERE, CUT, IBV_WC_REM_ACCESS_ERR},
        {"READ of a file that was cut", IBV_WR_RDMA_READ, THERE, CUT, IBV_WC_REM_ACCESS_ERR},
    };
    const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                    IBV_ACCESS_REMOTE_ATOMIC;
    for (size_t n = 0; n < 2 * (sizeof cases / sizeof *cases); n++) {
        const size_t i = n / 2;
        struct pair *pair = pair_open(16);
        struct endpoint *ep = cases[i].whose == HERE ? &pair->a : &pair->b;
        FILE *file = tmpfile();
        if (!file || ftruncate(fileno(file), LEN) != 0)
            die("tmpfile: %s", strerror(errno));
        char *at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        struct ibv_mr *mr = at == MAP_FAILED ? NULL : ibv_reg_mr(ep->pd, at, LEN, all);
        struct ibv_sge sge;
        struct ibv_send_wr wr = write_wr(pair, &sge);
        if (!mr)
            die("%s: no region", cases[i].what);
        wr.opcode = cases[i].opcode;
        sge.length = wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : n % 2 ? LEN : PART;
        if (cases[i].whose == HERE) {
            sge.addr = (uintptr_t)at;
            sge.lkey = mr->lkey;
        } else if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
            wr.wr.atomic.remote_addr = (uintptr_t)at;
            wr.wr.atomic.rkey = mr->rkey;
        } else if (cases[i].whose == THERE) {
            wr.wr.rdma.remote_addr = (uintptr_t)at;
            wr.wr.rdma.rkey = mr->rkey;
        } else if (post_recv(&pair->b, mr, at, LEN, 1) != 0)
            die("%s: no receive", cases[i].what);
        if ((cases[i].how == GONE && munmap(at, LEN) != 0) ||
            (cases[i].how == READ_ONLY && mprotect(at, LEN, PROT_READ) != 0) ||
            (cases[i].how == CUT && ftruncate(fileno(file), 0) != 0))
            die("%s: %s", cases[i].what, strerror(errno));
        post(pair, &wr);
        expect_status(cases[i].what, endpoint_wait(pair->a.cq), cases[i].status);
        if (cases[i].whose == RECEIVED)
            expect_status("and at the receiver", endpoint_wait(pair->b.cq), IBV_WC_LOC_PROT_ERR);
        ibv_dereg_mr(mr);
        if (cases[i].how != GONE)
            munmap(at, LEN);
        fclose(file);
        pair_close(pair);
    }
}

static void die_of(int sig)
{
    _exit(sig);
}

/* The program installs its own handlers for SIGSEGV and SIGBUS, and this thread blocks all signals.
 * The device, which uses these signals, must still work. */
static void has_signals_of_its_own(void)
{
    const struct sigaction own = {.sa_handler = die_of};
    sigset_t all;
    sigfillset(&all);
    if (sigaction(SIGSEGV, &own, NULL) != 0 || sigaction(SIGBUS, &own, NULL) != 0 ||
        pthread_sigmask(SIG_SETMASK, &all, NULL) != 0)
        die("signals: %s", strerror(errno));
    usleep(30000); /* the device may notice the new handlers late (verbs/page_probe.h) */
}

int main(void)
{
    context = endpoint_device(NULL);
    good();
    local_key();
    remote_key();
    remote_range();
    deregistered();
    deregistered_here();
    no_receive();
    short_receive();
    peer_gone();
    refused_posts();
    wrong_state();
    overrun();
    bad_memory();
    unmapped();
    has_signals_of_its_own();
    unmapped();
    busy();
    operations_of_types();
    if (ibv_close_device(context) != 0)
        die("ibv_close_device failed");
    printf("%s\n", failures ? "WRONG" : "all cases passed");
    return failures != 0;
}

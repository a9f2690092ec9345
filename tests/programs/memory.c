/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory: tests kinds of memory that few programs use. These are zero-based regions, on-demand
 * paging, device memory, and objects shared between two contexts with ibv_import_device(). Each
 * case checks the effect and the errors.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "both.h"

#define PAGE 4096u

static struct ibv_context *context;

static char *map_page(void *at)
{
    char *page = mmap(at, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    MUST(page != MAP_FAILED);
    return page;
}

/* Reads (RDMA READ) `len` bytes at remote address `addr` with R_Key `rkey` into the last bytes of
 * buf_a. Returns the completion status. */
static enum ibv_wc_status read_back(struct both *both, uint64_t addr, uint32_t rkey, uint32_t len)
{
    struct ibv_sge sge = {(uintptr_t)both->buf_a + BUF - len, len, both->mr_a->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_READ,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {addr, rkey}},
                       *bad = NULL;
    MUST(ibv_post_send(both->a.qp, &wr, &bad) == 0);
    return endpoint_wait(both->a.cq).status;
}

static void zero_based(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_mr *mr =
        ibv_reg_mr(both.b.pd, both.buf_b + 64, 128, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
    MUST(mr != NULL && mr->addr == both.buf_b + 64);
    MUST(both_write(&both, 16, mr->rkey, 112) == IBV_WC_SUCCESS);
    MUST(memcmp(both.buf_b + 80, both.buf_a, 112) == 0);
    MUST(both_write(&both, 17, mr->rkey, 112) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_dereg_mr(mr) == 0);
    both_close(&both);
}

/* ---- on-demand paging ------------------------------------------------------------------------ */

static void capabilities(void)
{
    struct ibv_device_attr_ex attr;
    MUST(ibv_query_device_ex(context, NULL, &attr) == 0);
    MUST(attr.odp_caps.general_caps == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT));
    MUST(attr.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_ATOMIC);
    MUST((attr.odp_caps.per_transport_caps.rc_odp_caps & 0xc0) == 0xc0); /* FLUSH, ATOMIC WRITE */
    MUST(!(attr.odp_caps.per_transport_caps.uc_odp_caps & IBV_ODP_SUPPORT_READ));
    MUST(!(attr.odp_caps.per_transport_caps.ud_odp_caps & IBV_ODP_SUPPORT_WRITE));
    MUST(attr.max_dm_size > 0);
}

/* Registers memory that is not mapped: must fail without IBV_ACCESS_ON_DEMAND and succeed with it.
 * A request must fail while the page does not exist, and succeed when the page exists. */
static void on_demand(void)
{
    struct both both;
    both_open(&both, context);
    char *page = map_page(NULL);
    MUST(munmap(page, PAGE) == 0);
    errno = 0;
    MUST(ibv_reg_mr(both.b.pd, page, PAGE, ALL_ACCESS) == NULL && errno == EFAULT);
    struct ibv_mr *mr = ibv_reg_mr(both.b.pd, page, PAGE, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
    MUST(mr != NULL);
    MUST(map_page(page) == page);
    MUST(both_write(&both, (uintptr_t)page + 5, mr->rkey, 1000) == IBV_WC_SUCCESS);
    MUST(memcmp(page + 5, both.buf_a, 1000) == 0);
    /* Map a new page at the same address: all its bytes are 0. */
    MUST(munmap(page, PAGE) == 0 && map_page(page) == page);
    MUST(read_back(&both, (uintptr_t)page + 5, mr->rkey, 100) == IBV_WC_SUCCESS);
    MUST(both.buf_a[BUF - 100] == 0 && both.buf_a[BUF - 1] == 0);
    MUST(munmap(page, PAGE) == 0);
    MUST(both_write(&both, (uintptr_t)page, mr->rkey, 8) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_dereg_mr(mr) == 0);
    both_close(&both);
}

/* Registers implicit regions (address 0, length SIZE_MAX). They must give access to the whole
 * address space, as local and as remote memory. */
static void implicit(void)
{
    struct both both;
    static char target[300];
    char source[300];
    both_open(&both, context);
    struct ibv_mr *local = ibv_reg_mr(both.a.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
    struct ibv_mr *remote =
        ibv_reg_mr(both.b.pd, NULL, SIZE_MAX, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
    MUST(local && remote && local->length == SIZE_MAX);
    memset(source, 'x', sizeof source);
    struct ibv_sge sge = {(uintptr_t)source, sizeof source, local->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {(uintptr_t)target, remote->rkey}},
                       *bad = NULL;
    MUST(ibv_post_send(both.a.qp, &wr, &bad) == 0);
    MUST(endpoint_wait(both.a.cq).status == IBV_WC_SUCCESS);
    MUST(memcmp(target, source, sizeof source) == 0);
    /* Must fail: page 0 is not mapped. */
    MUST(both_write(&both, 4, remote->rkey, 4) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_dereg_mr(local) == 0 && ibv_dereg_mr(remote) == 0);
    errno = 0;
    MUST(ibv_reg_mr(both.a.pd, NULL, SIZE_MAX, 0) == NULL && errno != 0);
    errno = 0;
    MUST(ibv_reg_mr(both.a.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB) == NULL &&
         errno == EINVAL);
    errno = 0;
    MUST(ibv_reg_mr(both.a.pd, NULL, PAGE, IBV_ACCESS_ON_DEMAND) == NULL && errno == EINVAL);
    both_close(&both);
}

static bool is_present(char *page)
{
    unsigned char is = 0;
    MUST(mincore(page, PAGE, &is) == 0);
    return is & 1;
}

static int advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, unsigned flags,
                  const void *addr, uint32_t len, uint32_t lkey)
{
    struct ibv_sge sge = {(uintptr_t)addr, len, lkey};
    return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

static void prefetch(void)
{
    struct ibv_pd *pd = ibv_alloc_pd(context), *other = ibv_alloc_pd(context);
    const unsigned wait = IBV_ADVISE_MR_FLAG_FLUSH;
    char *page = map_page(NULL), pinned[8];
    struct ibv_mr *mr = ibv_reg_mr(pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
    struct ibv_mr *reads = ibv_reg_mr(pd, page, PAGE, IBV_ACCESS_ON_DEMAND);
    struct ibv_mr *no_odp = ibv_reg_mr(pd, pinned, sizeof pinned, IBV_ACCESS_LOCAL_WRITE);
    MUST(pd && other && mr && reads && no_odp && !is_present(page));
    MUST(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, wait, page, PAGE, mr->lkey) == 0);
    MUST(!is_present(page));
    MUST(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, wait, page, PAGE, mr->lkey) == 0);
    MUST(is_present(page));
    const struct {
        struct ibv_pd *pd;
        enum ibv_advise_mr_advice advice;
        unsigned flags;
        char *addr;
        uint32_t len, lkey;
        int error;
    } rows[] = {
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, page, PAGE, reads->lkey, 0},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, page + PAGE, 0, mr->lkey, 0},
        {pd, (enum ibv_advise_mr_advice)9, wait, page, PAGE, mr->lkey, ENOTSUP},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 8, page, PAGE, mr->lkey, EINVAL},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, page, PAGE, ~mr->lkey, ENOENT},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, pinned, 8, no_odp->lkey, EINVAL},
        {other, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, page, PAGE, mr->lkey, EPERM},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, wait, page, PAGE, reads->lkey, EPERM},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, page + 1, PAGE, mr->lkey, EFAULT},
        {pd, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, page - 1, PAGE, mr->lkey, EFAULT},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        MUST(advise(rows[i].pd, rows[i].advice, rows[i].flags, rows[i].addr, rows[i].len,
                    rows[i].lkey) == rows[i].error);
    /* Prefetch a page that does not exist: only the call that waits for the result can report the
     * error. */
    MUST(munmap(page, PAGE) == 0);
    MUST(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, wait, page, PAGE, mr->lkey) == EFAULT);
    MUST(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, page, PAGE, mr->lkey) == 0);
    MUST(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(reads) == 0 && ibv_dereg_mr(no_odp) == 0);
    MUST(ibv_dealloc_pd(pd) == 0 && ibv_dealloc_pd(other) == 0);
}

/* ---- device memory --------------------------------------------------------------------------- */

static struct ibv_dm *alloc_dm(size_t len)
{
    errno = 0;
    return ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){.length = len});
}

static void device_memory(void)
{
    struct both both;
    const unsigned access =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    char in[64], out[64] = {0};
    both_open(&both, context);
    struct ibv_dm *dm = alloc_dm(4096);
    MUST(dm != NULL && dm->context == context);
    memset(in, 'd', sizeof in);
    MUST(ibv_memcpy_to_dm(dm, 1024, in, 64) == 0 && ibv_memcpy_from_dm(out, dm, 1024, 64) == 0);
    MUST(memcmp(in, out, 64) == 0);
    /* Register 128 bytes of the device memory, from byte 1024 on. */
    struct ibv_mr *mr = ibv_reg_dm_mr(both.b.pd, dm, 1024, 128, access | IBV_ACCESS_ZERO_BASED);
    MUST(mr != NULL && mr->addr == NULL && mr->length == 128);
    MUST(read_back(&both, 0, mr->rkey, 64) == IBV_WC_SUCCESS);
    MUST(memcmp(both.buf_a + BUF - 64, in, 64) == 0);
    MUST(both_write(&both, 64, mr->rkey, 64) == IBV_WC_SUCCESS);
    MUST(ibv_memcpy_from_dm(out, dm, 1024 + 64, 64) == 0 && memcmp(out, both.buf_a, 64) == 0);
    MUST(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
    MUST(both_write(&both, 65, mr->rkey, 64) == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_free_dm(dm) == EBUSY);
    MUST(ibv_dereg_mr(mr) == 0 && ibv_free_dm(dm) == 0);
    both_close(&both);
}

static void device_memory_errors(void)
{
    struct ibv_device_attr_ex attr;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    char bytes[8] = {0};
    MUST(pd && ibv_query_device_ex(context, NULL, &attr) == 0);
    MUST(alloc_dm(0) == NULL && errno == EINVAL);
    MUST(alloc_dm(attr.max_dm_size + 1) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){.length = 8, .comp_mask = 1}) == NULL &&
         errno == EINVAL);
    errno = 0;
    MUST(ibv_alloc_dm(context, &(struct ibv_alloc_dm_attr){.length = 8, .log_align_req = 40}) ==
             NULL &&
         errno == EINVAL);
    struct ibv_dm *dm = alloc_dm(attr.max_dm_size); /* the whole device memory */
    MUST(dm != NULL);
    MUST(alloc_dm(4) == NULL && errno == ENOMEM);
    MUST(ibv_free_dm(dm) == 0);
    MUST((dm = alloc_dm(100)) != NULL);
    const struct {
        uint64_t off;
        size_t len;
        int error;
    } rows[] = {{3, 4, EFAULT},
                {4, 3, EFAULT},
                {104, 4, EFAULT},
                {96, 8, EFAULT},
                {UINT64_MAX - 3, 4, EFAULT},
                {96, 4, 0},
                {100, 0, 0}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        MUST(ibv_memcpy_to_dm(dm, rows[i].off, bytes, rows[i].len) == rows[i].error);
        MUST(ibv_memcpy_from_dm(bytes, dm, rows[i].off, rows[i].len) == rows[i].error);
    }
    const unsigned zero = IBV_ACCESS_ZERO_BASED;
    errno = 0;
    MUST(ibv_reg_dm_mr(pd, dm, 0, 100, IBV_ACCESS_LOCAL_WRITE) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_reg_dm_mr(pd, dm, 1, 100, zero) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_reg_dm_mr(pd, dm, 0, 100, zero | IBV_ACCESS_ON_DEMAND) == NULL && errno == EINVAL);
    errno = 0;
    MUST(ibv_reg_dm_mr(pd, dm, 0, 100, zero | IBV_ACCESS_REMOTE_WRITE) == NULL && errno == EINVAL);
    MUST(ibv_free_dm(dm) == 0 && ibv_dealloc_pd(pd) == 0);
}

/* ---- importing memory ------------------------------------------------------------------------ */

/* Imports objects into a second context and closes the context that created them. The imported
 * objects must still work. */
static void import(void)
{
    struct ibv_context *first = endpoint_device(NULL);
    struct ibv_pd *pd = ibv_alloc_pd(first);
    struct ibv_dm *dm = ibv_alloc_dm(first, &(struct ibv_alloc_dm_attr){.length = 64});
    static char buf[256], word[8] = "shared";
    MUST(first && pd && dm && ibv_memcpy_to_dm(dm, 0, word, 8) == 0);
    struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof buf, ALL_ACCESS);
    MUST(mr != NULL);
    uint32_t pd_handle = pd->handle, mr_handle = mr->handle;
    struct ibv_context *second = ibv_import_device(dup(first->cmd_fd));
    MUST(second && second != first && second->device == first->device);
    struct ibv_pd *pd2 = ibv_import_pd(second, pd_handle);
    struct ibv_mr *mr2 = pd2 ? ibv_import_mr(pd2, mr_handle) : NULL;
    struct ibv_dm *dm2 = ibv_import_dm(second, dm->handle);
    MUST(pd2 && mr2 && dm2 && mr2->addr == NULL && mr2->lkey == mr->lkey && mr2->rkey == mr->rkey &&
         mr2->length == mr->length);
    char out[8] = {0};
    MUST(ibv_memcpy_from_dm(out, dm2, 0, 8) == 0 && memcmp(out, word, 8) == 0);
    ibv_unimport_dm(dm2);
    /* A handle is valid only for the device file through which the object was created, so imports
     * of these handles must fail. */
    errno = 0;
    MUST(ibv_import_pd(context, pd_handle) == NULL && errno == ENOENT);
    errno = 0;
    MUST(ibv_import_dm(context, dm->handle) == NULL && errno == ENOENT);
    errno = 0;
    MUST(ibv_import_pd(second, 999) == NULL && errno == ENOENT);
    struct ibv_pd *another = ibv_alloc_pd(second);
    errno = 0;
    MUST(another && ibv_import_mr(another, mr_handle) == NULL && errno == ENOENT);
    MUST(ibv_dealloc_pd(another) == 0 && ibv_free_dm(dm) == 0);
    ibv_unimport_mr(mr);
    ibv_unimport_pd(pd);
    MUST(ibv_close_device(first) == 0);
    struct both both;
    both_open(&both, context);
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    init.send_cq = init.recv_cq = ibv_create_cq(second, 8, NULL, NULL, 0);
    MUST(init.send_cq != NULL);
    MUST(ibv_destroy_qp(both.b.qp) == 0);
    struct ibv_qp *qp = ibv_create_qp(pd2, &init);
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    MUST(qp &&
         ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    MUST(ibv_modify_qp(both.a.qp, &reset, IBV_QP_STATE) == 0);
    attr.qp_access_flags = 0;
    MUST(ibv_modify_qp(both.a.qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    both.b.qp = qp;
    both_connect(&both);
    MUST(both_write(&both, (uintptr_t)buf, mr2->rkey, 256) == IBV_WC_SUCCESS);
    MUST(memcmp(buf, both.buf_a, 256) == 0);
    MUST(ibv_dealloc_pd(pd2) == EBUSY);
    MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(init.send_cq) == 0);
    MUST(ibv_dereg_mr(mr2) == 0 && ibv_dealloc_pd(pd2) == 0 && ibv_close_device(second) == 0);
    init = both_init(IBV_QPT_RC);
    init.send_cq = init.recv_cq = both.b.cq;
    MUST((both.b.qp = ibv_create_qp(both.b.pd, &init)) != NULL);
    both_close(&both);
}

/* ibv_import_device() must fail for a descriptor that is not a context of this process. */
static void import_errors(void)
{
    int other = open("/dev/null", O_RDWR);
    errno = 0;
    MUST(ibv_import_device(other) == NULL && errno == EOPNOTSUPP);
    MUST(close(other) == 0); /* the failed import must not have closed the descriptor */
    errno = 0;
    MUST(ibv_import_device(other) == NULL && errno == EBADF);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        errno = 0;
        _exit(ibv_import_device(context->cmd_fd) == NULL && errno == ENODEV ? 0 : 1);
    }
    int status = -1;
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    static const struct both_case cases[] = {
        {"zero_based", zero_based},
        {"capabilities", capabilities},
        {"on_demand", on_demand},
        {"implicit", implicit},
        {"prefetch", prefetch},
        {"device_memory", device_memory},
        {"device_memory_errors", device_memory_errors},
        {"import", import},
        {"import_errors", import_errors},
    };
    context = endpoint_device(NULL);
    int status = both_run(cases, sizeof cases / sizeof *cases, argc, argv);
    MUST(ibv_close_device(context) == 0);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* New verbs: functions that rdma-core added in release 60 and later (nodes IBVERBS_1.15 to 1.18).
 * Every build has them, so that the library serves programs newer than its own headers. If the
 * headers lack a structure, the function behaves like a device without the feature. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* Declarations as in <infiniband/verbs.h> of rdma-core 65. */
#pragma GCC visibility push(default)
struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr);
int ibv_dealloc_dmah(struct ibv_dmah *dmah);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
                              int access);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
                              size_t caps_size);
struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
                                           struct ibv_comp_cntr_init_attr *attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr);
int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
                            struct ibv_qp_attach_comp_cntr_attr *attr);
#pragma GCC visibility pop

static void *refuse_object(void)
{
    errno = EOPNOTSUPP;
    return NULL;
}

/* ---- buffers of ibv_alloc_buf(): the device can use any memory ------------------------------- */

struct ibv_buf {
    struct ibv_pd *pd;
    char *addr;
    size_t size;
};

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
    struct ibv_buf *new = calloc(1, sizeof *new);
    void *addr = NULL;
    int result = new ? posix_memalign(&addr, (size_t)sysconf(_SC_PAGESIZE), size) : ENOMEM;
    if (result != 0) {
        free(new);
        errno = result;
        return NULL;
    }
    *new = (struct ibv_buf){.pd = pd, .addr = addr, .size = size};
    *buf = new;
    return addr;
}

void ibv_free_buf(struct ibv_buf *buf)
{
    free(buf->addr);
    free(buf);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
                              int access)
{
    size_t off = (uintptr_t)addr - (uintptr_t)buf->addr; /* for an address before the buffer the
                                                          * subtraction wraps to a large number */
    if (pd != buf->pd || off > buf->size || length > buf->size - off) {
        errno = EINVAL;
        return NULL;
    }
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
    (void)buf;
    errno = ENODATA; /* the buffer is not a DMA-buf */
    return -1;
}

/* ---- memory regions by attributes ------------------------------------------------------------ */

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
#ifdef HAVE_VERBS_REG_MR_EX
    const uint64_t known = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR;
    const uint64_t of_file = IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET;
    uint64_t mask = attr->comp_mask;
#ifdef HAVE_VERBS_BUF
    if (mask & IBV_REG_MR_MASK_BUF) {
        if (mask & of_file || !(mask & IBV_REG_MR_MASK_ADDR)) {
            errno = EINVAL;
            return NULL;
        }
        size_t off = (uintptr_t)attr->addr - (uintptr_t)attr->buf->addr;
        if (pd != attr->buf->pd || off > attr->buf->size || attr->length > attr->buf->size - off) {
            errno = EINVAL;
            return NULL;
        }
        mask &= ~(uint64_t)IBV_REG_MR_MASK_BUF;
    }
#endif
    if (mask & ~known) /* not supported: a DMA-buf, or a handle of ibv_alloc_dmah() */
        return refuse_object();
    if (!(mask & IBV_REG_MR_MASK_ADDR)) {
        errno = EINVAL;
        return NULL;
    }
    uint64_t iova = mask & IBV_REG_MR_MASK_IOVA ? attr->iova : (uintptr_t)attr->addr;
    return ibv_reg_mr_iova2(pd, attr->addr, attr->length, iova, (unsigned)attr->access);
#else
    (void)pd, (void)attr;
    return refuse_object();
#endif
}

/* ---- features that this device lacks --------------------------------------------------------- */

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
    (void)context, (void)attr;
    return refuse_object();
}

int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
    (void)dmah;
    return EOPNOTSUPP;
}

int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
    (void)dm;
    errno = EOPNOTSUPP;
    return -1;
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
                              size_t caps_size)
{
    (void)context, (void)caps, (void)caps_size;
    return EOPNOTSUPP;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
                                           struct ibv_comp_cntr_init_attr *attr)
{
    (void)context, (void)attr;
    return refuse_object();
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
    (void)cntr;
    return EOPNOTSUPP;
}

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
    (void)cntr, (void)value;
    return EOPNOTSUPP;
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
    (void)cntr, (void)value;
    return EOPNOTSUPP;
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
    (void)cntr, (void)amount;
    return EOPNOTSUPP;
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
    (void)cntr, (void)amount;
    return EOPNOTSUPP;
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
    (void)cntr, (void)value;
    return EOPNOTSUPP;
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
    (void)cntr, (void)value;
    return EOPNOTSUPP;
}

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
                            struct ibv_qp_attach_comp_cntr_attr *attr)
{
    (void)qp, (void)cntr, (void)attr;
    return EOPNOTSUPP;
}

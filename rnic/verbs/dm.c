/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device memory: memory that a program accesses only through the device or by copying. This device
 * has no memory of its own. So device memory consists of pages of the process, to which no function
 * of the API returns a pointer. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ACCESS_UNIT 4u  /* offset and length of a copy are multiples of 4 bytes, as on mlx5 */
#define MIN_ALIGN   6u  /* log2 of the alignment if the program requires none: a cache line */
#define MAX_ALIGN   12u /* log2 of the largest alignment: a page */

/* Reserves `len` bytes of the remaining device memory. Returns false if fewer bytes remain. */
static bool reserve(struct vhca *hca, size_t len)
{
    size_t used = atomic_load(&hca->dm_used);
    do {
        if (len > VERBS_DM_MAX - used)
            return false;
    } while (!atomic_compare_exchange_weak(&hca->dm_used, &used, used + len));
    return true;
}

/* Returns the bytes [off, off + len) of device memory. Returns NULL if they are outside of it. */
static char *bytes_at(struct vdm *dm, uint64_t off, uint64_t len)
{
    return off > dm->memory->len || len > dm->memory->len - off ? NULL : dm->memory->bytes + off;
}

static char *copied_bytes(struct ibv_dm *ibv, uint64_t off, size_t len)
{
    return off % ACCESS_UNIT || len % ACCESS_UNIT ? NULL : bytes_at(vdm_of(ibv), off, len);
}

static int copy_to(struct ibv_dm *dm, uint64_t off, const void *from, size_t len)
{
    char *to = copied_bytes(dm, off, len);
    if (to && len)
        memcpy(to, from, len);
    return to ? 0 : EFAULT;
}

static int copy_from(void *to, struct ibv_dm *dm, uint64_t off, size_t len)
{
    const char *from = copied_bytes(dm, off, len);
    if (from && len)
        memcpy(to, from, len);
    return from ? 0 : EFAULT;
}

/* Allocates the struct ibv_dm with which the program refers to `memory`. */
static struct vdm *new_object(struct ibv_context *context, struct vdm_memory *memory)
{
    struct vdm *dm = calloc(1, sizeof *dm);
    if (!dm)
        return NULL;
    dm->hca = vctx_of(context)->hca;
    dm->ibv.context = context;
    dm->ibv.memcpy_to_dm = copy_to;
    dm->ibv.memcpy_from_dm = copy_from;
    dm->ibv.comp_mask = IBV_DM_MASK_HANDLE;
    dm->memory = memory;
    return dm;
}

struct ibv_dm *vdm_alloc(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
    size_t align = (size_t)1 << (attr->log_align_req < MIN_ALIGN ? MIN_ALIGN : attr->log_align_req);
    struct vdm *dm = NULL;
    struct vdm_memory *memory = NULL;
    int result = vctx_renew(context);
    struct vhca *hca = vctx_of(context)->hca;
    if (result != 0)
        goto fail;
    result = EINVAL;
    if (attr->comp_mask || attr->length == 0 || attr->length > VERBS_DM_MAX ||
        attr->log_align_req > MAX_ALIGN)
        goto fail;
    result = ENOMEM;
    if (!reserve(hca, attr->length))
        goto fail;
    memory = calloc(1, sizeof *memory);
    size_t whole = (attr->length + align - 1) / align * align;
    if (!memory || !(memory->bytes = aligned_alloc(align, whole)) ||
        !(dm = new_object(context, memory)))
        goto give_back;
    memset(memory->bytes, 0, whole);
    memory->len = attr->length;
    vhca_lock(hca);
    bool added = vctx_add_handle(context, &hca->dms, memory, &dm->ibv.handle);
    vhca_unlock(hca);
    if (!added)
        goto give_back;
    return &dm->ibv;
give_back:
    atomic_fetch_sub(&hca->dm_used, attr->length);
fail:
    if (memory)
        free(memory->bytes);
    free(memory);
    free(dm);
    errno = result;
    return NULL;
}

int vdm_free(struct ibv_dm *ibv)
{
    struct vdm *dm = vdm_of(ibv);
    struct vhca *hca = dm->hca;
    vhca_lock(hca);
    bool busy = dm->memory->regions > 0;
    if (!busy)
        rnic_map_del(&hca->dms, vctx_key(ibv->context, ibv->handle));
    vhca_unlock(hca);
    if (busy)
        return EBUSY;
    atomic_fetch_sub(&hca->dm_used, dm->memory->len);
    free(dm->memory->bytes);
    free(dm->memory);
    free(dm);
    return 0;
}

struct ibv_mr *vdm_reg_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t off, size_t len,
                          unsigned access)
{
    struct vdm *dm = vdm_of(ibv);
    char *bytes = bytes_at(dm, off, len);
    const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                           IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE;
    int result = !bytes || !(access & IBV_ACCESS_ZERO_BASED) || access & ~known
                     ? EINVAL
                     : vctx_check_owner(ibv->context, dm->hca);
    if (result == 0 && dm->hca != vctx_of(pd->context)->hca)
        result = EINVAL;
    if (result != 0) {
        errno = result;
        return NULL;
    }
    return vmr_register(
        pd, &(struct vmr_attr){.addr = bytes, .len = len, .access = access, .memory = dm->memory});
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
    struct vdm_memory *memory = NULL;
    struct vdm *dm = NULL;
    int result = vctx_check_owner(context, vctx_of(context)->hca);
    if (result == 0) {
        vctx_lock(context);
        memory = rnic_map_get(&vctx_of(context)->hca->dms, vctx_key(context, handle));
        vctx_unlock(context);
        dm = memory ? new_object(context, memory) : NULL;
        result = !memory ? ENOENT : !dm ? ENOMEM : 0;
    }
    if (result != 0) {
        errno = result;
        return NULL;
    }
    dm->ibv.handle = handle;
    return &dm->ibv;
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
    free(dm);
}

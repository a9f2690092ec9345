/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Context: opening and closing a device. All contexts of a process on one interface share one live
 * device (struct vhca), with one port, one thread and one part of the QPN space. */
#include "verbs/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "port/sys/fd_tag.h"
#include "verbs/page_probe.h"

int verbs_errno(int error)
{
    switch (error) {
    case RNIC_OK: return 0;
    case RNIC_ERR_NOMEM: return ENOMEM;
    case RNIC_ERR_BUSY: return EBUSY;
    case RNIC_ERR_EXISTS: return EEXIST;
    case RNIC_ERR_FULL: return ENOMEM; /* the queue is full (ibv_post_send(3)) */
    default: return EINVAL;
    }
}

/* Sets the operations that inline functions of the verbs header call. An inline function returns
 * EOPNOTSUPP if its operation is NULL. */
static void set_operations(struct vctx *ctx)
{
    struct verbs_context *verbs = &ctx->verbs;
    struct ibv_context_ops *ops = &verbs->context.ops;
    verbs->sz = sizeof *verbs;
    verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    verbs->query_port = vctx_query_port;
    verbs->query_device_ex = vctx_query_device_ex;
    verbs->query_rt_values = vctx_query_rt_values;
    verbs->create_cq_ex = vcq_create_ex;
    verbs->modify_cq = vcq_modify;
    verbs->create_qp_ex = vqp_create_ex;
    verbs->create_srq_ex = vsrq_create_ex;
    verbs->get_srq_num = vsrq_num;
    verbs->open_xrcd = vxrcd_open;
    verbs->close_xrcd = vxrcd_close;
    verbs->alloc_td = vtd_alloc;
    verbs->dealloc_td = vtd_dealloc;
    verbs->alloc_parent_domain = vpd_alloc_parent;
    verbs->alloc_dm = vdm_alloc;
    verbs->free_dm = vdm_free;
    verbs->reg_dm_mr = vdm_reg_mr;
    verbs->advise_mr = vmr_advise;
    verbs->ibv_create_flow = vflow_create;
    verbs->ibv_destroy_flow = vflow_destroy;
    verbs->ABI_placeholder1 = (void (*)(void))vflow_create;
    verbs->ABI_placeholder2 = (void (*)(void))vflow_destroy;
    ops->alloc_mw = vmw_alloc;
    ops->bind_mw = vmw_bind;
    ops->dealloc_mw = vmw_dealloc;
    ops->poll_cq = vcq_poll;
    ops->req_notify_cq = vcq_req_notify;
    ops->post_srq_recv = vsrq_post_recv;
    ops->post_send = vqp_post_send;
    ops->post_recv = vqp_post_recv;
}

static void warn_user(void *user, const char *text)
{
    (void)user;
    verbs_warn("%s", text);
}

/* Opens the software RNIC of a device, or uses the software RNIC that this process has already
 * opened. A child of fork() cannot use the software RNIC of its parent and opens a new one. Called
 * with vdevice_lock. Returns 0 or an errno. */
static int open_hca(struct vdevice *device)
{
    if (device->hca && !device->hca->inherited) {
        device->hca->refs++;
        return 0;
    }
    const struct verbs_config *config = vdevice_config();
    struct vhca *parents = device->hca;
    struct vhca *hca = config ? calloc(1, sizeof *hca) : NULL;
    if (!hca)
        return config ? ENOMEM : EINVAL;
    const struct rnic_live_attr attr = {
        .wire = config->shm ? RNIC_WIRE_SHM : RNIC_WIRE_PCAP,
        .iface = device->iface,
        .impair = *config->impair ? config->impair : NULL,
        .impair_tally = *config->impair_tally ? config->impair_tally : NULL,
        .seed = config->seed,
        .record = *config->record ? config->record : NULL,
        .tap = *config->tap ? config->tap : NULL,
        .record_shared = true,
        .mw_2a = config->mw_2a,
        .there = page_probe_touch,
        .notified = vhca_notified,
        .changed = vhca_changed,
        .describe = vhca_print_info,
        .warned = warn_user,
        .user = hca,
    };
    struct error why = {""};
    vdevice_opening = true;
    int result = rnic_live_open(&attr, &hca->live, &why);
    vdevice_opening = false;
    if (result < 0) {
        verbs_warn("%s: %s", device->ibv.name, why.text[0] ? why.text : strerror(-result));
        free(hca);
        return -result;
    }
    hca->linger = config->linger;
    hca->shm = config->shm;
    if (*config->timeline) {
        struct rnic *rnic = rnic_live_lock(hca->live);
        hca->timeline = timeline_new(config->timeline, rnic);
        result = hca->timeline ? 0 : errno;
        rnic_live_unlock(hca->live);
        if (result != 0)
            verbs_warn("%s: %s: %s", device->ibv.name, config->timeline, strerror(result));
    }
    hca->refs = 1;
    hca->pid = getpid();
    device->hca = hca;
    if (parents) { /* The software RNIC that the parent opened is never freed, because copies of the
                    * parent's objects in this process still point to it. */
        parents->refs++;
        hca->parents = parents;
    }
    return 0;
}

static void close_hca(struct vdevice *device, struct vhca *hca)
{
    if (--hca->refs > 0)
        return;
    if (device->hca == hca)
        device->hca = NULL;
    rnic_live_close(hca->live);
    timeline_free(hca->timeline);
    rnic_map_free(&hca->cqs);
    rnic_map_free(&hca->qps);
    rnic_map_free(&hca->srqs);
    rnic_map_free(&hca->mrs);
    rnic_map_free(&hca->pds);
    rnic_map_free(&hca->dms);
    free(hca);
}

/* Locks all mutexes of rnic/verbs, so that their state in a child of fork() is known. port/live has
 * separate fork handlers. */
static void before_fork(void)
{
    pthread_mutex_lock(&vdevice_lock);
    evq_before_fork();
}

static void parent_forked(void)
{
    evq_parent_forked();
    pthread_mutex_unlock(&vdevice_lock);
}

static void child_forked(void)
{
    vdevice_forked();
    evq_child_forked();
    pthread_mutex_unlock(&vdevice_lock);
}

static void register_fork_handlers(void)
{
    page_probe_open_proc();
    rnic_live_watch_forks();
    pthread_atfork(before_fork, parent_forked, child_forked);
}

void vctx_register_fork_handlers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handlers);
}

int vctx_refuse_inherited(struct ibv_context *context)
{
    static bool warned;
    if (!warned)
        verbs_warn("%s: process %ld cannot use an object that its parent created before fork()",
                   context->device->name, (long)getpid());
    warned = true;
    return ENODEV;
}

/* Adds the context to the list of contexts of its struct vhca. */
static void list_context(struct vctx *ctx)
{
    vctx_lock(&ctx->verbs.context);
    ctx->next = ctx->hca->contexts;
    ctx->hca->contexts = ctx;
    vctx_unlock(&ctx->verbs.context);
}

static void unlist_context(struct vctx *ctx)
{
    struct vctx **link = &ctx->hca->contexts;
    while (*link != ctx)
        link = &(*link)->next;
    *link = ctx->next;
}

int vctx_renew(struct ibv_context *context)
{
    struct vctx *ctx = vctx_of(context);
    int result = 0;
    if (!ctx->hca->inherited)
        return 0;
    int held = rnic_lock_uncancelable(&vdevice_lock);
    if (ctx->hca->inherited && (result = open_hca(ctx->device)) == 0) {
        unlist_context(ctx);
        ctx->hca = ctx->device->hca;
        list_context(ctx);
    }
    rnic_unlock_uncancelable(&vdevice_lock, held);
    return result;
}

bool vctx_add_handle(struct ibv_context *context, struct rnic_map *map, void *object,
                     uint32_t *handle)
{
    struct vhca *hca = vctx_of(context)->hca;
    do
        *handle = ++hca->last_handle;
    while (rnic_map_get(map, vctx_key(context, *handle)));
    return rnic_map_add(map, vctx_key(context, *handle), object);
}

struct ibv_context *vctx_open(struct ibv_device *ibv, int cmd_fd, uint32_t file)
{
    static uint32_t last_file; /* serial number of the newest open device file (vctx.file);
                                * protected by vdevice_lock */
    struct vdevice *device = vdevice_of(ibv);
    struct vctx *ctx = calloc(1, sizeof *ctx);
    struct stat is;
    if (!ctx) {
        errno = ENOMEM;
        return NULL;
    }
    vctx_register_fork_handlers();
    page_probe_install();
    struct ibv_context *context = &ctx->verbs.context;
    ctx->device = device;
    context->device = ibv;
    context->num_comp_vectors = 1;
    context->cmd_fd = cmd_fd;
    if (fstat(cmd_fd, &is) == 0 && S_ISREG(is.st_mode)) {
        ctx->dev = is.st_dev;
        ctx->ino = is.st_ino;
    }
    int result = evq_init(&ctx->async);
    if (result == 0) {
        int held = rnic_lock_uncancelable(&vdevice_lock);
        result = open_hca(device);
        ctx->hca = device->hca;
        ctx->file = file ? file : ++last_file;
        rnic_unlock_uncancelable(&vdevice_lock, held);
        if (result != 0)
            evq_free(&ctx->async);
    }
    if (result != 0) {
        free(ctx);
        errno = result;
        return NULL;
    }
    context->async_fd = ctx->async.fd;
    pthread_mutex_init(&context->mutex, NULL);
    set_operations(ctx);
    list_context(ctx);
    return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
    /* A descriptor that exists only for programs that call dup() or fstat() on it. No data is read
     * from it. ibv_import_device() recognizes it by its inode. */
    int fd = memfd_create("rnic-verbs", MFD_CLOEXEC);
    if (fd < 0) /* a sandbox may forbid memfd_create() */
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (rnic_fd_tag(fd) < 0)
        return NULL;
    struct ibv_context *context = vctx_open(ibv, fd, 0);
    if (!context) {
        int error = errno;
        rnic_tagged_close(fd);
        errno = error;
    }
    return context;
}

/* Returns the context of an object: of a QP (0), an SRQ (1) or a CQ (2). */
static const struct ibv_context *context_of(unsigned kind, const void *object)
{
    return kind == 0   ? ((const struct vqp *)object)->ibv.context
           : kind == 1 ? ((const struct vsrq *)object)->ibv.context
                       : ((const struct vcq *)object)->ibv.context;
}

/* Stops the objects that the program left open, as the kernel does when the descriptor is closed:
 * QPs stop, and no events are reported. Their memory is not freed, because programs may still read
 * it. Called with the device's lock. */
static void drop_context_objects(struct vctx *ctx)
{
    struct vhca *hca = ctx->hca;
    const struct ibv_context *context = &ctx->verbs.context;
    struct rnic_map *const maps[] = {&hca->qps, &hca->srqs, &hca->cqs};
    for (unsigned m = 0; m < sizeof maps / sizeof *maps; m++) {
        for (uint32_t i = 0; i < rnic_map_slots(maps[m]);) {
            const struct rnic_map_slot slot = maps[m]->slot[i];
            if (!slot.value || context_of(m, slot.value) != context) {
                i++;
                continue;
            }
            if (m == 0)
                vqp_drop(hca, slot.value);
            rnic_map_del(maps[m], slot.key); /* do not increment `i`, because rnic_map_del() may
                                              * move another object into this slot */
        }
    }
}

int ibv_close_device(struct ibv_context *context)
{
    struct vctx *ctx = vctx_of(context);
    vhca_linger(ctx->hca);
    vctx_lock(context);
    drop_context_objects(ctx);
    unlist_context(ctx);
    vctx_unlock(context);
    int held = rnic_lock_uncancelable(&vdevice_lock);
    close_hca(ctx->device, ctx->hca);
    rnic_unlock_uncancelable(&vdevice_lock, held);
    evq_free(&ctx->async);
    rnic_tagged_close(context->cmd_fd);
    pthread_mutex_destroy(&context->mutex);
    free(ctx);
    return 0;
}

/* ---- importing a device ------------------------------------------------------------------------
 */

/* Finds the open context for a descriptor of a program: its cmd_fd is the same file (inode) as
 * `fd`. Returns 0 or an errno. The context of another process is never found, even if that process
 * sent the descriptor: objects belong to one process. */
static int find_context(int fd, struct ibv_device **device, uint32_t *file)
{
    struct stat is;
    int result = EOPNOTSUPP;
    if (fstat(fd, &is) != 0)
        return errno;
    int held = rnic_lock_uncancelable(&vdevice_lock);
    for (struct vdevice *each = vdevice_first(); each; each = each->next) {
        if (!each->hca)
            continue;
        if (each->hca->inherited) {
            result = ENODEV;
            continue;
        }
        rnic_live_lock(each->hca->live);
        for (const struct vctx *ctx = each->hca->contexts; ctx; ctx = ctx->next)
            if (ctx->ino != 0 && ctx->ino == is.st_ino && ctx->dev == is.st_dev) {
                *device = &each->ibv;
                *file = ctx->file;
                result = 0;
            }
        rnic_live_unlock(each->hca->live);
        if (result == 0)
            break;
    }
    rnic_unlock_uncancelable(&vdevice_lock, held);
    return result;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
    struct ibv_device *device = NULL;
    uint32_t file = 0;
    int result = find_context(cmd_fd, &device, &file);
    if (result != 0) {
        errno = result;
        return NULL;
    }
    return vctx_open(device, cmd_fd, file);
}

/* ---- ibv_fork_init() ------------------------------------------------------------------------- */

/* Succeeds without an effect: the device accesses memory through the mappings of the program, so
 * both always use the same pages, also after the copy-on-write of a fork(). */
int ibv_fork_init(void)
{
    return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
    (void)base, (void)size;
    return 0;
}

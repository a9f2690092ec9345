/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Objects: the structures behind those of <infiniband/verbs.h>. Each begins with the program's
 * structure, so a pointer to one is a pointer to the other. If rdma-core has a longer "_ex" form,
 * our structure has room for it and for members of later releases.
 *
 * A verbs call, step by step:
 *   1. ibv_open_device() (context.c) opens one live device for each interface and process: struct
 *      vhca.
 *   2. Each verb locks the device with vctx_lock(), calls rnic/device, and unlocks.
 *   3. ibv_post_send() (post.c) and ibv_wr_*() (wr_builder.c) convert work requests; ibv_poll_cq()
 *      (cq.c) converts completions and drives the device.
 *   4. The device reports events to vhca_notified() and vhca_changed() (event.c), which queue them
 *      (evq.h).
 *
 * Locks: any thread may call any verb. The device's lock protects all objects of the device. Leaf
 * locks below it are the lock of each event queue and the mutexes in the ABI's structures
 * (ibv_cq.mutex and so on, for acknowledged events). The lock of the device list is locked before
 * the device's lock, and never after it. The lock of a QP's work request builder is locked from
 * ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(), and before the device's lock. No thread
 * waits while it has the device's lock.
 *
 * Functions of the verbs header return the values that its manual pages document: 0 or an errno, or
 * NULL or -1 with errno. Our own functions return 0 or an errno.
 */
#ifndef VERBS_OBJECTS_H
#define VERBS_OBJECTS_H

#define RNIC_EXPORT __attribute__((visibility("default")))

#include <stdatomic.h>
#include <stdbool.h>

#pragma GCC visibility push(default)
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
/* Exported symbols that no installed header declares; abi.h exports rnic_* as ibv_* or verbs_*. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int rnic_read_ibdev_sysfs_file(char *buf, size_t size, struct ibv_device *device,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
int rnic_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, int *type);
const char *rnic_wr_opcode_str(enum ibv_wr_opcode opcode);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from);
extern bool rnic_allow_disassociate_destroy;
#pragma GCC visibility pop
/* The header defines macros with the names of these functions. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include <net/if.h>
#include <sys/types.h>
#include "device/map.h"
#include "device/rnic.h"
#include "port/live/live.h"
#include "port/sys/cancel_guard.h"
#include "verbs/evq.h"
#include "verbs/timeline.h"

/* ---- the open device of a process, and a program's contexts on it ---------------------------- */

/* Software RNIC that this process has opened on one interface (a live device: port/live/live.h).
 * All contexts of this process on the interface share it. */
struct vhca {
    struct rnic_live *live;
    struct rnic_map cqs, qps, srqs; /* maps from device objects to the program's objects; under the
                                     * device's lock */
    struct rnic_map mrs;            /* map from the L_Key to struct vmr; under the device's lock */
    struct rnic_map pds, dms;       /* maps from vctx_key() to struct rnic_pd and struct vdm_memory,
                                     * for ibv_import_pd() and ibv_import_dm(); under the device's
                                     * lock */
    uint32_t last_handle;           /* handle that was assigned last to a PD or DM; under the
                                     * device's lock */
    atomic_size_t dm_used;          /* allocated device memory, bytes */
    struct vctx *contexts;          /* open contexts; under the device's lock */
    struct timeline *timeline;  /* timeline of send requests; NULL without RNIC_TIMELINE. Set once,
                                 * so it needs no lock */
    struct xrc_domain *domains; /* XRC domains; under the device's lock */
    bool shm;          /* frames go through shared memory, so there are no raw packet QPs. Set once,
                        * so it needs no lock */
    uint64_t linger;   /* quiet time before a QP ends, ms (RNIC_LINGER) */
    uint64_t lingered; /* value of the counter rx_packets when the last quiet time (RNIC_LINGER)
                        * ended; under the device's lock */
    pid_t pid;         /* process that opened the device */
    bool inherited;    /* true in a child of fork(): the parent of this process opened the software
                        * RNIC */
    struct vhca *parents; /* in a child of fork(): software RNIC of the parent, which this one
                           * replaces; otherwise NULL */
    unsigned refs;        /* number of open contexts; protected by vdevice_lock */
};

/* Device in the list of ibv_get_device_list(). A provider of rdma-core recognizes its devices by
 * the pointer to its operations, which follows struct ibv_device. This pointer is NULL here, so no
 * provider uses our device as its own. The other elements of the array are room for members that a
 * provider might read. */
struct vdevice {
    struct ibv_device ibv; /* must be first */
    void *provider_ops[32];
    char iface[IF_NAMESIZE];
    int index; /* ibv_get_device_index(): index of the interface */
    __be64 guid;
    bool listed;      /* the latest scan of interfaces found the device */
    struct vhca *hca; /* software RNIC of the device; NULL: not open; protected by vdevice_lock */
    struct vdevice *next;
};

struct vctx {
    struct verbs_context verbs; /* must be first; its last member is the program's ibv_context */
    struct vdevice *device;
    struct vhca *_Atomic hca; /* software RNIC to which new objects of the context belong;
                               * vctx_renew() replaces it */
    struct evq async;
    uint32_t file;     /* serial number of the open device file; contexts that ibv_import_device()
                        * makes from this one have the same number */
    dev_t dev;         /* device and inode number of cmd_fd */
    ino_t ino;         /* inode number; 0: cmd_fd cannot be recognized */
    struct vctx *next; /* link in hca->contexts */
};

int vctx_refuse_inherited(struct ibv_context *context);

/* Makes a context of the parent usable in a child of fork(): opens the device again in the child,
 * and lets new objects belong to the software RNIC of the child. Returns 0 or an errno. */
int vctx_renew(struct ibv_context *context);

/* Waits while the device still receives packets from peers, as RNIC_LINGER requires (config.h).
 * Called without the device's lock. */
void vhca_linger(struct vhca *hca);

static inline struct vctx *vctx_of(struct ibv_context *context)
{
    return (struct vctx *)(void *)((char *)context - offsetof(struct verbs_context, context));
}

static inline struct rnic *vhca_lock(struct vhca *hca)
{
    return rnic_live_lock(hca->live);
}

/* Locks the device and sends the delayed ACKs. Called before a QP, memory region or window is
 * changed or destroyed, because the program may already have read the message that such an ACK
 * acknowledges (rnic_live_settle()). */
static inline void vhca_lock_settled(struct vhca *hca)
{
    rnic_live_lock(hca->live);
    rnic_live_settle(hca->live);
}

static inline void vhca_unlock(struct vhca *hca)
{
    rnic_live_unlock(hca->live);
}

static inline struct rnic *vctx_lock(struct ibv_context *context)
{
    return vhca_lock(vctx_of(context)->hca);
}

static inline void vctx_unlock(struct ibv_context *context)
{
    vhca_unlock(vctx_of(context)->hca);
}

/* Returns the key of a handle in the maps of `struct vhca`: the serial number of the open device
 * file, and the handle. As in the kernel, a handle is valid only in the file through which it was
 * created. */
static inline uint64_t vctx_key(struct ibv_context *context, uint32_t handle)
{
    return (uint64_t)vctx_of(context)->file << 32 | handle;
}

/* Adds an object to a map of `struct vhca` with a new handle. Returns false if out of memory.
 * Called with the device's lock. */
bool vctx_add_handle(struct ibv_context *context, struct rnic_map *map, void *object,
                     uint32_t *handle);

/* Opens `device` with the descriptor `cmd_fd`, which the context owns afterwards. `file` is the
 * serial number of an open device file (vctx.file), or 0 for a new one. Returns NULL with errno;
 * cmd_fd then remains the caller's. */
struct ibv_context *vctx_open(struct ibv_device *device, int cmd_fd, uint32_t file);

/* Returns 0, or ENODEV if the parent of this process opened `hca` before fork(); then also prints a
 * warning, once. `hca` is the software RNIC to which an object belongs. */
static inline int vctx_check_owner(struct ibv_context *context, const struct vhca *hca)
{
    return hca->inherited ? vctx_refuse_inherited(context) : 0;
}

/* Converts enum rnic_error to an errno. */
int verbs_errno(int error);

/* ---- protection domains, memory, windows, domains -------------------------------------------- */

struct vpd {
    struct ibv_pd ibv; /* must be first */
    struct rnic_pd *rnic;
    struct vhca *hca;   /* software RNIC to which the PD belongs */
    struct vpd *parent; /* PD that a parent domain refers to; NULL: not a parent domain */
    struct vtd *td;     /* thread domain of a parent domain; NULL: none */
    unsigned refs;      /* number of parent domains that use this PD or, for a parent domain, of
                         * QPs, SRQs and CQs that use it; under the device's lock */
};

struct vtd {
    struct ibv_td ibv;     /* must be first */
    _Atomic unsigned refs; /* number of parent domains that use this thread domain */
};

struct vmr {
    struct ibv_mr ibv; /* must be first */
    struct rnic_mr *rnic;
    struct vhca *hca;         /* software RNIC to which the region belongs */
    const struct rnic_pd *pd; /* PD of the region */
    uint64_t iova;
    unsigned access;           /* enum ibv_access_flags */
    struct vdm_memory *memory; /* device memory of the region; NULL: memory of the program */
    bool left; /* the program released the region by ibv_unimport_mr(), but the region exists */
};

/* Parameters with which a program registers memory. */
struct vmr_attr {
    void *addr;
    size_t len;
    uint64_t iova;
    unsigned access;
    struct vdm_memory *memory; /* device memory of the region; NULL: memory of the program */
};

struct ibv_mr *vmr_register(struct ibv_pd *pd, const struct vmr_attr *attr);
int vmr_advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
               struct ibv_sge *sge, uint32_t cnt);

/* maximum device memory of a process, bytes */
#define VERBS_DM_MAX ((size_t)1 << 20)

/* Device memory; objects of ibv_alloc_dm() and ibv_import_dm() refer to it. */
struct vdm_memory {
    char *bytes;
    size_t len;
    uint32_t regions; /* number of memory regions; under the device's lock */
};

struct vdm {
    struct ibv_dm ibv; /* must be first */
    struct vhca *hca;
    struct vdm_memory *memory;
};

struct ibv_dm *vdm_alloc(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vdm_free(struct ibv_dm *dm);
struct ibv_mr *vdm_reg_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t off, size_t len,
                          unsigned access);

/* ---- completion channels and queues ---------------------------------------------------------- */

struct vchannel {
    struct ibv_comp_channel ibv; /* must be first; refcnt is under the device's lock */
    struct evq events;
};

#define VERBS_ROOM 64 /* number of bytes reserved for members of later releases */

struct vcq {
    union {
        struct ibv_cq ibv;
        struct ibv_cq_ex ex;
        char room[sizeof(struct ibv_cq_ex) + VERBS_ROOM];
    }; /* must be first */
    struct rnic_cq *rnic;
    struct vhca *hca;
    struct vpd *domain;                     /* parent domain that counts the CQ in its `refs`; NULL:
                                             * none */
    unsigned comp_reported, async_reported; /* number of events that the program received; under the
                                             * event queue's lock */
    uint64_t wc_flags;                      /* enum ibv_create_cq_wc_flags */
    pthread_mutex_t poll_lock;              /* locked from ibv_start_poll() to ibv_end_poll() */
    bool single_threaded;
    struct rnic_wc current;
};

/* ---- queue pairs ----------------------------------------------------------------------------- */

struct wr_builder; /* State of work requests between ibv_wr_start() and ibv_wr_complete(), defined
                    * in wr_builder.c. */

struct vqp {
    union {
        struct ibv_qp ibv;
        struct ibv_qp_ex ex;
        char room[sizeof(struct ibv_qp_ex) + VERBS_ROOM];
    }; /* must be first */
    struct rnic_qp *rnic;
    struct vhca *hca;
    struct ibv_qp_init_attr init; /* attributes with which the QP was created; the capabilities are
                                   * the actual ones */
    struct ibv_ah_attr ah_attr;   /* address vector as the program set it; under the device's
                                   * lock */
    unsigned async_reported;
    struct rnic_pd *hidden_pd;  /* XRC_RECV: PD that the library created for the QP, because the
                                 * program supplies none; else NULL */
    struct vpd *domain;         /* parent domain that counts the QP in its `refs`; NULL: none */
    struct wr_builder *builder; /* work request builder; NULL without
                                 * IBV_QP_INIT_ATTR_SEND_OPS_FLAGS */
};

/* XRC domain. All calls of ibv_open_xrcd() in this process with descriptors of one file refer to
 * one domain. */
struct xrc_domain {
    struct rnic_xrcd *rnic;
    bool of_file;
    dev_t dev;
    ino_t ino;
    unsigned refs;
    struct xrc_domain *next;
};

struct vxrcd {
    struct ibv_xrcd ibv; /* must be first */
    struct vhca *hca;
    struct xrc_domain *domain;
};

struct vsrq {
    union {
        struct ibv_srq ibv;
        char room[sizeof(struct ibv_srq) + VERBS_ROOM];
    }; /* must be first */
    struct rnic_srq *rnic;
    struct vpd *domain; /* parent domain that counts the SRQ in its `refs`; NULL: none */
    struct vhca *hca;
    unsigned async_reported;
};

struct vmw {
    struct ibv_mw ibv; /* must be first */
    struct rnic_mw *rnic;
    struct vhca *hca;
};

struct vah {
    struct ibv_ah ibv; /* must be first */
    struct rnic_ah *rnic;
    struct vhca *hca;
};

static inline struct vcq *vcq_of(struct ibv_cq *cq)
{
    return (struct vcq *)(void *)cq;
}

static inline struct vqp *vqp_of(struct ibv_qp *qp)
{
    return (struct vqp *)(void *)qp;
}

static inline struct vpd *vpd_of(struct ibv_pd *pd)
{
    return (struct vpd *)(void *)pd;
}

static inline struct vtd *vtd_of(struct ibv_td *td)
{
    return (struct vtd *)(void *)td;
}

static inline struct vmr *vmr_of(struct ibv_mr *mr)
{
    return (struct vmr *)(void *)mr;
}

static inline struct vmw *vmw_of(struct ibv_mw *mw)
{
    return (struct vmw *)(void *)mw;
}

static inline struct vah *vah_of(struct ibv_ah *ah)
{
    return (struct vah *)(void *)ah;
}

static inline struct vsrq *vsrq_of(struct ibv_srq *srq)
{
    return (struct vsrq *)(void *)srq;
}

static inline struct vxrcd *vxrcd_of(struct ibv_xrcd *xrcd)
{
    return (struct vxrcd *)(void *)xrcd;
}

static inline struct vdm *vdm_of(struct ibv_dm *dm)
{
    return (struct vdm *)(void *)dm;
}

static inline struct vchannel *vchannel_of(struct ibv_comp_channel *channel)
{
    return (struct vchannel *)(void *)channel;
}

/* Returns the PD itself, or the PD that a parent domain refers to. */
static inline struct vpd *vpd_base(struct ibv_pd *pd)
{
    return vpd_of(pd)->parent ? vpd_of(pd)->parent : vpd_of(pd);
}

/* Returns the PD of the device: `pd`, or if `pd` is a parent domain, the PD that it contains. */
static inline struct rnic_pd *vpd_rnic(struct ibv_pd *pd)
{
    return vpd_base(pd)->rnic;
}

/* If `pd` is a parent domain, increments its reference count and returns it; otherwise returns
 * NULL. Called with the device's lock. As with mlx5, QPs, SRQs and CQs use the parent domain, and
 * all other objects use its PD. The QP, SRQ or CQ stores the result for vpd_release(), which cannot
 * use `pd`: pyverbs unimports, and so frees, a PD before the objects that use it. */
static inline struct vpd *vpd_hold(struct ibv_pd *pd)
{
    struct vpd *domain = pd && vpd_of(pd)->parent ? vpd_of(pd) : NULL;

    if (domain)
        domain->refs++;
    return domain;
}

/* Decrements the reference count of a parent domain, after a QP, SRQ or CQ of this domain was
 * destroyed. `domain` may be NULL. The caller holds the device's lock. */
static inline void vpd_release(struct vpd *domain)
{
    if (domain)
        domain->refs--;
}

/* Makes a PD of the parent process usable in a child of fork(), as vctx_renew() does for its
 * context. librdmacm keeps one PD for each device. Returns 0 or an errno. */
int vpd_renew(struct ibv_pd *pd);

/* ---- operations that a context points to ----------------------------------------------------- */

struct ibv_mw *vmw_alloc(struct ibv_pd *pd, enum ibv_mw_type type);
int vmw_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int vmw_dealloc(struct ibv_mw *mw);
int vcq_poll(struct ibv_cq *cq, int cnt, struct ibv_wc *wc);
uint8_t vcq_sl(const struct rnic_wc *wc); /* Returns the value of ibv_wc.sl. */
/* Removes completions from the CQ. If there are none and `drives` is set, processes the device's
 * packets and tries again. Called with the device's lock. */
size_t vcq_take(struct vcq *cq, struct rnic_wc *wc, size_t max, bool drives);
int vcq_modify(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int vcq_req_notify(struct ibv_cq *cq, int solicited_only);
struct ibv_cq_ex *vcq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
void vcq_ex_init(struct vcq *cq); /* Sets the function pointers of ibv_cq_ex; defined in cq_ex.c. */
int vqp_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int vqp_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Converts a receive request of a QP or SRQ. Returns 0 or an errno. */
int vqp_recv_wr_of(const struct ibv_recv_wr *from, struct rnic_recv_wr *to);
struct ibv_qp *vqp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
void vqp_drop(struct vhca *hca, struct vqp *qp); /* Destroys a QP because its context is closed.
                                                  * Called with the device's lock. */
/* Initializes the work request builder of a QP; defined in wr_builder.c. */
int wr_builder_init(struct vqp *qp, uint64_t send_ops_flags);
void wr_builder_free(struct vqp *qp);
struct ibv_flow *vflow_create(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vflow_destroy(struct ibv_flow *flow);
struct ibv_srq *vsrq_create_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int vsrq_num(struct ibv_srq *srq, uint32_t *num);
int vsrq_post_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_xrcd *vxrcd_open(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int vxrcd_close(struct ibv_xrcd *xrcd);
struct ibv_td *vtd_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vtd_dealloc(struct ibv_td *td);
struct ibv_pd *vpd_alloc_parent(struct ibv_context *context,
                                struct ibv_parent_domain_init_attr *attr);
/* Registers the fork handlers of the verbs and of the lower layers, once. The rdma_cm device calls
 * this function before it registers its own handlers. */
void vctx_register_fork_handlers(void);
int vctx_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                    size_t len);
int vctx_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                         struct ibv_device_attr_ex *attr, size_t len);
int vctx_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* Converts the bind parameters of a send request. */
struct rnic_mw_bind vmw_bind_of(struct ibv_mw *mw, uint32_t rkey,
                                const struct ibv_mw_bind_info *info);

/* ---- paths and address handles --------------------------------------------------------------- */

/* Builds the address vector for `ah`. Resolves the next hop, which may need time. Called without
 * the device's lock. Returns 0, EINVAL, or an error of rnic_live_resolve(). */
int vah_path(struct ibv_context *context, const struct ibv_ah_attr *ah, struct rnic_av *av);
/* Creates an address handle as ibv_create_ah() does, but waits at most `wait` ns for the MAC
 * address of the next hop. */
struct ibv_ah *vah_create(struct ibv_pd *pd, const struct ibv_ah_attr *attr, uint64_t wait);

/* ---- callbacks of the live device ------------------------------------------------------------ */

/* Callbacks of port/live (struct rnic_live_attr), called with the device locked; `user` is the
 * struct vhca. */
void vhca_notified(void *user, struct rnic *rnic);
void vhca_changed(void *user, struct rnic *rnic, unsigned what);
void vhca_print_info(void *user, struct rnic *rnic, FILE *out);

/* Waits until the program has acknowledged all events of an object that is being destroyed. All are
 * acknowledged when *completed, read under `mutex`, equals `reported`. */
void verbs_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
                      unsigned reported);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Port: a device with its QP 1 and its CM engine. Each process that uses an interface has a QP 1
 * there, and receives every MAD sent to the port. The engine of a process accepts requests for the
 * services on which the process listens, and MADs with the communication ids of the process. The
 * upper bits of these ids are the number of the process's block of QPNs. One process has claimed
 * the name "gsi" in the registry; it answers the MADs for which no process is responsible.
 *
 * A port stays open until the process ends, as librdmacm keeps its devices open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "port/net/route.h"
#include "port/shared/qpn_alloc.h"
#include "port/shared/registry.h"
#include "ucma/ucma.h"
#include "verbs/device.h"
#include "wire/gid.h"

/* number of receive WQEs of QP 1, as in Linux (core/mad_priv.h, IB_MAD_QP_RECV_SIZE) */
#define RECVS     512u
#define SENDS     128u
#define GRH_LEN   40u
#define RECV_LEN  (GRH_LEN + ROCE_MAD_SIZE)
#define QP1_QKEY  0x80010000u /* well-known Q_Key of QP 1 (R171) */
#define COMM_BITS 20u         /* number of communication id bits below the block number */
#define AHS       64u
#define REPORTS   8u

/* Time that a request waits for a listener, ns. On a busy machine, a program that is about to
 * listen may have to wait this long for a CPU. */
#define PATIENCE_NS UINT64_C(250000000)

struct uc_port {
    struct uc_port *next;
    struct vdevice *device;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct rnic_qp *gsi;
    struct rnic_cm *cm;
    /* cache of address handles, which only the worker thread uses */
    struct {
        struct rnic_cm_addr addr;
        struct ibv_ah *ah; /* address handle; NULL: the destination is silent (SILENT_NS) */
        rnic_time made;
    } ah[AHS];
    unsigned ah_next;
    char reported[REPORTS][UC_SERVICE_NAME]; /* names in the registry (port/shared/registry.h)
                                              * about which the user was warned */
    unsigned reported_cnt;
    uint8_t buf[RECVS][RECV_LEN];
};

static struct uc_port *ports;

struct uc_port *uc_port_first(void)
{
    return ports;
}

void uc_ports_forked(void)
{
    ports = NULL;
}

struct uc_port *uc_port_next(struct uc_port *port)
{
    return port->next;
}

struct rnic_cm *uc_port_cm(struct uc_port *port)
{
    return port->cm;
}

struct ibv_context *uc_port_context(struct uc_port *port)
{
    return port->context;
}

struct rnic_live *uc_port_live(struct uc_port *port)
{
    return vctx_of(port->context)->hca->live;
}

uint64_t uc_port_guid(struct uc_port *port)
{
    return be64toh(port->device->guid);
}

int uc_port_fd(struct uc_port *port)
{
    return port->channel->fd;
}

int uc_port_async_fd(struct uc_port *port)
{
    return port->context->async_fd;
}

/* Posts DEVICE_REMOVAL to the ids of a removed device, as Linux does (core/cma.c, cma_remove_one).
 * The program must then destroy the ids. */
static void post_removal_events(const struct uc_port *port)
{
    for (struct uc_id *id = uc_ids; id; id = id->next) {
        struct uc_event *posted = NULL;
        if (id->port == port && id->uid) /* without a uid, the program has not accepted the
                                          * connection yet */
            posted = uc_event_new(id, UCMA_DEVICE_REMOVAL, 0);
        if (posted)
            uc_post(posted);
    }
}

void uc_port_async(struct uc_port *port)
{
    struct ibv_async_event event;
    while (ibv_get_async_event(port->context, &event) == 0) {
        ibv_ack_async_event(&event);
        if (event.event_type == IBV_EVENT_DEVICE_FATAL)
            post_removal_events(port);
    }
}

/* ---- GIDs of a port -------------------------------------------------------------------------- */

int uc_port_gid_index(struct uc_port *port, const uint8_t gid[16])
{
    struct rnic *rnic = vctx_lock(port->context);
    int found = -1;
    for (unsigned i = 0; i < RNIC_GID_MAX && found < 0; i++) {
        struct rnic_gid slot;
        if (rnic_gid_get(rnic, i, &slot) && slot.type == RNIC_GID_ROCE_V2 &&
            memcmp(slot.gid, gid, 16) == 0)
            found = (int)i;
    }
    vctx_unlock(port->context);
    return found;
}

bool uc_port_gid(struct uc_port *port, unsigned idx, uint8_t gid[16])
{
    struct rnic_gid slot;
    bool there = rnic_gid_get(vctx_lock(port->context), idx, &slot);
    vctx_unlock(port->context);
    if (there)
        memcpy(gid, slot.gid, 16);
    return there;
}

bool uc_port_own_gid(struct uc_port *port, uint8_t gid[16])
{
    struct rnic *rnic = vctx_lock(port->context);
    bool found = false;
    for (unsigned i = 0; i < RNIC_GID_MAX; i++) {
        struct rnic_gid slot;
        bool fits = rnic_gid_get(rnic, i, &slot) && slot.type == RNIC_GID_ROCE_V2;
        if (fits && (!found || (roce_gid_is_ip4(slot.gid) && !roce_gid_is_ip4(gid))))
            memcpy(gid, slot.gid, 16);
        found |= fits;
    }
    vctx_unlock(port->context);
    return found;
}

/* ---- opening a port -------------------------------------------------------------------------- */

bool uc_port_service_held(const struct uc_port *port, const char *name)
{
    return rnic_registry_held(port->device->iface, name);
}

/* Returns whether to warn the user about `name`, a name in the registry (port/shared/registry.h),
 * and stores the name. Returns false if the name is stored already, or if no room is left. */
static bool is_new_report(struct uc_port *port, const char *name)
{
    for (unsigned i = 0; i < port->reported_cnt; i++)
        if (strcmp(port->reported[i], name) == 0)
            return false;
    if (port->reported_cnt == REPORTS)
        return false;
    snprintf(port->reported[port->reported_cnt++], UC_SERVICE_NAME, "%s", name);
    return true;
}

bool uc_port_is_claimed(struct uc_port *port, const char *name)
{
    uint32_t uid;
    enum rnic_live_claimed claimed = rnic_live_claimed(uc_port_live(port), name, &uid);
    if (claimed == RNIC_NAME_SQUATTED && is_new_report(port, name))
        verbs_warn("%s: ignored the socket name @rnic/%s/%s of user %u, who has no device that can "
                   "receive the packets",
                   port->device->iface, port->device->iface, name, (unsigned)uid);
    return claimed == RNIC_NAME_CLAIMED;
}

/* Returns whether an id of this process has claimed the port number of this service on `port` at
 * the address `gid`. */
static bool is_bound_here(const struct uc_port *port, uint64_t service_id, const uint8_t gid[16])
{
    for (const struct uc_id *id = uc_ids; id; id = id->next)
        if (id->space == roce_cm_sid_space(service_id) &&
            uc_addr_port(&id->src) == roce_cm_sid_port(service_id))
            for (const struct uc_claim *claim = id->claims; claim; claim = claim->next)
                if (claim->port == port && (claim->any || memcmp(id->addr.local, gid, 16) == 0))
                    return true;
    return false;
}

/* Returns whether a process that can answer has claimed the port number of this service at the
 * address `gid`. */
static bool is_service_held(struct uc_port *port, uint64_t service_id, const uint8_t gid[16])
{
    char name[UC_SERVICE_NAME];
    uc_service_name(name, roce_cm_sid_space(service_id), roce_cm_sid_port(service_id), gid);
    if (uc_port_is_claimed(port, name))
        return true;
    uc_service_name(name, roce_cm_sid_space(service_id), roce_cm_sid_port(service_id), NULL);
    return uc_port_is_claimed(port, name);
}

/* Returns whether the process that created a communication id is still running. The upper bits of
 * the id are the number of a block of QPNs, which a running process has claimed. */
static bool is_comm_id_held(struct uc_port *port, uint32_t comm_id)
{
    return uc_port_is_claimed(port, rnic_qpn_alloc_block_name(comm_id >> COMM_BITS).text);
}

static bool is_served_elsewhere(void *user, uint64_t service_id, const uint8_t gid[16])
{
    return roce_cm_sid_is_ip(service_id) && !is_bound_here(user, service_id, gid) &&
           is_service_held(user, service_id, gid);
}

/* Returns whether this process answers the MADs for which no process is responsible: it has claimed
 * the name "gsi" in the registry. If the process that has claimed this name cannot answer, all
 * others answer. The peer can then get several equal replies. */
static bool is_gsi_owner(struct uc_port *port)
{
    return rnic_live_gsi_owner(uc_port_live(port)) || !uc_port_is_claimed(port, "gsi");
}

/* Returns whether this process answers a MAD for an unknown service or communication id. If an id
 * of this process is bound to the port number of the service, but does not listen, this process
 * answers. Otherwise only the process with the name "gsi" answers, and only if no running process
 * has the service or the communication id. */
static bool answers_unknown(void *user, enum rnic_cm_unknown what, uint64_t number,
                            const uint8_t gid[16])
{
    struct uc_port *port = user;
    bool service = what == RNIC_CM_UNKNOWN_SERVICE;
    if (service && roce_cm_sid_is_ip(number) && is_bound_here(port, number, gid))
        return true;
    if (!is_gsi_owner(port))
        return false;
    if (service) /* a service id outside the port spaces contains no port number, so no process can
                  * listen for it */
        return !roce_cm_sid_is_ip(number) || !is_service_held(port, number, gid);
    return !is_comm_id_held(port, (uint32_t)number);
}

bool uc_port_peer_local(const struct uc_id *id)
{
    return id->port && id->cm &&
           rnic_cm_id_remote(id->cm) >> COMM_BITS != rnic_live_block(uc_port_live(id->port)) &&
           uc_port_gid_index(id->port, id->addr.remote) >= 0;
}

bool uc_port_peer_gone(const struct uc_id *id)
{
    return !is_comm_id_held(id->port, rnic_cm_id_remote(id->cm));
}

static void post_recv(struct uc_port *port, unsigned i)
{
    const struct rnic_sge sge = {
        .addr = (uintptr_t)port->buf[i], .len = RECV_LEN, .lkey = port->mr->lkey};
    rnic_post_recv(port->gsi, &(struct rnic_recv_wr){.wr_id = i, .sge = &sge, .sge_cnt = 1});
}

static int start_gsi(struct uc_port *port)
{
    const struct rnic_qp_init init = {
        .type = RNIC_QPT_GSI,
        .send_cq = vcq_of(port->cq)->rnic,
        .recv_cq = vcq_of(port->cq)->rnic,
        .max_send_wr = SENDS,
        .max_send_sge = 1,
        .max_recv_wr = RECVS,
        .max_recv_sge = 1,
        .max_inline = ROCE_MAD_SIZE,
    };
    static const enum rnic_qp_state way[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};
    struct rnic_qp_attr attr = {.pkey = 0xFFFF, .qkey = QP1_QKEY};
    vctx_lock(port->context);
    int result = rnic_qp_new(vpd_rnic(port->pd), &init, &port->gsi);
    for (size_t i = 0; result == 0 && i < sizeof way / sizeof *way; i++) {
        attr.state = way[i];
        result = rnic_qp_modify(port->gsi, &attr, rnic_live_now());
        for (unsigned r = 0; result == 0 && i == 0 && r < RECVS; r++)
            post_recv(port, r);
    }
    vctx_unlock(port->context);
    return verbs_errno(result);
}

static void free_port(struct uc_port *port)
{
    rnic_cm_del(port->cm);
    if (port->gsi) {
        vctx_lock(port->context);
        rnic_qp_del(port->gsi);
        vctx_unlock(port->context);
    }
    if (port->mr)
        ibv_dereg_mr(port->mr);
    if (port->cq)
        ibv_destroy_cq(port->cq);
    if (port->channel)
        ibv_destroy_comp_channel(port->channel);
    if (port->pd)
        ibv_dealloc_pd(port->pd);
    if (port->context)
        ibv_close_device(port->context);
    free(port);
}

static struct uc_port *open_port(struct ibv_device *device)
{
    struct uc_port *port = calloc(1, sizeof *port);
    int result = ENOMEM;
    if (!port)
        goto fail;
    port->device = vdevice_of(device);
    if (!(port->context = ibv_open_device(device)) || !(port->pd = ibv_alloc_pd(port->context)) ||
        !(port->channel = ibv_create_comp_channel(port->context)) ||
        !(port->cq = ibv_create_cq(port->context, RECVS + SENDS, NULL, port->channel, 0)) ||
        !(port->mr = ibv_reg_mr(port->pd, port->buf, sizeof port->buf, IBV_ACCESS_LOCAL_WRITE))) {
        result = errno;
        goto fail;
    }
    fcntl(port->channel->fd, F_SETFL, fcntl(port->channel->fd, F_GETFL) | O_NONBLOCK);
    fcntl(port->context->async_fd, F_SETFL, fcntl(port->context->async_fd, F_GETFL) | O_NONBLOCK);
    const struct rnic_cm_attr attr = {
        .ca_guid = uc_port_guid(port),
        .id_prefix = rnic_live_block(uc_port_live(port)),
        .id_prefix_bits = 32 - COMM_BITS,
        .seed = {uc_random(), uc_random()},
        .answers_unknown = answers_unknown,
        .listen_wait = PATIENCE_NS,
        .served_elsewhere = is_served_elsewhere,
        .user = port,
    };
    port->cm = rnic_cm_new(&attr);
    result = port->cm ? start_gsi(port) : ENOMEM;
    if (result == 0)
        result = ibv_req_notify_cq(port->cq, 0);
    if (result != 0)
        goto fail;
    is_gsi_owner(port); /* claim the name "gsi", or warn if the process that has it cannot answer */
    port->next = ports;
    ports = port;
    uc_worker_wake(); /* the worker then also polls the new descriptors */
    return port;
fail:
    if (port)
        free_port(port);
    errno = result;
    return NULL;
}

/* Returns the port of an interface, and opens it if necessary. Returns NULL with ENODEV if the
 * interface has no device. */
static struct uc_port *port_of_iface(const char *iface)
{
    for (struct uc_port *port = ports; port; port = port->next)
        if (strcmp(port->device->iface, iface) == 0)
            return port;
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct uc_port *port = NULL;
    errno = ENODEV;
    for (size_t i = 0; list && list[i] && !port; i++)
        if (strcmp(vdevice_of(list[i])->iface, iface) == 0) {
            port = open_port(list[i]);
            break;
        }
    int error = errno;
    ibv_free_device_list(list);
    errno = error;
    return port;
}

int uc_port_open_all(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    int cnt = 0, error = list ? ENODEV : errno;
    for (size_t i = 0; list && list[i]; i++) {
        if (port_of_iface(vdevice_of(list[i])->iface))
            cnt++;
        else
            error = errno;
    }
    ibv_free_device_list(list);
    return cnt ? cnt : -error;
}

/* Finds the port of the interface `oif`. If `local` is true, finds the port of the interface that
 * has `gid` and, if `oif` is not 0, the index `oif`. */
static struct uc_port *find_port(const uint8_t gid[16], unsigned oif, bool local)
{
    struct rnic_iface *ifaces;
    struct error why;
    size_t cnt;
    struct uc_port *port = NULL;
    int error = local ? EADDRNOTAVAIL : ENODEV;
    if (rnic_iface_list(&ifaces, &cnt, &why) != 0)
        return NULL;
    for (size_t i = 0; i < cnt && !port; i++) {
        bool is = ifaces[i].index == oif, has = !local && is;
        for (unsigned g = 0; local && (is || !oif) && g < ifaces[i].gid_cnt && !has; g++)
            has = memcmp(ifaces[i].gid[g].gid, gid, 16) == 0;
        if (has && !(port = port_of_iface(ifaces[i].name)))
            error = errno;
    }
    free(ifaces);
    errno = error;
    return port;
}

struct uc_port *uc_port_at(const uint8_t gid[16], unsigned oif)
{
    return find_port(gid, oif, true);
}

bool uc_port_has_no_route(const struct uc_port *port, const uint8_t gid[16])
{
    struct rnic_route route;
    return !roce_gid_is_multicast(gid) &&
           rnic_route_get(gid, (unsigned)port->device->index, &route) == -ENETUNREACH;
}

struct uc_port *uc_port_towards(const uint8_t gid[16], unsigned oif)
{
    struct rnic_route route;
    struct uc_port *port = uc_port_at(gid, oif);
    if (port)
        return port;
    int result = rnic_route_get(gid, oif, &route);
    if (result == 0)
        port = find_port(gid, route.oif, false);
    else
        errno = -result;
    /* a multicast group needs no route, so any device can be used: use the first one */
    if (!port && roce_gid_is_multicast(gid) && uc_port_open_all() > 0)
        port = ports;
    return port;
}

/* ---- sending and receiving MADs -------------------------------------------------------------- */

/* lifetime of a cached address handle, ns; limited, because the MAC address of a neighbour may
 * change */
#define AH_LIFE_NS UINT64_C(30000000000)
/* Time for which a destination counts as silent after its MAC address could not be resolved, ns. In
 * this time, a MAD to the destination is dropped at once, so that MADs to other hosts need not
 * wait. */
#define SILENT_NS UINT64_C(500000000)
/* Longest wait for the MAC address of a destination, ns */
#define MAD_ANSWER_NS UINT64_C(50000000)

static struct ibv_ah *create_ah(struct uc_port *port, const struct rnic_cm_addr *addr)
{
    int sgid = uc_port_gid_index(port, addr->local);
    if (sgid < 0) {
        errno = ENODEV;
        return NULL;
    }
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = (uint8_t)sgid}};
    memcpy(attr.grh.dgid.raw, addr->remote, 16);
    return vah_create(port->pd, &attr, MAD_ANSWER_NS);
}

/* Returns an address handle, or NULL if the destination is silent (SILENT_NS) or has no route. */
static struct ibv_ah *get_ah(struct uc_port *port, const struct rnic_cm_addr *addr)
{
    rnic_time now = rnic_live_now();
    for (unsigned i = 0; i < AHS; i++)
        if (now - port->ah[i].made < (port->ah[i].ah ? AH_LIFE_NS : SILENT_NS) &&
            memcmp(&port->ah[i].addr, addr, sizeof *addr) == 0)
            return port->ah[i].ah;
    struct ibv_ah *ah = create_ah(port, addr);
    if (!ah && errno != ETIMEDOUT)
        return NULL;
    unsigned at = port->ah_next++ % AHS;
    if (port->ah[at].ah)
        ibv_destroy_ah(port->ah[at].ah);
    port->ah[at].ah = ah;
    port->ah[at].addr = *addr;
    port->ah[at].made = rnic_live_now();
    return ah;
}

void uc_port_send(struct uc_port *port, const uint8_t *mad, const struct rnic_cm_addr *addr)
{
    struct ibv_ah *ah = get_ah(port, addr);
    const struct rnic_sge sge = {.addr = (uintptr_t)mad, .len = ROCE_MAD_SIZE};
    if (!ah)
        return; /* drop the MAD as if it were lost on the network; the CM retransmits it */
    const struct rnic_send_wr wr = {
        .opcode = RNIC_WR_SEND,
        .flags = RNIC_SEND_INLINE | RNIC_SEND_SIGNALED,
        .sge = &sge,
        .sge_cnt = 1,
        .ah = vah_of(ah)->rnic,
        .remote_qpn = 1,
        .remote_qkey = QP1_QKEY,
    };
    vctx_lock(port->context);
    rnic_post_send(port->gsi, &wr); /* if the send queue is full, the MAD is dropped;
                                     * uc_port_receive() polls the completion */
    vctx_unlock(port->context);
}

/* Reads the source and destination GID from the GRH or IPv4 header that the device writes before a
 * received MAD (R172). */
static void read_mad_addr(const uint8_t *grh, struct rnic_cm_addr *addr)
{
    if (grh[0] >> 4 == 6) {
        memcpy(addr->remote, grh + 8, 16);
        memcpy(addr->local, grh + 24, 16);
        return;
    }
    roce_gid_of_ip4(grh + 20 + 12, addr->remote);
    roce_gid_of_ip4(grh + 20 + 16, addr->local);
}

void uc_port_receive(struct uc_port *port, rnic_time now)
{
    struct ibv_cq *cq;
    void *context;
    struct ibv_wc wc[16];
    int cnt;
    while (ibv_get_cq_event(port->channel, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
    ibv_req_notify_cq(port->cq, 0);
    while ((cnt = ibv_poll_cq(port->cq, 16, wc)) > 0) {
        for (int i = 0; i < cnt; i++) {
            unsigned at = (unsigned)wc[i].wr_id;
            struct rnic_cm_addr addr;
            if (!(wc[i].opcode & IBV_WC_RECV))
                continue;
            if (wc[i].status == IBV_WC_SUCCESS && wc[i].byte_len == RECV_LEN) {
                read_mad_addr(port->buf[at], &addr);
                rnic_cm_input(port->cm, port->buf[at] + GRH_LEN, ROCE_MAD_SIZE, &addr, now);
                uc_deliver_cm_events(port);
            }
            vctx_lock(port->context);
            post_recv(port, at);
            vctx_unlock(port->context);
        }
    }
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Ids: addresses, ports and devices of rdma_cm ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "port/net/route.h"
#include "ucma/ucma.h"
#include "wire/codes.h"

#define EPHEMERAL_FIRST 32768u /* dynamic ports, the default range of ip_local_port_range */
#define EPHEMERAL_CNT   28232u
#define CLAIM_TRIES     64 /* number of random ports that are tried */

/* Maximum number of names in the registry (port/shared/registry.h) with which the ids of this
 * process claim CM ports. Each name needs a descriptor, and descriptors are limited (getrlimit(2)).
 * At the maximum, an id that needs a random port and does not listen gets one without a claim. */
#define CLAIMS_MOST 256u

/* Handles have 16 bits, because librdmacm has a table of ids by handle (indexer.h). */
#define HANDLES 0x10000u

struct uc_id *uc_ids;
static bool handle_taken[HANDLES]; /* whether an id or a multicast group of this process has the
                                    * handle */
static unsigned claim_cnt;         /* number of claims of all ids */

static struct uc_id *find_id(uint32_t handle)
{
    struct uc_id *id = uc_ids;
    while (id && id->handle != handle)
        id = id->next;
    return id;
}

struct uc_id *uc_id_get(struct uc_file *file, uint32_t handle)
{
    struct uc_id *id = find_id(handle);
    if (!id || id->file != file)
        return NULL;
    return id;
}

int uc_handle_new(uint32_t *handle)
{
    static uint32_t last;
    for (unsigned tries = 0; tries < HANDLES; tries++) {
        last = (last + 1) % HANDLES;
        if (!handle_taken[last]) {
            handle_taken[last] = true;
            *handle = last;
            return 0;
        }
    }
    return -ENOMEM;
}

void uc_mcast_free(struct uc_mcast *mcast)
{
    handle_taken[mcast->handle] = false;
    free(mcast);
}

struct uc_id *uc_id_new(struct uc_file *file, uint64_t uid, uint16_t space, uint8_t qp_type)
{
    struct uc_id *id = calloc(1, sizeof *id);
    if (!id || uc_handle_new(&id->handle) < 0) {
        free(id);
        return NULL;
    }
    id->file = file;
    id->uid = uid;
    id->space = space;
    id->qp_type = qp_type;
    id->psn = uc_random() & ROCE_PSN_MASK;
    id->next = uc_ids;
    uc_ids = id;
    return id;
}

static void release_claims(struct uc_id *id)
{
    struct uc_claim *claim;
    while ((claim = id->claims) != NULL) {
        id->claims = claim->next;
        claim_cnt--;
        rnic_live_release(uc_port_live(claim->port), claim->handle);
        free(claim);
    }
}

void uc_id_del(struct uc_id *id)
{
    rnic_time now = rnic_live_now();
    struct uc_listener *listener;
    struct uc_mcast *mcast;
    struct uc_event *event;
    for (struct uc_id **at = &uc_ids; *at; at = &(*at)->next)
        if (*at == id) {
            *at = id->next;
            break;
        }
    while ((event = uc_take_event(id->file, id, NULL)) != NULL) {
        if (event->child)
            uc_id_del(event->child);
        free(event);
    }
    if (!id->uid) /* the program has not accepted the connection; it may not even have read the
                   * CONNECT_REQUEST */
        uc_discard_request(id);
    while ((listener = id->listeners) != NULL) {
        id->listeners = listener->next;
        rnic_cm_id_del(listener->cm, now);
        free(listener);
    }
    rnic_cm_id_del(id->cm, now);
    release_claims(id);
    while ((mcast = id->mcasts) != NULL) {
        id->mcasts = mcast->next;
        uc_mcast_free(mcast);
    }
    handle_taken[id->handle] = false;
    free(id);
    uc_worker_wake();
}

void uc_path_of(const struct uc_id *id, struct rnic_cm_path *path)
{
    rnic_cm_path_defaults(path);
    path->mtu = id->mtu;
    path->hop_limit = id->hop_limit;
    path->tclass = id->tos;
    if (id->ack_timeout)
        path->packet_life_time = (uint8_t)(id->ack_timeout - 1);
}

/* ---- claiming CM ports ----------------------------------------------------------------------- */

/* Returns whether two ids may have the same port (core/cma.c, cma_check_port). This is allowed in
 * three cases: both ids set the option "reuse address"; both ids have a device and different
 * addresses; one id uses only IPv4 and the other only IPv6. */
static bool may_share(const struct uc_id *a, const struct uc_id *b)
{
    return (a->reuse && b->reuse) ||
           (a->port && b->port && memcmp(a->addr.local, b->addr.local, 16) != 0) ||
           (a->afonly && b->afonly && a->src.sa.sa_family != b->src.sa.sa_family);
}

static bool has_port(const struct uc_id *id, unsigned space, uint16_t port)
{
    return (id->claims || id->state == UC_BOUND || id->state == UC_LISTEN) && id->space == space &&
           uc_addr_port(&id->src) == port;
}

/* Returns whether another id of this process has the port, and the two ids may not share it. */
static bool conflicts_here(const struct uc_id *id, uint16_t port)
{
    bool conflicts = false;
    for (const struct uc_id *other = uc_ids; other && !conflicts; other = other->next)
        conflicts = other != id && has_port(other, id->space, port) && !may_share(id, other);
    return conflicts;
}

/* Returns whether `id` is bound to all devices, or any process has claimed the port of `id` for all
 * addresses (core/cma.c, cma_check_port). */
static bool meets_wildcard(const struct uc_id *id)
{
    char name[UC_SERVICE_NAME];
    uc_service_name(name, id->space, uc_addr_port(&id->src), NULL);
    return !id->port || uc_port_service_held(id->port, name);
}

/* Returns whether an id of this process has claimed the CM port on the device `on`: at the address
 * `gid`, or at all addresses if `gid` is NULL. */
static bool claimed_here(const struct uc_port *on, unsigned space, uint16_t port,
                         const uint8_t *gid)
{
    for (const struct uc_id *id = uc_ids; id; id = id->next)
        for (const struct uc_claim *claim = has_port(id, space, port) ? id->claims : NULL; claim;
             claim = claim->next)
            if (claim->port == on && claim->any == !gid &&
                (!gid || memcmp(id->addr.local, gid, 16) == 0))
                return true;
    return false;
}

static bool claimed_elsewhere(struct uc_port *on, unsigned space, uint16_t port, const uint8_t *gid)
{
    char name[UC_SERVICE_NAME];
    uc_service_name(name, space, port, gid);
    if (!uc_port_service_held(on, name) || claimed_here(on, space, port, gid))
        return false;
    uc_port_is_claimed(on, name); /* warns if the process that has claimed the name cannot answer */
    return true;
}

/* Returns whether a claim of another process, with another name in the registry, conflicts with a
 * claim of the port at the address `gid` (NULL: at all addresses). A claim at one address conflicts
 * with a claim at all addresses. A claim at all addresses conflicts with a claim at any address. */
static bool overlaps_elsewhere(struct uc_port *on, unsigned space, uint16_t port,
                               const uint8_t *gid)
{
    uint8_t at[16];
    bool overlaps = gid && claimed_elsewhere(on, space, port, NULL);
    for (unsigned i = 0; !gid && !overlaps && i < RNIC_GID_MAX; i++)
        overlaps = uc_port_gid(on, i, at) && claimed_elsewhere(on, space, port, at);
    return overlaps;
}

void uc_service_name(char name[UC_SERVICE_NAME], unsigned space, uint16_t port, const uint8_t *gid)
{
    int len = snprintf(name, UC_SERVICE_NAME, "cm/%x/%u%s", space, port, gid ? "/" : "");
    for (unsigned i = 0; gid && i < 16; i++)
        len += snprintf(name + len, UC_SERVICE_NAME - (size_t)len, "%02x", gid[i]);
}

static int claim_port_on(struct uc_id *id, struct uc_port *on, uint16_t port)
{
    char name[UC_SERVICE_NAME];
    const uint8_t *gid = id->port ? id->addr.local : NULL;
    struct uc_claim *claim = malloc(sizeof *claim);
    if (!claim)
        return -ENOMEM;
    uc_service_name(name, id->space, port, gid);
    do
        claim->handle = rnic_live_claim(uc_port_live(on), name);
    while (claim->handle == -EADDRINUSE && uc_wait_for_child());
    if (claim->handle < 0) {
        int error = claim->handle;
        free(claim);
        if (error == -EADDRINUSE)
            uc_port_is_claimed(
                on, name); /* warns if the process that has claimed the name cannot answer */
        return error == -EADDRINUSE && claimed_here(on, id->space, port, gid) ? 0 : error;
    }
    claim->port = on;
    claim->any = !gid;
    claim->next = id->claims;
    id->claims = claim;
    claim_cnt++;
    bool overlaps;
    do
        overlaps = overlaps_elsewhere(on, id->space, port, gid);
    while (overlaps && uc_wait_for_child());
    return overlaps ? -EADDRINUSE : 0;
}

void uc_ids_forked(void)
{
    for (struct uc_id *id = uc_ids; id; id = id->next)
        for (struct uc_claim *claim = id->claims; claim; claim = claim->next)
            rnic_live_release(uc_port_live(claim->port), claim->handle);
    uc_ids = NULL; /* do not free the ids, because the child's librdmacm still has their handles */
    memset(handle_taken, 0, sizeof handle_taken);
    claim_cnt = 0;
}

static int claim_port(struct uc_id *id, uint16_t port)
{
    int result = conflicts_here(id, port) ? -EADDRINUSE : 0;
    for (struct uc_port *on = id->port ? id->port : uc_port_first(); on && result == 0;
         on = id->port ? NULL : uc_port_next(on))
        result = claim_port_on(id, on, port);
    if (result < 0)
        release_claims(id);
    return result;
}

/* Claims the source port of the id. If the port is 0, first chooses a free one. If `always` is
 * true, the id will listen on the port: claims it even if CLAIMS_MOST is reached. */
static int claim_src_port(struct uc_id *id, bool always)
{
    uint16_t port = uc_addr_port(&id->src);
    int result = -EADDRINUSE;
    if (port)
        return claim_port(id, port);
    for (int tries = 0; result == -EADDRINUSE && tries < CLAIM_TRIES; tries++) {
        port = (uint16_t)(EPHEMERAL_FIRST + uc_random() % EPHEMERAL_CNT);
        result = always || claim_cnt < CLAIMS_MOST ? claim_port(id, port) : 0;
    }
    if (result == 0)
        uc_addr_set_port(&id->src, port);
    return result;
}

int uc_bind(struct uc_id *id, const union uc_addr *addr)
{
    uint8_t gid[16];
    if (id->state != UC_IDLE || id->job != UC_NO_JOB)
        return -EINVAL;
    if (!uc_gid_of(addr, gid))
        return -EAFNOSUPPORT;
    unsigned oif = uc_addr_scope(addr);
    if (rnic_gid_is_link_local(gid) && !oif)
        return -EINVAL;
    /* A loopback address means all devices, unless a device has this address. Linux does the same
     * (core/cma.c, cma_any_addr); libfabric tests whether it can bind to a loopback address. */
    if (uc_addr_is_any(addr) || (uc_addr_is_loopback(addr) && !uc_port_at(gid, 0))) {
        int result = uc_port_open_all();
        if (result < 0)
            return result;
    } else {
        id->port = uc_port_at(gid, oif);
        int index = id->port ? uc_port_gid_index(id->port, gid) : -1;
        if (index < 0) {
            int error = id->port ? ENODEV : errno;
            id->port = NULL;
            return -error;
        }
        id->sgid_idx = (uint8_t)index;
        memcpy(id->addr.local, gid, 16);
    }
    id->src = *addr;
    int result = claim_src_port(id, true);
    if (result == -EADDRINUSE && meets_wildcard(id))
        result = -EADDRNOTAVAIL;
    if (result < 0) {
        id->port = NULL;
        memset(&id->src, 0, sizeof id->src);
        return result;
    }
    id->state = UC_BOUND;
    return 0;
}

static int listen_on(struct uc_id *id, struct uc_port *on)
{
    struct uc_listener *listener = malloc(sizeof *listener);
    if (!listener)
        return -ENOMEM;
    listener->cm = rnic_cm_id_new(uc_port_cm(on), id);
    if (!listener->cm) {
        free(listener);
        return -ENOMEM;
    }
    uint64_t sid = roce_cm_sid((enum roce_cm_port_space)id->space, uc_addr_port(&id->src));
    int result = !id->port && id->afonly
                     ? rnic_cm_listen_family(listener->cm, sid, id->src.sa.sa_family == AF_INET)
                     : rnic_cm_listen(listener->cm, sid, id->port ? id->addr.local : NULL);
    listener->next = id->listeners;
    id->listeners = listener;
    return result == RNIC_ERR_EXISTS ? -EADDRINUSE : result ? -EINVAL : 0;
}

int uc_listen(struct uc_id *id, uint32_t backlog)
{
    int result = 0;
    if (id->state == UC_IDLE)
        result = uc_bind(id, &(union uc_addr){.in = {.sin_family = AF_INET}});
    if (result < 0)
        return result;
    if (id->state != UC_BOUND || id->job != UC_NO_JOB)
        return -EINVAL;
    if (id->port)
        result = listen_on(id, id->port);
    for (struct uc_port *on = id->port ? NULL : uc_port_first(); on && result == 0;
         on = uc_port_next(on))
        result = listen_on(id, on);
    if (result < 0) {
        struct uc_listener *listener;
        while ((listener = id->listeners) != NULL) {
            id->listeners = listener->next;
            rnic_cm_id_del(listener->cm, rnic_live_now());
            free(listener);
        }
        return result;
    }
    id->backlog = backlog > 0 && backlog < 1024 ? backlog : 1024;
    id->state = UC_LISTEN;
    return 0;
}

/* ---- resolving addresses and routes ---------------------------------------------------------- */

static void post_id_event(struct uc_id *id, enum ucma_event_type type, int status)
{
    struct uc_event *event = uc_event_new(id, type, status);
    if (event)
        uc_post(event);
}

/* Resolving an address must not delay other ids. So the worker sends a request for the neighbour,
 * waits for at most ANSWER_NS, and continues with other work. The worker checks for the answer
 * after LOOK_NS, and sends the request again after ASK_NS. Times are in ns. */
#define ANSWER_NS UINT64_C(1000000)
#define LOOK_NS   UINT64_C(20000000)
#define ASK_NS    UINT64_C(250000000)

bool uc_is_unreachable(const struct uc_id *id, const union uc_addr *to)
{
    uint8_t gid[16];
    uc_gid_of(to, gid);
    if (uc_addr_is_any(to) || uc_addr_is_loopback(to))
        return false;
    if (id->port)
        return !uc_port_at(gid, 0) && uc_port_has_no_route(id->port, gid);
    return !uc_port_towards(gid, uc_addr_scope(to)) && errno == ENETUNREACH;
}

/* Resolves the destination of the id, or returns false if its neighbour has not answered yet. */
static bool resolve_addr(struct uc_id *id)
{
    uint32_t handle = id->handle;
    bool asks = rnic_live_now() >= id->ask_due;
    struct rnic_path path;
    uint8_t dgid[16];
    uc_gid_of(&id->dst, dgid);
    struct uc_port *port = id->port;
    if (uc_addr_is_any(&id->dst) || (uc_addr_is_loopback(&id->dst) && !uc_port_towards(dgid, 0))) {
        /* The destination is this machine: use an address of the device to which the id is bound.
         * If it is not bound, use the first device (core/cma.c, cma_bind_loopback). */
        if (!port && uc_port_open_all() > 0)
            port = uc_port_first();
        if (port && uc_port_own_gid(port, dgid))
            uc_addr_of(dgid, uc_addr_port(&id->dst), &id->dst);
    } else if (!port) {
        port = uc_port_towards(dgid, uc_addr_scope(&id->dst));
    }
    if (!port) {
        post_id_event(id, UCMA_ADDR_ERROR, -errno);
        return true;
    }
    int sgid = id->port ? id->sgid_idx : -1;
    pthread_mutex_unlock(&uc_lock);
    int result = rnic_live_resolve(uc_port_live(port), dgid, sgid, asks ? ANSWER_NS : 0, &path);
    pthread_mutex_lock(&uc_lock);
    id = find_id(handle); /* find the id again, because another thread may have deleted it */
    if (!id)
        return true;
    rnic_time now = rnic_live_now();
    if (result == -ETIMEDOUT && now < id->job_end) {
        id->job_due = now + LOOK_NS < id->job_end ? now + LOOK_NS : id->job_end;
        id->ask_due = asks ? now + ASK_NS : id->ask_due;
        return false;
    }
    int index = -1;
    if (result == 0) {
        uc_port_gid(port, path.sgid_idx, id->addr.local);
        index = uc_port_gid_index(port, id->addr.local);
    }
    if (index < 0) {
        id->state = id->port ? UC_BOUND : UC_IDLE;
        post_id_event(id, UCMA_ADDR_ERROR, result ? result : -ENODEV);
        return true;
    }
    if (!id->port) { /* the id is not bound yet, or bound to all devices: bind it to this device */
        bool bound = id->state == UC_BOUND;
        id->port = port;
        uc_addr_of(id->addr.local, bound ? uc_addr_port(&id->src) : 0, &id->src);
        if (id->src.sa.sa_family == AF_INET6)
            id->src.in6.sin6_scope_id = uc_addr_scope(&id->dst);
        result = bound ? 0 : claim_src_port(id, false);
        if (result < 0) {
            id->port = NULL;
            memset(&id->src, 0, sizeof id->src);
            id->state = UC_IDLE;
            post_id_event(id, UCMA_ADDR_ERROR, result);
            return true;
        }
    }
    id->sgid_idx = (uint8_t)index;
    memcpy(id->addr.remote, dgid, 16);
    id->mtu = roce_mtu_code(path.path_mtu);
    id->hop_limit = path.hop_limit;
    id->state = UC_ADDR;
    post_id_event(id, UCMA_ADDR_RESOLVED, 0);
    return true;
}

void uc_resolve(struct uc_id *id)
{
    uint32_t handle = id->handle;
    if (id->job == UC_RESOLVE_ADDR) {
        if (!resolve_addr(id))
            return;
    } else { /* RoCE has no subnet manager, so the route is known without a query (Annex A17) */
        id->paths = 1;
        id->state = UC_ROUTE;
        post_id_event(id, UCMA_ROUTE_RESOLVED, 0);
    }
    if ((id = find_id(handle)) != NULL) /* another thread may have deleted the id meanwhile */
        id->job = UC_NO_JOB;
}

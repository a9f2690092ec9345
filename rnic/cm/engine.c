/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cm/engine.h"

#include <stdlib.h>
#include <string.h>
#include "base/entropy.h"
#include "wire/gid.h"

/* number of low bits of a communication id that the engine counts up; the upper bits contain the
 * prefix of the engine */
#define ID_BITS 20u

struct rnic_cm *rnic_cm_new(const struct rnic_cm_attr *attr)
{
    struct rnic_entropy entropy;
    struct rnic_cm *cm;

    if (attr->id_prefix_bits > 32 - ID_BITS)
        return NULL;
    cm = calloc(1, sizeof(*cm));
    if (!cm)
        return NULL;
    cm->attr = *attr;
    rnic_list_init(&cm->ids);
    rnic_list_init(&cm->listeners);
    for (unsigned i = 0; i < CM_BUCKETS; i++) {
        rnic_list_init(&cm->by_remote[i]);
        rnic_list_init(&cm->by_qpn[i]);
        rnic_list_init(&cm->by_source[i].ids);
    }
    rnic_list_init(&cm->half_open.ids);
    rnic_list_init(&cm->rejected.ids);
    rnic_entropy_init(&entropy, 0, true);
    cm->factor = rnic_entropy_u32(&entropy) | 1;
    cm->id_next = attr->seed[0];
    return cm;
}

void rnic_cm_del(struct rnic_cm *cm)
{
    if (!cm)
        return;
    while (!rnic_list_empty(&cm->ids))
        cm_free_id(RNIC_LIST_OF(cm->ids.next, struct rnic_cm_id, all));
    rnic_map_free(&cm->by_local);
    rnic_heap_free(&cm->timers);
    free(cm->out);
    free(cm->event);
    free(cm);
}

/* ---- ids of exchanges ------------------------------------------------------------------------ */

bool cm_is_own_comm_id(const struct rnic_cm *cm, uint32_t comm_id)
{
    unsigned bits = cm->attr.id_prefix_bits;
    uint32_t mask = bits ? ~UINT32_C(0) << (32 - bits) : 0;

    return ((comm_id ^ (bits ? cm->attr.id_prefix << (32 - bits) : 0)) & mask) == 0;
}

/* Returns a new communication id, never 0. The ids count up, so that the id in a late message of an
 * ended exchange does not belong to a new exchange. */
static uint32_t new_comm_id(struct rnic_cm *cm)
{
    unsigned bits = cm->attr.id_prefix_bits;
    uint32_t comm_id;

    do {
        comm_id = cm->id_next++ & ((UINT32_C(1) << ID_BITS) - 1);
        if (bits)
            comm_id |= cm->attr.id_prefix << (32 - bits);
    } while (comm_id == 0 || rnic_map_get(&cm->by_local, comm_id));
    return comm_id;
}

struct rnic_cm_id *rnic_cm_id_new(struct rnic_cm *cm, void *user)
{
    struct rnic_cm_id *id;

    if (cm->id_cnt >= RNIC_CM_IDS_MAX || !rnic_heap_reserve(&cm->timers, cm->id_cnt + 1))
        return NULL;
    id = calloc(1, sizeof(*id));
    if (!id)
        return NULL;
    id->cm = cm;
    id->user = user;
    id->local = new_comm_id(cm);
    id->sent_kind = ROCE_CM_MSG_CNT;
    id->timer.at = RNIC_NEVER;
    rnic_list_init(&id->all);
    rnic_list_init(&id->listener);
    rnic_list_init(&id->by_remote);
    rnic_list_init(&id->by_qpn);
    rnic_list_init(&id->half_open);
    rnic_list_init(&id->by_source);
    if (!rnic_map_add(&cm->by_local, id->local, id)) {
        free(id);
        return NULL;
    }
    rnic_list_add(&cm->ids, &id->all);
    cm->id_cnt++;
    return id;
}

void cm_free_id(struct rnic_cm_id *id)
{
    struct rnic_cm *cm = id->cm;

    cm_enter(id, RNIC_CM_IDLE);
    cm_timer(id, RNIC_NEVER);
    rnic_map_del(&cm->by_local, id->local);
    rnic_list_del(&id->all);
    cm->id_cnt--;
    free(id);
}

void *rnic_cm_id_user(const struct rnic_cm_id *id)
{
    return id->user;
}

void rnic_cm_id_set_user(struct rnic_cm_id *id, void *user)
{
    id->user = user;
}

enum rnic_cm_state rnic_cm_id_state(const struct rnic_cm_id *id)
{
    return id->state;
}

uint32_t rnic_cm_id_local(const struct rnic_cm_id *id)
{
    return id->local;
}

uint32_t rnic_cm_id_remote(const struct rnic_cm_id *id)
{
    return id->remote;
}

void rnic_cm_id_addr(const struct rnic_cm_id *id, struct rnic_cm_addr *out)
{
    *out = id->addr;
}

const struct roce_cm_req *rnic_cm_id_req(const struct rnic_cm_id *id)
{
    return &id->req;
}

const struct roce_cm_rep *rnic_cm_id_rep(const struct rnic_cm_id *id)
{
    return &id->rep;
}

bool rnic_cm_id_active(const struct rnic_cm_id *id)
{
    return id->active;
}

uint32_t rnic_cm_id_qpn(const struct rnic_cm_id *id)
{
    return id->local_qpn;
}

/* ---- finding the id of a peer's message ------------------------------------------------------ */

/* Returns the list of the hash table `table` for a number that a peer chose: a communication ID,
 * request ID or QPN. The hash function multiplies the number by a random constant, so that a peer
 * cannot choose many numbers with the same hash. */
static struct rnic_list *peer_bucket(const struct rnic_cm *cm, struct rnic_list *table,
                                     uint32_t number)
{
    return &table[(number * cm->factor) >> (32 - CM_BUCKET_BITS)];
}

void cm_set_peer(struct rnic_cm_id *id, uint32_t remote, uint64_t guid, uint32_t qpn)
{
    rnic_list_del(&id->by_remote);
    rnic_list_del(&id->by_qpn);
    id->remote = remote;
    id->remote_guid = guid;
    id->remote_qpn = qpn;
    rnic_list_add(peer_bucket(id->cm, id->cm->by_remote, remote), &id->by_remote);
    if (qpn)
        rnic_list_add(peer_bucket(id->cm, id->cm->by_qpn, qpn), &id->by_qpn);
}

static bool same_remote(const struct rnic_cm_id *id, uint64_t guid, const struct rnic_cm_addr *addr)
{
    return id->remote_guid == guid && memcmp(id->addr.remote, addr->remote, 16) == 0;
}

struct rnic_cm_id *cm_find_remote(struct rnic_cm *cm, uint32_t remote, uint64_t guid,
                                  const struct rnic_cm_addr *addr)
{
    struct rnic_list *head = peer_bucket(cm, cm->by_remote, remote);

    for (struct rnic_list *at = head->next; at != head; at = at->next) {
        struct rnic_cm_id *id = RNIC_LIST_OF(at, struct rnic_cm_id, by_remote);

        if (id->remote == remote && !id->request_id && same_remote(id, guid, addr))
            return id;
    }
    return NULL;
}

void cm_set_request(struct rnic_cm_id *id, uint32_t request_id)
{
    id->request_id = request_id;
    rnic_list_add(peer_bucket(id->cm, id->cm->by_remote, request_id), &id->by_remote);
}

struct rnic_cm_id *cm_find_request(struct rnic_cm *cm, uint32_t request_id,
                                   const struct rnic_cm_addr *addr)
{
    struct rnic_list *head = peer_bucket(cm, cm->by_remote, request_id);

    for (struct rnic_list *at = head->next; at != head; at = at->next) {
        struct rnic_cm_id *id = RNIC_LIST_OF(at, struct rnic_cm_id, by_remote);

        if ((id->state == RNIC_CM_SIDR_RCVD || id->state == RNIC_CM_SIDR_DONE) && !id->active &&
            id->request_id == request_id && memcmp(&id->addr, addr, sizeof(*addr)) == 0)
            return id;
    }
    return NULL;
}

struct cm_source *cm_source_of(struct rnic_cm *cm, const struct rnic_cm_addr *addr)
{
    uint32_t hash = 0;

    for (unsigned i = 0; i < 16; i += 4) {
        uint32_t word;

        memcpy(&word, addr->remote + i, sizeof(word));
        hash = (hash ^ word) * cm->factor;
    }
    return &cm->by_source[hash >> (32 - CM_BUCKET_BITS)];
}

struct rnic_cm_id *cm_find_qpn(struct rnic_cm *cm, uint32_t qpn, uint64_t guid,
                               const struct rnic_cm_addr *addr)
{
    struct rnic_list *head = peer_bucket(cm, cm->by_qpn, qpn);

    for (struct rnic_list *at = head->next; at != head; at = at->next) {
        struct rnic_cm_id *id = RNIC_LIST_OF(at, struct rnic_cm_id, by_qpn);

        if (id->remote_qpn == qpn && same_remote(id, guid, addr))
            return id;
    }
    return NULL;
}

struct rnic_cm_id *cm_find_listener(struct rnic_cm *cm, uint64_t service_id, const uint8_t gid[16])
{
    struct rnic_cm_id *found = NULL;

    for (struct rnic_list *at = cm->listeners.next; at != &cm->listeners; at = at->next) {
        struct rnic_cm_id *id = RNIC_LIST_OF(at, struct rnic_cm_id, listener);

        if (id->service_id != service_id)
            continue;
        if (id->at_gid && memcmp(id->addr.local, gid, 16) == 0)
            return id;
        if (!id->at_gid && (roce_gid_is_ip4(gid) ? id->ip4 : id->ip6))
            found = id;
    }
    return found;
}

/* ---- states and time ------------------------------------------------------------------------- */

/* Returns the list to which `id` belongs in `state`: the list of half-open exchanges, the list of
 * rejected exchanges, or NULL. half_open.c explains the lists. */
static struct cm_source *half_open_list(struct rnic_cm_id *id, enum rnic_cm_state state)
{
    if (id->active)
        return NULL;
    switch (state) {
    case RNIC_CM_REQ_RCVD:
    case RNIC_CM_REP_SENT:
    case RNIC_CM_MRA_REP_RCVD:
    case RNIC_CM_SIDR_RCVD: return &id->cm->half_open;
    case RNIC_CM_TIMEWAIT: return id->sent_kind == ROCE_CM_REJ ? &id->cm->rejected : NULL;
    default: return NULL;
    }
}

/* Moves the id to the list to which it belongs in its new state: half-open exchanges, rejected
 * exchanges, or none. */
static void list_half_open(struct rnic_cm_id *id, enum rnic_cm_state state)
{
    struct cm_source *to = half_open_list(id, state);
    struct cm_source *source = cm_source_of(id->cm, &id->addr);

    if (to == id->in)
        return;
    if (id->in) {
        id->in->cnt--;
        rnic_list_del(&id->half_open);
    }
    if (id->in == &id->cm->half_open) {
        source->cnt--;
        rnic_list_del(&id->by_source);
    }
    id->in = to;
    if (to) {
        to->cnt++;
        rnic_list_add(&to->ids, &id->half_open);
    }
    if (to == &id->cm->half_open) {
        source->cnt++;
        rnic_list_add(&source->ids, &id->by_source);
    }
}

void cm_enter(struct rnic_cm_id *id, enum rnic_cm_state state)
{
    list_half_open(id, state);
    id->cm->disconnecting += (state == RNIC_CM_DREQ_SENT) - (id->state == RNIC_CM_DREQ_SENT);
    id->state = state;
    if (state == RNIC_CM_IDLE) {
        rnic_list_del(&id->listener);
        rnic_list_del(&id->by_remote);
        rnic_list_del(&id->by_qpn);
    } else if (state == RNIC_CM_TIMEWAIT) {
        rnic_list_del(&id->by_qpn); /* the connection has ended, and another connection may use this
                                     * QPN of the peer (R231) */
    }
}

void cm_timer(struct rnic_cm_id *id, rnic_time at)
{
    rnic_heap_set(&id->cm->timers, &id->timer, at);
}

/* TIMEWAIT lasts as long as packets of the connection may still be on the network. As in Linux, the
 * time is the local ACK timeout: twice the packet lifetime plus the responder's delay (12.9.8.1).
 */
void cm_enter_timewait(struct rnic_cm_id *id, rnic_time now)
{
    cm_enter(id, RNIC_CM_TIMEWAIT);
    cm_timer(id, now + cm_code_ns(id->req.primary_ack_timeout));
}

unsigned rnic_cm_disconnecting(const struct rnic_cm *cm)
{
    return cm->disconnecting;
}

/* ---- sending MADs ---------------------------------------------------------------------------- */

static bool grow_out(struct rnic_cm *cm)
{
    unsigned cap = cm->out_cap ? 2 * cm->out_cap : CM_OUT_FIRST;
    struct cm_out *grown = cap <= CM_OUT_MAX ? malloc(cap * sizeof(*grown)) : NULL;

    if (!grown)
        return false;
    for (unsigned i = 0; i < cm->out_cnt; i++)
        grown[i] = cm->out[(cm->out_first + i) % cm->out_cap];
    free(cm->out);
    cm->out = grown;
    cm->out_cap = cap;
    cm->out_first = 0;
    return true;
}

static uint8_t *reserve_out_slot(struct rnic_cm *cm, const struct rnic_cm_addr *addr)
{
    struct cm_out *out;

    if (cm->out_cnt == cm->out_cap && !grow_out(cm))
        return NULL;
    out = &cm->out[(cm->out_first + cm->out_cnt++) % cm->out_cap];
    out->addr = *addr;
    return out->mad;
}

void cm_send_once(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                  const struct rnic_cm_addr *addr)
{
    uint8_t *mad = reserve_out_slot(cm, addr);

    if (mad)
        roce_cm_msg_build(msg, mad, ROCE_MAD_SIZE);
}

void cm_send_again(struct rnic_cm_id *id)
{
    uint8_t *mad = reserve_out_slot(id->cm, &id->addr);

    if (mad)
        memcpy(mad, id->sent, ROCE_MAD_SIZE);
}

void cm_send(struct rnic_cm_id *id, struct roce_cm_msg *msg, uint64_t timeout, uint8_t retries,
             rnic_time now)
{
    roce_cm_msg_build(msg, id->sent, sizeof(id->sent));
    id->sent_kind = msg->kind;
    id->timeout = timeout;
    id->retries_left = retries;
    cm_timer(id, timeout ? now + timeout : RNIC_NEVER);
    cm_send_again(id);
}

bool rnic_cm_output(struct rnic_cm *cm, uint8_t mad[ROCE_MAD_SIZE], struct rnic_cm_addr *addr)
{
    const struct cm_out *out;

    if (cm->out_cnt == 0)
        return false;
    out = &cm->out[cm->out_first];
    memcpy(mad, out->mad, ROCE_MAD_SIZE);
    *addr = out->addr;
    cm->out_first = (cm->out_first + 1) % cm->out_cap;
    cm->out_cnt--;
    return true;
}

unsigned rnic_cm_pending(const struct rnic_cm *cm)
{
    return cm->out_cnt;
}

/* ---- queue of events ------------------------------------------------------------------------- */

static bool grow_events(struct rnic_cm *cm)
{
    size_t cap = cm->event_cap ? 2 * cm->event_cap : 16;
    struct rnic_cm_event *event = malloc(cap * sizeof(*event));

    if (!event)
        return false;
    for (size_t i = 0; i < cm->event_cnt; i++)
        event[i] = cm->event[(cm->event_first + i) & (cm->event_cap - 1)];
    free(cm->event);
    cm->event = event;
    cm->event_cap = cap;
    cm->event_first = 0;
    return true;
}

void cm_post_event(struct rnic_cm_id *id, enum rnic_cm_event_type type, struct rnic_cm_id *listener,
                   const struct roce_cm_msg *msg)
{
    struct rnic_cm *cm = id->cm;
    struct rnic_cm_event *event;

    if (id->deleted || (cm->event_cnt == cm->event_cap && !grow_events(cm)))
        return;
    event = &cm->event[(cm->event_first + cm->event_cnt++) & (cm->event_cap - 1)];
    event->type = type;
    event->id = id;
    event->listener = listener;
    id->queued++;
    if (listener)
        listener->queued++;
    if (msg)
        event->msg = *msg;
    else
        memset(&event->msg, 0, sizeof(event->msg));
    if (!msg)
        event->msg.kind = (enum roce_cm)ROCE_CM_MSG_CNT;
}

bool rnic_cm_event(struct rnic_cm *cm, struct rnic_cm_event *out)
{
    if (cm->event_cnt == 0)
        return false;
    *out = cm->event[cm->event_first];
    out->id->queued--;
    if (out->listener)
        out->listener->queued--;
    cm->event_first = (cm->event_first + 1) & (cm->event_cap - 1);
    cm->event_cnt--;
    return true;
}

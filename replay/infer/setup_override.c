/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/setup_override.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "util/strbuf.h"
#include "infer/session.h"

static void free_bytes(struct bytes_override *bytes, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++)
        free(bytes[i].bytes);
    free(bytes);
}

void setup_override_free(struct setup_override *override)
{
    for (size_t i = 0; i < override->dir_cnt; i++) {
        free(override->dir[i].receive);
        free(override->dir[i].withdrawn);
    }
    for (size_t i = 0; i < override->host_cnt; i++) {
        for (size_t k = 0; k < override->host[i].region_cnt; k++) {
            struct region_override *region = &override->host[i].region[k];

            free_bytes(region->image, region->image_cnt);
            free_bytes(region->store, region->store_cnt);
        }
        free(override->host[i].region);
    }
    free(override->dir);
    free(override->host);
    free(override->path);
    memset(override, 0, sizeof(*override));
}

/* ---- setups ------------------------------------------------------------------------------------
 */

const struct dir_override *setup_override_dir(const struct setup_override *override, size_t run)
{
    for (size_t i = 0; override && i < override->dir_cnt; i++)
        if (override->dir[i].number == run + 1)
            return &override->dir[i];
    return NULL;
}

void setup_override_packets(const struct dir_override *conn, struct inferred_setup *s)
{
    if (conn && conn->has & OVERRIDE_MTU) {
        s->mtu = conn->mtu;
        s->mtu_known = !conn->mtu_fits;
    }
    if (conn && conn->has & OVERRIDE_PKEY)
        s->pkey = (uint16_t)conn->pkey;
}

void setup_override_responses(const struct dir_override *conn, struct inferred_setup *s)
{
    if (conn && conn->has & OVERRIDE_MSN)
        s->msn = conn->msn;
}

static void apply_numbers(const struct dir_override *c, struct inferred_setup *s)
{
    if (c->has & OVERRIDE_RQ_PSN)
        s->rq_psn = c->rq_psn;
    if (c->has & OVERRIDE_SQ_PSN)
        s->sq_psn = c->sq_psn;
    if (c->has & OVERRIDE_ACCESS)
        s->access = c->access;
    if (c->has & OVERRIDE_RNR_TIMER)
        s->rnr_code = (uint8_t)c->rnr_timer;
    if (c->has & OVERRIDE_RECEIVE_LENGTH)
        s->max_recv = c->receive_len;
    if (c->has & OVERRIDE_RESOURCES)
        s->resources = (uint8_t)c->resources;
    if (c->has & OVERRIDE_RD_ATOMIC)
        s->rd_atomic = (uint8_t)c->rd_atomic;
    if (c->has & OVERRIDE_TIMEOUT)
        s->timeout = (uint8_t)c->timeout;
    if (c->has & OVERRIDE_RETRY_CNT)
        s->retry_cnt = (uint8_t)c->retry_cnt;
    if (c->has & OVERRIDE_RNR_RETRY)
        s->rnr_retry = (uint8_t)c->rnr_retry;
    if (c->has & OVERRIDE_PEER_QPN)
        s->peer_qpn = c->peer_qpn;
    if (c->has & OVERRIDE_QPN)
        s->qpn = c->qpn;
}

/* Returns the next request packet with this PSN, or NULL. Searches the request table from index
 * *from and sets *from behind the packet found. */
static const struct request_pkt *next_entry(const struct inferred_setup *s, size_t *from,
                                            uint32_t psn)
{
    while (*from < s->req_cnt) {
        const struct request_pkt *e = &s->req[(*from)++];

        if (roce_psn_add(s->psn, (int32_t)e->rel).v == psn)
            return e;
    }
    return NULL;
}

static int no_such(const struct setup_override *override, const struct dir_override *c,
                   const char *list, size_t index, const char *member, uint32_t psn,
                   struct error *error)
{
    return error_set(error,
                     "%s: connections[%zu].setup.%s[%zu]%s: %u: no request of the connection has "
                     "this PSN (entries must be in the order of their PSNs)",
                     override->path, c->index, list, index, member, psn);
}

/* Sets the receive WQEs of all copies of a request. The first r->absent copies find no receive
 * WQE. All copies find one of r->len bytes. */
static void apply_receive(struct inferred_setup *s, const struct request_pkt *e,
                          const struct recv_override *r)
{
    uint32_t absent = r->absent;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        if (s->event[i].response || s->event[i].rel != e->rel)
            continue;
        s->event[i].recv_len = r->len;
        s->event[i].no_recv_wqe = absent > 0;
        absent -= absent > 0;
    }
}

static int apply_receives(const struct setup_override *override, const struct dir_override *c,
                          struct inferred_setup *s, struct error *error)
{
    size_t from = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        s->event[i].no_recv_wqe = false;
        s->event[i].recv_len = RECV_FULL;
    }
    for (size_t i = 0; i < c->receive_cnt; i++) {
        const struct request_pkt *e = next_entry(s, &from, c->receive[i].psn);

        if (!e)
            return no_such(override, c, "receives", i, ".psn", c->receive[i].psn, error);
        apply_receive(s, e, &c->receive[i]);
    }
    return 0;
}

static int apply_withdrawn(const struct setup_override *override, const struct dir_override *c,
                           struct inferred_setup *s, struct error *error)
{
    size_t from = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++)
        s->event[i].rkey_invalid = false;
    for (size_t i = 0; i < c->withdrawn_cnt; i++) {
        const struct request_pkt *e = next_entry(s, &from, c->withdrawn[i]);

        if (!e)
            return no_such(override, c, "withdrawn", i, "", c->withdrawn[i], error);
        for (uint32_t k = 0; k < s->event_cnt; k++)
            if (!s->event[k].response && s->event[k].rel == e->rel)
                s->event[k].rkey_invalid = true;
    }
    return 0;
}

static int apply_conn(const struct setup_override *override, const struct dir_override *c,
                      struct session *session, struct error *error)
{
    struct inferred_setup *s;

    if (c->number > session->dir_cnt)
        return error_set(error, "%s: connections[%zu].connection: %u: %s has %zu", override->path,
                         c->index, c->number, session->trace->name, session->dir_cnt);
    s = &session->dir[c->number - 1].setup;
    apply_numbers(c, s);
    if (s->skip)
        return 0;
    if (c->has & OVERRIDE_RECEIVES && apply_receives(override, c, s, error) != 0)
        return -1;
    return c->has & OVERRIDE_WITHDRAWN ? apply_withdrawn(override, c, s, error) : 0;
}

/* ---- devices -----------------------------------------------------------------------------------
 */

/* One host may use several encapsulations, so an address may occur several times in each list.
 * Pair the n-th session host of an address with the n-th host of that address in the file. */
struct host_override *setup_override_host(struct setup_override *override,
                                          const struct session *session, uint32_t host)
{
    size_t before = 0;

    for (uint32_t i = 0; i < host; i++)
        before += memcmp(session->host[i].addr, session->host[host].addr, 16) == 0;
    for (size_t i = 0; override && i < override->host_cnt; i++)
        if (memcmp(override->host[i].addr, session->host[host].addr, 16) == 0 && before-- == 0)
            return override->host[i].has & OVERRIDE_REGIONS ? &override->host[i] : NULL;
    return NULL;
}

/* Returns whether the capture has a responder for host `index` of the --setup file. */
static bool is_there(const struct setup_override *override, const struct session *session,
                     size_t index)
{
    size_t given_cnt = 0, cnt = 0;

    for (size_t i = 0; i <= index; i++)
        given_cnt += memcmp(override->host[i].addr, override->host[index].addr, 16) == 0;
    for (size_t i = 0; i < session->host_cnt; i++)
        cnt += memcmp(session->host[i].addr, override->host[index].addr, 16) == 0;
    return given_cnt <= cnt;
}

/* Replaces the regions of the memory by those of the file. An R_Key that the file lacks grants
 * no access. */
static int apply_regions(const struct host_override *from, struct shadow_memory *memory)
{
    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        memory->region[i].access = 0;
        memory->region[i].invalidate = false;
    }
    for (size_t i = 0; i < from->region_cnt; i++) {
        const struct region_override *g = &from->region[i];
        struct shadow_region *region;

        if (shadow_claim_key(memory, g->rkey, 0) != 0)
            return -1;
        region = shadow_find(memory, g->rkey);
        region->low = g->low;
        region->span = g->span;
        region->access = g->access;
        region->invalidate = g->invalidate;
    }
    return 0;
}

int setup_override_apply(const struct setup_override *override, struct session *session,
                         struct error *error)
{
    for (size_t i = 0; i < override->dir_cnt; i++)
        if (apply_conn(override, &override->dir[i], session, error) != 0)
            return -1;
    for (size_t i = 0; i < override->host_cnt; i++)
        if (!is_there(override, session, i)) {
            char buf[64];
            struct strbuf t = strbuf_of(buf, sizeof(buf));

            strbuf_add_addr(&t, override->host[i].addr);
            return error_set(
                error, "%s: devices[%zu].address: \"%s\": no responder of %s has this address",
                override->path, i, buf, session->trace->name);
        }
    for (uint32_t i = 0; i < session->host_cnt; i++) {
        const struct host_override *from = setup_override_host(session->override, session, i);

        if (from && apply_regions(from, &session->host[i].memory) != 0)
            return error_set(error, "%s: no memory", override->path);
    }
    return 0;
}

int setup_override_image(const struct host_override *device, struct shadow_memory *memory)
{
    for (size_t i = 0; i < device->region_cnt; i++) {
        const struct region_override *g = &device->region[i];

        for (size_t k = 0; k < g->image_cnt; k++)
            if (shadow_set_initial(memory, shadow_find(memory, g->rkey), g->image[k].va,
                                   g->image[k].bytes, g->image[k].len) != 0)
                return -1;
    }
    return 0;
}

int setup_override_stores(struct host_override *device, struct shadow_memory *memory, uint32_t at,
                          uint32_t request)
{
    for (size_t i = 0; i < device->region_cnt; i++) {
        struct region_override *g = &device->region[i];

        for (; g->stored < g->store_cnt; g->stored++) {
            const struct bytes_override *b = &g->store[g->stored];

            if (b->at > at || (b->at == at && b->request != request))
                break;
            if (shadow_set_initial(memory, shadow_find(memory, g->rkey), b->va, b->bytes, b->len) !=
                0)
                return -1;
        }
    }
    return 0;
}

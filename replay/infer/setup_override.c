/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/setup_override.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/rc_responder.h"

static void free_bytes(struct given_bytes *bytes, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++)
        free(bytes[i].bytes);
    free(bytes);
}

void given_free(struct given *given)
{
    for (size_t i = 0; i < given->conn_cnt; i++) {
        free(given->conn[i].receive);
        free(given->conn[i].withdrawn);
    }
    for (size_t i = 0; i < given->device_cnt; i++) {
        for (size_t k = 0; k < given->device[i].region_cnt; k++) {
            struct given_region *region = &given->device[i].region[k];

            free_bytes(region->image, region->image_cnt);
            free_bytes(region->store, region->store_cnt);
        }
        free(given->device[i].region);
    }
    free(given->conn);
    free(given->device);
    free(given->path);
    memset(given, 0, sizeof(*given));
}

/* ---- setups ------------------------------------------------------------------------------------
 */

const struct given_conn *given_conn(const struct given *given, size_t run)
{
    for (size_t i = 0; given && i < given->conn_cnt; i++)
        if (given->conn[i].number == run + 1)
            return &given->conn[i];
    return NULL;
}

void given_packets(const struct given_conn *conn, struct setup *s)
{
    if (conn && conn->has & GIVEN_MTU) {
        s->mtu = conn->mtu;
        s->mtu_known = !conn->mtu_fits;
    }
    if (conn && conn->has & GIVEN_PKEY)
        s->pkey = (uint16_t)conn->pkey;
}

void given_answers(const struct given_conn *conn, struct setup *s)
{
    if (conn && conn->has & GIVEN_MSN)
        s->msn = conn->msn;
}

static void apply_numbers(const struct given_conn *c, struct setup *s)
{
    if (c->has & GIVEN_RQ_PSN)
        s->rq_psn = c->rq_psn;
    if (c->has & GIVEN_SQ_PSN)
        s->sq_psn = c->sq_psn;
    if (c->has & GIVEN_ACCESS)
        s->access = c->access;
    if (c->has & GIVEN_RNR_TIMER)
        s->rnr_code = (uint8_t)c->rnr_timer;
    if (c->has & GIVEN_RECEIVE_LENGTH)
        s->max_recv = c->receive_len;
    if (c->has & GIVEN_RESOURCES)
        s->resources = (uint8_t)c->resources;
    if (c->has & GIVEN_RD_ATOMIC)
        s->rd_atomic = (uint8_t)c->rd_atomic;
    if (c->has & GIVEN_TIMEOUT)
        s->timeout = (uint8_t)c->timeout;
    if (c->has & GIVEN_RETRY_CNT)
        s->retry_cnt = (uint8_t)c->retry_cnt;
    if (c->has & GIVEN_RNR_RETRY)
        s->rnr_retry = (uint8_t)c->rnr_retry;
    if (c->has & GIVEN_PEER_QPN)
        s->peer_qpn = c->peer_qpn;
    if (c->has & GIVEN_QPN)
        s->qpn = c->qpn;
}

/* The next entry from *from on with this PSN, in the order of the entries; or NULL. */
static const struct entry *next_entry(const struct setup *s, size_t *from, uint32_t psn)
{
    while (*from < s->entry_cnt) {
        const struct entry *e = &s->entry[(*from)++];

        if (roce_psn_add(s->psn, (int32_t)e->rel).v == psn)
            return e;
    }
    return NULL;
}

static int no_such(const struct given *given, const struct given_conn *c, const char *list,
                   size_t index, const char *member, uint32_t psn, struct error *error)
{
    return error_set(error,
                     "%s: connections[%zu].setup.%s[%zu]%s: %u: no request of the connection has "
                     "this PSN (they stand in the order of their PSNs)",
                     given->path, c->index, list, index, member, psn);
}

/* All copies of a request: the first `absent` of them find no receive WQE, and all one of `len`. */
static void apply_receive(struct setup *s, const struct entry *e, const struct given_receive *r)
{
    uint32_t absent = r->absent;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        if (s->step[i].response || s->step[i].rel != e->rel)
            continue;
        s->step[i].recv_len = r->len;
        s->step[i].no_recv = absent > 0;
        absent -= absent > 0;
    }
}

static int apply_receives(const struct given *given, const struct given_conn *c, struct setup *s,
                          struct error *error)
{
    size_t from = 0;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        s->step[i].no_recv = false;
        s->step[i].recv_len = RECV_FULL;
    }
    for (size_t i = 0; i < c->receive_cnt; i++) {
        const struct entry *e = next_entry(s, &from, c->receive[i].psn);

        if (!e)
            return no_such(given, c, "receives", i, ".psn", c->receive[i].psn, error);
        apply_receive(s, e, &c->receive[i]);
    }
    return 0;
}

static int apply_withdrawn(const struct given *given, const struct given_conn *c, struct setup *s,
                           struct error *error)
{
    size_t from = 0;

    for (uint32_t i = 0; i < s->step_cnt; i++)
        s->step[i].withdraw = false;
    for (size_t i = 0; i < c->withdrawn_cnt; i++) {
        const struct entry *e = next_entry(s, &from, c->withdrawn[i]);

        if (!e)
            return no_such(given, c, "withdrawn", i, "", c->withdrawn[i], error);
        for (uint32_t k = 0; k < s->step_cnt; k++)
            if (!s->step[k].response && s->step[k].rel == e->rel)
                s->step[k].withdraw = true;
    }
    return 0;
}

static int apply_conn(const struct given *given, const struct given_conn *c, struct drive *d,
                      struct error *error)
{
    struct setup *s;

    if (c->number > d->run_cnt)
        return error_set(error, "%s: connections[%zu].connection: %u: %s has %zu", given->path,
                         c->index, c->number, d->trace->name, d->run_cnt);
    s = &d->run[c->number - 1].setup;
    apply_numbers(c, s);
    if (s->skip)
        return 0;
    if (c->has & GIVEN_RECEIVES && apply_receives(given, c, s, error) != 0)
        return -1;
    return c->has & GIVEN_WITHDRAWN ? apply_withdrawn(given, c, s, error) : 0;
}

/* ---- devices -----------------------------------------------------------------------------------
 */

/* The n-th device with an address in one list is the n-th with it in the other: one host may speak
 * several encapsulations. */
struct given_device *given_device(struct given *given, const struct drive *d, uint32_t device)
{
    size_t before = 0;

    for (uint32_t i = 0; i < device; i++)
        before += memcmp(d->device[i].addr, d->device[device].addr, 16) == 0;
    for (size_t i = 0; given && i < given->device_cnt; i++)
        if (memcmp(given->device[i].addr, d->device[device].addr, 16) == 0 && before-- == 0)
            return given->device[i].has & GIVEN_REGIONS ? &given->device[i] : NULL;
    return NULL;
}

/* Whether the capture has a responder for the device. */
static bool is_there(const struct given *given, const struct drive *d, size_t index)
{
    size_t given_cnt = 0, cnt = 0;

    for (size_t i = 0; i <= index; i++)
        given_cnt += memcmp(given->device[i].addr, given->device[index].addr, 16) == 0;
    for (size_t i = 0; i < d->device_cnt; i++)
        cnt += memcmp(d->device[i].addr, given->device[index].addr, 16) == 0;
    return given_cnt <= cnt;
}

/* The regions are those of the file; a key that it lacks gives access to nothing. */
static int apply_regions(const struct given_device *from, struct memory *memory)
{
    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        memory->region[i].access = 0;
        memory->region[i].invalidate = false;
    }
    for (size_t i = 0; i < from->region_cnt; i++) {
        const struct given_region *g = &from->region[i];
        struct memory_region *region;

        if (memory_claim_key(memory, g->rkey, 0) != 0)
            return -1;
        region = memory_find(memory, g->rkey);
        region->low = g->low;
        region->span = g->span;
        region->access = g->access;
        region->invalidate = g->invalidate;
    }
    return 0;
}

int given_apply(const struct given *given, struct drive *d, struct error *error)
{
    for (size_t i = 0; i < given->conn_cnt; i++)
        if (apply_conn(given, &given->conn[i], d, error) != 0)
            return -1;
    for (size_t i = 0; i < given->device_cnt; i++)
        if (!is_there(given, d, i)) {
            char buf[64];
            struct strbuf t = strbuf_of(buf, sizeof(buf));

            strbuf_add_addr(&t, given->device[i].addr);
            return error_set(error, "%s: devices[%zu].address: \"%s\": no responder of %s has it",
                             given->path, i, buf, d->trace->name);
        }
    for (uint32_t i = 0; i < d->device_cnt; i++) {
        const struct given_device *from = given_device(d->given, d, i);

        if (from && apply_regions(from, &d->device[i].memory) != 0)
            return error_set(error, "%s: no memory", given->path);
    }
    return 0;
}

int given_image(const struct given_device *device, struct memory *memory)
{
    for (size_t i = 0; i < device->region_cnt; i++) {
        const struct given_region *g = &device->region[i];

        for (size_t k = 0; k < g->image_cnt; k++)
            if (memory_give(memory, memory_find(memory, g->rkey), g->image[k].va, g->image[k].bytes,
                            g->image[k].len) != 0)
                return -1;
    }
    return 0;
}

int given_stores(struct given_device *device, struct memory *memory, uint32_t at, uint32_t request)
{
    for (size_t i = 0; i < device->region_cnt; i++) {
        struct given_region *g = &device->region[i];

        for (; g->stored < g->store_cnt; g->stored++) {
            const struct given_bytes *b = &g->store[g->stored];

            if (b->at > at || (b->at == at && b->request != request))
                break;
            if (memory_give(memory, memory_find(memory, g->rkey), b->va, b->bytes, b->len) != 0)
                return -1;
        }
    }
    return 0;
}

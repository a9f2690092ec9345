/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/setup_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "util/hex.h"
#include "util/json_util.h"
#include "util/strbuf.h"

/* Limit of the memory bytes in one JSON string. */
#define CHUNK_MAX 4096u

/* Returns a 64-bit number as a string in hex, because some JSON readers do not have 64-bit
 * numbers. */
static json_t *hex(uint64_t value)
{
    char buf[24];

    snprintf(buf, sizeof(buf), "0x%" PRIx64, value);
    return json_string(buf);
}

static json_t *end_json(const uint8_t addr[16], uint32_t qpn)
{
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, addr);
    return json_pack("{s:s, s:i}", "address", buf, "qpn", (int)qpn);
}

static const struct {
    unsigned bit;
    const char *name;
} accesses[] = {
    {RNIC_ACCESS_REMOTE_WRITE, "remote_write"},         {RNIC_ACCESS_REMOTE_READ, "remote_read"},
    {RNIC_ACCESS_REMOTE_ATOMIC, "remote_atomic"},       {RNIC_ACCESS_FLUSH_GLOBAL, "flush_global"},
    {RNIC_ACCESS_FLUSH_PERSISTENT, "flush_persistent"},
};
#define ACCESS_CNT (sizeof(accesses) / sizeof(accesses[0]))

static json_t *access_json(unsigned access)
{
    json_t *list = json_array();

    for (size_t i = 0; i < ACCESS_CNT; i++)
        if (access & accesses[i].bit)
            json_array_append_new(list, json_string(accesses[i].name));
    return list;
}

/* ---- JSON of a connection ----------------------------------------------------------------------
 */

/* Returns, as JSON, the SENDs for which the receive WQE was missing or too short. */
static json_t *receives_json(const struct inferred_setup *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->req_cnt; i++) {
        const struct pkt_event *first = &s->event[s->req[i].event];
        unsigned absent = 0;

        for (uint32_t k = 0; s->rnr_naks && k < s->event_cnt; k++)
            absent += s->event[k].no_recv_wqe && s->event[k].rel == s->req[i].rel;
        if (absent || first->recv_len != RECV_FULL)
            json_array_append_new(
                list, json_pack("{s:i, s:i, s:o}", "psn",
                                (int)roce_psn_add(s->psn, (int32_t)s->req[i].rel).v, "absent",
                                (int)absent, "length",
                                first->recv_len == RECV_FULL ? json_null()
                                                             : json_integer(first->recv_len)));
    }
    return list;
}

/* Returns, as JSON, the requests with an invalid R_Key, or with a range that is not inside the
 * region. */
static json_t *withdrawn_json(const struct inferred_setup *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->req_cnt; i++)
        if (s->event[s->req[i].event].rkey_invalid)
            json_array_append_new(list,
                                  json_integer(roce_psn_add(s->psn, (int32_t)s->req[i].rel).v));
    return list;
}

/* Returns, as JSON, the timeouts and retry counts that the requester's packets allow. */
static json_t *timers_json(const struct inferred_timers *t)
{
    json_t *json = json_object();

    if (t->waits)
        json_object_update_new(json, json_pack("{s:i, s:b, s:i, s:i}", "waits", (int)t->waits,
                                               "waits_sure", t->sure, "timeout_least",
                                               t->timeout_min, "timeout_most", t->timeout_max));
    json_object_update_new(json, json_pack("{s:i, s:b, s:i, s:b}", "retries", (int)t->retries,
                                           "retries_exhausted", t->exhausted, "rnr_retries",
                                           (int)t->rnr_retries, "rnr_exhausted", t->rnr_exhausted));
    return json;
}

static json_t *requester_json(const struct inferred_setup *s, const uint8_t addr[16])
{
    json_t *json = end_json(addr, s->peer_qpn);

    if (!s->skip)
        json_object_update_new(json, json_pack("{s:i, s:i, s:i, s:i, s:i, s:o}", "first_psn",
                                               (int)s->sq_psn, "timeout", s->timeout, "retry_count",
                                               s->retry_cnt, "rnr_retry", s->rnr_retry, "rd_atomic",
                                               s->rd_atomic, "seen", timers_json(&s->timers)));
    return json;
}

static json_t *connection_json(const struct rc_direction *dir, size_t number)
{
    const struct inferred_setup *s = &dir->setup;
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    const char *skip = s->skip ? s->skip : dir->failed;
    json_t *json = json_pack("{s:i, s:i, s:o, s:o, s:b}", "connection", (int)number, "device",
                             (int)dir->host, "requester", requester_json(s, flow->src), "responder",
                             end_json(flow->dst, s->qpn), "from_cm", s->recorded->cm.present);

    if (skip)
        json_object_set_new(json, "skipped", json_string(skip));
    if (s->skip)
        return json; /* the setup of a skipped direction is only partly known */
    json_object_set_new(json, "setup",
                        json_pack("{s:i, s:b, s:i, s:i, s:i, s:o, s:i, s:i, s:i, s:o, s:o}",
                                  "path_mtu", (int)s->mtu, "path_mtu_known", s->mtu_known, "pkey",
                                  (int)s->pkey, "first_psn", (int)s->rq_psn, "msn", (int)s->msn,
                                  "access", access_json(s->access), "rd_atomic", s->resources,
                                  "rnr_timer", (int)s->rnr_code, "receive_length", (int)s->max_recv,
                                  "receives", receives_json(s), "withdrawn", withdrawn_json(s)));
    return json;
}

/* ---- JSON of the memory ------------------------------------------------------------------------
 */

/* Adds stored bytes to a list as hex strings of at most CHUNK_MAX bytes. Returns 0, or -1 if out
 * of memory. */
static int add_store(json_t *list, const struct logged_store *store, bool initial,
                     const uint8_t *byte)
{
    char text[2 * CHUNK_MAX + 1];

    for (uint32_t off = 0; off < store->len;) {
        uint32_t len = store->len - off < CHUNK_MAX ? store->len - off : CHUNK_MAX;
        json_t *json;

        hex_format(text, byte + off, len);
        text[2 * len] = '\0';
        json = json_pack("{s:o, s:s}", "address", hex(store->va + off), "bytes", text);
        if (json && !initial) {
            json_object_set_new(json, "frame", json_integer(store->before_frame));
            if (store->request != store->before_frame)
                json_object_set_new(json, "request", json_integer(store->request));
        }
        if (json_array_append_new(list, json) != 0)
            return -1;
        off += len;
    }
    return 0;
}

static json_t *region_json(const struct shadow_region *region)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:[], s:[]}", "rkey", hex(region->rkey), "address",
                     hex(region->low), "length", hex(region->span), "access",
                     access_json(region->access), "invalidate", region->invalidate, "image",
                     "stores");
}

static json_t *device_json(const struct responder_host *host)
{
    const struct shadow_memory *memory = &host->memory;
    json_t *regions = json_array();
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, host->addr);
    for (uint32_t i = 0; i < memory->keys.cnt; i++)
        json_array_append_new(regions, region_json(&memory->region[i]));
    return json_pack("{s:s, s:o}", "address", buf, "regions", regions);
}

/* Atomics without a captured response. The replay executes them on our RNIC. A later response that
 * shows the word therefore shows the result of the atomic, not the initial contents. */
struct open_atomics {
    struct {
        uint32_t host, rkey;
        uint64_t va;
    } * at;
    size_t cnt, cap;
};

/* Finds the atomics of all directions that have no captured response. Returns 0, or -1 if out of
 * memory. */
static int find_open_atomics(struct open_atomics *open, const struct session *session)
{
    for (size_t d = 0; d < session->dir_cnt; d++) {
        const struct inferred_setup *s = &session->dir[d].setup;

        for (size_t i = 0; i < s->req_cnt; i++) {
            const struct request_pkt *e = &s->req[i];

            if (e->first_response != EVENT_NONE ||
                !roce_opcode_is_atomic(roce_opcode(event_packet(s, e->event)->opcode)))
                continue;
            if (!VEC_GROW(open->at, open->cnt, open->cap))
                return -1;
            open->at[open->cnt].host = session->dir[d].host;
            open->at[open->cnt].rkey = e->rkey;
            open->at[open->cnt++].va = e->va;
        }
    }
    return 0;
}

static bool is_initial(const struct logged_store *store, const struct open_atomics *open)
{
    for (size_t i = 0; store->initial && i < open->cnt; i++)
        if (open->at[i].host == store->host && open->at[i].rkey == store->rkey &&
            open->at[i].va < store->va + store->len && store->va < open->at[i].va + 8)
            return false;
    return store->initial;
}

/* Adds the logged bytes to the JSON regions that contain them. Returns 0, or -1 if out of
 * memory. */
static int add_stores(json_t *devices, const struct session *session, const struct memory_log *log)
{
    struct open_atomics open = {0};
    int rc = find_open_atomics(&open, session);

    for (size_t i = 0; rc == 0 && i < log->cnt; i++) {
        const struct logged_store *store = &log->store[i];
        const struct shadow_memory *memory = &session->host[store->host].memory;
        const struct shadow_region *region = shadow_find(memory, store->rkey);
        json_t *regions = json_object_get(json_array_get(devices, store->host), "regions");
        json_t *json = json_array_get(regions, (size_t)(region - memory->region));
        bool initial = is_initial(store, &open);

        rc = add_store(json_object_get(json, initial ? "image" : "stores"), store, initial,
                       log->byte + store->off);
    }
    free(open.at);
    return rc;
}

/* Returns the inferred setup (QPs, memory, timers) as JSON (a new reference), or NULL if out of
 * memory. */
static json_t *setup_json(const struct session *session, const struct memory_log *log)
{
    json_t *connections = json_array(), *devices = json_array();

    for (size_t i = 0; i < session->dir_cnt; i++)
        json_array_append_new(connections, connection_json(&session->dir[i], i + 1));
    for (size_t i = 0; i < session->host_cnt; i++)
        json_array_append_new(devices, device_json(&session->host[i]));
    if (add_stores(devices, session, log) != 0) {
        json_decref(connections);
        json_decref(devices);
        return NULL;
    }
    return json_pack("{s:o, s:o, s:o}", "file", json_lossy_string(session->trace->name),
                     "connections", connections, "devices", devices);
}

int setup_dump_write(const struct session *session, const struct memory_log *log, const char *path,
                     struct error *error)
{
    json_t *json = setup_json(session, log);
    FILE *file = json ? fopen(path, "wb") : NULL;
    int rc = 0;

    if (!json)
        return error_set(error, "%s: no memory", path);
    if (!file) {
        json_decref(json);
        return error_set(error, "%s: %s", path, strerror(errno));
    }
    if (json_dumpf(json, file, JSON_INDENT(2)) != 0 || fputc('\n', file) == EOF)
        rc = -1;
    if (fclose(file) != 0 || rc != 0)
        rc = error_set(error, "%s: cannot be written", path);
    json_decref(json);
    return rc;
}

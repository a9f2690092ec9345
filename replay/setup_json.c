/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "setup_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of an image in one string. */
#define CHUNK_MAX 4096u

/* 64-bit numbers as people write them: JSON's are not that long everywhere. */
static json_t *hex(uint64_t value)
{
    char buf[24];

    snprintf(buf, sizeof(buf), "0x%" PRIx64, value);
    return json_string(buf);
}

static json_t *end_json(const uint8_t addr[16], uint32_t qpn)
{
    char buf[64];
    struct text t = text_of(buf, sizeof(buf));

    text_add_addr(&t, addr);
    return json_pack("{s:s, s:i}", "address", buf, "qpn", (int)qpn);
}

static json_t *access_json(unsigned access)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {
        {RNIC_ACCESS_REMOTE_WRITE, "remote_write"},
        {RNIC_ACCESS_REMOTE_READ, "remote_read"},
        {RNIC_ACCESS_REMOTE_ATOMIC, "remote_atomic"},
        {RNIC_ACCESS_FLUSH_GLOBAL, "flush_global"},
        {RNIC_ACCESS_FLUSH_PERSISTENT, "flush_persistent"},
    };
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (access & names[i].bit)
            json_array_append_new(list, json_string(names[i].name));
    return list;
}

/* ---- connections -------------------------------------------------------------------------------
 */

/* Where a receive WQE lacked, or was short. */
static json_t *receives_json(const struct setup *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->entry_cnt; i++) {
        const struct step *first = &s->step[s->entry[i].step];
        unsigned absent = 0;

        for (uint32_t k = 0; s->rnr_naks && k < s->step_cnt; k++)
            absent += s->step[k].no_recv && s->step[k].rel == s->entry[i].rel;
        if (absent || first->recv_len != RECV_FULL)
            json_array_append_new(
                list, json_pack("{s:i, s:i, s:o}", "psn",
                                (int)roce_psn_add(s->psn, (int32_t)s->entry[i].rel).v, "absent",
                                (int)absent, "length",
                                first->recv_len == RECV_FULL ? json_null()
                                                             : json_integer(first->recv_len)));
    }
    return list;
}

static json_t *connection_json(const struct run *run, size_t number)
{
    const struct setup *s = &run->setup;
    const struct trace_flow *flow = &s->trace->flow[s->side->req_flow];
    const char *skip = s->skip ? s->skip : run->failed;
    json_t *json =
        json_pack("{s:i, s:i, s:o, s:o, s:b}", "connection", (int)number, "device",
                  (int)run->device, "requester", end_json(flow->src, s->peer_qpn), "responder",
                  end_json(flow->dst, s->qpn), "from_cm", s->side->cm.present);

    if (skip)
        json_object_set_new(json, "skipped", json_string(skip));
    json_object_set_new(json, "setup",
                        json_pack("{s:i, s:b, s:i, s:i, s:i, s:o, s:i, s:i, s:o}", "path_mtu",
                                  (int)s->mtu, "path_mtu_known", s->mtu_known, "pkey", (int)s->pkey,
                                  "first_psn", (int)roce_psn_add(s->psn, (int32_t)s->first).v,
                                  "msn", (int)s->msn, "access", access_json(s->access), "rnr_timer",
                                  (int)s->rnr_code, "receive_length", (int)s->max_recv, "receives",
                                  receives_json(s)));
    return json;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static json_t *chunk_json(const struct memory_region *region, uint64_t off, uint32_t len)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * (size_t)len + 1);
    json_t *json = NULL;

    if (!text)
        return NULL;
    for (uint32_t i = 0; i < len; i++) {
        text[2 * i] = digits[region->image[off + i] >> 4];
        text[2 * i + 1] = digits[region->image[off + i] & 15];
    }
    text[2 * (size_t)len] = '\0';
    json = json_pack("{s:o, s:s}", "address", hex(region->low + off), "bytes", text);
    free(text);
    return json;
}

/* What answers showed and no peer had written. */
static json_t *image_json(const struct memory_region *region)
{
    json_t *list = json_array();
    uint64_t off = 0;

    while (off < region->span) {
        uint32_t len = 0;

        if (!region->touched[off / MEMORY_PAGE]) {
            off += MEMORY_PAGE - off % MEMORY_PAGE;
            continue;
        }
        while (off + len < region->span && len < CHUNK_MAX && memory_observed(region, off + len))
            len++;
        if (len)
            json_array_append_new(list, chunk_json(region, off, len));
        off += len ? len : 1;
    }
    return list;
}

static json_t *device_json(const struct device *device)
{
    const struct memory *memory = &device->memory;
    json_t *regions = json_array();
    char buf[64];
    struct text t = text_of(buf, sizeof(buf));

    text_add_addr(&t, device->addr);
    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        const struct memory_region *region = &memory->region[i];

        json_array_append_new(
            regions, json_pack("{s:o, s:o, s:o, s:o, s:b, s:o}", "rkey", hex(region->rkey),
                               "address", hex(region->low), "length", hex(region->span), "access",
                               access_json(region->access), "invalidate", region->invalidate,
                               "image", region->image ? image_json(region) : json_array()));
    }
    return json_pack("{s:s, s:o}", "address", buf, "regions", regions);
}

json_t *setup_json(const struct drive *d)
{
    json_t *connections = json_array(), *devices = json_array();

    for (size_t i = 0; i < d->run_cnt; i++)
        json_array_append_new(connections, connection_json(&d->run[i], i + 1));
    for (size_t i = 0; i < d->device_cnt; i++)
        json_array_append_new(devices, device_json(&d->device[i]));
    return json_pack("{s:s, s:o, s:o}", "file", d->trace->name, "connections", connections,
                     "devices", devices);
}

int setup_json_write(const struct drive *d, const char *path, struct fault *fault)
{
    json_t *json = setup_json(d);
    FILE *file = json ? fopen(path, "wb") : NULL;
    int rc = 0;

    if (!json)
        return fault_set(fault, "%s: no memory", path);
    if (!file) {
        json_decref(json);
        return fault_set(fault, "%s: %s", path, strerror(errno));
    }
    if (json_dumpf(json, file, JSON_INDENT(2)) != 0 || fputc('\n', file) == EOF)
        rc = -1;
    if (fclose(file) != 0 || rc != 0)
        rc = fault_set(fault, "%s: cannot be written", path);
    json_decref(json);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Reads a --setup file. Each value is checked when it is read. An error names the file, the path
 * of the value, the value, and the values allowed. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "infer/session.h"
#include "infer/setup_override.h"
#include "util/hex.h"
#include "infer/setup_dump.h"
#include "util/strbuf.h"

#define QPN_MIN 0u
#define QPN_MAX 0xFFFFFFu

struct reader {
    const char *file;
    struct error *error;
    char at[128]; /* path of the object that is being read, such as "connections[0].setup" */
};

/* Numeric member of a JSON object: the allowed range, and the destination of the value. */
struct number {
    const char *name;
    uint64_t min, max;
    unsigned bit; /* bit to set in `has`, or 0 */
    size_t off;   /* offset of the uint32_t that receives the number */
};

#define CONN(member) offsetof(struct dir_override, member)

static const struct number setup_numbers[] = {
    {"path_mtu", 256, 4096, OVERRIDE_MTU, CONN(mtu)},
    {"pkey", 1, 0xFFFF, OVERRIDE_PKEY, CONN(pkey)},
    {"first_psn", 0, ROCE_PSN_MASK, OVERRIDE_RQ_PSN, CONN(rq_psn)},
    {"msn", 0, ROCE_PSN_MASK, OVERRIDE_MSN, CONN(msn)},
    {"rnr_timer", 0, 31, OVERRIDE_RNR_TIMER, CONN(rnr_timer)},
    {"receive_length", 0, UINT64_C(1) << 31, OVERRIDE_RECEIVE_LENGTH, CONN(receive_len)},
    {"rd_atomic", 0, RNIC_RD_ATOMIC_MAX, OVERRIDE_RESOURCES, CONN(resources)},
    {0},
};
static const struct number requester_numbers[] = {
    {"qpn", QPN_MIN, QPN_MAX, OVERRIDE_PEER_QPN, CONN(peer_qpn)},
    {"first_psn", 0, ROCE_PSN_MASK, OVERRIDE_SQ_PSN, CONN(sq_psn)},
    {"timeout", 0, 31, OVERRIDE_TIMEOUT, CONN(timeout)},
    {"retry_count", 0, 7, OVERRIDE_RETRY_CNT, CONN(retry_cnt)},
    {"rnr_retry", 0, 7, OVERRIDE_RNR_RETRY, CONN(rnr_retry)},
    {"rd_atomic", 1, RNIC_RD_ATOMIC_MAX, OVERRIDE_RD_ATOMIC, CONN(rd_atomic)},
    {0},
};
static const struct number responder_numbers[] = {
    {"qpn", QPN_MIN, QPN_MAX, OVERRIDE_QPN, CONN(qpn)},
    {0},
};

/* ---- what is wrong -----------------------------------------------------------------------------
 */

static int wrong(const struct reader *r, const char *member, const json_t *value, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));

/* Sets an error about `value` and returns -1. `member` is a member name of the current object,
 * "[N]" for an array element, or "" for the object itself. */
static int wrong(const struct reader *r, const char *member, const json_t *value, const char *fmt,
                 ...)
{
    char *shown = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    bool dot = *r->at && *member && *member != '[';
    char why[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    error_set(r->error, "%s: %s%s%s: %.60s%s%s%s", r->file, r->at, dot ? "." : "", member,
              shown ? shown : "", shown && strlen(shown) > 60 ? "..." : "", shown ? ": " : "", why);
    free(shown);
    return -1;
}

static int no_memory(const struct reader *r)
{
    return error_set(r->error, "%s: no memory", r->file);
}

/* Appends a member or an element to the path of the current object. Pass the result to leave(). */
static size_t enter(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static size_t enter(struct reader *r, const char *fmt, ...)
{
    size_t len = strlen(r->at);
    va_list args;

    va_start(args, fmt);
    vsnprintf(r->at + len, sizeof(r->at) - len, fmt, args);
    va_end(args);
    return len;
}

static void leave(struct reader *r, size_t len)
{
    r->at[len] = '\0';
}

/* ---- values ------------------------------------------------------------------------------------
 */

/* Reads a number: a JSON number, or a JSON string in hex. Returns false if `value` is neither. */
static bool number_of(const json_t *value, uint64_t *out)
{
    const char *text = json_string_value(value);
    char *end;

    if (json_is_integer(value)) {
        *out = (uint64_t)json_integer_value(value);
        return json_integer_value(value) >= 0;
    }
    if (!text || strncmp(text, "0x", 2) != 0 || strspn(text + 2, "0123456789abcdefABCDEF") == 0)
        return false;
    errno = 0;
    *out = strtoull(text, &end, 16);
    return *end == '\0' && errno == 0;
}

/* Reads a number member of an object. Returns 1, 0 if the object lacks the member, or -1 and an
 * error. */
static int read_u64(const struct reader *r, const json_t *object, const char *name, uint64_t min,
                    uint64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);

    if (!value)
        return 0;
    if (!number_of(value, out) || *out < min || *out > max)
        return wrong(r, name, value, "not a number from %" PRIu64 " to %" PRIu64, min, max);
    return 1;
}

static int need_u64(const struct reader *r, const json_t *object, const char *name, uint64_t min,
                    uint64_t max, uint64_t *out)
{
    int rc = read_u64(r, object, name, min, max, out);

    return rc == 0 ? wrong(r, name, NULL, "is missing") : rc < 0 ? -1 : 0;
}

static int read_numbers(const struct reader *r, const json_t *object, const struct number *row,
                        struct dir_override *conn)
{
    for (; row->name; row++) {
        uint64_t n;
        uint32_t small;
        int rc = read_u64(r, object, row->name, row->min, row->max, &n);

        if (rc < 0)
            return -1;
        if (rc == 0)
            continue;
        small = (uint32_t)n;
        memcpy((char *)conn + row->off, &small, sizeof(small));
        conn->has |= row->bit;
    }
    return 0;
}

static int read_access(struct reader *r, const json_t *value, unsigned *out)
{
    *out = 0;
    if (!json_is_array(value))
        return wrong(r, "", value, "not a list");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        unsigned bit = json_is_string(item) ? setup_dump_access_bit(json_string_value(item)) : 0;
        char member[32];

        snprintf(member, sizeof(member), "[%zu]", i);
        if (!bit)
            return wrong(
                r, member, item,
                "not remote_write, remote_read, remote_atomic, flush_global or flush_persistent");
        *out |= bit;
    }
    return 0;
}

/* Reads the access permissions of an object. Returns 1 on success, 0 if the object has none, or
 * -1 and an error. */
static int read_access_of(struct reader *r, const json_t *object, unsigned *out)
{
    const json_t *value = json_object_get(object, "access");
    size_t mark;
    int rc;

    if (!value)
        return 0;
    mark = enter(r, ".access");
    rc = read_access(r, value, out);
    leave(r, mark);
    return rc < 0 ? -1 : 1;
}

/* Checks that an object has only known members. `names` ends with NULL. */
static int check_names(const struct reader *r, json_t *object, const char *const *names)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return wrong(r, "", object, "not an object");
    json_object_foreach(object, key, value)
    {
        size_t i = 0;

        while (names[i] && strcmp(names[i], key) != 0)
            i++;
        if (!names[i])
            return wrong(r, key, NULL, "unknown member");
    }
    return 0;
}

/* Calls `read` for every element of a list. Returns 0, or -1 and an error. */
static int read_list(struct reader *r, const json_t *object, const char *name, void *into,
                     int (*read)(struct reader *r, json_t *item, void *into))
{
    json_t *list = json_object_get(object, name);

    if (!list)
        return 0;
    if (!json_is_array(list))
        return wrong(r, name, list, "not a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t mark = enter(r, "%s%s[%zu]", *r->at ? "." : "", name, i);

        if (read(r, json_array_get(list, i), into) != 0)
            return -1;
        leave(r, mark);
    }
    return 0;
}

/* ---- connections -------------------------------------------------------------------------------
 */

static int read_receive(struct reader *r, json_t *item, void *into)
{
    static const char *const names[] = {"psn", "absent", "length", NULL};
    struct dir_override *conn = into;
    uint64_t psn, absent = 0, len = RECV_FULL;

    if (check_names(r, item, names) != 0 || need_u64(r, item, "psn", 0, ROCE_PSN_MASK, &psn) != 0 ||
        read_u64(r, item, "absent", 0, UINT32_MAX, &absent) < 0 ||
        (!json_is_null(json_object_get(item, "length")) &&
         read_u64(r, item, "length", 0, UINT64_C(1) << 31, &len) < 0))
        return -1;
    if (!VEC_GROW(conn->receive, conn->receive_cnt, conn->receive_cap))
        return no_memory(r);
    conn->receive[conn->receive_cnt++] = (struct recv_override){
        .psn = (uint32_t)psn, .absent = (uint32_t)absent, .len = (uint32_t)len};
    return 0;
}

static int read_withdrawn(struct reader *r, json_t *item, void *into)
{
    struct dir_override *conn = into;
    uint64_t psn;

    if (!number_of(item, &psn) || psn > ROCE_PSN_MASK)
        return wrong(r, "", item, "not a PSN");
    if (!VEC_GROW(conn->withdrawn, conn->withdrawn_cnt, conn->withdrawn_cap))
        return no_memory(r);
    conn->withdrawn[conn->withdrawn_cnt++] = (uint32_t)psn;
    return 0;
}

static int read_setup(struct reader *r, json_t *setup, struct dir_override *conn)
{
    static const char *const names[] = {"path_mtu", "path_mtu_known", "pkey",      "first_psn",
                                        "msn",      "access",         "rnr_timer", "receive_length",
                                        "receives", "rd_atomic",      "withdrawn", NULL};
    const json_t *known;
    int rc;

    if (check_names(r, setup, names) != 0 || read_numbers(r, setup, setup_numbers, conn) != 0)
        return -1;
    if (conn->has & OVERRIDE_MTU && (conn->mtu & (conn->mtu - 1)))
        return wrong(r, "path_mtu", json_object_get(setup, "path_mtu"),
                     "none of 256, 512, 1024, 2048, 4096");
    known = json_object_get(setup, "path_mtu_known");
    if (known && !json_is_boolean(known))
        return wrong(r, "path_mtu_known", known, "not true or false");
    conn->mtu_fits = json_is_false(known);
    rc = read_access_of(r, setup, &conn->access);
    if (rc < 0)
        return -1;
    conn->has |= rc ? OVERRIDE_ACCESS : 0;
    conn->has |= json_object_get(setup, "receives") ? OVERRIDE_RECEIVES : 0;
    conn->has |= json_object_get(setup, "withdrawn") ? OVERRIDE_WITHDRAWN : 0;
    return read_list(r, setup, "receives", conn, read_receive) != 0 ||
                   read_list(r, setup, "withdrawn", conn, read_withdrawn) != 0
               ? -1
               : 0;
}

static int read_end(struct reader *r, json_t *conn_json, const char *name, const char *const *names,
                    const struct number *numbers, struct dir_override *conn)
{
    json_t *end = json_object_get(conn_json, name);
    size_t mark = enter(r, ".%s", name);

    if (end && (check_names(r, end, names) != 0 || read_numbers(r, end, numbers, conn) != 0))
        return -1;
    leave(r, mark);
    return 0;
}

static int read_conn(struct reader *r, json_t *item, void *into)
{
    static const char *const names[] = {"connection", "device",  "requester", "responder",
                                        "from_cm",    "skipped", "setup",     NULL};
    static const char *const asks[] = {"address",   "qpn",         "first_psn",
                                       "timeout",   "retry_count", "rnr_retry",
                                       "rd_atomic", "seen",        NULL};
    static const char *const answers[] = {"address", "qpn", NULL};
    struct setup_override *override = into;
    struct dir_override *conn;
    json_t *setup;
    uint64_t number;
    size_t mark;

    if (check_names(r, item, names) != 0 ||
        need_u64(r, item, "connection", 1, UINT32_MAX, &number) != 0)
        return -1;
    if (setup_override_dir(override, number - 1))
        return wrong(r, "connection", json_object_get(item, "connection"), "is there twice");
    if (!VEC_GROW(override->dir, override->dir_cnt, override->dir_cap))
        return no_memory(r);
    conn = &override->dir[override->dir_cnt++];
    *conn = (struct dir_override){.index = override->dir_cnt - 1, .number = (uint32_t)number};
    if (read_end(r, item, "requester", asks, requester_numbers, conn) != 0 ||
        read_end(r, item, "responder", answers, responder_numbers, conn) != 0)
        return -1;
    setup = json_object_get(item, "setup");
    mark = enter(r, ".setup");
    if (setup && read_setup(r, setup, conn) != 0)
        return -1;
    leave(r, mark);
    return 0;
}

/* ---- devices -----------------------------------------------------------------------------------
 */

/* Returns the bytes of the hex string "bytes", which the caller frees, or NULL and an error.
 * Sets *len to their number, which is never 0. */
static uint8_t *read_hex(const struct reader *r, const json_t *item, uint32_t *len)
{
    const json_t *value = json_object_get(item, "bytes");
    const char *text = json_string_value(value);
    size_t digits = text ? strlen(text) : 0;
    uint8_t *bytes;

    bytes = malloc(digits / 2 + 1);
    if (!bytes) {
        no_memory(r);
        return NULL;
    }
    if (digits == 0 || digits % 2 || digits / 2 > UINT32_MAX ||
        !hex_parse(text, bytes, digits / 2)) {
        free(bytes);
        wrong(r, "bytes", value, "not bytes in hexadecimal");
        return NULL;
    }
    *len = (uint32_t)(digits / 2);
    return bytes;
}

/* Reads bytes and checks that they are inside the region. Returns 0, or -1 and an error. */
static int read_bytes(struct reader *r, const json_t *item, const struct region_override *region,
                      struct bytes_override *out)
{
    if (need_u64(r, item, "address", 0, UINT64_MAX, &out->va) != 0)
        return -1;
    out->bytes = read_hex(r, item, &out->len);
    if (!out->bytes)
        return -1;
    if (out->va >= region->low && out->len <= region->span &&
        out->va - region->low <= region->span - out->len)
        return 0;
    free(out->bytes);
    return wrong(r, "address", json_object_get(item, "address"),
                 "the %u bytes are not all in the region", out->len);
}

static int read_image(struct reader *r, json_t *item, void *into)
{
    static const char *const names[] = {"address", "bytes", NULL};
    struct region_override *region = into;
    struct bytes_override bytes = {0};

    if (check_names(r, item, names) != 0 || read_bytes(r, item, region, &bytes) != 0)
        return -1;
    if (!VEC_GROW(region->image, region->image_cnt, region->image_cap)) {
        free(bytes.bytes);
        return no_memory(r);
    }
    region->image[region->image_cnt++] = bytes;
    return 0;
}

static int read_store(struct reader *r, json_t *item, void *into)
{
    static const char *const names[] = {"frame", "request", "address", "bytes", NULL};
    struct region_override *region = into;
    struct bytes_override bytes = {0};
    uint64_t frame, request;

    if (check_names(r, item, names) != 0 || need_u64(r, item, "frame", 1, UINT32_MAX, &frame) != 0)
        return -1;
    request = frame;
    if (read_u64(r, item, "request", 1, UINT32_MAX, &request) < 0)
        return -1;
    if (region->store_cnt && region->store[region->store_cnt - 1].at > frame)
        return wrong(r, "frame", json_object_get(item, "frame"),
                     "listed after frame %u: stores must be in the order of their frames",
                     region->store[region->store_cnt - 1].at);
    if (read_bytes(r, item, region, &bytes) != 0)
        return -1;
    bytes.at = (uint32_t)frame;
    bytes.request = (uint32_t)request;
    if (!VEC_GROW(region->store, region->store_cnt, region->store_cap)) {
        free(bytes.bytes);
        return no_memory(r);
    }
    region->store[region->store_cnt++] = bytes;
    return 0;
}

static int read_region(struct reader *r, json_t *item, void *into)
{
    static const char *const names[] = {"rkey",       "address", "length", "access",
                                        "invalidate", "image",   "stores", NULL};
    struct host_override *device = into;
    struct region_override region = {0};
    const json_t *invalidate = json_object_get(item, "invalidate");
    uint64_t rkey;

    if (check_names(r, item, names) != 0 || need_u64(r, item, "rkey", 0, UINT32_MAX, &rkey) != 0 ||
        need_u64(r, item, "address", 0, UINT64_MAX, &region.low) != 0 ||
        need_u64(r, item, "length", 0, UINT64_MAX, &region.span) != 0 ||
        read_access_of(r, item, &region.access) < 0)
        return -1;
    if (region.low + region.span < region.low)
        return wrong(r, "length", json_object_get(item, "length"),
                     "the region goes beyond the last address");
    if (invalidate && !json_is_boolean(invalidate))
        return wrong(r, "invalidate", invalidate, "not true or false");
    region.rkey = (uint32_t)rkey;
    region.invalidate = json_is_true(invalidate);
    for (size_t i = 0; i < device->region_cnt; i++)
        if (device->region[i].rkey == region.rkey)
            return wrong(r, "rkey", json_object_get(item, "rkey"), "is there twice");
    if (!VEC_GROW(device->region, device->region_cnt, device->region_cap))
        return no_memory(r);
    device->region[device->region_cnt++] = region;
    return read_list(r, item, "image", &device->region[device->region_cnt - 1], read_image) != 0 ||
                   read_list(r, item, "stores", &device->region[device->region_cnt - 1],
                             read_store) != 0
               ? -1
               : 0;
}

static int read_device(struct reader *r, json_t *item, void *into)
{
    static const char *const names[] = {"address", "regions", NULL};
    struct setup_override *override = into;
    const json_t *addr = json_object_get(item, "address");
    struct host_override *device;

    if (check_names(r, item, names) != 0)
        return -1;
    if (!VEC_GROW(override->host, override->host_cnt, override->host_cap))
        return no_memory(r);
    device = &override->host[override->host_cnt++];
    *device =
        (struct host_override){.has = json_object_get(item, "regions") ? OVERRIDE_REGIONS : 0};
    if (!json_is_string(addr) || !parse_ip_addr(json_string_value(addr), device->addr))
        return wrong(r, "address", addr, addr ? "not an IP address" : "is missing");
    return read_list(r, item, "regions", device, read_region);
}

int setup_override_read(struct setup_override *override, const char *path, struct error *error)
{
    static const char *const names[] = {"file", "connections", "devices", NULL};
    struct reader r = {.file = path, .error = error};
    json_error_t json_error;
    json_t *root;
    int rc;

    *override = (struct setup_override){.path = strdup(path)};
    if (!override->path)
        return no_memory(&r);
    root = json_load_file(path, JSON_REJECT_DUPLICATES, &json_error);
    if (!root)
        return json_error.line > 0
                   ? error_set(error, "%s: line %d, column %d: %s", path, json_error.line,
                               json_error.column, json_error.text)
                   : error_set(error, "%s: %s", path, errno ? strerror(errno) : json_error.text);
    rc = json_is_object(root) ? check_names(&r, root, names)
                              : error_set(error, "%s: not a JSON object", path);
    if (rc == 0)
        rc = read_list(&r, root, "connections", override, read_conn);
    if (rc == 0)
        rc = read_list(&r, root, "devices", override, read_device);
    json_decref(root);
    return rc;
}

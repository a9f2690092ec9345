/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: --setup files. If the first byte is even, the rest of the input is the file. If
 * it is odd, the rest is a script that builds a file whose members are mostly valid.
 *
 * Invariants: the reader accepts the file, or refuses it with an error that begins with its
 * name. All accepted bytes lie in their region, and are sorted in the order of their use. All
 * memory is freed.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <jansson.h>
#include "infer/infer_setup.h"
#include "fuzz.h"
#include "script.h"
#include "infer/setup_override.h"

static json_t *build(struct script *s, unsigned depth);

/* Returns a list of objects, or of plain values below the deepest level of objects. */
static json_t *list(struct script *s, unsigned depth)
{
    json_t *json = json_array();

    for (unsigned i = u8(s) & 3; i > 0; i--)
        json_array_append_new(json, build(s, depth));
    return json;
}

static json_t *value(struct script *s)
{
    static const char *const words[] = {
        "0x10", "0xffffffffffffffff", "remote_read", "192.0.2.2", "00ff", "0x1000",
        "",     "2001:db8::1"};
    uint8_t kind = u8(s);

    if (kind < 120)
        return json_integer(kind);
    if (kind < 150)
        return json_integer((json_int_t)u8(s) << (kind & 31) << (kind & 15));
    if (kind < 220)
        return json_string(words[kind % 8]);
    return kind & 1 ? json_boolean(kind & 2) : json_null();
}

/* Returns an object with some of the members that are valid at this depth, or a plain value below
 * the deepest level. */
static json_t *build(struct script *s, unsigned depth)
{
    static const char *const names[][12] = {
        {"file", "connections", "devices", "connections", "devices"},
        {"connection", "setup", "requester", "responder", "address", "regions", "skipped", "device",
         "connection", "regions"},
        {"path_mtu", "first_psn", "receives", "withdrawn", "access", "rkey", "address", "length",
         "image", "stores", "qpn", "timeout"},
        {"psn", "absent", "length", "frame", "request", "address", "bytes", "address", "bytes"},
    };
    static const unsigned cnt[] = {5, 10, 12, 9};
    json_t *json = json_object();

    if (depth > 3) {
        json_decref(json);
        return value(s);
    }
    for (unsigned i = u8(s) & 15; i > 0; i--) {
        const char *name = names[depth][u8(s) % cnt[depth]];
        uint8_t how = u8(s);
        bool nests = strcmp(name, "setup") == 0 || strcmp(name, "requester") == 0 ||
                     strcmp(name, "responder") == 0;
        bool lists = strchr("cdrwias", name[0]) && strlen(name) > 4 && !nests &&
                     strcmp(name, "address") != 0 && strcmp(name, "connection") != 0 &&
                     strcmp(name, "device") != 0 && strcmp(name, "absent") != 0 &&
                     strcmp(name, "request") != 0;

        json_object_set_new(json, name,
                            how > 240 ? value(s)
                            : nests   ? build(s, depth + 1)
                            : lists   ? list(s, depth + 1)
                                      : value(s));
    }
    return json;
}

static void check(const struct setup_override *override)
{
    for (size_t d = 0; d < override->host_cnt; d++)
        for (size_t i = 0; i < override->host[d].region_cnt; i++) {
            const struct region_override *r = &override->host[d].region[i];

            FUZZ_CHECK(r->low + r->span >= r->low);
            for (size_t k = 0; k < r->image_cnt; k++)
                FUZZ_CHECK(r->image[k].va >= r->low &&
                           r->image[k].va - r->low + r->image[k].len <= r->span);
            for (size_t k = 0; k < r->store_cnt; k++) {
                FUZZ_CHECK(r->store[k].va >= r->low &&
                           r->store[k].va - r->low + r->store[k].len <= r->span);
                FUZZ_CHECK(k == 0 || r->store[k].at >= r->store[k - 1].at);
            }
        }
    for (size_t i = 0; i < override->dir_cnt; i++) {
        const struct dir_override *c = &override->dir[i];

        FUZZ_CHECK(setup_override_dir(override, c->number - 1) == c);
        FUZZ_CHECK(!(c->has & OVERRIDE_MTU) ||
                   (c->mtu >= 256 && c->mtu <= 4096 && (c->mtu & (c->mtu - 1)) == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = {data + 1, size ? size - 1 : 0};
    struct error error = {""};
    struct setup_override override;
    char path[64];
    int fd;

    if (size == 0)
        return 0;
    fd = memfd_create("setup", 0);
    FUZZ_CHECK(fd >= 0);
    if (data[0] & 1) {
        json_t *json = build(&s, 0);

        FUZZ_CHECK(json && json_dumpfd(json, fd, 0) == 0);
        json_decref(json);
    } else {
        FUZZ_CHECK(write(fd, s.p, s.left) == (ssize_t)s.left);
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (setup_override_read(&override, path, &error) == 0)
        check(&override);
    else
        FUZZ_CHECK(strncmp(error.text, path, strlen(path)) == 0);
    setup_override_free(&override);
    close(fd);
    return 0;
}

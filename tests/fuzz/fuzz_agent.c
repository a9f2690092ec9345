/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: sessions of rocedrill-agent on a fake device (support/fakeverbs.h). If the first
 * byte of the input is even, the rest is sent as lines. If it is odd, the rest selects requests
 * whose members are mostly valid.
 *
 * Invariants: every line gets a reply. The reply is an object whose member `ok` is true, or that
 * has an error text. Memory, regions and QPs stay within their limits. After the session no verbs
 * object exists.
 */
#include <string.h>
#include "agent/agent_rpc.h"
#include "fuzz.h"
#include "script.h"
#include "support/fakeverbs.h"

#define LINES_MAX 200u

/* Returns a number for a member of a request: mostly small, sometimes a limit or any 64-bit
 * number. */
static json_int_t number(struct script *s)
{
    static const json_int_t limits[] = {-1,       INT64_MIN, INT64_MAX,  UINT32_MAX,
                                        0xFFFFFF, 0x1000000, 0x40000000, 8192};
    uint8_t kind = u8(s);

    if (kind < 200)
        return kind & 7;
    if (kind < 230)
        return (json_int_t)u8(s) << 8 | u8(s);
    return limits[kind & 7];
}

static json_t *value(struct script *s)
{
    static const char *const words[] = {"write",    "read",     "::ffff:192.0.2.1", "send",
                                        "send_imm", "cmp_swap", "fetch_add",        "write_imm",
                                        "00ff",     "0",        "\xC3\xA4"};
    uint8_t kind = u8(s);
    json_t *list;

    if (kind < 150)
        return json_integer(number(s));
    if (kind < 230)
        return json_string(words[kind % (sizeof(words) / sizeof(words[0]))]);
    if (kind < 240)
        return json_boolean(kind & 1);
    list = json_array();
    for (unsigned i = 0; i < (kind & 3u); i++)
        json_array_append_new(list, json_string(words[u8(s) % 3]));
    return list;
}

static char *request(struct script *s)
{
    static const char *const ops[] = {"hello", "mr",   "withdraw", "register", "store",
                                      "load",  "crc",  "qp",       "connect",  "delete",
                                      "recv",  "send", "poll",     "none"};
    static const char *const names[] = {
        "len", "access", "mr",   "off",      "hex",      "qp",         "id",   "opcode",   "dgid",
        "mtu", "imm",    "rkey", "max_send", "max_recv", "invalidate", "swap", "solicited"};
    json_t *object = json_object();
    unsigned cnt = u8(s) & 7;
    char *text;

    json_object_set_new(object, "op", json_string(ops[u8(s) % (sizeof(ops) / sizeof(ops[0]))]));
    for (unsigned i = 0; i < cnt; i++)
        json_object_set_new(object, names[u8(s) % (sizeof(names) / sizeof(names[0]))], value(s));
    text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

static void answer(struct agent_device *dev, const char *line, size_t len)
{
    json_t *out = agent_rpc_answer(dev, line, len);
    char *text;

    FUZZ_CHECK(json_is_object(out));
    FUZZ_CHECK(json_is_boolean(json_object_get(out, "ok")));
    FUZZ_CHECK(json_is_true(json_object_get(out, "ok")) ||
               json_is_string(json_object_get(out, "error")));
    text = json_dumps(out, JSON_COMPACT);
    FUZZ_CHECK(text && !strchr(text, '\n'));
    free(text);
    json_decref(out);
    FUZZ_CHECK(dev->bytes <= AGENT_BYTES_MAX);
    FUZZ_CHECK(dev->mr_cnt <= AGENT_MRS_MAX && dev->qp_cnt <= AGENT_QPS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct agent_device dev;
    struct script s = {data + 1, size ? size - 1 : 0};

    if (size == 0)
        return 0;
    memset(&dev, 0, sizeof(dev));
    FUZZ_CHECK(agent_device_open(&dev, NULL) == 0);
    for (unsigned i = 0; i < LINES_MAX && s.left > 0; i++) {
        if (data[0] & 1) {
            char *line = request(&s);

            FUZZ_CHECK(line != NULL);
            fakeverbs_fail(u8(&s) > 240);
            answer(&dev, line, strlen(line));
            fakeverbs_fail(false);
            free(line);
        } else {
            const uint8_t *end = memchr(s.p, '\n', s.left);
            size_t len = end ? (size_t)(end - s.p) : s.left;

            answer(&dev, (const char *)s.p, len);
            s.p += len + (end != NULL);
            s.left -= len + (end != NULL);
        }
    }
    agent_device_close(&dev);
    FUZZ_CHECK(fakeverbs_live() == 0);
    return 0;
}

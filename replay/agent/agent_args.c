/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/hex.h"

json_t *agent_error_reply(const char *fmt, ...)
{
    char text[320];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

json_t *agent_ok_or_error(struct agent_device *dev, int rc)
{
    json_t *out;

    if (rc == 0)
        return json_pack("{s:b}", "ok", 1);
    out = agent_error_reply("%s", dev->error.text);
    if (out && dev->code)
        json_object_set_new(out, "errno", json_integer(dev->code));
    return out;
}

/* ---- reading the members of a request ----------------------------------------------------------
 */

bool agent_read_number(const json_t *in, const char *name, uint64_t max, uint64_t fallback,
                       uint64_t *out)
{
    const json_t *value = json_object_get(in, name);

    *out = fallback;
    if (!value)
        return true;
    if (!json_is_integer(value))
        return false;
    /* Clients send numbers of 2^63 and more as negative numbers (two's complement). */
    *out = (uint64_t)json_integer_value(value);
    return *out <= max;
}

int agent_access_of(const json_t *in)
{
    static const struct {
        const char *name;
        int flags;
    } rights[] = {
        {"write", IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE},
        {"read", IBV_ACCESS_REMOTE_READ},
        {"atomic", IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE},
    };
    const json_t *list = json_object_get(in, "access"), *item;
    int flags = 0;
    size_t at;

    if (json_is_integer(list)) {
        json_int_t bits = json_integer_value(list);

        return bits >= 0 && (bits & ~(json_int_t)AGENT_ACCESS_BITS) == 0 ? (int)bits : -1;
    }
    json_array_foreach(list, at, item)
    {
        bool known = false;

        for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
            if (json_is_string(item) && strcmp(json_string_value(item), rights[i].name) == 0) {
                flags |= rights[i].flags;
                known = true;
            }
        if (!known)
            return -1;
    }
    return flags;
}

uint8_t *agent_bytes_of(const json_t *value, uint32_t *len)
{
    const char *hex = json_string_value(value);
    size_t digits = json_is_string(value) ? json_string_length(value) : 0;
    uint8_t *p;

    if (!hex || digits % 2 || digits / 2 > AGENT_DATA_MAX)
        return NULL;
    p = malloc(digits / 2 + 1);
    if (p && !hex_parse(hex, p, digits / 2)) {
        free(p);
        return NULL;
    }
    *len = (uint32_t)(digits / 2);
    return p;
}

/* Reads the member `name`, a number below `cnt`. Returns true and sets *out, or false if the member
 * is absent or out of range. */
static bool read_index(const json_t *in, const char *name, uint32_t cnt, uint32_t *out)
{
    uint64_t number;

    if (!json_object_get(in, name) || !agent_read_number(in, name, UINT32_MAX, 0, &number) ||
        number >= cnt)
        return false;
    *out = (uint32_t)number;
    return true;
}

bool agent_which_qp(struct agent_device *dev, const json_t *in, uint32_t *out)
{
    return read_index(in, "qp", dev->qp_cnt, out);
}

bool agent_which_srq(struct agent_device *dev, const json_t *in, uint32_t *out)
{
    return read_index(in, "srq", dev->srq_cnt, out) && dev->srq[*out];
}

bool agent_which_mw(struct agent_device *dev, const json_t *in, uint32_t *out)
{
    return read_index(in, "mw", dev->mw_cnt, out) && dev->mw[*out];
}

bool agent_which_pd(struct agent_device *dev, const json_t *in, uint32_t *out)
{
    return read_index(in, "pd", dev->own_pd_cnt, out) && dev->own_pd[*out];
}

bool agent_which_cq(struct agent_device *dev, const json_t *in, uint32_t *out)
{
    return read_index(in, "cq", dev->own_cq_cnt, out) && dev->own_cq[*out].cq;
}

bool agent_read_pd(struct agent_device *dev, const json_t *in, struct ibv_pd **out)
{
    uint32_t pd;

    *out = NULL;
    if (!json_object_get(in, "pd"))
        return true;
    if (!agent_which_pd(dev, in, &pd))
        return false;
    *out = dev->own_pd[pd];
    return true;
}

bool agent_read_place(const json_t *in, struct agent_place *out)
{
    uint64_t lkey;

    *out = (struct agent_place){.given = json_object_get(in, "addr") != NULL};
    if (!agent_read_number(in, "addr", UINT64_MAX, 0, &out->addr) ||
        !agent_read_number(in, "lkey", UINT32_MAX, 0, &lkey))
        return false;
    out->lkey = (uint32_t)lkey;
    return true;
}

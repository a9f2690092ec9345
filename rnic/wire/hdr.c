/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/hdr.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include "wire/codes.h"

/* Defines the array of fields of each header, then the array of headers. */
/* clang-format off */
#define HDR_BEGIN(id, ID, len, shrt, title, source) static const struct roce_field id##_fields[] = {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
    {#name, label, byte, bit, width, ROCE_FMT_##fmt, ROCE_VALS_##vals},
#define BYTES(hdr, name, byte, len, fmt, label)                                                    \
    {#name, label, byte, 0, (len) * 8, ROCE_FMT_##fmt, ROCE_VALS_NONE},
#define HDR_END(id) };
#include "wire/headers.def"

static const struct roce_hdr_info infos[ROCE_HDR_CNT] = {
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    [ROCE_HDR_##ID] = {#id, shrt, title, source, len,                                              \
                       sizeof(id##_fields) / sizeof(*id##_fields), id##_fields},
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/headers.def"
};
/* clang-format on */

const struct roce_hdr_info *roce_hdr_info(enum roce_hdr hdr)
{
    return &infos[hdr];
}

const struct roce_field *roce_field_find(const struct roce_hdr_info *info, const char *name)
{
    for (unsigned i = 0; i < info->field_cnt; i++)
        if (strcmp(info->fields[i].name, name) == 0)
            return &info->fields[i];
    return NULL;
}

/* Writes `len` bytes in hexadecimal. If not all fit, the text ends with "..". */
static void raw_text(const uint8_t *p, size_t len, char *buf, size_t cap)
{
    size_t fit = (cap - 1) / 2;

    buf[0] = '\0';
    if (fit > len)
        fit = len;
    for (size_t i = 0; i < fit; i++)
        snprintf(buf + 2 * i, cap - 2 * i, "%02x", p[i]);
    if (fit < len && fit > 0)
        memcpy(buf + 2 * (fit - 1), "..", 2);
}

static void number_text(const struct roce_field *field, uint64_t value, char *buf, size_t cap)
{
    char room[64];
    const char *name = roce_vals_name(field->vals, value, room, sizeof(room));
    int digits = (field->width + 3) / 4;
    int n;

    if (field->fmt == ROCE_FMT_HEX)
        n = snprintf(buf, cap, "0x%0*" PRIx64, digits, value);
    else
        n = snprintf(buf, cap, "%" PRIu64, value);
    if (name && n > 0 && (size_t)n < cap)
        snprintf(buf + n, cap - (size_t)n, " (%s)", name);
}

const char *roce_field_text(const struct roce_field *field, const uint8_t *hdr, char *buf,
                            size_t cap)
{
    const uint8_t *p = hdr + field->byte;
    char addr[INET6_ADDRSTRLEN];

    if (cap == 0)
        return buf;
    switch (field->fmt) {
    case ROCE_FMT_MAC:
        snprintf(buf, cap, "%02x:%02x:%02x:%02x:%02x:%02x", p[0], p[1], p[2], p[3], p[4], p[5]);
        break;
    case ROCE_FMT_IP4: snprintf(buf, cap, "%u.%u.%u.%u", p[0], p[1], p[2], p[3]); break;
    case ROCE_FMT_GID:
        inet_ntop(AF_INET6, p, addr, sizeof(addr));
        snprintf(buf, cap, "%s", addr);
        break;
    case ROCE_FMT_RAW: raw_text(p, field->width / 8, buf, cap); break;
    case ROCE_FMT_DEC:
    case ROCE_FMT_HEX:
    case ROCE_FMT_FLAG: number_text(field, roce_field_get(field, hdr), buf, cap); break;
    }
    return buf;
}

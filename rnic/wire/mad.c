/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/mad.h"

/* clang-format off */
#define HDR_BEGIN(id, ID, len, shrt, title, source) static const struct roce_field id##_fields[] = {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
    {#name, label, byte, bit, width, ROCE_FMT_##fmt, ROCE_VALS_##vals},
#define BYTES(hdr, name, byte, len, fmt, label)                                                    \
    {#name, label, byte, 0, (len) * 8, ROCE_FMT_##fmt, ROCE_VALS_NONE},
#define HDR_END(id) };
#include "wire/mad.def"

static const struct roce_hdr_info infos[] = {
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    {#id, shrt, title, source, len, sizeof(id##_fields) / sizeof(*id##_fields), id##_fields},
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/mad.def"
};
/* clang-format on */

const struct roce_hdr_info *roce_mad_info(void)
{
    return &infos[0];
}

int roce_mad_read(struct roce_mad *out, const uint8_t *p, size_t cap_len, size_t wire_len)
{
    struct roce_rd rd = roce_rd(p, cap_len);
    const uint8_t *hdr = roce_rd_bytes(&rd, ROCE_MAD_LEN);

    memset(out, 0, sizeof(*out));
    if (hdr)
        roce_mad_parse(hdr, out);
    if (wire_len != ROCE_MAD_SIZE || cap_len > wire_len)
        return ROCE_ERR_MALFORMED;
    if (!hdr)
        return ROCE_ERR_CUT;
    return out->base_version == ROCE_MAD_BASE ? ROCE_OK : ROCE_ERR_MALFORMED;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/opcode.h"

/* expansion of "_" in opcodes.def: no header, length 0 */
#define ROCE_HDR__ ROCE_HDR_CNT
#define ROCE___LEN 0

#define LEN(h)    ROCE_##h##_LEN
#define HAS(h)    (LEN(h) != 0)
#define SET(h)    (HAS(h) ? ROCE_HDR_BIT(ROCE_HDR_##h % ROCE_HDR_CNT) : 0)
#define OFF(h, o) (HAS(h) ? (o) : 0)

/* clang-format off */

/* row of each opcode that opcodes.def does not list: reserved or manufacturer specific */
#define REST(v)                                                                                    \
    [v] = {.value = (v),                                                                           \
           .svc = (enum roce_svc)((v) >> 5),                                                       \
           .kind = (v) < 0xC0 ? ROCE_KIND_RESERVED : ROCE_KIND_MANUFACTURER,                       \
           .pos = ROCE_POS_ONLY,                                                                   \
           .payload = ROCE_PAYLOAD_FREE,                                                           \
           .hdr = {ROCE_HDR__, ROCE_HDR__, ROCE_HDR__, ROCE_HDR__},                                \
           .len = ROCE_BTH_LEN,                                                                    \
           .name = (v) < 0xC0 ? "reserved" : "manufacturer specific"},
#define REST4(v)  REST(v) REST((v) + 1) REST((v) + 2) REST((v) + 3)
#define REST16(v) REST4(v) REST4((v) + 4) REST4((v) + 8) REST4((v) + 12)
#define REST64(v) REST16(v) REST16((v) + 16) REST16((v) + 32) REST16((v) + 48)

/* The table first gets 256 rows for unlisted opcodes. The rows of opcodes.def then override some of
 * them, so the compiler's warning about overridden rows is off here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
const struct roce_opcode roce_opcodes[256] = {
    REST64(0) REST64(64) REST64(128) REST64(192)
#define OP(v, s, NAME, k, p, pay, h1, h2, h3, h4, text)                                            \
    [v] = {.value = (v),                                                                           \
           .svc = ROCE_SVC_##s,                                                                    \
           .kind = ROCE_KIND_##k,                                                                  \
           .pos = ROCE_POS_##p,                                                                    \
           .payload = ROCE_PAYLOAD_##pay,                                                          \
           .hdr_cnt = HAS(h1) + HAS(h2) + HAS(h3) + HAS(h4),                                       \
           .hdr = {ROCE_HDR_##h1, ROCE_HDR_##h2, ROCE_HDR_##h3, ROCE_HDR_##h4},                    \
           .hdr_off = {OFF(h1, ROCE_BTH_LEN), OFF(h2, ROCE_BTH_LEN + LEN(h1)),                     \
                       OFF(h3, ROCE_BTH_LEN + LEN(h1) + LEN(h2)),                                  \
                       OFF(h4, ROCE_BTH_LEN + LEN(h1) + LEN(h2) + LEN(h3))},                       \
           .len = ROCE_BTH_LEN + LEN(h1) + LEN(h2) + LEN(h3) + LEN(h4),                            \
           .hdrs = SET(h1) | SET(h2) | SET(h3) | SET(h4),                                          \
           .name = text},
#include "wire/opcodes.def"
};
#pragma GCC diagnostic pop
/* clang-format on */

const char *roce_svc_name(enum roce_svc svc)
{
    switch (svc) {
    case ROCE_SVC_RC: return "RC";
    case ROCE_SVC_UC: return "UC";
    case ROCE_SVC_RD: return "RD";
    case ROCE_SVC_UD: return "UD";
    case ROCE_SVC_CNP: return "CNP";
    case ROCE_SVC_XRC: return "XRC";
    case ROCE_SVC_MANUF6: return "manufacturer 6";
    case ROCE_SVC_MANUF7: return "manufacturer 7";
    }
    return "unknown";
}

const char *roce_kind_name(enum roce_kind kind)
{
    switch (kind) {
    case ROCE_KIND_RESERVED: return "reserved";
    case ROCE_KIND_MANUFACTURER: return "manufacturer specific";
    case ROCE_KIND_SEND: return "SEND";
    case ROCE_KIND_WRITE: return "WRITE";
    case ROCE_KIND_READ: return "READ";
    case ROCE_KIND_READ_RESP: return "READ response";
    case ROCE_KIND_ACK: return "ACK";
    case ROCE_KIND_ATOMIC_ACK: return "atomic ACK";
    case ROCE_KIND_CMP_SWAP: return "compare and swap";
    case ROCE_KIND_FETCH_ADD: return "fetch and add";
    case ROCE_KIND_RESYNC: return "RESYNC";
    case ROCE_KIND_FLUSH: return "FLUSH";
    case ROCE_KIND_ATOMIC_WRITE: return "ATOMIC WRITE";
    case ROCE_KIND_CNP: return "CNP";
    }
    return "unknown";
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/pkt.h"

#include <assert.h>
#include "wire/crc32.h"
#include "wire/dc.h"
#include "wire/envelope.h"
#include "wire/ext_headers.h"
#include "wire/fast_parse.h"
#include "wire/gid.h"
#include "wire/header_template.h"
#include "wire/parse_headers.h"

/* headers after the BTH that struct roce_pkt declares above the member parsed_fast */
#define HDRS_FAST (ROCE_HDR_BIT(ROCE_HDR_AETH) | ROCE_HDR_BIT(ROCE_HDR_RETH))

/* minimum length of a payload that roce_pkt_build() copies and checksums in one pass, bytes; for a
 * shorter payload, one CRC call over the whole packet is as fast */
#define ONE_PASS_LEN 512

const char *roce_error_text(int error)
{
    switch ((enum roce_error)error) {
    case ROCE_OK: return "no error";
    case ROCE_ERR_NOT_ROCE: return "not an InfiniBand or RoCE packet";
    case ROCE_ERR_CUT: return "the capture ends before the end of the BTH";
    case ROCE_ERR_MALFORMED: return "the headers cannot be parsed";
    case ROCE_ERR_NOSPACE: return "the buffer is too small";
    case ROCE_ERR_INVALID: return "the packet cannot be encoded";
    }
    return "unknown error";
}

static const struct roce_defect_info defects[ROCE_DEFECT_CNT] = {
#define DEFECT(id, ID, severity, text, source)                                                     \
    [ROCE_DEFECT_##ID] = {#id, text, source, ROCE_DEFECT_##severity},
#include "wire/defects.def"
};

/* Defects for which a conformant receiver drops a packet. */
static const uint32_t dropping = 0
#define DEFECT_MASK_INFO(ID)
#define DEFECT_MASK_DROP(ID)                   | UINT32_C(1) << ROCE_DEFECT_##ID
#define DEFECT_MASK_WALK(ID)                   | UINT32_C(1) << ROCE_DEFECT_##ID
#define DEFECT(id, ID, severity, text, source) DEFECT_MASK_##severity(ID)
#include "wire/defects.def"
    ;

const struct roce_defect_info *roce_defect_info(enum roce_defect defect)
{
    assert(defect < ROCE_DEFECT_CNT);
    return &defects[defect];
}

bool roce_pkt_dropped(const struct roce_pkt *pkt)
{
    return (pkt->defects & dropping) != 0;
}

/* ---- parsing a frame ------------------------------------------------------------------------- */

/* The variable is volatile, so that the compiler does not know the length. Otherwise gcc clears the
 * struct with "rep stos", which takes several times as long as memset(). */
static const volatile size_t pkt_len = sizeof(struct roce_pkt);

/* Parses payload and pad, the bytes between headers and ICRC. */
static void parse_payload(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t room = pkt->icrc_off - walk->off;
    size_t captured = pkt->cap_len > walk->off ? pkt->cap_len - walk->off : 0;

    pkt->payload_off = (uint16_t)walk->off;
    if (room % 4 != 0)
        roce_walk_defect(walk, ROCE_DEFECT_ALIGN);
    if (pkt->bth.padcnt > room) {
        roce_walk_defect(walk, ROCE_DEFECT_PAD_COUNT);
        return; /* with this defect, the payload length is unknown (R029) */
    }
    pkt->payload_len = (uint32_t)(room - pkt->bth.padcnt);
    pkt->payload_cap_len = (uint32_t)(captured < pkt->payload_len ? captured : pkt->payload_len);
    if (pkt->payload_cap_len)
        pkt->payload = pkt->frame + walk->off;
    for (unsigned i = 0; i < pkt->bth.padcnt && i < sizeof(pkt->pad); i++) {
        size_t off = walk->off + pkt->payload_len + i;

        if (off < pkt->cap_len)
            pkt->pad[i] = pkt->frame[off];
    }
    if (!roce_opcode_allows_payload(pkt->op, pkt->payload_len) && !roce_dc_may_be(pkt))
        roce_walk_defect(walk, ROCE_DEFECT_PAYLOAD);
}

/* Parses the headers of the opcode. If all of them are captured, the length is checked only once,
 * not for each header. */
static void parse_exts(struct roce_walk *walk, size_t bth_off)
{
    struct roce_pkt *pkt = walk->pkt;
    const struct roce_opcode *op = pkt->op;
    size_t end = bth_off + op->len;
    bool whole = end <= walk->end && end <= pkt->cap_len;

    for (unsigned i = 0; i < op->hdr_cnt; i++) {
        enum roce_hdr hdr = op->hdr[i];
        size_t off = bth_off + op->hdr_off[i];

        if (!whole && !roce_walk_hdr(walk, hdr, roce_hdr_info(hdr)->len, ROCE_DEFECT_HDR_SHORT))
            return;
        pkt->off[hdr] = (uint16_t)off;
        roce_ext_parse(pkt, hdr, pkt->frame + off);
    }
    pkt->present |= op->hdrs;
}

/* Parses the transport part, from BTH to ICRC. After the BTH was parsed, defects and a truncated
 * capture are recorded but not returned as errors. */
static int parse_transport(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t bth_off = walk->off;
    const uint8_t *p;

    if (walk->end - walk->off < ROCE_BTH_LEN + ROCE_ICRC_LEN) {
        roce_walk_defect(walk, ROCE_DEFECT_BTH_SHORT);
        return ROCE_ERR_MALFORMED;
    }
    pkt->icrc_off = (uint32_t)(walk->end - ROCE_ICRC_LEN);
    pkt->end_off = (uint32_t)walk->end;
    p = roce_walk_hdr(walk, ROCE_HDR_BTH, ROCE_BTH_LEN, ROCE_DEFECT_BTH_SHORT);
    if (!p)
        return walk->error;
    roce_bth_parse(p, &pkt->bth);
    pkt->op = roce_opcode(pkt->bth.opcode);
    if (pkt->bth.tver != 0)
        roce_walk_defect(walk, ROCE_DEFECT_TVER);
    if (pkt->op->kind == ROCE_KIND_RESERVED)
        roce_walk_defect(walk, ROCE_DEFECT_OPCODE);

    walk->end = pkt->icrc_off; /* the headers after the BTH must end before the ICRC */
    parse_exts(walk, bth_off);
    /* The opcode determines the start of the payload, even if the capture lacks one of the
     * headers. */
    if (!roce_pkt_defect(pkt, ROCE_DEFECT_HDR_SHORT) && bth_off + pkt->op->len <= walk->end) {
        walk->off = bth_off + pkt->op->len;
        parse_payload(walk);
    } else {
        roce_walk_defect(walk, ROCE_DEFECT_HDR_SHORT);
    }
    if (pkt->icrc_off + ROCE_ICRC_LEN <= pkt->cap_len)
        pkt->icrc = roce_le32_get(pkt->frame + pkt->icrc_off);
    return ROCE_OK;
}

/* Parses the bytes after the ICRC: VCRC of a native link, Ethernet padding, frame check
 * sequence. */
static void parse_trailer(struct roce_walk *walk)
{
    struct roce_pkt *pkt = walk->pkt;
    size_t left;

    if (pkt->end_off == pkt->wire_len)
        return;
    if (pkt->link == ROCE_LINK_IB && pkt->wire_len - pkt->end_off >= ROCE_VCRC_LEN) {
        if (pkt->end_off + ROCE_VCRC_LEN <= pkt->cap_len)
            pkt->vcrc = roce_le16_get(pkt->frame + pkt->end_off);
        pkt->end_off += ROCE_VCRC_LEN;
    }
    left = pkt->wire_len - pkt->end_off;
    if (pkt->link == ROCE_LINK_ETHERNET && left >= ROCE_FCS_LEN && pkt->cap_len == pkt->wire_len &&
        roce_has_fcs(pkt->frame, pkt->wire_len)) {
        roce_walk_defect(walk, ROCE_DEFECT_FCS);
        left -= ROCE_FCS_LEN;
    }
    if (left)
        roce_walk_defect(walk, ROCE_DEFECT_TRAILER);
}

static int parse_by_walking(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                            size_t cap_len, size_t wire_len)
{
    struct roce_walk walk = {.pkt = pkt, .end = wire_len};
    int error;

    memset(pkt, 0, pkt_len);
    pkt->link = link;
    pkt->frame = frame;
    if (wire_len > UINT32_MAX || cap_len > wire_len)
        return ROCE_ERR_INVALID;
    pkt->cap_len = (uint32_t)cap_len;
    pkt->wire_len = (uint32_t)wire_len;
    if (cap_len < wire_len)
        roce_walk_defect(&walk, ROCE_DEFECT_CUT);
    error = roce_envelope_parse(&walk);
    if (!error)
        error = parse_transport(&walk);
    if (!error)
        parse_trailer(&walk);
    return error;
}

int roce_pkt_parse(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame, size_t cap_len,
                   size_t wire_len)
{
    if (link == ROCE_LINK_ETHERNET && roce_fast_parse(pkt, frame, cap_len, wire_len, pkt_len))
        return ROCE_OK;
    return parse_by_walking(pkt, link, frame, cap_len, wire_len);
}

bool roce_pkt_parse_fast(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                         size_t cap_len, size_t wire_len)
{
    if (link != ROCE_LINK_ETHERNET ||
        !roce_fast_parse(pkt, frame, cap_len, wire_len, pkt->parsed_fast ? 0 : pkt_len))
        return false;
    pkt->parsed_fast = !(pkt->op->hdrs & ~HDRS_FAST);
    return true;
}

void roce_pkt_parse_headers(struct roce_pkt *pkt, const uint8_t *bth)
{
    const struct roce_opcode *op = roce_opcode(bth[0]);

    pkt->op = op;
    pkt->present = op->hdrs;
    pkt->defects = 0;
    memset(&pkt->aeth, 0, sizeof(pkt->aeth));
    memset(&pkt->reth, 0, sizeof(pkt->reth));
    memset(&pkt->rdeth, 0, offsetof(struct roce_pkt, vcrc) - offsetof(struct roce_pkt, rdeth));
    for (unsigned i = 0; i < op->hdr_cnt; i++)
        roce_ext_parse(pkt, (enum roce_hdr)op->hdr[i], bth + op->hdr_off[i]);
}

/* Returns the end of the IP packet according to its length fields, or 0 if they contradict each
 * other. */
static size_t ip_length_end(const struct roce_pkt *pkt)
{
    size_t end = pkt->net_off;

    if (!roce_pkt_has(pkt, ROCE_HDR_UDP) || roce_pkt_defect(pkt, ROCE_DEFECT_IP_CHECKSUM))
        return 0;
    if (roce_pkt_has(pkt, ROCE_HDR_IP4))
        end += pkt->ip4.len;
    else if (roce_pkt_has(pkt, ROCE_HDR_IP6))
        end += ROCE_IP6_LEN + (size_t)pkt->ip6.len;
    return end == pkt->off[ROCE_HDR_UDP] + (size_t)pkt->udp.len ? end : 0;
}

int roce_pkt_parse_captured(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                            size_t cap_len, size_t wire_len)
{
    int error = roce_pkt_parse(pkt, link, frame, cap_len, wire_len);
    size_t end;

    if (!roce_pkt_defect(pkt, ROCE_DEFECT_IP_LEN) || cap_len < wire_len)
        return error;
    end = ip_length_end(pkt);
    if (end <= wire_len || roce_pkt_icrc_check(pkt, NULL) == ROCE_ICRC_GOOD)
        return error;
    return roce_pkt_parse(pkt, link, frame, cap_len, end);
}

enum roce_icrc_status roce_pkt_icrc_check(const struct roce_pkt *pkt, uint32_t *expected)
{
    size_t bth_off = pkt->off[ROCE_HDR_BTH] - (size_t)pkt->net_off;
    uint32_t icrc;

    /* The ICRC of a fragmented packet is in its last fragment. */
    if (!roce_pkt_has(pkt, ROCE_HDR_BTH) || pkt->encap == ROCE_ENCAP_NONE ||
        roce_pkt_defect(pkt, ROCE_DEFECT_IP_FRAGMENT) ||
        pkt->icrc_off + ROCE_ICRC_LEN > pkt->cap_len || bth_off > ROCE_ICRC_BTH_OFF_MAX)
        return ROCE_ICRC_UNVERIFIED;
    icrc = roce_icrc(pkt->encap, pkt->frame + pkt->net_off, bth_off, pkt->icrc_off - pkt->net_off);
    if (expected)
        *expected = icrc;
    return icrc == pkt->icrc ? ROCE_ICRC_GOOD : ROCE_ICRC_BAD;
}

/* ---- building a frame ------------------------------------------------------------------------ */

void roce_pkt_init(struct roce_pkt *pkt, enum roce_encap encap, uint8_t opcode)
{
    memset(pkt, 0, sizeof(*pkt));
    pkt->encap = encap;
    pkt->op = roce_opcode(opcode);
    pkt->present = ROCE_HDR_BIT(ROCE_HDR_BTH) | pkt->op->hdrs;
    pkt->bth.opcode = opcode;
    pkt->bth.migreq = 1;
    pkt->bth.pkey = 0xFFFF;
    if (pkt->op->kind == ROCE_KIND_CNP) { /* a CNP has MigReq 0 and BECN 1 (A17.9.3) */
        pkt->bth.migreq = 0;
        pkt->bth.becn = 1;
    }
    roce_envelope_init(pkt);
}

/* Writes the BTH of the model at `p`, with `padcnt` instead of the pad count of the model. A
 * separate function, because it copies struct roce_bth, and most packets do not need the copy. */
static void put_padcnt(const struct roce_pkt *pkt, unsigned padcnt, uint8_t *p)
{
    struct roce_bth bth = pkt->bth;

    bth.padcnt = (uint8_t)padcnt;
    roce_bth_build(&bth, p);
}

/* Writes payload and pad at `p`. Returns the ICRC of the packet, computed from `net` to the end of
 * the pad. With ROCE_BUILD_KEEP_ICRC, returns the ICRC of the model instead. */
static uint32_t put_payload(const struct roce_pkt *pkt, unsigned flags, unsigned padcnt,
                            uint8_t *net, size_t bth_off, uint8_t *p)
{
    uint8_t *pad = p + pkt->payload_len;
    bool covered = !(flags & ROCE_BUILD_KEEP_ICRC) && pkt->encap != ROCE_ENCAP_NONE;
    uint32_t icrc;

    for (unsigned i = 0; i < padcnt; i++)
        pad[i] = flags & ROCE_BUILD_KEEP_PAD ? pkt->pad[i] : 0;
    if (!covered || pkt->payload_len < ONE_PASS_LEN) {
        if (pkt->payload_len)
            memcpy(p, pkt->payload, pkt->payload_len);
        return flags & ROCE_BUILD_KEEP_ICRC
                   ? pkt->icrc
                   : roce_icrc_own(pkt->encap, net, bth_off, (size_t)(pad + padcnt - net));
    }
    icrc = roce_icrc_own(pkt->encap, net, bth_off, (size_t)(p - net));
    icrc = roce_crc32_copy(icrc, p, pkt->payload, pkt->payload_len);
    return padcnt ? roce_crc32(icrc, pad, padcnt) : icrc;
}

int roce_pkt_build(const struct roce_pkt *pkt, unsigned flags, uint8_t *buf, size_t cap)
{
    const struct roce_opcode *op = roce_opcode(pkt->bth.opcode);
    struct roce_wr wr = roce_wr(buf, cap);
    unsigned padcnt = pkt->bth.padcnt;
    size_t bth_off;
    size_t bth_len;
    uint32_t icrc;
    int net_off;
    uint8_t *p;

    if (pkt->payload_len > UINT16_MAX || (pkt->payload_len && !pkt->payload))
        return ROCE_ERR_INVALID;
    if (!(flags & ROCE_BUILD_KEEP_PAD))
        padcnt = -pkt->payload_len & 3;
    if (padcnt > sizeof(pkt->pad))
        return ROCE_ERR_INVALID;
    bth_len = op->len + (size_t)pkt->payload_len + padcnt + ROCE_ICRC_LEN;
    net_off = pkt->header_template ? roce_header_template_build(pkt->header_template, bth_len, &wr)
                                   : roce_envelope_build(pkt, flags, bth_len, &wr);
    if (net_off < 0)
        return net_off;

    bth_off = wr.off;
    p = roce_wr_room(&wr, bth_len);
    if (!p)
        return ROCE_ERR_NOSPACE;
    roce_bth_build(&pkt->bth, p);
    if (padcnt != pkt->bth.padcnt)
        put_padcnt(pkt, padcnt, p);
    for (unsigned i = 0; i < op->hdr_cnt; i++)
        roce_ext_build(pkt, op->hdr[i], p + op->hdr_off[i]);
    p += op->len;
    icrc = put_payload(pkt, flags, padcnt, buf + net_off, bth_off - (size_t)net_off, p);
    p += pkt->payload_len + padcnt;
    roce_le32_put(p, icrc);
    if (pkt->encap == ROCE_ENCAP_IB_LOCAL || pkt->encap == ROCE_ENCAP_IB_GLOBAL) {
        uint16_t vcrc = pkt->vcrc;

        if (!(flags & ROCE_BUILD_KEEP_ICRC))
            vcrc = roce_vcrc(buf + net_off, wr.off - (size_t)net_off);
        p = roce_wr_room(&wr, ROCE_VCRC_LEN);
        if (!p)
            return ROCE_ERR_NOSPACE;
        roce_le16_put(p, vcrc);
    }
    return (int)wr.off;
}

/* ---- accessing a parsed packet --------------------------------------------------------------- */

void roce_pkt_addr(const struct roce_pkt *pkt, uint8_t src[16], uint8_t dst[16])
{
    memset(src, 0, 16);
    memset(dst, 0, 16);
    if (roce_pkt_has(pkt, ROCE_HDR_IP4)) {
        roce_gid_of_ip4(pkt->ip4.src, src);
        roce_gid_of_ip4(pkt->ip4.dst, dst);
    } else if (roce_pkt_has(pkt, ROCE_HDR_IP6)) {
        memcpy(src, pkt->ip6.src, 16);
        memcpy(dst, pkt->ip6.dst, 16);
    } else if (roce_pkt_has(pkt, ROCE_HDR_GRH)) {
        memcpy(src, pkt->grh.sgid, 16);
        memcpy(dst, pkt->grh.dgid, 16);
    }
}

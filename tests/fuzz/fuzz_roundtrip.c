/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: the packet builder reverses the packet parser. If a frame is parsed and then built,
 * it has the same bytes. If a struct roce_pkt is built and then parsed, it has the same members.
 */
#include "frame.h"
#include "support/sample.h"

#define BIT(defect) (UINT32_C(1) << ROCE_DEFECT_##defect)

/* If a frame has one of these defects, struct roce_pkt lacks a part of it, so the builder cannot
 * reproduce the frame. */
#define LOSSY                                                                                      \
    (BIT(CUT) | BIT(IP6_EXT) | BIT(UDP_LEN) | BIT(HDR_SHORT) | BIT(PAD_COUNT) | BIT(LRH_LEN))

#define KEEP_ALL                                                                                   \
    (ROCE_BUILD_KEEP_LEN | ROCE_BUILD_KEEP_CSUM | ROCE_BUILD_KEEP_PAD | ROCE_BUILD_KEEP_ICRC)

static uint8_t out[70000];

static void check_rebuild(const struct roce_pkt *pkt, unsigned flags)
{
    /* struct roce_pkt does not contain a Linux cooked header, so begin after it */
    size_t start = roce_pkt_has(pkt, ROCE_HDR_ETH) ? pkt->off[ROCE_HDR_ETH] : pkt->net_off;
    size_t end = pkt->end_off;
    int len = roce_pkt_build(pkt, flags, out, sizeof(out));

    if (pkt->link == ROCE_LINK_IB && end == pkt->icrc_off + ROCE_ICRC_LEN)
        /* The builder appends a VCRC, which this capture does not contain. */
        len -= (int)ROCE_VCRC_LEN;
    FUZZ_CHECK(len >= 0 && (size_t)len == end - start);
    FUZZ_CHECK(memcmp(out, pkt->frame + start, end - start) == 0);
}

/* Returns the flags that the builder needs to reproduce a frame that has no defect. They are for
 * properties that are not defects: a wrong ICRC, pad bytes that are not 0, and the IPv4 checksum
 * FFFF, which is another form of 0000 (RFC 1071). */
static unsigned needed_flags(const struct roce_pkt *pkt)
{
    unsigned flags = 0;

    if (roce_pkt_icrc_check(pkt, NULL) != ROCE_ICRC_GOOD)
        flags |= ROCE_BUILD_KEEP_ICRC;
    if (pkt->link == ROCE_LINK_IB)
        /* The VCRC is not checked and may be wrong, so the builder must copy it. */
        flags |= ROCE_BUILD_KEEP_ICRC;
    if (pkt->pad[0] | pkt->pad[1] | pkt->pad[2])
        flags |= ROCE_BUILD_KEEP_PAD;
    if (-pkt->payload_len % 4 != pkt->bth.padcnt)
        flags |= ROCE_BUILD_KEEP_PAD;
    if (pkt->ip4.csum == 0xFFFF)
        flags |= ROCE_BUILD_KEEP_CSUM;
    return flags;
}

static void check_model(const uint8_t *data, size_t size)
{
    /* FNV-1a hash of the input, used as a seed: different inputs give different packets. */
    uint64_t seed = 14695981039346656037u;
    struct roce_pkt model, back;
    enum roce_encap encap;
    uint32_t payload_len;
    struct rng rng;
    uint8_t opcode;
    int len;

    for (size_t i = 0; i < size; i++)
        seed = (seed ^ data[i]) * 1099511628211u;
    rng = rng_of(seed);
    encap = (enum roce_encap)rng_below(&rng, ROCE_ENCAP_V2_IP6 + 1);
    opcode = (uint8_t)rng_u64(&rng);
    payload_len = sample_payload_len(opcode, (uint32_t)(size > 4096 ? 4096 : size));
    if (payload_len > size)
        return;
    sample_pkt(&model, &rng, encap, opcode, rng_below(&rng, ROCE_VLAN_MAX + 1), data, payload_len);
    len = roce_pkt_build(&model, 0, out, sizeof(out));
    FUZZ_CHECK(len > 0 && len <= ROCE_FRAME_MAX);
    FUZZ_CHECK(roce_pkt_parse(&back, sample_link(encap), out, (size_t)len, (size_t)len) == 0);
    FUZZ_CHECK((back.defects & ~BIT(OPCODE)) == 0);
    FUZZ_CHECK(back.present == model.present && back.encap == encap);
    FUZZ_CHECK(back.payload_len == payload_len);
    FUZZ_CHECK(payload_len == 0 || memcmp(back.payload, data, payload_len) == 0);
    for (unsigned h = 0; h < ROCE_HDR_CNT; h++) {
        uint8_t a[64], b[64];

        if (!(back.op->hdrs & ROCE_HDR_BIT(h)))
            continue;
        sample_hdr_build(&model, (enum roce_hdr)h, a);
        sample_hdr_build(&back, (enum roce_hdr)h, b);
        FUZZ_CHECK(memcmp(a, b, roce_hdr_info((enum roce_hdr)h)->len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_frame f;
    struct roce_pkt pkt;

    if (!fuzz_frame(&f, data, size))
        return 0;
    if (roce_pkt_parse(&pkt, f.link, f.p, f.cap_len, f.wire_len) == ROCE_OK) {
        if (!(pkt.defects & LOSSY))
            check_rebuild(&pkt, KEEP_ALL);
        if (!pkt.defects)
            check_rebuild(&pkt, needed_flags(&pkt));
    }
    check_model(data, size);
    return 0;
}

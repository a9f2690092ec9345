/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: CRC and ICRC.
 *
 * Invariants: for any bytes, split anywhere, all CRC back ends compute the same value as a
 * bit-by-bit implementation (support/refcrc.h). For any packet, both implementations compute the
 * same ICRC. A packet with one bit flipped passes the ICRC check only if routers are allowed to
 * change this bit (R024).
 */
#include "frame.h"
#include "support/refcrc.h"
#include "support/sample.h"
#include "wire/crc32.h"

static void check_back_ends(const uint8_t *p, size_t len, size_t cut)
{
    uint32_t want = ref_crc32(p, len);

    FUZZ_CHECK(roce_crc32(0, p, len) == want);
    FUZZ_CHECK(roce_crc32_portable(0, p, len) == want);
    FUZZ_CHECK(roce_crc32(roce_crc32_portable(0, p, cut), p + cut, len - cut) == want);
    FUZZ_CHECK(roce_crc32_portable(roce_crc32(0, p, cut), p + cut, len - cut) == want);
}

/* Flips one bit of a packet and checks that the ICRC check fails, or that the ICRC does not cover
 * the bit. `pkt` is the parsed `frame`, with a right ICRC. Changes `frame`. */
static void check_flip(const struct roce_pkt *pkt, uint8_t *frame, size_t bit)
{
    bool covered = bit / 8 >= pkt->net_off && bit / 8 < pkt->icrc_off + ROCE_ICRC_LEN;
    struct roce_pkt other;
    bool good;
    int error;

    frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
    error = roce_pkt_parse(&other, pkt->link, frame, pkt->cap_len, pkt->wire_len);
    good = !error && roce_pkt_icrc_check(&other, NULL) == ROCE_ICRC_GOOD;
    if (!covered)
        return;
    /* If the inverted bit moves the ICRC field, the parser compares other bytes, which may be equal
     * by chance. */
    if (!ref_masked(pkt, bit))
        FUZZ_CHECK(!good || roce_pkt_dropped(&other) || other.icrc_off != pkt->icrc_off);
    else if (!ref_leads(pkt, bit))
        FUZZ_CHECK(good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_frame f;
    struct roce_pkt pkt;
    uint8_t *frame;
    uint32_t icrc;

    if (!fuzz_frame(&f, data, size))
        return 0;
    check_back_ends(data, size, (data[1] * 7919u + data[0]) % size);
    if (roce_pkt_parse(&pkt, f.link, f.p, f.cap_len, f.wire_len) != ROCE_OK ||
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_UNVERIFIED)
        return 0;
    FUZZ_CHECK(icrc == ref_icrc(&pkt));
    frame = sample_exact(f.p, f.cap_len);
    roce_le32_put(frame + pkt.icrc_off, icrc);
    FUZZ_CHECK(roce_pkt_parse(&pkt, f.link, frame, f.cap_len, f.wire_len) == ROCE_OK);
    FUZZ_CHECK(roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD);
    check_flip(&pkt, frame, (data[size - 1] * 65521u + data[size / 2] * 257u) % (f.cap_len * 8));
    free(frame);
    return 0;
}

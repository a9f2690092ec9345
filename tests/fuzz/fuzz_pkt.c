/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: the packet parser, with any frame, captured completely or cut.
 *
 * Invariants: the results of roce_pkt_parse() are consistent, and all pointers in them are inside
 * the captured bytes. A shorter capture of a frame never gives more information than a longer one.
 * The same is true for roce_tunnel_parse(), which parses the packet inside a tunnel.
 */
#include "frame.h"
#include "support/sample.h"
#include "wire/cm_msg.h"
#include "wire/tunnel.h"

static uint32_t walk_defects(void)
{
    uint32_t set = 0;

    for (unsigned d = 0; d < ROCE_DEFECT_CNT; d++)
        if (roce_defect_info((enum roce_defect)d)->severity == ROCE_DEFECT_WALK)
            set |= UINT32_C(1) << d;
    return set;
}

/* Checks that every header that the parser found is inside the captured bytes, and that its member
 * of *pkt has the values of these bytes. */
static void check_headers(const struct roce_pkt *pkt)
{
    for (unsigned h = 0; h < ROCE_HDR_CNT; h++) {
        const struct roce_hdr_info *info = roce_hdr_info((enum roce_hdr)h);
        uint8_t bytes[64];

        if (!roce_pkt_has(pkt, (enum roce_hdr)h))
            continue;
        FUZZ_CHECK(pkt->off[h] + info->len <= pkt->cap_len);
        sample_hdr_build(pkt, (enum roce_hdr)h, bytes);
        FUZZ_CHECK(memcmp(bytes, pkt->frame + pkt->off[h], info->len) == 0);
        for (unsigned i = 0; i < info->field_cnt; i++) {
            char text[64];

            roce_field_text(&info->fields[i], pkt->frame + pkt->off[h], text, sizeof(text));
            FUZZ_CHECK(memchr(text, 0, sizeof(text)));
        }
    }
}

static void check_parsed(const struct roce_pkt *pkt, int error)
{
    bool cut = pkt->cap_len < pkt->wire_len;

    FUZZ_CHECK(error == ROCE_OK || error == ROCE_ERR_NOT_ROCE || error == ROCE_ERR_CUT ||
               error == ROCE_ERR_MALFORMED);
    FUZZ_CHECK(roce_pkt_defect(pkt, ROCE_DEFECT_CUT) == cut);
    FUZZ_CHECK((error == ROCE_OK) == (pkt->op != NULL));
    FUZZ_CHECK((error == ROCE_OK) == roce_pkt_has(pkt, ROCE_HDR_BTH));
    FUZZ_CHECK(error != ROCE_ERR_CUT || cut);
    FUZZ_CHECK(error != ROCE_ERR_MALFORMED || (pkt->defects & walk_defects()));
    FUZZ_CHECK(pkt->vlan_cnt <= ROCE_VLAN_MAX);
    FUZZ_CHECK(pkt->ip4_options_len <= ROCE_IP4_OPTIONS_MAX);
    FUZZ_CHECK(pkt->payload_cap_len <= pkt->payload_len);
    FUZZ_CHECK((pkt->payload != NULL) == (pkt->payload_cap_len > 0));
    if (pkt->payload)
        FUZZ_CHECK(pkt->payload == pkt->frame + pkt->payload_off &&
                   pkt->payload_off + pkt->payload_cap_len <= pkt->cap_len);
    check_headers(pkt);
    if (error)
        return;
    FUZZ_CHECK(pkt->icrc_off + ROCE_ICRC_LEN <= pkt->end_off && pkt->end_off <= pkt->wire_len);
    FUZZ_CHECK(pkt->off[ROCE_HDR_BTH] + (uint32_t)ROCE_BTH_LEN <= pkt->icrc_off);
    if (!roce_pkt_defect(pkt, ROCE_DEFECT_HDR_SHORT) &&
        !roce_pkt_defect(pkt, ROCE_DEFECT_PAD_COUNT))
        FUZZ_CHECK(pkt->payload_off + pkt->payload_len + pkt->bth.padcnt == pkt->icrc_off);
}

/* Parses the same frame with only `cap_len` bytes captured. Checks that the result agrees with the
 * result for the whole frame. */
static void check_cut(const struct roce_pkt *whole, int error, size_t cap_len)
{
    uint8_t *exact = sample_exact(whole->frame, cap_len);
    struct roce_pkt pkt;
    int cut_error = roce_pkt_parse(&pkt, whole->link, exact, cap_len, whole->wire_len);

    check_parsed(&pkt, cut_error);
    FUZZ_CHECK((pkt.present & ~whole->present) == 0);
    /* For a frame of another protocol, the parser reports no defects. */
    if (error != ROCE_ERR_NOT_ROCE)
        FUZZ_CHECK((pkt.defects & ~whole->defects & ~(UINT32_C(1) << ROCE_DEFECT_CUT)) == 0);
    FUZZ_CHECK(cut_error == error || cut_error == ROCE_ERR_CUT);
    if (!cut_error) {
        FUZZ_CHECK(pkt.payload_len == whole->payload_len || cut_error != error);
        FUZZ_CHECK(pkt.icrc_off == whole->icrc_off && pkt.end_off == whole->end_off);
        FUZZ_CHECK(pkt.bth.psn == whole->bth.psn);
    }
    free(exact);
}

/* Checks that the packet that roce_tunnel_parse() finds is inside the frame. Checks that without a
 * tunnel, the result is that of roce_pkt_parse_captured(). */
static void check_tunnel(const struct fuzz_frame *f)
{
    struct roce_pkt plain, pkt;
    int error = roce_pkt_parse_captured(&plain, f->link, f->p, f->cap_len, f->wire_len);
    int inner = roce_tunnel_parse(&pkt, f->link, f->p, f->cap_len, f->wire_len);

    FUZZ_CHECK(pkt.frame >= f->p && pkt.frame + pkt.cap_len <= f->p + f->cap_len);
    FUZZ_CHECK(pkt.tunnel < ROCE_TUNNEL_CNT);
    if (error != ROCE_ERR_NOT_ROCE)
        FUZZ_CHECK(inner == error && memcmp(&pkt, &plain, sizeof(pkt)) == 0);
    if (pkt.tunnel)
        FUZZ_CHECK(roce_tunnel_info(pkt.tunnel)->open == (inner != ROCE_ERR_NOT_ROCE));
    FUZZ_CHECK(!pkt.overlay || inner != ROCE_ERR_NOT_ROCE);
    check_parsed(&pkt, inner);
    roce_pkt_icrc_check(&pkt, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct roce_cm_msg msg;
    struct fuzz_frame f;
    struct roce_pkt pkt;
    int error;

    if (!fuzz_frame(&f, data, size))
        return 0;
    memset(&pkt, 0xA5, sizeof(pkt));
    error = roce_pkt_parse(&pkt, f.link, f.p, f.cap_len, f.wire_len);
    FUZZ_CHECK(pkt.frame == f.p && pkt.cap_len == f.cap_len && pkt.wire_len == f.wire_len);
    check_parsed(&pkt, error);
    check_tunnel(&f);
    roce_pkt_icrc_check(&pkt, NULL);
    roce_cm_msg_of_pkt(&msg, &pkt);
    if (f.cap_len) {
        check_cut(&pkt, error, f.cap_len - 1);
        check_cut(&pkt, error, (size_t)(data[1] * 7919u + data[0]) % f.cap_len);
    }
    return 0;
}

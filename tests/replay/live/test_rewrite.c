/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The live replay rewrites packets: it replaces the QPNs, PSNs, addresses and R_Keys of a capture
 * by the values of a live connection, and back. */
#include <string.h>
#include "live/rewrite.h"
#include "replay/capture.h"
#include "support/suite.h"

/* Replayed capture, and the live QPNs, PSNs, addresses and R_Keys of each end. */
struct bound {
    struct replay replay;
    struct rewrite_path to_responder, to_requester;
    struct rewrite_region region[64];
    struct rewrite asks, answers;
};

static void bind(struct bound *b, const char *name, bool ip6)
{
    static const struct replay_options options = {.quirks = "linux-rxe-6.1"};
    static const uint8_t mapped[16] = {[10] = 0xFF, 0xFF, 198, 51, 100, 1};
    static const uint8_t other[16] = {0x20, 1, 0xD, 0xB8, [15] = 1};
    const struct inferred_setup *s;
    struct error error;
    char path[256];

    memset(b, 0, sizeof(*b));
    snprintf(path, sizeof(path), TRACES_DIR "/captures/%s.pcap", name);
    CU_ASSERT_EQUAL_FATAL(replay_run(&b->replay, path, &options, &error), 0);
    CU_ASSERT_FATAL(b->replay.session.dir_cnt > 0);
    s = &b->replay.session.dir[0].setup;
    memcpy(b->to_responder.addr, ip6 ? other : mapped, 16);
    memcpy(b->to_responder.target, ip6 ? other : mapped, 16);
    b->to_responder.target[15] = 2;
    memcpy(b->to_responder.mac, "\2AAAA\1", 6);
    memcpy(b->to_responder.dmac, "\2AAAA\2", 6);
    b->to_requester = (struct rewrite_path){.mac = "\2AAAA", .dmac = "\2AAAA"};
    memcpy(b->to_requester.addr, b->to_responder.target, 16);
    memcpy(b->to_requester.target, b->to_responder.addr, 16);
    for (uint32_t i = 0; i < 64; i++)
        b->region[i] = (struct rewrite_region){.addr = UINT64_C(0x550000000000) + i * 0x1000000,
                                               .rkey = 77 + i};
    b->asks =
        (struct rewrite){.path = &b->to_responder,
                         .setup = s,
                         .memory = &b->replay.session.host[b->replay.session.dir[0].host].memory,
                         .region = b->region,
                         .we_request = true,
                         .our_qpn = 0x123,
                         .their_qpn = 0x456,
                         .psn = roce_psn_of(0xFFFFFE)}; /* the PSN soon wraps to 0 */
    b->answers = b->asks;
    b->answers.path = &b->to_requester;
    b->answers.we_request = false;
    b->answers.our_qpn = 0x456;
    b->answers.their_qpn = 0x123;
}

static void expect_there_and_back(struct bound *b)
{
    const struct inferred_setup *s = b->asks.setup;
    unsigned cnt = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct trace_packet *p = event_packet(s, i);
        struct rewrite *out = s->event[i].response ? &b->answers : &b->asks;
        struct rewrite *in = s->event[i].response ? &b->asks : &b->answers;
        uint8_t frame[ROCE_FRAME_MAX];
        struct roce_pkt was, is;
        int len = rewrite_to_live(out, p, frame, sizeof(frame));

        CU_ASSERT_FATAL(len > 0);
        trace_parse(p, &was);
        CU_ASSERT_EQUAL_FATAL(
            roce_pkt_parse(&is, ROCE_LINK_ETHERNET, frame, (size_t)len, (size_t)len), 0);
        /* A rewritten packet has a right ICRC if and only if the captured packet has one. */
        CU_ASSERT_EQUAL(roce_pkt_icrc_check(&is, NULL), roce_pkt_icrc_check(&was, NULL));
        CU_ASSERT_EQUAL(is.bth.dest_qp, s->event[i].response ? 0x123 : 0x456);
        CU_ASSERT_EQUAL(is.bth.psn,
                        roce_psn_add(b->asks.psn, roce_psn_diff(roce_pkt_psn(&was), s->psn)).v);
        CU_ASSERT_EQUAL(is.payload_len, was.payload_len);
        CU_ASSERT(was.payload_len == 0 || memcmp(is.payload, was.payload, was.payload_len) == 0);
        if (roce_pkt_has(&is, ROCE_HDR_RETH)) {
            const struct shadow_region *r = shadow_find(b->asks.memory, was.reth.rkey);

            CU_ASSERT_EQUAL(is.reth.dma_len, was.reth.dma_len);
            if (r) {
                const struct rewrite_region *live = &b->region[r - b->asks.memory->region];

                CU_ASSERT_EQUAL(is.reth.rkey, live->rkey);
                CU_ASSERT_EQUAL(is.reth.va - live->addr, was.reth.va - r->low);
            } else {
                /* An R_Key without a region must not become the R_Key of a region. */
                for (unsigned k = 0; k < 64; k++)
                    CU_ASSERT_NOT_EQUAL(is.reth.rkey, b->region[k].rkey);
            }
        }
        rewrite_to_recorded(in, &is);
        CU_ASSERT_EQUAL(is.bth.psn, was.bth.psn);
        CU_ASSERT_EQUAL(is.bth.dest_qp, was.bth.dest_qp);
        CU_ASSERT_EQUAL(is.bth.pkey, was.bth.pkey);
        if (roce_pkt_has(&is, ROCE_HDR_AETH))
            CU_ASSERT_EQUAL(is.aeth.msn, was.aeth.msn);
        cnt++;
    }
    CU_ASSERT(cnt > 0);
}

static void rewritten_packet_is_rewritten_back(void)
{
    static const char *const names[] = {
        "rc-write-sizes",   "rc-read-sizes", "rc-atomics", "rc-loss-requests",  "rc-imm",
        "rc-psn-wrap-loss", "rc-corruption", "ipv6",       "rc-bad-rkey-write", "vlan"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (int ip6 = 0; ip6 < 2; ip6++) {
            struct bound b;

            bind(&b, names[i], ip6);
            expect_there_and_back(&b);
            replay_free(&b.replay);
        }
}

static void load_rewrites_only_the_addresses(void)
{
    struct bound b;
    const struct trace_packet *p;
    uint8_t frame[ROCE_FRAME_MAX];
    struct roce_pkt was, is;
    uint8_t src[16], dst[16];
    int len;

    bind(&b, "rc-imm", false);
    p = event_packet(b.asks.setup, 0);
    len = rewrite_addresses(&b.to_responder, p, frame, sizeof(frame));
    CU_ASSERT_FATAL(len > 0);
    trace_parse(p, &was);
    CU_ASSERT_EQUAL(roce_pkt_parse(&is, ROCE_LINK_ETHERNET, frame, (size_t)len, (size_t)len), 0);
    roce_pkt_addr(&is, src, dst);
    CU_ASSERT_EQUAL(memcmp(src, b.to_responder.addr, 16), 0);
    CU_ASSERT_EQUAL(memcmp(dst, b.to_responder.target, 16), 0);
    CU_ASSERT_EQUAL(is.bth.psn, was.bth.psn);
    CU_ASSERT_EQUAL(is.bth.dest_qp, was.bth.dest_qp);
    CU_ASSERT_EQUAL(roce_pkt_icrc_check(&is, NULL), ROCE_ICRC_GOOD);
    /* A buffer that is too small is an error. */
    CU_ASSERT_EQUAL(rewrite_addresses(&b.to_responder, p, frame, 20), -1);
    replay_free(&b.replay);
}

SUITE("replay.rewrite", TEST(rewritten_packet_is_rewritten_back),
      TEST(load_rewrites_only_the_addresses))

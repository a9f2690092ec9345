/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "bench_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wire/crc32.h"
#include "wire/header_template.h"
#include "wire/pkt.h"

const char *const bench_piece_names[BENCH_PIECE_CNT] = {
    "headers out", "payload out", "headers in", "ICRC in", "payload in",
};

static struct {
    const uint8_t *from;
    uint8_t *to;
    size_t room;
    uint32_t len;
    struct roce_header_template env;
    struct roce_pkt pkt; /* the packet to build; each call uses another payload */
    struct roce_pkt got; /* result of parsing the packet */
    uint8_t frame[ROCE_FRAME_MAX];
    uint8_t header[ROCE_FRAME_MAX]; /* buffer for a frame without payload */
    size_t frame_len;
} it;

static volatile uint32_t sink;

static size_t build(uint8_t *frame, uint32_t payload_len)
{
    int len;

    it.pkt.payload = it.from;
    it.pkt.payload_len = payload_len;
    len = roce_pkt_build(&it.pkt, 0, frame, ROCE_FRAME_MAX);
    if (len <= 0) {
        fprintf(stderr, "bench_pieces: %s\n", roce_error_text(len));
        exit(1);
    }
    return (size_t)len;
}

void bench_pieces_init(const uint8_t *from, uint8_t *to, size_t room, uint32_t len)
{
    it.from = from;
    it.to = to;
    it.room = room;
    it.len = len;
    roce_pkt_init(&it.pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_WRITE_ONLY);
    it.pkt.reth.dma_len = len;
    if (roce_header_template_init(&it.env, &it.pkt) != ROCE_OK)
        exit(1);
    it.pkt.header_template = &it.env;
    it.frame_len = build(it.frame, len);
    if (roce_pkt_parse(&it.got, ROCE_LINK_ETHERNET, it.frame, it.frame_len, it.frame_len) != 0 ||
        roce_pkt_icrc_check(&it.got, NULL) != ROCE_ICRC_GOOD)
        exit(1);
}

void bench_piece_run(enum bench_piece piece, uint64_t cnt)
{
    static uint64_t at;

    for (uint64_t i = 0; i < cnt; i++, at++) {
        uint64_t off = at * it.len % (it.room - it.len + 1) & ~UINT64_C(63);
        uint8_t *payload = it.frame + it.got.payload_off;

        switch (piece) {
        case BENCH_BUILD: sink += (uint32_t)build(it.header, 0); break;
        case BENCH_OUT:
            sink += roce_crc32_copy((uint32_t)at, payload, it.from + off, it.len);
            break;
        case BENCH_PARSE:
            roce_pkt_parse(&it.got, ROCE_LINK_ETHERNET, it.frame, it.frame_len, it.frame_len);
            sink += it.got.bth.psn;
            break;
        case BENCH_CHECK: sink += (uint32_t)roce_pkt_icrc_check(&it.got, NULL); break;
        case BENCH_IN: memcpy(it.to + off, payload, it.len); break;
        case BENCH_PIECE_CNT: return;
        }
    }
}

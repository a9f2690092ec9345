/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: the parser of pcap and pcapng files. If the first byte of the input is even, the
 * rest is the file. If it is odd, the rest selects pcapng blocks whose lengths, options and
 * interfaces are mostly valid, so that the parser reads far into the file.
 *
 * Invariants: the parser ends. Each record is inside its block, and both are within their limits. A
 * second pass over the same bytes returns the same records.
 */
#include <stdlib.h>
#include <string.h>
#include "capture/pcap_parse.h"
#include "fuzz.h"

#define FILE_MAX ((size_t)1 << 20)

struct out {
    uint8_t *p;
    size_t len;
    bool big;
};

static void put(struct out *o, uint64_t v, unsigned bytes)
{
    if (o->len + bytes > FILE_MAX)
        return;
    for (unsigned i = 0; i < bytes; i++)
        o->p[o->len++] = (uint8_t)(v >> 8 * (o->big ? bytes - 1 - i : i));
}

static uint8_t u8(const uint8_t **p, size_t *left)
{
    if (*left == 0)
        return 0;
    --*left;
    return *(*p)++;
}

/* Writes the options of a block: for each its code, length, and value padded to a multiple of 4
 * bytes. Sometimes omits the option that ends the list. */
static void put_options(struct out *o, const uint8_t **p, size_t *left)
{
    unsigned cnt = u8(p, left) & 3;

    for (unsigned i = 0; i < cnt; i++) {
        uint8_t code = u8(p, left), len = u8(p, left) & 31, lie = u8(p, left);

        put(o, code & 15, 2);
        put(o, lie < 8 ? len + lie * 2000u : len, 2);
        for (unsigned k = 0; k < ((len + 3u) & ~3u); k++)
            put(o, u8(p, left), 1);
    }
    if (cnt && u8(p, left) & 1)
        put(o, 0, 4);
}

/* Writes one block. Its two length fields are right, or wrong by an amount that the input
 * selects. */
static void put_block(struct out *o, const uint8_t **p, size_t *left)
{
    static const uint32_t types[8] = {0x0A0D0D0A, 1, 1, 6, 6, 3, 2, 5};
    uint8_t what = u8(p, left), lie = u8(p, left);
    uint32_t type = types[what & 7];
    size_t start = o->len, end;
    uint32_t data = u8(p, left);
    struct out patch;

    if (type == 0x0A0D0D0A)
        o->big = what >> 7;
    put(o, type, 4);
    put(o, 0, 4);
    switch (type) {
    case 0x0A0D0D0A:
        put(o, 0x1A2B3C4D, 4);
        put(o, 1, 2);
        put(o, 0, 2);
        put(o, data ? UINT64_MAX : data, 8);
        put_options(o, p, left);
        break;
    case 1:
        put(o, what >> 3 & 1 ? 1 : data, 2);
        put(o, 0, 2);
        put(o, what >> 4 & 1 ? 0 : data * 64, 4);
        put_options(o, p, left);
        break;
    default:
        if (type == 6 || type == 2) {
            put(o, what >> 3 & 3, type == 6 ? 4 : 2);
            if (type == 2)
                put(o, 0, 2);
            put(o, u8(p, left), 4);
            put(o, (uint64_t)u8(p, left) << 24, 4);
            put(o, data, 4);
        }
        put(o, data + (what >> 5 & 1), 4);
        for (uint32_t k = 0; k < ((data + 3u) & ~3u); k++)
            put(o, k, 1);
        if (type != 3)
            put_options(o, p, left);
        break;
    }
    put(o, 0, 4);
    end = o->len;
    if (end >= FILE_MAX || end < start + 12)
        return;
    patch = (struct out){o->p, start + 4, o->big};
    put(&patch, end - start + (lie < 4 ? 4u * lie : 0), 4);
    patch.len = end - 4;
    put(&patch, end - start + (lie > 3 && lie < 8 ? lie : 0), 4);
}

static void on_block(void *user, const uint8_t *block, uint32_t len, bool big)
{
    uint64_t *sum = user;

    (void)big;
    FUZZ_CHECK(len >= 12 && len <= PCAPNG_BLOCK_MAX);
    *sum = *sum * 31 + block[len - 1] + len;
}

/* Parses the whole file. Returns a checksum over its blocks and records. */
static uint64_t read_all(const uint8_t *bytes, size_t len)
{
    FILE *file = fmemopen((void *)(uintptr_t)bytes, len, "rb");
    struct pcap_parser cap = {0};
    struct pcap_record r;
    struct error error;
    uint64_t sum = 0;
    size_t cnt = 0;
    int rc;

    FUZZ_CHECK(file != NULL);
    if (pcap_parser_open(&cap, file, NULL, &error) == 0) {
        cap.on_block = on_block;
        cap.user = &sum;
        while ((rc = pcap_parser_next(&cap, &r, &error)) == 1) {
            FUZZ_CHECK(++cnt <= len); /* there cannot be more records than bytes */
            FUZZ_CHECK(r.cap_len <= PCAPNG_RECORD_MAX && r.cap_len <= len);
            if (r.block) {
                FUZZ_CHECK(r.block_len >= 12 && r.block_len <= PCAPNG_BLOCK_MAX);
                FUZZ_CHECK(r.data >= r.block && r.data + r.cap_len <= r.block + r.block_len);
                FUZZ_CHECK(r.options_off <= r.block_len);
            }
            sum = sum * 31 + r.time + r.linktype + r.wire_len;
            for (uint32_t i = 0; i < r.cap_len; i++)
                sum = sum * 31 + r.data[i];
        }
        FUZZ_CHECK(rc == 0 || error.text[0] != 0);
        sum = sum * 3 + (uint64_t)(rc + 1);
    }
    pcap_parser_close(&cap);
    fclose(file);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct out o = {0};

    if (size < 9)
        return 0;
    if ((data[0] & 1) == 0) {
        if (pcap_parser_knows(data + 1))
            FUZZ_CHECK(read_all(data + 1, size - 1) == read_all(data + 1, size - 1));
        return 0;
    }
    o.p = malloc(FILE_MAX);
    if (!o.p)
        return 0;
    o.big = data[0] >> 1 & 1;
    put(&o, 0x0A0D0D0A, 4);
    put(&o, 28, 4);
    put(&o, 0x1A2B3C4D, 4);
    put(&o, 1, 2);
    put(&o, 0, 2);
    put(&o, UINT64_MAX, 8);
    put(&o, 28, 4);
    data++;
    size--;
    while (size > 0 && o.len < FILE_MAX - 1024)
        put_block(&o, &data, &size);
    FUZZ_CHECK(pcap_parser_knows(o.p));
    FUZZ_CHECK(read_all(o.p, o.len) == read_all(o.p, o.len));
    free(o.p);
    return 0;
}

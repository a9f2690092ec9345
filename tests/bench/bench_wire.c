/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Measures the speed of rnic/wire: parsing and building RoCEv2 packets over IPv4, and computing
 * their ICRC. The reference is the CRC library alone over the same bytes in the same run. The CRC
 * libraries are also compared with each other.
 *
 *   bench_wire [--quick]
 *
 * Every figure is the median of several rounds. Measurements that are compared run in turns, so
 * that a change of the clock frequency affects all. --quick only shows that the program works; it
 * measures too little for useful figures. "copy with CRC" in the output is roce_crc32_copy().
 * Target: ICRC of 4096-byte packets at 90 % or more of the library's speed.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "wire/crc32.h"
#include "wire/pkt.h"
#ifdef BENCH_ISAL
#include <isa-l/crc.h>
#endif
#ifdef BENCH_LIBDEFLATE
#include <libdeflate.h>
#endif

#define CNT(a)     (sizeof(a) / sizeof((a)[0]))
#define ROUNDS_MAX 25
/* Number of different packets. All fit into the cache, because memory access is not to be
 * measured. */
#define PACKETS 16

static unsigned rounds = ROUNDS_MAX;
static double round_s = 0.01; /* approximate time of one round of one measurement, s */

static struct sample {
    uint8_t frame[ROCE_FRAME_MAX];
    size_t len;
    struct roce_pkt pkt;
} samples[PACKETS];

static volatile uint32_t sink; /* result that prevents the compiler from removing the work */

static double now_s(void)
{
    return (double)rnic_clock_ns(CLOCK_MONOTONIC) * 1e-9;
}

static void make_samples(uint32_t payload_len)
{
    static uint8_t payload[4096];

    for (size_t i = 0; i < sizeof(payload); i++)
        payload[i] = (uint8_t)(i * 167 + i / 256);
    for (unsigned i = 0; i < PACKETS; i++) {
        struct sample *s = &samples[i];
        struct roce_pkt pkt;
        int len;

        roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_WRITE_ONLY);
        pkt.bth.dest_qp = 0x11 + i;
        pkt.bth.psn = 1000 + i;
        pkt.reth.dma_len = payload_len;
        pkt.payload = payload;
        pkt.payload_len = payload_len;
        len = roce_pkt_build(&pkt, 0, s->frame, sizeof(s->frame));
        if (len < 0 || roce_pkt_parse(&s->pkt, ROCE_LINK_ETHERNET, s->frame, (size_t)len,
                                      (size_t)len) != ROCE_OK) {
            fprintf(stderr, "bench_wire: %s\n", roce_error_text(len));
            exit(1);
        }
        s->len = (size_t)len;
    }
}

/* ---- measured functions: one pass over all samples ------------------------------------------- */

static void pass_parse(void)
{
    for (unsigned i = 0; i < PACKETS; i++) {
        struct roce_pkt pkt;

        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, samples[i].frame, samples[i].len, samples[i].len);
        sink += pkt.bth.psn;
    }
}

static void pass_build(void)
{
    static uint8_t out[ROCE_FRAME_MAX];

    for (unsigned i = 0; i < PACKETS; i++)
        sink += (uint32_t)roce_pkt_build(&samples[i].pkt, 0, out, sizeof(out));
}

/* Builds the headers and copies the payload; does not compute the ICRC. */
static void pass_build_keep(void)
{
    static uint8_t out[ROCE_FRAME_MAX];

    for (unsigned i = 0; i < PACKETS; i++)
        sink += (uint32_t)roce_pkt_build(&samples[i].pkt, ROCE_BUILD_KEEP_ICRC, out, sizeof(out));
}

static void pass_icrc(void)
{
    for (unsigned i = 0; i < PACKETS; i++) {
        const struct roce_pkt *pkt = &samples[i].pkt;

        sink +=
            roce_icrc(pkt->encap, pkt->frame + pkt->net_off,
                      (size_t)pkt->off[ROCE_HDR_BTH] - pkt->net_off, pkt->icrc_off - pkt->net_off);
    }
}

/* Defines a pass that runs one CRC function over the bytes that the ICRC covers. */
#define PASS_CRC(name, function)                                                                   \
    static void name(void)                                                                         \
    {                                                                                              \
        for (unsigned i = 0; i < PACKETS; i++)                                                     \
            sink += function(0, samples[i].frame + samples[i].pkt.net_off,                         \
                             samples[i].pkt.icrc_off - samples[i].pkt.net_off);                    \
    }
PASS_CRC(pass_crc, roce_crc32)
PASS_CRC(pass_portable, roce_crc32_portable)
#ifdef BENCH_ISAL
PASS_CRC(pass_isal, crc32_gzip_refl)
#endif
#ifdef BENCH_LIBDEFLATE
PASS_CRC(pass_libdeflate, libdeflate_crc32)
#endif

/* Both functions copy the payload and compute its CRC: pass_two() in two steps, pass_one() in one.
 */
static void pass_two(void)
{
    static uint8_t out[ROCE_FRAME_MAX];

    for (unsigned i = 0; i < PACKETS; i++) {
        const struct roce_pkt *pkt = &samples[i].pkt;

        if (pkt->payload_len)
            memcpy(out + pkt->payload_off, pkt->payload, pkt->payload_len);
        sink += roce_crc32(0, out + pkt->net_off, pkt->icrc_off - pkt->net_off);
    }
}

static void pass_one(void)
{
    static uint8_t out[ROCE_FRAME_MAX];

    for (unsigned i = 0; i < PACKETS; i++) {
        const struct roce_pkt *pkt = &samples[i].pkt;
        uint32_t crc = roce_crc32(0, out + pkt->net_off, (size_t)pkt->payload_off - pkt->net_off);

        sink += roce_crc32_copy(crc, out + pkt->payload_off, pkt->payload, pkt->payload_len);
    }
}

static const struct pass {
    const char *name;
    void (*run)(void);
} passes[] = {
    {"parse", pass_parse},
    {"build", pass_build},
    {"build, ICRC kept", pass_build_keep},
    {"ICRC", pass_icrc},
    {"CRC chosen", pass_crc},
    {"copy, CRC chosen", pass_two},
    {"copy with CRC", pass_one},
    {"CRC portable", pass_portable},
#ifdef BENCH_ISAL
    {"CRC ISA-L", pass_isal},
#endif
#ifdef BENCH_LIBDEFLATE
    {"CRC libdeflate", pass_libdeflate},
#endif
};

/* ---- measuring ------------------------------------------------------------------------------- */

static double run_s(const struct pass *pass, unsigned long times)
{
    double start = now_s();

    for (unsigned long i = 0; i < times; i++)
        pass->run();
    return now_s() - start;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, unsigned cnt)
{
    qsort(v, cnt, sizeof(*v), ascending);
    return v[cnt / 2];
}

static void measure(uint32_t payload_len)
{
    static double pps[CNT(passes)][ROUNDS_MAX];
    static double ratio[ROUNDS_MAX];
    unsigned long times[CNT(passes)];
    size_t bytes, icrc = 0, crc = 0;

    make_samples(payload_len);
    /* Compute how often to run each pass in a round; this also warms up the caches. */
    for (size_t p = 0; p < CNT(passes); p++) {
        double s = run_s(&passes[p], 20);

        times[p] = (unsigned long)(round_s / (s / 20)) + 1;
        if (passes[p].run == pass_icrc)
            icrc = p;
        if (passes[p].run == pass_crc)
            crc = p;
    }
    for (unsigned r = 0; r < rounds; r++) {
        for (size_t p = 0; p < CNT(passes); p++)
            pps[p][r] = (double)times[p] * PACKETS / run_s(&passes[p], times[p]);
        ratio[r] = pps[icrc][r] / pps[crc][r];
    }
    for (size_t p = 0; p < CNT(passes); p++) {
        double m = median(pps[p], rounds);

        bytes = p < icrc ? samples[0].len : samples[0].pkt.icrc_off - samples[0].pkt.net_off;
        printf("%7u  %-18s %12.0f %9.2f\n", (unsigned)payload_len, passes[p].name, m,
               m * (double)bytes * 1e-9);
    }
    printf("%7u  ICRC runs at %.1f %% of the speed of the chosen CRC\n\n", (unsigned)payload_len,
           100 * median(ratio, rounds));
}

int main(int argc, char **argv)
{
    static const uint32_t lens[] = {0, 64, 256, 1024, 4096};

    if (argc > 1 && strcmp(argv[1], "--quick") == 0) {
        rounds = 1;
        round_s = 1e-4;
    } else if (argc > 1) {
        fprintf(stderr, "usage: bench_wire [--quick]\n");
        return 2;
    }
    printf(
        "RC WRITE Only over IPv4, one core, medians of %u rounds; chosen CRC: %s; copy with CRC by "
        "%s\n",
        rounds, roce_crc32_name(), roce_crc32_copy_name());
    printf("%7s  %-18s %12s %9s\n", "payload", "what", "packets/s", "GB/s");
    for (size_t i = 0; i < CNT(lens); i++)
        measure(lens[i]);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Measures the speed of the whole device. One device sends RC WRITEs to another in the same
 * process, on one core. The reference is what any software RNIC must do with the same bytes: each
 * side copies the payload once and computes one CRC over the frame.
 *
 *   bench_transport [--quick] [--qps N] [--len N]
 *
 * Frames are moved in batches, and rnic_input() gets them one by one, as in the live device
 * (port/live/drive.c). Times are CPU times of the process. Other processes still have an influence
 * through the shared caches, most on the figures with all of the 100,000 QPs.
 *
 * The unavoidable cost of 100,000 QPs: a WRITE and its ACK access 22 cache lines, 11 for each
 * frame. These are 9 lines of the sending QP, including a WQE and an SGE, 9 lines of the receiving
 * QP, and entries of the two QPN maps. The QPs need 800 MB, so none of these lines is in a cache.
 * With 64 QPs, all are in the nearest cache. With huge pages, the cost is about 90 ns per frame,
 * whatever its length. Most of it is address translation.
 *
 * Below each row, the output shows where the time is spent. For streams of one QP, it shows the
 * time of each piece of a packet measured alone (bench_pieces.h). For all rows, it shows the time
 * of each stage, measured with the clock between the stages.
 *
 * Measurements that are compared run in turns, and each figure is the median of all rounds. --quick
 * only shows that the program works; it measures too little for useful figures.
 *
 * Targets: 4096-byte WRITEs at 60 % or more of the bare loop; 3 million 64-byte WRITEs per second;
 * with 100,000 QPs, a packet costs at most 1.5 times as much as with one QP; at most 4 KiB per idle
 * QP.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench_pair.h"
#include "bench_pieces.h"
#include "wire/crc32.h"
#include "wire/pkt.h"

#define ROUNDS_MAX 15
#define DEPTH_MANY 16u /* queue length of each QP in the measurement with many QPs, in WQEs */
/* Bytes of the headers and the ICRC of a WRITE Only over IPv4, without Ethernet. */
#define HEADERS 58u

static unsigned rounds = ROUNDS_MAX;
static double round_s = 0.05;
static volatile uint32_t sink;

/* Does only the work that no software RNIC can avoid: copy and CRC at the sender, CRC and copy at
 * the receiver. */
static void bare(uint64_t cnt, uint32_t len)
{
    static uint8_t frame[ROCE_FRAME_MAX];
    static uint64_t at;

    for (uint64_t i = 0; i < cnt; i++, at++) {
        uint64_t off = at * len % (BENCH_MEM - len + 1) & ~UINT64_C(63);

        memcpy(frame + HEADERS, bench_pair.end[0].mem + off, len);
        sink += roce_crc32(0, frame, HEADERS + len);
        sink += roce_crc32(0, frame, HEADERS + len);
        memcpy(bench_pair.end[1].mem + off, frame + HEADERS, len);
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, unsigned cnt)
{
    qsort(v, cnt, sizeof(*v), by_value);
    return v[cnt / 2];
}

/* Calls run() once with `cnt` messages. Returns the time for one message, s. */
static double once(void (*run)(uint64_t, uint32_t), uint32_t len, uint64_t cnt)
{
    double start = bench_now();

    run(cnt, len);
    return (bench_now() - start) / (double)cnt;
}

static uint64_t messages_for(void (*run)(uint64_t, uint32_t), uint32_t len)
{
    double each;

    run(16 * BENCH_BATCH, len); /* warms up caches and branch predictors */
    each = once(run, len, 16 * BENCH_BATCH);
    return ((uint64_t)(round_s / each) / BENCH_BATCH + 1) * BENCH_BATCH;
}

/* Runs the stream again with the clock read between the stages, and prints the time of each
 * stage. */
static void print_profile(const char *which, uint32_t len)
{
    static const char *const names[BENCH_STAGE_CNT] = {"post",       "output data", "input data",
                                                       "output ACK", "input ACK",   "poll"};
    uint64_t cnt = ((uint64_t)bench_pair.active / BENCH_BATCH + 1) * BENCH_BATCH;

    if (cnt < 1000 * BENCH_BATCH)
        cnt = 1000 * BENCH_BATCH;
    memset(bench_pair.spent, 0, sizeof(bench_pair.spent));
    bench_pair.profiling = true;
    bench_pair_stream(cnt, len);
    bench_pair.profiling = false;
    printf("      %-24s", which);
    for (unsigned i = 0; i < BENCH_STAGE_CNT; i++)
        printf(" %s %.0f%s", names[i], 1e9 * bench_pair.spent[i] / (double)cnt,
               i + 1 < BENCH_STAGE_CNT ? "," : " ns a message\n");
}

/* Prints the time that each piece of a packet needs when it runs alone. In a stream the pieces
 * overlap. The rest of the time, for posts, QPs, keys, completions and ACKs, can therefore be
 * printed too small. */
static void print_pieces(uint32_t len, double each)
{
    uint64_t cnt = (uint64_t)(round_s / each) + 1;
    double left = each;

    bench_pieces_init(bench_pair.end[0].mem, bench_pair.end[1].mem, BENCH_MEM, len);
    printf("      of it, alone:           ");
    for (unsigned i = 0; i < BENCH_PIECE_CNT; i++) {
        double cost[ROUNDS_MAX];
        double one;

        for (unsigned r = 0; r < rounds; r++) {
            double start = bench_now();

            bench_piece_run((enum bench_piece)i, cnt);
            cost[r] = (bench_now() - start) / (double)cnt;
        }
        one = median(cost, rounds);
        left -= one;
        printf("%s %.0f, ", bench_piece_names[i], 1e9 * one);
    }
    printf("the rest %.0f ns\n", 1e9 * left);
}

static void one_stream(uint32_t len)
{
    double device[ROUNDS_MAX];
    double least[ROUNDS_MAX];
    double ratio[ROUNDS_MAX];
    uint64_t n_device, n_bare;
    double each;

    bench_pair_init(1, BENCH_DEPTH);
    n_device = messages_for(bench_pair_stream, len);
    n_bare = messages_for(bare, len);
    for (unsigned r = 0; r < rounds; r++) {
        device[r] = once(bench_pair_stream, len, n_device);
        least[r] = once(bare, len, n_bare);
        ratio[r] = least[r] / device[r];
    }
    each = median(device, rounds);
    printf("%5u-byte WRITE   %7.0f ns a message, %5.2f M/s, %6.2f Gbit/s; bare loop %6.0f ns: "
           "%5.1f %%\n",
           len, 1e9 * each, 1e-6 / each, 8e-9 * len / each, 1e9 * median(least, rounds),
           100 * median(ratio, rounds));
    print_pieces(len, each);
    print_profile("by stage:", len);
    bench_pair_free();
}

/* Returns the time per frame, ns. A request and its ACK are two frames. */
static double frame_cost(uint32_t len)
{
    double cost[ROUNDS_MAX];
    uint64_t cnt = messages_for(bench_pair_stream, len);

    if (cnt < bench_pair.active)
        /* send so many messages that every QP sends at least one */
        cnt = ((uint64_t)bench_pair.active / BENCH_BATCH + 1) * BENCH_BATCH;
    for (unsigned r = 0; r < rounds; r++) {
        double start = bench_now();

        bench_pair.frames = 0;
        bench_pair_stream(cnt, len);
        cost[r] = 1e9 * (bench_now() - start) / (double)bench_pair.frames;
    }
    return median(cost, rounds);
}

/* Returns the resident memory of this process, bytes. */
static size_t resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (f) {
        if (fscanf(f, "%*u %lu", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void many_qps(unsigned cnt)
{
    static const uint32_t lens[] = {64, 1024, 4096};
    double one[3];
    size_t before;

    /* Reference: 64 QPs, as many as a batch has messages, so that every message gets a separate
     * ACK, as with many QPs. */
    bench_pair_init(BENCH_BATCH, DEPTH_MANY);
    for (unsigned i = 0; i < 3; i++) {
        one[i] = frame_cost(lens[i]);
        print_profile("64 QPs:", lens[i]);
    }
    bench_pair_free();
    before = resident();
    bench_pair_init(cnt, DEPTH_MANY);
    printf("%u idle QPs with %u send and receive WQEs: %.0f bytes a QP\n", cnt, DEPTH_MANY,
           (double)(resident() - before) / (2.0 * cnt));
    for (unsigned i = 0; i < 3; i++) {
        double few, all;

        bench_pair.active = BENCH_BATCH;
        few = frame_cost(lens[i]);
        bench_pair.active = cnt;
        all = frame_cost(lens[i]);
        printf(
            "%5u-byte WRITE   %4.0f ns a frame with %u QPs; with %u: %4.0f ns in %u of them, %.2f "
            "times; %4.0f ns in all of them, %.2f times\n",
            lens[i], one[i], BENCH_BATCH, cnt, few, BENCH_BATCH, few / one[i], all, all / one[i]);
        print_profile("all of them:", lens[i]);
    }
    bench_pair_free();
}

/* Measures the registration of memory regions. Its time does not depend on the length, because no
 * page is accessed. The target for 1 GiB is a millisecond. */
static void registration(void)
{
    static const uint64_t lens[] = {UINT64_C(4096), UINT64_C(1) << 30, UINT64_C(1) << 40};
    unsigned cnt = rounds == 1 ? 1000 : 200000;

    bench_pair_init(1, DEPTH_MANY);
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct rnic_mr_attr attr = {.addr = bench_pair.end[0].mem, .len = lens[i], .access = 0xF};
        struct rnic_mr *mr;
        double start = bench_now();

        for (unsigned k = 0; k < cnt; k++) {
            bench_must(rnic_mr_reg(bench_pair.end[0].pd, &attr, &mr));
            bench_must(rnic_mr_dereg(mr));
        }
        printf("registering and deregistering %4.0f %s: %.3f us\n",
               (double)(lens[i] >= UINT64_C(1) << 30 ? lens[i] >> 30 : lens[i]),
               lens[i] >= UINT64_C(1) << 30 ? "GiB" : "B", (bench_now() - start) / cnt * 1e6);
    }
    bench_pair_free();
}

int main(int argc, char **argv)
{
    unsigned qps = 100000;
    uint32_t only = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            rounds = 1;
            round_s = 0.001;
            qps = 500;
        } else if (strcmp(argv[i], "--len") == 0 && i + 1 < argc) {
            only = (uint32_t)strtoul(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--qps") == 0 && i + 1 < argc) {
            qps = (unsigned)strtoul(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: bench_transport [--quick] [--qps N] [--len N]\n");
            return 2;
        }
    }
    printf("method of CRC-32: %s; of CRC-32 with a copy: %s\n", roce_crc32_name(),
           roce_crc32_copy_name());
    if (only) { /* run only this stream, to be used with a profiler */
        one_stream(only > 4096 ? 4096 : only);
        return 0;
    }
    one_stream(4096);
    one_stream(1024);
    one_stream(64);
    many_qps(qps);
    registration();
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Speed of the whole device: RC WRITEs from one device to another in the same process, frame by
 * frame through one buffer, on one core, next to the least that any software RNIC must do with the
 * same bytes: each side copies the payload once and runs one CRC over the frame.
 *
 *   bench_transport [--quick] [--qps N] [--len N]
 *
 * The rows of many QPs give posts and frames in bursts (rnic_post_send_burst, rnic_input_burst),
 * for 64 QPs and for all of them alike; the single streams frame by frame. Time is that of the
 * process, but caches are shared: on a busy machine the row "in all of them" suffers most.
 *
 * What all of 100,000 QPs must pay: a WRITE and its ACK touch 9 lines of the QP that sends with a
 * WQE and an SGE, 9 of the QP that receives, and a place in either map of QPNs: 22 lines that are
 * in no cache (the QPs are 800 MB), 11 a frame, where 64 QPs have all in the nearest. With huge
 * pages that is some 90 ns a frame, whatever its length; most of it for addresses, not for bytes.
 *
 * Below each row stands where its time goes: for the single streams what a packet's pieces take
 * alone, and how long the stages are when frames move in bursts, with the clock read between them.
 *
 * What is compared runs alternately, round by round, and each figure is the median. --quick
 * measures next to nothing: it shows that the program works. Targets: 4096-byte WRITEs at 60 % or
 * more of the bare loop; 3 million 64-byte WRITEs a second; with 100,000 QPs at most 1.5 times the
 * cost of a packet with one; at most 4 KiB an idle QP.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bench_pieces.h"
#include "device/rnic.h"
#include "wire/crc32.h"
#include "wire/pkt.h"

#define ROUNDS_MAX 15
#define DEPTH      128u /* WQEs of the send queue of the streams */
#define DEPTH_MANY 16u  /* of each of many QPs */
#define BATCH      64u  /* messages posted before frames are moved */
#define MEM        (1u << 20)
#define KEY        0x1234u
#define HEADERS    58u /* of a WRITE Only over IPv4, with ICRC and without Ethernet */

static unsigned rounds = ROUNDS_MAX;
static double round_s = 0.05;

static struct end {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_cq *cq;
    struct rnic_qp **qp;
    uint8_t *mem;
} end[2];

static unsigned qp_cnt;
static unsigned active;        /* of them, how many are used */
static struct rnic_qp **order; /* QPs of end 0 in the order in which they are used */
static uint64_t frames;        /* moved, both ways */
static volatile uint32_t sink;

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* others may use the machine too */
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void must(int rc)
{
    if (rc != RNIC_OK) {
        fprintf(stderr, "bench_transport: %s\n", rnic_error_text(rc));
        exit(1);
    }
}

/* ---- two devices ----------------------------------------------------------------------------- */

static void make_end(unsigned s)
{
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, (uint8_t)s}, .gid_cnt = 1};
    struct rnic_mr_attr mr = {.len = MEM, .access = RNIC_ACCESS_ALL, .key = KEY};
    uint8_t gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, (uint8_t)(s + 1)};

    memcpy(attr.gid[0].gid, gid, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    end[s].rnic = rnic_new(&attr);
    end[s].mem = calloc(1, MEM);
    end[s].qp = calloc(qp_cnt, sizeof(struct rnic_qp *));
    if (!end[s].rnic || !end[s].mem || !end[s].qp)
        exit(1);
    mr.addr = end[s].mem;
    must(rnic_pd_new(end[s].rnic, &end[s].pd));
    must(rnic_mr_reg(end[s].pd, &mr, &end[s].mr));
    must(rnic_cq_new(end[s].rnic, 4 * BATCH, &end[s].cq)); /* no more than BATCH wait at a time */
}

static void make_qp(unsigned s, unsigned i, uint32_t depth)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .recv_cq = end[s].cq,
                                .send_cq = end[s].cq,
                                .qpn = i + 2,
                                .max_recv_wr = depth == DEPTH ? 1 : depth,
                                .max_recv_sge = 1,
                                .max_send_wr = depth,
                                .max_send_sge = 1};
    struct rnic_qp_attr attr = {
        .access = RNIC_ACCESS_ALL,
        .pkey = 0xFFFF,
        .av = {.dmac = {2, 0, 0, 0, 0, (uint8_t)!s},
               .dgid = {[10] = 0xFF, 0xFF, 192, 0, 2, (uint8_t)(!s + 1)}},
        .path_mtu = 4096,
        .dest_qpn = i + 2,
        .max_dest_rd_atomic = 16,
        .max_rd_atomic = 16,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };

    must(rnic_qp_new(end[s].pd, &init, &end[s].qp[i]));
    attr.state = RNIC_QPS_INIT;
    must(rnic_qp_modify(end[s].qp[i], &attr, 0));
    attr.state = RNIC_QPS_RTR;
    must(rnic_qp_modify(end[s].qp[i], &attr, 0));
    attr.state = RNIC_QPS_RTS;
    must(rnic_qp_modify(end[s].qp[i], &attr, 0));
}

static void set_up(unsigned cnt, uint32_t depth)
{
    uint32_t lcg = 1;

    qp_cnt = cnt;
    active = cnt;
    order = calloc(cnt, sizeof(struct rnic_qp *));
    if (!order)
        exit(1);
    for (unsigned s = 0; s < 2; s++) {
        make_end(s);
        for (unsigned i = 0; i < cnt; i++)
            make_qp(s, i, depth);
    }
    for (unsigned i = 0; i < cnt; i++) {
        unsigned j;

        lcg = lcg * 1664525u + 1013904223u;
        j = (unsigned)((uint64_t)lcg * (i + 1) >> 32);
        order[i] = order[j];
        order[j] = end[0].qp[i];
    }
}

static void tear_down(void)
{
    for (unsigned s = 0; s < 2; s++) {
        rnic_del(end[s].rnic);
        free(end[s].mem);
        free(end[s].qp);
    }
    free(order);
}

/* Where the time of a stream over many QPs goes. */
enum stage { POST, OUTPUT_DATA, INPUT_DATA, OUTPUT_ACK, INPUT_ACK, POLL, STAGE_CNT };
static double spent[STAGE_CNT];
static double since;
static bool profiling;

static void lap(enum stage stage)
{
    double at;

    if (!profiling)
        return;
    at = now_s();
    spent[stage] += at - since;
    since = at;
}

static void take_completions(void)
{
    struct rnic_wc wc[32];
    size_t got;

    while ((got = rnic_cq_poll(end[0].cq, wc, 32)) > 0)
        for (size_t i = 0; i < got; i++)
            if (wc[i].status != RNIC_WC_SUCCESS) {
                fprintf(stderr, "bench_transport: %s\n", rnic_wc_status_name(wc[i].status));
                exit(1);
            }
}

/* The same in bursts, as a port that reads a ring does. */
static void move_bursts(rnic_time now)
{
    static uint8_t buf[RNIC_BURST][ROCE_FRAME_MAX];
    struct rnic_rx frame[RNIC_BURST];
    bool any;

    do {
        any = false;
        for (unsigned s = 0; s < 2; s++) {
            size_t cnt;

            do {
                for (cnt = 0; cnt < RNIC_BURST; cnt++) {
                    frame[cnt].bytes = buf[cnt];
                    frame[cnt].len = rnic_output(end[s].rnic, buf[cnt], ROCE_FRAME_MAX, now);
                    if (frame[cnt].len == 0)
                        break;
                }
                lap(s ? OUTPUT_ACK : OUTPUT_DATA);
                rnic_input_burst(end[!s].rnic, frame, cnt, now);
                lap(s ? INPUT_ACK : INPUT_DATA);
                frames += cnt;
                any = any || cnt;
            } while (cnt == RNIC_BURST);
        }
    } while (any);
    take_completions();
    lap(POLL);
}

/* Moves frames until neither side has one. */
static void move(rnic_time now)
{
    static uint8_t buf[ROCE_FRAME_MAX];
    bool any;

    do {
        any = false;
        for (unsigned s = 0; s < 2; s++) {
            size_t len;

            while ((len = rnic_output(end[s].rnic, buf, sizeof(buf), now)) > 0) {
                rnic_input(end[!s].rnic, buf, len, now);
                frames++;
                any = true;
            }
        }
    } while (any);
    take_completions();
}

static bool bursts;

/* The requests of a batch: as programs do, made once and changed from message to message. */
static struct request {
    struct rnic_send_wr wr;
    struct rnic_sge sge;
} batch[BATCH];

static void make_requests(uint32_t len)
{
    for (unsigned i = 0; i < BATCH; i++) {
        batch[i].sge = (struct rnic_sge){.len = len, .lkey = KEY};
        batch[i].wr = (struct rnic_send_wr){.opcode = RNIC_WR_WRITE,
                                            .flags = RNIC_SEND_SIGNALED,
                                            .sge = &batch[i].sge,
                                            .sge_cnt = 1,
                                            .rkey = KEY};
    }
}

/* `cnt` WRITEs of `len` bytes, a batch at a time, each on the next QP in order. */
static void stream(uint64_t cnt, uint32_t len)
{
    static uint64_t at;
    static rnic_time now;

    make_requests(len);
    since = now_s();
    for (uint64_t done = 0; done < cnt; done += BATCH) {
        struct rnic_post posts[BATCH];
        size_t posted;

        for (unsigned i = 0; i < BATCH; i++, at++) {
            uint64_t off = at * len % (MEM - len + 1) & ~UINT64_C(63);

            batch[i].sge.addr = off;
            batch[i].wr.wr_id = at;
            batch[i].wr.remote_addr = off;
            posts[i] = (struct rnic_post){order[at % active], &batch[i].wr};
            if (!bursts)
                must(rnic_post_send(posts[i].qp, posts[i].wr));
        }
        if (bursts)
            must(rnic_post_send_burst(posts, BATCH, &posted));
        now += 1000;
        if (!bursts) {
            move(now);
            continue;
        }
        lap(POST);
        move_bursts(now);
    }
}

/* What cannot be saved: copy and CRC on the way out, CRC and copy on the way in. */
static void bare(uint64_t cnt, uint32_t len)
{
    static uint8_t frame[ROCE_FRAME_MAX];
    static uint64_t at;

    for (uint64_t i = 0; i < cnt; i++, at++) {
        uint64_t off = at * len % (MEM - len + 1) & ~UINT64_C(63);

        memcpy(frame + HEADERS, end[0].mem + off, len);
        sink += roce_crc32(0, frame, HEADERS + len);
        sink += roce_crc32(0, frame, HEADERS + len);
        memcpy(end[1].mem + off, frame + HEADERS, len);
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

/* Seconds for one message: `run` with so many that a round lasts round_s. */
static double once(void (*run)(uint64_t, uint32_t), uint32_t len, uint64_t cnt)
{
    double start = now_s();

    run(cnt, len);
    return (now_s() - start) / (double)cnt;
}

static uint64_t messages_for(void (*run)(uint64_t, uint32_t), uint32_t len)
{
    double each;

    run(16 * BATCH, len); /* caches and branch predictors have seen it */
    each = once(run, len, 16 * BATCH);
    return ((uint64_t)(round_s / each) / BATCH + 1) * BATCH;
}

/* Once more with the clock read between stages. */
static void print_profile(const char *which, uint32_t len)
{
    static const char *const names[STAGE_CNT] = {"post",       "output data", "input data",
                                                 "output ACK", "input ACK",   "poll"};
    uint64_t cnt = ((uint64_t)active / BATCH + 1) * BATCH;

    if (cnt < 1000 * BATCH)
        cnt = 1000 * BATCH;
    memset(spent, 0, sizeof(spent));
    profiling = true;
    stream(cnt, len);
    profiling = false;
    printf("      %-24s", which);
    for (unsigned i = 0; i < STAGE_CNT; i++)
        printf(" %s %.0f%s", names[i], 1e9 * spent[i] / (double)cnt,
               i + 1 < STAGE_CNT ? "," : " ns a message\n");
}

/* What of a message's time its packet takes, each piece alone: in a row they overlap, so that what
 * is left for posts, QPs, keys, completions and ACKs may look like less than it is. */
static void print_pieces(uint32_t len, double each)
{
    uint64_t cnt = (uint64_t)(round_s / each) + 1;
    double left = each;

    bench_pieces_init(end[0].mem, end[1].mem, MEM, len);
    printf("      of it, alone:           ");
    for (unsigned i = 0; i < BENCH_PIECE_CNT; i++) {
        double cost[ROUNDS_MAX];
        double one;

        for (unsigned r = 0; r < rounds; r++) {
            double start = now_s();

            bench_piece_run((enum bench_piece)i, cnt);
            cost[r] = (now_s() - start) / (double)cnt;
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

    set_up(1, DEPTH);
    n_device = messages_for(stream, len);
    n_bare = messages_for(bare, len);
    for (unsigned r = 0; r < rounds; r++) {
        device[r] = once(stream, len, n_device);
        least[r] = once(bare, len, n_bare);
        ratio[r] = least[r] / device[r];
    }
    each = median(device, rounds);
    printf("%5u-byte WRITE   %7.0f ns a message, %5.2f M/s, %6.2f Gbit/s; bare loop %6.0f ns: "
           "%5.1f %%\n",
           len, 1e9 * each, 1e-6 / each, 8e-9 * len / each, 1e9 * median(least, rounds),
           100 * median(ratio, rounds));
    print_pieces(len, each);
    bursts = true;
    print_profile("in bursts:", len);
    bursts = false;
    tear_down();
}

/* Nanoseconds a frame, requests and acknowledgements alike. */
static double frame_cost(uint32_t len)
{
    double cost[ROUNDS_MAX];
    uint64_t cnt = messages_for(stream, len);

    if (cnt < active)
        cnt = ((uint64_t)active / BATCH + 1) * BATCH; /* every QP takes part */
    for (unsigned r = 0; r < rounds; r++) {
        double start = now_s();

        frames = 0;
        stream(cnt, len);
        cost[r] = 1e9 * (now_s() - start) / (double)frames;
    }
    return median(cost, rounds);
}

/* Bytes of memory that the process really has. */
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

    /* As many QPs in use as messages in a batch, so that all have an ACK for every message. */
    bursts = true;
    set_up(BATCH, DEPTH_MANY);
    for (unsigned i = 0; i < 3; i++) {
        one[i] = frame_cost(lens[i]);
        print_profile("64 QPs:", lens[i]);
    }
    tear_down();
    before = resident();
    set_up(cnt, DEPTH_MANY);
    printf("%u idle QPs with %u send and receive WQEs: %.0f bytes a QP\n", cnt, DEPTH_MANY,
           (double)(resident() - before) / (2.0 * cnt));
    for (unsigned i = 0; i < 3; i++) {
        double few, all;

        active = BATCH;
        few = frame_cost(lens[i]);
        active = cnt;
        all = frame_cost(lens[i]);
        printf(
            "%5u-byte WRITE   %4.0f ns a frame with %u QPs; with %u: %4.0f ns in %u of them, %.2f "
            "times; %4.0f ns in all of them, %.2f times\n",
            lens[i], one[i], BATCH, cnt, few, BATCH, few / one[i], all, all / one[i]);
        print_profile("all of them:", lens[i]);
    }
    tear_down();
}

/* Registering a region costs the same however large it is: no page is touched. The design's limit
 * for 1 GiB is a millisecond. */
static void registration(void)
{
    static const uint64_t lens[] = {UINT64_C(4096), UINT64_C(1) << 30, UINT64_C(1) << 40};
    unsigned cnt = rounds == 1 ? 1000 : 200000;

    set_up(1, DEPTH_MANY);
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct rnic_mr_attr attr = {.addr = end[0].mem, .len = lens[i], .access = 0xF};
        struct rnic_mr *mr;
        double start = now_s();

        for (unsigned k = 0; k < cnt; k++) {
            must(rnic_mr_reg(end[0].pd, &attr, &mr));
            must(rnic_mr_dereg(mr));
        }
        printf("registering and deregistering %4.0f %s: %.3f us\n",
               (double)(lens[i] >= UINT64_C(1) << 30 ? lens[i] >> 30 : lens[i]),
               lens[i] >= UINT64_C(1) << 30 ? "GiB" : "B", (now_s() - start) / cnt * 1e6);
    }
    tear_down();
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
    printf("CRC-32 by %s, with a copy by %s\n", roce_crc32_name(), roce_crc32_copy_name());
    if (only) { /* this stream alone, for a profile */
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

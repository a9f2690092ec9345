/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "bench_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "wire/pkt.h"

struct bench_pair bench_pair;
static struct rnic_qp **order; /* QPs of end 0 in random order, in which they are used */

double bench_now(void)
{
    /* measure CPU time, because other processes may use the machine at the same time */
    return (double)rnic_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
}

void bench_must(int rc)
{
    if (rc != RNIC_OK) {
        fprintf(stderr, "bench_transport: %s\n", rnic_error_text(rc));
        exit(1);
    }
}

static void make_end(unsigned s)
{
    struct bench_end *end = &bench_pair.end[s];
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, (uint8_t)s}, .gid_cnt = 1};
    struct rnic_mr_attr mr = {.len = BENCH_MEM, .access = RNIC_ACCESS_ALL, .key = BENCH_KEY};
    uint8_t gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, (uint8_t)(s + 1)};

    memcpy(attr.gid[0].gid, gid, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    end->rnic = rnic_new(&attr);
    end->mem = calloc(1, BENCH_MEM);
    end->qp = calloc(bench_pair.qp_cnt, sizeof(struct rnic_qp *));
    if (!end->rnic || !end->mem || !end->qp)
        exit(1);
    mr.addr = end->mem;
    bench_must(rnic_pd_new(end->rnic, &end->pd));
    bench_must(rnic_mr_reg(end->pd, &mr, &end->mr));
    /* At most one batch of BENCH_BATCH messages is in flight. */
    bench_must(rnic_cq_new(end->rnic, 4 * BENCH_BATCH, &end->cq));
}

static void make_qp(unsigned s, unsigned i, uint32_t depth)
{
    struct bench_end *end = &bench_pair.end[s];
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .recv_cq = end->cq,
                                .send_cq = end->cq,
                                .qpn = i + 2,
                                .max_recv_wr = depth == BENCH_DEPTH ? 1 : depth,
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

    bench_must(rnic_qp_new(end->pd, &init, &end->qp[i]));
    attr.state = RNIC_QPS_INIT;
    bench_must(rnic_qp_modify(end->qp[i], &attr, 0));
    attr.state = RNIC_QPS_RTR;
    bench_must(rnic_qp_modify(end->qp[i], &attr, 0));
    attr.state = RNIC_QPS_RTS;
    bench_must(rnic_qp_modify(end->qp[i], &attr, 0));
}

void bench_pair_init(unsigned cnt, uint32_t depth)
{
    uint32_t lcg = 1;

    bench_pair.qp_cnt = cnt;
    bench_pair.active = cnt;
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
        order[j] = bench_pair.end[0].qp[i];
    }
}

void bench_pair_free(void)
{
    for (unsigned s = 0; s < 2; s++) {
        rnic_del(bench_pair.end[s].rnic);
        free(bench_pair.end[s].mem);
        free(bench_pair.end[s].qp);
    }
    free(order);
}

/* Limits of a batch of frames, the same as in the live device (LIVE_TX_FRAMES, LIVE_TX_BYTES). */
#define BENCH_TX_FRAMES 64u
#define BENCH_TX_BYTES  (256u * 1024)

static struct {
    uint8_t bytes[BENCH_TX_BYTES];
    struct {
        size_t at, len;
    } frame[BENCH_TX_FRAMES];
} tx;

static double since; /* bench_now() at the end of the previous stage */

static void lap(enum bench_stage stage)
{
    double at;

    if (!bench_pair.profiling)
        return;
    at = bench_now();
    bench_pair.spent[stage] += at - since;
    since = at;
}

static void take_completions(void)
{
    struct rnic_wc wc[32];
    size_t got;

    while ((got = rnic_cq_poll(bench_pair.end[0].cq, wc, 32)) > 0)
        for (size_t i = 0; i < got; i++)
            if (wc[i].status != RNIC_WC_SUCCESS) {
                fprintf(stderr, "bench_transport: %s\n", rnic_wc_status_name(wc[i].status));
                exit(1);
            }
}

/* Fetches a batch of frames from the device of end `s` into `tx`. Returns the number of frames. */
static size_t fill_batch(unsigned s, rnic_time now)
{
    size_t cnt = 0;
    size_t at = 0;

    while (cnt < BENCH_TX_FRAMES && BENCH_TX_BYTES - at >= ROCE_FRAME_MAX) {
        size_t len = rnic_output(bench_pair.end[s].rnic, tx.bytes + at, BENCH_TX_BYTES - at, now);

        if (len == 0)
            break;
        tx.frame[cnt].at = at;
        tx.frame[cnt++].len = len;
        at += (len + 63) & ~(size_t)63;
    }
    return cnt;
}

/* Moves frames between the two devices until neither has one to send. Uses batches, as transmit()
 * and on_frame() in port/live/drive.c do. */
static void move(rnic_time now)
{
    size_t moved, cnt;

    do {
        moved = 0;
        for (unsigned s = 0; s < 2; s++) {
            while ((cnt = fill_batch(s, now)) > 0) {
                lap(s ? BENCH_OUTPUT_ACK : BENCH_OUTPUT_DATA);
                for (size_t i = 0; i < cnt; i++)
                    rnic_input(bench_pair.end[!s].rnic, tx.bytes + tx.frame[i].at, tx.frame[i].len,
                               now);
                lap(s ? BENCH_INPUT_ACK : BENCH_INPUT_DATA);
                moved += cnt;
            }
        }
        bench_pair.frames += moved;
    } while (moved);
    take_completions();
    lap(BENCH_POLL);
}

/* Work requests of a batch. As in most programs, they are built once, and only a few members are
 * changed for each message. */
static struct request {
    struct rnic_send_wr wr;
    struct rnic_sge sge;
} batch[BENCH_BATCH];

static void make_requests(uint32_t len)
{
    for (unsigned i = 0; i < BENCH_BATCH; i++) {
        batch[i].sge = (struct rnic_sge){.len = len, .lkey = BENCH_KEY};
        batch[i].wr = (struct rnic_send_wr){.opcode = RNIC_WR_WRITE,
                                            .flags = RNIC_SEND_SIGNALED,
                                            .sge = &batch[i].sge,
                                            .sge_cnt = 1,
                                            .rkey = BENCH_KEY};
    }
}

void bench_pair_stream(uint64_t cnt, uint32_t len)
{
    static uint64_t at;
    static rnic_time now;

    make_requests(len);
    since = bench_now();
    for (uint64_t done = 0; done < cnt; done += BENCH_BATCH) {
        for (unsigned i = 0; i < BENCH_BATCH; i++, at++) {
            uint64_t off = at * len % (BENCH_MEM - len + 1) & ~UINT64_C(63);

            batch[i].sge.addr = off;
            batch[i].wr.wr_id = at;
            batch[i].wr.remote_addr = off;
            bench_must(rnic_post_send(order[at % bench_pair.active], &batch[i].wr));
        }
        now += 1000;
        lap(BENCH_POST);
        move(now);
    }
}

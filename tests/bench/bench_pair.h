/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pair: two devices in this process with QPs that are connected to each other, and RC WRITEs from
 * the first to the second, as many as its user wants timed. There is one.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "device/rnic.h"

#define BENCH_DEPTH 128u /* WQEs of the send queue of a single stream */
#define BENCH_BATCH 64u  /* messages posted before frames are moved */
#define BENCH_MEM   (1u << 20)
#define BENCH_KEY   0x1234u

/* Where the time of a stream over many QPs goes. */
enum bench_stage {
    BENCH_POST,
    BENCH_OUTPUT_DATA,
    BENCH_INPUT_DATA,
    BENCH_OUTPUT_ACK,
    BENCH_INPUT_ACK,
    BENCH_POLL,
    BENCH_STAGE_CNT
};

struct bench_end {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_cq *cq;
    struct rnic_qp **qp;
    uint8_t *mem; /* BENCH_MEM bytes */
};

extern struct bench_pair {
    struct bench_end end[2];
    unsigned qp_cnt;
    unsigned active; /* of them, how many are used; its user's to change */
    uint64_t frames; /* moved, both ways; its user's to clear */
    bool bursts;     /* posts and frames are given in bursts */
    bool profiling;  /* with bursts: the clock is read between the stages */
    double spent[BENCH_STAGE_CNT];
} bench_pair;

/* `cnt` QPs at each end, with send queues of `depth`. What fails ends the program. */
void bench_pair_init(unsigned cnt, uint32_t depth);
void bench_pair_free(void);

/* `cnt` WRITEs of `len` bytes, a batch at a time, each on the next QP in a random order. */
void bench_pair_stream(uint64_t cnt, uint32_t len);

/* Seconds of CPU time of this process: others may use the machine too. */
double bench_now(void);

/* Ends the program with a message unless `rc` is RNIC_OK. */
void bench_must(int rc);

#endif

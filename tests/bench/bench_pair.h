/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pair: two devices in this process with connected QPs. The first device sends RC WRITEs to the
 * second. The caller chooses the number of WRITEs and measures the time. A process has only one
 * pair.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "device/rnic.h"

#define BENCH_DEPTH 128u /* length of the send queue of a single stream, in WQEs */
#define BENCH_BATCH 64u  /* number of messages posted before their frames are moved */
#define BENCH_MEM   (1u << 20)
#define BENCH_KEY   0x1234u

/* The stages in which a message is processed. The time of each stage can be measured. */
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
    uint8_t *mem; /* memory of the end, BENCH_MEM bytes */
};

extern struct bench_pair {
    struct bench_end end[2];
    unsigned qp_cnt;
    unsigned active; /* number of QPs in use, at most qp_cnt; set by the caller */
    uint64_t frames; /* number of frames moved in both directions; the caller sets it to 0 */
    bool profiling;  /* measure the time of each stage */
    double spent[BENCH_STAGE_CNT];
} bench_pair;

/* Creates two devices with `cnt` connected QPs each and send queues of `depth` WQEs. Ends the
 * program on failure. */
void bench_pair_init(unsigned cnt, uint32_t depth);
void bench_pair_free(void);

/* Sends `cnt` WRITEs of `len` bytes in batches. Successive WRITEs use successive QPs of a random
 * order. */
void bench_pair_stream(uint64_t cnt, uint32_t len);

/* Returns the CPU time that this process has used, s. CPU time, because other processes may use the
 * machine at the same time. */
double bench_now(void);

/* Ends the program with a message unless `rc` is RNIC_OK. */
void bench_must(int rc);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The device allocates no memory for a packet, work request or completion. The test counts every
 * allocation (the linker's --wrap) while two devices exchange messages of every kind and lose some
 * of them. */
#include <stdlib.h>
#include "support/qp_pair.h"
#include "support/suite.h"

/* Volatile, because compilers assume that malloc() changes no variable of the program. */
static volatile bool counting;
static volatile unsigned long calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t cnt, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t cnt, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    calls += counting;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t cnt, size_t size)
{
    calls += counting;
    return __real_calloc(cnt, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    calls += counting;
    return __real_realloc(old, size);
}

static struct qp_pair pair;
static rnic_time now;
static unsigned frames;

/* Passes frames between both devices until both are idle, and drops every `lose`-th frame (1: drops
 * none). Then expires the timers of both devices. */
static void exchange(unsigned lose)
{
    uint8_t frame[ROCE_FRAME_MAX];
    bool any;

    do {
        any = false;
        for (unsigned s = 0; s < 2; s++) {
            size_t len = rnic_output(pair.side[s].rnic, frame, sizeof(frame), now += 1000);

            any = any || len;
            if (len && (++frames % lose || lose == 1))
                rnic_input(pair.side[!s].rnic, frame, len, now);
        }
    } while (any);
    for (unsigned s = 0; s < 2; s++) {
        rnic_time due = rnic_deadline(pair.side[s].rnic);

        if (due != RNIC_NEVER && due > now)
            now = due;
        rnic_expire(pair.side[s].rnic, now);
    }
}

/* Sends one message of each kind in each direction. Returns the number of completions. */
static unsigned round_of(unsigned lose)
{
    static const enum rnic_wr_opcode ops[] = {RNIC_WR_SEND, RNIC_WR_WRITE,     RNIC_WR_WRITE_IMM,
                                              RNIC_WR_READ, RNIC_WR_FETCH_ADD, RNIC_WR_CMP_SWAP};
    unsigned done = 0;
    struct rnic_wc wc;

    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        uint32_t len = rnic_wr_is_atomic(ops[i]) ? 8 : 5000;

        for (unsigned s = 0; s < 2; s++) {
            EXPECT_EQ(qp_pair_recv(&pair, !s, 0, i, 65536 * s, 8192), RNIC_OK);
            EXPECT_EQ(qp_pair_send(&pair, s, 0, i, ops[i], 1 << 18, len, 1 << 19), RNIC_OK);
        }
        for (unsigned k = 0; k < 12; k++)
            exchange(lose);
        for (unsigned s = 0; s < 2; s++) {
            while (rnic_cq_poll(pair.side[s].send_cq[0], &wc, 1)) {
                EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
                done++;
            }
            while (rnic_cq_poll(pair.side[s].recv_cq[0], &wc, 1)) {
            }
        }
    }
    return done;
}

static void no_allocation_for_packets(void)
{
    void *volatile seen; /* keeps the compiler from removing malloc() and free() */

    qp_pair_init(&pair, 5, ROCE_ENCAP_V2_IP4, 1, 64);
    qp_pair_connect(&pair);
    EXPECT_EQ(round_of(1), 12);
    for (unsigned lose = 1; lose < 40; lose += 19) {
        counting = true;
        EXPECT_EQ(round_of(lose), 12);
        counting = false;
    }
    EXPECT_EQ(calls, 0);
    CU_ASSERT(frames > 200);
    counting = true; /* checks the counter itself: one malloc() must be counted */
    seen = malloc(1);
    counting = false;
    EXPECT_EQ(calls, 1);
    free(seen);
    qp_pair_free(&pair);
}

SUITE("device.alloc", TEST(no_allocation_for_packets))

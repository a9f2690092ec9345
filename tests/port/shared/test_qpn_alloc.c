/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* QPNs of processes that share an interface. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/shared/qpn_alloc.h"
#include "support/suite.h"

static struct rnic_entropy entropy_of(uint8_t seed)
{
    struct rnic_entropy entropy;

    rnic_entropy_init(&entropy, seed, false);
    return entropy;
}

/* Two processes draw the same random numbers and still get different QPNs. */
static void two_processes_get_different_qpns(void)
{
    enum { PROCESSES = 100 };
    struct rnic_qpn_alloc qpns[PROCESSES];
    static uint8_t taken[4096];

    memset(taken, 0, sizeof(taken));
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct rnic_entropy entropy = entropy_of(7);

        EXPECT_EQ(rnic_qpn_alloc_init(&qpns[i], "e0", false, &entropy), 0);
        EXPECT_EQ(taken[qpns[i].block[0].number]++, 0);
        CU_ASSERT(qpns[i].block[0].number >= RNIC_BLOCK_FIRST &&
                  qpns[i].block[0].number <= RNIC_BLOCK_LAST);
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        rnic_qpn_alloc_fini(&qpns[i]);
}

/* 20,000 QPNs of one process are all different and use several blocks. All can be freed. */
static void many_qpns_are_different(void)
{
    struct rnic_entropy entropy = entropy_of(1);
    struct rnic_qpn_alloc qpns;
    uint32_t *qpn = calloc(20000, sizeof(*qpn));
    uint8_t *seen = calloc(1, 1u << 24);
    bool grew;
    unsigned grown = 0;
    unsigned same = 0;

    CU_ASSERT_FATAL(qpn && seen);
    EXPECT_EQ(rnic_qpn_alloc_init(&qpns, "e0", false, &entropy), 0);
    for (unsigned i = 0; i < 20000; i++) {
        qpn[i] = rnic_qpn_alloc_get(&qpns, &entropy, &grew);
        grown += grew;
        if (qpn[i] < 2 || qpn[i] >= 0xffffff || seen[qpn[i]]++)
            same++;
    }
    EXPECT_EQ(same, 0);
    EXPECT_EQ(grown + 1, qpns.block_cnt);
    CU_ASSERT(qpns.block_cnt >= 5 && qpns.block_cnt <= 8);
    for (unsigned i = 0; i < 20000; i++)
        rnic_qpn_alloc_put(&qpns, qpn[i]);
    for (unsigned i = 0; i < qpns.block_cnt; i++)
        EXPECT_EQ(qpns.block[i].free + qpns.block[i].rest_cnt, RNIC_BLOCK_QPNS);
    rnic_qpn_alloc_put(&qpns, qpn[0]); /* freeing a QPN twice has no effect */
    EXPECT_EQ(qpns.block[0].free + qpns.block[0].rest_cnt, RNIC_BLOCK_QPNS);
    rnic_qpn_alloc_fini(&qpns);
    free(qpn);
    free(seen);
}

/* A freed QPN is not reused soon, because a peer can still have a connection to it. If no other QPN
 * is left, it is reused. */
static void freed_qpn_rests(void)
{
    enum { TIMES = 100000 };
    struct rnic_entropy entropy = entropy_of(1);
    struct rnic_qpn_alloc qpns;
    uint32_t *put_at = calloc(1u << 24, sizeof(*put_at));
    unsigned early = 0;
    bool grew;

    CU_ASSERT_FATAL(put_at != NULL);
    EXPECT_EQ(rnic_qpn_alloc_init(&qpns, "e0", false, &entropy), 0);
    for (unsigned i = 1; i <= TIMES; i++) {
        uint32_t qpn = rnic_qpn_alloc_get(&qpns, &entropy, &grew);

        early += put_at[qpn] && i - put_at[qpn] <= RNIC_QPNS_REST;
        rnic_qpn_alloc_put(&qpns, qpn);
        put_at[qpn] = i;
    }
    EXPECT_EQ(early, 0);
    EXPECT_EQ(qpns.block_cnt, 1);
    memset(put_at, 0, sizeof(*put_at) << 24);
    qpns.block_cnt = RNIC_BLOCKS_MAX; /* no other block can be claimed */
    qpns.block = realloc(qpns.block, RNIC_BLOCKS_MAX * sizeof(*qpns.block));
    CU_ASSERT_FATAL(qpns.block != NULL);
    for (unsigned i = 1; i < RNIC_BLOCKS_MAX; i++)
        qpns.block[i] = (struct rnic_block){.fd = -1};
    for (unsigned i = 0; i < RNIC_BLOCK_QPNS; i++) {
        uint32_t qpn = rnic_qpn_alloc_get(&qpns, &entropy, &grew);

        early += qpn == 0 || put_at[qpn]++;
    }
    EXPECT_EQ(early, 0);
    EXPECT_EQ(rnic_qpn_alloc_get(&qpns, &entropy, &grew), 0);
    rnic_qpn_alloc_fini(&qpns);
    free(put_at);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(two_processes_get_different_qpns),
                                              TEST(many_qpns_are_different), TEST(freed_qpn_rests)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.qpn_alloc", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

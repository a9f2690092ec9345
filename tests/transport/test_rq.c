/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Receive queue tests: posting, taking, returning and clearing WQEs. test_responder_message.c tests
 * the data written to WQEs. */
#include "support/suite.h"
#include "transport/rq.h"

static enum rnic_rq_post post(struct rnic_rq *rq, uint64_t wr_id, uint32_t sge_cnt)
{
    static const struct rnic_sge sge[RNIC_SGE_MAX] = {
        {1, 10, 1}, {2, 20, 2}, {3, UINT32_MAX, 3}, {4, UINT32_MAX, 4}};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = sge, .sge_cnt = sge_cnt};

    return rnic_rq_post(rq, &wr);
}

static void full_queue_refuses_post(void)
{
    struct rnic_rq rq;
    struct rnic_rwqe *wqe;

    CU_ASSERT_FATAL(rnic_rq_init(&rq, 3, 4));
    CU_ASSERT(rnic_rq_take(&rq) == NULL);
    EXPECT_EQ(post(&rq, 1, 0), RNIC_RQ_POSTED);
    EXPECT_EQ(post(&rq, 2, 2), RNIC_RQ_POSTED);
    EXPECT_EQ(post(&rq, 3, 5), RNIC_RQ_INVALID);
    EXPECT_EQ(post(&rq, 3, 4), RNIC_RQ_POSTED);
    EXPECT_EQ(post(&rq, 4, 0), RNIC_RQ_FULL);
    EXPECT_EQ(rnic_rq_cnt(&rq), 3);
    wqe = rnic_rq_take(&rq);
    EXPECT_EQ(wqe->wr_id, 1);
    EXPECT_EQ(wqe->len, 0);
    EXPECT_EQ(post(&rq, 4, 0), RNIC_RQ_FULL); /* a taken WQE is not free */
    rnic_rq_return(&rq, wqe);
    EXPECT_EQ(post(&rq, 4, 0), RNIC_RQ_POSTED);
    wqe = rnic_rq_take(&rq);
    EXPECT_EQ(wqe->len, 30);
    EXPECT_EQ(wqe->sge[1].addr, 2);
    rnic_rq_return(&rq, wqe);
    wqe = rnic_rq_take(&rq);
    EXPECT_EQ(wqe->len, UINT32_MAX); /* the sum of the SGEs exceeds the longest message */
    rnic_rq_return(&rq, wqe);
    EXPECT_EQ(rnic_rq_take(&rq)->wr_id, 4);
    rnic_rq_clear(&rq);
    EXPECT_EQ(rnic_rq_cnt(&rq), 0);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(post(&rq, i, 1), RNIC_RQ_POSTED);
    rnic_rq_free(&rq);
}

/* WQEs of an SRQ can be returned in another order than they were taken. */
static void wqes_return_in_any_order(void)
{
    struct rnic_rq rq;
    struct rnic_rwqe *first;
    struct rnic_rwqe *second;

    CU_ASSERT_FATAL(rnic_rq_init(&rq, 2, 1));
    post(&rq, 1, 1);
    post(&rq, 2, 1);
    first = rnic_rq_take(&rq);
    second = rnic_rq_take(&rq);
    rnic_rq_return(&rq, second);
    EXPECT_EQ(post(&rq, 3, 1), RNIC_RQ_POSTED);
    EXPECT_EQ(first->wr_id, 1);
    EXPECT_EQ(post(&rq, 4, 1), RNIC_RQ_FULL);
    EXPECT_EQ(rnic_rq_take(&rq)->wr_id, 3);
    rnic_rq_free(&rq);
}

static void queue_without_wqes_gives_none(void)
{
    struct rnic_rq rq;
    struct rnic_rq zero = {0};

    CU_ASSERT_FATAL(rnic_rq_init(&rq, 0, 1));
    EXPECT_EQ(post(&rq, 1, 0), RNIC_RQ_FULL);
    CU_ASSERT(rnic_rq_take(&rq) == NULL);
    rnic_rq_clear(&rq);
    rnic_rq_free(&rq);
    rnic_rq_free(&zero);
}

SUITE("transport.rq", TEST(full_queue_refuses_post), TEST(wqes_return_in_any_order),
      TEST(queue_without_wqes_gives_none))

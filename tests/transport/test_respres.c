/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Responder resources: R076, R111, R112, R115, R116, R119 of rnic/rules.md. */
#include "support/suite.h"
#include "transport/respres.h"

static struct rnic_respres_ring ring;

static struct rnic_respres *use_read(rnic_pos pos, uint64_t va, uint32_t len)
{
    struct rnic_respres *res = rnic_respres_next(&ring);

    if (!res)
        return NULL;
    rnic_respres_use(&ring, res, ROCE_KIND_READ, pos, len / 256 + 1);
    res->va = va;
    res->len = len;
    res->rkey = 5;
    res->left = len;
    return res;
}

static void r076_limit(void)
{
    rnic_respres_init(&ring, 0);
    CU_ASSERT(rnic_respres_next(&ring) == NULL);
    for (uint8_t max = 1; max <= RNIC_RD_ATOMIC_MAX; max++) {
        struct rnic_respres *first = NULL;

        rnic_respres_init(&ring, max);
        for (uint8_t i = 0; i < max; i++) {
            struct rnic_respres *res = use_read(i, 0, 10);

            CU_ASSERT_FATAL(res != NULL);
            if (i == 0)
                first = res;
        }
        CU_ASSERT(rnic_respres_next(&ring) == NULL);
        first->response_queued = false;
        first->response_sent = true;
        CU_ASSERT(rnic_respres_next(&ring) == first);
        first->response_queued = true; /* only a repeated response is queued */
        CU_ASSERT(rnic_respres_next(&ring) == first);
    }
}

static void r111_lookup(void)
{
    struct rnic_respres *res;

    rnic_respres_init(&ring, 4);
    use_read(100, 0x1000, 10);
    res = use_read(200, UINT64_MAX - 600, 600); /* READ at the end of the address space */
    CU_ASSERT(rnic_respres_read(&ring, 200, UINT64_MAX - 600, 600, 5, 256) == res);
    CU_ASSERT(rnic_respres_read(&ring, 201, UINT64_MAX - 344, 344, 5, 256) == res);
    CU_ASSERT(rnic_respres_read(&ring, 202, UINT64_MAX - 88, 88, 5, 256) == res);
    CU_ASSERT(rnic_respres_read(&ring, 203, UINT64_MAX, 1, 5, 256) == NULL);
    CU_ASSERT(rnic_respres_read(&ring, 199, UINT64_MAX - 600, 600, 5, 256) == NULL);
    CU_ASSERT(rnic_respres_read(&ring, 202, UINT64_MAX - 88, 89, 5, 256) == NULL);
    CU_ASSERT(rnic_respres_read(&ring, 201, 0, 344, 5, 256) == NULL);
    CU_ASSERT(rnic_respres_read(&ring, 200, UINT64_MAX - 600, 600, 6, 256) == NULL);
    CU_ASSERT(rnic_respres_atomic(&ring, 100, ROCE_KIND_CMP_SWAP) == NULL);
}

static void r115_atomic(void)
{
    struct rnic_respres *res;

    rnic_respres_init(&ring, 2);
    res = rnic_respres_next(&ring);
    rnic_respres_use(&ring, res, ROCE_KIND_FETCH_ADD, 7, 1);
    CU_ASSERT(rnic_respres_atomic(&ring, 7, ROCE_KIND_FETCH_ADD) == res);
    CU_ASSERT(rnic_respres_atomic(&ring, 7, ROCE_KIND_CMP_SWAP) == NULL);
    CU_ASSERT(rnic_respres_atomic(&ring, 8, ROCE_KIND_FETCH_ADD) == NULL);
    CU_ASSERT(rnic_respres_read(&ring, 7, 0, 0, 0, 256) == NULL);
}

static void restart_checks_running_response(void)
{
    struct rnic_respres *res;

    rnic_respres_init(&ring, 1);
    res = use_read(10, 0, 1024);
    res->response_started = true;
    res->next = 2;
    CU_ASSERT(!rnic_respres_restart(res, 13, 768, 256));
    CU_ASSERT(!rnic_respres_restart(res, 11, 256, 256));
    CU_ASSERT(res->response_started);
    CU_ASSERT(rnic_respres_restart(res, 11, 256, 768));
    CU_ASSERT(!res->response_started);
    EXPECT_EQ(res->next, 1);
    EXPECT_EQ(res->left, 768);
    res->response_sent = true;
    res->response_queued = false;
    CU_ASSERT(rnic_respres_restart(res, 13, 768, 256));
    CU_ASSERT(rnic_respres_restart(res, 10, 0, 16));
    CU_ASSERT(res->response_queued);
    EXPECT_EQ(res->va, 0); /* the parameters of the original request do not change */
    EXPECT_EQ(res->len, 1024);
}

SUITE("transport.respres", TEST(r076_limit), TEST(r111_lookup), TEST(r115_atomic),
      TEST(restart_checks_running_response))

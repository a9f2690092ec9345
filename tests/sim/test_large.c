/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Messages of the maximum length arrive, compared byte by byte. An idle QP needs little memory
 * (R058, R081, R202). A short file is mapped repeatedly, so that 2 GiB of addresses need only a few
 * MiB of memory.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "device/rnic.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/pkt.h"

#define FILE_LEN (UINT64_C(16) << 20)
/* Length of the mapped range: more than 6 GiB. */
#define SPAN ((UINT64_C(1) << 32) + (UINT64_C(1) << 31) + FILE_LEN)
#define KEY  0x77u
#define IOVA UINT64_C(0xFFFFFFFE00000000) /* IOVA of the region, which ends below 2^64 */
#define MTU  4096u

struct side {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    uint8_t *mem;
};

static struct side side[2];
static rnic_time now;

/* Maps a file of FILE_LEN bytes repeatedly, so that SPAN bytes of addresses need only FILE_LEN
 * bytes of memory. */
static uint8_t *map_memory(void)
{
    int fd = memfd_create("large", 0);
    uint8_t *at = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (fd < 0 || at == MAP_FAILED || ftruncate(fd, (off_t)FILE_LEN) != 0)
        abort();
    for (uint64_t off = 0; off < SPAN; off += FILE_LEN)
        if (mmap(at + off, FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED)
            abort();
    close(fd);
    return at;
}

static void gid_of(unsigned s, uint8_t gid[16])
{
    static const uint8_t ip4[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 0};

    memcpy(gid, ip4, 16);
    gid[15] = (uint8_t)(s + 1);
}

static void make_side(unsigned s)
{
    struct side *me = &side[s];
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, (uint8_t)(s + 1)}, .gid_cnt = 1};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = 0x10,
                                .max_recv_wr = 4,
                                .max_recv_sge = 1,
                                .max_send_wr = 4,
                                .max_send_sge = 2};
    struct rnic_mr_attr mr = {.len = SPAN, .iova = IOVA, .access = RNIC_ACCESS_ALL, .key = KEY};
    struct rnic_qp_attr qp = {.access = RNIC_ACCESS_ALL,
                              .pkey = 0xFFFF,
                              .av = {.dmac = {2, 0, 0, 0, 0, (uint8_t)(2 - s)}},
                              .path_mtu = MTU,
                              .dest_qpn = 0x10,
                              .rq_psn = 0xFFFF00,
                              .sq_psn = 0xFFFF00,
                              .max_dest_rd_atomic = 1,
                              .max_rd_atomic = 1,
                              .min_rnr_timer = 1,
                              .timeout = 14,
                              .retry_cnt = 7,
                              .rnr_retry = 7};

    gid_of(s, attr.gid[0].gid);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    me->rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(me->rnic != NULL);
    mr.addr = me->mem = map_memory();
    EXPECT_EQ(rnic_pd_new(me->rnic, &me->pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(me->pd, &mr, &me->mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(me->rnic, 16, &me->cq), RNIC_OK);
    init.recv_cq = init.send_cq = me->cq;
    EXPECT_EQ(rnic_qp_new(me->pd, &init, &me->qp), RNIC_OK);
    gid_of(!s, qp.av.dgid);
    for (qp.state = RNIC_QPS_INIT; qp.state <= RNIC_QPS_RTS; qp.state++)
        EXPECT_EQ(rnic_qp_modify(me->qp, &qp, 0), RNIC_OK);
}

static void begin(void)
{
    struct rng rng = rng_of(1);

    make_side(0);
    make_side(1);
    rng_fill(&rng, side[0].mem, FILE_LEN);
    memset(side[1].mem, 0, FILE_LEN);
}

static void end(void)
{
    for (unsigned s = 0; s < 2; s++) {
        rnic_del(side[s].rnic);
        munmap(side[s].mem, SPAN);
    }
}

/* Passes frames between both devices until neither has a frame to send. */
static void talk(void)
{
    static uint8_t buf[ROCE_FRAME_MAX];
    bool any;

    do {
        any = false;
        for (unsigned s = 0; s < 2; s++) {
            size_t len = rnic_output(side[s].rnic, buf, sizeof(buf), ++now);

            if (len)
                rnic_input(side[!s].rnic, buf, len, now);
            any = any || len;
        }
    } while (any);
}

static int post(enum rnic_wr_opcode opcode, uint64_t off, uint32_t len, uint64_t roff)
{
    const struct rnic_sge sge[2] = {{IOVA + off, len / 3, KEY},
                                    {IOVA + off + len / 3, len - len / 3, KEY}};
    const struct rnic_send_wr wr = {.wr_id = 1,
                                    .opcode = opcode,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = sge,
                                    .sge_cnt = 2,
                                    .imm = 5,
                                    .remote_addr = IOVA + roff,
                                    .rkey = KEY};

    return rnic_post_send(side[0].qp, &wr);
}

static void expect_wc(unsigned s, enum rnic_wc_opcode opcode, uint32_t byte_len)
{
    struct rnic_wc wc = {0};

    EXPECT_EQ(rnic_cq_poll(side[s].cq, &wc, 1), 1);
    EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, opcode);
    EXPECT_EQ(wc.byte_len, byte_len);
}

static struct rnic_counters counters(unsigned s)
{
    struct rnic_counters c;

    rnic_counters_get(side[s].rnic, &c);
    return c;
}

/* Messages of 2 GiB in each direction, at addresses beyond 4 GiB, must be executed. A message of
 * one byte more must be refused (R058, R081, R202). */
static void message_of_2_gib_completes_and_longer_is_refused(void)
{
    const uint64_t far = (UINT64_C(1) << 32) + 4096 + 123;
    const struct rnic_recv_wr recv = {.wr_id = 2};
    struct rnic_qp_view view;

    begin();
    EXPECT_EQ(rnic_post_recv(side[1].qp, &recv), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_WRITE_IMM, far, RNIC_MESSAGE_MAX + 1, 0), RNIC_ERR_INVALID);
    EXPECT_EQ(post(RNIC_WR_WRITE_IMM, far, RNIC_MESSAGE_MAX, 123 + 4096), RNIC_OK);
    talk();
    expect_wc(0, RNIC_WC_RDMA_WRITE, RNIC_MESSAGE_MAX);
    expect_wc(1, RNIC_WC_RECV_RDMA_WITH_IMM, RNIC_MESSAGE_MAX);
    EXPECT_EQ(counters(1).rx_write_requests, RNIC_MESSAGE_MAX / MTU);
    EXPECT_EQ(counters(0).tx_retransmitted, 0);
    CU_ASSERT(memcmp(side[0].mem, side[1].mem, FILE_LEN) == 0);

    memset(side[0].mem, 0, FILE_LEN);
    EXPECT_EQ(post(RNIC_WR_READ, far, RNIC_MESSAGE_MAX, far), RNIC_OK);
    talk();
    expect_wc(0, RNIC_WC_RDMA_READ, RNIC_MESSAGE_MAX);
    CU_ASSERT(memcmp(side[0].mem, side[1].mem, FILE_LEN) == 0);
    rnic_qp_view(side[0].qp, &view);
    EXPECT_EQ(view.una_psn, (0xFFFF00 + 2 * (RNIC_MESSAGE_MAX / MTU)) & ROCE_PSN_MASK);
    EXPECT_EQ(rnic_deadline(side[0].rnic), RNIC_NEVER);
    end();
}

/* A WRITE and a READ across offset 4 GiB, and up to the last byte of the region, must be executed.
 * One byte more must be refused (R083, R084). */
static void access_beyond_4_gib_completes_inside_the_region(void)
{
    const uint64_t edge = (UINT64_C(1) << 32) - 5000;

    begin();
    EXPECT_EQ(post(RNIC_WR_WRITE, edge, 10000, edge), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_READ, SPAN - 10000, 10000, SPAN - 10000), RNIC_OK);
    talk();
    expect_wc(0, RNIC_WC_RDMA_WRITE, 10000);
    expect_wc(0, RNIC_WC_RDMA_READ, 10000);
    CU_ASSERT(memcmp(side[0].mem, side[1].mem, 5000) == 0);
    CU_ASSERT(memcmp(side[0].mem + FILE_LEN - 10000, side[1].mem + FILE_LEN - 10000, 10000) == 0);
    EXPECT_EQ(post(RNIC_WR_WRITE, 0, 2, SPAN - 1), RNIC_OK);
    talk();
    EXPECT_EQ(counters(1).resp_remote_access_errors, 1);
    end();
}

static size_t resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (!f || fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* An idle QP with the queues of tests/bench must need at most 4 KiB, the limit of the design. The
 * memory that a sanitizer adds does not count. */
static void idle_qp_needs_at_most_4_kib(void)
{
    const unsigned cnt = 20000;
    struct rnic_attr attr = {.gid_cnt = 1, .gid = {{.gid = {1}}}};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_recv_wr = 16,
                                .max_recv_sge = 1,
                                .max_send_wr = 16,
                                .max_send_sge = 1};
    struct rnic *rnic = rnic_new(&attr);
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    size_t before;
    size_t each;

    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 16, &cq), RNIC_OK);
    init.recv_cq = init.send_cq = cq;
    before = resident();
    for (unsigned i = 0; i < cnt; i++) {
        struct rnic_qp *qp;

        EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
    }
    each = (resident() - before) / cnt;
    printf("%zu bytes a QP ", each);
#ifdef TEST_SANITIZED
    CU_ASSERT(each > 0);
#else
    CU_ASSERT(each > 1024 && each <= 4096);
#endif
    rnic_del(rnic);
}

SUITE("sim.large", TEST(message_of_2_gib_completes_and_longer_is_refused),
      TEST(access_beyond_4_gib_completes_inside_the_region), TEST(idle_qp_needs_at_most_4_kib))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Memory regions: keys, rights, ranges, IOVA, invalidation: R083-R084, R203-R204, R207-R209. */
#define _DEFAULT_SOURCE /* needed for MAP_ANONYMOUS and MAP_NORESERVE */
#include <sys/mman.h>
#include "device/key.h"
#include "device/mr.h"
#include "support/device_fixture.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct device_fixture fixture;
static uint8_t bytes[64];

static int reg(struct rnic_mr_attr attr, struct rnic_mr **out)
{
    return rnic_mr_reg(fixture.pd, &attr, out);
}

/* Registrations with an invalid combination of rights, a range beyond the end of the address space,
 * or a key in use are refused (R207). */
static void invalid_registrations_are_refused(void)
{
    struct rnic_mr *mr;
    struct rnic_mr *other;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned access = 0; access < 2048; access++) {
        bool good = access < 1024 && ((access & 1) || !(access & (2 | 8)));

        EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = access}, &mr),
                  good ? RNIC_OK : RNIC_ERR_INVALID);
        if (good)
            rnic_mr_dereg(mr);
    }
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .iova = UINT64_MAX - 63}, &mr),
              RNIC_ERR_INVALID);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .iova = UINT64_MAX - 64}, &mr),
              RNIC_OK);
    rnic_mr_dereg(mr);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = NULL, .len = 1}, &mr), RNIC_ERR_INVALID);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = FIXTURE_KEY}, &mr), RNIC_ERR_EXISTS);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = 7}, &mr), RNIC_OK);
    EXPECT_EQ(rnic_mr_key(mr), 7);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = 7}, &other), RNIC_ERR_EXISTS);
    rnic_mr_dereg(mr);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = 7}, &mr), RNIC_OK);
    rnic_mr_dereg(mr);
    rnic_mr_dereg(NULL);
    fixture_free(&fixture);
}

/* With on-demand paging a region can be the whole address space, which starts at NULL. */
static void address_space_is_a_region(void)
{
    struct rnic_mr_attr attr = {.len = UINT64_MAX, .access = RNIC_ACCESS_ON_DEMAND};
    struct rnic_mr *mr;
    uint8_t *at = NULL;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(reg(attr, &mr), RNIC_OK);
    EXPECT_EQ(
        rnic_key_translate(fixture.pd, NULL, rnic_mr_key(mr), (uintptr_t)&bytes[3], 8, 0, &at),
        RNIC_MEM_OK);
    EXPECT_EQ(at == &bytes[3], true);
    EXPECT_EQ(rnic_key_translate(fixture.pd, NULL, rnic_mr_key(mr), UINT64_MAX, 1, 0, &at),
              RNIC_MEM_RANGE);
    rnic_mr_dereg(mr);
    attr.iova = 1;
    EXPECT_EQ(reg(attr, &mr), RNIC_ERR_INVALID);
    attr = (struct rnic_mr_attr){.len = UINT64_MAX};
    EXPECT_EQ(reg(attr, &mr), RNIC_ERR_INVALID);
    attr = (struct rnic_mr_attr){.len = 64, .access = RNIC_ACCESS_ON_DEMAND};
    EXPECT_EQ(reg(attr, &mr), RNIC_ERR_INVALID);
    fixture_free(&fixture);
}

/* Keys that the device chooses are all different and use all 32 bits. */
static void chosen_keys_are_different(void)
{
    uint32_t ones = 0;
    uint32_t zeros = 0;
    uint32_t last = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 2000; i++) {
        struct rnic_mr *mr;

        EXPECT_EQ(reg((struct rnic_mr_attr){0}, &mr), RNIC_OK); /* region that is deleted with the
                                                                 * device */
        CU_ASSERT(rnic_mr_key(mr) != 0);
        CU_ASSERT(rnic_mr_key(mr) != last + 1);
        last = rnic_mr_key(mr);
        ones |= last;
        zeros |= ~last;
    }
    EXPECT_EQ(ones, UINT32_MAX);
    EXPECT_EQ(zeros, UINT32_MAX);
    fixture_free(&fixture);
}

/* Compares the range check with arithmetic on the offset, for many addresses and lengths (R084). */
static void r084_range_check_equals_arithmetic(void)
{
    static const uint64_t iovas[] = {0, 1, 0x1000, UINT64_C(0x7FFFFFFFFFFFFFF0),
                                     UINT64_MAX - sizeof(bytes)};

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++) {
        struct rnic_mr *mr;

        EXPECT_EQ(reg(
                      (struct rnic_mr_attr){
                          .addr = bytes, .len = sizeof(bytes), .iova = iovas[i], .access = 0xF},
                      &mr),
                  RNIC_OK);
        for (int off = -3; off <= 67; off++) {
            static const uint64_t lens[] = {1,         2, 8, 63, 64, 65, UINT32_MAX, UINT64_MAX - 1,
                                            UINT64_MAX};

            for (unsigned l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
                bool inside = off >= 0 && off <= 64 && lens[l] <= 64u - (unsigned)off;
                uint8_t *ptr = NULL;
                enum rnic_mem mem = rnic_key_translate(fixture.pd, fixture.qp, rnic_mr_key(mr),
                                                       iovas[i] + (uint64_t)(int64_t)off, lens[l],
                                                       RNIC_ACCESS_REMOTE_READ, &ptr);

                EXPECT_EQ(mem, inside ? RNIC_MEM_OK : RNIC_MEM_RANGE);
                if (inside)
                    CU_ASSERT(ptr == bytes + off);
            }
        }
        rnic_mr_dereg(mr);
    }
    fixture_free(&fixture);
}

/* For every combination of granted and requested rights, a request is refused if a right is missing
 * (R207). */
static void r207_missing_right_is_refused(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned granted = 0; granted < 16; granted++) {
        struct rnic_mr *mr;

        if (reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = granted}, &mr) != RNIC_OK)
            continue;
        for (unsigned asked = 1; asked < 16; asked++) {
            uint8_t *ptr;

            EXPECT_EQ(
                rnic_key_translate(fixture.pd, fixture.qp, rnic_mr_key(mr), 0, 8, asked, &ptr),
                (asked & ~granted) == 0 ? RNIC_MEM_OK : RNIC_MEM_ACCESS);
        }
        rnic_mr_dereg(mr);
    }
    fixture_free(&fixture);
}

/* Received packets have a wrong right or range. They must be refused, and the guard bytes of the
 * fixture must not change (R083, R250). */
static void r083_on_the_wire(void)
{
    static const struct {
        uint8_t opcode;
        unsigned needed;
    } rows[] = {{ROCE_OP_RC_WRITE_ONLY, RNIC_ACCESS_REMOTE_WRITE},
                {ROCE_OP_RC_READ_REQUEST, RNIC_ACCESS_REMOTE_READ},
                {ROCE_OP_RC_FETCH_ADD, RNIC_ACCESS_REMOTE_ATOMIC}};

    for (unsigned r = 0; r < 3; r++) {
        for (unsigned granted = 0; granted < 16; granted++) {
            struct rnic_mr *mr;
            struct roce_pkt pkt;

            fixture_init(&fixture, ROCE_ENCAP_V2_IP6);
            if (reg((struct rnic_mr_attr){.addr = bytes, .len = 8, .iova = 8, .access = granted},
                    &mr) != RNIC_OK) {
                fixture_free(&fixture);
                continue;
            }
            pkt = pktgen_write(&fixture.gen, rows[r].opcode, FIXTURE_PSN, 8, rnic_mr_key(mr), 8,
                               rows[r].opcode == ROCE_OP_RC_WRITE_ONLY ? bytes + 8 : NULL,
                               rows[r].opcode == ROCE_OP_RC_WRITE_ONLY ? 8 : 0);
            pkt.atomiceth = (struct roce_atomiceth){.va = 8, .rkey = rnic_mr_key(mr)};
            pkt.bth.ackreq = 1;
            fixture_in(&fixture, &pkt);
            CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
            if (granted & rows[r].needed)
                EXPECT_EQ(pkt.aeth.syndrome, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
            else
                EXPECT_EQ(pkt.aeth.syndrome, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
            fixture_free(&fixture);
        }
    }
}

/* A deregistered key is invalid at once, and may be used for another region (R208). */
static void r208_deregistered_key_is_invalid(void)
{
    struct roce_pkt pkt;
    struct rnic_mr *mr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    rnic_mr_dereg(fixture.mr);
    EXPECT_EQ(reg(
                  (struct rnic_mr_attr){
                      .addr = fixture.mem, .len = 8, .iova = 64, .access = 0xF, .key = FIXTURE_KEY},
                  &mr),
              RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, 64, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    /* address 64 is the first byte of the region (R209) */
    CU_ASSERT(pkt.payload_len == 8 && memcmp(pkt.payload, fixture.mem, 8) == 0);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN + 1, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, FIXTURE_PSN + 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 1);
    fixture_free(&fixture);
}

/* A peer can invalidate a key only if its region permits that and belongs to the QP's PD (R203,
 * R204). */
static void r204_only_permitted_keys_are_invalidated(void)
{
    struct rnic_mr *yes;
    struct rnic_mr *no;
    struct rnic_pd *pd;
    struct rnic_wc wc;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = 1, .invalidate = true}, &yes), RNIC_OK);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = 2}, &no), RNIC_OK);
    EXPECT_EQ(rnic_pd_new(fixture.rnic, &pd), RNIC_OK);
    CU_ASSERT(!rnic_key_invalidate(fixture.pd, fixture.qp, 2));
    CU_ASSERT(!rnic_key_invalidate(fixture.pd, fixture.qp, 3));
    CU_ASSERT(!rnic_key_invalidate(pd, fixture.qp, 1));
    fixture_post(&fixture, 9, 0, 16);
    pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY_INV, FIXTURE_PSN);
    pkt.ieth.rkey = 1;
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 1);
    EXPECT_EQ(wc.flags, RNIC_WC_WITH_INV);
    EXPECT_EQ(wc.invalidated_key, 1);
    CU_ASSERT(!rnic_key_invalidate(fixture.pd, fixture.qp, 1)); /* a key can be invalidated only
                                                                 * once */
    EXPECT_EQ(rnic_key_translate(fixture.pd, fixture.qp, 1, 0, 1, 0, &(uint8_t *){NULL}),
              RNIC_MEM_KEY);
    EXPECT_EQ(reg((struct rnic_mr_attr){.key = 1}, &yes), RNIC_ERR_EXISTS); /* an invalidated key is
                                                                             * still in use */
    fixture_free(&fixture);
}

/* Returns the address to which a key grants access, or NULL. */
static uint8_t *opens(uint32_t key, uint64_t va, uint64_t len, unsigned access)
{
    uint8_t *ptr = NULL;

    return rnic_key_translate(fixture.pd, fixture.qp, key, va, len, access, &ptr) == RNIC_MEM_OK
               ? ptr
               : NULL;
}

/* Addresses of a zero-based region are offsets, whatever its iova is (R209). */
static void r209_zero_based_addresses_are_offsets(void)
{
    struct rnic_mr *mr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes,
                                        .len = 64,
                                        .iova = UINT64_MAX,
                                        .access = RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_ZERO_BASED},
                  &mr),
              RNIC_OK);
    CU_ASSERT(opens(rnic_mr_key(mr), 0, 64, RNIC_ACCESS_REMOTE_READ) == bytes);
    CU_ASSERT(opens(rnic_mr_key(mr), 63, 1, RNIC_ACCESS_REMOTE_READ) == bytes + 63);
    CU_ASSERT(!opens(rnic_mr_key(mr), 63, 2, RNIC_ACCESS_REMOTE_READ));
    fixture_free(&fixture);
}

/* Optional access flags are accepted and ignored (man ibv_reg_mr). */
static void optional_access_flags_are_ignored(void)
{
    struct rnic_mr *mr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = 0x3FF000C0}, &mr),
              RNIC_OK);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = 0x400}, &mr),
              RNIC_ERR_INVALID);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = 0x40000000}, &mr),
              RNIC_ERR_INVALID);
    fixture_free(&fixture);
}

/* Registers the region again with each flag and with all flags of ibv_rereg_mr(). The new values
 * must apply to later requests; the key must not change. */
static void rereg_applies_to_later_requests(void)
{
    static uint8_t other[32];
    const struct rnic_mr_attr place = {.addr = other, .len = 32, .iova = 0x100};
    const struct rnic_mr_attr rights = {.access = RNIC_ACCESS_REMOTE_READ};
    const struct rnic_mr_attr all = {
        .addr = bytes, .len = 8, .iova = 0x200, .access = RNIC_ACCESS_LOCAL_WRITE};
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    uint8_t *ptr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_pd_new(fixture.rnic, &pd), RNIC_OK);
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = 0xF, .key = 9}, &mr),
              RNIC_OK);
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_TRANSLATION, NULL, &place), RNIC_OK);
    CU_ASSERT(opens(9, 0x100, 32, RNIC_ACCESS_REMOTE_WRITE) == other);
    CU_ASSERT(!opens(9, 0, 8, RNIC_ACCESS_REMOTE_WRITE));
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_ACCESS, NULL, &rights), RNIC_OK);
    CU_ASSERT(opens(9, 0x100, 32, RNIC_ACCESS_REMOTE_READ) == other);
    CU_ASSERT(!opens(9, 0x100, 32, RNIC_ACCESS_REMOTE_WRITE));
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_PD, pd, NULL), RNIC_OK);
    EXPECT_EQ(
        rnic_key_translate(fixture.pd, fixture.qp, 9, 0x100, 1, RNIC_ACCESS_REMOTE_READ, &ptr),
        RNIC_MEM_PD);
    EXPECT_EQ(rnic_key_translate(pd, fixture.qp, 9, 0x100, 1, RNIC_ACCESS_REMOTE_READ, &ptr),
              RNIC_MEM_OK);
    EXPECT_EQ(rnic_pd_del(pd), RNIC_ERR_BUSY);
    EXPECT_EQ(rnic_mr_rereg(mr, 7, fixture.pd, &all), RNIC_OK);
    CU_ASSERT(opens(9, 0x200, 8, RNIC_ACCESS_LOCAL_WRITE) == bytes);
    CU_ASSERT(!opens(9, 0x200, 8, RNIC_ACCESS_REMOTE_READ));
    EXPECT_EQ(rnic_pd_del(pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_key(mr), 9);
    fixture_free(&fixture);
}

/* After a failed re-registration the old region is valid (ibv_rereg_mr: IBV_REREG_MR_ERR_INPUT). */
static void failed_rereg_keeps_the_region(void)
{
    const struct rnic_mr_attr good = {.addr = bytes, .len = 8, .access = 0xF};
    const struct rnic_mr_attr rows[] = {
        {.addr = NULL, .len = 8, .access = 0xF},
        {.addr = bytes, .len = 8, .iova = UINT64_MAX - 6, .access = 0xF},
        {.addr = bytes, .len = 8, .access = RNIC_ACCESS_REMOTE_WRITE},
        {.addr = bytes, .len = 8, .access = 1u << 10},
    };
    struct rnic_mr *mr;
    struct device_fixture two;
    struct rnic_pd *foreign;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    fixture_init(&two, ROCE_ENCAP_V2_IP4);
    foreign = two.pd;
    EXPECT_EQ(reg((struct rnic_mr_attr){.addr = bytes, .len = 64, .access = 0xF, .key = 9}, &mr),
              RNIC_OK);
    EXPECT_EQ(rnic_mr_rereg(mr, 0, fixture.pd, &good), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_mr_rereg(mr, 8, fixture.pd, &good), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_PD, NULL, &good), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_PD, foreign, &good), RNIC_ERR_INVALID);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        EXPECT_EQ(
            rnic_mr_rereg(mr, RNIC_MR_REREG_TRANSLATION | RNIC_MR_REREG_ACCESS, NULL, &rows[i]),
            RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_ACCESS, NULL,
                            &(struct rnic_mr_attr){.access = 0xF | RNIC_ACCESS_ZERO_BASED}),
              RNIC_ERR_INVALID);
    CU_ASSERT(opens(9, 0, 64, RNIC_ACCESS_REMOTE_WRITE) == bytes);
    fixture_free(&two);
    fixture_free(&fixture);
}

static void rereg_makes_an_invalidated_region_valid(void)
{
    const struct rnic_mr_attr rights = {.access = 0xF};
    struct rnic_mr *mr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(reg(
                  (struct rnic_mr_attr){
                      .addr = bytes, .len = 64, .access = 0xF, .key = 9, .invalidate = true},
                  &mr),
              RNIC_OK);
    CU_ASSERT(rnic_key_invalidate(fixture.pd, fixture.qp, 9));
    CU_ASSERT(!opens(9, 0, 1, 0));
    EXPECT_EQ(rnic_mr_rereg(mr, RNIC_MR_REREG_ACCESS, NULL, &rights), RNIC_OK);
    CU_ASSERT(opens(9, 0, 1, RNIC_ACCESS_REMOTE_READ) == bytes);
    fixture_free(&fixture);
}

/* Regions of more than 4 GiB: offsets and lengths have more than 32 bits, also in packets. */
static void larger_than_4_gib(void)
{
    uint64_t len = UINT64_C(5) << 30;
    uint64_t off = (UINT64_C(1) << 32) + 4096;
    uint8_t *mem =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct roce_pkt pkt;
    struct rnic_mr *mr;

    CU_ASSERT_FATAL(mem != MAP_FAILED);
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(
        reg((struct rnic_mr_attr){.addr = mem, .len = len, .iova = 64, .access = 0xF, .key = 9},
            &mr),
        RNIC_OK);
    CU_ASSERT(opens(9, 64 + len - 1, 1, RNIC_ACCESS_REMOTE_READ) == mem + len - 1);
    CU_ASSERT(!opens(9, 64 + len, 1, RNIC_ACCESS_REMOTE_READ));
    CU_ASSERT(opens(9, 64, len, RNIC_ACCESS_REMOTE_READ) == mem);
    CU_ASSERT(!opens(9, 64, len + 1, RNIC_ACCESS_REMOTE_READ));
    pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, FIXTURE_PSN, 64 + off, 9, 8,
                       fixture.mem, 8);
    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 1);
    EXPECT_EQ(memcmp(mem + off, fixture.mem, 8), 0);
    EXPECT_EQ(mem[4096], 0); /* position that a 32-bit offset would have written */
    fixture_free(&fixture);
    munmap(mem, len);
}

/* A region is deregistered while a message arrives: bytes already written remain, and later packets
 * are refused (R208). */
static void r208_dereg_in_a_write(void)
{
    struct roce_pkt pkt;
    struct rnic_mr *mr;
    uint8_t before[2048];

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(
        reg((struct rnic_mr_attr){.addr = fixture.mem, .len = 4096, .access = 0xF, .key = 9}, &mr),
        RNIC_OK);
    memcpy(before, fixture.mem + 1024, sizeof(before));
    pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_FIRST, FIXTURE_PSN, 0, 9, 3072,
                       fixture.mem + 8192, 1024);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(memcmp(fixture.mem, fixture.mem + 8192, 1024), 0);
    EXPECT_EQ(rnic_mr_dereg(mr), RNIC_OK);
    pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_MIDDLE, FIXTURE_PSN + 1, 0, 9, 3072,
                       fixture.mem + 9216, 1024);
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, FIXTURE_PSN + 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 0);
    EXPECT_EQ(memcmp(before, fixture.mem + 1024, sizeof(before)), 0);
    fixture_free(&fixture);
}

/* The responder drops a duplicate READ if the key was deregistered since the first READ: it sends
 * no data and no NAK (R113, R117, R208). */
static void r113_dereg_then_duplicate_read(void)
{
    struct roce_pkt pkt;
    struct rnic_mr *mr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(
        reg((struct rnic_mr_attr){.addr = fixture.mem, .len = 4096, .access = 0xF, .key = 9}, &mr),
        RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, 0, 9, 8);
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(rnic_mr_dereg(mr), RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, 0, 9, 8);
    fixture_in(&fixture, &pkt);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_RTS);
    fixture_free(&fixture);
}

SUITE("device.mr", TEST(invalid_registrations_are_refused), TEST(address_space_is_a_region),
      TEST(chosen_keys_are_different), TEST(r084_range_check_equals_arithmetic),
      TEST(r207_missing_right_is_refused), TEST(r083_on_the_wire),
      TEST(r208_deregistered_key_is_invalid), TEST(r204_only_permitted_keys_are_invalidated),
      TEST(r209_zero_based_addresses_are_offsets), TEST(optional_access_flags_are_ignored),
      TEST(rereg_applies_to_later_requests), TEST(failed_rereg_keeps_the_region),
      TEST(rereg_makes_an_invalidated_region_valid), TEST(larger_than_4_gib),
      TEST(r208_dereg_in_a_write), TEST(r113_dereg_then_duplicate_read))

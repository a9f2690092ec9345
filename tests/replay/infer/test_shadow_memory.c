/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the shadow memory: the recorded writes show which values a byte of the responder's memory
 * can have had. */
#include "infer/shadow_memory.h"
#include "support/suite.h"

#define VA   UINT64_C(0x1000)
#define RKEY 0x11u

/* Returns whether the first byte of the region never had `value` before request 9 of direction
 * `dir`, a READ. */
static bool never_had(struct shadow_memory *memory, uint32_t dir, uint8_t value)
{
    return shadow_never_had(
        memory, &(struct shadow_view){.dir = dir, .req = 9, .va = VA, .byte = &value, .len = 1});
}

/* Maps a region of 8 bytes and records a WRITE of zeros by direction 0. */
static struct shadow_region *memory_with_a_write(struct shadow_memory *memory)
{
    static const uint8_t zeros[8];
    struct shadow_write write = {
        .dir = 0, .rkey = RKEY, .pkt = 1, .va = VA, .len = 8, .data = zeros};
    struct shadow_region *region;

    shadow_init(memory);
    CU_ASSERT_FATAL(shadow_claim(memory, RKEY, VA, 8, RNIC_ACCESS_REMOTE_WRITE) == 0);
    CU_ASSERT_PTR_NULL_FATAL(shadow_map(memory));
    region = shadow_find(memory, RKEY);
    CU_ASSERT_FATAL(shadow_note_write(memory, region, &write) == 0);
    return region;
}

static void value_that_no_write_stored_never_existed(void)
{
    struct shadow_memory memory;

    memory_with_a_write(&memory);
    CU_ASSERT_TRUE(never_had(&memory, 0, 7));
    CU_ASSERT_FALSE(never_had(&memory, 0, 0));
    CU_ASSERT_FALSE(never_had(&memory, 1, 7)); /* direction 1 wrote nothing */
    shadow_free(&memory);
}

/* The result of an atomic without a captured response depends on the order of the requests of
 * several connections, which the capture does not show. So the result in our RNIC is no
 * evidence. */
static void atomic_without_a_response_may_have_stored_any_value(void)
{
    struct shadow_write atomic = {.dir = 1, .rkey = RKEY, .pkt = 2, .va = VA, .len = 8};
    struct shadow_memory memory;
    struct shadow_region *region = memory_with_a_write(&memory);

    region->image[0] = 5;
    CU_ASSERT(shadow_note_atomic(&memory, region, &atomic) == 0);
    CU_ASSERT_FALSE(never_had(&memory, 0, 7));
    shadow_free(&memory);
}

static void atomic_with_a_response_stored_one_value(void)
{
    struct shadow_write atomic = {
        .dir = 1, .rkey = RKEY, .pkt = 2, .va = VA, .len = 8, .confirmed = true, .value = {6}};
    struct shadow_memory memory;
    struct shadow_region *region = memory_with_a_write(&memory);

    region->image[0] = 5; /* the result in our RNIC, which executed the requests in another order */
    CU_ASSERT(shadow_note_write(&memory, region, &atomic) == 0);
    CU_ASSERT_TRUE(never_had(&memory, 0, 7));
    CU_ASSERT_TRUE(never_had(&memory, 0, 5));
    CU_ASSERT_FALSE(never_had(&memory, 0, 6));
    shadow_free(&memory);
}

/* Atomics change 8 bytes at once. So the value that an atomic found is the whole result of one
 * write, and neither its own result nor the result of a later request of its connection. */
static void atomic_finds_the_whole_result_of_an_earlier_write(void)
{
    struct shadow_write own = {
        .dir = 0, .req = 9, .rkey = RKEY, .va = VA, .len = 8, .confirmed = true, .value = {7, 8}};
    struct shadow_view view = {
        .dir = 0, .req = 9, .atomic = true, .va = VA, .byte = own.value, .len = 8};
    struct shadow_write other = own;
    struct shadow_memory memory;
    struct shadow_region *region = memory_with_a_write(&memory);

    other.dir = 1;
    other.value[1] = 9;
    CU_ASSERT(shadow_note_write(&memory, region, &own) == 0);
    CU_ASSERT(shadow_note_write(&memory, region, &other) == 0);
    CU_ASSERT_TRUE(shadow_never_had(&memory, &view));
    view.atomic = false; /* a READ may read its last bytes after later requests */
    CU_ASSERT_FALSE(shadow_never_had(&memory, &view));
    view.atomic = true;
    other.len = 1; /* a WRITE of one byte left the others as they were */
    CU_ASSERT(shadow_note_write(&memory, region, &other) == 0);
    CU_ASSERT_FALSE(shadow_never_had(&memory, &view));
    shadow_free(&memory);
}

SUITE("replay.shadow_memory", TEST(value_that_no_write_stored_never_existed),
      TEST(atomic_without_a_response_may_have_stored_any_value),
      TEST(atomic_with_a_response_stored_one_value),
      TEST(atomic_finds_the_whole_result_of_an_earlier_write))

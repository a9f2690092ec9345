/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the binary interface on which compiled programs depend: sizes and offsets of structs on
 * x86-64, and symbol versions. Also calls functions that need no device, and compares their results
 * with the results of the system's library.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "support/suite.h"

#if defined(__x86_64__)
static_assert(sizeof(struct ibv_device) == 664, "ibv_device");
static_assert(sizeof(struct ibv_context) == 328, "ibv_context");
/* The struct grows at its front from release to release. Compiled programs count offsets from its
 * end. */
static_assert(sizeof(struct verbs_context) >= 648, "verbs_context");
static_assert(sizeof(struct verbs_context) - offsetof(struct verbs_context, sz) == 336, "sz");
static_assert(sizeof(struct verbs_context) - offsetof(struct verbs_context, context) == 328,
              "verbs_context.context");
static_assert(offsetof(struct ibv_context, abi_compat) == 320, "ibv_context.abi_compat");
static_assert(offsetof(struct ibv_context, ops) == 8, "ibv_context.ops");
static_assert(offsetof(struct ibv_context_ops, alloc_mw) == 56, "alloc_mw");
static_assert(offsetof(struct ibv_context_ops, poll_cq) == 88, "poll_cq");
static_assert(offsetof(struct ibv_context_ops, req_notify_cq) == 96, "req_notify_cq");
static_assert(offsetof(struct ibv_context_ops, post_srq_recv) == 160, "post_srq_recv");
static_assert(offsetof(struct ibv_context_ops, post_send) == 200, "post_send");
static_assert(offsetof(struct ibv_context_ops, post_recv) == 208, "post_recv");
static_assert(sizeof(struct ibv_cq) == 128, "ibv_cq");
static_assert(sizeof(struct ibv_qp) == 160, "ibv_qp");
static_assert(sizeof(struct ibv_srq) == 128, "ibv_srq");
static_assert(sizeof(struct ibv_mr) == 48, "ibv_mr");
static_assert(sizeof(struct ibv_device_attr) == 232, "ibv_device_attr");
static_assert(offsetof(struct ibv_port_attr, port_cap_flags2) <= 50, "the old ibv_port_attr");
#endif

static void *ours, *theirs;

/* Loads our library and the system's library. Because both have one SONAME, they need two linker
 * namespaces. The system's library is loaded into a separate one, because a sanitizer build of our
 * library can only be loaded into the main one. */
static bool load(void)
{
    if (!ours)
        ours = dlopen(OUR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!theirs)
        theirs = dlmopen(LM_ID_NEWLM, "libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    CU_ASSERT(ours != NULL);
    CU_ASSERT(theirs != NULL);
    return ours && theirs;
}

static void strings_of_numbers_match_rdma_core(void)
{
    static const char *const names[] = {"ibv_wc_status_str", "ibv_node_type_str",
                                        "ibv_port_state_str", "ibv_event_type_str"};
    if (!load())
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *(*a)(int), *(*b)(int);
        *(void **)&a = dlsym(ours, names[i]);
        *(void **)&b = dlsym(theirs, names[i]);
        for (int number = -1; number < 30; number++) /* our library may have names for constants
                                                      * that only later releases define */
            if (strcmp(b(number), "unknown") != 0)
                CU_ASSERT_STRING_EQUAL(a(number), b(number));
    }
}

static void rate_conversions_match_rdma_core(void)
{
    static const char *const names[] = {"ibv_rate_to_mult", "mult_to_ibv_rate", "ibv_rate_to_mbps",
                                        "mbps_to_ibv_rate"};
    if (!load())
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int (*a)(int), (*b)(int);
        *(void **)&a = dlsym(ours, names[i]);
        *(void **)&b = dlsym(theirs, names[i]);
        for (int number = -2; number < 1000; number++)
            EXPECT_EQ(a(number), b(number));
        for (int number = 1000; number < 1300000; number += 1)
            if (a(number) != b(number)) {
                EXPECT_EQ(a(number), b(number));
                break;
            }
    }
}

/* Each function exists under each symbol version that a program can request. */
static void every_symbol_has_its_version(void)
{
    static const char *const nodes[] = {"IBVERBS_PRIVATE_34", "IBVERBS_PRIVATE_57",
                                        "IBVERBS_PRIVATE_59", "IBVERBS_PRIVATE_64",
                                        "IBVERBS_PRIVATE_65"};
    if (!load())
        return;
    CU_ASSERT(dlvsym(ours, "ibv_open_device", "IBVERBS_1.1") != NULL);
    CU_ASSERT(dlvsym(ours, "ibv_open_device", "IBVERBS_1.0") != NULL);
    CU_ASSERT(dlvsym(ours, "ibv_open_device", "IBVERBS_1.0") !=
              dlvsym(ours, "ibv_open_device", "IBVERBS_1.1"));
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        CU_ASSERT(dlvsym(ours, "verbs_set_ops", nodes[i]) != NULL);
        CU_ASSERT(dlvsym(ours, "ibv_cmd_create_qp", nodes[i]) != NULL);
    }
    /* A program linked against libibverbs 1.0 (2006) gets no list of devices. */
    void *(*old)(int *);
    *(void **)&old = dlvsym(ours, "ibv_get_device_list", "IBVERBS_1.0");
    CU_ASSERT(old(NULL) == NULL);
}

SUITE("verbs.abi", TEST(strings_of_numbers_match_rdma_core), TEST(rate_conversions_match_rdma_core),
      TEST(every_symbol_has_its_version))

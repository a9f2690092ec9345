/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Abi: further versions of a symbol, beside the one that libibverbs.map gives it. */
#ifndef VERBS_ABI_H
#define VERBS_ABI_H

/* What the assembler calls `name` in version `node`; one @ hides a version, two make the default.
 * In the file that defines `function`. */
#define SYMVER(function, name, at, node) __asm__(".symver " #function ", " #name at node)

/* A name of the private node 34, and under the later ones, where programs built against rdma-core
 * 57 and later look for it. */
#define SYMVER_PRIVATE(function, name)                                                             \
    SYMVER(function, name, "@@", "IBVERBS_PRIVATE_34");                                            \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_57");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_59");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_64");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_65")

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Symbol versions that a function has in addition to its version in libibverbs.map. */
#ifndef VERBS_ABI_H
#define VERBS_ABI_H

/* Exports `function` also as symbol `name` of version `node`. "@" makes the version hidden, "@@"
 * the default. Must be used in the file that defines `function`. */
#define SYMVER(function, name, at, node) __asm__(".symver " #function ", " #name at node)

/* Exports a private function in the version IBVERBS_PRIVATE_34, and in the later versions in which
 * programs built against rdma-core 57 and later search it. */
#define SYMVER_PRIVATE(function, name)                                                             \
    SYMVER(function, name, "@@", "IBVERBS_PRIVATE_34");                                            \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_57");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_59");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_64");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_65")

#endif

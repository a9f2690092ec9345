/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Symbol versions in addition to the one that libibverbs.map gives a symbol. */
#ifndef VERBS_ABI_H
#define VERBS_ABI_H

/* Gives `function` the additional name `name` in version `node`; "@" makes the version hidden, "@@"
 * the default. Use it in the file that defines `function`. */
#define SYMVER(function, name, at, node) __asm__(".symver " #function ", " #name at node)

/* Exports a private name under node 34, and under the later nodes, where programs built against
 * rdma-core 57 and later search it. */
#define SYMVER_PRIVATE(function, name)                                                             \
    SYMVER(function, name, "@@", "IBVERBS_PRIVATE_34");                                            \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_57");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_59");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_64");                                             \
    SYMVER(function, name, "@", "IBVERBS_PRIVATE_65")

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Position: a place in the request stream of one connection: PSNs consumed before it since the
 * connection began. 64 bits, so that nothing that works with positions ever wraps or is ambiguous
 * (R062); only what stands on the wire is a PSN.
 */
#ifndef RNIC_POS_H
#define RNIC_POS_H

#include "wire/psn.h"

typedef uint64_t rnic_pos;

/* The PSN at `pos` of a connection whose first is `first`. */
static inline roce_psn rnic_pos_psn(roce_psn first, rnic_pos pos)
{
    return roce_psn_add(first, (int32_t)(pos & ROCE_PSN_MASK));
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Position: number of PSNs that a connection consumed before a packet. A position has 64 bits, so
 * it never wraps and is never ambiguous (R062). Packets carry PSNs, not positions. */
#ifndef RNIC_POS_H
#define RNIC_POS_H

#include "wire/psn.h"

typedef uint64_t rnic_pos;

/* Returns the PSN at position `pos` of a connection with the first PSN `first`. */
static inline roce_psn rnic_pos_psn(roce_psn first, rnic_pos pos)
{
    return roce_psn_add(first, (int32_t)(pos & ROCE_PSN_MASK));
}

#endif

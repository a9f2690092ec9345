/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connection pairs: finds which connections of two captures of the same traffic correspond. QP
 * numbers and the order of the connections differ from run to run, so they are no evidence. Used by
 * baseline.c.
 *
 * Two connections are a pair if one of these conditions holds. The conditions are applied in this
 * order. If several connections meet a condition, the one with the lowest number is chosen:
 *
 *   1. same service, same addresses, same number of messages and bytes
 *   2. same service, same addresses
 *   3. same service, same number of messages and bytes
 */
#ifndef REPLAY_CHECK_BASE_CONN_PAIRS_H
#define REPLAY_CHECK_BASE_CONN_PAIRS_H

#include "flow/flow.h"

#define CONN_PAIRS_NONE UINT32_MAX /* no counterpart */

struct conn_key {
    enum roce_svc svc;
    bool gsi;            /* the connection has packets of QP1 */
    uint8_t addr[2][16]; /* both addresses, the lower one first */
    uint64_t messages, bytes;
};

/* Sets the service and the addresses of a key. */
void conn_key_init(struct conn_key *key, const struct roce_conn_summary *sum);

/* Pairs the connections of two captures. `old` and `new` are sorted by connection number. For each
 * connection of `new`, sets `partner` to the index of its partner in `old`, or to CONN_PAIRS_NONE.
 * Returns 0, or -1 if out of memory. */
int conn_pairs_find(const struct conn_key *old, uint32_t old_cnt, const struct conn_key *new,
                    uint32_t new_cnt, uint32_t *partner);

#endif

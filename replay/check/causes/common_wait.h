/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Common wait: the wait and the hosts that several slow connections of a capture have in common.
 * The reports of check print this wait before the connections.
 */
#ifndef REPLAY_CHECK_CAUSES_COMMON_WAIT_H
#define REPLAY_CHECK_CAUSES_COMMON_WAIT_H

#include "check/causes/wait_cause.h"
#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Slow connections, counted by their longest wait. A zero-initialized object has no connection. */
struct common_wait {
    struct {
        uint64_t conns;            /* number of connections that waited longest for this cause */
        uint8_t from[16], to[16];  /* requester and responder of the first connection */
        bool other_from, other_to; /* a later connection has another requester or responder */
    } by[WAIT_CAUSES];
};

/* Adds a slow connection. */
void common_wait_add(struct common_wait *common, const struct roce_conn_summary *sum);

/* Appends the text `before`, then the wait that was most often the longest wait of a slow
 * connection, and the hosts that these connections have in common. `slow`: number of slow
 * connections. Appends nothing if this wait was the longest of fewer than 2 slow connections, or of
 * less than half of them. */
void common_wait_text(struct strbuf *t, const char *before, const struct common_wait *common,
                      uint64_t slow);

#endif

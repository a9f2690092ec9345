/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Request table: the requests of a direction by PSN, as a responder executes them. It shows where
 * messages begin, which bytes each packet writes or requests, and which packets a responder must
 * refuse.
 */
#ifndef REPLAY_INFER_REQUEST_TABLE_H
#define REPLAY_INFER_REQUEST_TABLE_H

#include "infer/packet_log.h"

/* Fills setup->req with the request packets in PSN order, up to the first packet that is missing or
 * cannot be executed. Call after setup->event and setup->mtu were set. Sets `*gap` to the relative
 * PSN of the missing packet, or to GAP_NONE. Returns false if out of memory. */
bool request_table_build(struct inferred_setup *setup, int64_t *gap);

/* Returns the request packet that has PSN `rel`, or NULL. Searches all request packets;
 * request_at() returns the same packet faster. */
const struct request_pkt *request_search(const struct inferred_setup *setup, int64_t rel);

/* Returns the request packet that has PSN `rel`, or NULL. */
static inline const struct request_pkt *request_at(const struct inferred_setup *setup, int64_t rel)
{
    const struct request_pkt *req = setup->req;
    uint64_t idx = setup->req_cnt ? (uint64_t)rel - (uint64_t)req[0].rel : 0;

    /* In a direction of SENDs and WRITEs only, each PSN is one request packet, so no search is
     * needed. */
    if (idx < setup->req_cnt && req[idx].rel == rel)
        return &req[idx];
    return request_search(setup, rel);
}

/* Returns the last request packet with a PSN of at most `rel`, or NULL. */
const struct request_pkt *request_at_or_before(const struct inferred_setup *setup, int64_t rel);

/* Returns the MSN of a responder that has executed all requests up to PSN `rel`. */
uint32_t request_table_msn(const struct inferred_setup *setup, int64_t rel);

/* Returns whether the MSN of a response agrees with its PSN: both show the same number of executed
 * messages. */
bool request_table_msn_fits(const struct inferred_setup *setup, uint32_t event);

#endif

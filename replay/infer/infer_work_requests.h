/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Infer work requests: the work requests that a recorded requester must have posted, one for each
 * captured message, in PSN order. For each work request, `posted_by` is the packet before which
 * the requester posted it.
 */
#ifndef REPLAY_INFER_INFER_WORK_REQUESTS_H
#define REPLAY_INFER_INFER_WORK_REQUESTS_H

#include "infer/infer_setup.h"

/* Longest time, ns, from a NAK that stops the requester to a request that the requester sent before
 * it processed that NAK. A busy requester was measured at 5 ms; the network may delay the NAK. */
#define CROSSED_NS UINT64_C(1000000000)

struct work_request {
    int64_t rel;        /* relative PSN of the first packet (packet_log.h) */
    uint32_t cnt;       /* number of PSNs */
    uint32_t event;     /* index into setup.event of the first undamaged copy of the first packet */
    uint32_t posted_by; /* index into setup.event of the packet before which the requester posted
                         * the work request */
    uint32_t part;      /* index into work_requests.part of the first packet's event; the message
                         * has `part_cnt` events */
    uint32_t part_cnt;
    bool open;    /* the capture lacks the end of the message */
    uint32_t len; /* bytes sent, or requested by a READ. Open message: bytes of the captured packets
                   * plus 1, so that our requester sends these packets as First and Middle */
    uint32_t cut; /* open WRITE: number of bytes that its RETH announces beyond `len` */
    enum roce_kind kind;
};

struct work_requests {
    const struct inferred_setup *setup;
    struct work_request *wr;
    size_t cnt;
    size_t cap;
    uint32_t *part; /* indices into setup.event of the packets of all work requests */
    size_t part_cnt;
    size_t part_cap;
    int64_t end;        /* relative PSN after the last PSN that is replayed */
    uint32_t after_gap; /* number of captured requests that follow a gap in the PSNs, and are not
                         * replayed */
    const char *skip;   /* reason why the work requests cannot be posted, or NULL */
};

/* Infers the work requests of a direction. Returns 0, with wrs->skip set if they cannot be posted,
 * or -1 if out of memory. Call work_requests_free() in both cases. */
int infer_work_requests(struct work_requests *wrs, const struct inferred_setup *setup);
void work_requests_free(struct work_requests *wrs);

/* Returns the work request that has PSN `rel`, or NULL. */
const struct work_request *work_request_at(const struct work_requests *wrs, int64_t rel);

/* Returns the distance of PSN `rel` from the first PSN replayed, or -1 if `rel` is not replayed. */
static inline int64_t work_requests_psn_idx(const struct work_requests *wrs, int64_t rel)
{
    return rel >= wrs->setup->first && rel < wrs->end ? rel - wrs->setup->first : -1;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Work: the work requests that a recorded requester must have posted, one for each message whose
 * packets the capture shows, in the order of their PSNs, and when at the latest each was posted.
 */
#ifndef REPLAY_INFER_INFER_WORK_REQUESTS_H
#define REPLAY_INFER_INFER_WORK_REQUESTS_H

#include "infer/infer_setup.h"

struct work_request {
    int64_t rel;        /* of its first PSN */
    uint32_t cnt;       /* PSNs it takes */
    uint32_t event;     /* its first packet: the first copy with a right form */
    uint32_t posted_by; /* step before which it was posted */
    uint32_t part;      /* its packets: works.part[part .. part + part_cnt) */
    uint32_t part_cnt;
    bool open;    /* the capture ends before its last packet */
    uint32_t len; /* bytes sent, or requested by a READ; of an open SEND, those seen and 1 */
    enum roce_kind kind;
};

struct work_requests {
    const struct inferred_setup *setup;
    struct work_request *wr;
    size_t cnt;
    size_t cap;
    uint32_t *part; /* events */
    size_t part_cnt;
    size_t part_cap;
    int64_t end;        /* rel after the last PSN that is replayed */
    uint32_t after_gap; /* requests with later PSNs: the capture lacks one before them */
    const char *skip;   /* why nothing can be posted, or NULL */
};

/* 0 with works->skip possibly set, or -1 without memory. work_requests_free() is to be called in
 * both cases. */
int infer_work_requests(struct work_requests *wrs, const struct inferred_setup *setup);
void work_requests_free(struct work_requests *wrs);

/* The work that takes PSN `rel`, or NULL. */
const struct work_request *work_request_at(const struct work_requests *wrs, int64_t rel);

/* PSN `rel` counted from the first one replayed, or -1 if it is not among these. */
static inline int64_t work_requests_psn_idx(const struct work_requests *wrs, int64_t rel)
{
    return rel >= wrs->setup->first && rel < wrs->end ? rel - wrs->setup->first : -1;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Work: the work requests that a recorded requester must have posted, one for each message whose
 * packets the capture shows, in the order of their PSNs, and when at the latest each was posted.
 */
#ifndef REPLAY_INFER_INFER_WORK_REQUESTS_H
#define REPLAY_INFER_INFER_WORK_REQUESTS_H

#include "infer/infer_setup.h"

struct work {
    int64_t rel;   /* of its first PSN */
    uint32_t cnt;  /* PSNs it takes */
    uint32_t step; /* its first packet: the first copy with a right form */
    uint32_t post; /* step before which it was posted */
    uint32_t part; /* its packets: works.part[part .. part + part_cnt) */
    uint32_t part_cnt;
    bool open;    /* the capture ends before its last packet */
    uint32_t len; /* bytes sent, or asked for by a READ; of an open SEND, those seen and 1 */
    enum roce_kind kind;
};

struct works {
    const struct setup *setup;
    struct work *work;
    size_t cnt;
    size_t cap;
    uint32_t *part; /* steps */
    size_t part_cnt;
    size_t part_cap;
    int64_t end;      /* rel after the last PSN that is replayed */
    uint32_t beyond;  /* requests with later PSNs: the capture lacks one before them */
    const char *skip; /* why nothing can be posted, or NULL */
};

/* 0 with works->skip possibly set, or -1 without memory. works_free() is wanted in both cases. */
int works_derive(struct works *works, const struct setup *setup);
void works_free(struct works *works);

/* The work that takes PSN `rel`, or NULL. */
const struct work *works_find(const struct works *works, int64_t rel);

/* PSN `rel` counted from the first one replayed, or -1 if it is not among these. */
static inline int64_t works_psn_idx(const struct works *works, int64_t rel)
{
    return rel >= works->setup->first && rel < works->end ? rel - works->setup->first : -1;
}

#endif

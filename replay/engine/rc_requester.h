/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Post: the other side of drive.h. Software RNICs stand where the recorded requesters stood: the
 * work requests of work.h are posted to them, and the recorded responders' answers come back, byte
 * for byte, in the order of the capture. What the RNICs send and complete is kept.
 *
 * Time is the capture's, but for one thing: a timer of ours fires when the recorded requester sends
 * again and ours has not, and only then. So a capture of any pace can be replayed, and when a
 * requester gives up waiting is left to the judge of the capture.
 */
#ifndef REPLAY_ENGINE_RC_REQUESTER_H
#define REPLAY_ENGINE_RC_REQUESTER_H

#include "engine/rc_responder.h"
#include "infer/infer_work_requests.h"

/* One packet that our RNIC sent. */
struct sent {
    int64_t rel;
    uint32_t step; /* of the side: after which one it was sent */
    uint32_t psn;
    uint32_t dest_qp;
    uint32_t payload_len;
    uint32_t imm; /* ImmDt, or the key of an IETH */
    uint64_t va;  /* RETH or AtomicETH; and so on */
    uint32_t rkey;
    uint32_t dma_len;
    uint64_t swap_add;
    uint64_t compare;
    uint64_t hash; /* of the payload */
    uint8_t flush_type;
    uint8_t flush_level;
    uint32_t srqn; /* XRC */
    uint16_t pkey;
    uint8_t opcode;
    bool se;
    bool ackreq;
    bool again; /* its PSN had been sent before */
    bool used;  /* for the comparison: a recorded request was matched with it */
};

/* What there is to know of a request that was sent after step `step`; not whether it was sent
 * before.
 */
struct sent post_sent(const struct roce_pkt *pkt, const struct setup *setup, uint32_t step);

struct asker;

/* Notes a packet that was sent after step `step`. `times`, of works_psn_idx(), counts how often
 * each PSN was. 0, or -1 without memory. */
int post_take(struct asker *asker, const struct roce_pkt *pkt, uint32_t step, uint16_t *times);

/* One completion of ours. */
struct done {
    uint32_t step; /* after which one */
    uint32_t work; /* index into works.work */
    enum rnic_wc_status status;
};

/* What the recorded requester made of an answer. */
enum answer_fate {
    FATE_TAKEN,
    FATE_EARLY,  /* it answers what was sent before the first message replayed */
    FATE_LOST,   /* it was captured, but what the requester did next shows that it never came */
    FATE_BEYOND, /* it answers what is not replayed */
    FATE_UNASKED /* data that no READ in the capture can have drawn: it lacks one */
};

/* What a recorded request is, beside being sent for the first time. */
enum restart {
    RESTART_NONE,
    RESTART_AGAIN,    /* sent again, after the one before it */
    RESTART_BEGINS,   /* sent again: here the requester went back */
    RESTART_DUPLICATE /* the wire shows it twice */
};

struct asker {
    const struct run *run; /* the same connection, the other way round */
    struct works works;
    const char *failed; /* why it cannot be replayed, or NULL */
    uint8_t *fate;      /* enum answer_fate for each step that is an answer */
    uint8_t *restart;   /* enum restart for each step that is a request */
    struct sent *sent;  /* in order */
    size_t sent_cnt;
    size_t sent_cap;
    struct done *done; /* in order */
    size_t done_cnt;
    size_t done_cap;
    uint32_t *mark_sent; /* for each step: sent_cnt after it */
    uint32_t doubt_step; /* from here on ours may know less: FATE_UNASKED, or FATE_LOST although it
                          * may have been on its way; or STEP_NONE */
    uint32_t error_step; /* step at which our QP went to the error state, or STEP_NONE */
    uint32_t wrong_data; /* works whose READ or atomic result is not what the answers had */
    uint32_t wrong_work; /* the first of them */
    uint32_t other_payload; /* requests with other payload, which the user says is free */
    bool unseen;            /* nobody tells what it completes: a far program has it */
};

struct post {
    struct asker *asker; /* one for each run of the drive */
    size_t cnt;
};

/* Posts and plays all runs, which are derived; nothing that drive_play() makes is looked at. 0, or
 * -1 and an error. post_free() is wanted in both cases. */
int post_all(struct post *post, const struct drive *drive, struct error *error);
void post_free(struct post *post);

#endif

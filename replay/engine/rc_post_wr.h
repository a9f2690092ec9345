/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Post work request: posts a message of infer_work_requests.h to our RNIC, with the buffer and the
 * memory region that it needs until it completes.
 */
#ifndef REPLAY_ENGINE_RC_POST_WR_H
#define REPLAY_ENGINE_RC_POST_WR_H

#include "device/rnic.h"
#include "infer/infer_work_requests.h"

struct posted_wr {
    uint8_t *data; /* bytes to send, or buffer for a READ or atomic; NULL if there are none */
    struct rnic_mr *mr;
};

/* Posts work request `idx`, signaled, with `idx` as its wr_id and the bytes that its packets
 * show. Returns what rnic_post_send() returns, or RNIC_ERR_NOMEM. Call posted_wr_free() in all
 * cases. */
int rc_post_wr(struct posted_wr *posted, const struct work_requests *wrs, size_t idx,
               struct rnic_pd *pd, struct rnic_qp *qp);

/* Frees the buffer and the region. */
void posted_wr_free(struct posted_wr *posted);

/* Returns the length of its buffer. */
uint32_t work_request_buffer_len(const struct work_request *wr);

/* Returns whether its response stores bytes in the buffer: READ and atomics. */
bool work_request_fetches(const struct work_request *wr);

/* Returns the verbs operation of a message whose last packet has this opcode. */
enum rnic_wr_opcode rc_post_wr_opcode(const struct roce_opcode *op);

#endif

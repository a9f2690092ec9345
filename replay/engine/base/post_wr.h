/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Post work request: posts a work request of infer_work_requests.h to our RNIC. Its buffer and
 * memory region exist until posted_wr_free().
 */
#ifndef REPLAY_ENGINE_BASE_POST_WR_H
#define REPLAY_ENGINE_BASE_POST_WR_H

#include "device/rnic.h"
#include "infer/infer_work_requests.h"

struct posted_wr {
    uint8_t
        *data; /* bytes to send, or buffer for the result of a READ or atomic; NULL for 0 bytes */
    struct rnic_mr *mr;
};

/* Posts work request `idx`, signaled, with wr_id `idx` and the bytes that the recorded packets
 * show. Returns the result of rnic_post_send(), or RNIC_ERR_NOMEM. Call posted_wr_free() in all
 * cases. */
int post_wr(struct posted_wr *posted, const struct work_requests *wrs, size_t idx,
            struct rnic_pd *pd, struct rnic_qp *qp);

/* Frees the buffer and the memory region of a posted work request. */
void posted_wr_free(struct posted_wr *posted);

uint32_t work_request_buffer_len(const struct work_request *wr);

/* Returns whether a work request is a READ or an atomic: its response stores bytes in its
 * buffer. */
bool work_request_fetches(const struct work_request *wr);

/* Returns the verbs operation of a message from `op`, the opcode of its last packet. */
enum rnic_wr_opcode post_wr_opcode(const struct roce_opcode *op);

#endif

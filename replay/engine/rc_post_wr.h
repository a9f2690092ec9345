/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Posted: a work of infer_work_requests.h as a work request of an RNIC, with the buffer and the
 * region that it needs until it completes.
 */
#ifndef REPLAY_ENGINE_RC_POST_WR_H
#define REPLAY_ENGINE_RC_POST_WR_H

#include "device/rnic.h"
#include "infer/infer_work_requests.h"

struct posted_wr {
    uint8_t *data; /* what is sent, or where what is fetched goes; NULL if it takes no bytes */
    struct rnic_mr *mr;
};

/* Posts work `idx`, signaled and with its index as wr_id; a message goes out with the bytes that
 * its packets show. As rnic_post_send(), or RNIC_ERR_NOMEM. posted_wr_free() is wanted in any case.
 */
int rc_post_wr(struct posted_wr *posted, const struct work_requests *wrs, size_t idx,
               struct rnic_pd *pd, struct rnic_qp *qp);

/* Frees buffer and region. */
void posted_wr_free(struct posted_wr *posted);

/* Bytes of its buffer. */
uint32_t work_request_buffer_len(const struct work_request *wr);

/* Whether its answer brings bytes into the buffer: READ and atomics. */
bool work_request_fetches(const struct work_request *wr);

/* The operation of a message whose last packet has this opcode. */
enum rnic_wr_opcode rc_post_wr_opcode(const struct roce_opcode *op);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Raw packets: a message is a whole Ethernet frame without FCS, on the queues of a requester and a
 * responder. Called by the device. IBTA has no such service: this is IBV_QPT_RAW_PACKET of
 * ibv_create_qp(3). A frame completes when it is sent. A receiver drops a frame for which it has no
 * receive WQE, or whose receive buffer is too short, and counts it.
 */
#ifndef RNIC_RAW_H
#define RNIC_RAW_H

#include "transport/requester.h"
#include "transport/responder.h"

#define RNIC_RAW_MIN 14u            /* shortest frame: its Ethernet header, bytes */
#define RNIC_RAW_MAX ROCE_FRAME_MAX /* longest frame that can be sent, bytes */

/* Returns whether rnic_raw_post() would accept *wr, that is, not return INVALID. */
bool rnic_raw_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Posts a SEND of a frame, as rnic_requester_post(). Returns INVALID also for a length outside of
 * RNIC_RAW_MIN..RNIC_RAW_MAX. */
enum rnic_sq_post rnic_raw_post(struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Copies the next frame to `buf`, which has room for RNIC_RAW_MAX bytes, and completes its WQE.
 * Returns the length of the frame; 0 if no frame can be sent. */
size_t rnic_raw_output(struct rnic_requester *req, uint8_t *buf);

/* Copies a received frame to the oldest receive WQE and completes it. */
void rnic_raw_input(struct rnic_responder *resp, const uint8_t *frame, uint32_t len);

#endif

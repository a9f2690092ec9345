/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Raw packets: the service of IBV_QPT_RAW_PACKET in ibv_create_qp(3), which IBTA does not define. A
 * message is a whole Ethernet frame without FCS. The service uses the send queue of a requester and
 * the receive queue of a responder. The device calls these functions.
 *
 * A frame completes when it is sent. A receiver drops and counts a frame that finds no receive WQE,
 * or whose receive buffer is too short.
 */
#ifndef RNIC_RAW_H
#define RNIC_RAW_H

#include "transport/requester.h"
#include "transport/responder.h"

#define RNIC_RAW_MIN 14u            /* shortest frame: its Ethernet header, bytes */
#define RNIC_RAW_MAX ROCE_FRAME_MAX /* longest frame that can be sent, bytes */

/* Returns whether *wr is valid for rnic_raw_post(). Does not check whether the queue is full. */
bool rnic_raw_accepts(const struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Posts a SEND of a frame, in the same way as rnic_requester_post(). Returns INVALID also for a
 * length outside of RNIC_RAW_MIN..RNIC_RAW_MAX. */
enum rnic_sq_post rnic_raw_post(struct rnic_requester *req, const struct rnic_send_wr *wr);

/* Copies the next frame to `buf`, which has room for RNIC_RAW_MAX bytes, and completes its WQE.
 * Returns the length of the frame; 0 if no frame can be sent. */
size_t rnic_raw_output(struct rnic_requester *req, uint8_t *buf);

/* Copies a received frame to the oldest receive WQE and completes it. */
void rnic_raw_input(struct rnic_responder *resp, const uint8_t *frame, uint32_t len);

#endif

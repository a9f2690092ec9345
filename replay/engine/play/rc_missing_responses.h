/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Missing responses: finds READ responses and Atomic ACKs that the recorded requester received but
 * the capture lacks. A requester retransmits a READ or atomic until it has received all responses.
 * So if a later response was captured and the requester did not retransmit, the requester had
 * received the missing response. The network may also delay a response so that it arrives after the
 * requester retransmitted the request. If the responder refuses that retransmission and the
 * requester continues with later PSNs, the requester received the response before the NAK.
 *
 * rc_requester.c calls missing_responses_find() before the replay, and missing_response_make()
 * during the replay. Our RNIC then receives a response with the data of an earlier response, or
 * with zeros. So it completes the same work requests as the recorded requester.
 */
#ifndef REPLAY_ENGINE_PLAY_RC_MISSING_RESPONSES_H
#define REPLAY_ENGINE_PLAY_RC_MISSING_RESPONSES_H

#include "engine/play/rc_requester.h"

/* Finds the missing responses of a direction. Call after classify_retransmissions(). Returns 0, or
 * -1 if out of memory. */
int missing_responses_find(struct requester_run *run);

/* Makes the packet of a missing response. `like` is a buffer of ROCE_FRAME_MAX bytes in which the
 * frame is made; *pkt then points to it. Returns false if the packet cannot be made. */
bool missing_response_make(const struct requester_run *run, const struct missing_response *missing,
                           uint8_t *like, struct roce_pkt *pkt);

#endif

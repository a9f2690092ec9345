/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Talk: builds a conversation between an RC requester and an RC responder packet by packet, as a
 * capture would show it. Each call that adds a packet returns its frame number. Frame numbers
 * start at 1, as in replay reports.
 */
#ifndef TEST_TALK_H
#define TEST_TALK_H

#include <stdint.h>
#include "capture.h"

/* R_Key in the IETH of a SEND with Invalidate. */
#define TALK_RKEY 0x1234u

struct talk {
    struct capture capture;
    enum roce_encap encap;
    unsigned vlans;
    uint32_t requester_qp;
    uint32_t responder_qp;
    uint64_t time;
};

/* Starts an empty conversation: RoCEv2 over IPv4, requester QPN 0x11, responder QPN 0x22. */
void talk_init(struct talk *talk);
void talk_free(struct talk *talk);

/* talk_packet() initializes `pkt` with roce_pkt_init() and addresses it to the responder or to the
 * requester. talk_add() appends a packet to the conversation. */
void talk_packet(const struct talk *talk, struct roce_pkt *pkt, uint8_t opcode, uint32_t psn,
                 bool to_responder);
uint32_t talk_add(struct talk *talk, const struct roce_pkt *pkt);

/* Append a request. `seed` selects the pattern of the payload bytes. */
uint32_t talk_send(struct talk *talk, uint8_t opcode, uint32_t psn, uint32_t len, uint8_t seed);
uint32_t talk_write(struct talk *talk, uint8_t opcode, uint32_t psn, uint64_t va, uint32_t rkey,
                    uint32_t dma_len, uint32_t len, uint8_t seed);
uint32_t talk_read(struct talk *talk, uint32_t psn, uint64_t va, uint32_t rkey, uint32_t len);
uint32_t talk_atomic(struct talk *talk, uint8_t opcode, uint32_t psn, uint64_t va, uint32_t rkey,
                     uint64_t swap_add, uint64_t compare);

/* Append a response of the responder. */
uint32_t talk_ack(struct talk *talk, uint32_t psn, uint8_t syndrome, uint32_t msn);
uint32_t talk_read_resp(struct talk *talk, uint8_t opcode, uint32_t psn, uint32_t msn, uint32_t len,
                        uint8_t seed);
uint32_t talk_atomic_ack(struct talk *talk, uint32_t psn, uint32_t msn, uint64_t orig);

/* Sets the IPv4 identifications: they increase by 1 with each packet of a host. If `lost` is not 0,
 * the host sent one more packet just before frame `lost`, which the capture lacks. */
void talk_number(struct talk *talk, uint32_t lost);

/* Initializes a conversation with every operation, from PSN `psn`. Comments in its body name the
 * frame numbers. */
void talk_whole(struct talk *talk, uint32_t psn);

/* Replays the conversation with the known deviations of profile `peer`, or none if NULL. Returns
 * 0. If the replay cannot run, fails the test and returns another value. Call replay_free() on
 * *replay in both cases. */
int talk_replay(const struct talk *talk, struct replay *replay, const char *peer);

/* Asserts that the replay fails with a difference in this frame and field. */
void talk_expect_diff(const struct talk *talk, const char *peer, uint32_t frame, const char *field);

/* Asserts the verdict of a replay and its number of directions, or that nothing can be replayed for
 * a reason with these words. Both free the conversation. */
void talk_expect_verdict(struct talk *talk, enum verdict verdict, uint32_t directions);
void talk_expect_skip(struct talk *talk, const char *words);

#endif

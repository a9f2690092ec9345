/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Talk: a conversation of an RC requester and a responder, packet by packet, as a capture would
 * have it. Frames are numbered from 1 as replay reports them; each call returns the number of its
 * frame.
 */
#ifndef TEST_TALK_H
#define TEST_TALK_H

#include <stdint.h>
#include "capture.h"

/* The key that a SEND with Invalidate names. */
#define TALK_RKEY 0x1234u

struct talk {
    struct capture capture;
    enum roce_encap encap;
    unsigned vlans;
    uint32_t requester_qp;
    uint32_t responder_qp;
    uint64_t time;
};

/* Encapsulation V2 over IPv4, QPs 0x11 and 0x22. */
void talk_init(struct talk *talk);
void talk_free(struct talk *talk);

/* A packet as roce_pkt_init() leaves it, addressed to the responder or to the requester. */
void talk_packet(const struct talk *talk, struct roce_pkt *pkt, uint8_t opcode, uint32_t psn,
                 bool to_responder);
uint32_t talk_add(struct talk *talk, const struct roce_pkt *pkt);

/* Requests. Payload bytes are a pattern of `seed`. */
uint32_t talk_send(struct talk *talk, uint8_t opcode, uint32_t psn, uint32_t len, uint8_t seed);
uint32_t talk_write(struct talk *talk, uint8_t opcode, uint32_t psn, uint64_t va, uint32_t rkey,
                    uint32_t dma_len, uint32_t len, uint8_t seed);
uint32_t talk_read(struct talk *talk, uint32_t psn, uint64_t va, uint32_t rkey, uint32_t len);
uint32_t talk_atomic(struct talk *talk, uint8_t opcode, uint32_t psn, uint64_t va, uint32_t rkey,
                     uint64_t swap_add, uint64_t compare);

/* Answers. */
uint32_t talk_ack(struct talk *talk, uint32_t psn, uint8_t syndrome, uint32_t msn);
uint32_t talk_read_resp(struct talk *talk, uint8_t opcode, uint32_t psn, uint32_t msn, uint32_t len,
                        uint8_t seed);
uint32_t talk_atomic_ack(struct talk *talk, uint32_t psn, uint32_t msn, uint64_t orig);

/* Replays what was said, with a --quirks or NULL. Not 0, and the test has failed, if that cannot
 * be; *replay is the caller's to free in any case. */
int talk_replay(const struct talk *talk, struct replay *replay, const char *peer);

/* The replay fails with a difference in this frame and field. */
void talk_expect_diff(const struct talk *talk, const char *peer, uint32_t frame, const char *field);

#endif

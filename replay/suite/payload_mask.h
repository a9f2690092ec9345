/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Payload mask: combines every payload byte of a capture with a secret byte, the mask, by XOR. The
 * payload is then unreadable, but a replay has the same result. A byte of memory has the same mask
 * for every connection and R_Key. A retransmitted packet has the same masks as the first
 * transmission. Words that atomics access are not masked, because a replay computes with their
 * values.
 *
 * SipHash-2-4 (Aumasson, Bernstein 2012) computes the masks from a key, which is then discarded.
 * The mask of a byte of memory does not change with its value. So a reader who knows the value of a
 * byte at one time can compute its value at all times.
 */
#ifndef REPLAY_SUITE_PAYLOAD_MASK_H
#define REPLAY_SUITE_PAYLOAD_MASK_H

#include "engine/play/rc_responder.h"

/* Determines the masks of a packet's payload. If `memory` is true (READ or WRITE data), the masks
 * depend on the address `va` in the memory of the responder host `device`. Otherwise they depend on
 * the packet. */
struct masked_place {
    bool memory;
    uint32_t device; /* index into session.host */
    uint64_t va;
};

struct payload_masks {
    uint64_t key[2];
    const struct session *drive;
    struct masked_place *place; /* one element for each packet of the trace */
    struct keymap counters;     /* set of the 8-byte words that atomics access. Key: host, and
                                 * address / 8 */
};

/* Finds the memory address of each payload and chooses a random key. Returns 0, or -1 if out of
 * memory or if the system provides no random bytes. Call payload_masks_free() in both cases. */
int payload_masks_make(struct payload_masks *masks, const struct session *session);
void payload_masks_free(struct payload_masks *masks);

/* Masks `len` bytes of the payload of packet `pkt`. `off`: offset of the first of them in the
 * payload. A second call restores the bytes. */
void payload_mask_packet(const struct payload_masks *masks, uint32_t pkt, uint32_t off,
                         uint8_t *bytes, uint32_t len);

/* Masks bytes that are not payload, for example private data of CM. `a` and `b` determine the
 * masks. A second call with the same `a` and `b` restores the bytes. */
void payload_mask_other(const struct payload_masks *masks, uint64_t a, uint64_t b, uint8_t *bytes,
                        uint32_t len);

#endif

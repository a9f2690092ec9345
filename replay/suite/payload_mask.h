/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Masks: for every payload byte of a capture a secret byte to combine it with, so that nobody can
 * read it any more and what a replay compares is as before: a byte of memory has the same mask
 * whenever and through whichever connection or key it is written or read, a packet sent again the
 * same as before. Words that atomics use keep their values, for they are counted with.
 *
 * Masks come from SipHash-2-4 (Aumasson, Bernstein 2012) with a key that is forgotten. What stands
 * at one place at different times has one mask: who knows one of the values knows the others.
 */
#ifndef REPLAY_SUITE_PAYLOAD_MASK_H
#define REPLAY_SUITE_PAYLOAD_MASK_H

#include "engine/rc_responder.h"

/* Where the payload of a packet goes to or comes from. */
struct masked_place {
    bool memory;
    uint32_t device; /* of the drive */
    uint64_t va;
};

struct payload_masks {
    uint64_t key[2];
    const struct session *drive;
    struct masked_place *place; /* for each packet of the trace */
    struct keymap counters;     /* words that atomics use: device and address / 8 */
};

/* 0, or -1 without memory or randomness. payload_masks_free() is wanted in both cases. */
int payload_masks_make(struct payload_masks *masks, const struct session *session);
void payload_masks_free(struct payload_masks *masks);

/* Combines `len` bytes from offset `off` of packet `pkt`'s payload with their masks. Twice gives
 * what was there. */
void payload_mask_packet(const struct payload_masks *masks, uint32_t pkt, uint32_t off,
                         uint8_t *bytes, uint32_t len);

/* The same for other bytes, told apart by two numbers. */
void payload_mask_other(const struct payload_masks *masks, uint64_t a, uint64_t b, uint8_t *bytes,
                        uint32_t len);

#endif

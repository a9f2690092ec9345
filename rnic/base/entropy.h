/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Entropy: the device's unpredictable numbers, from which keys and QPNs are drawn. The key stream
 * of ChaCha20 (RFC 8439) under the caller's seed: whoever sees some numbers cannot tell the next,
 * and the same seed gives the same device.
 */
#ifndef RNIC_ENTROPY_H
#define RNIC_ENTROPY_H

#include <stdint.h>

struct rnic_entropy {
    uint8_t seed[32];
    uint32_t block;    /* counter of the next block */
    uint32_t word[16]; /* the present block */
    unsigned left;     /* words of it not yet given out */
};

void rnic_entropy_init(struct rnic_entropy *entropy, const uint8_t seed[32]);

/* The next 32 bits. After 2^32 blocks the stream would repeat; no device draws so many. */
uint32_t rnic_entropy_u32(struct rnic_entropy *entropy);

/* The ChaCha20 block function of RFC 8439, 2.3; for the test of its vectors. */
void rnic_chacha20_block(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12],
                         uint32_t out[16]);

#endif

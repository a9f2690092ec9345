/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/entropy.h"

#include <string.h>
#include "wire/bytes.h"

static uint32_t rotl(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

/* RFC 8439, 2.1. */
static void quarter_round(uint32_t *s, unsigned a, unsigned b, unsigned c, unsigned d)
{
    s[a] += s[b];
    s[d] = rotl(s[d] ^ s[a], 16);
    s[c] += s[d];
    s[b] = rotl(s[b] ^ s[c], 12);
    s[a] += s[b];
    s[d] = rotl(s[d] ^ s[a], 8);
    s[c] += s[d];
    s[b] = rotl(s[b] ^ s[c], 7);
}

void rnic_chacha20_block(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12],
                         uint32_t out[16])
{
    /* "expand 32-byte k" */
    uint32_t in[16] = {0x61707865, 0x3320646E, 0x79622D32, 0x6B206574};

    for (unsigned i = 0; i < 8; i++)
        in[4 + i] = roce_le32_get(key + 4 * i);
    in[12] = counter;
    for (unsigned i = 0; i < 3; i++)
        in[13 + i] = roce_le32_get(nonce + 4 * i);
    memcpy(out, in, sizeof(in));
    for (unsigned i = 0; i < 10; i++) {
        quarter_round(out, 0, 4, 8, 12);
        quarter_round(out, 1, 5, 9, 13);
        quarter_round(out, 2, 6, 10, 14);
        quarter_round(out, 3, 7, 11, 15);
        quarter_round(out, 0, 5, 10, 15);
        quarter_round(out, 1, 6, 11, 12);
        quarter_round(out, 2, 7, 8, 13);
        quarter_round(out, 3, 4, 9, 14);
    }
    for (unsigned i = 0; i < 16; i++)
        out[i] += in[i];
}

void rnic_entropy_init(struct rnic_entropy *entropy, const uint8_t seed[32])
{
    memset(entropy, 0, sizeof(*entropy));
    memcpy(entropy->seed, seed, sizeof(entropy->seed));
}

uint32_t rnic_entropy_u32(struct rnic_entropy *entropy)
{
    static const uint8_t nonce[12] = {0};

    if (entropy->left == 0) {
        rnic_chacha20_block(entropy->seed, entropy->block++, nonce, entropy->word);
        entropy->left = 16;
    }
    return entropy->word[16 - entropy->left--];
}

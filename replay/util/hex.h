/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hex: converts bytes to hexadecimal text and back, two digits for each byte. Used in JSON by the
 * setup files and by the protocol of the agent.
 */
#ifndef REPLAY_UTIL_HEX_H
#define REPLAY_UTIL_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Writes 2 * len digits, without a terminating zero. */
static inline void hex_format(char *text, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

/* Reads `len` bytes from 2 * len digits. Returns true, or false if a character is not a hexadecimal
 * digit. */
static inline bool hex_parse(const char *text, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

#endif

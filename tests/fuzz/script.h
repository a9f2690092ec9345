/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* script.h - a target's input read as a script: what is to be done, byte by byte. */
#ifndef FUZZ_SCRIPT_H
#define FUZZ_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct script {
    const uint8_t *p;
    size_t left;
};

/* The next byte; zeros follow the last. */
static inline uint8_t u8(struct script *script)
{
    if (script->left == 0)
        return 0;
    script->left--;
    return *script->p++;
}

#endif

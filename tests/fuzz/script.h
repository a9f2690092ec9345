/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Script: reads the input of a fuzz target as a script: each byte selects an action or one of its
 * parameters. */
#ifndef FUZZ_SCRIPT_H
#define FUZZ_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

struct script {
    const uint8_t *p;
    size_t left;
};

/* Returns the next byte of the script, or 0 at its end. */
static inline uint8_t u8(struct script *script)
{
    if (script->left == 0)
        return 0;
    script->left--;
    return *script->p++;
}

#endif

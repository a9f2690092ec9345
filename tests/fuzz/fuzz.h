/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz targets: each target is one function, which accepts any bytes as input, and checks
 * invariants: conditions that must be true for every input.
 *
 * With clang and ROCEDRILL_FUZZ, a target becomes a libFuzzer program. Otherwise it is linked with
 * driver.c, which runs a corpus and a number of mutations of it. So every build runs the checks.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Assertion that is checked in every build type, also with NDEBUG. */
#define FUZZ_CHECK(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", __FILE__, __LINE__, __func__,     \
                    #cond);                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif

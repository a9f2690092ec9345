/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz targets: each is one function that accepts any bytes as input and checks conditions that
 * must hold for every input.
 *
 * If clang builds a target with ROCEDRILL_FUZZ, the target is a libFuzzer program. Otherwise it
 * is linked with driver.c, which runs a corpus and a bounded number of mutations of it. So every
 * build runs the checks.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An assertion that is compiled into every build type. */
#define FUZZ_CHECK(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s: does not hold: %s\n", __FILE__, __LINE__, __func__,        \
                    #cond);                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif

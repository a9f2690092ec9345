/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * MUST(condition): ends the program with status 1 and a message that contains the condition, unless
 * the condition is true. Header only, because each program is one file.
 */
#ifndef PROGRAMS_MUST_H
#define PROGRAMS_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (errno: %s)\n", __FILE__, __LINE__, #condition,             \
                    strerror(errno));                                                              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif

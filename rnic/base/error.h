/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Error: one line for the user with the object that failed and the reason.
 *
 * Functions that can fail take a `struct error *`. They set it when they fail and leave it alone
 * otherwise. The caller owns it, mostly on its stack, and prints it or puts a prefix before it.
 */
#ifndef RNIC_BASE_ERROR_H
#define RNIC_BASE_ERROR_H

struct error {
    char text[1024]; /* "OBJECT: PROBLEM", without a full stop */
};

/* Sets the text and returns -1, so that a caller can `return error_set(...)`. If the text is too
 * long its middle is left out: a path can have 4096 bytes, and the reason follows it. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

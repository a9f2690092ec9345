/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Error: one line that says what failed and why, for the user.
 *
 * Functions that can fail take a `struct error *`. They set it when they fail and leave it alone
 * otherwise. The caller owns it, mostly on its stack, and prints it or puts a prefix before it.
 */
#ifndef RNIC_BASE_ERROR_H
#define RNIC_BASE_ERROR_H

struct error {
    char text[1024]; /* "OBJECT: PROBLEM", without a full stop */
};

/* Sets the text and returns -1, so that a caller can `return error_set(...)`. A longer text loses
 * its middle: a path can be 4096 bytes long, and the reason follows it. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Error: one line for the user that names the failed object and the reason.
 *
 * A function that can fail has a `struct error *` parameter. The function sets the error when it
 * fails and otherwise leaves it unchanged. The caller owns the struct, usually on its stack, and
 * prints the text or adds a prefix to it.
 */
#ifndef RNIC_BASE_ERROR_H
#define RNIC_BASE_ERROR_H

struct error {
    char text[1024]; /* "OBJECT: PROBLEM", without a full stop */
};

/* Sets the text and returns -1, so that a caller can `return error_set(...)`. If the text is too
 * long, its middle is omitted, because the reason is at the end of the text. A path alone can have
 * 4096 bytes. */
int error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checkrun: runs the program as a user does, in a folder of its own, and reads back what it wrote.
 * ROCEDRILL_PROGRAM is the program under test; TRACES_DIR has the captures.
 */
#ifndef TEST_CHECKRUN_H
#define TEST_CHECKRUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture.h"

struct checkrun {
    int status;
    char *out, *err; /* what it wrote to standard output and standard error; never NULL */
    long max_rss_kb; /* of the largest program run so far */
};

/* Before each command: a folder with a space in its name is one word. */
#define CHECKRUN_SHELL "IFS='\n'; "

/* Runs `rocedrill ARGUMENTS` by way of a shell. In the arguments $C is the folder of captures, $T a
 * folder for files of the test. The result is for checkrun_free(). */
struct checkrun checkrun(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for any shell command; $R is the program. */
struct checkrun checkrun_shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void checkrun_free(struct checkrun *run);

/* Runs a shell command and fails the test at `file` and `line` unless it ends with this status, has
 * `out` on its standard output, and on standard error one line with `err` in it, or nothing for "".
 */
void checkrun_expect(const char *file, unsigned line, const char *command, int status,
                     const char *out, const char *err);
#define CHECKRUN_EXPECT(command, status, out, err)                                                 \
    checkrun_expect(__FILE__, __LINE__, command, status, out, err)

/* The path of a file in $T; static. */
const char *checkrun_path(const char *name);

/* Whether standard error has exactly one line and the text is in it. */
bool checkrun_complains(const struct checkrun *run, const char *text);

/* The lines of a JSON text as an array. A line that is no object fails the test. */
json_t *checkrun_json(const char *text);

/* The number of objects of this type, and the first of them (borrowed) or NULL. */
size_t checkrun_count(const json_t *lines, const char *type);
json_t *checkrun_first(const json_t *lines, const char *type);

/* All of a file; "" if it is not there. For free(). */
char *checkrun_read(const char *path);

/* Writes a pcap file of $T: microseconds, native order. */
void checkrun_write_pcap(const char *name, uint32_t linktype, const struct capture *capture);

#endif

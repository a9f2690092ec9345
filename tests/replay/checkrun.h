/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checkrun: runs the program as a user does, in a temporary folder, and reads its output.
 * ROCEDRILL_PROGRAM is the program under test. TRACES_DIR is the folder with the captures.
 */
#ifndef TEST_CHECKRUN_H
#define TEST_CHECKRUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture.h"
#include "support/flowgen.h"

struct checkrun {
    int status;
    char *out, *err; /* text of standard output and standard error; never NULL */
    long max_rss_kb; /* peak resident memory of all programs run up to now, KiB */
};

/* Prefix of each command. The shell then splits words only at line feeds, so a path may contain a
 * space. */
#define CHECKRUN_SHELL "IFS='\n'; "

/* Runs `rocedrill ARGUMENTS` in a shell. In the arguments, $C is the folder of captures and $T a
 * folder for files of the test. Call checkrun_free() on the result. */
struct checkrun checkrun(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Runs any shell command. $C is the folder of captures, $T a folder for files, $R the program.
 * Call checkrun_free() on the result. */
struct checkrun checkrun_shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void checkrun_free(struct checkrun *run);

/* Runs a shell command and compares its results. The test fails at `file` and `line` if the exit
 * status is not `status` or standard output lacks `out`. Standard error must be one line that
 * contains `err`, or be empty if `err` is "". */
void checkrun_expect(const char *file, unsigned line, const char *command, int status,
                     const char *out, const char *err);
#define CHECKRUN_EXPECT(command, status, out, err)                                                 \
    checkrun_expect(__FILE__, __LINE__, command, status, out, err)

/* Runs rocedrill with these arguments. Asserts exit status 2 and one line with `text` on standard
 * error. */
void checkrun_refused(const char *arguments, const char *text);

/* Returns the path of a file in $T, in a static buffer. */
const char *checkrun_path(const char *name);

/* Returns whether standard error has exactly one line and the line contains `text`. */
bool checkrun_complains(const struct checkrun *run, const char *text);

/* Parses JSON lines. Returns the objects as an array. A line that is not a JSON object fails the
 * test. */
json_t *checkrun_json(const char *text);

/* checkrun_count() returns the number of objects of this type. checkrun_first() returns the first
 * one (borrowed reference), or NULL if there is none. */
size_t checkrun_count(const json_t *lines, const char *type);
json_t *checkrun_first(const json_t *lines, const char *type);

/* Returns an integer member of an object. Fails the test if the member is missing or is not an
 * integer. */
json_int_t checkrun_number(const json_t *object, const char *key);

/* Reads a whole file. Returns its text, or "" if the file does not exist. Call free() on the
 * result. */
char *checkrun_read(const char *path);

/* Writes the frames to a pcap file in $T, with microsecond timestamps and host byte order. */
void checkrun_write_pcap(const char *name, uint32_t linktype, const struct capture *capture);

/* Writes the frames of a conversation to a pcap file in $T, and calls flowgen_free(). */
void checkrun_write_flow(const char *name, struct flowgen *flow);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Written drill: a drill that is written from a capture. The caller adds the packets that the drill
 * sends to the device, and the verbs of the device's program. This module adds the lines that
 * expect packets, completions and events of the device.
 *
 *   1. from_head(), from_line() and from_line_end() add the head, the objects, and the packets and
 *      verbs of the drill (from_rc.h, from_dgram.h, from_cm.h).
 *   2. from_wait() marks a place where the drill waits for a timer of the device.
 *   3. from_drill_write() plays the lines on the software RNIC. It writes the drill with a line for
 *      each response, completion and event of the software RNIC.
 */
#ifndef REPLAY_DRILL_FROM_FROM_DRILL_H
#define REPLAY_DRILL_FROM_FROM_DRILL_H

#include <stdio.h>
#include "base/error.h"
#include "drill/from/expected_lines.h"
#include "infer/trace.h"

#define FROM_REGION_MAX  (UINT64_C(1) << 26) /* longest region, bytes */
#define FROM_REGIONS_MAX 44u                 /* maximum number of memory regions */
#define FROM_QPS_MAX     8u                  /* maximum number of QPs */
#define FROM_PATTERNS    200u                /* number of byte patterns for messages */

/* A packet to the device, a verb of its program, or a wait until a timer of the device fires. */
struct from_step {
    char *text;        /* the line without its time; NULL: the step is a wait */
    uint32_t frame;    /* frame number in the capture; 0 if there is none */
    char unit;         /* only for a wait: one-letter name of the `let` constant for the shortest
                        * permitted time; 0: no constant */
    uint64_t least_ns; /* only for a wait: shortest permitted time, ns */
    struct from_meaning meaning;
};

/* Memory region of the drill: the range of addresses that captured packets access with one
 * R_Key. */
struct from_region {
    uint32_t host; /* index of the host in session.host, or 0 */
    uint32_t rkey;
    uint64_t low, span;
};

struct from_drill {
    const char *capture; /* path of the capture, for error messages */
    const char *file;    /* file name of the capture, for the purpose of the drill */
    char what[48];       /* part of the capture from which the drill is written, such as
                          * "connection #3", for error messages */
    struct error *error;
    char *head; /* head of the drill and lines of its objects */
    size_t head_len;
    struct from_step *step;
    size_t step_cnt, step_cap;
    struct expected_lines lines;
    struct from_region region[FROM_REGIONS_MAX];
    unsigned region_cnt;
    FILE *out; /* stream to which the caller writes the head or a line */
    char *text;
    size_t text_len;
};

/* Sets the error "CAPTURE: WHAT cannot become a drill: REASON". Returns -1. */
int from_fail(struct from_drill *d, const char *reason);

/* Returns the stream for the head of the drill, or NULL if out of memory. Call from_head_end()
 * after writing the head. */
FILE *from_head(struct from_drill *d);
void from_head_end(struct from_drill *d);

/* Returns the stream for a new line, or NULL if out of memory. Call from_line_end() after writing
 * the line. `frame`: frame number in the capture of the packet that the line sends, or 0.
 * from_line_end() returns 0, or -1 and an error. */
FILE *from_line(struct from_drill *d);
int from_line_end(struct from_drill *d, uint32_t frame, struct from_meaning meaning);

/* Adds a wait until a timer of the device fires. `least_ns`: shortest time that the specification
 * permits for this timer, or 0. `unit`: name of the `let` constant with this value, one letter, or
 * 0. Returns 0, or -1 and an error. */
int from_wait(struct from_drill *d, char unit, uint64_t least_ns);

/* Extends the region of an R_Key so that it contains a range. If the R_Key has no region, creates
 * one. Does not extend a region to more than FROM_REGION_MAX bytes. Returns 0, or -1 and an error
 * if there are too many regions. */
int from_region_add(struct from_drill *d, uint32_t rkey, uint64_t va, uint64_t len);

/* Returns the index of the region of an R_Key at a host, or -1. */
int from_region_of(const struct from_drill *d, uint32_t host, uint32_t rkey);

/* Returns the name of a QP, one letter. */
char from_qp_name(unsigned qp);

/* Prints the words of an opcode, or "opcode N" if it is reserved. */
void from_print_opcode(FILE *out, const struct roce_opcode *op);

/* Prints the access rights as words, such as " access write,read". */
void from_print_access(FILE *out, unsigned access);

/* Prints " WORD NAME+OFFSET", where NAME is `prefix` and the index of the R_Key's region. For an
 * address below the region, prints " WORD ADDRESS KEY_WORD NAME". For an R_Key without a region,
 * prints " WORD ADDRESS KEY_WORD R_KEY". */
void from_print_place(const struct from_drill *d, FILE *out, const char *word, char prefix,
                      uint32_t host, uint64_t va, uint32_t rkey, const char *key_word);

/* Plays the lines on the software RNIC and writes the resulting drill. Returns 0, or -1 and an
 * error if the software RNIC does not pass the drill. */
int from_drill_write(struct from_drill *d, FILE *out);
void from_drill_free(struct from_drill *d);

#endif

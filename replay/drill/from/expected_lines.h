/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Expected lines: writes the lines of a drill that expect frames, completions and events of the
 * device. For this, the software RNIC plays the drill, and the frames and events in the log of this
 * run become lines. from_drill.c calls expected_lines_add() for each row of the log.
 */
#ifndef REPLAY_DRILL_FROM_EXPECTED_LINES_H
#define REPLAY_DRILL_FROM_EXPECTED_LINES_H

#include <stdio.h>
#include "drill/engine.h"

#define EXPECTED_SHORT_PAYLOAD 32u /* longest payload that a line shows as bytes */

/* Packet that the recorded device sent. If the drill expects the same packet, the line ends with a
 * comment that names the frame number. */
struct recorded_packet {
    int qp; /* number of the QP in the written drill, or -1 for a CM message */
    uint8_t opcode;
    uint32_t psn; /* PSN; for a CM message, its kind */
    uint32_t frame;
    bool used;
};

/* Message that the device's program posts. */
struct posted_message {
    unsigned qp;
    uint32_t psn, cnt; /* first PSN and number of PSNs of the message */
    uint64_t local;    /* offset of its data in region L, the local memory of the device's
                        * program */
    char check[96];    /* line that checks the result of a READ or atomic, or "" */
};

/* Properties of a line that sends a packet to the device or calls a verb. The following lines,
 * which expect the effects, depend on them. */
struct from_meaning {
    char content[80]; /* words for the contents of a receive buffer, such as "fill 58", in the line
                       * that expects the completion of the receive; "": none */
    char memory[16];  /* name of the region from which the device must read the data of its READ
                       * responses, or "" */
    bool verb; /* the line calls a verb. If the verb posts a receive, the device may send an ACK
                * with its new credits */
};

struct expected_lines {
    const struct script *script;
    bool many_qps;
    struct recorded_packet *recorded;
    size_t recorded_cnt, recorded_cap;
    struct posted_message *posted; /* messages; posted[i] has the work request id i + 1 */
    size_t posted_cnt, posted_cap;
    const struct from_meaning *meaning; /* properties of the latest packet or verb */
};

/* Returns the distance from PSN `from` to `psn`. */
int expected_lines_distance(uint32_t psn, uint32_t from);

/* Adds a packet of the recorded device. Returns 0, or -1 if out of memory. */
int expected_lines_record(struct expected_lines *lines, int qp, uint8_t opcode, uint32_t psn,
                          uint32_t frame);

/* Writes the operands of an atomic or a FLUSH and the immediate data of a request, without its
 * address and R_Key. */
void expected_lines_print_values(const struct roce_pkt *pkt, FILE *out);

/* Writes the line that expects the frame or event of a row of the log; the line begins with `time`.
 * Writes nothing for a packet to the device, or for a row of text that belongs to a line of the
 * drill. Returns whether it wrote a line. */
bool expected_lines_add(struct expected_lines *lines, const struct drill_log_row *row,
                        const char *time, FILE *out);

/* Prints " data HEX". */
void expected_lines_hex(FILE *out, const uint8_t *bytes, size_t len);

/* Ends a line. If `frame` is not 0, first prints a comment with this frame number. */
void expected_lines_end(FILE *out, uint32_t frame);

#endif

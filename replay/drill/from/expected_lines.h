/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Expected lines: writes the lines of a drill that expect the device's frames, completions and
 * events. Each line describes one row of the log that the engine wrote when it played the drill on
 * the software RNIC. from_drill.c calls expected_lines_add() for each row.
 */
#ifndef REPLAY_DRILL_FROM_EXPECTED_LINES_H
#define REPLAY_DRILL_FROM_EXPECTED_LINES_H

#include <stdio.h>
#include "drill/engine.h"

#define EXPECTED_SHORT_PAYLOAD 32u /* longest payload that a line shows as bytes */

/* Packet that the recorded device sent. Its frame number becomes a comment at the line that expects
 * the same packet. */
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

/* Properties of a packet to the device, or of a verb. The lines that expect the effects of the
 * packet or verb depend on them. */
struct from_meaning {
    char content[80]; /* line part with the contents of a receive buffer, such as "fill 58"; a
                       * later line checks them. "": none */
    char memory[16];  /* region whose bytes the READ responses of the device contain, or "" */
    bool verb; /* the line is a verb, such as a posted receive, after which a device may send an ACK
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

/* Writes the line that expects the event of `row`, with `time` as its time. Writes nothing for a
 * packet to the device. Returns whether it wrote a line. */
bool expected_lines_add(struct expected_lines *lines, const struct drill_log_row *row,
                        const char *time, FILE *out);

/* Prints " data HEX". */
void expected_lines_hex(FILE *out, const uint8_t *bytes, size_t len);

/* Ends a line. Before the end, prints the frame number as a comment, unless it is 0. */
void expected_lines_end(FILE *out, uint32_t frame);

#endif

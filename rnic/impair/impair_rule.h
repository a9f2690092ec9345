/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairment rules: parses the text of an `--impair` option into structs.
 *
 * rnic-run, `rocedrill replay` and `rocedrill edit` use the same grammar. For `--impair help` they
 * call impair_print_help().
 *
 *   1. impair_rules_add() parses one text and appends its rules. It is called once for each option.
 *   2. The caller passes the finished rules to impair_init() of impair.h.
 *
 * The caller owns the rules, which have no allocated memory and need no cleanup.
 */
#ifndef RNIC_IMPAIR_RULE_H
#define RNIC_IMPAIR_RULE_H

#include <stdbool.h>
#include <stdio.h>
#include "base/error.h"
#include "wire/pkt.h"

#define IMPAIR_RULES_MAX     32u        /* maximum number of rules */
#define IMPAIR_RULE_TEXT_MAX 256u       /* size of the text of a rule, bytes */
#define IMPAIR_COPIES_MAX    16u        /* maximum number of copies of a frame */
#define IMPAIR_OVERTAKE_MAX  64u        /* maximum number of frames that overtake a frame */
#define IMPAIR_ANY_BYTE      UINT32_MAX /* a random byte of the part */
#define IMPAIR_ALWAYS        (UINT64_C(1) << 32) /* probability 1, the default of p= */

enum impair_action {
    IMPAIR_DROP,
    IMPAIR_DUP,
    IMPAIR_DELAY,
    IMPAIR_REORDER,
    IMPAIR_CORRUPT,
    IMPAIR_CE,  /* sets ECN to "congestion experienced" in every IP packet */
    IMPAIR_ECN, /* sets ECN to "congestion experienced" only in ECN-capable packets (RFC 3168) */
    IMPAIR_SET,
};

/* Part of a frame in which the `corrupt` action inverts a bit. FRAME is everything after the
 * Ethernet header. */
enum impair_part { IMPAIR_PAYLOAD, IMPAIR_HEADER, IMPAIR_ICRC, IMPAIR_FRAME };

/* Kinds of packets, as bits; dir= selects them. */
enum impair_kind { IMPAIR_REQUEST = 1, IMPAIR_RESPONSE = 2, IMPAIR_CM = 4, IMPAIR_ANY = 7 };

/* Directions of frames at a live port, which is the port of a running program, as bits. The
 * condition dir= of a rule selects them. */
enum impair_side { IMPAIR_OUT = 1, IMPAIR_IN = 2 };

/* Place where the rules are used: at the port of a running program (LIVE), in the simulation of
 * `rocedrill replay --closed-loop` (OFFLINE), or on the frames of a capture (CAPTURE). Only the
 * simulation has connection numbers for a condition, only a live port has directions, and only a
 * capture has frame numbers. */
enum impair_use { IMPAIR_LIVE, IMPAIR_OFFLINE, IMPAIR_CAPTURE };

struct impair_rule {
    char text[IMPAIR_RULE_TEXT_MAX]; /* text of the rule as written by the user */
    enum impair_action action;
    uint32_t cnt_min, cnt_max;      /* DUP: number of added copies; REORDER: number of frames that
                                     * overtake the frame; from minimum to maximum */
    uint64_t delay_min, delay_max;  /* DELAY: shortest and longest delay, ns */
    enum impair_part part;          /* CORRUPT: part of the frame */
    uint32_t byte;                  /* CORRUPT: offset in the part, bytes, or IMPAIR_ANY_BYTE */
    enum roce_hdr hdr;              /* SET: header that contains the field */
    const struct roce_field *field; /* SET: field to change */
    uint64_t value;                 /* SET: new value of a numeric field */
    uint8_t bytes[16];              /* SET: new value of an address or of a field longer than 64
                                     * bits */
    bool keep_icrc;                 /* the rule changes the frame without computing its ICRC
                                     * again */

    uint32_t conn;   /* connection number from 1; 0: any */
    uint32_t stream; /* datagram stream number from 1; 0: any */
    unsigned kinds;  /* bits of enum impair_kind */
    unsigned sides;  /* bits of enum impair_side: directions at a live port that the rule
                      * selects; 0: only sent frames */
    bool psn;        /* the rule has psn=, so psn_from and psn_to are valid */
    bool relative;   /* psn_from and psn_to count from the first PSN of the connection */
    uint32_t psn_from, psn_to;
    char op[32];                   /* text that the name of the opcode must contain; "": any
                                    * opcode */
    uint32_t frame_from, frame_to; /* numbers of the first and last frame in the capture that the
                                    * rule selects; 0: all frames */
    uint32_t nth_from, nth_to;     /* nth=: numbers of the first and the last matching frame to
                                    * which the rule applies. Each connection counts its matching
                                    * frames from 1 */
    uint64_t chance;               /* probability in units of 2^-32 */
};

struct impair_rules {
    struct impair_rule rule[IMPAIR_RULES_MAX];
    size_t cnt;
};

/* Prints a description of the grammar, and the names of the header fields. */
void impair_print_help(FILE *out);

/*
 * Reads the rules in `text`, which may be empty, and appends them to *rules. Returns 0. On an error
 * returns -1 and leaves *rules unchanged; `error` then contains the wrong part of the text and the
 * expected syntax.
 */
int impair_rules_add(struct impair_rules *rules, const char *text, enum impair_use use,
                     struct error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairment rules: the text of an `--impair` option, read into structs.
 *
 * rnic-run, the live port and `rocedrill replay` read the same grammar: impair_help, which the
 * programs print for `--impair help`.
 *
 *   1. impair_rules_add() reads one text and appends its rules. It is called once per option.
 *   2. impair_init() of impair.h takes the finished rules.
 *
 * The caller owns the rules. They hold no memory and need no cleanup.
 */
#ifndef RNIC_IMPAIR_RULE_H
#define RNIC_IMPAIR_RULE_H

#include <stdbool.h>
#include "base/error.h"
#include "wire/pkt.h"

#define IMPAIR_RULES_MAX     32u
#define IMPAIR_RULE_TEXT_MAX 256u
#define IMPAIR_COPIES_MAX    16u
#define IMPAIR_OVERTAKE_MAX  64u
#define IMPAIR_ANY_BYTE      UINT32_MAX
#define IMPAIR_ALWAYS        (UINT64_C(1) << 32) /* chance of a rule without p= */

enum impair_action {
    IMPAIR_DROP,
    IMPAIR_DUP,
    IMPAIR_DELAY,
    IMPAIR_REORDER,
    IMPAIR_CORRUPT,
    IMPAIR_CE,  /* sets congestion experienced in every IP packet */
    IMPAIR_ECN, /* ... in ECN-capable packets only (RFC 3168) */
    IMPAIR_SET,
};

/* Part of a frame in which `corrupt` inverts a bit. FRAME: all bytes behind the Ethernet header. */
enum impair_part { IMPAIR_PAYLOAD, IMPAIR_HEADER, IMPAIR_ICRC, IMPAIR_FRAME };

/* Kinds of packets, as bits: values of dir=. */
enum impair_kind { IMPAIR_REQUEST = 1, IMPAIR_RESPONSE = 2, IMPAIR_CM = 4, IMPAIR_ANY = 7 };

/* Directions seen from a live port, as bits: values of dir=. */
enum impair_side { IMPAIR_OUT = 1, IMPAIR_IN = 2 };

/* Where the rules are used. A live port cannot tell the connections of a capture apart; a capture
 * has no sending and receiving side. */
enum impair_use { IMPAIR_LIVE, IMPAIR_OFFLINE };

struct impair_rule {
    char text[IMPAIR_RULE_TEXT_MAX]; /* the rule as it was written */
    enum impair_action action;
    uint32_t cnt_min, cnt_max;      /* DUP: copies added; REORDER: overtaking frames */
    uint64_t delay_min, delay_max;  /* DELAY: ns */
    enum impair_part part;          /* CORRUPT */
    uint32_t byte;                  /* CORRUPT: offset in the part, or IMPAIR_ANY_BYTE */
    enum roce_hdr hdr;              /* SET: header that has the field */
    const struct roce_field *field; /* SET */
    uint64_t value;                 /* SET: value of a number */
    uint8_t bytes[16];              /* SET: value of an address or of a field over 64 bits */
    bool keep_icrc;                 /* the ICRC is not recomputed after a change */

    uint32_t conn;   /* connection number from 1; 0: any */
    uint32_t stream; /* datagram stream number from 1; 0: any */
    unsigned kinds;  /* enum impair_kind */
    unsigned sides;  /* enum impair_side; 0: not given */
    bool psn;        /* psn_from and psn_to are given */
    bool relative;   /* ... and count from the first PSN of the connection */
    uint32_t psn_from, psn_to;
    char op[32];               /* part of the opcode's name; "": any */
    uint32_t nth_from, nth_to; /* occurrences, from 1 */
    uint64_t chance;           /* parts of 2^32 */
};

struct impair_rules {
    struct impair_rule rule[IMPAIR_RULES_MAX];
    size_t cnt;
};

/* The grammar, one page that ends with a newline. */
extern const char impair_help[];

/*
 * Appends the rules of `text`; an empty text has none. Returns 0. On failure returns -1, leaves the
 * rules as they were and sets `error` to the place in the text and what was expected there.
 */
int impair_rules_add(struct impair_rules *rules, const char *text, enum impair_use use,
                     struct error *error);

#endif

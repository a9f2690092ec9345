/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Edit specification: one `--impair` of the command line, as data. The grammar, without blanks:
 *
 *   SPEC    = ACTION [ "@" WHERE { "," WHERE } ]
 *   ACTION  = "drop"
 *           | "dup" [ "=" COPIES ]                 1 copy more, or COPIES (1..16)
 *           | "delay=" TIME                        TIME: a number and ns, us, ms or s
 *           | "reorder" [ "=" FRAMES ]             held back until that many frames of its
 *                                                  direction passed it (1..64), at most 1 ms
 *           | "corrupt" [ "=" PART [ "+" BYTE ] ]  PART: payload, header or icrc; one random bit
 *                                                  of it, or of that byte of it
 *           | "ce"                                 ECN: congestion experienced
 *           | "set=" FIELD "=" VALUE               FIELD: [roce.]HEADER.FIELD of wire/headers.def
 *   WHERE   = "conn=" N                  connection, counted from 1 as the report does
 *           | "stream=" N                stream of UC or UD, by its sender's or its receiver's
 *                                        number
 *           | "dir=" DIR                 request, response or cm
 *           | "psn=" PSN [ ".." PSN ]    "+5" counts from the connection's first PSN, "5" is
 *                                        absolute
 *           | "op=" TEXT                 the opcode's name has it, case does not matter: "read"
 *           | "nth=" N [ ".." N ]        which of the frames that all this fits
 *           | "nth=all"
 *           | "p=" CHANCE                0 .. 1, by the seed
 *           | "icrc=" ( "fix" | "keep" ) whether the ICRC is computed anew
 *
 * With a PSN, occurrences of each PSN are counted apart, and without nth and p the first is struck;
 * else the frames of a connection are counted, and all are struck. `set` and `ce` fix the ICRC;
 * `corrupt` keeps it, as a wire does, so that the receiver sees that it is wrong.
 */
#ifndef REPLAY_SIM_IMPAIR_SPEC_H
#define REPLAY_SIM_IMPAIR_SPEC_H

#include <stdbool.h>
#include "base/error.h"
#include "wire/pkt.h"

#define IMPAIR_COPIES_MAX 16u
#define IMPAIR_HOLD_MAX   64u

enum impair_action {
    IMPAIR_DROP,
    IMPAIR_DUP,
    IMPAIR_DELAY,
    IMPAIR_REORDER,
    IMPAIR_CORRUPT,
    IMPAIR_CE,
    IMPAIR_SET,
};

enum impair_part { IMPAIR_PAYLOAD, IMPAIR_HEADER, IMPAIR_ICRC };

/* Directions, as bits. */
enum impair_way { IMPAIR_REQUEST = 1, IMPAIR_RESPONSE = 2, IMPAIR_CM = 4, IMPAIR_ANY = 7 };

#define IMPAIR_ANY_BYTE UINT32_MAX

struct impair_rule {
    const char *text; /* as given; the caller's */
    enum impair_action action;
    uint32_t cnt;          /* DUP: copies; REORDER: frames */
    uint64_t ns;           /* DELAY */
    enum impair_part part; /* CORRUPT ... */
    uint32_t byte;         /* ... of the part, or IMPAIR_ANY_BYTE */
    enum roce_hdr hdr;     /* SET ... */
    const struct roce_field *field;
    uint64_t value;
    uint8_t bytes[16]; /* ... of a field of more than 64 bits, or of an address */
    bool keep_icrc;

    uint32_t conn;   /* 0: any */
    uint32_t stream; /* likewise */
    unsigned ways;   /* enum edit_way */
    bool psn;        /* psn_from .. psn_to are given ... */
    bool relative;   /* ... from the first of the connection */
    uint32_t psn_from, psn_to;
    char op[32];               /* "": any */
    uint32_t nth_from, nth_to; /* from 1 */
    bool chance;
    uint32_t ppm; /* with `chance` */
};

/* Reads one; `text` must stay. 0, or -1 and an error that names the specification and the word. */
int impair_rule_parse(struct impair_rule *spec, const char *text, struct error *error);

/* The grammar in words, for --help. */
extern const char impair_help[];

#endif

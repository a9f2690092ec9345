/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Edit: what becomes of a frame between two ends of a replayed connection. A frame goes in, none or
 * several come out, changed, later or in another order, as the specifications (edit_spec.h) say.
 * All chance follows from the seed: the same seed and the same frames give the same result.
 */
#ifndef REPLAY_SIM_IMPAIR_H
#define REPLAY_SIM_IMPAIR_H

#include "base/error.h"
#include "sim/impair_spec.h"
#include "util/keymap.h"

#define IMPAIR_RULES_MAX 32u
#define IMPAIR_NOTE_MAX  256u

/* The edits of a run of the program; the same for all captures. */
struct impair_rules {
    struct impair_rule spec[IMPAIR_RULES_MAX];
    size_t cnt;
};

/* Adds one; `text` must stay. 0, or -1 and an error. */
int impair_rules_add(struct impair_rules *edits, const char *text, struct error *error);

/* One use of the edits. */
struct impair {
    const struct impair_rules *edits;
    uint64_t state;     /* of the random numbers; never 0 */
    struct keymap seen; /* (edit, connection, PSN or none) ... */
    uint32_t *seen_cnt; /* ... and how many frames of them there were */
    size_t seen_cap;
    uint64_t applied[IMPAIR_RULES_MAX]; /* frames each edit changed */
};

void impair_init(struct impair *editor, const struct impair_rules *edits, uint64_t seed);
void impair_free(struct impair *editor);

/* A frame that one end sent. */
struct impair_frame {
    uint32_t conn;      /* from 1; 0: of none ... */
    uint32_t stream[2]; /* ... but of these two streams, the sender's and the receiver's, from 1 */
    enum impair_way way;
    int64_t rel; /* of its PSN, from the connection's first */
    uint64_t now;
    const uint8_t *data; /* from the Ethernet header on */
    size_t len;
};

/* What comes out of it. */
struct impair_result {
    unsigned copies; /* 0: dropped */
    uint64_t delay;  /* ns */
    uint32_t hold;   /* frames of its direction that it lets pass */
    bool changed;    /* `data` is not what went in ... */
    bool damaged;    /* ... so that a conformant receiver drops it */
    bool forged;     /* ... and it is taken for something that was never sent */
    size_t len;
    uint8_t data[ROCE_FRAME_MAX];
    char note[IMPAIR_NOTE_MAX]; /* the edits that struck, or "" */
};

/* 0, or -1 without memory. */
int impair_apply(struct impair *editor, const struct impair_frame *in, struct impair_result *out);

#endif

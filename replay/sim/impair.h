/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Edit: what becomes of a frame between two ends of a replayed connection. A frame goes in, none or
 * several come out, changed, later or in another order, as the specifications (edit_spec.h) say.
 * All chance follows from the seed: the same seed and the same frames give the same result.
 */
#ifndef REPLAY_SIM_IMPAIR_H
#define REPLAY_SIM_IMPAIR_H

#include "sim/impair_spec.h"
#include "util/keymap.h"

#define EDITS_MAX     32u
#define EDIT_NOTE_MAX 256u

/* The edits of a run of the program; the same for all captures. */
struct edits {
    struct edit_spec spec[EDITS_MAX];
    size_t cnt;
};

/* Adds one; `text` must stay. 0, or -1 and a fault. */
int edits_add(struct edits *edits, const char *text, struct fault *fault);

/* One use of the edits. */
struct editor {
    const struct edits *edits;
    uint64_t state;     /* of the random numbers; never 0 */
    struct map seen;    /* (edit, connection, PSN or none) ... */
    uint32_t *seen_cnt; /* ... and how many frames of them there were */
    size_t seen_cap;
    uint64_t struck[EDITS_MAX]; /* frames each edit changed */
};

void editor_init(struct editor *editor, const struct edits *edits, uint64_t seed);
void editor_free(struct editor *editor);

/* A frame that one end sent. */
struct edit_frame {
    uint32_t conn;      /* from 1; 0: of none ... */
    uint32_t stream[2]; /* ... but of these two streams, the sender's and the receiver's, from 1 */
    enum edit_way way;
    int64_t rel; /* of its PSN, from the connection's first */
    uint64_t now;
    const uint8_t *data; /* from the Ethernet header on */
    size_t len;
};

/* What comes out of it. */
struct edit_out {
    unsigned copies; /* 0: dropped */
    uint64_t delay;  /* ns */
    uint32_t hold;   /* frames of its direction that it lets pass */
    bool changed;    /* `data` is not what went in ... */
    bool damaged;    /* ... so that a conformant receiver drops it */
    bool forged;     /* ... and it is taken for something that was never sent */
    size_t len;
    uint8_t data[ROCE_FRAME_MAX];
    char note[EDIT_NOTE_MAX]; /* the edits that struck, or "" */
};

/* 0, or -1 without memory. */
int editor_pass(struct editor *editor, const struct edit_frame *in, struct edit_out *out);

#endif

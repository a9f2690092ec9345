/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The steps rxedrive is told to take: what they are (rxedrive.c) and how they are told
 * (rxedrive_args.c). */
#ifndef RXEDRIVE_STEP_H
#define RXEDRIVE_STEP_H

#include "recorder/rxedrive.h"

/* Completion statuses beyond those of verbs. */
enum {
    WC_NONE = -1, /* no completion */
    WC_ANY = -2,  /* whatever comes */
};

struct state;
struct step;

/* One kind of step. */
struct op {
    const char *name;
    enum ibv_wr_opcode wr;
    bool request;      /* posts a work request the peer hears of */
    bool by_responder; /* done by the side that answers requests */
    void (*run)(struct state *s, const struct step *step);
    const char *help;
};

struct step {
    const struct op *op;
    const char *text; /* as given on the command line */
    const char *rest; /* of sh: the command */
    uint64_t value, value2;
    uint64_t off; /* in the responder's region */
    int requester;
    int qp;
    int count;
    uint32_t imm;
    bool has_imm, inv, solicited, fence, nowait, whole, persistent;
    enum key key;
    int expect; /* status of the request's completion, or WC_ANY */
    int peer;   /* status of the receive's completion, WC_NONE or WC_ANY */
};

/* The kinds of steps, ended by a row without name. */
extern const struct op ops[];

void run_sh(struct state *s, const struct step *step);

const char *status_name(int status);
struct options parse_options(int argc, char **argv);
struct step parse_step(const char *text);

#endif

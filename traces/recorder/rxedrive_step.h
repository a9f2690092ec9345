/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The steps of rxedrive: table and execution (rxedrive.c), parsing
 * (rxedrive_args.c). */
#ifndef RXEDRIVE_STEP_H
#define RXEDRIVE_STEP_H

#include "recorder/rxedrive.h"

/* Completion statuses beyond those of verbs. */
enum {
    WC_NONE = -1, /* no completion */
    WC_ANY = -2,  /* any status */
};

struct state;
struct step;

/* A kind of step. */
struct op {
    const char *name;
    enum ibv_wr_opcode wr;
    bool request;      /* posts a work request that sends packets */
    bool by_responder; /* executed by the responder */
    void (*run)(struct state *s, const struct step *step);
    const char *help;
};

struct step {
    const struct op *op;
    const char *text; /* text on the command line */
    const char *rest; /* shell command of a step `sh` */
    uint64_t value, value2;
    uint64_t off; /* offset in the responder's region */
    int requester;
    int qp;
    int count;
    uint32_t imm;
    bool has_imm, inv, solicited, fence, nowait, whole, persistent;
    enum key key;
    int expect; /* expected status of the request, or WC_ANY */
    int peer;   /* expected status of the receive, or WC_NONE or WC_ANY */
};

/* All kinds of steps; the last row has no name. */
extern const struct op ops[];

void run_sh(struct state *s, const struct step *step);

const char *status_name(int status);
struct options parse_options(int argc, char **argv);
struct step parse_step(const char *text);

#endif

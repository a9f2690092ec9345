/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * User of a closed loop's responder (closed.h): does what the capture shows that the recorded
 * responder's user did. Registers its regions, posts a receive WQE when a request needs one, leaves
 * a request without as often as the recorded one did, withdraws a key for a request, registers it
 * again.
 */
#ifndef REPLAY_SIM_RESPONDER_APP_H
#define REPLAY_SIM_RESPONDER_APP_H

#include "sim/closed_loop.h"
#include "sim/sim_host.h"

/* An SRQ that XRC requests name. */
struct user_srq {
    uint32_t srqn;
    struct rnic_srq *srq;
    uint32_t spare; /* WQEs posted that no message took */
};

struct user {
    const struct works *works;
    const struct setup *setup;
    struct memory *memory;
    struct end *end;
    uint32_t *starve;     /* per work: how often there still is no receive WQE */
    uint8_t *invalidated; /* per region */
    uint8_t *recv_buf;
    uint32_t recv_key;
    uint32_t recv_cnt;
    struct rnic_xrcd *xrcd; /* XRC only */
    struct user_srq *srq;
    size_t srq_cnt, srq_cap;
};

/* A request, from before it is given to the device until after. */
struct user_turn {
    const struct roce_pkt *pkt;
    int64_t rel;                     /* of its PSN */
    uint32_t epsn;                   /* before */
    struct user_srq *srq;            /* that it names, or NULL */
    struct memory_region *withdrawn; /* whose key is not valid for it, or NULL */
};

/* 0, or -1 without memory; user_free() is wanted in both cases. */
int user_init(struct user *user, const struct works *works, struct memory *memory, struct end *end);
void user_free(struct user *user);

/* Sets up the responder, its device being open; `common` is what both QPs have. NULL, or why it
 * cannot be. */
const char *user_open(struct user *user, const struct rnic_qp_attr *common);

/* Before and after a request with these contents is given to the device. 0, or -1 without memory.
 */
int user_before(struct user *user, struct user_turn *turn);
int user_after(struct user *user, const struct user_turn *turn);

/* Takes what was received. 0, or -1 without memory. */
int user_poll(struct user *user, struct closed_dones *received);

#endif

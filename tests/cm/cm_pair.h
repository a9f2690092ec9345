/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* CM pair: two CM engines, A and B, connected by a simulated network. The network loses the
 * messages that a test selects. A connects, B listens; each end's program answers the events of its
 * engine as the members of struct cm_pair_end determine.
 *
 *   1. cm_pair_start()
 *   2. cm_pair_ask() and calls of the engines, each followed by cm_pair_carry() or cm_pair_pass()
 *   3. cm_pair_stop() */
#ifndef TESTS_CM_CM_PAIR_H
#define TESTS_CM_CM_PAIR_H

#include "cm/engine.h"
#include "support/rng.h"

#define SERVICE   UINT64_C(0x0000000001061D2F)
#define LONG_TIME UINT64_C(400000000000) /* longer than all retransmissions together take, ns */

enum { A, B, ENDS };

struct cm_pair_end {
    struct rnic_cm *cm;
    struct rnic_cm_id *id;     /* id of the exchange under test */
    struct rnic_cm_id *listen; /* listening id; B only */
    unsigned seen[RNIC_CM_SIDR_RESPONSE + 1];
    struct rnic_cm_event last;
    bool accepts, rejects, silent; /* how the program reacts to a request: accepts it, rejects it,
                                    * or does not answer */
    bool speaks;
    bool elsewhere; /* true: another CM engine of the same port has a listener for every service */
    bool xrc;       /* true: the program accepts with an XRC target QP */
    bool tidy;      /* true: the program deletes an id after it rejected the request, or after the
                     * peer was unreachable */
};

struct cm_pair {
    struct cm_pair_end end[ENDS];
    rnic_time now;
    struct rng rng;
    unsigned loss;                  /* probability that a message is lost, percent */
    unsigned lose[ROCE_CM_MSG_CNT]; /* for each kind of message: number of messages that the network
                                     * will lose, from the next one on */
    unsigned sent[ENDS][ROCE_CM_MSG_CNT];
};

extern const struct rnic_cm_addr cm_pair_addr[ENDS];

/* Creates both engines. B listens for SERVICE, and its program accepts. */
void cm_pair_start(struct cm_pair *w);
/* As cm_pair_start(). `patience` is the time for which B delays a request for a service without a
 * listener (rnic_cm_attr.listen_wait), ns. */
void cm_pair_start_with(struct cm_pair *w, uint64_t patience);
void cm_pair_stop(struct cm_pair *w);

/* Returns a REQ with which QP `qpn` asks for a connection to SERVICE. */
struct roce_cm_req cm_pair_request(uint32_t qpn);
/* Returns the REP with which the program of B accepts. */
struct roce_cm_rep cm_pair_reply(void);
/* A connects a QP to SERVICE of B. */
void cm_pair_ask(struct cm_pair *w, uint32_t qpn);

/* Lets the program of end `e` fetch the events of its engine and answer them. */
void cm_pair_take_events(struct cm_pair *w, unsigned e);
/* Delivers messages, and passes events to the programs, until no message is in flight. */
void cm_pair_carry(struct cm_pair *w);
/* Advances the time by `time` ns. Lets each timer expire at its time, and delivers the messages
 * sent then. */
void cm_pair_pass(struct cm_pair *w, uint64_t time);

void cm_pair_expect_connected(struct cm_pair *w);

void cm_pair_stop_listening(struct cm_pair *w);
void cm_pair_listen_again(struct cm_pair *w);

#endif

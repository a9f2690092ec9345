/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Wire judge: rnic/flow looks at what one node of the simulated network sends and gets, as a
 * capture taken there would show it: whole, and spoiled the ways captures are. The devices keep
 * every rule, so it finds no error, whatever the network does to the packets.
 */
#ifndef TEST_WIREJUDGE_H
#define TEST_WIREJUDGE_H

#include "flow/flow.h"
#include "support/simnet.h"

/* Watches `node` from now on; takes net->arrive. How captures are spoiled comes from the seed. One
 * at a time. */
void flow_oracle_begin(struct simnet *net, unsigned node, uint64_t seed);

/* Each packet sent, from net->observe; each that arrives, from net->arrive where a test has its
 * own. */
void flow_oracle_sent(const struct simnet_event *event);
void flow_oracle_arrived(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now);

/* What the whole capture says, until flow_oracle_end(). */
const struct roce_flow *flow_oracle_flow(void);

/* Asserts that no rule was broken, and prints the first findings that say so; and that of the runs
 * of this process hardly any had no frame at all. */
void flow_oracle_end(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow oracle: feeds rnic/flow with what one node of the simulated network sends and receives,
 * as a capture taken there would show it: whole, and spoiled in the ways captures are. The
 * devices obey every rule, so rnic/flow must report no error, whatever the network does to the
 * packets.
 */
#ifndef TEST_WIREJUDGE_H
#define TEST_WIREJUDGE_H

#include "flow/flow.h"
#include "support/simnet.h"

/* Starts watching `node`; sets net->arrive. The seed decides how captures are spoiled. One at a
 * time. */
void flow_oracle_begin(struct simnet *net, unsigned node, uint64_t seed);

/* Call flow_oracle_sent() for each sent packet from net->observe, and flow_oracle_arrived() from
 * net->arrive if the test has its own. */
void flow_oracle_sent(const struct simnet_event *event);
void flow_oracle_arrived(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now);

/* Returns the flow of the whole capture; valid until flow_oracle_end(). */
const struct roce_flow *flow_oracle_flow(void);

/* Asserts that no rule was violated and prints the first violations. Also asserts that almost every
 * run of this process had frames. */
void flow_oracle_end(void);

#endif

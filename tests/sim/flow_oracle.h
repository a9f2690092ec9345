/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow oracle: passes to the analyser rnic/flow the frames that one node of the simulated network
 * sends and receives, as a capture at that node would contain them. The oracle simulates several
 * captures: one is complete, and each of the others has a defect. The devices obey every rule, so
 * rnic/flow must report no error, whatever the network does to the packets.
 */
#ifndef TEST_WIREJUDGE_H
#define TEST_WIREJUDGE_H

#include "flow/flow.h"
#include "support/simnet.h"

/* Starts to observe `node` and sets net->arrive. The seed determines the defects of the
 * captures. Only one observation at a time is possible. */
void flow_oracle_begin(struct simnet *net, unsigned node, uint64_t seed);

/* Call flow_oracle_sent() from net->observe for each sent packet. If the test has its own callback
 * net->arrive, call flow_oracle_arrived() from that callback. */
void flow_oracle_sent(const struct simnet_event *event);
void flow_oracle_arrived(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now);

/* Asserts that rnic/flow found no violation, and prints the first ones. Also asserts that the node
 * had frames in almost every observation of this process. Calls `on_conn`, which may be NULL, for
 * each connection in the complete capture. */
void flow_oracle_end(void (*on_conn)(void *user, const struct roce_conn_summary *conn), void *user);

#endif

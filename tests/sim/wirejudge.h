/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Wire judge: rnic/flow looks at what one node of the simulated network sends and gets, as a
 * capture taken there would show it. The devices keep every rule, so it finds no error, whatever
 * the network does to the packets.
 */
#ifndef TEST_WIREJUDGE_H
#define TEST_WIREJUDGE_H

#include "support/simnet.h"

/* Watches `node` from now on; takes net->arrive. One at a time. */
void wirejudge_begin(struct simnet *net, unsigned node);

/* Each packet sent, from net->observe. */
void wirejudge_sent(const struct simnet_event *event);

/* Asserts that no rule was broken; prints the first findings that say so. */
void wirejudge_end(void);

#endif

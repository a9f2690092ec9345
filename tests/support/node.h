/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Node: connects a device (struct rnic) to the simulated network (support/simnet.h). */
#ifndef TEST_NODE_H
#define TEST_NODE_H

#include "device/rnic.h"
#include "simnet.h"

/* Returns a network node that represents the device. The caller owns the device and frees it after
 * the network. */
struct simnet_node node_of(struct rnic *rnic, const uint8_t mac[6]);

#endif

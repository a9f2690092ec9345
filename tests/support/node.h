/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Node: adapts a device to the simulated network (support/simnet.h). */
#ifndef TEST_NODE_H
#define TEST_NODE_H

#include "device/rnic.h"
#include "simnet.h"

/* Returns a node for the device. The caller owns the device, which must outlive the network. */
struct simnet_node node_of(struct rnic *rnic, const uint8_t mac[6]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* A device of ours as a node of the simulated network (support/simnet.h). */
#ifndef TEST_NODE_H
#define TEST_NODE_H

#include "device/rnic.h"
#include "simnet.h"

/* The device is the caller's, and lives as long as the network. */
struct simnet_node node_of(struct rnic *rnic, const uint8_t mac[6]);

#endif

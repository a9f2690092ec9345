/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory port: two ports of one process joined by a wire in memory, without loss. Each may be
 * driven by its own thread. Frames on the way when a side closes vanish; what is sent to a closed
 * side is taken and counted as tx_link_down.
 */
#ifndef TEST_PORT_MEM_H
#define TEST_PORT_MEM_H

#include "port/frameio/port.h"

/* `depth`: frames on the way in each direction (at least 1) before sending has to wait. 0, -ENOMEM
 * or the error of a descriptor. */
int rnic_port_mem_pair(unsigned depth, struct rnic_port *out[2], struct error *why);

#endif

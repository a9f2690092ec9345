/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory port: two ports (rnic/port) of one process, connected by a lossless link in memory. Each
 * port may be used by a separate thread. If one side closes its port, frames in transit are lost.
 * Frames sent to a closed side are accepted and counted as tx_link_down.
 */
#ifndef TEST_PORT_MEM_H
#define TEST_PORT_MEM_H

#include "port/frameio/port.h"

/* Creates the two ports. `depth` is the maximum number of frames in transit in each direction, at
 * least 1. If this many are in transit, the sender must wait. Returns 0, -ENOMEM, or the error of
 * creating a descriptor. */
int rnic_port_mem_pair(unsigned depth, struct rnic_port *out[2], struct error *why);

#endif

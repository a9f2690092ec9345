/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Output packet: returns the next packet of a device as a struct, without writing its frame.
 * replay/engine calls this function, because it compares packets and does not send them. */
#ifndef RNIC_OUTPUT_PACKET_H
#define RNIC_OUTPUT_PACKET_H

#include "device/rnic.h"
#include "wire/pkt.h"

/* Returns the next packet to send, or NULL if there is none. The next call of rnic_output() would
 * write the frame of this packet. Only the BTH, the headers of the opcode and the payload are set.
 * The packet is valid until the next call for the device. The device may have only RC and XRC QPs,
 * and no congestion management. */
const struct roce_pkt *rnic_output_packet(struct rnic *rnic, rnic_time now);

#endif

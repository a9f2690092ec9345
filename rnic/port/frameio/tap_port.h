/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tap port: a port in front of another one that also sends a copy of each sent frame on a network
 * interface, for tcpdump and Wireshark. Each process copies only the frames that it sends, so a
 * frame between two local processes appears once. If the interface does not accept a copy at once,
 * the copy is dropped and counted (tap_errors). Used by port/live/attach.c.
 */
#ifndef PORT_FRAMEIO_TAP_PORT_H
#define PORT_FRAMEIO_TAP_PORT_H

#include "port/frameio/port.h"

/* Opens a tap port to the interface `iface` in front of `behind`. Needs CAP_NET_RAW. Returns 0, or
 * a negative errno with the reason in `why`. On success the new port owns `behind`; on failure the
 * caller keeps it. */
int rnic_tap_port_open(const char *iface, struct rnic_port *behind, struct rnic_port **out,
                       struct error *why);

#endif

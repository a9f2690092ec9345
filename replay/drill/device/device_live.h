/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device live: a device under test (DUT) behind a network interface. `rocedrill agent`
 * (docs/agent.md) runs on the host of the DUT; it creates the objects and calls the verbs. The
 * drill, the peer of the DUT, sends and receives frames on an interface of this host. Time is real.
 *
 * Call device_live_check() once, then open() for each drill. Each drill is one session of the
 * agent. The agent has one session at a time, so drills run one after another.
 */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_LIVE_H
#define REPLAY_DRILL_DEVICE_DEVICE_LIVE_H

#include "drill/device.h"

#define DEVICE_LIVE_PATIENCE UINT64_C(2000000000) /* default of device_live_config.patience_ns */
#define DEVICE_LIVE_TIMEOUT  18                   /* default of device_live_config.timeout */

/* Configuration for open(). */
struct device_live_config {
    const char *iface;
    const char *agent;               /* host and port of the agent, "HOST:PORT" */
    const char *target4, *target6;   /* addresses of the device. If one is NULL, the drills of
                                      * its IP version are unsupported */
    const char *address4, *address6; /* addresses of the drill's own end; NULL: an address of the
                                      * interface */
    bool really;                     /* transmit although a default route uses the interface */
    uint64_t patience_ns;            /* permitted delay of an event after its time window, ns */
    unsigned timeout;                /* timeout code of a QP for which the drill names no timeout */
};

/* Sets the IPv4 or IPv6 address of the drill's own end (`own`) or of the target. Returns 0, or -1
 * and an error if the text is not an IP address. */
int device_live_address(struct device_live_config *config, const char *text, bool own,
                        struct error *error);

/* Number of drills with IPv4 packets, and with IPv6 packets. */
struct device_live_drills {
    size_t ip4, ip6;
};

/* For each IP version with a target and a drill, prints that the packets of the drills will be
 * transmitted, and checks that the interface, the device and the agent can be reached. Returns 0,
 * or -1 and an error. */
int device_live_check(const struct device_live_config *config,
                      const struct device_live_drills *drills, struct error *error);

extern const struct drill_device_ops device_live_ops;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Address vector: destination of packets, and their Ethernet, IP and UDP headers (the envelope). */
#ifndef RNIC_AV_H
#define RNIC_AV_H

#include "device/rnic.h"
#include "wire/header_template.h"

/* Returns the encapsulation of packets sent from a GID: RoCEv1, or RoCEv2 over IPv4 or IPv6. */
enum roce_encap rnic_gid_encap(const struct rnic_gid *gid);

/* Returns true if all members of the address vector are in range and, for RoCEv2, if source and
 * destination GID use the same IP version. */
bool rnic_av_valid(const struct rnic *rnic, const struct rnic_av *av);

/* Replaces a hop limit of 0 by 64, and the ECN value CE by ECT(0). */
void rnic_av_resolve(struct rnic_av *av);

/* Returns the UDP source port for a QP or address handle that does not set one: its udp_sport is 0
 * (R012, R013). */
uint16_t rnic_av_sport(uint32_t flow, uint32_t qpn, uint32_t dest_qpn);

/* Builds the Ethernet, IP and UDP headers (the envelope) of all packets that are sent with this
 * address vector (R004, R008, R010-R012). The vector must be valid, and its defaults filled in by
 * rnic_av_resolve(). */
void rnic_av_envelope(const struct rnic *rnic, const struct rnic_av *av,
                      struct roce_header_template *env);

#endif

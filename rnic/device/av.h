/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* AV: an address vector: where packets go, and the envelope that takes them there. */
#ifndef RNIC_AV_H
#define RNIC_AV_H

#include "device/rnic.h"
#include "wire/header_template.h"

/* The envelope that a GID of the device sends in. */
enum roce_encap rnic_gid_encap(const struct rnic_gid *gid);

/* Whether every member is in its range and both ends speak the same protocol. */
bool rnic_av_valid(const struct rnic *rnic, const struct rnic_av *av);

/* Fills in what the user left to the device: hop limit, ECN. */
void rnic_av_resolve(struct rnic_av *av);

/* The UDP source port where the user chose none: R012, R013. */
uint16_t rnic_av_sport(uint32_t flow, uint32_t qpn, uint32_t dest_qpn);

/* The envelope of everything sent along a valid, resolved vector (R004, R008, R010-R012). */
void rnic_av_envelope(const struct rnic *rnic, const struct rnic_av *av,
                      struct roce_header_template *env);

#endif

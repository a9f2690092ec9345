/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CM: the management datagrams of QP1, and the private data of their programs. */
#ifndef ROCE_PLUGIN_CM_H
#define ROCE_PLUGIN_CM_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_cm_register(int proto);

/*
 * Shows the MAD in the payload of a UD packet to QP1, which starts at `offset` of `tvb` (where the
 * BTH stands at the start). Sets the Info column for CM messages. False if it is no MAD.
 */
bool roce_cm_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int offset, packet_info *pinfo,
                 proto_tree *tree);

#endif

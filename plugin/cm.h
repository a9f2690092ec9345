/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Management datagrams (MADs) to QP 1: the messages of the connection manager and their private
 * data. */
#ifndef ROCE_PLUGIN_CM_H
#define ROCE_PLUGIN_CM_H

#include "ws_compat.h"
#include "analysis_store.h"

void roce_cm_register(int proto);

/*
 * Adds the MAD in the payload of a UD packet to QP1 to the tree. For a CM message, also sets the
 * Info column. `tvb` starts at the BTH; `offset` is the offset of the payload in `tvb`. Returns
 * true, or false if the payload is not a MAD.
 */
bool roce_cm_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int offset, packet_info *pinfo,
                 proto_tree *tree);

#endif

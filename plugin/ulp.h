/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Upper-layer protocols (ULPs): passes the payload to Wireshark's dissectors for InfiniBand
 * payload. Imitates the built-in InfiniBand dissector: uses the same heuristic lists, packet data
 * and conversations.
 *
 * The protocol of a packet is the first of these that applies:
 *   1. Decode As on a QP number (table "roce.qp")
 *   2. the table of QPs in the preferences
 *   3. the service ID of the CM exchange that set up the connection
 *   4. SMC-R, if the SEND has the length of an SMC-R LLC message and contains this length in its
 *      second byte
 *   5. all heuristic dissectors, if the preference "guess" allows it
 */
#ifndef ROCE_ULP_H
#define ROCE_ULP_H

#include "ws_compat.h"
#include "analysis_store.h"

/* Registers the table "roce.qp" and, in `module`, the preference with the table of QPs. */
void roce_ulp_register(int proto, module_t *module);
void roce_ulp_handoff(void);

/* Passes a CM message to the built-in dissector, which creates its conversations from the message;
 * `tvb` starts at the BTH. Also passes the private data of the message, `data`, to the heuristic
 * dissectors. */
void roce_ulp_cm(const struct roce_pkt *pkt, const struct roce_cm_msg *msg, tvbuff_t *tvb,
                 tvbuff_t *data, packet_info *pinfo, proto_tree *tree);

/* Passes the payload, without pad bytes, to the dissector of its protocol. The payload may be
 * empty. `frame` is NULL if there is no analysis. */
void roce_ulp_payload(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                      tvbuff_t *payload, packet_info *pinfo, proto_tree *tree);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ULP: hands payload to the dissectors of upper protocols that Wireshark has for InfiniBand, in the
 * way its built-in InfiniBand dissector does: they are asked through its heuristic lists, with its
 * data about the packet and its conversations.
 *
 * Which protocol a connection carries is decided once, not guessed packet by packet. In this order:
 *   1. Decode As on a QP number (table "roce.qp")
 *   2. the table of QPs in the preferences
 *   3. the service id of the CM exchange that set it up
 *   4. a SEND that is an SMC-R control message by length and length field
 *   5. all heuristic dissectors, if the preferences say so
 */
#ifndef ROCE_ULP_H
#define ROCE_ULP_H

#include "ws_compat.h"
#include "analysis_store.h"

/* `module`: where the table of QPs is added. */
void roce_ulp_register(int proto, module_t *module);
void roce_ulp_handoff(void);

/* A CM message: lets the built-in dissector learn from it (`tvb` starts at the BTH), and shows the
 * private data in `data` if a protocol knows it. */
void roce_ulp_cm(const struct roce_pkt *pkt, const struct roce_cm_msg *msg, tvbuff_t *tvb,
                 tvbuff_t *data, packet_info *pinfo, proto_tree *tree);

/* Payload without pad; may be empty. `frame` may be NULL. */
void roce_ulp_payload(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                      tvbuff_t *payload, packet_info *pinfo, proto_tree *tree);

#endif

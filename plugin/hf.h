/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header fields: registers and adds the fields of all headers. The fields are generated from the
 * tables of rnic/wire: a row of headers.def becomes the display filter field roce.HEADER.FIELD.
 */
#ifndef PLUGIN_HF_H
#define PLUGIN_HF_H

#include "ws_compat.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/pkt.h"

/* Index of a header: first the transport headers, then the MAD header, then the CM messages with
 * the RDMA-IP header. */
typedef unsigned roce_header_id;
#define ROCE_HEADER_TRANSPORT(hdr) ((roce_header_id)(hdr))
#define ROCE_HEADER_MAD            ((roce_header_id)ROCE_HDR_CNT)
#define ROCE_HEADER_CM(cm)         ((roce_header_id)ROCE_HDR_CNT + 1 + (roce_header_id)(cm))
#define ROCE_HEADER_CNT            ROCE_HEADER_CM(ROCE_CM_CNT)

/* Registers all fields of all headers, and a subtree for each header. Called once, by
 * proto_register_roce(). */
void roce_hf_register(int proto);

/* Returns true if the field must be added: it is displayed, or a filter, column or tap refers to
 * it. Calling this function is cheaper than adding an item. */
bool roce_hf_is_wanted(proto_tree *tree, const header_field_info *field);

/* Adds the subtree of the header at `offset` of `tvb`. Adds only fields for which
 * roce_hf_is_wanted() returns true. If the header was not captured completely, raises Wireshark's
 * truncation exception. */
void roce_hf_add_header(roce_header_id id, tvbuff_t *tvb, int offset, proto_tree *tree);

#endif

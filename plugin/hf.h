/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields: the codec's tables of headers as Wireshark's fields and subtrees. Nothing is typed twice:
 * a row of headers.def is the filter roce.<header>.<field>.
 */
#ifndef PLUGIN_HF_H
#define PLUGIN_HF_H

#include "ws_compat.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/pkt.h"

/* A header of any table: transport headers, MAD header, CM messages with the RDMA-IP header. */
typedef unsigned roce_header_id;
#define ROCE_HEADER_TRANSPORT(hdr) ((roce_header_id)(hdr))
#define ROCE_HEADER_MAD            ((roce_header_id)ROCE_HDR_CNT)
#define ROCE_HEADER_CM(cm)         ((roce_header_id)ROCE_HDR_CNT + 1 + (roce_header_id)(cm))
#define ROCE_HEADER_CNT            ROCE_HEADER_CM(ROCE_CM_CNT)

/* Registers every field of these headers and a subtree for each. Called once, from
 * proto_register_roce(). */
void roce_hf_register(int proto);

/* Whether anybody looks at this field of the tree: it is shown, or a filter, a column or a tap
 * asked for it. To put an item where nobody looks costs more than to find out. */
bool roce_hf_is_wanted(proto_tree *tree, const header_field_info *field);

/* Adds the subtree of one header, at `offset` of `tvb`, as far as the tvb has its bytes: those of
 * its fields that somebody reads. */
void roce_hf_add_header(roce_header_id id, tvbuff_t *tvb, int offset, proto_tree *tree);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reassembly.h"

#include <epan/reassemble.h>

static reassembly_table messages;
static int ett_fragment = -1;
static int ett_fragments = -1;

/* Fields roce.message.*: Wireshark's reassembly functions require exactly these fields. */
/* clang-format off */
static int hf_fragments = -1, hf_fragment = -1, hf_overlap = -1, hf_conflict = -1, hf_tails = -1,
           hf_too_long = -1, hf_error = -1, hf_count = -1, hf_in = -1, hf_length = -1, hf_data = -1;
/* clang-format on */

static const fragment_items items = {
    &ett_fragment, &ett_fragments, &hf_fragments, &hf_fragment,   &hf_overlap,
    &hf_conflict,  &hf_tails,      &hf_too_long,  &hf_error,      &hf_count,
    &hf_in,        &hf_length,     &hf_data,      "RDMA packets",
};

void roce_reassembly_register(int proto)
{
#define FRAME(id, name, label)                                                                     \
    {                                                                                              \
        &hf_##id,                                                                                  \
        {                                                                                          \
            label, "roce.message." name, FT_FRAMENUM, BASE_NONE, NULL, 0, NULL, HFILL              \
        }                                                                                          \
    }
#define BOOL(id, name, label)                                                                      \
    {                                                                                              \
        &hf_##id,                                                                                  \
        {                                                                                          \
            label, "roce.message." name, FT_BOOLEAN, BASE_NONE, NULL, 0, NULL, HFILL               \
        }                                                                                          \
    }
#define UINT(id, name, label)                                                                      \
    {                                                                                              \
        &hf_##id,                                                                                  \
        {                                                                                          \
            label, "roce.message." name, FT_UINT32, BASE_DEC, NULL, 0, NULL, HFILL                 \
        }                                                                                          \
    }
    static hf_register_info hf[] = {
        {&hf_fragments,
         {"Message packets", "roce.message.fragments", FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL}},
        FRAME(fragment, "fragment", "Message packet"),
        BOOL(overlap, "overlap", "Packet overlap"),
        BOOL(conflict, "overlap.conflict", "Conflicting data in packet overlap"),
        BOOL(tails, "multiple_tails", "Multiple last packets"),
        BOOL(too_long, "too_long", "The packet is longer than the rest of the message"),
        FRAME(error, "error", "Reassembly error"),
        UINT(count, "count", "Message packet count"),
        FRAME(in, "reassembled_in", "Reassembled message in frame"),
        UINT(length, "length", "Reassembled message length"),
        {&hf_data,
         {"Reassembled message data", "roce.message.data", FT_BYTES, BASE_NONE, NULL, 0, NULL,
          HFILL}},
    };
#undef FRAME
#undef BOOL
#undef UINT
    static int *subtrees[] = {&ett_fragment, &ett_fragments};

    proto_register_field_array(proto, hf, array_length(hf));
    proto_register_subtree_array(subtrees, array_length(subtrees));
    reassembly_table_register(&messages, &addresses_reassembly_table_functions);
}

tvbuff_t *roce_reassembly_add(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                              tvbuff_t *payload, packet_info *pinfo, proto_tree *tree)
{
    const struct roce_flow_result *r = &frame->result;
    fragment_head *head;

    if (pkt->payload_cap_len < pkt->payload_len)
        return pkt->op->pos == ROCE_POS_FIRST && !frame->skip_payload ? payload : NULL;
    if (!roce_store_is_first_placement(frame))
        return NULL;
    /* the message is identified by the frame number of its first packet */
    head = fragment_add_check(&messages, payload, 0, pinfo, r->msg_first_frame, NULL,
                              (guint32)r->msg_offset, pkt->payload_len, !roce_opcode_ends(pkt->op));
    return process_reassembled_data(payload, 0, pinfo, "Reassembled message", head, &items, NULL,
                                    tree);
}

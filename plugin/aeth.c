/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aeth.h"

#include <string.h>
#include "wire/codes.h"

static int hf_kind = -1;
static int hf_credits = -1;
static int hf_rnr_wait = -1;
static int hf_nak = -1;

static const value_string kinds[] = {
    {ROCE_SYN_ACK, "ACK"},
    {ROCE_SYN_RNR, "RNR NAK"},
    {ROCE_SYN_NAK, "NAK"},
    {ROCE_SYN_RESERVED, "reserved"},
    {0, NULL},
};

void roce_aeth_register(int proto)
{
    static value_string naks[ROCE_NAK_INVALID_RD_REQ + 2];
    static hf_register_info hf[] = {
        {&hf_kind,
         {"Kind", "roce.aeth.kind", FT_UINT8, BASE_DEC, VALS(kinds), 0,
          "Kind of acknowledgement: bits 6:5 of the syndrome", HFILL}},
        {&hf_credits,
         {"Credits", "roce.aeth.credits", FT_UINT32, BASE_DEC, NULL, 0,
          "Number of free receive WQEs that the credit code announces; absent if the credits are "
          "not valid",
          HFILL}},
        {&hf_rnr_wait,
         {"RNR timer", "roce.aeth.rnr_wait", FT_RELATIVE_TIME, BASE_NONE, NULL, 0,
          "Minimum time that the requester waits before it retransmits the request", HFILL}},
        {&hf_nak, {"NAK", "roce.aeth.nak", FT_UINT8, BASE_DEC, VALS(naks), 0, "NAK code", HFILL}},
    };

    for (unsigned code = 0; code <= ROCE_NAK_INVALID_RD_REQ; code++) {
        char text[80];
        const char *name =
            roce_syndrome_text((uint8_t)(ROCE_SYNDROME_NAK | code), text, sizeof(text));

        naks[code].value = code;
        naks[code].strptr = g_strdup(strncmp(name, "NAK, ", 5) == 0 ? name + 5 : name);
    }
    proto_register_field_array(proto, hf, array_length(hf));
}

void roce_aeth_add(const struct roce_aeth *aeth, tvbuff_t *tvb, int offset, proto_tree *tree)
{
    enum roce_syndrome_kind kind = roce_syndrome_kind(aeth->syndrome);
    uint8_t code = roce_syndrome_code(aeth->syndrome);
    proto_item *item = proto_tree_add_uint(tree, hf_kind, tvb, offset, 1, kind);

    proto_item_set_generated(item);
    switch (kind) {
    case ROCE_SYN_ACK:
        if (code == ROCE_CREDIT_NONE)
            return;
        item = proto_tree_add_uint(tree, hf_credits, tvb, offset, 1, roce_credits(code));
        break;
    case ROCE_SYN_RNR:
        item = roce_ws_add_time(tree, hf_rnr_wait, tvb, offset, 1, roce_rnr_ns(code));
        break;
    case ROCE_SYN_NAK: item = proto_tree_add_uint(tree, hf_nak, tvb, offset, 1, code); break;
    case ROCE_SYN_RESERVED: return;
    }
    proto_item_set_generated(item);
}

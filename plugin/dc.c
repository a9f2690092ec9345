/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dc.h"

#include "hf.h"

#define DC_QP_AT 1 /* offset of the source QPN in the DC header, bytes */

static int hf_dc = -1;
static int hf_src_qp = -1;
static int ett_dc = -1;
static expert_field ei_dc = EI_INIT;

void roce_dc_register(int proto)
{
    static hf_register_info hf[] = {
        {&hf_dc,
         {"Dynamically connected transport header", "roce.dc", FT_BYTES, BASE_NONE, NULL, 0,
          "20 bytes of the DC transport header, which has no public specification", HFILL}},
        {&hf_src_qp,
         {"Source QP", "roce.dc.src_qp", FT_UINT24, BASE_HEX, NULL, 0,
          "Source QP; the position of this field was observed in packets of ConnectX adapters",
          HFILL}},
    };
    static int *subtrees[] = {&ett_dc};
    static ei_register_info experts[] = {
        {&ei_dc,
         {"roce.dc.unspecified", PI_UNDECODED, PI_NOTE,
          "NVIDIA's dynamically connected transport has no public specification: not analysed",
          EXPFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
    proto_register_subtree_array(subtrees, array_length(subtrees));
    expert_register_field_array(expert_register_protocol(proto), experts, array_length(experts));
}

const char *roce_dc_text(struct line *text, const struct roce_pkt *pkt)
{
    line_add_text(text, "DC ");
    line_add_text(text, pkt->op->name + strlen("RD "));
    line_add_text(text, " ");
    line_add_hex(text, roce_dc_src_qp(pkt), 6);
    line_add_text(text, "\xe2\x86\x92");
    line_add_hex(text, pkt->bth.dest_qp, 6);
    line_add_text(text, " PSN ");
    line_add_dec(text, pkt->bth.psn);
    if (roce_dc_like(pkt)->payload != ROCE_PAYLOAD_NONE) {
        line_add_text(text, " len ");
        line_add_dec(text, roce_dc_payload_len(pkt));
    }
    return line_finish(text);
}

int roce_dc_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int base, packet_info *pinfo,
                proto_tree *tree)
{
    int bth = pkt->off[ROCE_HDR_BTH] + base, at = bth + roce_hdr_info(ROCE_HDR_BTH)->len;
    int end = (int)pkt->icrc_off + base, captured = (int)tvb_captured_length(tvb);
    const struct roce_opcode *op = roce_dc_like(pkt);
    /* The snaplen may cut off the end of the DC header. Its first 4 bytes were captured, because
     * roce_dc_is() recognized the packet by them. */
    int here = MIN((int)ROCE_DC_LEN, captured - at);
    proto_item *item = proto_tree_add_item(tree, hf_dc, tvb, at, here, ENC_NA);

    expert_add_info(pinfo, item, &ei_dc);
    proto_tree_add_item(proto_item_add_subtree(item, ett_dc), hf_src_qp, tvb, at + DC_QP_AT, 3,
                        ENC_BIG_ENDIAN);
    end = MIN(end, captured);
    for (unsigned i = 0; i < op->hdr_cnt; i++) {
        int len = roce_hdr_info((enum roce_hdr)op->hdr[i])->len;
        int off = bth + (int)ROCE_DC_LEN + op->hdr_off[i];

        if (off + len > end)
            break;
        roce_hf_add_header(ROCE_HEADER_TRANSPORT(op->hdr[i]), tvb, off, tree);
    }
    return bth + op->len + (int)ROCE_DC_LEN;
}

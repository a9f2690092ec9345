/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RoCEv2 dissector: walks the codec's view of a packet and shows it.
 *
 * It is given the payload of UDP port 4791. The ICRC covers the IP and UDP headers too, so the
 * packet is parsed from its IP header on, which stands right before, in the same frame.
 */
#include "packet-roce.h"

#include "fields.h"
#include "wire/codes.h"

static int proto_roce = -1;
static int hf_roce_icrc = -1;
static int hf_roce_icrc_status = -1;
static int hf_roce_payload_len = -1;
static int ett_roce = -1;
static expert_field ei_roce_icrc_bad = EI_INIT;
static dissector_handle_t roce_handle;
static dissector_handle_t data_handle;

/* roce.check_icrc: on by default, the check costs less than Wireshark's own bookkeeping. */
static roce_ws_bool check_icrc = TRUE;

/*
 * Parses the packet whose BTH is at the start of `tvb`. `*base` receives the offset of pkt->frame
 * relative to the tvb (negative: the IP header stands before it).
 */
static int parse(struct roce_pkt *pkt, tvbuff_t *tvb, int *base)
{
    tvbuff_t *whole = tvb_get_ds_tvb(tvb);
    int bth_off = tvb_raw_offset(tvb);
    int cap_len = (int)tvb_captured_length(whole);
    int wire_len = (int)tvb_reported_length(whole);
    static const struct {
        int version;
        int len;
    } ip[] = {{4, ROCE_IP4_LEN}, {6, ROCE_IP6_LEN}};

    for (unsigned i = 0; i < array_length(ip); i++) {
        int ip_off = bth_off - ROCE_UDP_LEN - ip[i].len;
        const guint8 *p;

        if (ip_off < 0 || tvb_get_guint8(whole, ip_off) >> 4 != ip[i].version)
            continue;
        p = tvb_get_ptr(whole, ip_off, cap_len - ip_off);
        *base = ip_off - bth_off;
        if (roce_pkt_parse(pkt, ROCE_LINK_IP, p, (size_t)(cap_len - ip_off),
                           (size_t)(wire_len - ip_off)) == ROCE_OK &&
            pkt->off[ROCE_HDR_BTH] == bth_off - ip_off)
            return ROCE_OK;
    }
    /* IP options, or a tunnel without the outer header in one piece: BTH alone. */
    *base = 0;
    cap_len = (int)tvb_captured_length(tvb);
    return roce_pkt_parse(pkt, ROCE_LINK_BTH, tvb_get_ptr(tvb, 0, cap_len), (size_t)cap_len,
                          tvb_reported_length(tvb));
}

/* "RC WRITE First, QP 0x000011, PSN 1024, ..." */
static void summary(const struct roce_pkt *pkt, wmem_strbuf_t *text)
{
    char buf[80];

    wmem_strbuf_append_printf(text, "%s QP 0x%06x PSN %u", pkt->op->name, pkt->bth.dest_qp,
                              pkt->bth.psn);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        wmem_strbuf_append_printf(text, " %s MSN %u",
                                  roce_syndrome_text(pkt->aeth.syndrome, buf, sizeof(buf)),
                                  pkt->aeth.msn);
    if (pkt->payload_len)
        wmem_strbuf_append_printf(text, " len %u", pkt->payload_len);
    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        wmem_strbuf_append_printf(text, " of %u", pkt->reth.dma_len);
}

/* The communication manager's messages in the payload of QP1. Returns whether it was one. */
static gboolean add_cm(const struct roce_pkt *pkt, tvbuff_t *tvb, packet_info *pinfo,
                       proto_tree *tree, int base)
{
    int offset = (int)pkt->payload_off + base;
    struct roce_cm_msg msg;
    struct roce_cm_rdmaip rdmaip;

    if (roce_cm_msg_of_pkt(&msg, pkt) != ROCE_OK)
        return FALSE;
    col_add_fstr(pinfo->cinfo, COL_INFO, "CM %s TID 0x%" PRIx64, roce_cm_name(msg.kind),
                 msg.mad.tid);
    roce_fields_add(ROCE_BLOCK_MAD, tvb, offset, tree);
    roce_fields_add(ROCE_BLOCK_CM(msg.kind), tvb, offset + ROCE_MAD_LEN, tree);
    if (roce_cm_rdmaip_read(&rdmaip, &msg) == ROCE_OK) {
        const struct roce_field *data = roce_field_find(roce_cm_info(msg.kind), "private_data");

        roce_fields_add(ROCE_BLOCK_CM(ROCE_CM_RDMAIP), tvb, offset + ROCE_MAD_LEN + data->byte,
                        tree);
    }
    return TRUE;
}

static void add_icrc(const struct roce_pkt *pkt, tvbuff_t *tvb, packet_info *pinfo,
                     proto_tree *tree, int base)
{
    enum roce_icrc_status status = ROCE_ICRC_UNVERIFIED;
    guint32 expected = 0;
    int offset = (int)pkt->icrc_off + base;

    if (!tvb_bytes_exist(tvb, offset, ROCE_ICRC_LEN))
        return;
    if (check_icrc)
        status = roce_pkt_icrc_check(pkt, &expected);
    proto_tree_add_checksum(tree, tvb, offset, hf_roce_icrc, hf_roce_icrc_status, &ei_roce_icrc_bad,
                            pinfo, expected, ENC_LITTLE_ENDIAN,
                            status == ROCE_ICRC_UNVERIFIED ? PROTO_CHECKSUM_NO_FLAGS
                                                           : PROTO_CHECKSUM_VERIFY);
}

static int dissect_roce(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    struct roce_pkt pkt;
    wmem_strbuf_t *text;
    proto_tree *sub;
    proto_item *item;
    int base;

    if (parse(&pkt, tvb, &base) != ROCE_OK)
        return 0;
    text = wmem_strbuf_new(pinfo->pool, NULL);
    summary(&pkt, text);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "RoCE");
    col_add_str(pinfo->cinfo, COL_INFO, wmem_strbuf_get_str(text));

    item = proto_tree_add_item(tree, proto_roce, tvb, 0, -1, ENC_NA);
    proto_item_append_text(item, ", %s", wmem_strbuf_get_str(text));
    sub = proto_item_add_subtree(item, ett_roce);
    roce_fields_add_defects(&pkt, pinfo, item);
    roce_fields_add(ROCE_BLOCK_HDR(ROCE_HDR_BTH), tvb, (int)pkt.off[ROCE_HDR_BTH] + base, sub);
    for (unsigned i = 0; i < pkt.op->hdr_cnt; i++)
        if (roce_pkt_has(&pkt, pkt.op->hdr[i]))
            roce_fields_add(ROCE_BLOCK_HDR(pkt.op->hdr[i]), tvb,
                            (int)pkt.off[pkt.op->hdr[i]] + base, sub);
    item = proto_tree_add_uint(sub, hf_roce_payload_len, tvb, 0, 0, pkt.payload_len);
    proto_item_set_generated(item);
    add_icrc(&pkt, tvb, pinfo, sub, base);
    if (!add_cm(&pkt, tvb, pinfo, sub, base) && pkt.payload_cap_len) {
        tvbuff_t *payload = tvb_new_subset_length_caplen(
            tvb, (int)pkt.payload_off + base, (int)pkt.payload_cap_len, (int)pkt.payload_len);

        call_dissector(data_handle, payload, pinfo, tree);
    }
    return (int)tvb_captured_length(tvb);
}

/* At the start of each file: takes UDP 4791 as a changed entry, which the UDP dissector tries
 * before any other port's; a Decode As of the user's own stays. */
static void take_port(void)
{
    if (!dissector_is_uint_changed(find_dissector_table("udp.port"), ROCE_UDP_PORT))
        dissector_change_uint("udp.port", ROCE_UDP_PORT, roce_handle);
}

void proto_register_roce(void)
{
    static hf_register_info hf[] = {
        {&hf_roce_icrc,
         {"ICRC", "roce.icrc", FT_UINT32, BASE_HEX, NULL, 0, "Invariant CRC (Annex A17)", HFILL}},
        {&hf_roce_icrc_status,
         {"ICRC status", "roce.icrc.status", FT_UINT8, BASE_NONE, VALS(proto_checksum_vals), 0,
          NULL, HFILL}},
        {&hf_roce_payload_len,
         {"Payload length", "roce.payload_len", FT_UINT32, BASE_DEC, NULL, 0,
          "Bytes of payload, without pad", HFILL}},
    };
    static int *subtrees[] = {&ett_roce};
    static ei_register_info experts[] = {
        {&ei_roce_icrc_bad,
         {"roce.icrc.bad", PI_CHECKSUM, PI_ERROR, "Bad ICRC: the receiver drops this packet",
          EXPFILL}},
    };
    module_t *module;

    proto_roce = proto_register_protocol("RDMA over Converged Ethernet", "RoCE", "roce");
    proto_register_field_array(proto_roce, hf, array_length(hf));
    proto_register_subtree_array(subtrees, array_length(subtrees));
    expert_register_field_array(expert_register_protocol(proto_roce), experts,
                                array_length(experts));
    roce_fields_register(proto_roce);
    roce_handle = register_dissector("roce", dissect_roce, proto_roce);
    module = prefs_register_protocol(proto_roce, NULL);
    prefs_register_bool_preference(module, "check_icrc", "Verify the ICRC",
                                   "Compute the invariant CRC of each packet and compare",
                                   &check_icrc);
    register_init_routine(take_port);
}

void proto_reg_handoff_roce(void)
{
    data_handle = find_dissector("data");
    dissector_add_for_decode_as("udp.port", roce_handle);
}

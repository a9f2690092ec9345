/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cm.h"

#include "hf.h"
#include "info_column.h"
#include "ulp.h"

static int hf_service = -1;
static int hf_src_ip4 = -1;
static int hf_dst_ip4 = -1;
static expert_field ei_message = EI_INIT;
static expert_field ei_reject = EI_INIT;
static expert_field ei_cut = EI_INIT;
static expert_field ei_malformed = EI_INIT;

void roce_cm_register(int proto)
{
    static hf_register_info hf[] = {
        {&hf_service,
         {"Service", "roce.cm.service", FT_STRINGZ, BASE_NONE, NULL, 0,
          "Service ID as text; a port number if the service ID belongs to the IP CM service (Annex "
          "A11)",
          HFILL}},
        {&hf_src_ip4,
         {"Source address (IPv4)", "roce.cm.rdmaip.src_ip4", FT_IPv4, BASE_NONE, NULL, 0, NULL,
          HFILL}},
        {&hf_dst_ip4,
         {"Destination address (IPv4)", "roce.cm.rdmaip.dst_ip4", FT_IPv4, BASE_NONE, NULL, 0, NULL,
          HFILL}},
    };
    static ei_register_info experts[] = {
        {&ei_message,
         {"roce.cm.message", PI_SEQUENCE, PI_CHAT, "Connection management message", EXPFILL}},
        {&ei_reject, {"roce.cm.reject", PI_SEQUENCE, PI_WARN, "Connection rejected", EXPFILL}},
        {&ei_cut,
         {"roce.cm.cut", PI_UNDECODED, PI_CHAT, "CM message truncated by the snap length",
          EXPFILL}},
        {&ei_malformed,
         {"roce.cm.malformed", PI_MALFORMED, PI_WARN,
          "The MAD is not 256 bytes long or has an unsupported version: the receiver drops it",
          EXPFILL}},
    };

    proto_register_field_array(proto, hf, array_length(hf));
    expert_register_field_array(expert_register_protocol(proto), experts, array_length(experts));
}

static void add_service(uint64_t service_id, tvbuff_t *tvb, proto_tree *tree)
{
    char buf[80];

    proto_item_set_generated(proto_tree_add_string(
        tree, hf_service, tvb, 0, 0, roce_service_text(service_id, buf, sizeof(buf))));
}

/* Adds the IP CM header (RDMA-IP) at the start of the private data. Returns its length, or 0 if the
 * message has no such header. */
static int add_rdmaip(const struct roce_cm_msg *msg, tvbuff_t *tvb, int offset, proto_tree *tree)
{
    const struct roce_hdr_info *info = roce_cm_info(ROCE_CM_RDMAIP);
    struct roce_cm_rdmaip ip;

    if (roce_cm_rdmaip_read(&ip, msg) != ROCE_OK)
        return 0;
    roce_hf_add_header(ROCE_HEADER_CM(ROCE_CM_RDMAIP), tvb, offset, tree);
    if (ip.ipv == 4) { /* an IPv4 address is in the last 4 of 16 bytes */
        int src = offset + roce_field_find(info, "src")->byte + 12;
        int dst = offset + roce_field_find(info, "dst")->byte + 12;

        proto_tree_add_item(tree, hf_src_ip4, tvb, src, 4, ENC_BIG_ENDIAN);
        proto_tree_add_item(tree, hf_dst_ip4, tvb, dst, 4, ENC_BIG_ENDIAN);
    }
    return ROCE_CM_RDMAIP_LEN;
}

static void add_message(const struct roce_pkt *pkt, const struct roce_cm_msg *msg, tvbuff_t *tvb,
                        int offset, packet_info *pinfo, proto_tree *tree)
{
    const struct roce_field *data = roce_field_find(roce_cm_info(msg->kind), "private_data");
    int at = offset + ROCE_MAD_LEN + data->byte, len = data->width / 8, used = 0;

    roce_hf_add_header(ROCE_HEADER_CM(msg->kind), tvb, offset + ROCE_MAD_LEN, tree);
    switch (msg->kind) {
    case ROCE_CM_REQ:
        add_service(msg->req.service_id, tvb, tree);
        used = add_rdmaip(msg, tvb, at, tree);
        break;
    case ROCE_CM_SIDR_REQ:
        add_service(msg->sidr_req.service_id, tvb, tree);
        used = add_rdmaip(msg, tvb, at, tree);
        break;
    default: break;
    }
    roce_ulp_cm(pkt, msg, tvb, tvb_new_subset_length(tvb, at + used, len - used), pinfo, tree);
}

bool roce_cm_add(const struct roce_pkt *pkt, tvbuff_t *tvb, int offset, packet_info *pinfo,
                 proto_tree *tree)
{
    struct roce_cm_msg msg;
    wmem_strbuf_t *text;
    int result;

    if (pkt->op->svc != ROCE_SVC_UD || pkt->bth.dest_qp != ROCE_QP_GSI ||
        pkt->payload_cap_len < ROCE_MAD_LEN)
        return false;
    result = roce_cm_msg_of_pkt(&msg, pkt);
    roce_hf_add_header(ROCE_HEADER_MAD, tvb, offset, tree);
    if (result == ROCE_ERR_MALFORMED)
        proto_tree_add_expert(tree, pinfo, &ei_malformed, tvb, offset, -1);
    if (result == ROCE_ERR_CUT)
        proto_tree_add_expert(tree, pinfo, &ei_cut, tvb, offset, -1);
    if (result != ROCE_OK)
        return true;
    text = wmem_strbuf_new(pinfo->pool, NULL);
    roce_info_column_cm(text, &msg);
    col_add_str(pinfo->cinfo, COL_INFO, wmem_strbuf_get_str(text));
    /* The expert info itself has a fixed text, so that `tshark -z expert` counts all such messages
     * together. Only the tree item contains the text for this message. */
    proto_item_set_text(proto_tree_add_expert(tree, pinfo,
                                              msg.kind == ROCE_CM_REJ ? &ei_reject : &ei_message,
                                              tvb, offset, ROCE_MAD_SIZE),
                        "%s", wmem_strbuf_get_str(text));
    add_message(pkt, &msg, tvb, offset, pinfo, tree);
    return true;
}

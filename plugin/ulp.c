/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ulp.h"

#include <epan/conversation.h>
#include <epan/decode_as.h>
#include <epan/exceptions.h>
#include <epan/proto_data.h>
#include <epan/uat.h>
#include <string.h>

#include <epan/dissectors/packet-infiniband.h>

#include "prefs.h"
#include "reassembly.h"
#include "wire/bytes.h"
#include "wire/codes.h"

#define TABLE "roce.qp"
/* Length of every SMC-R LLC message, bytes. The second byte of the message contains this value. */
#define SMC_LLC_LEN 44

/*
 * The upper-layer protocols. Columns: name of the dissector in Wireshark's heuristic list
 * "infiniband.payload", title, and up to two TCP ports that a service ID of the protocol can
 * contain (0: none). Sources of the ports: IANA; for LNet, ko2iblnd of Lustre.
 */
/* clang-format off */
#define ULPS(U)                                                        \
    U(NVME,      "nvme-rdma",  "NVMe over RDMA",         4420,  0)      \
    U(ISER,      "iser",       "iSER (iSCSI over RDMA)", 3260,  860)    \
    U(RPC,       "rpcordma",   "RPC over RDMA (NFS)",    20049, 2050)   \
    U(SMB,       "smb_direct", "SMB Direct",             445,   5445)   \
    U(LNET,      "lnet",       "Lustre LNet",            987,   988)    \
    U(SMC,       "smc",        "SMC-R",                  0,     0)
/* clang-format on */

enum ulp {
#define U(ID, filter, title, port1, port2) ULP_##ID,
    ULPS(U)
#undef U
        ULP_CNT,
    ULP_NONE = ULP_CNT
};

static const struct {
    const char *filter, *title;
    uint16_t port[2];
} ulps[ULP_CNT] = {
#define U(ID, filter, title, port1, port2) {filter, title, {port1, port2}},
    ULPS(U)
#undef U
};

static const value_string ulp_names[] = {
#define U(ID, filter, title, port1, port2) {ULP_##ID, title},
    ULPS(U)
#undef U
        {0, NULL},
};

/* A row of the preference that maps QPs to protocols. */
struct qp_mapping {
    guint32 qpn; /* QP of the passive side (target or server) */
    guint32 ulp;
};

static int proto_roce = -1;
static int proto_ib = -1;
static dissector_handle_t builtin, data_handle;
static dissector_table_t by_qp;
static heur_dissector_list_t payload_list, cm_list;
static heur_dtbl_entry_t *heuristics[ULP_CNT];
/* Dissector of each protocol; NULL: this version of Wireshark does not support the protocol. */
static dissector_handle_t handles[ULP_CNT];
static struct qp_mapping *mappings;
static guint mapping_cnt;

/* Argument of the dissectors in `handles`. */
struct ulp_call {
    struct infinibandinfo info;
    bool named; /* true: the user named the protocol of this QP (Decode As or preferences) */
    bool to_server;
};

UAT_DEC_CB_DEF(qp_mapping, qpn, struct qp_mapping)
UAT_VS_DEF(qp_mapping, ulp, struct qp_mapping, guint32, ULP_NVME, "NVMe over RDMA")

/* ---- calling a dissector -----------------------------------------------------------------------
 */

/* Adds the conversations that Wireshark creates from the CM exchange of a connection, unless they
 * exist. The dissectors of NVMe and iSER read the port of the service from these conversations.
 * Called if the user named the protocol of the QP: the capture may then lack the CM exchange. */
static void add_cm_conversations(enum ulp ulp, bool to_server, packet_info *pinfo)
{
    conversation_infiniband_data *data;
    conversation_t *conv;

    if (PINFO_FD_VISITED(pinfo) || ulps[ulp].port[0] == 0)
        return;
    conv = find_conversation(pinfo->num, &pinfo->dst, &pinfo->dst, CONVERSATION_IBQP,
                             pinfo->destport, pinfo->destport, NO_ADDR_B | NO_PORT_B);
    if (!conv)
        conv = conversation_new(pinfo->num, &pinfo->dst, &pinfo->dst, CONVERSATION_IBQP,
                                pinfo->destport, pinfo->destport, NO_ADDR2 | NO_PORT2);
    data = (conversation_infiniband_data *)conversation_get_proto_data(conv, proto_ib);
    if (!data) {
        data = wmem_new0(wmem_file_scope(), conversation_infiniband_data);
        data->service_id = roce_cm_sid(ROCE_CM_PS_TCP, ulps[ulp].port[0]);
        data->client_to_server = to_server;
        data->src_qp = pinfo->srcport;
        conversation_add_proto_data(conv, proto_ib, data);
    }
    conv = find_conversation(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_IBQP,
                             pinfo->srcport, pinfo->destport, 0);
    if (!conv)
        conv = conversation_new(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_IBQP,
                                pinfo->srcport, pinfo->destport, 0);
    if (!conversation_get_proto_data(conv, proto_ib))
        conversation_add_proto_data(conv, proto_ib, data);
}

/* Calls the heuristic dissector of a protocol. Returns true if it accepts the payload. */
static bool call_heuristic(enum ulp ulp, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                           struct infinibandinfo *info)
{
    heur_dtbl_entry_t *e = heuristics[ulp];
    const char *saved_proto = pinfo->current_proto;
    bool took;

    if (!e || !e->enabled || (e->protocol && !proto_is_protocol_enabled(e->protocol)))
        return false;
    if (e->protocol)
        pinfo->current_proto = proto_get_protocol_short_name(e->protocol);
    took = e->dissector(tvb, pinfo, tree, info) != 0;
    pinfo->current_proto = saved_proto;
    return took;
}

/* Dissects a payload as protocol `ulp`. Wireshark passes no user data to a dissector of the table
 * "roce.qp", so each protocol has a separate function that calls dissect_ulp(). */
static int dissect_ulp(enum ulp ulp, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                       void *data)
{
    struct ulp_call *call = (struct ulp_call *)data;

    if (!call)
        return 0;
    if (call->named)
        add_cm_conversations(ulp, call->to_server, pinfo);
    return call_heuristic(ulp, tvb, pinfo, tree, &call->info)
               ? MAX(1, (int)tvb_captured_length(tvb))
               : 0;
}

#define U(ID, filter, title, port1, port2)                                                         \
    static int dissect_##ID(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)       \
    {                                                                                              \
        return dissect_ulp(ULP_##ID, tvb, pinfo, tree, data);                                      \
    }
ULPS(U)
#undef U

/* ---- finding the protocol ----------------------------------------------------------------------
 */

static enum ulp ulp_of_service(uint64_t service_id)
{
    if (!roce_cm_sid_is_ip(service_id) || roce_cm_sid_space(service_id) != ROCE_CM_PS_TCP)
        return ULP_NONE;
    for (unsigned i = 0; i < ULP_CNT; i++)
        for (unsigned p = 0; p < array_length(ulps[i].port); p++)
            if (ulps[i].port[p] && ulps[i].port[p] == roce_cm_sid_port(service_id))
                return (enum ulp)i;
    return ULP_NONE;
}

static uint64_t find_service_id(const struct roce_frame_info *frame, packet_info *pinfo)
{
    const struct roce_stream_info *stream =
        frame ? roce_store_stream(frame->result.conn_index) : NULL;
    const conversation_infiniband_data *data;
    conversation_t *conv;

    if (stream)
        return stream->service_id;
    conv = find_conversation(pinfo->num, &pinfo->dst, &pinfo->dst, CONVERSATION_IBQP,
                             pinfo->destport, pinfo->destport, NO_ADDR_B | NO_PORT_B);
    data =
        conv ? (conversation_infiniband_data *)conversation_get_proto_data(conv, proto_ib) : NULL;
    return data ? data->service_id : 0;
}

static enum ulp ulp_of_mapping(packet_info *pinfo, bool *to_server)
{
    for (guint i = 0; i < mapping_cnt; i++) {
        *to_server = mappings[i].qpn == pinfo->destport;
        if (*to_server || mappings[i].qpn == pinfo->srcport)
            return (enum ulp)mappings[i].ulp;
    }
    return ULP_NONE;
}

/* Returns true if the protocol is known without inspecting the payload: from Decode As, the
 * preferences or the CM exchange. */
static bool is_ulp_known(const struct roce_frame_info *frame, packet_info *pinfo)
{
    bool to_server;

    return dissector_get_uint_handle(by_qp, pinfo->destport) ||
           dissector_get_uint_handle(by_qp, pinfo->srcport) ||
           ulp_of_mapping(pinfo, &to_server) != ULP_NONE ||
           ulp_of_service(find_service_id(frame, pinfo)) != ULP_NONE;
}

static bool is_smc_llc(const struct roce_pkt *pkt)
{
    return pkt->op->kind == ROCE_KIND_SEND && pkt->op->pos == ROCE_POS_ONLY &&
           pkt->payload_cap_len == SMC_LLC_LEN && pkt->payload_len == SMC_LLC_LEN &&
           pkt->payload[1] == SMC_LLC_LEN;
}

/* ---- dissecting a payload ----------------------------------------------------------------------
 */

static void fill_info(struct infinibandinfo *info, const struct roce_pkt *pkt, proto_tree *tree)
{
    memset(info, 0, sizeof(*info));
    ROCE_WS_SENDS_ARE_WHOLE(info); /* this plugin reassembles SENDs itself */
    info->payload_tree = tree;
    info->opCode = pkt->bth.opcode;
    info->packet_seq_num = pkt->bth.psn;
    /* The dissector gets the payload without pad bytes. So info->pad_count stays 0. */
    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        info->reth_remote_key = pkt->reth.rkey;
        info->reth_remote_address = pkt->reth.va;
        info->reth_dma_length = pkt->reth.dma_len;
    }
}

/* Finds the dissector for the payload and calls it. Returns true if a dissector accepts the
 * payload. */
static bool dissect_payload(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                            struct ulp_call *call, tvbuff_t *tvb, packet_info *pinfo,
                            proto_tree *tree)
{
    heur_dtbl_entry_t *found;
    enum ulp ulp;

    call->to_server = call->named = true;
    if (dissector_try_uint_with_data(by_qp, pinfo->destport, tvb, pinfo, tree, TRUE, call))
        return true;
    call->to_server = false;
    if (pinfo->srcport != ROCE_QPN_UNKNOWN &&
        dissector_try_uint_with_data(by_qp, pinfo->srcport, tvb, pinfo, tree, TRUE, call))
        return true;
    ulp = ulp_of_mapping(pinfo, &call->to_server);
    call->named = ulp != ULP_NONE;
    if (ulp == ULP_NONE)
        ulp = ulp_of_service(find_service_id(frame, pinfo));
    if (ulp == ULP_NONE && is_smc_llc(pkt))
        ulp = ULP_SMC;
    if (ulp != ULP_NONE)
        return handles[ulp] && call_dissector_only(handles[ulp], tvb, pinfo, tree, call) > 0;
    return roce_prefs.guess == ROCE_GUESS_ALL && tvb_reported_length(tvb) &&
           dissector_try_heuristic(payload_list, tvb, pinfo, tree, &found, &call->info);
}

void roce_ulp_payload(const struct roce_pkt *pkt, const struct roce_frame_info *frame,
                      tvbuff_t *payload, packet_info *pinfo, proto_tree *tree)
{
    guint32 srcport = pinfo->srcport, destport = pinfo->destport;
    port_type ptype = pinfo->ptype;
    struct ulp_call call;
    bool took = false;

    if (tvb_reported_length(payload) == 0 && pkt->op->kind != ROCE_KIND_READ)
        return;
    pinfo->ptype = PT_IBQP;
    pinfo->destport = pkt->bth.dest_qp;
    pinfo->srcport = roce_pkt_has(pkt, ROCE_HDR_DETH)  ? pkt->deth.src_qp
                     : frame && !frame->src_qp_unknown ? frame->result.src_qpn
                                                       : ROCE_QPN_UNKNOWN;
    if (tree && PTREE_DATA(tree)->visible) { /* store the QPNs for the Decode As dialog */
        p_add_proto_data(pinfo->pool, pinfo, proto_roce, 0, GUINT_TO_POINTER(pinfo->destport));
        p_add_proto_data(pinfo->pool, pinfo, proto_roce, 1, GUINT_TO_POINTER(pinfo->srcport));
    }
    fill_info(&call.info, pkt, tree);
    /* Do not pass duplicate payload to dissectors: those that keep state for a conversation would
     * count it twice. */
    if (roce_prefs.reassemble && frame && pkt->op->kind == ROCE_KIND_SEND &&
        pkt->op->pos != ROCE_POS_ONLY && is_ulp_known(frame, pinfo)) {
        tvbuff_t *whole = roce_reassembly_add(pkt, frame, payload, pinfo, tree);

        if (whole != payload)
            call.info.opCode = ROCE_OP_RC_SEND_ONLY;
        took = whole && dissect_payload(pkt, frame, &call, whole, pinfo, tree);
    } else if (!frame || !frame->skip_payload)
        took = dissect_payload(pkt, frame, &call, payload, pinfo, tree);
    if (!took && tvb_reported_length(payload))
        call_dissector(data_handle, payload, pinfo, tree);
    pinfo->ptype = ptype;
    pinfo->srcport = srcport;
    pinfo->destport = destport;
}

/* ---- connection management ---------------------------------------------------------------------
 */

/*
 * Returns a copy of a CM message with the communication ID of the active side in the place of the
 * transaction ID. The built-in dissector matches replies with REQs only by transaction ID and
 * address. So it would choose a wrong REQ if two REQs have the same transaction ID, or if the REQ
 * of a reply was not captured. The communication ID is unique, and replies contain it too.
 */
static tvbuff_t *copy_with_comm_id(tvbuff_t *tvb, unsigned mad, const struct roce_cm_msg *msg,
                                   packet_info *pinfo)
{
    int len = (int)tvb_captured_length(tvb);
    guint8 *copy;
    uint32_t id;

    switch (msg->kind) {
    case ROCE_CM_REQ: id = msg->req.local_comm_id; break;
    case ROCE_CM_REP: id = msg->rep.remote_comm_id; break;
    case ROCE_CM_RTU: id = msg->rtu.local_comm_id; break;
    case ROCE_CM_REJ: id = msg->rej.remote_comm_id; break;
    default: return tvb;
    }
    copy = (guint8 *)tvb_memdup(pinfo->pool, tvb, 0, (size_t)len);
    roce_be_put(copy + mad + roce_field_find(roce_mad_info(), "tid")->byte, 8, id);
    return tvb_new_child_real_data(tvb, copy, (guint)len, (gint)tvb_reported_length(tvb));
}

/* Passes a CM message to the built-in dissector, which creates conversations that upper-layer
 * dissectors need. Then restores columns, layers and addresses, which the built-in dissector
 * changes. */
static void feed_builtin_dissector(tvbuff_t *tvb, unsigned mad, const struct roce_cm_msg *msg,
                                   packet_info *pinfo)
{
    address src = pinfo->src, dst = pinfo->dst;
    guint32 srcport = pinfo->srcport, destport = pinfo->destport;
    port_type ptype = pinfo->ptype;
    gboolean writable = col_get_writable(pinfo->cinfo, -1);
    guint layers = wmem_list_count(pinfo->layers);

    if (!builtin || PINFO_FD_VISITED(pinfo))
        return;
    col_set_writable(pinfo->cinfo, -1, FALSE);
    TRY
    {
        call_dissector_only(builtin, copy_with_comm_id(tvb, mad, msg, pinfo), pinfo, NULL, NULL);
    }
    CATCH_NONFATAL_ERRORS
    {
        /* The built-in dissector raised an exception for this message. Continue without the
         * conversations that it would have created. */
    }
    ENDTRY;
    col_set_writable(pinfo->cinfo, -1, writable);
    while (wmem_list_count(pinfo->layers) > layers)
        wmem_list_remove_frame(pinfo->layers, wmem_list_tail(pinfo->layers));
    pinfo->src = src;
    pinfo->dst = dst;
    pinfo->srcport = srcport;
    pinfo->destport = destport;
    pinfo->ptype = ptype;
}

void roce_ulp_cm(const struct roce_pkt *pkt, const struct roce_cm_msg *msg, tvbuff_t *tvb,
                 tvbuff_t *data, packet_info *pinfo, proto_tree *tree)
{
    guint32 srcport = pinfo->srcport, destport = pinfo->destport;
    heur_dtbl_entry_t *found;
    struct infinibandinfo info;
    port_type ptype = pinfo->ptype;

    feed_builtin_dissector(tvb, pkt->payload_off - pkt->off[ROCE_HDR_BTH], msg, pinfo);
    fill_info(&info, pkt, tree);
    info.cm_attribute_id = msg->mad.attr_id;
    pinfo->ptype = PT_IBQP;
    pinfo->srcport = pkt->deth.src_qp;
    pinfo->destport = pkt->bth.dest_qp;
    dissector_try_heuristic(cm_list, data, pinfo, tree, &found, &info);
    pinfo->ptype = ptype;
    pinfo->srcport = srcport;
    pinfo->destport = destport;
}

/* ---- registering preferences and tables --------------------------------------------------------
 */

static void qp_prompt(packet_info *pinfo, char *result, uint64_t which)
{
    guint32 qpn =
        GPOINTER_TO_UINT(p_get_proto_data(pinfo->pool, pinfo, proto_roce, (guint32)which));

    snprintf(result, MAX_DECODE_AS_PROMPT_LEN, "%s QP (0x%06x) as",
             which == 0 ? "Destination" : "Source", qpn);
}

static void dst_qp_prompt(packet_info *pinfo, char *result)
{
    qp_prompt(pinfo, result, 0);
}

static void src_qp_prompt(packet_info *pinfo, char *result)
{
    qp_prompt(pinfo, result, 1);
}

static gpointer dst_qp_value(packet_info *pinfo)
{
    return p_get_proto_data(pinfo->pool, pinfo, proto_roce, 0);
}

static gpointer src_qp_value(packet_info *pinfo)
{
    return p_get_proto_data(pinfo->pool, pinfo, proto_roce, 1);
}

static void register_ulp_decode_as(void)
{
    static build_valid_func dst[] = {dst_qp_value}, src[] = {src_qp_value};
    static decode_as_value_t values[] = {{dst_qp_prompt, 1, dst}, {src_qp_prompt, 1, src}};
    static decode_as_t as = {.name = "roce",
                             .table_name = TABLE,
                             .num_items = 2,
                             .values = values,
                             .populate_list = decode_as_default_populate_list,
                             .reset_value = decode_as_default_reset,
                             .change_value = decode_as_default_change};

    register_decode_as(&as);
}

static void *copy_mapping(void *to, const void *from, size_t size _U_)
{
    *(struct qp_mapping *)to = *(const struct qp_mapping *)from;
    return to;
}

void roce_ulp_register(int proto, module_t *module)
{
    static uat_field_t fields[] = {
        UAT_FLD_DEC(qp_mapping, qpn, "QP number", "QP of the passive side (target or server)"),
        UAT_FLD_VS(qp_mapping, ulp, "Protocol", ulp_names, "Upper-layer protocol of the payload"),
        UAT_END_FIELDS,
    };
    uat_t *uat = uat_new("Upper-layer protocols of QPs", sizeof(struct qp_mapping), "roce_qps",
                         TRUE, &mappings, &mapping_cnt, UAT_AFFECTS_DISSECTION, NULL, copy_mapping,
                         NULL, NULL, NULL, NULL, fields);

    proto_roce = proto;
    by_qp = register_dissector_table(TABLE, "RoCE QP number", proto, FT_UINT32, BASE_HEX);
    register_ulp_decode_as();
    prefs_register_uat_preference(
        module, "qps", "Upper-layer protocols of QPs",
        "Upper-layer protocols of connections whose CM exchange was not captured", uat);
    roce_reassembly_register(proto);
}

static void store_heuristic(const gchar *table _U_, struct heur_dtbl_entry *e, gpointer user _U_)
{
    const char *filter =
        e->protocol ? proto_get_protocol_filter_name(proto_get_id(e->protocol)) : "";

    for (unsigned i = 0; i < ULP_CNT; i++)
        if (strcmp(filter, ulps[i].filter) == 0)
            heuristics[i] = e;
}

void roce_ulp_handoff(void)
{
    static const dissector_t decoders[ULP_CNT] = {
#define U(ID, filter, title, port1, port2) dissect_##ID,
        ULPS(U)
#undef U
    };

    data_handle = find_dissector("data");
    builtin = dissector_get_uint_handle(find_dissector_table("udp.port"), ROCE_UDP_PORT);
    proto_ib = proto_get_id_by_filter_name("infiniband");
    payload_list = find_heur_dissector_list("infiniband.payload");
    cm_list = find_heur_dissector_list("infiniband.mad.cm.private");
    heur_dissector_table_foreach("infiniband.payload", store_heuristic, NULL);
    for (unsigned i = 0; i < ULP_CNT; i++) {
        int proto = proto_get_id_by_filter_name(ulps[i].filter);

        if (proto <= 0)
            continue;
        handles[i] = create_dissector_handle(decoders[i], proto);
        dissector_add_for_decode_as(TABLE, handles[i]);
    }
}

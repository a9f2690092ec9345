/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conversations.h"

#include <epan/conversation_filter.h>
#include <epan/conversation_table.h>
#include <epan/follow.h>
#include <epan/tap.h>
#include <epan/to_str.h>

#include "analysis_store.h"

/* Maximum number of records that are searched for the place of an out-of-order packet. */
#define REORDER_MAX 4096
#define IS_RESPONSE 0x80000000u
/* follow_record_t.seq contains the PSN in 24 bits, and above them 7 bits of the number of the
 * connection. The connections that use a QP pair one after another are numbered from 0
 * (roce_flow_result.qp_use). */
#define QP_USE_SHIFT 24

/* ---- conversations and endpoints by QP ---------------------------------------------------------
 */

/* Returns the name of the display filter field for an address or QP. `v1`: the packets are RoCEv1.
 * Their GIDs have Wireshark's address type of IPv6, but are fields of the GRH. */
static const char *address_filter_field(const address *addr, conv_filter_type_e filter, bool v1)
{
    static const char *const fields[][3] = {
        {"ip.src", "ip.dst", "ip.addr"},
        {"ipv6.src", "ipv6.dst", "ipv6.addr"},
        {"roce.grh.sgid", "roce.grh.dgid", CONV_FILTER_INVALID},
        {"roce.lrh.slid", "roce.lrh.dlid", CONV_FILTER_INVALID},
    };
    unsigned row = v1 ? 2 : addr->type == AT_IPv4 ? 0 : addr->type == AT_IPv6 ? 1 : 3;

    switch (filter) {
    case CONV_FT_SRC_PORT: return "roce.src_qp";
    case CONV_FT_DST_PORT: return "roce.bth.dest_qp";
    case CONV_FT_SRC_ADDRESS: return fields[row][0];
    case CONV_FT_DST_ADDRESS: return fields[row][1];
    case CONV_FT_ANY_ADDRESS: return fields[row][2];
    default: return CONV_FILTER_INVALID;
    }
}

static const char *conversation_field(conv_item_t *conv, conv_filter_type_e filter)
{
    return address_filter_field(&conv->src_address, filter, false);
}

static const char *conversation_field_v1(conv_item_t *conv, conv_filter_type_e filter)
{
    return address_filter_field(&conv->src_address, filter, true);
}

static const char *endpoint_field(endpoint_item_t *end, conv_filter_type_e filter)
{
    return address_filter_field(&end->myaddress, filter, false);
}

static const char *endpoint_field_v1(endpoint_item_t *end, conv_filter_type_e filter)
{
    return address_filter_field(&end->myaddress, filter, true);
}

static bool is_v1(const struct roce_tap *tap)
{
    return roce_pkt_has(tap->pkt, ROCE_HDR_GRH);
}

/* Sets qpn[0] to the source QPN and qpn[1] to the destination QPN. Only datagrams contain the
 * source QPN. For other packets, the analysis provides the source QPN. */
static void get_qpns(const struct roce_tap *tap, guint32 qpn[2])
{
    qpn[0] = roce_pkt_has(tap->pkt, ROCE_HDR_DETH) ? tap->pkt->deth.src_qp
             : tap->frame                          ? tap->frame->result.src_qpn
                                                   : ROCE_QPN_UNKNOWN;
    qpn[1] = tap->pkt->bth.dest_qp;
}

static tap_packet_status add_conversation_packet(void *tapdata, packet_info *pinfo,
                                                 epan_dissect_t *edt _U_, const void *data,
                                                 tap_flags_t flags)
{
    static ct_dissector_info_t info = {conversation_field}, info_v1 = {conversation_field_v1};
    const struct roce_tap *tap = (const struct roce_tap *)data;
    conv_hash_t *hash = (conv_hash_t *)tapdata;
    guint32 qpn[2];

    hash->flags = flags;
    get_qpns(tap, qpn);
    add_conversation_table_data(hash, &pinfo->src, &pinfo->dst, qpn[0], qpn[1], 1,
                                (int)pinfo->fd->pkt_len, &pinfo->rel_ts, &pinfo->abs_ts,
                                is_v1(tap) ? &info_v1 : &info, CONVERSATION_IBQP);
    return TAP_PACKET_REDRAW;
}

static tap_packet_status add_endpoint_packet(void *tapdata, packet_info *pinfo,
                                             epan_dissect_t *edt _U_, const void *data,
                                             tap_flags_t flags)
{
    static et_dissector_info_t info = {endpoint_field}, info_v1 = {endpoint_field_v1};
    const struct roce_tap *tap = (const struct roce_tap *)data;
    et_dissector_info_t *use = is_v1(tap) ? &info_v1 : &info;
    conv_hash_t *hash = (conv_hash_t *)tapdata;
    int len = (int)pinfo->fd->pkt_len;
    guint32 qpn[2];

    hash->flags = flags;
    get_qpns(tap, qpn);
    add_endpoint_table_data(hash, &pinfo->src, qpn[0], TRUE, 1, len, use, ENDPOINT_IBQP);
    add_endpoint_table_data(hash, &pinfo->dst, qpn[1], FALSE, 1, len, use, ENDPOINT_IBQP);
    return TAP_PACKET_REDRAW;
}

/* ---- the filter for the connection of a packet -------------------------------------------------
 */

static roce_ws_bool has_connection(packet_info *pinfo ROCE_WS_USER_DATA)
{
    return roce_store_stream_of_frame(pinfo->num) != ROCE_NO_CONN;
}

static char *connection_filter(packet_info *pinfo ROCE_WS_USER_DATA)
{
    uint32_t stream = roce_store_stream_of_frame(pinfo->num);

    return stream == ROCE_NO_CONN
               ? NULL
               : g_strdup_printf("roce.stream eq %u or roce.cm.stream eq %u", stream, stream);
}

/* ---- Follow RDMA Stream ------------------------------------------------------------------------
 */

static char *follow_packet_filter(epan_dissect_t *edt _U_, packet_info *pinfo, guint *stream,
                                  guint *sub_stream _U_)
{
    uint32_t number = roce_store_stream_of_frame(pinfo->num);

    if (number == ROCE_NO_CONN)
        return NULL;
    *stream = number;
    return g_strdup_printf("roce.stream eq %u", number);
}

static char *follow_index_filter(guint stream, guint sub_stream _U_)
{
    return g_strdup_printf("roce.stream eq %u", stream);
}

static char *follow_address_filter(address *src, address *dst, int src_qp, int dst_qp)
{
    const char *ip = src->type == AT_IPv6 ? "ipv6" : "ip";
    char *a = address_to_str(NULL, src), *b = address_to_str(NULL, dst);
    char *filter = g_strdup_printf(
        "(%s.src==%s and roce.src_qp==%d and %s.dst==%s and roce.bth.dest_qp==%d) or "
        "(%s.src==%s and roce.src_qp==%d and %s.dst==%s and roce.bth.dest_qp==%d)",
        ip, a, src_qp, ip, b, dst_qp, ip, b, dst_qp, ip, a, src_qp);

    wmem_free(NULL, a);
    wmem_free(NULL, b);
    return filter;
}

static char *format_qp(wmem_allocator_t *scope, guint qpn)
{
    return qpn == ROCE_QPN_UNKNOWN ? wmem_strdup(scope, "QP ?")
                                   : wmem_strdup_printf(scope, "QP 0x%06x", qpn);
}

static bool is_psn_after(uint32_t psn, uint32_t other)
{
    return ((psn - other) & ROCE_PSN_MASK) - 1 < 0x7FFFFF;
}

/* Inserts a record into the list of followed records, in which the latest record is first. If the
 * packet arrived in order, inserts the record at the front. If not, inserts the record by its PSN
 * among the requests (or the responses) of the same sender. */
static void insert_follow_record(follow_info_t *info, follow_record_t *record)
{
    GList *after = NULL;
    unsigned back = 0;

    for (GList *at = info->payload; at && back < REORDER_MAX; at = at->next, back++) {
        const follow_record_t *other = (const follow_record_t *)at->data;

        if (other->is_server != record->is_server ||
            (other->seq & IS_RESPONSE) != (record->seq & IS_RESPONSE))
            continue;
        if ((other->seq ^ record->seq) >> QP_USE_SHIFT)
            break;
        if (!is_psn_after(other->seq & ROCE_PSN_MASK, record->seq & ROCE_PSN_MASK))
            break;
        after = at;
    }
    if (after)
        info->payload = g_list_insert_before(info->payload, after->next, record);
    else
        info->payload = g_list_prepend(info->payload, record);
}

/* Adds the payload of a packet to the followed stream, unless the payload is a duplicate. So the
 * stream has each byte once, in the order of the message. */
static tap_packet_status add_follow_payload(void *tapdata, packet_info *pinfo,
                                            epan_dissect_t *edt _U_, const void *data,
                                            tap_flags_t flags _U_)
{
    const struct roce_tap *tap = (const struct roce_tap *)data;
    follow_info_t *info = (follow_info_t *)tapdata;
    const struct roce_pkt *pkt = tap->pkt;
    follow_record_t *record;

    if (!tap->frame || tap->frame->skip_payload || pkt->payload_cap_len == 0)
        return TAP_PACKET_DONT_REDRAW;
    if (info->seq[0] == 0) { /* The sender of the first record becomes the client. seq[0]: 1 +
                              * side of the client. */
        guint32 qpn[2];

        get_qpns(tap, qpn);
        info->seq[0] = 1u + tap->frame->result.side;
        info->client_port = qpn[0];
        info->server_port = qpn[1];
        copy_address(&info->client_ip, &pinfo->src);
        copy_address(&info->server_ip, &pinfo->dst);
    }
    record = g_new0(follow_record_t, 1);
    record->is_server = info->seq[0] != 1u + tap->frame->result.side;
    record->packet_num = pinfo->num;
    record->abs_ts = pinfo->abs_ts;
    record->seq = pkt->bth.psn | (tap->frame->result.qp_use & 0x7F) << QP_USE_SHIFT |
                  (tap->frame->result.flags & ROCE_AN_RESPONSE ? IS_RESPONSE : 0);
    record->data = g_byte_array_append(g_byte_array_sized_new((guint)pkt->payload_cap_len),
                                       pkt->payload, (guint)pkt->payload_cap_len);
    info->bytes_written[record->is_server] += record->data->len;
    insert_follow_record(info, record);
    return TAP_PACKET_DONT_REDRAW;
}

#if ROCE_WS_AT_LEAST(4, 2)
static guint32 stream_count(void)
{
    return roce_store_stream_count();
}
#endif

void roce_conversations_register(int proto)
{
    register_conversation_table(proto, FALSE, add_conversation_packet, add_endpoint_packet);
#if ROCE_WS_AT_LEAST(4, 2)
    register_conversation_filter("roce", "RDMA connection", has_connection, connection_filter,
                                 NULL);
    register_follow_stream(proto, "roce", follow_packet_filter, follow_index_filter,
                           follow_address_filter, format_qp, add_follow_payload, stream_count,
                           NULL);
#else
    register_conversation_filter("roce", "RDMA connection", has_connection, connection_filter);
    register_follow_stream(proto, "roce", follow_packet_filter, follow_index_filter,
                           follow_address_filter, format_qp, add_follow_payload);
#endif
}

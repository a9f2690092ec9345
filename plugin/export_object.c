/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Export Objects: each completely captured message becomes an object. */
#include <epan/export_object.h>
#include <epan/to_str.h>

#include "analysis_store.h"
#include "export_object.h"

#define OBJECT_BYTES_MAX 0x40000000u /* longest exported message, bytes */

/* A message that is being assembled. */
struct message_object {
    /* Payload received so far. The payload of each packet is at its offset in the message. NULL
     * after the export. */
    GByteArray *data;
    uint64_t have;  /* number of payload bytes received */
    uint64_t total; /* length of the message, bytes; 0 until its last packet */
};

static GHashTable *objects; /* messages; key: frame number of the first packet */

static void free_object(void *p)
{
    struct message_object *object = (struct message_object *)p;

    if (object->data)
        g_byte_array_free(object->data, TRUE);
    g_free(object);
}

static void free_objects(void)
{
    if (objects)
        g_hash_table_destroy(objects);
    objects = NULL;
}

static struct message_object *get_object(uint32_t first_frame)
{
    struct message_object *object;

    if (!objects)
        objects = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_object);
    object = (struct message_object *)g_hash_table_lookup(objects, GUINT_TO_POINTER(first_frame));
    if (object)
        return object;
    object = g_new0(struct message_object, 1);
    object->data = g_byte_array_new();
    g_hash_table_insert(objects, GUINT_TO_POINTER(first_frame), object);
    return object;
}

static export_object_entry_t *make_list_entry(const struct roce_tap *tap, packet_info *pinfo,
                                              struct message_object *object)
{
    const char *kind = roce_kind_name(tap->pkt->op->kind);
    export_object_entry_t *entry = g_new0(export_object_entry_t, 1);
    char *src = address_to_str(NULL, &pinfo->src);

    entry->pkt_num = pinfo->num;
    entry->hostname = g_strdup_printf("%s, stream %u", src, tap->frame->result.conn_index);
    entry->content_type = g_strdup_printf("RDMA %s", kind);
    entry->filename = g_strdup_printf("stream-%u-frame-%u-%s.bin", tap->frame->result.conn_index,
                                      pinfo->num, kind);
    g_strdelimit(entry->filename, " /", '-');
    entry->payload_len = object->data->len;
    entry->payload_data = g_byte_array_free(object->data, FALSE);
    object->data = NULL;
    wmem_free(NULL, src);
    return entry;
}

static tap_packet_status add_object_packet(void *tapdata, packet_info *pinfo,
                                           epan_dissect_t *edt _U_, const void *data,
                                           tap_flags_t flags _U_)
{
    export_object_list_t *list = (export_object_list_t *)tapdata;
    const struct roce_tap *tap = (const struct roce_tap *)data;
    const struct roce_pkt *pkt = tap->pkt;
    const struct roce_flow_result *r;
    struct message_object *object;
    uint64_t at, first;

    if (!tap->frame || pkt->payload_len == 0 || pkt->payload_cap_len < pkt->payload_len ||
        !(pkt->op->svc == ROCE_SVC_UD ? !tap->frame->skip_payload
                                      : roce_store_is_first_placement(tap->frame)))
        return TAP_PACKET_DONT_REDRAW;
    r = &tap->frame->result;
    at = pkt->op->svc == ROCE_SVC_UD ? 0 : r->msg_offset;
    first = pkt->op->svc == ROCE_SVC_UD ? pinfo->num : r->msg_first_frame;
    if (r->conn_index == ROCE_NO_CONN || first == 0 || at + pkt->payload_len > OBJECT_BYTES_MAX)
        return TAP_PACKET_DONT_REDRAW;
    object = get_object((uint32_t)first);
    if (!object->data) /* the message was already exported */
        return TAP_PACKET_DONT_REDRAW;
    if (object->data->len < at + pkt->payload_len)
        g_byte_array_set_size(object->data, (guint)(at + pkt->payload_len));
    memcpy(object->data->data + at, pkt->payload, pkt->payload_len);
    object->have += pkt->payload_len;
    if (roce_opcode_ends(pkt->op))
        object->total = at + pkt->payload_len;
    if (object->total == 0 || object->have != object->total || object->data->len != object->total)
        return TAP_PACKET_DONT_REDRAW;
    list->add_entry(list->gui_data, make_list_entry(tap, pinfo, object));
    return TAP_PACKET_REDRAW;
}

int roce_export_object_register(int proto)
{
    return register_export_object(proto, add_object_packet, free_objects);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hf.h"

/* Wireshark's ids of our fields: for each header, an array in the order of the codec's field table.
 * The last element is the id of the header itself. */
static int *hf[ROCE_HEADER_CNT];
static const header_field_info **hf_info[ROCE_HEADER_CNT]; /* registration data of each field id */
static int ett[ROCE_HEADER_CNT];

/* Returns the codec's description of a header. */
static const struct roce_hdr_info *header_info(roce_header_id id)
{
    if (id < ROCE_HEADER_MAD)
        return roce_hdr_info(id);
    return id == ROCE_HEADER_MAD ? roce_mad_info() : roce_cm_info(id - ROCE_HEADER_CM(0));
}

/* Returns true if the plugin shows this header. Ethernet, IP and UDP headers are shown by
 * Wireshark's own dissectors. */
static gboolean is_header_shown(roce_header_id id)
{
    return id >= ROCE_HEADER_TRANSPORT(ROCE_HDR_LRH);
}

/* Returns Wireshark's table of the names of a field's values, for the values 0 to 255. Returns NULL
 * if no value has a name. */
static const value_string *value_names(enum roce_vals vals)
{
    static value_string *made[ROCE_VALS_CNT];
    value_string *vs;
    unsigned cnt = 0;

    if (vals == ROCE_VALS_NONE)
        return NULL;
    if (made[vals])
        return made[vals];
    vs = g_new0(value_string, 257);
    for (unsigned v = 0; v < 256; v++) {
        char buf[80];
        const char *name = roce_vals_name(vals, v, buf, sizeof(buf));

        if (name) {
            vs[cnt].value = v;
            vs[cnt].strptr = g_strdup(name);
            cnt++;
        }
    }
    made[vals] = vs;
    return cnt ? vs : NULL;
}

static unsigned field_bytes(const struct roce_field *field)
{
    return (field->bit + field->width + 7u) / 8u;
}

static void describe_field(hf_register_info *info, int *id, const struct roce_hdr_info *hdr,
                           const struct roce_field *field)
{
    static const enum ftenum uint_type[] = {FT_NONE,   FT_UINT8,  FT_UINT16, FT_UINT24, FT_UINT32,
                                            FT_UINT40, FT_UINT48, FT_UINT56, FT_UINT64};
    unsigned bytes = field_bytes(field);
    header_field_info *out = &info->hfinfo;

    *id = -1;
    info->p_id = id;
    out->name = field->label;
    out->abbrev = g_strdup_printf("roce.%s.%s", hdr->id, field->name);
    out->blurb = g_strdup_printf("%s of the %s (%s)", field->label, hdr->title, hdr->source);
    out->id = -1;
    out->parent = 0;
    out->ref_type = HF_REF_TYPE_NONE;
    out->same_name_prev_id = -1;
    out->same_name_next = NULL;
    switch (field->fmt) {
    case ROCE_FMT_GID: out->type = FT_IPv6; return;
    case ROCE_FMT_IP4: out->type = FT_IPv4; return;
    case ROCE_FMT_MAC: out->type = FT_ETHER; return;
    case ROCE_FMT_RAW: out->type = FT_BYTES; return;
    case ROCE_FMT_FLAG:
        out->type = FT_BOOLEAN;
        out->display = (int)(bytes * 8);
        break;
    case ROCE_FMT_DEC:
    case ROCE_FMT_HEX:
        out->type = uint_type[bytes];
        out->display = field->fmt == ROCE_FMT_DEC ? BASE_DEC : BASE_HEX;
        if (bytes <= 4)
            out->strings = value_names(field->vals);
        break;
    }
    if (field->width != bytes * 8)
        out->bitmask = ((UINT64_C(1) << field->width) - 1)
                       << (bytes * 8 - field->bit - field->width);
}

/* Describes the field for a whole header. With such a field, the filter `roce.reth` matches packets
 * with a RETH. */
static void describe_header(hf_register_info *info, int *id, const struct roce_hdr_info *hdr)
{
    *id = -1;
    info->p_id = id;
    info->hfinfo = (header_field_info){
        hdr->title, g_strdup_printf("roce.%s", hdr->id), FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL};
}

static void register_header(int proto, roce_header_id id)
{
    const struct roce_hdr_info *info = header_info(id);
    unsigned cnt = info->field_cnt + 1u;
    hf_register_info *regs = g_new0(hf_register_info, cnt);
    int **subtree = g_new0(int *, 1);

    hf[id] = g_new0(int, cnt);
    for (unsigned i = 0; i < info->field_cnt; i++)
        describe_field(&regs[i], &hf[id][i], info, &info->fields[i]);
    describe_header(&regs[info->field_cnt], &hf[id][info->field_cnt], info);
    proto_register_field_array(proto, regs, (int)cnt);
    hf_info[id] = g_new0(const header_field_info *, cnt);
    for (unsigned i = 0; i < cnt; i++)
        hf_info[id][i] = proto_registrar_get_nth((guint)hf[id][i]);
    ett[id] = -1;
    subtree[0] = &ett[id];
    proto_register_subtree_array(subtree, 1);
    g_free(subtree);
}

void roce_hf_register(int proto)
{
    for (roce_header_id id = 0; id < ROCE_HEADER_CNT; id++)
        if (is_header_shown(id))
            register_header(proto, id);
}

bool roce_hf_is_wanted(proto_tree *tree, const header_field_info *field)
{
    return tree && (PTREE_DATA(tree)->visible || field->ref_type != HF_REF_TYPE_NONE);
}

void roce_hf_add_header(roce_header_id id, tvbuff_t *tvb, int offset, proto_tree *tree)
{
    const struct roce_hdr_info *info = header_info(id);
    unsigned header = info->field_cnt;
    /* If the header is truncated, add all its fields, so that Wireshark raises its truncation
     * exception. */
    bool whole = tvb_bytes_exist(tvb, offset, info->len);
    proto_tree *sub = NULL;

    for (unsigned i = 0; i <= info->field_cnt; i++) {
        const struct roce_field *field = &info->fields[i];

        if (whole && !roce_hf_is_wanted(tree, hf_info[id][i]))
            continue;
        if (!sub)
            sub = proto_item_add_subtree(
                proto_tree_add_item(tree, hf[id][header], tvb, offset, info->len, ENC_NA), ett[id]);
        if (i < header)
            proto_tree_add_item(sub, hf[id][i], tvb, offset + field->byte, (int)field_bytes(field),
                                ENC_BIG_ENDIAN);
    }
}

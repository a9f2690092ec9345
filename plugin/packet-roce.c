/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RoCE dissector: parses a packet with the codec (rnic/wire) and adds it to Wireshark's tree.
 *
 * Its input, the tvb, is the payload of UDP port 4791, the payload of Ethertype 0x8915 (RoCEv1), or
 * a frame of an InfiniBand link. The ICRC also covers the IP and UDP headers, which precede the tvb
 * in the frame. So parsing starts at the IP header.
 */
#include "packet-roce.h"

#include <epan/column-info.h>
#include <epan/tap.h>
#include <string.h>

#include "aeth.h"
#include "analysis.h"
#include "cm.h"
#include "conversations.h"
#include "dc.h"
#include "expert.h"
#include "export_object.h"
#include "filter_hint.h"
#include "handoff.h"
#include "hf.h"
#include "info_column.h"
#include "prefs.h"
#include "tap-roce.h"
#include "ulp.h"
#include "wire/tunnel.h"

/* Lengths of the Linux cooked capture header, version 1 and version 2, bytes. */
#define SLL_LEN  16
#define SLL2_LEN 20
/* Longest IPv6 header with extension headers that the parser tries, bytes. */
#define IP6_MAX 256
/* Length of the shortest tunnel headers, IP and GRE, bytes. */
#define TUNNEL_MIN (ROCE_IP4_LEN + 4)

static int proto_roce = -1;
static int hf_roce_icrc = -1;
static int hf_roce_icrc_status = -1;
static int hf_roce_payload_len = -1;
static int ett_roce = -1;
static int tap_roce = -1;
static int tap_object = -1;
static int tap_expert;
static expert_field ei_roce_icrc_bad = EI_INIT;
static expert_field ei_roce_fragments = EI_INIT;
static expert_field ei_roce_limit = EI_INIT;
static dissector_handle_t data_handle;

/* State of one packet while it is dissected. */
struct dissection {
    struct roce_pkt pkt;
    tvbuff_t *tvb;
    int base; /* offset of pkt.frame in the tvb; negative if headers precede the tvb */
    enum roce_icrc_status icrc;
    guint32 icrc_expected;
    /* Finding of this packet, if its severity is higher than the severity of all previous findings
     * in the file; otherwise NULL. */
    const struct roce_finding *new_highest;
    /* Findings of this packet about earlier frames; NULL except in the first pass. */
    const struct roce_frame_finding *late;
    bool ip_fragments;            /* Wireshark reassembled the packet from IP fragments */
    bool tracked;                 /* `frame` is valid */
    struct roce_frame_info frame; /* analysis of this frame */
};

/* ---- parsing a frame ---------------------------------------------------------------------------
 */

/* Parses the packet that begins `back` bytes before the tvb in the same frame. Returns true if the
 * BTH of the packet is then at offset `bth` of the tvb. */
static bool parse_from(struct dissection *w, enum roce_link link, int back, int bth)
{
    tvbuff_t *whole = tvb_get_ds_tvb(w->tvb);
    int start = tvb_raw_offset(w->tvb) - back;
    int cap_len = (int)tvb_captured_length(whole) - start;
    int wire_len = (int)tvb_reported_length(whole) - start;

    if (start < 0 || cap_len <= 0 || wire_len < cap_len)
        return false;
    w->base = -back;
    return roce_pkt_parse_captured(&w->pkt, link, tvb_get_ptr(whole, start, cap_len),
                                   (size_t)cap_len, (size_t)wire_len) == ROCE_OK &&
           w->pkt.off[ROCE_HDR_BTH] == back + bth;
}

/* Parses a packet without its outer headers, from the BTH at offset `bth` of the tvb. The ICRC
 * cannot be verified, because it also covers the outer headers. */
static bool parse_bth(struct dissection *w, int bth)
{
    int cap_len = (int)tvb_captured_length_remaining(w->tvb, bth);
    int wire_len = (int)tvb_reported_length_remaining(w->tvb, bth);

    w->base = bth;
    return cap_len > 0 && roce_pkt_parse(&w->pkt, ROCE_LINK_BTH, tvb_get_ptr(w->tvb, bth, cap_len),
                                         (size_t)cap_len, (size_t)wire_len) == ROCE_OK;
}

/* Reads the VLAN tags before the IP header into w->pkt, because connections in different VLANs are
 * different connections. */
static void read_vlan_tags(struct dissection *w)
{
    static const guint16 tags[] = {0x8100, 0x88A8, 0x9100};
    tvbuff_t *whole = tvb_get_ds_tvb(w->tvb);
    /* Offset of the EtherType after the innermost tag. */
    int type = tvb_raw_offset(w->tvb) + w->base - 2;
    struct roce_vlan found[ROCE_VLAN_MAX];
    unsigned cnt = 0;

    for (; type >= ROCE_ETH_LEN && cnt < ROCE_VLAN_MAX; type -= ROCE_VLAN_LEN) {
        guint16 tag = tvb_get_ntohs(whole, type - ROCE_VLAN_LEN);

        if (tag != tags[0] && tag != tags[1] && tag != tags[2])
            break;
        found[cnt++] = (struct roce_vlan){
            .type = tvb_get_ntohs(whole, type),
            .vid = tvb_get_ntohs(whole, type - 2) & 0xFFF,
        };
    }
    while (cnt)
        w->pkt.vlan[w->pkt.vlan_cnt++] = found[--cnt];
}

/*
 * If the packet is in a tunnel, reads the VLAN tags of the inner frame and the identifier of the
 * virtual network into w->pkt, because both identify the connection. The link type of the outer
 * frame is unknown, so tries each link type: only the right one results in a BTH at the same
 * offset. Returns true, or false if the packet is not in a tunnel.
 */
static bool read_tunnel_headers(struct dissection *w)
{
    static const enum roce_link links[] = {ROCE_LINK_ETHERNET, ROCE_LINK_SLL, ROCE_LINK_SLL2,
                                           ROCE_LINK_IP};
    tvbuff_t *whole = tvb_get_ds_tvb(w->tvb);
    int start = tvb_raw_offset(w->tvb) + w->base;
    size_t bth = (size_t)start + w->pkt.off[ROCE_HDR_BTH];
    size_t cap_len = tvb_captured_length(whole), wire_len = tvb_reported_length(whole);
    const guint8 *frame;
    struct roce_pkt pkt;

    if (start < TUNNEL_MIN || wire_len < cap_len)
        return false;
    frame = tvb_get_ptr(whole, 0, (gint)cap_len);
    for (unsigned i = 0; i < array_length(links); i++) {
        if (roce_tunnel_parse(&pkt, links[i], frame, cap_len, wire_len) != ROCE_OK ||
            pkt.frame == frame || (size_t)(pkt.frame - frame) + pkt.off[ROCE_HDR_BTH] != bth)
            continue;
        memcpy(w->pkt.vlan, pkt.vlan, sizeof(pkt.vlan));
        w->pkt.vlan_cnt = pkt.vlan_cnt;
        w->pkt.overlay = pkt.overlay;
        return true;
    }
    return false;
}

static bool parse_rocev2(struct dissection *w)
{
    tvbuff_t *whole = tvb_get_ds_tvb(w->tvb);
    int udp = tvb_raw_offset(w->tvb) - ROCE_UDP_LEN;

    /* Try IPv6 before IPv4: a byte in an IPv6 header may have the value of the first byte of an
     * IPv4 header. */
    if (udp >= ROCE_IP6_LEN && tvb_get_uint8(whole, udp - ROCE_IP6_LEN) >> 4 == 6 &&
        parse_from(w, ROCE_LINK_IP, ROCE_UDP_LEN + ROCE_IP6_LEN, 0))
        return true;
    for (int len = ROCE_IP4_LEN; len <= ROCE_IP4_LEN + ROCE_IP4_OPTIONS_MAX; len += 4)
        if (udp >= len && tvb_get_uint8(whole, udp - len) == (0x40 | len / 4) &&
            parse_from(w, ROCE_LINK_IP, ROCE_UDP_LEN + len, 0))
            return true;
    /* IPv6 with extension headers: try each possible length of the headers; roce_pkt_parse() parses
     * them. */
    for (int len = ROCE_IP6_LEN + 8; len <= IP6_MAX && udp >= len; len += 8)
        if (tvb_get_uint8(whole, udp - len) >> 4 == 6 &&
            parse_from(w, ROCE_LINK_IP, ROCE_UDP_LEN + len, 0))
            return true;
    /* No IP header precedes the UDP header, because Wireshark reassembled the packet from IP
     * fragments. */
    w->ip_fragments = true;
    return parse_bth(w, 0);
}

static bool parse_rocev1(struct dissection *w)
{
    for (int back = ROCE_ETH_LEN; back <= ROCE_ETH_LEN + ROCE_VLAN_MAX * ROCE_VLAN_LEN;
         back += ROCE_VLAN_LEN)
        if (parse_from(w, ROCE_LINK_ETHERNET, back, ROCE_GRH_LEN))
            return true;
    return parse_from(w, ROCE_LINK_SLL, SLL_LEN, ROCE_GRH_LEN) ||
           parse_from(w, ROCE_LINK_SLL2, SLL2_LEN, ROCE_GRH_LEN) || parse_bth(w, ROCE_GRH_LEN);
}

static bool parse_native_ib(struct dissection *w)
{
    return parse_from(w, ROCE_LINK_IB, 0, ROCE_LRH_LEN) ||
           parse_from(w, ROCE_LINK_IB, 0, ROCE_LRH_LEN + ROCE_GRH_LEN);
}

/* ---- adding items to the tree ------------------------------------------------------------------
 */

static void add_icrc(const struct dissection *w, packet_info *pinfo, proto_tree *tree)
{
    int offset = (int)w->pkt.icrc_off + w->base;

    if (w->icrc != ROCE_ICRC_BAD && !proto_field_is_referenced(tree, hf_roce_icrc) &&
        !proto_field_is_referenced(tree, hf_roce_icrc_status))
        return;
    if (!tvb_bytes_exist(w->tvb, offset, ROCE_ICRC_LEN)) {
        proto_item_set_generated(proto_tree_add_uint(tree, hf_roce_icrc_status, w->tvb, 0, 0,
                                                     PROTO_CHECKSUM_E_UNVERIFIED));
        return;
    }
    proto_tree_add_checksum(tree, w->tvb, offset, hf_roce_icrc, hf_roce_icrc_status,
                            &ei_roce_icrc_bad, pinfo, w->icrc_expected, ENC_LITTLE_ENDIAN,
                            w->icrc == ROCE_ICRC_UNVERIFIED ? PROTO_CHECKSUM_NO_FLAGS
                                                            : PROTO_CHECKSUM_VERIFY);
}

/* Adds the LRH and GRH, if present, and the BTH to the tree. */
static void add_outer_headers(const struct dissection *w, proto_tree *tree)
{
    const struct roce_pkt *pkt = &w->pkt;

    for (unsigned h = ROCE_HDR_LRH; h <= ROCE_HDR_GRH; h++)
        if (roce_pkt_has(pkt, (enum roce_hdr)h))
            roce_hf_add_header(ROCE_HEADER_TRANSPORT(h), w->tvb, pkt->off[h] + w->base, tree);
    roce_hf_add_header(ROCE_HEADER_TRANSPORT(ROCE_HDR_BTH), w->tvb,
                       pkt->off[ROCE_HDR_BTH] + w->base, tree);
}

static void add_headers(const struct dissection *w, proto_tree *tree)
{
    const struct roce_pkt *pkt = &w->pkt;

    add_outer_headers(w, tree);
    for (unsigned i = 0; i < pkt->op->hdr_cnt; i++)
        if (roce_pkt_has(pkt, (enum roce_hdr)pkt->op->hdr[i]))
            roce_hf_add_header(ROCE_HEADER_TRANSPORT(pkt->op->hdr[i]), w->tvb,
                               pkt->off[pkt->op->hdr[i]] + w->base, tree);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        roce_aeth_add(&pkt->aeth, w->tvb, pkt->off[ROCE_HDR_AETH] + w->base, tree);
}

/* Sets the Info column and the title of the tree. Does nothing if neither is displayed, because
 * building the text takes as long as the rest of the dissection. */
static void add_info_text(const struct dissection *w, packet_info *pinfo, proto_item *item)
{
    struct line line = {.len = 0};
    const char *text;

    if (!pinfo->cinfo && (!item || !PTREE_DATA(item)->visible))
        return;
    text = roce_info_column_text(&line, &w->pkt, w->tracked ? &w->frame : NULL,
                                 roce_prefs.relative_psn);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "RoCE");
    col_add_str(pinfo->cinfo, COL_INFO, text);
    if (item && PTREE_DATA(item)->visible)
        proto_item_append_text(item, ", %s", text);
}

static uint64_t time_of(const packet_info *pinfo)
{
    return (uint64_t)pinfo->abs_ts.secs * 1000000000u + (uint64_t)pinfo->abs_ts.nsecs;
}

static void analyze_packet(struct dissection *w, packet_info *pinfo, bool wanted)
{
    struct roce_flow_in in = {
        .pkt = &w->pkt, .frame = pinfo->num, .time = time_of(pinfo), .icrc = w->icrc};

    w->tracked = false;
    w->new_highest = NULL;
    w->late = NULL;
    if (!roce_prefs.analyze)
        return;
    if (!PINFO_FD_VISITED(pinfo)) {
        w->new_highest = roce_store_feed(&in);
        w->late = roce_store_late();
    }
    if (wanted)
        w->tracked = roce_store_get(pinfo->num, in.time, &w->pkt, &w->frame);
}

static void queue_taps(const struct dissection *w, packet_info *pinfo)
{
    struct roce_tap *t = wmem_new(pinfo->pool, struct roce_tap);

    t->pkt = (const struct roce_pkt *)wmem_memdup(pinfo->pool, &w->pkt, sizeof(w->pkt));
    t->icrc = w->icrc;
    t->frame = w->tracked ? (const struct roce_frame_info *)wmem_memdup(pinfo->pool, &w->frame,
                                                                        sizeof(w->frame))
                          : NULL;
    t->late = w->late;
    tap_queue_packet(tap_roce, pinfo, t);
    tap_queue_packet(tap_object, pinfo, t);
}

static void add_payload(const struct dissection *w, packet_info *pinfo, proto_tree *sub,
                        proto_tree *tree)
{
    const struct roce_pkt *pkt = &w->pkt;
    int offset = (int)pkt->payload_off + w->base;
    const struct roce_frame_info *frame = w->tracked ? &w->frame : NULL;

    /* roce_cm_add() passes this tvb to the built-in dissector, which expects a tvb that begins with
     * the BTH. */
    if (roce_cm_add(pkt, tvb_new_subset_remaining(w->tvb, pkt->off[ROCE_HDR_BTH] + w->base),
                    (int)pkt->payload_off - (int)pkt->off[ROCE_HDR_BTH], pinfo, sub))
        return;
    if (pkt->payload_cap_len || pkt->op->kind == ROCE_KIND_READ)
        roce_ulp_payload(pkt, frame,
                         tvb_new_subset_length_caplen(w->tvb, offset, (int)pkt->payload_cap_len,
                                                      (int)pkt->payload_len),
                         pinfo, tree);
}

/* Returns true if the tree of our protocol must be built: its fields are displayed, are named in a
 * filter, or are needed for expert infos. To build the tree is the slowest part of the dissection,
 * and Wireshark often requests a tree only for other protocols. */
static bool is_tree_wanted(const packet_info *pinfo, proto_tree *tree)
{
    /* Look up the id of the tap at the first packet: Wireshark registers the tap only after it has
     * called our handoff routine. */
    if (tap_expert == 0)
        tap_expert = find_tap_id("expert");
    return have_tap_listener(tap_expert) ||
           (pinfo->cinfo && pinfo->cinfo->col_first[COL_EXPERT] >= 0) ||
           (tree && (PTREE_DATA(tree)->visible || proto_field_is_referenced(tree, proto_roce) ||
                     proto_field_is_referenced(tree, proto_expert)));
}

/* Reports expert infos when no tree is built, so that Wireshark's status bar shows the highest
 * severity. */
static void raise_packet_experts(const struct dissection *w, packet_info *pinfo)
{
    roce_expert_add_defects(&w->pkt, w->tvb, pinfo, NULL);
    if (w->ip_fragments)
        expert_add_info(pinfo, NULL, &ei_roce_fragments);
    if (w->icrc == ROCE_ICRC_BAD)
        expert_add_info(pinfo, NULL, &ei_roce_icrc_bad);
    if (w->new_highest)
        roce_expert_raise(w->new_highest, pinfo);
}

/* Reports the findings about earlier frames to the tap for expert infos. The tap has already
 * received these frames, if taps are called in the first pass. tshark without -2 has no other
 * pass. */
static void raise_late_experts(const struct dissection *w, packet_info *pinfo)
{
    for (const struct roce_frame_finding *at = w->late; at; at = at->next_late)
        roce_expert_raise(&at->finding, pinfo);
}

/* Dissects a packet of NVIDIA's dynamically connected (DC) transport, without analysis: rnic/flow
 * does not support DC. */
static int dissect_dc(const struct dissection *w, packet_info *pinfo, proto_tree *tree)
{
    proto_item *item = proto_tree_add_item(tree, proto_roce, w->tvb, 0, -1, ENC_NA);
    proto_tree *sub = proto_item_add_subtree(item, ett_roce);
    int len = (int)roce_dc_payload_len(&w->pkt), payload;
    struct line line = {.len = 0};
    const char *text = roce_dc_text(&line, &w->pkt);

    col_set_str(pinfo->cinfo, COL_PROTOCOL, "RoCE");
    col_add_str(pinfo->cinfo, COL_INFO, text);
    proto_item_append_text(item, ", %s", text);
    add_outer_headers(w, sub);
    payload = roce_dc_add(&w->pkt, w->tvb, w->base, pinfo, sub);
    add_icrc(w, pinfo, sub);
    if (len && payload < (int)tvb_captured_length(w->tvb))
        call_dissector(data_handle, tvb_new_subset_length(w->tvb, payload, len), pinfo, tree);
    return (int)tvb_captured_length(w->tvb);
}

static int dissect_packet(struct dissection *w, packet_info *pinfo, proto_tree *tree)
{
    bool tapped = have_tap_listener(tap_roce) || have_tap_listener(tap_object);
    bool tree_wanted = is_tree_wanted(pinfo, tree);
    proto_item *item;
    proto_tree *sub;

    roce_filter_hint(pinfo);
    w->icrc = ROCE_ICRC_UNVERIFIED;
    w->icrc_expected = 0;
    if (roce_prefs.check_icrc && (tree || tree_wanted || tapped || !PINFO_FD_VISITED(pinfo)))
        w->icrc = roce_pkt_icrc_check(&w->pkt, &w->icrc_expected);
    if (roce_dc_is(&w->pkt))
        return dissect_dc(w, pinfo, tree);
    /* Get the result of the analysis only if the tree, an expert info, a tap, the Info column or an
     * upper-layer dissector uses it. */
    analyze_packet(w, pinfo,
                   tree || tree_wanted || tapped || pinfo->cinfo || w->pkt.payload_len ||
                       w->pkt.op->kind == ROCE_KIND_READ);
    item = proto_tree_add_item(tree, proto_roce, w->tvb, 0, -1, ENC_NA);
    sub = proto_item_add_subtree(item, ett_roce);
    add_info_text(w, pinfo, item);
    if (tree_wanted) {
        roce_expert_add_defects(&w->pkt, w->tvb, pinfo, sub);
        if (w->ip_fragments)
            expert_add_info(pinfo, item, &ei_roce_fragments);
        if (w->tracked && w->frame.limited)
            expert_add_info(pinfo, item, &ei_roce_limit);
        add_headers(w, sub);
        proto_item_set_generated(
            proto_tree_add_uint(sub, hf_roce_payload_len, w->tvb, 0, 0, w->pkt.payload_len));
        add_icrc(w, pinfo, sub);
        if (w->tracked)
            roce_analysis_add(&w->pkt, &w->frame, w->tvb, pinfo, sub);
        if (have_tap_listener(tap_expert))
            raise_late_experts(w, pinfo);
    } else if (!PINFO_FD_VISITED(pinfo))
        raise_packet_experts(w, pinfo);
    if (tapped)
        queue_taps(w, pinfo);
    add_payload(w, pinfo, sub, tree);
    return (int)tvb_captured_length(w->tvb);
}

static int dissect_rocev2(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    struct dissection w = {.tvb = tvb};

    if (!parse_rocev2(&w))
        return 0;
    if (!read_tunnel_headers(&w) && pinfo->vlan_id && w.base < 0 && w.pkt.vlan_cnt == 0)
        read_vlan_tags(&w);
    return dissect_packet(&w, pinfo, tree);
}

/* Sets the columns source and destination of the packet list to the GIDs, as IPv6 addresses. If the
 * packet has no GRH, sets them to the LIDs. */
static void set_addresses(const struct dissection *w, packet_info *pinfo)
{
    int grh = w->pkt.off[ROCE_HDR_GRH] + w->base;

    if (roce_pkt_has(&w->pkt, ROCE_HDR_GRH)) {
        set_address_tvb(&pinfo->net_src, AT_IPv6, 16, w->tvb,
                        grh + roce_field_find(roce_hdr_info(ROCE_HDR_GRH), "sgid")->byte);
        set_address_tvb(&pinfo->net_dst, AT_IPv6, 16, w->tvb,
                        grh + roce_field_find(roce_hdr_info(ROCE_HDR_GRH), "dgid")->byte);
    } else if (roce_pkt_has(&w->pkt, ROCE_HDR_LRH)) {
        guint16 *lids = wmem_alloc_array(pinfo->pool, guint16, 2);

        lids[0] = w->pkt.lrh.slid;
        lids[1] = w->pkt.lrh.dlid;
        set_address(&pinfo->net_src, AT_IB, sizeof(*lids), &lids[0]);
        set_address(&pinfo->net_dst, AT_IB, sizeof(*lids), &lids[1]);
    } else
        return;
    copy_address_shallow(&pinfo->src, &pinfo->net_src);
    copy_address_shallow(&pinfo->dst, &pinfo->net_dst);
}

static int dissect_rocev1(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    struct dissection w = {.tvb = tvb};

    if (!parse_rocev1(&w))
        return 0;
    (void)read_tunnel_headers(&w);
    set_addresses(&w, pinfo);
    return dissect_packet(&w, pinfo, tree);
}

static int dissect_native_ib(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    struct dissection w = {.tvb = tvb};

    if (!parse_native_ib(&w)) { /* a raw packet (LNH 0 or 1) has no BTH, so it is shown as data */
        call_dissector(data_handle, tvb, pinfo, tree);
        return (int)tvb_captured_length(tvb);
    }
    set_addresses(&w, pinfo);
    return dissect_packet(&w, pinfo, tree);
}

/* ---- registering the dissector -----------------------------------------------------------------
 */

static void on_file_opened(void)
{
    roce_prefs_apply();
    roce_handoff_apply();
}

void proto_register_roce(void)
{
    static hf_register_info hf[] = {
        {&hf_roce_icrc,
         {"ICRC", "roce.icrc", FT_UINT32, BASE_HEX, NULL, 0, "Invariant CRC (Annex A17)", HFILL}},
        {&hf_roce_icrc_status,
         {"ICRC status", "roce.icrc.status", FT_UINT8, BASE_NONE, VALS(proto_checksum_vals), 0,
          "The status is \"Unverified\" if the packet is truncated, or if headers that the ICRC "
          "covers were not captured",
          HFILL}},
        {&hf_roce_payload_len,
         {"Payload length", "roce.payload_len", FT_UINT32, BASE_DEC, NULL, 0,
          "Number of payload bytes, without the pad", HFILL}},
    };
    static int *subtrees[] = {&ett_roce};
    static ei_register_info experts[] = {
        {&ei_roce_icrc_bad,
         {"roce.icrc.bad", PI_CHECKSUM, PI_ERROR, "Bad ICRC: the receiver drops this packet",
          EXPFILL}},
        {&ei_roce_fragments,
         {"roce.fragments", PI_PROTOCOL, PI_WARN,
          "The packet is an IP fragment: the receiver drops it (ALL-NET-007)", EXPFILL}},
        {&ei_roce_limit,
         {"roce.analysis.limit", PI_PROTOCOL, PI_WARN,
          "Memory limit of the analysis (preference roce.memory): connections that were idle "
          "longest lost their history or were closed early",
          EXPFILL}},
    };
    static const dissector_t dissectors[ROCE_HANDOFF_CNT] = {
        [ROCE_HANDOFF_UDP] = dissect_rocev2,
        [ROCE_HANDOFF_V1] = dissect_rocev1,
        [ROCE_HANDOFF_NATIVE] = dissect_native_ib,
    };
    module_t *module;

    proto_roce = proto_register_protocol("RDMA over Converged Ethernet", "RoCE", "roce");
    proto_register_field_array(proto_roce, hf, array_length(hf));
    proto_register_subtree_array(subtrees, array_length(subtrees));
    expert_register_field_array(expert_register_protocol(proto_roce), experts,
                                array_length(experts));
    module = roce_prefs_register(proto_roce);
    roce_hf_register(proto_roce);
    roce_expert_register(proto_roce);
    roce_aeth_register(proto_roce);
    roce_analysis_register(proto_roce);
    roce_cm_register(proto_roce);
    roce_dc_register(proto_roce);
    roce_ulp_register(proto_roce, module);
    roce_handoff_register(proto_roce, dissectors);
    roce_store_register(&roce_prefs.store);
    tap_roce = register_tap("roce");
    tap_object = roce_export_object_register(proto_roce);
    roce_conversations_register(proto_roce);
    roce_tap_conn_register();
    roce_tap_oper_register(proto_roce);
    roce_tap_loss_register();
    roce_stat_menu_register(proto_roce);
    register_init_routine(on_file_opened);
}

void proto_reg_handoff_roce(void)
{
    data_handle = find_dissector("data");
    roce_ulp_handoff();
    roce_handoff_add_decode_as();
}

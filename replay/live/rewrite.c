/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/rewrite.h"

#include <string.h>
#include "infer/shadow_memory.h"
#include "wire/gid.h"

#define MSN_MASK 0xFFFFFFu

/* ---- packets to the target --------------------------------------------------------------------
 */

static void set_addresses(const struct rewrite_path *path, const struct roce_pkt *recorded,
                          struct roce_pkt *out)
{
    bool ip4 = roce_gid_is_ip4(path->target);
    struct roce_pkt fresh;

    /* Create new IP and UDP headers with live addresses. Copy DSCP, ECN, TTL, identification, flow
     * label and source port from the recorded headers, because a recorded packet may test how the
     * target handles these fields. */
    roce_pkt_init(&fresh, ip4 ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6, recorded->bth.opcode);
    *out = *recorded;
    out->frame = NULL;
    out->encap = fresh.encap;
    out->present = (recorded->present & ~(ROCE_HDR_BIT(ROCE_HDR_ETH) | ROCE_HDR_BIT(ROCE_HDR_VLAN) |
                                          ROCE_HDR_BIT(ROCE_HDR_LRH) | ROCE_HDR_BIT(ROCE_HDR_GRH) |
                                          ROCE_HDR_BIT(ROCE_HDR_IP4) | ROCE_HDR_BIT(ROCE_HDR_IP6) |
                                          ROCE_HDR_BIT(ROCE_HDR_UDP))) |
                   fresh.present;
    out->vlan_cnt = 0;
    out->eth = fresh.eth;
    out->ip4 = fresh.ip4;
    out->ip6 = fresh.ip6;
    out->udp = fresh.udp;
    out->ip4_options_len = 0;
    if (recorded->encap == fresh.encap) {
        out->ip4.dscp = recorded->ip4.dscp;
        out->ip4.ecn = recorded->ip4.ecn;
        out->ip4.ttl = recorded->ip4.ttl;
        out->ip4.id = recorded->ip4.id;
        out->ip6.dscp = recorded->ip6.dscp;
        out->ip6.ecn = recorded->ip6.ecn;
        out->ip6.flow = recorded->ip6.flow;
        out->ip6.hop = recorded->ip6.hop;
    }
    if (roce_pkt_has(recorded, ROCE_HDR_UDP))
        out->udp.sport = recorded->udp.sport;
    else
        out->udp.sport = (uint16_t)(0xC000u | (recorded->bth.dest_qp & 0x3FFFu));
    memcpy(out->eth.dst, path->dmac, 6);
    memcpy(out->eth.src, path->mac, 6);
    if (ip4) {
        memcpy(out->ip4.src, path->addr + 12, 4);
        memcpy(out->ip4.dst, path->target + 12, 4);
    } else {
        memcpy(out->ip6.src, path->addr, 16);
        memcpy(out->ip6.dst, path->target, 16);
    }
}

/* Builds the frame of packet *out in `buf`. *out is a rewritten copy of `recorded`. If the ICRC of
 * `recorded` was wrong, writes a wrong ICRC. Returns the length, or -1 on failure. */
static int build_frame(const struct roce_pkt *out, const struct roce_pkt *recorded, uint8_t *buf,
                       size_t cap)
{
    uint32_t right;
    int len = roce_pkt_build(out, ROCE_BUILD_KEEP_PAD, buf, cap);

    if (len > 0 && roce_pkt_icrc_check(recorded, &right) == ROCE_ICRC_BAD)
        for (unsigned i = 0; i < 4; i++)
            buf[len - 4 + (int)i] ^= (uint8_t)((recorded->icrc ^ right) >> 8 * i);
    return len > 0 ? len : -1;
}

int rewrite_addresses(const struct rewrite_path *path, const struct trace_packet *packet,
                      uint8_t *buf, size_t cap)
{
    struct roce_pkt recorded, out;

    trace_parse(packet, &recorded);
    if (recorded.payload_cap_len != recorded.payload_len)
        return -1;
    set_addresses(path, &recorded, &out);
    return build_frame(&out, &recorded, buf, cap);
}

static void set_remote_memory(const struct shadow_memory *memory,
                              const struct rewrite_region *regions, uint32_t *rkey, uint64_t *va)
{
    const struct shadow_region *region = shadow_find(memory, *rkey);

    if (region) {
        const struct rewrite_region *live = &regions[region - memory->region];

        *rkey = live->rkey;
        if (va)
            *va = *va - region->low + live->addr;
        return;
    }
    /* The recorded responder had no region with this R_Key, so the live request must also fail. If
     * the target has a live region with this R_Key, use an R_Key that no live region has. */
    for (uint32_t i = 0; i < memory->keys.cnt; i++)
        if (regions[i].rkey == *rkey) {
            *rkey += 0x01000193u;
            i = UINT32_MAX; /* restart the loop: another region may have the new R_Key */
        }
}

int rewrite_to_live(const struct rewrite *rw, const struct trace_packet *packet, uint8_t *buf,
                    size_t cap)
{
    const struct inferred_setup *s = rw->setup;
    struct roce_pkt recorded, out;

    trace_parse(packet, &recorded);
    if (recorded.payload_cap_len != recorded.payload_len)
        return -1;
    set_addresses(rw->path, &recorded, &out);
    out.bth.dest_qp = rw->their_qpn;
    out.bth.psn = roce_psn_add(rw->psn, roce_psn_diff(roce_psn_of(recorded.bth.psn), s->psn)).v;
    if (recorded.bth.pkey == s->pkey)
        out.bth.pkey = REWRITE_PKEY;
    if (rw->we_request) {
        if (roce_pkt_has(&out, ROCE_HDR_RETH))
            set_remote_memory(rw->memory, rw->region, &out.reth.rkey, &out.reth.va);
        if (roce_pkt_has(&out, ROCE_HDR_ATOMICETH))
            set_remote_memory(rw->memory, rw->region, &out.atomiceth.rkey, &out.atomiceth.va);
        if (roce_pkt_has(&out, ROCE_HDR_IETH))
            set_remote_memory(rw->memory, rw->region, &out.ieth.rkey, NULL);
    } else if (roce_pkt_has(&out, ROCE_HDR_AETH)) {
        out.aeth.msn = (out.aeth.msn - s->msn) & MSN_MASK;
    }
    return build_frame(&out, &recorded, buf, cap);
}

int rewrite_datagram(const struct rewrite_dgram *stream, const struct trace_packet *packet,
                     uint8_t *buf, size_t cap)
{
    struct roce_pkt recorded, out;

    trace_parse(packet, &recorded);
    if (recorded.payload_cap_len != recorded.payload_len)
        return -1;
    set_addresses(stream->path, &recorded, &out);
    out.bth.dest_qp = stream->their_qpn;
    out.bth.psn = roce_psn_add(roce_psn_of(recorded.bth.psn), stream->psn_add).v;
    if (recorded.bth.pkey == stream->pkey)
        out.bth.pkey = REWRITE_PKEY;
    if (roce_pkt_has(&out, ROCE_HDR_RETH))
        set_remote_memory(stream->memory, stream->region, &out.reth.rkey, &out.reth.va);
    return build_frame(&out, &recorded, buf, cap);
}

/* ---- packets from the target ------------------------------------------------------------------
 */

void rewrite_to_recorded(const struct rewrite *rw, struct roce_pkt *pkt)
{
    const struct inferred_setup *s = rw->setup;

    if (pkt->bth.dest_qp == rw->our_qpn)
        pkt->bth.dest_qp = rw->we_request ? s->peer_qpn : s->qpn;
    pkt->bth.psn = roce_psn_add(s->psn, roce_psn_diff(roce_pkt_psn(pkt), rw->psn)).v;
    if (pkt->bth.pkey == REWRITE_PKEY)
        pkt->bth.pkey = s->pkey;
    if (rw->we_request && roce_pkt_has(pkt, ROCE_HDR_AETH))
        pkt->aeth.msn = (pkt->aeth.msn + s->msn) & MSN_MASK;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/trace.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "capture/parsed_frame.h"
#include "util/lower_bound.h"
#include "wire/bytes.h"
#include "wire/parse_headers.h"
#include "wire/tunnel.h"

#define BLOCK_SIZE (1u << 20) /* size of a block of packet bytes */
#define MAC_LEN    6

/* Block of memory that contains frames one after the other. A block never moves, so pointers to its
 * frames stay valid. */
struct trace_block {
    struct trace_block *next;
    size_t used;
    size_t size;
    uint8_t data[];
};

struct hosts_key {
    uint8_t src[16];
    uint8_t dst[16];
    uint32_t encap;
};

struct flow_key {
    struct hosts_key hosts;
    uint32_t dest_qp;
    uint32_t svc;
};

static uint8_t *keep_frame(struct trace *trace, const uint8_t *data, size_t len)
{
    struct trace_block *block = trace->blocks;
    uint8_t *p;

    if (!block || block->size - block->used < len) {
        size_t size = len > BLOCK_SIZE ? len : BLOCK_SIZE;

        block = malloc(sizeof(*block) + size);
        if (!block)
            return NULL;
        *block = (struct trace_block){.next = trace->blocks, .size = size};
        trace->blocks = block;
    }
    p = block->data + block->used;
    memcpy(p, data, len);
    block->used += len;
    return p;
}

static struct flow_key flow_key(const uint8_t src[16], const uint8_t dst[16], enum roce_encap encap,
                                uint32_t dest_qp, enum roce_svc svc)
{
    struct flow_key key;

    memset(&key, 0, sizeof(key));
    memcpy(key.hosts.src, src, 16);
    memcpy(key.hosts.dst, dst, 16);
    key.hosts.encap = encap;
    key.dest_qp = dest_qp;
    key.svc = svc;
    return key;
}

/* Stores the source and destination address of a packet. A native InfiniBand packet without GRH has
 * its LIDs as addresses. */
static void packet_addresses(const struct roce_pkt *pkt, uint8_t src[16], uint8_t dst[16])
{
    roce_pkt_addr(pkt, src, dst);
    if (pkt->encap == ROCE_ENCAP_IB_LOCAL) {
        roce_bits_put(src, 14, 0, 16, pkt->lrh.slid);
        roce_bits_put(dst, 14, 0, 16, pkt->lrh.dlid);
    }
}

/* Returns whether a packet belongs to a flow. */
static bool is_of_flow(const struct trace_flow *flow, const struct roce_pkt *pkt,
                       const uint8_t src[16], const uint8_t dst[16])
{
    return flow->dest_qp == pkt->bth.dest_qp && flow->svc == pkt->op->svc &&
           flow->encap == pkt->encap && memcmp(flow->src, src, 16) == 0 &&
           memcmp(flow->dst, dst, 16) == 0;
}

/* Returns the flow of a packet, and creates the flow for its first packet. Returns KEYMAP_NONE if
 * out of memory. */
static uint32_t flow_of(struct trace *trace, const struct roce_pkt *pkt)
{
    uint8_t src[16], dst[16];
    struct flow_key key;
    uint32_t *recent = &trace->recent_flow[pkt->bth.dest_qp % TRACE_RECENT_FLOWS];
    uint32_t cnt = trace->flows.cnt;
    uint32_t flow;

    packet_addresses(pkt, src, dst);
    if (*recent < cnt && is_of_flow(&trace->flow[*recent], pkt, src, dst))
        return *recent;
    key = flow_key(src, dst, pkt->encap, pkt->bth.dest_qp, pkt->op->svc);
    if (!VEC_GROW(trace->flow, cnt, trace->flow_cap))
        return KEYMAP_NONE;
    flow = keymap_add(&trace->flows, &key);
    if (flow == KEYMAP_NONE)
        return flow;
    *recent = flow;
    if (flow != cnt)
        return flow;
    trace->flow[flow] = (struct trace_flow){
        .dest_qp = key.dest_qp,
        .encap = pkt->encap,
        .svc = pkt->op->svc,
        .hosts = keymap_add(&trace->hosts, &key.hosts),
        .reverse = KEYMAP_NONE,
    };
    memcpy(trace->flow[flow].src, src, 16);
    memcpy(trace->flow[flow].dst, dst, 16);
    return trace->flow[flow].hosts == KEYMAP_NONE ? KEYMAP_NONE : flow;
}

/* Writes the IPv4 header checksum into a copy of the packet. The sender left the checksum 0 for its
 * NIC to fill, but a receiver drops a packet with a wrong checksum. Returns false if out of
 * memory. */
static bool fill_checksum(struct trace *trace, struct trace_packet *p, const struct roce_pkt *pkt)
{
    uint8_t *copy = keep_frame(trace, p->data, p->cap_len);

    if (!copy)
        return false;
    roce_ip4_set_checksum(copy + pkt->off[ROCE_HDR_IP4], pkt->ip4.ihl * 4u);
    p->data = copy;
    trace->checksums_filled++;
    return true;
}

/* Completes a frame that the snaplen cut, so that our RNIC accepts it. Adds zeros for the missing
 * payload bytes, and a matching ICRC. The comparison then ignores the payload. Returns false if out
 * of memory. Does nothing if headers are missing. */
static bool zero_fill(struct trace *trace, struct trace_packet *p, const struct roce_pkt *cut)
{
    uint32_t len = cut->icrc_off + ROCE_ICRC_LEN;
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    uint32_t icrc;

    if ((!trace_acknowledged(cut->op->svc) && cut->op->svc != ROCE_SVC_UC &&
         cut->op->svc != ROCE_SVC_UD) ||
        len > sizeof(buf) || len <= cut->cap_len || cut->cap_len < cut->payload_off)
        return true;
    memset(buf, 0, len);
    memcpy(buf, cut->frame, cut->cap_len);
    if (roce_pkt_parse(&pkt, (enum roce_link)p->link, buf, len, len) != 0 ||
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_UNVERIFIED)
        return true;
    roce_le32_put(buf + pkt.icrc_off, icrc);
    trace->bytes += len - p->cap_len;
    p->zero_filled = cut->payload_cap_len < cut->payload_len;
    p->cut = false;
    p->data = keep_frame(trace, buf, len);
    p->cap_len = p->wire_len = len;
    return p->data != NULL;
}

/* ---- Ethernet addresses ------------------------------------------------------------------------
 */

static void note_macs(struct trace *trace, struct trace_flow *flow, const uint8_t *frame)
{
    if (!flow->has_macs)
        memcpy(flow->macs, frame, sizeof(flow->macs));
    else if (memcmp(flow->macs, frame, sizeof(flow->macs)) != 0)
        trace->macs_vary = true;
    flow->has_macs = true;
}

/* Addresses of the trace's hosts and groups, each with the MAC address of its first packet. */
struct hosts {
    struct keymap addr;
    uint8_t (*mac)[MAC_LEN];
    size_t cap;
};

/* Returns 1 if no earlier flow shows another MAC address of `addr`, 0 if one does, or -1 if out of
 * memory. */
static int has_mac(struct hosts *h, const uint8_t addr[16], const uint8_t mac[MAC_LEN])
{
    uint32_t cnt = h->addr.cnt, i;

    if (!VEC_GROW(h->mac, cnt, h->cap) || (i = keymap_add(&h->addr, addr)) == KEYMAP_NONE)
        return -1;
    if (i == cnt)
        memcpy(h->mac[i], mac, MAC_LEN);
    return memcmp(h->mac[i], mac, MAC_LEN) == 0;
}

static void put_mac(const struct hosts *h, const uint8_t addr[16], uint8_t mac[MAC_LEN])
{
    roce_be_put(mac, MAC_LEN, UINT64_C(0x020000000001) + keymap_get(&h->addr, addr));
}

static int replace_macs(struct trace *trace, const struct hosts *h)
{
    for (size_t i = 0; i < trace->cnt; i++) {
        struct trace_packet *p = &trace->pkt[i];
        const struct trace_flow *flow = &trace->flow[p->flow];
        uint8_t *copy;

        if (p->link != ROCE_LINK_ETHERNET || !flow->has_macs)
            continue;
        copy = keep_frame(trace, p->data, p->cap_len);
        if (!copy)
            return -1;
        if (!(copy[0] & 1))
            put_mac(h, flow->dst, copy);
        put_mac(h, flow->src, copy + MAC_LEN);
        p->data = copy;
    }
    return 0;
}

static int unify_macs(struct trace *trace)
{
    struct hosts h = {0};
    int rc = 0;

    keymap_init(&h.addr, 16);
    for (uint32_t i = 0; rc == 0 && i < trace->flows.cnt; i++) {
        const struct trace_flow *flow = &trace->flow[i];
        const uint8_t *dst = flow->macs, *src = dst + MAC_LEN;
        int same_src, same_dst;

        if (!flow->has_macs)
            continue;
        same_src = has_mac(&h, flow->src, src);
        same_dst = has_mac(&h, flow->dst, dst);
        rc = same_src < 0 || same_dst < 0 ? -1 : 0;
        /* A source MAC with the group bit is not the address of a host: the recorder wrote it. All
         * MAC addresses are then replaced, so that one host has one address. */
        trace->macs_vary |= !same_src || (src[0] & 1) || (!same_dst && !(dst[0] & 1));
    }
    if (rc == 0 && trace->macs_vary)
        rc = replace_macs(trace, &h);
    keymap_free(&h.addr);
    free(h.mac);
    return rc;
}

const char *trace_form_defect(const struct roce_pkt *pkt)
{
    static const enum roce_defect defects[] = {ROCE_DEFECT_HDR_SHORT, ROCE_DEFECT_PAD_COUNT,
                                               ROCE_DEFECT_ALIGN, ROCE_DEFECT_PAYLOAD,
                                               ROCE_DEFECT_TVER};

    for (size_t i = 0; pkt->defects && i < sizeof(defects) / sizeof(defects[0]); i++)
        if (roce_pkt_defect(pkt, defects[i]))
            return roce_defect_info(defects[i])->text;
    return NULL;
}

/* Adds a frame to the trace if it is a RoCE packet. *pkt must be all zero or the result of the
 * previous call (captured_frame_parse()). Returns 0, or -1 and an error. */
static int add_packet(struct trace *trace, const struct captured_frame *frame, struct roce_pkt *pkt,
                      struct error *error)
{
    struct trace_packet *p;
    struct trace_flow *flow;
    uint32_t flow_idx;
    int rc = captured_frame_parse(pkt, frame);

    if (rc != 0) {
        trace->malformed += rc != ROCE_ERR_NOT_ROCE;
        return 0;
    }
    trace->bytes += frame->cap_len + sizeof(*p);
    if (trace->cnt >= TRACE_PACKETS_MAX || trace->bytes > TRACE_BYTES_MAX)
        return error_set(
            error, "%s: frame %u: more RoCE traffic than the limit of replay (%u packets, %u MiB)",
            trace->name, frame->number, TRACE_PACKETS_MAX, (unsigned)(TRACE_BYTES_MAX >> 20));
    flow_idx = flow_of(trace, pkt);
    if (trace->flows.cnt > TRACE_FLOWS_MAX)
        return error_set(error, "%s: frame %u: more flows than the limit of replay (%u)",
                         trace->name, frame->number, TRACE_FLOWS_MAX);
    if (flow_idx == KEYMAP_NONE || !VEC_GROW(trace->pkt, trace->cnt, trace->cap))
        return error_set(error, "%s: frame %u: no memory", trace->name, frame->number);
    flow = &trace->flow[flow_idx];
    if (!VEC_GROW(flow->pkt, flow->cnt, flow->cap))
        return error_set(error, "%s: frame %u: no memory", trace->name, frame->number);
    p = &trace->pkt[trace->cnt];
    *p = (struct trace_packet){
        .cap_len = pkt->cap_len,
        .wire_len = pkt->wire_len,
        .time = frame->time,
        .frame = frame->number,
        .flow = flow_idx,
        .overlay = pkt->overlay,
        .psn = pkt->bth.psn,
        .msn = pkt->aeth.msn,
        .payload_len = pkt->payload_len,
        .payload_off = pkt->payload_off,
        .pkey = pkt->bth.pkey,
        .ip_id = pkt->ip4.id,
        .opcode = pkt->bth.opcode,
        .syndrome = pkt->aeth.syndrome,
        .icrc = (uint8_t)roce_pkt_icrc_check(pkt, NULL),
        .link = (uint8_t)pkt->link,
        .ackreq = pkt->bth.ackreq,
        .se = pkt->bth.se,
        .cut = pkt->payload_cap_len < pkt->payload_len || pkt->cap_len < pkt->wire_len,
    };
    if (p->cut && !zero_fill(trace, p, pkt))
        return error_set(error, "%s: frame %u: no memory", trace->name, frame->number);
    if (!p->data)
        p->data = trace->mapped ? pkt->frame : keep_frame(trace, pkt->frame, pkt->cap_len);
    if (!p->data)
        return error_set(error, "%s: frame %u: no memory", trace->name, frame->number);
    if (roce_pkt_defect(pkt, ROCE_DEFECT_IP_CHECKSUM_0) && !fill_checksum(trace, p, pkt))
        return error_set(error, "%s: frame %u: no memory", trace->name, frame->number);
    p->dropped = p->icrc == ROCE_ICRC_BAD || roce_pkt_dropped(pkt);
    if (p->zero_filled) {
        trace->cut_payloads++;
        if (trace->cut_len < frame->record_cap_len)
            trace->cut_len = frame->record_cap_len;
    }
    p->malformed = p->icrc == ROCE_ICRC_GOOD && !p->zero_filled && trace_form_defect(pkt);
    if (pkt->link == ROCE_LINK_ETHERNET)
        note_macs(trace, flow, pkt->frame);
    /* Capture times may step back, but virtual time cannot. */
    if (trace->cnt > 0 && p->time < p[-1].time)
        p->time = p[-1].time;
    flow->good += !p->dropped;
    flow->pkt[flow->cnt++] = (uint32_t)trace->cnt++;
    return 0;
}

/*
 * In a capture without any correct ICRC, up to this number of packets are assumed to be damaged. If
 * more ICRCs are wrong, a device before the capture point changed bytes that the ICRC covers
 * (flow/base/icrc_trust.h). The receivers then got correct packets, so all ICRCs are corrected.
 */
#define DAMAGED_MAX 3u

static int fix_all_icrcs(struct trace *trace)
{
    uint32_t bad = 0;

    for (size_t i = 0; i < trace->cnt; i++) {
        if (trace->pkt[i].icrc == ROCE_ICRC_GOOD)
            return 0;
        bad += trace->pkt[i].icrc == ROCE_ICRC_BAD;
    }
    if (bad <= DAMAGED_MAX)
        return 0;
    for (uint32_t i = 0; i < trace->cnt; i++)
        if (trace_fix_icrc(trace, i) != 0)
            return -1;
    trace->icrcs_fixed = bad;
    return 0;
}

/* ---- IPv4 identification -----------------------------------------------------------------------
 */

/* Maximum increase of the IPv4 identification between two packets of a flow that still shows their
 * order. Identifications between the two belong to packets of other flows to the same host. */
#define ID_STEP_MAX 4096

/* Maximum time between two packets to compare their IPv4 identifications, ns. */
#define ID_TIME_MAX UINT64_C(1000000000)

/* Least number of packets from which we infer that a sender numbers its packets. */
#define NUMBERED_MIN 8u

/* Returns the increase of the IPv4 identification from one packet to another, or 0 if it is
 * unknown. */
static int id_step(const struct trace_packet *from, const struct trace_packet *to)
{
    int16_t step = (int16_t)(uint16_t)(to->ip_id - from->ip_id);
    uint64_t time = to->time > from->time ? to->time - from->time : from->time - to->time;

    return time > ID_TIME_MAX || step > ID_STEP_MAX || step < -ID_STEP_MAX ? 0 : step;
}

/* Limits of trace_shows_all_between(): maximum increase of the IPv4 identification between its two
 * packets, and maximum number of packets that it searches before, between and after them. */
#define BETWEEN_MAX     63
#define BETWEEN_PACKETS 256

/* Steps of the IPv4 identification from one packet to the next. */
struct id_steps {
    const struct trace_packet *prev;
    uint32_t up, down, other; /* number of steps that increase the identification, that decrease it,
                               * and that are too large to show an order */
};

static void count_step(struct id_steps *steps, const struct trace_packet *p)
{
    if (p->dropped)
        return;
    if (steps->prev && p->ip_id != steps->prev->ip_id &&
        p->time - steps->prev->time <= ID_TIME_MAX) {
        int step = id_step(steps->prev, p);

        steps->up += step > 0;
        steps->down += step < 0;
        steps->other += step == 0;
    }
    steps->prev = p;
}

/* Returns whether a sender numbers its packets: nearly all steps of the IPv4 identification are
 * small, and more steps increase it than decrease it. */
static bool are_increasing(const struct id_steps *steps)
{
    return steps->up >= NUMBERED_MIN && steps->up > steps->down &&
           steps->other <= (steps->up + steps->down) / 16;
}

/* Sets `numbered` and `host_numbered` of all flows. Returns 0, or -1 if out of memory. */
static int find_numbered(struct trace *trace)
{
    struct id_steps *hosts = calloc(trace->hosts.cnt + 1, sizeof(*hosts));

    if (!hosts)
        return -1;
    for (size_t i = 0; i < trace->cnt; i++)
        count_step(&hosts[trace->flow[trace->pkt[i].flow].hosts], &trace->pkt[i]);
    for (uint32_t f = 0; f < trace->flows.cnt; f++) {
        struct trace_flow *flow = &trace->flow[f];
        const struct id_steps *all = &hosts[flow->hosts];
        bool vary = all->up || all->down || all->other;
        struct id_steps own = {.prev = NULL};

        flow->host_numbered = are_increasing(all);
        flow->numbered = flow->host_numbered;
        /* If all packets to this host have one identification, the packets of this flow have it,
         * too, and need no search. */
        for (size_t i = 0; vary && !flow->numbered && i < flow->cnt; i++)
            count_step(&own, &trace->pkt[flow->pkt[i]]);
        flow->numbered |= are_increasing(&own);
    }
    free(hosts);
    return 0;
}

bool trace_sent_before(const struct trace *trace, const struct trace_packet *a,
                       const struct trace_packet *b)
{
    return a->flow == b->flow && trace->flow[a->flow].numbered && id_step(a, b) > 0;
}

bool trace_sent_next(const struct trace *trace, const struct trace_packet *a,
                     const struct trace_packet *b)
{
    return a->flow == b->flow && trace->flow[a->flow].numbered && id_step(a, b) == 1;
}

bool trace_shows_all_between(const struct trace *trace, const struct trace_packet *a,
                             const struct trace_packet *b)
{
    const struct trace_packet *low = a < b ? a : b, *high = a < b ? b : a;
    int step = id_step(a, b);
    uint64_t seen = 0; /* bit i: the packet with the identification of `a` plus i was captured */

    if (trace_sent_next(trace, a, b))
        return true;
    if (a->flow != b->flow || !trace->flow[a->flow].host_numbered || step <= 0 ||
        step > BETWEEN_MAX || high - low > BETWEEN_PACKETS)
        return false;
    low -= low - trace->pkt < BETWEEN_PACKETS ? low - trace->pkt : BETWEEN_PACKETS;
    high = trace->pkt + trace->cnt - high <= BETWEEN_PACKETS ? trace->pkt + trace->cnt - 1
                                                             : high + BETWEEN_PACKETS;
    for (const struct trace_packet *p = low; p <= high; p++) {
        uint16_t after = (uint16_t)(p->ip_id - a->ip_id);

        if (after > 0 && after < step && !p->dropped &&
            trace->flow[p->flow].hosts == trace->flow[a->flow].hosts)
            seen |= UINT64_C(1) << after;
    }
    return seen == (UINT64_C(1) << step) - 2;
}

bool trace_sent_once(const struct trace *trace, const struct trace_packet *a,
                     const struct trace_packet *b)
{
    return a->flow == b->flow && trace->flow[a->flow].numbered && a->ip_id == b->ip_id &&
           a->psn == b->psn && b->time - a->time <= ID_TIME_MAX;
}

int trace_read(struct trace *trace, const char *path, struct error *error)
{
    return trace_read_narrowed(trace, path, NULL, error);
}

int trace_read_narrowed(struct trace *trace, const char *path, const struct narrow *narrow,
                        struct error *error)
{
    struct capture_reader *reader;
    struct captured_frame frame;
    struct roce_pkt pkt;
    int rc;

    memset(&pkt, 0, sizeof(pkt));
    memset(trace, 0, sizeof(*trace));
    keymap_init(&trace->flows, sizeof(struct flow_key));
    keymap_init(&trace->hosts, sizeof(struct hosts_key));
    reader = reader_open(path, error);
    if (!reader)
        return -1;
    trace->name = strdup(reader_name(reader));
    trace->mapped = reader_map(reader, TRACE_BYTES_MAX);
    reader_narrow(reader, narrow);
    rc = trace->name ? 0 : error_set(error, "%s: no memory", path);
    while (rc == 0 && (rc = reader_next(reader, &frame, error)) == 1) {
        trace->frames++;
        rc = reader_takes(reader, &frame) ? add_packet(trace, &frame, &pkt, error) : 0;
    }
    reader_close(reader);
    if (rc == 0 && (fix_all_icrcs(trace) != 0 || unify_macs(trace) != 0))
        rc = error_set(error, "%s: no memory", path);
    for (uint32_t i = 0; i < trace->flows.cnt; i++) {
        struct trace_flow *flow = &trace->flow[i];
        struct hosts_key key;

        memset(&key, 0, sizeof(key));
        memcpy(key.src, flow->dst, 16);
        memcpy(key.dst, flow->src, 16);
        key.encap = flow->encap;
        flow->reverse = keymap_get(&trace->hosts, &key);
    }
    return rc == 0 && find_numbered(trace) != 0 ? error_set(error, "%s: no memory", path) : rc;
}

int trace_fix_icrc(struct trace *trace, uint32_t idx)
{
    struct trace_packet *p = &trace->pkt[idx];
    struct roce_pkt pkt;
    uint32_t icrc;
    uint8_t *copy;

    trace_parse(p, &pkt);
    if (roce_pkt_icrc_check(&pkt, &icrc) != ROCE_ICRC_BAD)
        return 0;
    copy = keep_frame(trace, p->data, p->cap_len);
    if (!copy)
        return -1;
    roce_le32_put(copy + pkt.icrc_off, icrc);
    p->data = copy;
    p->icrc = ROCE_ICRC_GOOD;
    trace_parse(p, &pkt);
    p->dropped = roce_pkt_dropped(&pkt);
    trace->flow[p->flow].good += !p->dropped;
    return 0;
}

void trace_free(struct trace *trace)
{
    struct trace_block *next;

    for (uint32_t i = 0; i < trace->flows.cnt; i++)
        free(trace->flow[i].pkt);
    for (struct trace_block *b = trace->blocks; b; b = next) {
        next = b->next;
        free(b);
    }
    mmap_file_close(trace->mapped);
    free(trace->flow);
    free(trace->pkt);
    free(trace->name);
    keymap_free(&trace->flows);
    keymap_free(&trace->hosts);
    memset(trace, 0, sizeof(*trace));
}

bool trace_is_copy(const struct trace_packet *a, const struct trace_packet *b)
{
    return b->time - a->time < TRACE_COPY_NS && a->psn == b->psn && a->opcode == b->opcode &&
           a->cap_len == b->cap_len && a->payload_len == b->payload_len &&
           a->payload_off == b->payload_off &&
           memcmp(trace_payload(a), trace_payload(b), a->cap_len - a->payload_off) == 0;
}

uint32_t trace_packet_of(const struct trace *trace, uint32_t frame)
{
    size_t low = 0, high = trace->cnt;

    LOWER_BOUND(low, high, mid, trace->pkt[mid].frame < frame);
    return low < trace->cnt && trace->pkt[low].frame == frame ? (uint32_t)low : UINT32_MAX;
}

void trace_parse(const struct trace_packet *packet, struct roce_pkt *out)
{
    roce_pkt_parse(out, (enum roce_link)packet->link, packet->data, packet->cap_len,
                   packet->wire_len);
    out->overlay = packet->overlay;
}

void trace_parse_next(const struct trace_packet *packet, struct roce_pkt *out)
{
    if (roce_pkt_parse_fast(out, (enum roce_link)packet->link, packet->data, packet->cap_len,
                            packet->wire_len))
        out->overlay = packet->overlay;
    else
        trace_parse(packet, out);
}

void trace_parse_headers(const struct trace_packet *p, struct roce_pkt *out)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);

    if (p->payload_off < op->len || p->payload_off > p->cap_len) {
        trace_parse(p, out); /* the capture lacks headers */
        return;
    }
    roce_pkt_parse_headers(out, p->data + p->payload_off - op->len);
    out->payload = p->payload_len ? trace_payload(p) : NULL;
    out->payload_len = p->payload_len;
}

uint32_t trace_dest_qp(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct roce_bth bth;
    struct roce_pkt pkt;

    if (p->payload_off < op->len || p->payload_off > p->cap_len) {
        trace_parse(p, &pkt);
        return pkt.bth.dest_qp;
    }
    roce_bth_parse(p->data + p->payload_off - op->len, &bth);
    return bth.dest_qp;
}

struct roce_reth trace_reth(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct roce_reth reth = {0};
    struct roce_pkt pkt;

    if (!roce_opcode_has(op, ROCE_HDR_RETH))
        return reth;
    if (p->payload_off == 0 || p->payload_off > p->cap_len) {
        trace_parse(p, &pkt);
        return pkt.reth;
    }
    for (unsigned i = 0; i < op->hdr_cnt; i++)
        if (op->hdr[i] == ROCE_HDR_RETH)
            roce_reth_parse(p->data + p->payload_off - op->len + op->hdr_off[i], &reth);
    return reth;
}

uint32_t trace_psn_cnt(const struct trace_packet *packet, uint32_t mtu)
{
    return roce_opcode(packet->opcode)->kind == ROCE_KIND_READ
               ? roce_psn_cnt(trace_reth(packet).dma_len, mtu)
               : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Trace: the RoCE packets of one capture, kept in memory and sorted into flows. A flow is one
 * direction of a conversation, identified by the fields that every packet has: addresses,
 * encapsulation, destination QP and transport service. The packets of a flow do not show which flow
 * is its reverse, because a packet does not contain its source QP. connections.h pairs the flows.
 */
#ifndef REPLAY_INFER_TRACE_H
#define REPLAY_INFER_TRACE_H

#include "base/error.h"
#include "capture/capture_reader.h"
#include "util/keymap.h"

/* Longest time, ns, between a packet and a copy that the network or the capture made. If the time
 * is longer, the sender sent the packet twice. */
#define TRACE_COPY_NS UINT64_C(1000000)

/* Limits of the RoCE packets and flows of one capture. A replay keeps them in memory, and up to 3
 * KB for the connection of each flow. trace_read() refuses a capture with more. The limits also
 * bound the memory that a hostile file can make us allocate. A file longer than TRACE_BYTES_MAX is
 * not mapped, and only its RoCE frames are stored. */
#define TRACE_BYTES_MAX   (UINT64_C(1) << 30)
#define TRACE_PACKETS_MAX (8u << 20)
#define TRACE_FLOWS_MAX   (1u << 18)

/* Number of flows that are found without a search of all flows; a power of 2. */
#define TRACE_RECENT_FLOWS 64u

struct peer_quirk; /* defined in peer_quirks.h */

struct trace_packet {
    const uint8_t *data; /* the whole frame */
    uint32_t cap_len;    /* length of `data` in bytes */
    uint32_t wire_len;
    uint64_t time;  /* capture time in ns, never earlier than the time of the previous packet */
    uint32_t frame; /* frame number in the capture file, counted from 1 */
    uint32_t flow;
    uint32_t overlay; /* VNI or other network id of the tunnel, in the format of
                       * roce_pkt.overlay; 0 without a tunnel */
    uint32_t psn;
    const struct peer_quirk *icrc_fixed; /* known deviation of the sender that explains the wrong
                                          * ICRC, if the replay corrected the ICRC; else NULL */
    uint32_t msn;                        /* MSN of the AETH, if there is an AETH */
    uint32_t payload_len;                /* bytes of payload without pad */
    uint16_t payload_off;                /* offset of the payload in `data` */
    uint16_t pkey;
    uint16_t ip_id; /* identification of the IPv4 header; 0 without IPv4 */
    uint8_t opcode;
    uint8_t syndrome; /* AETH syndrome, if the packet has an AETH */
    uint8_t icrc;     /* enum roce_icrc_status */
    uint8_t link;     /* enum roce_link */
    bool ackreq;
    bool se;          /* solicited event bit of the BTH */
    bool malformed;   /* transport headers or payload are malformed although the captured ICRC is
                       * correct, so the sender sent the packet malformed */
    bool dropped;     /* a conformant receiver drops the packet because of its form or its ICRC */
    bool cut;         /* the capture lacks the end of the frame, and we did not complete the
                       * frame */
    bool zero_filled; /* we added zeros for missing payload, and a matching ICRC */
};

struct trace_flow {
    uint8_t src[16];
    uint8_t dst[16];
    uint32_t dest_qp;
    enum roce_encap encap;
    enum roce_svc svc;
    uint32_t hosts;     /* number of the pair of hosts (src, dst, encap) in trace.hosts */
    uint32_t reverse;   /* number of the pair of hosts in the reverse order, or KEYMAP_NONE */
    uint32_t good;      /* number of packets that a receiver does not drop */
    bool numbered;      /* the sender increases the IPv4 identification from packet to packet */
    bool host_numbered; /* true: the sender counts the IPv4 identification up over all packets to
                         * the host, not separately for each flow */
    uint8_t macs[12];   /* destination and source MAC of the first frame, if `has_macs` */
    bool has_macs;
    uint32_t *pkt; /* indices into trace.pkt, in capture order */
    size_t cnt;
    size_t cap;
};

struct trace {
    char *name;
    struct trace_packet *pkt;
    size_t cnt;
    size_t cap;
    struct trace_flow *flow; /* array of flows; the index of a flow is the number of its key in
                              * `flows` */
    size_t flow_cap;
    struct keymap flows;
    uint32_t recent_flow[TRACE_RECENT_FLOWS]; /* latest flow with this hash of the destination QP */
    struct keymap hosts;
    uint32_t frames;       /* number of frames in the capture file, with and without RoCE */
    bool macs_vary;        /* an IP address or GID had several MAC addresses, which we replaced (see
                            * trace_read()) */
    uint32_t malformed;    /* number of RoCE frames without a readable BTH */
    uint32_t cut_payloads; /* number of packets with a payload that the snaplen cut; their payload
                            * is not compared */
    uint32_t cut_len;      /* captured length of the longest frame among the packets that the
                            * snaplen cut, bytes */
    uint32_t checksums_filled; /* number of packets for which we filled in an IPv4 header checksum
                                * of 0 */
    uint32_t icrcs_fixed;      /* number of packets for which we corrected the ICRC, because no
                                * packet of the capture had a correct ICRC */
    uint64_t bytes;
    struct trace_block *blocks;
    struct mmap_file *mapped; /* mapped file that contains the frames; NULL if the frames are in
                               * `blocks` */
};

/*
 * Reads a whole capture. Returns 0, or -1 and an error. Call trace_free() in both cases.
 *
 * An RNIC has one MAC address. But a capture may show several MAC addresses for one IP address or
 * GID: with two routers, with a capture point behind a router, or with a mirror port that writes a
 * time into the frame. In such a capture, trace_read() replaces the MAC addresses, so that each IP
 * address or GID has one for all its frames: 02:00:00:00:00:01 and so on.
 */
int trace_read(struct trace *trace, const char *path, struct error *error);

/* Like trace_read(), but reads only the frames that `narrow` selects (capture/narrow.h). NULL
 * selects all frames. */
int trace_read_narrowed(struct trace *trace, const char *path, const struct narrow *narrow,
                        struct error *error);
void trace_free(struct trace *trace);

/* Corrects the ICRC of a packet, so that a conformant receiver accepts the packet. Returns 0, or -1
 * if out of memory. */
int trace_fix_icrc(struct trace *trace, uint32_t pkt);

/* Returns the index in trace.pkt of the packet of a frame, or UINT32_MAX if the trace has none. */
uint32_t trace_packet_of(const struct trace *trace, uint32_t frame);

/* Parses a packet again. Always succeeds, because trace_read() has already parsed the packet. */
void trace_parse(const struct trace_packet *packet, struct roce_pkt *out);

/* Like trace_parse(), but *out must be all zero or the result of an earlier call: members that are
 * already zero are not cleared again. */
void trace_parse_next(const struct trace_packet *packet, struct roce_pkt *out);

/* Parses the headers after the BTH again, in a fraction of the time of trace_parse(). Of the other
 * members of *out, sets only op, present, defects and the payload. */
void trace_parse_headers(const struct trace_packet *packet, struct roce_pkt *out);

/* Returns the destination QPN of a packet. Reads only the BTH. */
uint32_t trace_dest_qp(const struct trace_packet *packet);

/* Returns the RETH of a packet; all members are 0 if the packet has no RETH, or if the capture
 * lacks it. Reads only this header, which takes a fraction of the time of trace_parse(). */
struct roce_reth trace_reth(const struct trace_packet *packet);

/* Returns the number of PSNs that a request packet uses. A READ uses one for each packet of its
 * response, and every other packet uses one. `mtu` is the path MTU, bytes. */
uint32_t trace_psn_cnt(const struct trace_packet *packet, uint32_t mtu);

/* Returns the text of the first defect of the transport headers or the payload, or NULL. The ICRC
 * covers both; so if the ICRC is correct, the sender caused the defect. */
const char *trace_form_defect(const struct roce_pkt *pkt);

/* Returns whether `later` is a copy of `earlier` made by the network or the capture: the packets
 * are equal, and the time between them is too short for a retransmission. */
bool trace_is_copy(const struct trace_packet *earlier, const struct trace_packet *later);

/* Returns whether the IPv4 identifications of two packets of one flow show that the sender sent `a`
 * before `b`. */
bool trace_sent_before(const struct trace *trace, const struct trace_packet *a,
                       const struct trace_packet *b);

/* Returns whether the IPv4 identifications of two packets of one flow show that the sender sent `b`
 * directly after `a`. */
bool trace_sent_next(const struct trace *trace, const struct trace_packet *a,
                     const struct trace_packet *b);

/* Returns whether the capture contains all packets that the sender of `a` and `b`, two packets of
 * one flow, sent to the same host between them. May return false if `a` and `b` were captured far
 * apart. */
bool trace_shows_all_between(const struct trace *trace, const struct trace_packet *a,
                             const struct trace_packet *b);

/* Returns whether packet `b` is a copy of packet `a` of the same flow, made by the network or the
 * capture. Their IPv4 identifications show that the sender sent the packet once, even if one of the
 * two is damaged. */
bool trace_sent_once(const struct trace *trace, const struct trace_packet *a,
                     const struct trace_packet *b);

/* Returns whether the MSN of a response with this opcode must be exactly the number of complete
 * messages (R103). */
static inline bool trace_counts_messages(const struct roce_opcode *op)
{
    return roce_opcode_has(op, ROCE_HDR_AETH) &&
           !(op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST);
}

/* Returns whether requests of this service are acknowledged. */
static inline bool trace_acknowledged(enum roce_svc svc)
{
    return svc == ROCE_SVC_RC || svc == ROCE_SVC_XRC;
}

/* Returns whether a responder answers a request of this kind with READ responses. The responses to
 * FLUSH and ATOMIC WRITE have no data (annex A19). */
static inline bool trace_draws_read_response(enum roce_kind kind)
{
    return kind == ROCE_KIND_READ || kind == ROCE_KIND_FLUSH || kind == ROCE_KIND_ATOMIC_WRITE;
}

/* Returns whether a request with opcode `asked` draws responses of this kind. Every request may be
 * answered by an acknowledge packet. */
static inline bool trace_draws(const struct roce_opcode *asked, enum roce_kind response)
{
    return response == ROCE_KIND_READ_RESP    ? trace_draws_read_response(asked->kind)
           : response == ROCE_KIND_ATOMIC_ACK ? roce_opcode_is_atomic(asked)
                                              : true;
}

static inline bool trace_is_response(const struct trace_packet *packet)
{
    return roce_opcode_is_response(roce_opcode(packet->opcode));
}

/* Loads the headers of a packet into the cache, if the trace has a packet with this index. */
static inline void trace_prefetch(const struct trace *trace, uint32_t pkt)
{
    if (pkt >= trace->cnt)
        return;
    __builtin_prefetch(trace->pkt[pkt].data);
    __builtin_prefetch(trace->pkt[pkt].data + 64);
}

static inline const uint8_t *trace_payload(const struct trace_packet *packet)
{
    return packet->data + packet->payload_off;
}

#endif

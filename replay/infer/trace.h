/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Trace: the RoCE packets of one capture, held in memory and sorted into flows. A flow is what one
 * direction of a conversation shows on every packet: addresses, encapsulation, destination QP and
 * transport service. The source QP is not on the wire; connections.h finds which flows belong
 * together.
 */
#ifndef REPLAY_INFER_TRACE_H
#define REPLAY_INFER_TRACE_H

#include "base/error.h"
#include "util/keymap.h"
#include "capture/capture_reader.h"

/* A capture above this is refused: replay holds it whole. 1 GiB is hours of the small captures this
 * is made for, and bounds what a hostile file can make us allocate. */
#define TRACE_BYTES_MAX   (UINT64_C(1) << 30)
#define TRACE_PACKETS_MAX (8u << 20)

struct peer_quirk; /* peer_quirks.h */

struct trace_packet {
    const uint8_t *data; /* the whole frame */
    uint32_t cap_len;    /* bytes of `data` */
    uint32_t wire_len;
    uint64_t time;  /* ns, never before an earlier packet's */
    uint32_t frame; /* number in the file, from 1 */
    uint32_t flow;
    uint32_t overlay; /* network of a tunnel, as roce_pkt.overlay; 0 none */
    uint32_t psn;
    const struct peer_quirk
        *icrc_fixed;      /* its ICRC was wrong in this known way and was put right */
    uint32_t msn;         /* of the AETH, if there is one */
    uint32_t payload_len; /* without pad */
    uint16_t payload_off; /* in `data` */
    uint16_t pkey;
    uint8_t opcode;
    uint8_t syndrome; /* of the AETH, if there is one */
    uint8_t icrc;     /* enum roce_icrc_status */
    uint8_t link;     /* enum roce_link */
    bool ackreq;
    bool dropped; /* a conformant receiver drops it for its form or its ICRC */
    bool cut;     /* the capture does not hold all of the frame, and it was not completed */
    bool
        zero_filled; /* ... and payload bytes that it lacks stand as zeros, with an ICRC to match */
};

struct trace_flow {
    uint8_t src[16];
    uint8_t dst[16];
    uint32_t dest_qp;
    enum roce_encap encap;
    enum roce_svc svc;
    uint32_t hosts;   /* number of (src, dst, encap) in trace.hosts */
    uint32_t reverse; /* number of (dst, src, encap), or KEYMAP_NONE */
    uint32_t good;    /* packets that are not dropped */
    uint8_t macs[12]; /* destination and source of its first frame, if `has_macs` */
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
    struct trace_flow *flow; /* numbered by `flows` */
    size_t flow_cap;
    struct keymap flows;
    struct keymap hosts;
    uint32_t frames;      /* of the file, RoCE or not */
    bool macs_vary;       /* one address has several; they were replaced, see trace_read() */
    uint32_t malformed;   /* RoCE frames without a readable BTH */
    uint32_t icrcs_fixed; /* packets put right because no ICRC of the capture was */
    uint64_t bytes;
    struct trace_block *blocks;
    struct mmap_file *mapped; /* the file, in which the frames lie, or NULL: they are in blocks */
};

/*
 * Reads a whole capture. Returns 0, or -1 and an error. trace_free() is to be called in both cases.
 *
 * An RNIC has one MAC address. Where the capture shows several for one IP address or GID (two
 * routers, a capture point behind one, a mirror port that writes a time into the frame), each
 * address gets one of its own, 02:00:00:00:00:01 and so on, in all its frames.
 */
int trace_read(struct trace *trace, const char *path, struct error *error);
void trace_free(struct trace *trace);

/* Puts the ICRC of a packet right, so that a conformant receiver takes it. Returns 0, or -1 without
 * memory.
 */
int trace_fix_icrc(struct trace *trace, uint32_t pkt);

/* The flow with these addresses, or KEYMAP_NONE. */
uint32_t trace_flow_find(const struct trace *trace, const uint8_t src[16], const uint8_t dst[16],
                         enum roce_encap encap, uint32_t dest_qp, enum roce_svc svc);

/* Parses a packet again; it was readable once, so it is now. */
void trace_parse(const struct trace_packet *packet, struct roce_pkt *out);

/* Returns whether the wire shows `earlier` again as `later`: the same packet so soon after it that
 * nobody can have sent it again. */
bool trace_is_copy(const struct trace_packet *earlier, const struct trace_packet *later);

/* The services whose requests are acknowledged. */
static inline bool trace_acknowledged(enum roce_svc svc)
{
    return svc == ROCE_SVC_RC || svc == ROCE_SVC_XRC;
}

/* Returns whether a request of this kind is answered by READ responses: without data for FLUSH and
 * ATOMIC WRITE (annex A19). */
static inline bool trace_draws_read_response(enum roce_kind kind)
{
    return kind == ROCE_KIND_READ || kind == ROCE_KIND_FLUSH || kind == ROCE_KIND_ATOMIC_WRITE;
}

static inline const uint8_t *trace_payload(const struct trace_packet *packet)
{
    return packet->data + packet->payload_off;
}

#endif

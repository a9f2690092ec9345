/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Envelope: what stands around the transport headers: Ethernet, VLAN tags, Linux cooked headers,
 * IPv4, IPv6, UDP, and LRH and GRH of native links and RoCEv1. Private to wire/: users see pkt.h.
 */
#ifndef ROCE_ENVELOPE_H
#define ROCE_ENVELOPE_H

#include "wire/pkt.h"

/* Linux cooked headers. */
#define ROCE_SLL_LEN        16 /* packet type, ARPHRD, address length, address, protocol */
#define ROCE_SLL_PROTO_OFF  14
#define ROCE_SLL2_LEN       20 /* protocol first */
#define ROCE_SLL2_PROTO_OFF 0

/* The walk over a frame from header to header. */
struct roce_walk {
    struct roce_pkt *pkt;
    size_t off; /* next byte to read, <= limit */
    size_t end; /* where the packet ends on the wire, by the innermost length read so far */
    int error;  /* ROCE_OK, or why the walk ended */
};

static inline void roce_walk_defect(struct roce_walk *walk, enum roce_defect defect)
{
    walk->pkt->defects |= UINT32_C(1) << defect;
}

/*
 * The next `len` bytes, or NULL with walk->error set: ROCE_ERR_MALFORMED and defect `shrt` when the
 * packet ends before them, ROCE_ERR_CUT when only the capture does. Inline, with lengths that are
 * constants where it is called: as functions these two were a tenth of the instructions of a
 * packet.
 */
static inline const uint8_t *roce_walk_take(struct roce_walk *walk, size_t len,
                                            enum roce_defect shrt)
{
    const struct roce_pkt *pkt = walk->pkt;
    const uint8_t *p = pkt->frame + walk->off;

    if (len > walk->end - walk->off) {
        roce_walk_defect(walk, shrt);
        walk->error = ROCE_ERR_MALFORMED;
        return NULL;
    }
    if (walk->off + len > pkt->cap_len) {
        walk->error = ROCE_ERR_CUT;
        return NULL;
    }
    walk->off += len;
    return p;
}

/* The same for a header of the model, `len` bytes long, noting where it is. */
static inline const uint8_t *roce_walk_hdr(struct roce_walk *walk, enum roce_hdr hdr, size_t len,
                                           enum roce_defect shrt)
{
    size_t off = walk->off;
    const uint8_t *p = roce_walk_take(walk, len, shrt);

    if (p && !roce_pkt_has(walk->pkt, hdr)) {
        walk->pkt->present |= ROCE_HDR_BIT(hdr);
        walk->pkt->off[hdr] = (uint16_t)off;
    }
    return p;
}

/*
 * Reads from the start of the frame to the BTH: sets encap, net_off and the headers in walk->pkt,
 * and leaves walk->off at the BTH and walk->end after the ICRC. Returns walk->error, or
 * ROCE_ERR_NOT_ROCE.
 */
int roce_envelope_parse(struct roce_walk *walk);

/*
 * Writes the headers of pkt->encap around a transport part (BTH to ICRC) of `bth_len` bytes.
 * Returns the offset of the first byte the ICRC covers, or a negative error; the cursor then stands
 * at the BTH.
 */
int roce_envelope_build(const struct roce_pkt *pkt, unsigned flags, size_t bth_len,
                        struct roce_wr *wr);

/* Sets what the specification fixes in the headers of pkt->encap; see roce_pkt_init(). */
void roce_envelope_init(struct roce_pkt *pkt);

#endif

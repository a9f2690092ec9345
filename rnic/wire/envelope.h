/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Envelope: the headers before the BTH. These are Ethernet, VLAN tags, Linux cooked headers, IPv4,
 * IPv6 and UDP; on native links LRH and GRH; in RoCEv1 the GRH. Private to wire/: other code
 * includes pkt.h. */
#ifndef ROCE_ENVELOPE_H
#define ROCE_ENVELOPE_H

#include "wire/pkt.h"

/* Layout of the Linux cooked headers SLL and SLL2. */
#define ROCE_SLL_LEN        16 /* SLL: packet type, ARPHRD, address length, address, protocol */
#define ROCE_SLL_PROTO_OFF  14
#define ROCE_SLL2_LEN       20 /* SLL2: the protocol is the first field */
#define ROCE_SLL2_PROTO_OFF 0

/* State of the parser, which parses a frame one header after another. */
struct roce_walk {
    struct roce_pkt *pkt;
    size_t off; /* offset of the next byte to read, <= end */
    size_t end; /* offset of the end of the packet on the wire, according to the innermost length
                 * field read so far */
    int error;  /* ROCE_OK, or the reason why parsing stopped */
};

static inline void roce_walk_defect(struct roce_walk *walk, enum roce_defect defect)
{
    walk->pkt->defects |= UINT32_C(1) << defect;
}

/* Returns the next `len` bytes of the frame. If bytes are missing, returns NULL and sets
 * walk->error: ROCE_ERR_MALFORMED with defect `shrt` if the packet is too short, ROCE_ERR_CUT if
 * only the capture lacks the bytes. This function and roce_walk_hdr() are inline, because calling
 * them took a tenth of the instructions of a packet. */
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

/* Returns the next `len` bytes, which are header `hdr`, and records the header's offset in the
 * packet model (struct roce_pkt). Of several VLAN tags, records only the first offset. */
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

/* Parses from the start of the frame to the BTH. Sets encap, net_off and the headers in walk->pkt.
 * Afterwards walk->off is the offset of the BTH, and walk->end the offset after the ICRC. Returns
 * 0, ROCE_ERR_NOT_ROCE, or another code of walk->error. */
int roce_envelope_parse(struct roce_walk *walk);

/* Writes the headers of pkt->encap that precede a transport part (BTH to ICRC) of `bth_len` bytes.
 * Returns the offset of the first byte that the ICRC covers, or a negative error. On return, the
 * cursor is where the BTH must be written. */
int roce_envelope_build(const struct roce_pkt *pkt, unsigned flags, size_t bth_len,
                        struct roce_wr *wr);

/* Sets the constant fields of the headers of pkt->encap; see roce_pkt_init(). */
void roce_envelope_init(struct roce_pkt *pkt);

#endif

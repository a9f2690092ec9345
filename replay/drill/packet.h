/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill packet: builds the frame for a line with "<" (a packet that the drill sends), and compares
 * a frame of the DUT with a line with ">". Lines may contain relative PSNs, names of memory
 * regions, and contents. Their values depend on the packets that both ends have already sent.
 *
 *   1. drill_packet_build() for each packet to the DUT.
 *   2. drill_packet_seen() for each frame of the DUT, in order.
 *   3. drill_packet_compare() when a line expects the frame.
 */
#ifndef REPLAY_DRILL_PACKET_H
#define REPLAY_DRILL_PACKET_H

#include "drill/device.h"
#include "util/strbuf.h"

#define DRILL_HISTORY 512u /* number of requests that are stored for a direction */

/* A request packet of one direction of a QP. */
struct drill_sent {
    uint32_t psn;   /* PSN of this packet */
    uint32_t last;  /* PSN of this packet; for a READ request, PSN of the last response */
    uint32_t start; /* PSN of the first packet of the message */
    uint8_t opcode;
    uint64_t va;
    uint32_t len;
};

/* The latest DRILL_HISTORY requests of one direction. */
struct drill_history {
    struct drill_sent at[DRILL_HISTORY];
    unsigned cnt;
};

struct drill_context {
    const struct script *script;
    const struct drill_device_ops *ops;
    struct drill_device *dev;
    struct drill_net net;
    struct drill_history *own; /* for each QP: requests to the DUT */
    struct drill_history *dut; /* for each QP: requests of the DUT */
    /* CM: transaction ID, communication ID and QPN from the latest message of the DUT. */
    uint64_t cm_tid;
    uint32_t cm_id, cm_qpn;
    uint32_t cm_psn; /* PSN of the next packet that the drill sends from its QP 1 */
};

/* A difference between a frame and the line that expects it. */
struct drill_diff {
    char field[48];
    char expected[96];
    char actual[96];
};

/* Builds the frame of a packet. Returns its length, or 0 if the frame does not fit in `cap`
 * bytes. */
size_t drill_packet_build(struct drill_context *ctx, const struct script_packet *packet,
                          uint8_t *buf, size_t cap);

/* Appends to `t`, the message of a failure, a hint about a probable mistake in the line of a
 * packet. Such a mistake is an absolute PSN far from the first PSN of the connection, or a message
 * length that differs from the length of the payload. */
void drill_packet_doubt(const struct drill_context *ctx, const struct script_packet *packet,
                        bool from_dut, unsigned line, struct strbuf *t);

/* Records a frame of the DUT. Returns the index of the QP that sent the frame. Returns
 * SCRIPT_NO_OBJECT if the frame is a CM message, or if its QP is unknown. */
int drill_packet_seen(struct drill_context *ctx, const struct roce_pkt *pkt);

/* Returns whether the frame matches the packet of the line; otherwise sets *diff. */
bool drill_packet_compare(const struct drill_context *ctx, const struct script_packet *packet,
                          const struct roce_pkt *pkt, struct drill_diff *diff);

/* Returns whether bytes of memory have the contents that a line names; otherwise sets *diff.
 * `base`: offset of the first byte in the message or memory region. */
bool drill_fill_compare(const struct drill_context *ctx, const struct script_fill *fill,
                        uint64_t base, const uint8_t *bytes, size_t len, struct drill_diff *diff);

/* Returns the distance of a packet's PSN from the first PSN of its direction. */
int32_t drill_packet_relative(const struct drill_context *ctx, int qp, bool from_dut,
                              const struct roce_pkt *pkt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parse packet: reads the packet of a line, after the mark < or >. The words are those that
 * `rocedrill decode` prints. */
#ifndef REPLAY_DRILL_PARSE_PACKET_H
#define REPLAY_DRILL_PARSE_PACKET_H

#include "drill/parse_value.h"

/* Reads "[QP:] OPCODE ITEM..." up to the first token that is not an item. `expected`: the DUT must
 * send the packet. Sets *out. The caller frees out->fill.data. Returns false on an error. */
bool parse_packet(struct parser *p, bool expected, struct script_packet *out);

/* Reads "[QP:]" and sets *qp. Without that prefix, the script must have exactly one QP. */
bool parse_packet_qp(struct parser *p, int *qp);

/* Reads a PSN: +N or -N for a relative PSN, N for an absolute one. */
bool parse_packet_psn(struct parser *p, struct script_field *out);

#endif

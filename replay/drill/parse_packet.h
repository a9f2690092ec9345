/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parse packet: the packet of a line after its mark, in the words that decode prints. */
#ifndef REPLAY_DRILL_PARSE_PACKET_H
#define REPLAY_DRILL_PARSE_PACKET_H

#include "drill/parse_value.h"

/* Reads "[QP:] OPCODE ITEM...", up to the first token that is no item. `expected`: the DUT must
 * send it. Sets *out, which the caller frees with its fill. Returns false after a problem. */
bool parse_packet(struct parser *p, bool expected, struct script_packet *out);

/* Reads "[QP:]" and sets *qp. Without it, the script must have one QP. */
bool parse_packet_qp(struct parser *p, int *qp);

/* Reads a PSN: +N, -N, or N for a PSN that is not relative. */
bool parse_packet_psn(struct parser *p, struct script_field *out);

#endif

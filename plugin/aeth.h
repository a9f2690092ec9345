/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoded fields of the AETH syndrome: kind, credits, RNR timer and NAK code. */
#ifndef ROCE_AETH_H
#define ROCE_AETH_H

#include "ws_compat.h"
#include "wire/pkt.h"

void roce_aeth_register(int proto);

/* Adds the field roce.aeth.kind, and one field for this kind of syndrome: credits, RNR timer or NAK
 * code. `offset` is the offset of the AETH in `tvb`. */
void roce_aeth_add(const struct roce_aeth *aeth, tvbuff_t *tvb, int offset, proto_tree *tree);

#endif

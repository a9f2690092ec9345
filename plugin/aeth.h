/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AETH: what the syndrome of an acknowledgement means, as fields of their own. */
#ifndef ROCE_AETH_H
#define ROCE_AETH_H

#include "ws_compat.h"
#include "wire/pkt.h"

void roce_aeth_register(int proto);

/* Adds roce.aeth.kind and, by kind, credits, RNR wait or NAK code. `offset` is that of the AETH. */
void roce_aeth_add(const struct roce_aeth *aeth, tvbuff_t *tvb, int offset, proto_tree *tree);

#endif

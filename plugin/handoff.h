/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Take: makes Wireshark give us the packets. UDP 4791 is always ours, RoCEv1 and native links as
 * the preferences say. A user's own Decode As wins.
 */
#ifndef PLUGIN_HANDOFF_H
#define PLUGIN_HANDOFF_H

#include "ws_compat.h"

enum roce_handoff {
    ROCE_HANDOFF_UDP,    /* tvb: the BTH on */
    ROCE_HANDOFF_V1,     /* tvb: the GRH on */
    ROCE_HANDOFF_NATIVE, /* tvb: the LRH on */
    ROCE_HANDOFF_CNT
};

/* Makes handles "roce", "roce.v1" and "roce.native". */
void roce_handoff_register(int proto, const dissector_t dissectors[ROCE_HANDOFF_CNT]);
void roce_handoff_add_decode_as(void);

/* When a file is opened. */
void roce_handoff_apply(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Take: makes Wireshark give us the packets. UDP 4791 is always ours, RoCEv1 and native links as
 * the preferences say. A user's own Decode As wins.
 */
#ifndef PLUGIN_HANDOFF_H
#define PLUGIN_HANDOFF_H

#include "ws_compat.h"

enum roce_take {
    ROCE_TAKE_UDP,    /* tvb: the BTH on */
    ROCE_TAKE_V1,     /* tvb: the GRH on */
    ROCE_TAKE_NATIVE, /* tvb: the LRH on */
    ROCE_TAKE_CNT
};

/* Makes handles "roce", "roce.v1" and "roce.native". */
void roce_take_register(int proto, const dissector_t dissectors[ROCE_TAKE_CNT]);
void roce_take_handoff(void);

/* When a file is opened. */
void roce_take(void);

#endif

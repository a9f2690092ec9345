/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handoff: registers our dissector for UDP port 4791 and, depending on the preferences, for RoCEv1
 * and native InfiniBand. An entry that the user made with Decode As takes precedence.
 */
#ifndef PLUGIN_HANDOFF_H
#define PLUGIN_HANDOFF_H

#include "ws_compat.h"

enum roce_handoff {
    ROCE_HANDOFF_UDP,    /* RoCEv2; the tvb starts at the BTH */
    ROCE_HANDOFF_V1,     /* RoCEv1; the tvb starts at the GRH */
    ROCE_HANDOFF_NATIVE, /* InfiniBand; the tvb starts at the LRH */
    ROCE_HANDOFF_CNT
};

/* Registers the dissectors "roce", "roce.v1" and "roce.native". */
void roce_handoff_register(int proto, const dissector_t dissectors[ROCE_HANDOFF_CNT]);
void roce_handoff_add_decode_as(void);

/* As the preferences demand, registers our dissector in Wireshark's dissector tables, or restores
 * the built-in dissector. Called when a file is opened. */
void roce_handoff_apply(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handoff: claims UDP port 4791 and, depending on the preferences, RoCEv1 and native InfiniBand for
 * our dissector. An entry that the user made with Decode As takes precedence.
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

/* Claims or releases the dissector tables according to the preferences. Called when a file is
 * opened. */
void roce_handoff_apply(void);

#endif

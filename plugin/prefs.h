/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preferences: what a user may choose. Edit > Preferences > Protocols > RoCE, or -o roce.<name>:.
 */
#ifndef ROCE_PREFS_H
#define ROCE_PREFS_H

#include "ws_compat.h"
#include "analysis_store.h"

/* Which dissectors are asked whether an unknown payload is theirs. */
enum roce_guess {
    ROCE_GUESS_NONE, /* a connection's protocol is that of its CM exchange, or what the user says */
    ROCE_GUESS_ALL,  /* every heuristic dissector of "infiniband.payload", as the built-in does */
};

struct roce_prefs {
    roce_ws_bool check_icrc;
    roce_ws_bool analyze;
    roce_ws_bool relative_psn;
    roce_ws_bool dissect_v1;     /* Ethernet type 0x8915 */
    roce_ws_bool dissect_native; /* InfiniBand link types */
    roce_ws_bool reassemble;
    int guess;                    /* enum roce_guess */
    int profile;                  /* enum roce_profile, for the preference's enumeration */
    struct roce_store_opts store; /* the same, for track.h */
};

extern struct roce_prefs roce_prefs;

/* Registers them for `proto`. Returns the module, for preferences of other files. */
module_t *roce_prefs_register(int proto);

/* Copies what other modules read in a form of their own. Called when a file is opened. */
void roce_prefs_apply(void);

#endif

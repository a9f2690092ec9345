/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preferences of the dissector: Edit > Preferences > Protocols > RoCE, or option -o
 * roce.NAME:VALUE. */
#ifndef ROCE_PREFS_H
#define ROCE_PREFS_H

#include "ws_compat.h"
#include "analysis_store.h"

/* Heuristic dissectors that are tried on the payload if its protocol is unknown. */
enum roce_guess {
    ROCE_GUESS_NONE,
    ROCE_GUESS_ALL, /* all dissectors in the list "infiniband.payload" */
};

struct roce_prefs {
    roce_ws_bool check_icrc;
    roce_ws_bool analyze;
    roce_ws_bool relative_psn;
    roce_ws_bool dissect_v1;     /* dissect RoCEv1 (Ethertype 0x8915) */
    roce_ws_bool dissect_native; /* dissect frames of InfiniBand link types */
    roce_ws_bool reassemble;
    unsigned memory; /* memory limit of the analysis, MiB */
    int guess;       /* enum roce_guess */
    /* Value of enum roce_profile. It is an int because Wireshark's enumeration preferences require
     * one. */
    int profile;
    struct roce_store_opts store; /* options of the analysis store, set by roce_prefs_apply() */
};

extern struct roce_prefs roce_prefs;

/* Registers the preferences of `proto`. Returns the preference module, to which ulp.c adds its
 * table of QPs. */
module_t *roce_prefs_register(int proto);

/* Copies preferences into the options of the analysis store. Called when a file is opened. */
void roce_prefs_apply(void);

#endif

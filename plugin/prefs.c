/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prefs.h"

struct roce_prefs roce_prefs = {
    .check_icrc = TRUE, /* costs less than Wireshark's own bookkeeping of a packet */
    .analyze = TRUE,
    .dissect_v1 = TRUE,
    .reassemble = TRUE,
    .guess = ROCE_GUESS_NONE,
};

static const enum_val_t guesses[] = {
    {"none", "No: show it as data", ROCE_GUESS_NONE},
    {"all", "Yes: ask every heuristic dissector", ROCE_GUESS_ALL},
    {NULL, NULL, 0},
};

module_t *roce_prefs_register(int proto)
{
    static enum_val_t profiles[ROCE_PROFILE_CNT + 1];
    module_t *module = prefs_register_protocol(proto, NULL);

    for (int i = 0; i < ROCE_PROFILE_CNT; i++) {
        const char *name = i == ROCE_PROFILE_NONE ? "none" : roce_profile_name(i);

        profiles[i].name = name;
        profiles[i].description = i == ROCE_PROFILE_NONE ? "None" : roce_profile_text(i);
        profiles[i].value = i;
    }
    prefs_register_bool_preference(module, "check_icrc", "Verify the ICRC",
                                   "Compute the invariant CRC of each packet and compare",
                                   &roce_prefs.check_icrc);
    prefs_register_bool_preference(
        module, "analyze", "Analyze connections",
        "Follow each connection: links between requests and responses, times, retransmissions, "
        "and the rules of the InfiniBand specification",
        &roce_prefs.analyze);
    prefs_register_bool_preference(module, "relative_psn", "Relative PSNs in the Info column",
                                   "Count PSNs from the first one of the connection",
                                   &roce_prefs.relative_psn);
    prefs_register_bool_preference(module, "take_v1", "Dissect RoCEv1 (Ethernet type 0x8915)",
                                   "Off: Wireshark's built-in InfiniBand dissector keeps it",
                                   &roce_prefs.dissect_v1);
    prefs_register_bool_preference(module, "take_native", "Dissect native InfiniBand captures",
                                   "Off: Wireshark's built-in InfiniBand dissector keeps them",
                                   &roce_prefs.dissect_native);
    prefs_register_bool_preference(
        module, "reassemble", "Reassemble messages for upper protocols",
        "Hand a SEND of several packets to its protocol in one piece, in its last packet",
        &roce_prefs.reassemble);
    prefs_register_enum_preference(
        module, "guess", "Guess the protocol of an unknown payload",
        "A connection's protocol is known from its CM exchange, Decode As, or the table below. "
        "Guessing without them takes data for protocols now and then",
        &roce_prefs.guess, guesses, FALSE);
    prefs_register_enum_preference(
        module, "peer", "Known deviations of",
        "Findings that are known of this implementation are shown as notes", &roce_prefs.profile,
        profiles, FALSE);
    return module;
}

void roce_prefs_apply(void)
{
    roce_prefs.store.profile = (enum roce_profile)roce_prefs.profile;
}

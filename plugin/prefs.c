/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prefs.h"

struct roce_prefs roce_prefs = {
    .check_icrc = TRUE, /* on by default, because verifying the ICRC takes less time than
                         * Wireshark's own work for a packet */
    .analyze = TRUE,
    .dissect_v1 = TRUE,
    .reassemble = TRUE,
    .memory = 1024,
    .guess = ROCE_GUESS_NONE,
    .profile = ROCE_PROFILE_AUTO,
};

static const enum_val_t guesses[] = {
    {"none", "Never: show the payload as data", ROCE_GUESS_NONE},
    {"all", "Always: try all heuristic dissectors", ROCE_GUESS_ALL},
    {NULL, NULL, 0},
};

module_t *roce_prefs_register(int proto)
{
    static enum_val_t profiles[ROCE_PROFILE_CNT + 2] = {
        [ROCE_PROFILE_CNT] = {"auto", "Recognise Linux rxe by its packets", ROCE_PROFILE_AUTO}};
    module_t *module = prefs_register_protocol(proto, NULL);

    for (int i = 0; i < ROCE_PROFILE_CNT; i++) {
        const char *name = i == ROCE_PROFILE_NONE ? "none" : roce_profile_name(i);

        profiles[i].name = name;
        profiles[i].description = i == ROCE_PROFILE_NONE ? "None" : roce_profile_text(i);
        profiles[i].value = i;
    }
    prefs_register_bool_preference(module, "check_icrc", "Verify the ICRC",
                                   "Compute the invariant CRC of each packet and report mismatches",
                                   &roce_prefs.check_icrc);
    prefs_register_bool_preference(
        module, "analyze", "Analyze connections",
        "Track each connection: link requests to responses, measure times, detect retransmissions, "
        "and check the rules of the InfiniBand specification",
        &roce_prefs.analyze);
    prefs_register_uint_preference(
        module, "memory", "Memory of the analysis (MiB)",
        "Limit of the memory for open connections. At the limit, connections that were idle "
        "longest "
        "lose their history or are closed early, and a warning reports this",
        10, &roce_prefs.memory);
    prefs_register_bool_preference(module, "relative_psn", "Relative PSNs in the Info column",
                                   "Show PSNs relative to the first PSN of the connection",
                                   &roce_prefs.relative_psn);
    prefs_register_bool_preference(module, "take_v1", "Dissect RoCEv1 (Ethertype 0x8915)",
                                   "If off, Wireshark's built-in InfiniBand dissector is used",
                                   &roce_prefs.dissect_v1);
    prefs_register_bool_preference(module, "take_native", "Dissect native InfiniBand captures",
                                   "If off, Wireshark's built-in InfiniBand dissector is used",
                                   &roce_prefs.dissect_native);
    prefs_register_bool_preference(module, "reassemble",
                                   "Reassemble SEND messages for upper-layer dissectors",
                                   "Pass a SEND message of several packets to the upper-layer "
                                   "dissector once, in the frame of its last packet",
                                   &roce_prefs.reassemble);
    prefs_register_enum_preference(module, "guess", "Try heuristic dissectors on unknown payload",
                                   "Use this if neither the CM exchange of a connection nor Decode "
                                   "As nor the table below says "
                                   "which upper-layer protocol its payload is. Heuristic "
                                   "dissectors sometimes decode the data of "
                                   "another protocol",
                                   &roce_prefs.guess, guesses, FALSE);
    prefs_register_enum_preference(
        module, "peer", "Known deviations of the peer",
        "A finding that is a known deviation of the implementation selected here becomes a note",
        &roce_prefs.profile, profiles, FALSE);
    return module;
}

void roce_prefs_apply(void)
{
    roce_prefs.store.profile = (enum roce_profile)roce_prefs.profile;
    roce_prefs.store.mem_max = (size_t)MAX(1, roce_prefs.memory) << 20;
}

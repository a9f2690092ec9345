/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The options of `rocedrill replay` for live targets.
 */
#ifndef REPLAY_LIVE_LIVE_OPTS_H
#define REPLAY_LIVE_LIVE_OPTS_H

#include <stdint.h>
#include "live/live.h"

/* Rows for the option table, keys from `base` on. */
#define LIVE_OPTION_ROWS(base)                                                                     \
    {"live", (base) + 0, "IFACE", "play against a device behind this interface, not our RNIC"},    \
        {"target", (base) + 1, "ADDRESS", "... that has this address"},                            \
        {"agent", (base) + 2, "HOST:PORT", "rocedrill agent on its host; without: load only"},     \
        {"address", (base) + 3, "ADDRESS",                                                         \
         "ours (default: the interface's); need not be its own"},                                  \
        {"tolerance", (base) + 4, "MS", "how long an answer may take (default: 1000)"},            \
        {"multiplier", (base) + 5, "X", "so many times as fast as the capture"},                   \
        {"topspeed", (base) + 6, NULL, "without the pauses of the capture"},                       \
        {"pps", (base) + 7, "N", "load: so many packets a second"},                                \
        {"mbps", (base) + 8, "N", "load: so many million bits a second"},                          \
        {"loop", (base) + 9, "N", "load: so many times (0: until interrupted)"},                   \
        {"cm", (base) + 10, "END",                                                                 \
         "no agent: the capture's CM messages, to a program: connect or listen"},                  \
        {"port", (base) + 11, "N", "... whose port this is (default: the recorded one)"},          \
        {"any-payload", (base) + 12, NULL, "... which sends other data than the recorded one"},

struct live_args {
    struct live_options options; /* .iface NULL: no live target */
    double pps, mbps;            /* 0: not given */
    bool topspeed, looped;
    uint64_t loop;
};

/* Takes option number `which` of the rows. 0, or -1 after a complaint. */
int live_option(struct live_args *args, int which, const char *value);

/* What goes together and what does not. `sides` as in struct replay_options. 0, or -1 after a
 * complaint. */
int live_options_check(struct live_args *args, unsigned sides);

#endif

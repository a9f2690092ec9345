/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Options of `rocedrill replay` for live targets. cmd_replay.c adds the rows to its option table,
 * calls live_option() for each option, and calls live_options_check() at the end.
 */
#ifndef REPLAY_LIVE_LIVE_OPTS_H
#define REPLAY_LIVE_LIVE_OPTS_H

#include <stdint.h>
#include "live/live.h"

/* Rows of the option table for live targets. `base` is the value that the option parser returns for
 * the first row. */
#define LIVE_OPTION_ROWS(base)                                                                     \
    {"live", (base) + 0, "IFACE",                                                                  \
     "replay against a device that is reachable through this interface"},                          \
        {"target", (base) + 1, "ADDRESS", "with --live: address of the target device"},            \
        {"agent", (base) + 2, "HOST:PORT",                                                         \
         "with --live: address of rocedrill agent on the target's host"},                          \
        {"address", (base) + 3, "ADDRESS",                                                         \
         "with --live: source address of our packets, which no interface needs to have (default: " \
         "address of IFACE)"},                                                                     \
        {"tolerance", (base) + 4, "MS",                                                            \
         "with --live: maximum time for a response, ms (default: 1000)"},                          \
        {"multiplier", (base) + 5, "X", "with --load: send at X times the speed of the capture"},  \
        {"topspeed", (base) + 6, NULL, "with --load: send without pauses between packets"},        \
        {"pps", (base) + 7, "N", "with --load: send N packets per second"},                        \
        {"mbps", (base) + 8, "N", "with --load: send N million bits per second"},                  \
        {"loop", (base) + 9, "N",                                                                  \
         "with --load: play the requests N times (0: until interrupted)"},                         \
        {"cm", (base) + 10, "END",                                                                 \
         "with --live, without an agent: connect to a program on the target, or listen for its "   \
         "connection"},                                                                            \
        {"port", (base) + 11, "N",                                                                 \
         "with --cm: port of the target's program (default: as recorded)"},                        \
        {"any-payload", (base) + 12, NULL,                                                         \
         "with --cm: do not compare the data that the program sends"},                             \
        {"load", (base) + 13, NULL,                                                                \
         "with --live: only transmit the requests of the capture; compare no packets"},            \
        {"really", (base) + 14, NULL,                                                              \
         "with --live: transmit although a default route leads through IFACE"},

/* Stores `value` as the value of option number `which` of LIVE_OPTION_ROWS. Returns 0, or -1 after
 * printing an error. */
int live_option(struct live_args *args, int which, const char *value);

/* Checks the combination of options and sets the defaults. `sides` has the bits of enum replay_role
 * that the user selected. Returns 0, or -1 after printing an error. */
int live_options_check(struct live_args *args, unsigned sides);

#endif

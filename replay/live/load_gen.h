/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Load generator: transmits the requests of captures to a target, as tcpreplay does. It rewrites
 * only the addresses, ignores responses and prints no verdict. cmd_replay.c calls it for --load.
 */
#ifndef REPLAY_LIVE_LOAD_GEN_H
#define REPLAY_LIVE_LOAD_GEN_H

#include <stdio.h>
#include "base/error.h"
#include "live/live.h"

/* Transmits the captures one after another, args->loop times (0: until interrupted). Prints
 * the number and the rate of the transmitted packets to `out`, unless `out` is NULL. Returns 0, or
 * -1 and an error. */
int load_gen_run(const struct live_args *args, const char *const *path, size_t cnt, FILE *out,
                 struct error *error);

#endif

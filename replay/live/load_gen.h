/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live load: the requests of a capture go out with our and the target's addresses, at a speed of
 * one's own, as tcpreplay users know it. Nothing else is changed and nothing is judged.
 */
#ifndef REPLAY_LIVE_LOAD_GEN_H
#define REPLAY_LIVE_LOAD_GEN_H

#include <stdio.h>
#include "base/error.h"
#include "live/live_opts.h"

/* Plays the captures one after another, `loop` times over. 0, or -1 and an error. A line of figures
 * goes to `out` if it is not NULL. */
int load_gen_run(const struct live_args *args, const char *const *path, size_t cnt, FILE *out,
                 struct error *error);

#endif

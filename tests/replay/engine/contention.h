/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Contention: several connections between two simulated devices that write, read, and change with
 * atomics the same few bytes at both ends, so that a result depends on the order in which the
 * responder happens to execute them.
 */
#ifndef TESTS_REPLAY_ENGINE_CONTENTION_H
#define TESTS_REPLAY_ENGINE_CONTENTION_H

#include <stdint.h>
#include "support/qp_pair.h"

/* Makes the devices and their load from the seed. contention_run() plays it to its end and asserts
 * that all completes. One load at a time. */
struct qp_pair *contention_begin(uint64_t seed, unsigned qp_cnt, enum roce_encap encap,
                                 const struct simnet_path *path);
void contention_run(void);
void contention_end(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Contention: two simulated devices with several connections that access the same few bytes at
 * both ends. Their WRITEs, READs and atomics overlap, so each result depends on the order in
 * which the responder executes requests.
 */
#ifndef TESTS_REPLAY_ENGINE_CONTENTION_H
#define TESTS_REPLAY_ENGINE_CONTENTION_H

#include <stdint.h>
#include "support/qp_pair.h"

/* contention_begin() creates two devices, and draws their work requests from the seed.
 * contention_run() simulates until all work requests are done, and asserts that all completed
 * successfully. Only one pair of devices can exist at a time. */
struct qp_pair *contention_begin(uint64_t seed, unsigned qp_cnt, enum roce_encap encap,
                                 const struct simnet_path *path);
void contention_run(void);
void contention_end(void);

#endif

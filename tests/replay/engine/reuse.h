/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Reuse: two simulated devices. Their programs use the same QP pairs several times, without CM
 * messages, as NCCL does. A use of a QP pair lasts from the connection of the QPs to their reset.
 * All uses begin at the same PSNs. A program may end a use before all work requests of the use are
 * complete. The two ends reset their QPs at different times, so packets of one use may arrive in
 * the next one. */
#ifndef TESTS_REPLAY_ENGINE_REUSE_H
#define TESTS_REPLAY_ENGINE_REUSE_H

#include <stdint.h>
#include "support/qp_pair.h"

/* reuse_begin() creates two devices, and draws their work requests from the seed. reuse_run()
 * simulates all uses. Only one pair of devices can exist at a time. */
struct qp_pair *reuse_begin(uint64_t seed, unsigned qp_cnt, enum roce_encap encap,
                            const struct simnet_path *path);
void reuse_run(void);
void reuse_end(void);

#endif

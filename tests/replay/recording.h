/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Recording: captures a random conversation between two simulated devices. */
#ifndef TEST_RECORDING_H
#define TEST_RECORDING_H

#include <stdint.h>
#include "capture.h"
#include "support/qp_pair.h"

/* Simulates two devices with two QPs each, of the type in `opts`, and records their frames. Both
 * devices post random work requests. Fails the test and returns false if the recording fails. */
bool recording_make(struct capture *out, uint64_t seed, const struct qp_pair_opts *opts,
                    uint32_t loss_ppm);

#endif

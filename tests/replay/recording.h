/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recording: a random conversation of two of our own devices in the simulation, as a capture.
 */
#ifndef TEST_RECORDING_H
#define TEST_RECORDING_H

#include <stdint.h>
#include "capture.h"
#include "support/qp_pair.h"

/* Two QPs a side, of the type that `opts` says, both sides with random work requests. false if it
 * cannot be made; the test fails then. */
bool recording_make(struct capture *out, uint64_t seed, const struct qp_pair_opts *opts,
                    uint32_t loss_ppm);

#endif

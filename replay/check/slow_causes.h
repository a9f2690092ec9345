/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slow: what cost a connection time though it did not fail, in words: packets lost, overtaken or
 * damaged, answers that did not come, receives that were not ready, congestion.
 */
#ifndef REPLAY_CHECK_SLOW_CAUSES_H
#define REPLAY_CHECK_SLOW_CAUSES_H

#include <stdio.h>
#include "flow/base/summary.h"

/* Whether any of it cost enough to be told: packets sent again or damaged, or time. False for what
 * failed or got stuck, which has its own story, and where nobody waits for what was lost. */
bool check_conn_slow(const struct roce_conn_summary *sum);

/* Its causes, each with where to look: indented lines, those of either side behind its arrow. */
void slow_causes_print(FILE *out, const struct roce_conn_summary *sum);

#endif

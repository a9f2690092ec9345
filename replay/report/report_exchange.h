/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of CM exchanges: the part of a replay report with the results of engine/cm/cm_exchange.h.
 */
#ifndef REPLAY_REPORT_REPORT_EXCHANGE_H
#define REPLAY_REPORT_REPORT_EXCHANGE_H

#include <jansson.h>
#include <stdio.h>
#include "engine/cm/cm_exchange.h"

/* Returns whether this end was selected for the replay. An end that was not selected is SKIPPED
 * without a skip reason. */
bool report_exchange_is_played(const struct cm_exchange_end *end);

void report_exchange_text(FILE *out, const struct cm_exchanges *xs, uint32_t idx);

/* Appends an object to the array `out` for each replayed end. Appends the differences of these ends
 * to `diffs`; the member `exchange` of each is the number of the end's object in `out`, from 1. */
void report_exchange_json(json_t *out, json_t *diffs, const struct cm_exchanges *xs);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of CM exchanges: the part of report.h with the results of exchange.h.
 */
#ifndef REPLAY_REPORT_REPORT_EXCHANGE_H
#define REPLAY_REPORT_REPORT_EXCHANGE_H

#include <jansson.h>
#include <stdio.h>
#include "engine/cm_exchange.h"

void report_exchange_text(FILE *out, const struct cm_exchanges *xs, uint32_t idx);

/* Adds to `out` an object for each end that was played. Adds the differences of these ends to
 * `diffs`, each with `exchange` and the number of its object, from 1. */
void report_exchange_json(json_t *out, json_t *diffs, const struct cm_exchanges *xs);

#endif

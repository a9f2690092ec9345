/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report, the exchanges of the communication manager: the part of report.h that tells what
 * exchange.h found.
 */
#ifndef REPLAY_REPORT_REPORT_EXCHANGE_H
#define REPLAY_REPORT_REPORT_EXCHANGE_H

#include <jansson.h>
#include <stdio.h>
#include "engine/cm_exchange.h"

void report_exchange_text(FILE *out, const struct cm_exchanges *xs, uint32_t idx);

/* Adds an object for each end that was played to `out`, and their differences to `diffs`, with
 * `exchange` and the number of the object, from 1. */
void report_exchange_json(json_t *out, json_t *diffs, const struct cm_exchanges *xs);

#endif

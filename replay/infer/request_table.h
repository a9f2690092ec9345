/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Entries: the requests of a side by PSN, as a responder executes them: where the messages begin,
 * what each packet writes or asks for, and which ones no responder can serve.
 */
#ifndef REPLAY_INFER_REQUEST_TABLE_H
#define REPLAY_INFER_REQUEST_TABLE_H

#include "infer/infer_setup.h"

/* Fills setup->entry from the steps, with the path MTU: all request PSNs in order, up to the first
 * that is missing or cannot be executed. `gap` receives the missing one, or GAP_NONE. False without
 * memory. */
bool request_table_build(struct inferred_setup *setup, int64_t *gap);

#endif

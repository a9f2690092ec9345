/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Setup dump: writes as JSON the setup of the recorded devices that session_infer() inferred: QP
 * attributes, PSNs, timers and memory. docs/replay.md has the schema.
 */
#ifndef REPLAY_INFER_SETUP_DUMP_H
#define REPLAY_INFER_SETUP_DUMP_H

#include <jansson.h>
#include "base/error.h"
#include "infer/session.h"

/* Writes the inferred setup (QPs, memory, timers) as JSON to a file. Returns 0, or -1 and an error.
 */
int setup_dump_write(const struct session *session, const struct memory_log *log, const char *path,
                     struct error *error);

#endif

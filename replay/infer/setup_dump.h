/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Setup as JSON: what infer_setup.h and shadow_memory.h found that the devices of a capture must
 * have had; the schema is in replay.md.
 */
#ifndef REPLAY_INFER_SETUP_DUMP_H
#define REPLAY_INFER_SETUP_DUMP_H

#include <jansson.h>
#include "base/error.h"
#include "infer/session.h"

/* A new reference, or NULL without memory. After rc_responder_play(). */
json_t *setup_dump_json(const struct session *session, const struct memory_log *log);

/* The bit of enum rnic_access with this name in JSON, or 0. */
unsigned setup_dump_access_bit(const char *name);

/* Writes it to a file. Returns 0, or -1 and an error. */
int setup_dump_write(const struct session *session, const struct memory_log *log, const char *path,
                     struct error *error);

#endif

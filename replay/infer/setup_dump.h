/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Setup as JSON: what derive.h and memory.h found that the devices of a capture must have had; the
 * schema is in replay.md.
 */
#ifndef REPLAY_INFER_SETUP_DUMP_H
#define REPLAY_INFER_SETUP_DUMP_H

#include <jansson.h>
#include "engine/rc_responder.h"

/* A new reference, or NULL without memory. After drive_all(). */
json_t *setup_json(const struct drive *drive, const struct stores *stores);

/* The bit of enum rnic_access with this name in JSON, or 0. */
unsigned setup_access_bit(const char *name);

/* Writes it to a file. 0, or -1 and an error. */
int setup_json_write(const struct drive *drive, const struct stores *stores, const char *path,
                     struct error *error);

#endif

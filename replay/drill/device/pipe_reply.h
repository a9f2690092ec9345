/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pipe reply: checks whether a reply of a program (drill --pipe) has the members that docs/drill.md
 * describes, with the right types and values. device_pipe.c calls it for each reply, and then reads
 * the members without further checks.
 */
#ifndef REPLAY_DRILL_DEVICE_PIPE_REPLY_H
#define REPLAY_DRILL_DEVICE_PIPE_REPLY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "drill/script.h"

/* Returns whether `reply` is a correct reply to `request`. Otherwise writes a text to `problem`
 * that names the operation and the wrong member. */
bool pipe_reply_check(const struct script *script, const json_t *request, const json_t *reply,
                      char *problem, size_t cap);

#endif

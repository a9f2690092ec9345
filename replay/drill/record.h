/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Record: writes the packets of a drill (a test script) as pcapng. The comment of each frame is the
 * line of the script that sent or expected the frame. */
#ifndef REPLAY_DRILL_RECORD_H
#define REPLAY_DRILL_RECORD_H

#include "base/error.h"

struct drill_case;

/* Writes FOLDER/GROUP-NAME[-VARIANT].pcapng, and sets c->recorded to its path. Creates the folder.
 * Returns 0, or -1 and an error. */
int drill_record(struct drill_case *c, const char *folder, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* PSN files: writes the points of one requester for gnuplot (data and script) or xplot. */
#ifndef REPLAY_EXPORT_PSN_FILES_H
#define REPLAY_EXPORT_PSN_FILES_H

#include "export/psn_graph.h"

/* Writes FOLDER/connection-N-SIDE.*. The points are in the order of their frames, and there is at
 * least one. Returns 0, or -1 and an error. */
int psn_files_write(enum psn_format format, const char *folder, const struct psn_point *point,
                    size_t cnt, struct error *error);

#endif

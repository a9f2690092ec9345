/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timeline: measures the time of each step of each send work request and writes it to a file
 * (timeline_record.h). Without a timeline, a request costs one pointer check. With a timeline, each
 * step costs about 30 ns. If the process is killed, its unwritten records are lost, at most 512
 * requests.
 *
 * All functions are called with the device locked (objects.h), except for timeline_new() and
 * timeline_free(). A NULL timeline records nothing.
 */
#ifndef VERBS_TIMELINE_H
#define VERBS_TIMELINE_H

#include <stdbool.h>
#include "device/rnic.h"

struct timeline;

/* Creates a timeline of the QPs that are created after this call, and appends its records to file
 * `path`. Returns NULL with errno after an error. */
struct timeline *timeline_new(const char *path, struct rnic *rnic);

/* Writes the remaining records and frees the timeline. Afterwards the device reports no steps. */
void timeline_free(struct timeline *timeline);

/* Sets the time of the program's call, ns, for the requests posted from now on. */
void timeline_posting(struct timeline *timeline, uint64_t at);

/* Records that the program polled these completions. */
void timeline_polled(struct timeline *timeline, const struct rnic_wc *wc, size_t cnt);

/* Records the end of a QP. */
void timeline_qp_gone(struct timeline *timeline, uint32_t qpn);

#endif

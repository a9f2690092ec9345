/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timeline: takes the time of each step of each send work request and writes it to a file
 * (timeline_record.h). Without a timeline a request costs one look at a pointer more; with one,
 * some 30 ns a step. What a process did not write yet when it is killed (at most 512 requests) is
 * lost.
 *
 * All is locked (objects.h), but for timeline_new() and _free(). NULL is a timeline that is off.
 */
#ifndef VERBS_TIMELINE_H
#define VERBS_TIMELINE_H

#include <stdbool.h>
#include "device/rnic.h"

struct timeline;

/* Watches the QPs that the device gets from now on, and appends to `path`. NULL and errno. */
struct timeline *timeline_new(const char *path, struct rnic *rnic);

/* Writes what is left. The device is gone or gets no steps any more. */
void timeline_free(struct timeline *timeline);

/* When the program called, ns: of the requests posted from now on. */
void timeline_posting(struct timeline *timeline, uint64_t at);

/* The program took these completions. */
void timeline_polled(struct timeline *timeline, const struct rnic_wc *wc, size_t cnt);

/* The QP is destroyed. */
void timeline_qp_gone(struct timeline *timeline, uint32_t qpn);

#endif

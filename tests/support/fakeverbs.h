/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fake verbs: implements the libibverbs functions that rocedrill-agent calls, without a device.
 * Tests link this file instead of libibverbs.
 *
 * It counts the existing objects. A posted send completes at once. The bytes of a SEND or of a
 * WRITE with immediate are copied into the oldest posted receive of any QP, and this receive
 * completes. If a buffer is not inside the region with its key, the work request completes with an
 * error.
 */
#ifndef TEST_FAKEVERBS_H
#define TEST_FAKEVERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Name of the only device. */
#define FAKEVERBS_DEVICE "fake0"

/* Returns the number of existing objects: open devices, PDs, CQs, QPs, MRs and so on. */
unsigned fakeverbs_live(void);

/* If `next` is true, the next call that creates or changes an object fails. */
void fakeverbs_fail(bool next);

/* Raises an asynchronous event for the QP with number `qpn`. */
void fakeverbs_event(enum ibv_event_type type, unsigned qpn);

#endif

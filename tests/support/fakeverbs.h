/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fake verbs: the libibverbs functions that the agent calls, without a device. Tests link it in
 * place of libibverbs.
 *
 * It counts objects. A posted send completes at once. The bytes of a SEND, or of a WRITE with
 * immediate, are copied into the oldest receive of any QP, which completes. A buffer that is not
 * inside the region of its key completes with an error.
 */
#ifndef TEST_FAKEVERBS_H
#define TEST_FAKEVERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Name of the only device. */
#define FAKEVERBS_DEVICE "fake0"

/* Returns the number of existing devices, PDs, CQs, QPs and MRs. */
unsigned fakeverbs_live(void);

/* Selects whether the next call that creates or changes an object fails. */
void fakeverbs_fail(bool next);

/* Raises an asynchronous event of the QP with this number. */
void fakeverbs_event(enum ibv_event_type type, unsigned qpn);

#endif

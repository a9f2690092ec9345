/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fake verbs: the functions of libibverbs that the agent calls, over no device at all: objects are
 * counted, a posted send completes at once, and a SEND or WRITE with immediate completes the oldest
 * receive request of any queue pair, with its bytes. Linked in place of libibverbs.
 */
#ifndef TEST_FAKEVERBS_H
#define TEST_FAKEVERBS_H

#include <stdbool.h>

/* Devices, PDs, CQs, QPs and MRs that exist. */
unsigned fakeverbs_live(void);

/* The next call that makes or changes something fails, or none does. */
void fakeverbs_fail(bool next);

#endif

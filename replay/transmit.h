/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Transmit: our RNIC in place of the senders of UC and UD. The messages that the packets show are
 * posted, and each recorded packet is compared with ours. A packet lost before the capture point
 * is one of ours that the capture lacks; where whole messages may be missing, a new QP goes on with
 * the PSN of the next one seen.
 */
#ifndef REPLAY_TRANSMIT_H
#define REPLAY_TRANSMIT_H

#include "stream.h"

/* Plays and compares all streams of the senders' role. 0, or -1 without memory. */
int transmit_all(struct streams *streams);

#endif

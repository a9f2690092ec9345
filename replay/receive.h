/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Receive: our RNIC in place of the receivers of UC and UD. Each recorded packet goes in, byte for
 * byte and at its time; what ours completes, stores and answers is compared with delivery.h.
 *
 * The recorded receiver is not on the wire: whether it had a receive WQE, and of what length, is
 * not known. Ours always has one that is long enough, so every packet is judged.
 */
#ifndef REPLAY_RECEIVE_H
#define REPLAY_RECEIVE_H

#include "stream.h"

/* Plays and compares all streams of the receivers' role. 0, or -1 without memory. */
int receive_all(struct streams *streams);

#endif

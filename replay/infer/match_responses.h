/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Links: which request each READ response answers, and so the responses of each. After
 * infer_loss.h, which says which requests the responder executed before they were captured.
 */
#ifndef REPLAY_INFER_MATCH_RESPONSES_H
#define REPLAY_INFER_MATCH_RESPONSES_H

#include "infer/infer_setup.h"

/* Fills in request packet.answer, step.answer and step.request. False without memory. */
bool match_responses(struct inferred_setup *setup);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Expect: which work requests the recorded answers complete, read off the packets by the rules of
 * acknowledgement alone (R137-R147), with no RNIC in it.
 */
#ifndef REPLAY_ENGINE_RC_EXPECTED_WC_H
#define REPLAY_ENGINE_RC_EXPECTED_WC_H

#include "engine/rc_requester.h"

struct expected_wc {
    const struct requester_run *run;
    int64_t acked;              /* highest PSN answered, without a gap */
    size_t done_cnt;            /* works complete with success */
    bool over;                  /* a NAK ended the connection ... */
    enum rnic_wc_status status; /* ... and the work after `done` with this */
};

void expected_wc_init(struct expected_wc *e, const struct requester_run *run);

/* An answer that the requester got, step `step` of its side. */
void expected_wc_on_response(struct expected_wc *e, uint32_t event);

#endif

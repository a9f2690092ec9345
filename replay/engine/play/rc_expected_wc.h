/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Expected work completions: computes from the rules of acknowledgement (R137-R147) which work
 * requests the recorded responses complete. Uses no RNIC.
 */
#ifndef REPLAY_ENGINE_PLAY_RC_EXPECTED_WC_H
#define REPLAY_ENGINE_PLAY_RC_EXPECTED_WC_H

#include "engine/play/rc_requester.h"

struct expected_wc {
    const struct requester_run *run;
    int64_t acked;              /* highest relative PSN up to which every request is acknowledged */
    size_t done_cnt;            /* number of work requests completed with success */
    bool over;                  /* a NAK ended the connection */
    enum rnic_wc_status status; /* if `over` is true: status of the first work request that did not
                                 * complete with success */
    bool may_give_up;           /* no retransmission follows the latest RNR NAK, so the requester
                                 * may have used up its RNR retries */
};

void expected_wc_init(struct expected_wc *e, const struct requester_run *run);

/* Updates the expected completions with data of a READ or atomic at PSN `rel`. */
void expected_wc_on_data(struct expected_wc *e, int64_t rel);

/* Updates the expected completions with the response that is event `event` of the setup. */
void expected_wc_on_response(struct expected_wc *e, uint32_t event);

#endif

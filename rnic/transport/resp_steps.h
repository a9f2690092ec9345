/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The steps of RNIC_RESP_STEPS as functions: each looks at the request packet in hand and returns
 * the step that follows. Good requests walk through responder.c, duplicates through duplicate.c,
 * and what is refused ends in nak.c. This header is for these files.
 */
#ifndef RNIC_RESP_STEPS_H
#define RNIC_RESP_STEPS_H

#include "transport/response_tx.h"

#define X(NAME, function)                                                                          \
    enum rnic_resp_step rnic_resp_##function(struct rnic_responder *resp,                          \
                                             const struct roce_pkt *pkt);
RNIC_RESP_STEPS(X)
#undef X

#endif

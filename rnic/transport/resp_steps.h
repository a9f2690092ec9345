/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Steps of the responder: each function processes the request packet and returns the next step.
 * responder.c has the steps of valid requests, duplicate.c the steps of duplicates, and nak.c the
 * steps that refuse a request. Only these files use this header. */
#ifndef RNIC_RESP_STEPS_H
#define RNIC_RESP_STEPS_H

#include "transport/response_tx.h"

#define X(NAME, function)                                                                          \
    enum rnic_resp_step rnic_resp_##function(struct rnic_responder *resp,                          \
                                             const struct roce_pkt *pkt);
RNIC_RESP_STEPS(X)
#undef X

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Functions for the steps of RNIC_RESP_STEPS: each processes the request packet and returns the
 * next step. responder.c has the steps of valid requests, duplicate.c those of duplicates, nak.c
 * those that refuse a request. Private to these files. */
#ifndef RNIC_RESP_STEPS_H
#define RNIC_RESP_STEPS_H

#include "transport/response_tx.h"

#define X(NAME, function)                                                                          \
    enum rnic_resp_step rnic_resp_##function(struct rnic_responder *resp,                          \
                                             const struct roce_pkt *pkt);
RNIC_RESP_STEPS(X)
#undef X

#endif

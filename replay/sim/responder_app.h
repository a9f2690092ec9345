/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder's application in a closed loop: repeats those actions of the recorded responder's
 * program that the capture shows. It registers the regions, deregisters R_Keys and registers them
 * again. It posts a receive WQE when a request needs one. If the capture has RNR NAKs, the
 * application lets a request find no receive WQE as often as in the capture.
 *
 * rc_loop.c calls these functions:
 *
 *   1. responder_app_init(), then responder_app_open() with an open host
 *   2. for each valid request: responder_app_before_request(), rnic_input(),
 *      responder_app_after_request()
 *   3. responder_app_poll() collects the completions
 *   4. responder_app_free()
 *
 * Functions that return an int return -1 if out of memory.
 */
#ifndef REPLAY_SIM_RESPONDER_APP_H
#define REPLAY_SIM_RESPONDER_APP_H

#include "infer/infer_work_requests.h"
#include "sim/completion_log.h"
#include "sim/sim_host.h"

/* Shared receive queue that XRC requests use. */
struct responder_app_srq {
    struct rnic_srq *srq;
    uint32_t spare; /* number of posted receive WQEs that no message has consumed */
};

struct responder_app {
    const struct work_requests *works;
    const struct inferred_setup *setup;
    struct shadow_memory *memory;
    struct sim_host *host;
    uint32_t *starve;     /* for each work request: number of further transmissions to which our
                           * responder must reply with an RNR NAK */
    uint8_t *invalidated; /* for each region: a SEND invalidated its R_Key */
    uint8_t *recv_buf;
    uint32_t recv_key;
    uint32_t recv_cnt;
    struct rnic_xrcd *xrcd; /* XRC domain, only for XRC */
    struct keymap srqns;    /* map from SRQ number to index in `srq` */
    struct responder_app_srq *srq;
    size_t srq_cap;
};

/* State of a request during its delivery to the RNIC. */
struct app_request {
    const struct roce_pkt *pkt;
    int64_t rel;                     /* relative PSN of the request */
    uint32_t epsn;                   /* PSN that our responder expected before the request */
    struct responder_app_srq *srq;   /* SRQ of an XRC request, or NULL */
    struct shadow_region *withdrawn; /* region that is deregistered while this request is delivered,
                                      * or NULL */
};

/* Initializes the application. Returns 0, or -1 if out of memory. Call responder_app_free() in
 * both cases. */
int responder_app_init(struct responder_app *app, const struct work_requests *wrs,
                       struct shadow_memory *memory, struct sim_host *host);
void responder_app_free(struct responder_app *app);

/* Creates QP, regions and SRQs. `common` has the QP attributes that requester and responder share.
 * Returns NULL, or the reason of the failure. */
const char *responder_app_open(struct responder_app *app, const struct rnic_qp_attr *common);

/* Call before and after passing a request to the RNIC. Both return 0, or -1 if out of memory. */
int responder_app_before_request(struct responder_app *app, struct app_request *request);
int responder_app_after_request(struct responder_app *app, const struct app_request *request);

/* Appends the completed receives to the log. Returns 0, or -1 if out of memory. */
int responder_app_poll(struct responder_app *app, struct completion_log *received);

#endif

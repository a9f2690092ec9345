/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder's application in a closed loop: does what the capture shows that the recorded one did.
 * It registers the regions, posts a receive WQE when a request needs one, leaves a request without
 * a WQE as often as in the capture, and withdraws and registers keys again.
 *
 * rc_loop.c calls it:
 *
 *   1. responder_app_init(), then responder_app_open() with an open host.
 *   2. For each valid request: responder_app_before_request(), rnic_input(),
 *      responder_app_after_request().
 *   3. responder_app_poll() collects the completions.
 *   4. responder_app_free()
 *
 * -1 means that there is no memory.
 */
#ifndef REPLAY_SIM_RESPONDER_APP_H
#define REPLAY_SIM_RESPONDER_APP_H

#include "infer/infer_work_requests.h"
#include "sim/completion_log.h"
#include "sim/sim_host.h"

/* An SRQ that XRC requests name. */
struct responder_app_srq {
    uint32_t srqn;
    struct rnic_srq *srq;
    uint32_t spare; /* posted WQEs that no message has consumed */
};

struct responder_app {
    const struct work_requests *works;
    const struct inferred_setup *setup;
    struct shadow_memory *memory;
    struct sim_host *host;
    uint32_t *starve;     /* for each work request: how often it must still find no receive WQE */
    uint8_t *invalidated; /* for each region: its key was invalidated */
    uint8_t *recv_buf;
    uint32_t recv_key;
    uint32_t recv_cnt;
    struct rnic_xrcd *xrcd; /* XRC only */
    struct responder_app_srq *srq;
    size_t srq_cnt, srq_cap;
};

/* A request around its delivery to the device. */
struct app_request {
    const struct roce_pkt *pkt;
    int64_t rel;                     /* its PSN, counted from the first of the connection */
    uint32_t epsn;                   /* ePSN before the request */
    struct responder_app_srq *srq;   /* SRQ that it names, or NULL */
    struct shadow_region *withdrawn; /* region whose key is withdrawn for this request, or NULL */
};

/* Returns 0 or -1; responder_app_free() is needed in both cases. */
int responder_app_init(struct responder_app *app, const struct work_requests *wrs,
                       struct shadow_memory *memory, struct sim_host *host);
void responder_app_free(struct responder_app *app);

/* Creates QP, regions and SRQs. `common` has the attributes of both QPs. Returns NULL, or the
 * reason why it cannot be done. */
const char *responder_app_open(struct responder_app *app, const struct rnic_qp_attr *common);

/* To be called before and after the request is given to the device. Return 0 or -1. */
int responder_app_before_request(struct responder_app *app, struct app_request *request);
int responder_app_after_request(struct responder_app *app, const struct app_request *request);

/* Appends the completed receives to the log. Returns 0 or -1. */
int responder_app_poll(struct responder_app *app, struct completion_log *received);

#endif

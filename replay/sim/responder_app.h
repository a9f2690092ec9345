/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * User of a closed loop's responder (closed.h): does what the capture shows that the recorded
 * responder's user did. Registers its regions, posts a receive WQE when a request needs one, leaves
 * a request without as often as the recorded one did, withdraws a key for a request, registers it
 * again.
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
    uint32_t spare; /* WQEs posted that no message took */
};

struct responder_app {
    const struct work_requests *works;
    const struct inferred_setup *setup;
    struct shadow_memory *memory;
    struct sim_host *host;
    uint32_t *starve;     /* per work: how often there still is no receive WQE */
    uint8_t *invalidated; /* per region */
    uint8_t *recv_buf;
    uint32_t recv_key;
    uint32_t recv_cnt;
    struct rnic_xrcd *xrcd; /* XRC only */
    struct responder_app_srq *srq;
    size_t srq_cnt, srq_cap;
};

/* A request, from before it is given to the device until after. */
struct app_request {
    const struct roce_pkt *pkt;
    int64_t rel;                     /* of its PSN */
    uint32_t epsn;                   /* before */
    struct responder_app_srq *srq;   /* that it names, or NULL */
    struct shadow_region *withdrawn; /* whose key is not valid for it, or NULL */
};

/* 0, or -1 without memory; responder_app_free() is wanted in both cases. */
int responder_app_init(struct responder_app *app, const struct work_requests *wrs,
                       struct shadow_memory *memory, struct sim_host *host);
void responder_app_free(struct responder_app *app);

/* Sets up the responder, its device being open; `common` is what both QPs have. NULL, or why it
 * cannot be. */
const char *responder_app_open(struct responder_app *app, const struct rnic_qp_attr *common);

/* Before and after a request with these contents is given to the device. 0, or -1 without memory.
 */
int responder_app_before_request(struct responder_app *app, struct app_request *request);
int responder_app_after_request(struct responder_app *app, const struct app_request *request);

/* Takes what was received. 0, or -1 without memory. */
int responder_app_poll(struct responder_app *app, struct completion_log *received);

#endif

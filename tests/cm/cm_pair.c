/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cm_pair.h"

#include <string.h>
#include "cm/conn.h"
#include "support/suite.h"

#define DELAY UINT64_C(1000000) /* time for which a message is in flight, ns */

const struct rnic_cm_addr cm_pair_addr[ENDS] = {
    {{[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1}, {[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 2}},
    {{[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 2}, {[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1}},
};

static bool speaks(void *user, enum rnic_cm_unknown what, uint64_t number, const uint8_t gid[16])
{
    (void)gid;
    (void)what;
    (void)number;
    return ((struct cm_pair_end *)user)->speaks;
}

static bool elsewhere(void *user, uint64_t service_id, const uint8_t gid[16])
{
    (void)gid;
    (void)service_id;
    return ((struct cm_pair_end *)user)->elsewhere;
}

void cm_pair_start_with(struct cm_pair *w, uint64_t patience)
{
    memset(w, 0, sizeof(*w));
    w->rng = rng_seed();
    for (unsigned e = 0; e < ENDS; e++) {
        const struct rnic_cm_attr attr = {.ca_guid = 100 + e,
                                          .id_prefix = 7 + e,
                                          .id_prefix_bits = 12,
                                          .seed = {1000 * e + 5, e},
                                          .answers_unknown = speaks,
                                          .listen_wait = e == B ? patience : 0,
                                          .served_elsewhere = elsewhere,
                                          .user = &w->end[e]};

        w->end[e].cm = rnic_cm_new(&attr);
        w->end[e].speaks = true;
        CU_ASSERT_PTR_NOT_NULL_FATAL(w->end[e].cm);
    }
    w->end[B].accepts = true;
    w->end[B].listen = rnic_cm_id_new(w->end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen(w->end[B].listen, SERVICE, NULL), RNIC_OK);
}

void cm_pair_start(struct cm_pair *w)
{
    cm_pair_start_with(w, 0);
}

void cm_pair_stop(struct cm_pair *w)
{
    rnic_cm_del(w->end[A].cm);
    rnic_cm_del(w->end[B].cm);
}

struct roce_cm_req cm_pair_request(uint32_t qpn)
{
    struct roce_cm_req req = {.service_id = SERVICE,
                              .local_ca_guid = 100,
                              .local_qpn = qpn,
                              .starting_psn = 111,
                              .responder_resources = 3,
                              .initiator_depth = 5,
                              .remote_cm_timeout = 18,
                              .local_cm_timeout = 18,
                              .max_cm_retries = 15,
                              .retry_count = 6,
                              .mtu = 3,
                              .pkey = 0xFFFF,
                              .primary_ack_timeout = 15,
                              .private_data = {[1] = 0x40}};

    memcpy(req.primary_local_gid, cm_pair_addr[A].local, 16);
    memcpy(req.primary_remote_gid, cm_pair_addr[A].remote, 16);
    return req;
}

struct roce_cm_rep cm_pair_reply(void)
{
    return (struct roce_cm_rep){.local_qpn = 0x222,
                                .starting_psn = 222,
                                .responder_resources = 9,
                                .initiator_depth = 2,
                                .rnr_retry_count = 4,
                                .local_ca_guid = 101};
}

static struct roce_cm_rep xrc_reply(void)
{
    const struct rnic_cm_param param = {
        .type = RNIC_QPT_XRC_RECV, .qpn = 0x222, .starting_psn = 222, .initiator_depth = 2};
    struct rnic_cm_path path;
    struct roce_cm_rep rep;

    rnic_cm_path_defaults(&path);
    EXPECT_EQ(rnic_cm_make_rep(&rep, &param, &path, 101), RNIC_OK);
    EXPECT_EQ(rep.local_qpn, 0);
    EXPECT_EQ(rep.local_eecn, 0x222);
    EXPECT_EQ(rep.srq, 1);
    EXPECT_EQ(rep.initiator_depth, 0); /* an XRC target sends no requests */
    return rep;
}

static void answer(struct cm_pair *w, struct cm_pair_end *end, const struct rnic_cm_event *event)
{
    const struct roce_cm_rep rep = end->xrc ? xrc_reply() : cm_pair_reply();
    const struct roce_cm_sidr_rep sidr = {.qpn = 0x77, .qkey = 0x88};

    switch (event->type) {
    case RNIC_CM_REQUEST:
        end->id = event->id;
        if (end->accepts)
            EXPECT_EQ(rnic_cm_accept(event->id, &rep, w->now), RNIC_OK);
        else if (end->rejects)
            EXPECT_EQ(rnic_cm_reject(event->id, ROCE_CM_REJ_CONSUMER, "no", 3, w->now), RNIC_OK);
        if (end->rejects && end->tidy)
            rnic_cm_id_del(event->id, w->now);
        break;
    case RNIC_CM_UNREACHABLE:
        if (end->tidy)
            rnic_cm_id_del(event->id, w->now);
        break;
    case RNIC_CM_RESPONSE: EXPECT_EQ(rnic_cm_establish(event->id, NULL, 0, w->now), RNIC_OK); break;
    case RNIC_CM_DISCONNECTED:
        if (event->msg.kind == ROCE_CM_DREQ && !end->silent)
            rnic_cm_disconnect(event->id, NULL, 0, w->now);
        break;
    case RNIC_CM_SIDR_REQUEST:
        end->id = event->id;
        EXPECT_EQ(rnic_cm_sidr_reply(event->id, &sidr, w->now), RNIC_OK);
        break;
    default: break;
    }
}

void cm_pair_take_events(struct cm_pair *w, unsigned e)
{
    struct rnic_cm_event event;

    while (rnic_cm_event(w->end[e].cm, &event)) {
        w->end[e].seen[event.type]++;
        w->end[e].last = event;
        answer(w, &w->end[e], &event);
    }
}

static bool lost(struct cm_pair *w, const uint8_t *mad, unsigned from)
{
    struct roce_cm_msg msg;

    EXPECT_EQ(roce_cm_msg_parse(&msg, mad, ROCE_MAD_SIZE, ROCE_MAD_SIZE), 0);
    w->sent[from][msg.kind]++;
    if (w->lose[msg.kind] > 0) {
        w->lose[msg.kind]--;
        return true;
    }
    return rng_below(&w->rng, 100) < w->loss;
}

void cm_pair_carry(struct cm_pair *w)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned e = 0; e < ENDS; e++) {
            uint8_t mad[ROCE_MAD_SIZE];
            struct rnic_cm_addr addr;

            cm_pair_take_events(w, e);
            while (rnic_cm_output(w->end[e].cm, mad, &addr)) {
                moved = true;
                bool other = memcmp(addr.remote, cm_pair_addr[e].remote, 16) != 0;

                CU_ASSERT(!other || w->end[e].tidy); /* only in tests with a flood of requests, a
                                                      * message may have another destination */
                if (other || lost(w, mad, e))
                    continue;
                w->now += DELAY;
                rnic_cm_input(w->end[1 - e].cm, mad, ROCE_MAD_SIZE, &cm_pair_addr[1 - e], w->now);
                cm_pair_take_events(w, 1 - e);
            }
        }
    }
}

void cm_pair_pass(struct cm_pair *w, uint64_t time)
{
    rnic_time end = w->now + time;

    cm_pair_carry(w);
    for (;;) {
        rnic_time a = rnic_cm_deadline(w->end[A].cm), b = rnic_cm_deadline(w->end[B].cm);
        rnic_time next = a < b ? a : b;

        if (next > end)
            break;
        if (next > w->now)
            w->now = next;
        rnic_cm_expire(w->end[A].cm, w->now);
        rnic_cm_expire(w->end[B].cm, w->now);
        cm_pair_carry(w);
    }
    if (end > w->now)
        w->now = end;
}

void cm_pair_ask(struct cm_pair *w, uint32_t qpn)
{
    const struct roce_cm_req req = cm_pair_request(qpn);

    w->end[A].id = rnic_cm_id_new(w->end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_connect(w->end[A].id, &req, &cm_pair_addr[A], w->now), RNIC_OK);
}

void cm_pair_expect_connected(struct cm_pair *w)
{
    EXPECT_EQ(rnic_cm_id_state(w->end[A].id), RNIC_CM_CONNECTED);
    EXPECT_EQ(rnic_cm_id_state(w->end[B].id), RNIC_CM_CONNECTED);
    EXPECT_EQ(w->end[A].seen[RNIC_CM_RESPONSE], 1);
    EXPECT_EQ(w->end[B].seen[RNIC_CM_REQUEST], 1);
    EXPECT_EQ(w->end[B].seen[RNIC_CM_ESTABLISHED], 1);
}

void cm_pair_stop_listening(struct cm_pair *w)
{
    rnic_cm_id_del(w->end[B].listen, w->now);
    w->end[B].listen = NULL;
}

void cm_pair_listen_again(struct cm_pair *w)
{
    w->end[B].listen = rnic_cm_id_new(w->end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen(w->end[B].listen, SERVICE, NULL), RNIC_OK);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests two CM engines, A and B, connected by a simulated network. It loses the messages that a
 * test selects. */
#include <string.h>
#include "cm/conn.h"
#include "cm/engine.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/gid.h"

#define SERVICE   UINT64_C(0x0000000001061D2F)
#define DELAY     UINT64_C(1000000)
#define LONG_TIME UINT64_C(400000000000) /* longer than all retransmissions together take, ns */

enum { A, B, ENDS };

struct end {
    struct rnic_cm *cm;
    struct rnic_cm_id *id;     /* id of the exchange under test */
    struct rnic_cm_id *listen; /* listening id; B only */
    unsigned seen[RNIC_CM_SIDR_RESPONSE + 1];
    struct rnic_cm_event last;
    bool accepts, rejects, silent; /* how the program reacts to a request: accepts it, rejects it,
                                    * or does not answer */
    bool speaks;
    bool elsewhere; /* another engine of the port has a listener for every service */
    bool xrc;       /* the program accepts with an XRC target QP */
    bool tidy;      /* the program deletes ids after it rejected them, or after their peer was
                     * unreachable */
};

struct world {
    struct end end[ENDS];
    rnic_time now;
    struct rng rng;
    unsigned loss;                  /* probability that a message is lost, percent */
    unsigned lose[ROCE_CM_MSG_CNT]; /* for each kind of message: how many of the next ones are
                                     * lost */
    unsigned sent[ENDS][ROCE_CM_MSG_CNT];
};

static const struct rnic_cm_addr addr_of[ENDS] = {
    {{[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1}, {[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 2}},
    {{[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 2}, {[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1}},
};

static bool speaks(void *user, enum rnic_cm_unknown what, uint64_t number)
{
    (void)what;
    (void)number;
    return ((struct end *)user)->speaks;
}

static bool elsewhere(void *user, uint64_t service_id)
{
    (void)service_id;
    return ((struct end *)user)->elsewhere;
}

/* Creates both engines. `patience` is the time for which B delays a request for a service without a
 * listener (rnic_cm_attr.listen_wait), ns. */
static void start_with(struct world *w, uint64_t patience)
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

static void start(struct world *w)
{
    start_with(w, 0);
}

static void stop(struct world *w)
{
    rnic_cm_del(w->end[A].cm);
    rnic_cm_del(w->end[B].cm);
}

static struct roce_cm_req request(uint32_t qpn)
{
    return (struct roce_cm_req){.service_id = SERVICE,
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
                                .primary_ack_timeout = 15,
                                .private_data = {[1] = 0x40}};
}

static struct roce_cm_rep reply(void)
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

static void answer(struct world *w, struct end *end, const struct rnic_cm_event *event)
{
    const struct roce_cm_rep rep = end->xrc ? xrc_reply() : reply();
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

static void take_events(struct world *w, unsigned e)
{
    struct rnic_cm_event event;

    while (rnic_cm_event(w->end[e].cm, &event)) {
        w->end[e].seen[event.type]++;
        w->end[e].last = event;
        answer(w, &w->end[e], &event);
    }
}

static bool lost(struct world *w, const uint8_t *mad, unsigned from)
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

/* Delivers messages, and events to the programs, until no message is in flight. */
static void carry(struct world *w)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned e = 0; e < ENDS; e++) {
            uint8_t mad[ROCE_MAD_SIZE];
            struct rnic_cm_addr addr;

            take_events(w, e);
            while (rnic_cm_output(w->end[e].cm, mad, &addr)) {
                moved = true;
                bool other = memcmp(addr.remote, addr_of[e].remote, 16) != 0;

                CU_ASSERT(!other || w->end[e].tidy); /* only the tests with a flood use other
                                                      * addresses */
                if (other || lost(w, mad, e))
                    continue;
                w->now += DELAY;
                rnic_cm_input(w->end[1 - e].cm, mad, ROCE_MAD_SIZE, &addr_of[1 - e], w->now);
                take_events(w, 1 - e);
            }
        }
    }
}

/* Advances the time by `time` ns. Expires each timer at its time, and delivers the messages sent
 * then. */
static void pass(struct world *w, uint64_t time)
{
    rnic_time end = w->now + time;

    carry(w);
    for (;;) {
        rnic_time a = rnic_cm_deadline(w->end[A].cm), b = rnic_cm_deadline(w->end[B].cm);
        rnic_time next = a < b ? a : b;

        if (next > end)
            break;
        if (next > w->now)
            w->now = next;
        rnic_cm_expire(w->end[A].cm, w->now);
        rnic_cm_expire(w->end[B].cm, w->now);
        carry(w);
    }
    if (end > w->now)
        w->now = end;
}

static void ask(struct world *w, uint32_t qpn)
{
    const struct roce_cm_req req = request(qpn);

    w->end[A].id = rnic_cm_id_new(w->end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_connect(w->end[A].id, &req, &addr_of[A], w->now), RNIC_OK);
}

static void expect_connected(struct world *w)
{
    EXPECT_EQ(rnic_cm_id_state(w->end[A].id), RNIC_CM_CONNECTED);
    EXPECT_EQ(rnic_cm_id_state(w->end[B].id), RNIC_CM_CONNECTED);
    EXPECT_EQ(w->end[A].seen[RNIC_CM_RESPONSE], 1);
    EXPECT_EQ(w->end[B].seen[RNIC_CM_REQUEST], 1);
    EXPECT_EQ(w->end[B].seen[RNIC_CM_ESTABLISHED], 1);
}

/* The QP attributes of each side must follow from the values that its peer sent (R238, R239,
 * R240). */
static void connect_and_disconnect(void)
{
    struct world w;
    struct rnic_cm_qp a, b;

    start(&w);
    ask(&w, 0x111);
    carry(&w);
    expect_connected(&w);
    rnic_cm_qp_of(w.end[A].id, 12, &a);
    rnic_cm_qp_of(w.end[B].id, 12, &b);
    EXPECT_EQ(a.dest_qpn, 0x222);
    EXPECT_EQ(b.dest_qpn, 0x111);
    EXPECT_EQ(a.sq_psn, 222);
    EXPECT_EQ(a.rq_psn, 111);
    EXPECT_EQ(b.sq_psn, 111);
    EXPECT_EQ(b.rq_psn, 222);
    EXPECT_EQ(a.max_rd_atomic, 5); /* B sent 9, but A uses at most the 5 that it offered */
    EXPECT_EQ(b.max_dest_rd_atomic, 5);
    EXPECT_EQ(a.max_dest_rd_atomic, 2);
    EXPECT_EQ(b.max_rd_atomic, 2);
    EXPECT_EQ(a.rnr_retry, 4);
    EXPECT_EQ(b.retry_cnt, 6);
    EXPECT_EQ(rnic_cm_disconnect(w.end[A].id, NULL, 0, w.now), RNIC_OK);
    pass(&w, LONG_TIME);
    for (unsigned e = 0; e < ENDS; e++) {
        EXPECT_EQ(w.end[e].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.end[e].seen[RNIC_CM_TIMEWAIT_EXIT], 1);
        EXPECT_EQ(rnic_cm_id_state(w.end[e].id), RNIC_CM_IDLE);
    }
    stop(&w);
}

/* Connects an XRC initiator at A to an XRC target at B. Both must have the right QPNs (R245). */
static void connect_xrc(struct world *w)
{
    start(w);
    w->end[B].xrc = true;
    struct roce_cm_req req = request(0x111);

    req.transport = ROCE_CM_TRANSPORT_EXTENDED;
    req.ext_transport = ROCE_CM_EXT_TRANSPORT_XRC;
    w->end[A].id = rnic_cm_id_new(w->end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_connect(w->end[A].id, &req, &addr_of[A], w->now), RNIC_OK);
    carry(w);
    expect_connected(w);
    EXPECT_EQ(rnic_cm_id_qpn(w->end[A].id), 0x111);
    EXPECT_EQ(rnic_cm_id_qpn(w->end[B].id), 0x222);
}

/* A REP contains the XRC target QP in the field of the EE context. A DREQ must contain the QPN of
 * the target, too, so that either side can disconnect. */
static void xrc_initiator_disconnects_target(void)
{
    for (unsigned e = 0; e < ENDS; e++) {
        struct world w;
        struct rnic_cm_qp a;

        connect_xrc(&w);
        rnic_cm_qp_of(w.end[A].id, 12, &a);
        EXPECT_EQ(a.dest_qpn, 0x222);
        EXPECT_EQ(rnic_cm_disconnect(w.end[e].id, NULL, 0, w.now), RNIC_OK);
        pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.sent[e][ROCE_CM_DREQ], 1); /* the peer accepted the first DREQ, so there is no
                                                * other */
        EXPECT_EQ(w.sent[1 - e][ROCE_CM_DREP], 1);
        stop(&w);
    }
}

/* An XRC target QP may outlive its creator. So deleting its id must not end the connection
 * (core/cm.c, cm_destroy_id()). Deleting the id of the initiator must. */
static void deleted_xrc_target_sends_no_dreq(void)
{
    struct world w;

    connect_xrc(&w);
    rnic_cm_id_del(w.end[B].id, w.now);
    pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 0);
    EXPECT_EQ(rnic_cm_id_state(w.end[A].id), RNIC_CM_CONNECTED);
    /* a DREQ for the deleted id must be answered by a DREP (R233) */
    EXPECT_EQ(rnic_cm_disconnect(w.end[A].id, NULL, 0, w.now), RNIC_OK);
    pass(&w, UINT64_C(1000000000));
    EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
    EXPECT_EQ(w.sent[A][ROCE_CM_DREQ], 1);
    stop(&w);
    connect_xrc(&w);
    rnic_cm_id_del(w.end[A].id, w.now);
    pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    EXPECT_EQ(w.sent[A][ROCE_CM_DREQ], 1);
    stop(&w);
}

/* One message of each kind is lost. The connection must be set up and ended as without loss (R230,
 * R237). */
static void each_lost_message_is_retransmitted(void)
{
    static const enum roce_cm kinds[] = {ROCE_CM_REQ, ROCE_CM_REP, ROCE_CM_RTU, ROCE_CM_DREQ,
                                         ROCE_CM_DREP};

    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct world w;

        start(&w);
        w.lose[kinds[k]] = 1;
        ask(&w, 0x111);
        pass(&w, LONG_TIME);
        expect_connected(&w);
        EXPECT_EQ(rnic_cm_disconnect(w.end[B].id, NULL, 0, w.now), RNIC_OK);
        pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
        CU_ASSERT(w.sent[A][kinds[k]] + w.sent[B][kinds[k]] > 1);
        stop(&w);
    }
}

/* Random messages are lost. Each side must still report the end of its connection once, and no
 * timer or state may remain. */
static void loss_and_duplicates_are_survived(void)
{
    for (unsigned run = 0; run < 300; run++) {
        struct world w;

        start(&w);
        w.rng = rng_of(suite_env("ROCEDRILL_SEED", 1) * 1000 + run + 1);
        w.loss = 30;
        ask(&w, 0x111);
        pass(&w, LONG_TIME);
        expect_connected(&w); /* the REQ is sent up to 16 times, so that all are lost practically
                               * never happens */
        rnic_cm_disconnect(w.end[run % 2].id, NULL, 0, w.now);
        pass(&w, LONG_TIME);
        for (unsigned e = 0; e < ENDS; e++) {
            EXPECT_EQ(w.end[e].seen[RNIC_CM_DISCONNECTED], 1);
            EXPECT_EQ(rnic_cm_id_state(w.end[e].id), RNIC_CM_IDLE);
            EXPECT_EQ(rnic_cm_disconnecting(w.end[e].cm), 0);
            EXPECT_EQ(rnic_cm_deadline(w.end[e].cm), RNIC_NEVER);
        }
        stop(&w);
    }
}

/* A REJ must pass reason and private data to the requester. If the REJ is lost, the retransmitted
 * REQ must be answered by the same REJ (R235). */
static void rejection_reaches_the_requester(void)
{
    struct world w;

    start(&w);
    w.end[B].accepts = false;
    w.end[B].rejects = true;
    w.lose[ROCE_CM_REJ] = 1;
    ask(&w, 0x111);
    pass(&w, UINT64_C(2000000000));
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 1);
    EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_CONSUMER);
    EXPECT_EQ(w.end[A].last.msg.rej.message, 0);
    CU_ASSERT_EQUAL(memcmp(w.end[A].last.msg.rej.private_data, "no", 3), 0);
    stop(&w);
}

/* A REQ for a service without a listener must be rejected (R232). If the engine does not answer for
 * the port, no REJ is sent, and the requester must give up (R237). */
static void req_without_listener_is_rejected(void)
{
    for (unsigned silent = 0; silent < 2; silent++) {
        struct world w;

        start(&w);
        w.end[B].speaks = !silent;
        rnic_cm_id_del(w.end[B].listen, w.now);
        ask(&w, 0x111);
        pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[A].seen[silent ? RNIC_CM_UNREACHABLE : RNIC_CM_REJECTED], 1);
        EXPECT_EQ(w.sent[A][ROCE_CM_REQ], silent ? 16 : 1);
        if (!silent)
            EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_INVALID_SERVICE_ID);
        stop(&w);
    }
}

static void stops_listening(struct world *w)
{
    rnic_cm_id_del(w->end[B].listen, w->now);
    w->end[B].listen = NULL;
}

static void listens_again(struct world *w)
{
    w->end[B].listen = rnic_cm_id_new(w->end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen(w->end[B].listen, SERVICE, NULL), RNIC_OK);
}

/* A request for a service arrives shortly before the program listens. The program must get this
 * request, once. perftest -R connects when its peer is about to listen, and a REJ would end
 * perftest. */
static void early_req_waits_for_listener(void)
{
    enum { PATIENCE = 250000000 };
    struct world w;
    const struct roce_cm_sidr_req sidr = {.service_id = SERVICE, .private_data = {[1] = 0x40}};

    start_with(&w, PATIENCE);
    stops_listening(&w);
    ask(&w, 0x111);
    pass(&w, PATIENCE / 2);
    EXPECT_EQ(w.sent[B][ROCE_CM_REJ], 0);
    listens_again(&w);
    EXPECT_EQ(rnic_cm_deadline(w.end[B].cm), 0);
    pass(&w, PATIENCE);
    expect_connected(&w);
    EXPECT_EQ(w.sent[A][ROCE_CM_REQ], 1);
    stop(&w);

    start_with(&w, PATIENCE); /* a SIDR_REQ must wait for a listener, too */
    stops_listening(&w);
    w.end[A].id = rnic_cm_id_new(w.end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_sidr_request(w.end[A].id, &sidr, 18, 15, &addr_of[A], w.now), RNIC_OK);
    pass(&w, PATIENCE / 2);
    listens_again(&w);
    pass(&w, PATIENCE);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_SIDR_RESPONSE], 1);
    EXPECT_EQ(w.end[A].last.msg.sidr_rep.qpn, 0x77);
    stop(&w);
}

/* No program listens. The request must be rejected when its wait ends, which is limited by the
 * timeout in the REQ (R232). If another engine may have the service, no REJ must be sent. */
static void nobody_listens_in_time(void)
{
    struct world w;

    for (unsigned there = 0; there < 2; there++) {
        start_with(&w, UINT64_C(60000000000));
        stops_listening(&w);
        w.end[B].elsewhere = there;
        w.end[B].speaks = !there;
        ask(&w, 0x111);
        pass(&w, UINT64_C(600000000)); /* the timeout in the REQ is 1.07 s */
        EXPECT_EQ(w.sent[A][ROCE_CM_REQ], 1);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], !there);
        if (!there)
            EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_INVALID_SERVICE_ID);
        EXPECT_EQ(rnic_cm_deadline(w.end[B].cm), RNIC_NEVER);
        stop(&w);
    }
    start_with(&w, 250000000); /* only 64 requests can wait, so the others must be rejected at
                                * once */
    stops_listening(&w);
    for (uint32_t i = 0; i < 100; i++) {
        ask(&w, 0x1000 + i);
        carry(&w);
    }
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 36);
    pass(&w, 300000000);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 100);
    stop(&w);
}

/* The program is slow to accept. If the REQ is repeated, its CM must send an MRA, and the peer must
 * then wait longer (R236). */
static void mra_extends_the_wait(void)
{
    struct world w;
    const struct roce_cm_rep rep = reply();

    start(&w);
    w.end[B].accepts = false;
    ask(&w, 0x111);
    pass(&w, UINT64_C(30000000000));
    EXPECT_EQ(w.sent[B][ROCE_CM_MRA], 1);
    EXPECT_EQ(w.sent[A][ROCE_CM_REQ], 2);
    EXPECT_EQ(rnic_cm_id_state(w.end[A].id), RNIC_CM_MRA_REQ_RCVD);
    EXPECT_EQ(rnic_cm_accept(w.end[B].id, &rep, w.now), RNIC_OK);
    carry(&w);
    expect_connected(&w);
    stop(&w);
}

/* The peer lost the state of a connection, and sends a REQ with the same QPN. The REQ must be
 * rejected as stale, and the old connection must end (R231). */
static void reused_qpn_is_rejected_as_stale(void)
{
    struct world w;
    struct rnic_cm_id *old;

    start(&w);
    ask(&w, 0x111);
    carry(&w);
    old = w.end[B].id;
    w.end[A].silent = true;
    rnic_cm_del(w.end[A].cm); /* A loses its CM state, as after a restart of the machine */
    w.end[A].cm = rnic_cm_new(
        &(struct rnic_cm_attr){.ca_guid = 100, .id_prefix = 7, .id_prefix_bits = 12, .seed = {99}});
    ask(&w, 0x111);
    carry(&w);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 1);
    EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_STALE);
    EXPECT_EQ(rnic_cm_id_state(old), RNIC_CM_TIMEWAIT); /* B sent a DREQ for the old connection, and
                                                         * A answered it (R233) */
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    stop(&w);
}

/* A DREQ with a wrong QPN must not change the connection (R233). */
static void dreq_with_wrong_qpn_is_ignored(void)
{
    struct world w;
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;

    start(&w);
    ask(&w, 0x111);
    carry(&w);
    roce_cm_msg_init(&msg, ROCE_CM_DREQ, 1);
    msg.dreq.local_comm_id = rnic_cm_id_local(w.end[A].id);
    msg.dreq.remote_comm_id = rnic_cm_id_local(w.end[B].id);
    msg.dreq.remote_qpn = 0x333;
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(w.end[B].cm, mad, sizeof(mad), &addr_of[B], w.now));
    EXPECT_EQ(rnic_cm_id_state(w.end[B].id), RNIC_CM_CONNECTED);
    CU_ASSERT_FALSE(rnic_cm_output(w.end[B].cm, mad, &addr));
    stop(&w);
}

/* A passive side may only lower the values of the REQ, but Linux lets programs raise them. The
 * active side must limit the values in the REP to what its device supports (R238). */
static void takes_more_than_offered(void)
{
    struct world w;
    struct roce_cm_msg msg;
    struct rnic_cm_qp qp;
    uint8_t mad[ROCE_MAD_SIZE];

    start(&w);
    w.end[B].accepts = false;
    ask(&w, 0x111); /* the REQ contains responder resources 3 and initiator depth 5 */
    carry(&w);
    roce_cm_msg_init(&msg, ROCE_CM_REP, 1);
    msg.rep = reply();
    msg.rep.local_comm_id = rnic_cm_id_local(w.end[B].id);
    msg.rep.remote_comm_id = rnic_cm_id_local(w.end[A].id);
    msg.rep.responder_resources = 200;
    msg.rep.initiator_depth = 100;
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(w.end[A].cm, mad, sizeof(mad), &addr_of[A], w.now));
    EXPECT_EQ(rnic_cm_id_state(w.end[A].id), RNIC_CM_REP_RCVD);
    rnic_cm_qp_of(w.end[A].id, 12, &qp);
    EXPECT_EQ(qp.max_rd_atomic, RNIC_RD_ATOMIC_MAX);
    EXPECT_EQ(qp.max_dest_rd_atomic, RNIC_RD_ATOMIC_MAX);
    stop(&w);
}

/* A LAP, which requests an alternate path, must be answered by an APR "not supported". The
 * connection must remain (R197). */
static void lap_is_answered_unsupported(void)
{
    struct world w;
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;
    enum { UNSUPPORTED = 2 }; /* the status "alternate paths not supported" in an APR */

    start(&w);
    ask(&w, 0x111);
    carry(&w);
    roce_cm_msg_init(&msg, ROCE_CM_LAP, 77);
    msg.lap.local_comm_id = rnic_cm_id_local(w.end[A].id);
    msg.lap.remote_comm_id = rnic_cm_id_local(w.end[B].id);
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(w.end[B].cm, mad, sizeof(mad), &addr_of[B], w.now));
    CU_ASSERT_FATAL(rnic_cm_output(w.end[B].cm, mad, &addr));
    EXPECT_EQ(roce_cm_msg_parse(&msg, mad, sizeof(mad), sizeof(mad)), 0);
    EXPECT_EQ(msg.kind, ROCE_CM_APR);
    EXPECT_EQ(msg.mad.tid, 77);
    EXPECT_EQ(msg.apr.local_comm_id, rnic_cm_id_local(w.end[B].id));
    EXPECT_EQ(msg.apr.remote_comm_id, rnic_cm_id_local(w.end[A].id));
    EXPECT_EQ(msg.apr.status, UNSUPPORTED);
    expect_connected(&w);
    stop(&w);
}

static void crossing_dreqs_end_both_sides(void)
{
    struct world w;

    start(&w);
    ask(&w, 0x111);
    carry(&w);
    rnic_cm_disconnect(w.end[A].id, NULL, 0, w.now);
    rnic_cm_disconnect(w.end[B].id, NULL, 0, w.now);
    pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    stop(&w);
}

/* A UD service is resolved by SIDR messages. The first SIDR_REP is lost, and must be sent again
 * (R244). */
static void sidr_resolves_ud_service(void)
{
    struct world w;
    const struct roce_cm_sidr_req req = {.service_id = SERVICE, .private_data = {[1] = 0x40}};

    start(&w);
    w.lose[ROCE_CM_SIDR_REP] = 1;
    w.end[A].id = rnic_cm_id_new(w.end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_sidr_request(w.end[A].id, &req, 18, 15, &addr_of[A], w.now), RNIC_OK);
    pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_SIDR_RESPONSE], 1);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_SIDR_REQUEST], 1);
    EXPECT_EQ(w.end[A].last.msg.sidr_rep.qpn, 0x77);
    EXPECT_EQ(w.end[A].last.msg.sidr_rep.qkey, 0x88);
    stop(&w);
}

/* A program deletes an id: one with a received REQ, one with a sent REQ, or a connected one. Its
 * peer must be informed. */
static void deleted_id_informs_the_peer(void)
{
    struct world w;

    start(&w);
    w.end[B].accepts = false;
    ask(&w, 0x111);
    carry(&w);
    rnic_cm_id_del(w.end[B].id, w.now);
    carry(&w);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 1);
    stop(&w);

    start(&w);
    w.end[B].accepts = false;
    ask(&w, 0x111);
    carry(&w);
    rnic_cm_id_del(w.end[A].id, w.now);
    carry(&w);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_REJECTED], 1);
    EXPECT_EQ(w.end[B].last.msg.rej.reason, ROCE_CM_REJ_TIMEOUT);
    stop(&w);

    start(&w);
    ask(&w, 0x111);
    carry(&w);
    w.lose[ROCE_CM_DREQ] = 3;
    rnic_cm_id_del(w.end[A].id, w.now);
    pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    stop(&w);
}

static void gid_listener_precedes_wildcard(void)
{
    struct world w;
    struct rnic_cm_id *again;

    start(&w);
    again = rnic_cm_id_new(w.end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen(again, SERVICE, NULL), RNIC_ERR_EXISTS);
    EXPECT_EQ(rnic_cm_listen(again, SERVICE, addr_of[B].local), RNIC_OK);
    ask(&w, 0x111);
    carry(&w);
    EXPECT_EQ(rnic_cm_id_state(w.end[B].id), RNIC_CM_CONNECTED);
    stop(&w);
}

/* A listener for one address family must not get requests to the other family. Another id must be
 * able to listen for the other family. */
static void family_listener_takes_its_family(void)
{
    struct world w;
    struct rnic_cm_id *ip4;
    struct rnic_cm_id *ip6;
    bool asks_ip4 = roce_gid_is_ip4(addr_of[B].local);

    start(&w);
    stops_listening(&w);
    ip4 = rnic_cm_id_new(w.end[B].cm, NULL);
    ip6 = rnic_cm_id_new(w.end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen_family(asks_ip4 ? ip6 : ip4, SERVICE, !asks_ip4), RNIC_OK);
    EXPECT_EQ(cm_find_listener(w.end[B].cm, SERVICE, addr_of[B].local) == NULL, true);
    EXPECT_EQ(rnic_cm_listen_family(asks_ip4 ? ip4 : ip6, SERVICE, !asks_ip4), RNIC_ERR_EXISTS);
    EXPECT_EQ(rnic_cm_listen(asks_ip4 ? ip4 : ip6, SERVICE, NULL), RNIC_ERR_EXISTS);
    EXPECT_EQ(rnic_cm_listen_family(asks_ip4 ? ip4 : ip6, SERVICE, asks_ip4), RNIC_OK);
    EXPECT_EQ(cm_find_listener(w.end[B].cm, SERVICE, addr_of[B].local) == (asks_ip4 ? ip4 : ip6),
              true);
    stop(&w);
}

/* ---- floods -----------------------------------------------------------------------------------
 */

/* number of requests in a flood: more than an engine can have ids */
#define FLOOD (RNIC_CM_IDS_MAX + 5000u)

static void flood_req(struct world *w, uint32_t number, const struct rnic_cm_addr *addr)
{
    uint8_t mad[ROCE_MAD_SIZE];
    struct roce_cm_msg msg;

    roce_cm_msg_init(&msg, ROCE_CM_REQ, number);
    msg.req = request(number & 0xFFFFFF);
    msg.req.local_comm_id = number;
    msg.req.local_ca_guid = 666;
    msg.req.primary_ack_timeout = 31; /* a TIMEWAIT of 2.4 hours */
    msg.req.local_cm_timeout = 31;
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    rnic_cm_input(w->end[B].cm, mad, sizeof(mad), addr, w->now);
}

/* Fetches the events of B, and its messages, which are discarded. */
static void take_output(struct world *w)
{
    struct rnic_cm_addr addr;
    uint8_t mad[ROCE_MAD_SIZE];

    take_events(w, B);
    while (rnic_cm_output(w->end[B].cm, mad, &addr))
        w->now++;
}

/* Sends B many requests whose connections are never completed: from one address or, if `spoofed`,
 * each from a new one. */
static void flood_reqs(struct world *w, bool spoofed)
{
    struct rnic_cm_addr addr = addr_of[B];

    w->end[B].tidy = true;
    addr.remote[15] = 99;
    for (uint32_t i = 1; i <= FLOOD; i++) {
        if (spoofed)
            memcpy(addr.remote + 12, &i, 4);
        flood_req(w, i, &addr);
        if (i % 100 == 0)
            take_output(w);
    }
    take_output(w);
}

static void expect_connects_after_flood(struct world *w)
{
    unsigned before = w->end[B].seen[RNIC_CM_REQUEST];

    w->end[B].accepts = true;
    w->end[B].rejects = false;
    ask(w, 0x111);
    carry(w);
    EXPECT_EQ(rnic_cm_id_state(w->end[A].id), RNIC_CM_CONNECTED);
    EXPECT_EQ(w->end[B].seen[RNIC_CM_REQUEST], before + 1);
    stop(w);
}

static void a_flood_of_reqs_does_not_keep_others_from_connecting(void)
{
    struct world w;

    for (unsigned spoofed = 0; spoofed < 2; spoofed++) {
        start(&w); /* the program does not answer */
        w.end[B].accepts = false;
        flood_reqs(&w, spoofed);
        CU_ASSERT(w.end[B].seen[RNIC_CM_UNREACHABLE] >= FLOOD - 8192);
        expect_connects_after_flood(&w);

        start(&w); /* the program rejects every request */
        w.end[B].accepts = false;
        w.end[B].rejects = true;
        flood_reqs(&w, spoofed);
        expect_connects_after_flood(&w);

        start(&w); /* the program accepts every request, and no RTU arrives */
        flood_reqs(&w, spoofed);
        expect_connects_after_flood(&w);
    }
}

/* While one peer floods B with requests, the half-open exchange of another peer must not be
 * ended. */
static void a_flood_of_one_peer_spares_others(void)
{
    struct world w;

    start(&w);
    w.end[B].accepts = false;
    ask(&w, 0x111);
    carry(&w);
    w.end[A].id = NULL;
    struct rnic_cm_id *early = w.end[B].id;
    flood_reqs(&w, false);
    EXPECT_EQ(rnic_cm_id_state(early), RNIC_CM_REQ_RCVD);
    stop(&w);
}

SUITE("cm.engine", TEST(connect_and_disconnect), TEST(xrc_initiator_disconnects_target),
      TEST(deleted_xrc_target_sends_no_dreq), TEST(each_lost_message_is_retransmitted),
      TEST(loss_and_duplicates_are_survived), TEST(rejection_reaches_the_requester),
      TEST(req_without_listener_is_rejected), TEST(early_req_waits_for_listener),
      TEST(nobody_listens_in_time), TEST(mra_extends_the_wait),
      TEST(reused_qpn_is_rejected_as_stale), TEST(dreq_with_wrong_qpn_is_ignored),
      TEST(lap_is_answered_unsupported), TEST(takes_more_than_offered),
      TEST(crossing_dreqs_end_both_sides), TEST(sidr_resolves_ud_service),
      TEST(deleted_id_informs_the_peer), TEST(gid_listener_precedes_wildcard),
      TEST(family_listener_takes_its_family),
      TEST(a_flood_of_reqs_does_not_keep_others_from_connecting),
      TEST(a_flood_of_one_peer_spares_others))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* One exchange of two CM engines: connection, loss, rejection, disconnect and SIDR. */
#include <string.h>
#include "cm/conn.h"
#include "cm_pair.h"
#include "support/suite.h"

/* The QP attributes of each side must follow from the values that its peer sent (R238, R239,
 * R240). */
static void connect_and_disconnect(void)
{
    struct cm_pair w;
    struct rnic_cm_qp a, b;

    cm_pair_start(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    cm_pair_expect_connected(&w);
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
    cm_pair_pass(&w, LONG_TIME);
    for (unsigned e = 0; e < ENDS; e++) {
        EXPECT_EQ(w.end[e].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.end[e].seen[RNIC_CM_TIMEWAIT_EXIT], 1);
        EXPECT_EQ(rnic_cm_id_state(w.end[e].id), RNIC_CM_IDLE);
    }
    cm_pair_stop(&w);
}

/* Connects an XRC initiator at A to an XRC target at B. Both ends must then have the right QPNs
 * (R245). */
static void connect_xrc(struct cm_pair *w)
{
    cm_pair_start(w);
    w->end[B].xrc = true;
    struct roce_cm_req req = cm_pair_request(0x111);

    req.transport = ROCE_CM_TRANSPORT_EXTENDED;
    req.ext_transport = ROCE_CM_EXT_TRANSPORT_XRC;
    w->end[A].id = rnic_cm_id_new(w->end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_connect(w->end[A].id, &req, &cm_pair_addr[A], w->now), RNIC_OK);
    cm_pair_carry(w);
    cm_pair_expect_connected(w);
    EXPECT_EQ(rnic_cm_id_qpn(w->end[A].id), 0x111);
    EXPECT_EQ(rnic_cm_id_qpn(w->end[B].id), 0x222);
}

/* A REP contains the XRC target QP in the field of the EE context. A DREQ must also contain the QPN
 * of the target, and either side must be able to disconnect. */
static void xrc_initiator_disconnects_target(void)
{
    for (unsigned e = 0; e < ENDS; e++) {
        struct cm_pair w;
        struct rnic_cm_qp a;

        connect_xrc(&w);
        rnic_cm_qp_of(w.end[A].id, 12, &a);
        EXPECT_EQ(a.dest_qpn, 0x222);
        EXPECT_EQ(rnic_cm_disconnect(w.end[e].id, NULL, 0, w.now), RNIC_OK);
        cm_pair_pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.sent[e][ROCE_CM_DREQ], 1); /* the peer accepted the first DREQ, so no second one
                                                * is sent */
        EXPECT_EQ(w.sent[1 - e][ROCE_CM_DREP], 1);
        cm_pair_stop(&w);
    }
}

/* An XRC target QP may outlive its creator. So deleting the id of the target must not end the
 * connection (Linux core/cm.c, cm_destroy_id()). Deleting the id of the initiator must end the
 * connection. */
static void deleted_xrc_target_sends_no_dreq(void)
{
    struct cm_pair w;

    connect_xrc(&w);
    rnic_cm_id_del(w.end[B].id, w.now);
    cm_pair_pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 0);
    EXPECT_EQ(rnic_cm_id_state(w.end[A].id), RNIC_CM_CONNECTED);
    /* a DREQ for the deleted id must be answered by a DREP (R233) */
    EXPECT_EQ(rnic_cm_disconnect(w.end[A].id, NULL, 0, w.now), RNIC_OK);
    cm_pair_pass(&w, UINT64_C(1000000000));
    EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
    EXPECT_EQ(w.sent[A][ROCE_CM_DREQ], 1);
    cm_pair_stop(&w);
    connect_xrc(&w);
    rnic_cm_id_del(w.end[A].id, w.now);
    cm_pair_pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    EXPECT_EQ(w.sent[A][ROCE_CM_DREQ], 1);
    cm_pair_stop(&w);
}

/* One message of each kind is lost. The engines must retransmit the message, set up the connection
 * and end it (R230, R237). */
static void each_lost_message_is_retransmitted(void)
{
    static const enum roce_cm kinds[] = {ROCE_CM_REQ, ROCE_CM_REP, ROCE_CM_RTU, ROCE_CM_DREQ,
                                         ROCE_CM_DREP};

    for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct cm_pair w;

        cm_pair_start(&w);
        w.lose[kinds[k]] = 1;
        cm_pair_ask(&w, 0x111);
        cm_pair_pass(&w, LONG_TIME);
        cm_pair_expect_connected(&w);
        EXPECT_EQ(rnic_cm_disconnect(w.end[B].id, NULL, 0, w.now), RNIC_OK);
        cm_pair_pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
        EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
        CU_ASSERT(w.sent[A][kinds[k]] + w.sent[B][kinds[k]] > 1);
        cm_pair_stop(&w);
    }
}

/* Random messages are lost. Each side must still report the end of its connection once, and no
 * timer and no id may remain in the engines. */
static void loss_and_duplicates_are_survived(void)
{
    for (unsigned run = 0; run < 300; run++) {
        struct cm_pair w;

        cm_pair_start(&w);
        w.rng = rng_of(suite_env("ROCEDRILL_SEED", 1) * 1000 + run + 1);
        w.loss = 30;
        cm_pair_ask(&w, 0x111);
        cm_pair_pass(&w, LONG_TIME);
        cm_pair_expect_connected(&w); /* the REQ is sent up to 16 times, so it is very improbable
                                       * that all are lost */
        rnic_cm_disconnect(w.end[run % 2].id, NULL, 0, w.now);
        cm_pair_pass(&w, LONG_TIME);
        for (unsigned e = 0; e < ENDS; e++) {
            EXPECT_EQ(w.end[e].seen[RNIC_CM_DISCONNECTED], 1);
            EXPECT_EQ(rnic_cm_id_state(w.end[e].id), RNIC_CM_IDLE);
            EXPECT_EQ(rnic_cm_disconnecting(w.end[e].cm), 0);
            EXPECT_EQ(rnic_cm_deadline(w.end[e].cm), RNIC_NEVER);
        }
        cm_pair_stop(&w);
    }
}

/* A REJ must pass reason and private data to the requester. If the REJ is lost, the passive side
 * must answer the retransmitted REQ with the same REJ (R235). */
static void rejection_reaches_the_requester(void)
{
    struct cm_pair w;

    cm_pair_start(&w);
    w.end[B].accepts = false;
    w.end[B].rejects = true;
    w.lose[ROCE_CM_REJ] = 1;
    cm_pair_ask(&w, 0x111);
    cm_pair_pass(&w, UINT64_C(2000000000));
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 1);
    EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_CONSUMER);
    EXPECT_EQ(w.end[A].last.msg.rej.message, 0);
    CU_ASSERT_EQUAL(memcmp(w.end[A].last.msg.rej.private_data, "no", 3), 0);
    cm_pair_stop(&w);
}

/* The REQ names a P_Key that the port does not have, so the port would drop all packets of the
 * connection. The REQ must be rejected. */
static void req_with_another_pkey_is_rejected(void)
{
    static const uint16_t keys[] = {0xFFFF, 0x7FFF, 0x7FFE, 0};
    struct roce_cm_req req = cm_pair_request(0x111);
    struct cm_pair w;

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        cm_pair_start(&w);
        req.pkey = keys[i];
        w.end[A].id = rnic_cm_id_new(w.end[A].cm, NULL);
        EXPECT_EQ(rnic_cm_connect(w.end[A].id, &req, &cm_pair_addr[A], w.now), RNIC_OK);
        cm_pair_carry(&w);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], i < 2 ? 0 : 1);
        if (i >= 2)
            EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_INVALID_GID);
        cm_pair_stop(&w);
    }
}

/* The program is slow to accept. When the peer retransmits the REQ, the CM of the slow program must
 * send an MRA, and the peer must then wait longer (R236). */
static void mra_extends_the_wait(void)
{
    struct cm_pair w;
    const struct roce_cm_rep rep = cm_pair_reply();

    cm_pair_start(&w);
    w.end[B].accepts = false;
    cm_pair_ask(&w, 0x111);
    cm_pair_pass(&w, UINT64_C(30000000000));
    EXPECT_EQ(w.sent[B][ROCE_CM_MRA], 1);
    EXPECT_EQ(w.sent[A][ROCE_CM_REQ], 2);
    EXPECT_EQ(rnic_cm_id_state(w.end[A].id), RNIC_CM_MRA_REQ_RCVD);
    EXPECT_EQ(rnic_cm_accept(w.end[B].id, &rep, w.now), RNIC_OK);
    cm_pair_carry(&w);
    cm_pair_expect_connected(&w);
    EXPECT_EQ(rnic_cm_comm_est(w.end[B].id, w.now), RNIC_ERR_EXISTS); /* it is established */
    cm_pair_stop(&w);
}

/* The peer forgot a connection, as after a restart, and sends a REQ with the same QPN. The REQ must
 * be rejected as stale, and the old connection must end (R231). */
static void reused_qpn_is_rejected_as_stale(void)
{
    struct cm_pair w;
    struct rnic_cm_id *old;

    cm_pair_start(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    old = w.end[B].id;
    w.end[A].silent = true;
    rnic_cm_del(w.end[A].cm); /* A forgets all its connections, as after a restart of the machine */
    w.end[A].cm = rnic_cm_new(
        &(struct rnic_cm_attr){.ca_guid = 100, .id_prefix = 7, .id_prefix_bits = 12, .seed = {99}});
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 1);
    EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_STALE);
    EXPECT_EQ(rnic_cm_id_state(old), RNIC_CM_TIMEWAIT); /* B sent a DREQ for the old connection, and
                                                         * A answered it (R233) */
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    cm_pair_stop(&w);
}

/* A DREQ with a wrong QPN must not change the connection (R233). */
static void dreq_with_wrong_qpn_is_ignored(void)
{
    struct cm_pair w;
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;

    cm_pair_start(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    roce_cm_msg_init(&msg, ROCE_CM_DREQ, 1);
    msg.dreq.local_comm_id = rnic_cm_id_local(w.end[A].id);
    msg.dreq.remote_comm_id = rnic_cm_id_local(w.end[B].id);
    msg.dreq.remote_qpn = 0x333;
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(w.end[B].cm, mad, sizeof(mad), &cm_pair_addr[B], w.now));
    EXPECT_EQ(rnic_cm_id_state(w.end[B].id), RNIC_CM_CONNECTED);
    CU_ASSERT_FALSE(rnic_cm_output(w.end[B].cm, mad, &addr));
    cm_pair_stop(&w);
}

/* The passive program may only lower the responder resources and the initiator depth of the REQ,
 * but Linux lets it raise them. The active side must limit the values in the REP to the maxima of
 * its device (R238). */
static void takes_more_than_offered(void)
{
    struct cm_pair w;
    struct roce_cm_msg msg;
    struct rnic_cm_qp qp;
    uint8_t mad[ROCE_MAD_SIZE];

    cm_pair_start(&w);
    w.end[B].accepts = false;
    cm_pair_ask(&w, 0x111); /* the REQ contains responder resources 3 and initiator depth 5 */
    cm_pair_carry(&w);
    roce_cm_msg_init(&msg, ROCE_CM_REP, 1);
    msg.rep = cm_pair_reply();
    msg.rep.local_comm_id = rnic_cm_id_local(w.end[B].id);
    msg.rep.remote_comm_id = rnic_cm_id_local(w.end[A].id);
    msg.rep.responder_resources = 200;
    msg.rep.initiator_depth = 100;
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(w.end[A].cm, mad, sizeof(mad), &cm_pair_addr[A], w.now));
    EXPECT_EQ(rnic_cm_id_state(w.end[A].id), RNIC_CM_REP_RCVD);
    rnic_cm_qp_of(w.end[A].id, 12, &qp);
    EXPECT_EQ(qp.max_rd_atomic, RNIC_RD_ATOMIC_MAX);
    EXPECT_EQ(qp.max_dest_rd_atomic, RNIC_RD_ATOMIC_MAX);
    cm_pair_stop(&w);
}

/* A LAP, which requests an alternate path, must be answered by an APR "not supported". The
 * connection must not change (R197). */
static void lap_is_answered_unsupported(void)
{
    struct cm_pair w;
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;
    enum { UNSUPPORTED = 2 }; /* the status "alternate paths not supported" in an APR */

    cm_pair_start(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    roce_cm_msg_init(&msg, ROCE_CM_LAP, 77);
    msg.lap.local_comm_id = rnic_cm_id_local(w.end[A].id);
    msg.lap.remote_comm_id = rnic_cm_id_local(w.end[B].id);
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(w.end[B].cm, mad, sizeof(mad), &cm_pair_addr[B], w.now));
    CU_ASSERT_FATAL(rnic_cm_output(w.end[B].cm, mad, &addr));
    EXPECT_EQ(roce_cm_msg_parse(&msg, mad, sizeof(mad), sizeof(mad)), 0);
    EXPECT_EQ(msg.kind, ROCE_CM_APR);
    EXPECT_EQ(msg.mad.tid, 77);
    EXPECT_EQ(msg.apr.local_comm_id, rnic_cm_id_local(w.end[B].id));
    EXPECT_EQ(msg.apr.remote_comm_id, rnic_cm_id_local(w.end[A].id));
    EXPECT_EQ(msg.apr.status, UNSUPPORTED);
    cm_pair_expect_connected(&w);
    cm_pair_stop(&w);
}

static void crossing_dreqs_end_both_sides(void)
{
    struct cm_pair w;

    cm_pair_start(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    rnic_cm_disconnect(w.end[A].id, NULL, 0, w.now);
    rnic_cm_disconnect(w.end[B].id, NULL, 0, w.now);
    cm_pair_pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_DISCONNECTED], 1);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    cm_pair_stop(&w);
}

/* A UD service is resolved by SIDR messages. The first SIDR_REP is lost, and must be sent again
 * (R244). */
static void sidr_resolves_ud_service(void)
{
    struct cm_pair w;
    const struct roce_cm_sidr_req req = {.service_id = SERVICE, .private_data = {[1] = 0x40}};

    cm_pair_start(&w);
    w.lose[ROCE_CM_SIDR_REP] = 1;
    w.end[A].id = rnic_cm_id_new(w.end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_sidr_request(w.end[A].id, &req, 18, 15, &cm_pair_addr[A], w.now), RNIC_OK);
    cm_pair_pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_SIDR_RESPONSE], 1);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_SIDR_REQUEST], 1);
    EXPECT_EQ(w.end[A].last.msg.sidr_rep.qpn, 0x77);
    EXPECT_EQ(w.end[A].last.msg.sidr_rep.qkey, 0x88);
    cm_pair_stop(&w);
}

/* A program deletes an id: one with a received REQ, one with a sent REQ, or a connected one. The
 * engine must inform the peer with a REJ or DREQ. */
static void deleted_id_informs_the_peer(void)
{
    struct cm_pair w;

    cm_pair_start(&w);
    w.end[B].accepts = false;
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    rnic_cm_id_del(w.end[B].id, w.now);
    cm_pair_carry(&w);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 1);
    cm_pair_stop(&w);

    cm_pair_start(&w);
    w.end[B].accepts = false;
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    rnic_cm_id_del(w.end[A].id, w.now);
    cm_pair_carry(&w);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_REJECTED], 1);
    EXPECT_EQ(w.end[B].last.msg.rej.reason, ROCE_CM_REJ_TIMEOUT);
    cm_pair_stop(&w);

    cm_pair_start(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    w.lose[ROCE_CM_DREQ] = 3;
    rnic_cm_id_del(w.end[A].id, w.now);
    cm_pair_pass(&w, LONG_TIME);
    EXPECT_EQ(w.end[B].seen[RNIC_CM_DISCONNECTED], 1);
    cm_pair_stop(&w);
}

SUITE("cm.engine", TEST(connect_and_disconnect), TEST(xrc_initiator_disconnects_target),
      TEST(deleted_xrc_target_sends_no_dreq), TEST(each_lost_message_is_retransmitted),
      TEST(loss_and_duplicates_are_survived), TEST(rejection_reaches_the_requester),
      TEST(req_with_another_pkey_is_rejected), TEST(mra_extends_the_wait),
      TEST(reused_qpn_is_rejected_as_stale), TEST(dreq_with_wrong_qpn_is_ignored),
      TEST(lap_is_answered_unsupported), TEST(takes_more_than_offered),
      TEST(crossing_dreqs_end_both_sides), TEST(sidr_resolves_ud_service),
      TEST(deleted_id_informs_the_peer))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Listeners of a CM engine: which listener gets a request, and what happens without one. */
#include "cm/conn.h"
#include "cm_pair.h"
#include "support/suite.h"
#include "wire/gid.h"

/* A REQ for a service without a listener must be rejected (R232). If another engine of the port may
 * have a listener, the engine must send no REJ; the peer then gives up (R237). */
static void req_without_listener_is_rejected(void)
{
    for (unsigned silent = 0; silent < 2; silent++) {
        struct cm_pair w;

        cm_pair_start(&w);
        w.end[B].speaks = !silent;
        rnic_cm_id_del(w.end[B].listen, w.now);
        cm_pair_ask(&w, 0x111);
        cm_pair_pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[A].seen[silent ? RNIC_CM_UNREACHABLE : RNIC_CM_REJECTED], 1);
        EXPECT_EQ(w.sent[A][ROCE_CM_REQ], silent ? 16 : 1);
        if (!silent)
            EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_INVALID_SERVICE_ID);
        cm_pair_stop(&w);
    }
}

/* A REQ must be rejected with the right reason (12.6.7) in three cases: its QPN cannot belong to a
 * connection (0, 1, 0xFFFFFF); its GIDs differ from the GIDs of its packet; its RDMA-IP header has
 * another IP version. */
static void req_for_other_qpns_or_gids_is_rejected(void)
{
    const struct {
        uint32_t qpn;
        uint8_t gid, own_gid, version; /* difference to the right value */
        enum roce_cm_rej_reason reason;
    } cases[] = {
        {0, 0, 0, 0, ROCE_CM_REJ_UNSUPPORTED},        {1, 0, 0, 0, ROCE_CM_REJ_UNSUPPORTED},
        {0xFFFFFF, 0, 0, 0, ROCE_CM_REJ_UNSUPPORTED}, {2, 1, 0, 0, ROCE_CM_REJ_INVALID_GID},
        {2, 0, 1, 0, ROCE_CM_REJ_UNSUPPORTED},        {2, 0, 0, 0x20, ROCE_CM_REJ_CONSUMER},
        {2, 0, 0, 0, (enum roce_cm_rej_reason)0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct roce_cm_req req = cm_pair_request(cases[i].qpn);
        struct cm_pair w;

        cm_pair_start(&w);
        req.primary_local_gid[15] ^= cases[i].own_gid;
        req.primary_remote_gid[15] ^= cases[i].gid;
        req.private_data[1] ^= cases[i].version;
        w.end[A].id = rnic_cm_id_new(w.end[A].cm, NULL);
        EXPECT_EQ(rnic_cm_connect(w.end[A].id, &req, &cm_pair_addr[A], w.now), RNIC_OK);
        cm_pair_pass(&w, LONG_TIME);
        EXPECT_EQ(w.end[B].seen[RNIC_CM_REQUEST], !cases[i].reason);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], cases[i].reason != 0);
        if (cases[i].reason)
            EXPECT_EQ(w.end[A].last.msg.rej.reason, cases[i].reason);
        cm_pair_stop(&w);
    }
}

/* A request for a service arrives shortly before the program listens. The program must get this
 * request, once. The client of perftest -R connects before its server listens, and ends if it
 * receives a REJ. */
static void early_req_waits_for_listener(void)
{
    enum { PATIENCE = 250000000 };
    struct cm_pair w;
    const struct roce_cm_sidr_req sidr = {.service_id = SERVICE, .private_data = {[1] = 0x40}};

    cm_pair_start_with(&w, PATIENCE);
    cm_pair_stop_listening(&w);
    cm_pair_ask(&w, 0x111);
    cm_pair_pass(&w, PATIENCE / 2);
    EXPECT_EQ(w.sent[B][ROCE_CM_REJ], 0);
    cm_pair_listen_again(&w);
    EXPECT_EQ(rnic_cm_deadline(w.end[B].cm), 0);
    cm_pair_pass(&w, PATIENCE);
    cm_pair_expect_connected(&w);
    EXPECT_EQ(w.sent[A][ROCE_CM_REQ], 1);
    cm_pair_stop(&w);

    cm_pair_start_with(&w, PATIENCE); /* a SIDR_REQ must wait for a listener, too */
    cm_pair_stop_listening(&w);
    w.end[A].id = rnic_cm_id_new(w.end[A].cm, NULL);
    EXPECT_EQ(rnic_cm_sidr_request(w.end[A].id, &sidr, 18, 15, &cm_pair_addr[A], w.now), RNIC_OK);
    cm_pair_pass(&w, PATIENCE / 2);
    cm_pair_listen_again(&w);
    cm_pair_pass(&w, PATIENCE);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_SIDR_RESPONSE], 1);
    EXPECT_EQ(w.end[A].last.msg.sidr_rep.qpn, 0x77);
    cm_pair_stop(&w);
}

/* No program listens. The engine must delay the REQ for at most the time in the timeout field of
 * the REQ, and then reject it (R232). If another CM of the same port may have a listener (`there`),
 * no REJ must be sent. */
static void nobody_listens_in_time(void)
{
    struct cm_pair w;

    for (unsigned there = 0; there < 2; there++) {
        cm_pair_start_with(&w, UINT64_C(60000000000));
        cm_pair_stop_listening(&w);
        w.end[B].elsewhere = there;
        w.end[B].speaks = !there;
        cm_pair_ask(&w, 0x111);
        cm_pair_pass(&w, UINT64_C(600000000)); /* the timeout in the REQ is 1.07 s */
        EXPECT_EQ(w.sent[A][ROCE_CM_REQ], 1);
        EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], !there);
        if (!there)
            EXPECT_EQ(w.end[A].last.msg.rej.reason, ROCE_CM_REJ_INVALID_SERVICE_ID);
        EXPECT_EQ(rnic_cm_deadline(w.end[B].cm), RNIC_NEVER);
        cm_pair_stop(&w);
    }
    cm_pair_start_with(&w, 250000000); /* the engine delays at most 64 REQs; it must reject further
                                        * REQs at once */
    cm_pair_stop_listening(&w);
    for (uint32_t i = 0; i < 100; i++) {
        cm_pair_ask(&w, 0x1000 + i);
        cm_pair_carry(&w);
    }
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 36);
    cm_pair_pass(&w, 300000000);
    EXPECT_EQ(w.end[A].seen[RNIC_CM_REJECTED], 100);
    cm_pair_stop(&w);
}

static void gid_listener_precedes_wildcard(void)
{
    struct cm_pair w;
    struct rnic_cm_id *again;

    cm_pair_start(&w);
    again = rnic_cm_id_new(w.end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen(again, SERVICE, NULL), RNIC_ERR_EXISTS);
    EXPECT_EQ(rnic_cm_listen(again, SERVICE, cm_pair_addr[B].local), RNIC_OK);
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    EXPECT_EQ(rnic_cm_id_state(w.end[B].id), RNIC_CM_CONNECTED);
    cm_pair_stop(&w);
}

/* A listener for IPv4 must not get requests to IPv6 addresses, and the reverse. Two ids must be
 * able to listen, one for IPv4 and one for IPv6. */
static void family_listener_takes_its_family(void)
{
    struct cm_pair w;
    struct rnic_cm_id *ip4;
    struct rnic_cm_id *ip6;
    bool asks_ip4 = roce_gid_is_ip4(cm_pair_addr[B].local);

    cm_pair_start(&w);
    cm_pair_stop_listening(&w);
    ip4 = rnic_cm_id_new(w.end[B].cm, NULL);
    ip6 = rnic_cm_id_new(w.end[B].cm, NULL);
    EXPECT_EQ(rnic_cm_listen_family(asks_ip4 ? ip6 : ip4, SERVICE, !asks_ip4), RNIC_OK);
    EXPECT_EQ(cm_find_listener(w.end[B].cm, SERVICE, cm_pair_addr[B].local) == NULL, true);
    EXPECT_EQ(rnic_cm_listen_family(asks_ip4 ? ip4 : ip6, SERVICE, !asks_ip4), RNIC_ERR_EXISTS);
    EXPECT_EQ(rnic_cm_listen(asks_ip4 ? ip4 : ip6, SERVICE, NULL), RNIC_ERR_EXISTS);
    EXPECT_EQ(rnic_cm_listen_family(asks_ip4 ? ip4 : ip6, SERVICE, asks_ip4), RNIC_OK);
    EXPECT_EQ(cm_find_listener(w.end[B].cm, SERVICE, cm_pair_addr[B].local) ==
                  (asks_ip4 ? ip4 : ip6),
              true);
    cm_pair_stop(&w);
}

SUITE("cm.listen", TEST(req_without_listener_is_rejected),
      TEST(req_for_other_qpns_or_gids_is_rejected), TEST(early_req_waits_for_listener),
      TEST(nobody_listens_in_time), TEST(gid_listener_precedes_wildcard),
      TEST(family_listener_takes_its_family))

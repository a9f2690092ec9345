/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Floods of requests, from one peer or from many addresses, must not keep other peers from
 * connecting. */
#include <string.h>
#include "cm_pair.h"
#include "support/suite.h"

/* number of requests in a flood: more than an engine can have ids */
#define FLOOD (RNIC_CM_IDS_MAX + 5000u)

static void flood_req(struct cm_pair *w, uint32_t number, const struct rnic_cm_addr *addr)
{
    uint8_t mad[ROCE_MAD_SIZE];
    struct roce_cm_msg msg;

    roce_cm_msg_init(&msg, ROCE_CM_REQ, number);
    msg.req = cm_pair_request(2 + number % 0xFFFFF0);
    msg.req.local_comm_id = number;
    msg.req.local_ca_guid = 666;
    msg.req.primary_ack_timeout = 31; /* a TIMEWAIT of 2.4 hours */
    msg.req.local_cm_timeout = 31;
    memcpy(msg.req.primary_local_gid, addr->remote, 16);
    memcpy(msg.req.primary_remote_gid, addr->local, 16);
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    rnic_cm_input(w->end[B].cm, mad, sizeof(mad), addr, w->now);
}

/* Fetches the events of B, and discards the messages that B wants to send. */
static void take_output(struct cm_pair *w)
{
    struct rnic_cm_addr addr;
    uint8_t mad[ROCE_MAD_SIZE];

    cm_pair_take_events(w, B);
    while (rnic_cm_output(w->end[B].cm, mad, &addr))
        w->now++;
}

/* Sends many REQs to engine B and never completes the connections. All REQs are from one address
 * or, if `spoofed`, each REQ is from a new address. */
static void flood_reqs(struct cm_pair *w, bool spoofed)
{
    struct rnic_cm_addr addr = cm_pair_addr[B];

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

static void expect_connects_after_flood(struct cm_pair *w)
{
    unsigned before = w->end[B].seen[RNIC_CM_REQUEST];

    w->end[B].accepts = true;
    w->end[B].rejects = false;
    cm_pair_ask(w, 0x111);
    cm_pair_carry(w);
    EXPECT_EQ(rnic_cm_id_state(w->end[A].id), RNIC_CM_CONNECTED);
    EXPECT_EQ(w->end[B].seen[RNIC_CM_REQUEST], before + 1);
    cm_pair_stop(w);
}

static void a_flood_of_reqs_does_not_keep_others_from_connecting(void)
{
    struct cm_pair w;

    for (unsigned spoofed = 0; spoofed < 2; spoofed++) {
        cm_pair_start(&w); /* the program does not answer */
        w.end[B].accepts = false;
        flood_reqs(&w, spoofed);
        CU_ASSERT(w.end[B].seen[RNIC_CM_UNREACHABLE] >= FLOOD - 8192);
        expect_connects_after_flood(&w);

        cm_pair_start(&w); /* the program rejects every request */
        w.end[B].accepts = false;
        w.end[B].rejects = true;
        flood_reqs(&w, spoofed);
        expect_connects_after_flood(&w);

        cm_pair_start(&w); /* the program accepts every request, and no RTU arrives */
        flood_reqs(&w, spoofed);
        expect_connects_after_flood(&w);
    }
}

/* One peer floods B with REQs. The connection setup of another peer, which is not complete yet,
 * must not be ended. */
static void a_flood_of_one_peer_spares_others(void)
{
    struct cm_pair w;

    cm_pair_start(&w);
    w.end[B].accepts = false;
    cm_pair_ask(&w, 0x111);
    cm_pair_carry(&w);
    w.end[A].id = NULL;
    struct rnic_cm_id *early = w.end[B].id;
    flood_reqs(&w, false);
    EXPECT_EQ(rnic_cm_id_state(early), RNIC_CM_REQ_RCVD);
    cm_pair_stop(&w);
}

SUITE("cm.flood", TEST(a_flood_of_reqs_does_not_keep_others_from_connecting),
      TEST(a_flood_of_one_peer_spares_others))

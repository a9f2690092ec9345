/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that `rocedrill check` names what earlier packets show: about a refused R_Key, about
 * missing credits, and about a requester with one message in flight. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

static struct checkrun check_flow(struct flowgen *g)
{
    checkrun_write_flow("hints.pcap", g);
    return checkrun("check --json $T/hints.json $T/hints.pcap");
}

static void put_write(struct flowgen *g, uint32_t rkey, uint64_t va, uint8_t syndrome)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

    p.reth.rkey = rkey;
    p.reth.va = va;
    flowgen_put(g, 0, &p);
    g->conn.msn[0] -= syndrome != ROCE_CREDIT_NONE;
    flowgen_ack(g, 1, p.bth.psn, syndrome);
}

static void refused_key_is_explained_by_its_earlier_use(void)
{
    static const struct {
        uint64_t va; /* address of the refused WRITE; the earlier WRITE has 0x1000 */
        bool used, invalidated, again;
        const char *words;
    } rows[] = {
        {0x1000, false, false, false, "check R_Key, address range and access rights"},
        {0x1000, true, false, false,
         "the R_Key worked for this operation and these addresses in frame 1: "},
        {0x2000, true, false, false,
         "the R_Key worked in frame 1, but not for this operation and all these "},
        {0x1000, true, true, false,
         "the R_Key worked in frame 1, and was invalidated by the SEND with Invalidate in frame "
         "3: "},
        {0x1000, true, false, true, "it refused the request 1 more time, last in frame 6: "},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct checkrun r;

        flowgen_init(&g);
        put_write(&g, rows[i].used ? 7 : 8, 0x1000, ROCE_CREDIT_NONE);
        if (rows[i].invalidated) {
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY_INV, 8);

            p.ieth.rkey = 7;
            flowgen_put(&g, 0, &p);
            flowgen_ack_all(&g, 1);
        }
        put_write(&g, 7, rows[i].va, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
        if (rows[i].again) {
            g.conn.psn[0]--;
            flowgen_wait(&g, 60000000);
            put_write(&g, 7, rows[i].va, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
        }
        r = check_flow(&g);
        if (!strstr(r.out, rows[i].words))
            suite_fail(__FILE__, __LINE__, "row %zu: no \"%s\" in: %s", i, rows[i].words, r.out);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "REM_ACCESS_ERR (10), then IBV_WC_WR_FLUSH_ERR (5)"));
        checkrun_free(&r);
    }
}

/* The ACK of the first SEND grants no credit. 30 ms later, an ACK grants one, and the requester
 * sends at once, or after 20 ms. */
static void wait_for_a_credit_is_reported(void)
{
    for (unsigned late = 0; late < 2; late++) {
        struct flowgen g;
        struct checkrun r;
        struct roce_pkt p;

        flowgen_init(&g);
        for (unsigned i = 0; i < 2; i++) {
            p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_put(&g, 0, &p);
            flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_ACK | (i == 0));
        }
        flowgen_wait(&g, 30000000);
        flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_ACK | 2);
        if (late)
            flowgen_wait(&g, 20000000);
        flowgen_send(&g, 0, 64);
        r = check_flow(&g);
        CU_ASSERT_EQUAL(strstr(r.out, "1× the ACKs granted no credit (no receive buffer): the "
                                      "requester waited 30") != NULL,
                        !late);
        CU_ASSERT_EQUAL(strstr(r.out, "ms for credits of the receiver\n") != NULL, !late);
        checkrun_free(&r);
    }
}

static void requester_with_one_message_in_flight_is_described(void)
{
    for (unsigned depth = 1; depth <= 2; depth++) {
        struct flowgen g;
        struct checkrun r;
        char *json;

        flowgen_init(&g);
        for (unsigned i = 0; i < 200; i++) {
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

            flowgen_put(&g, 0, &p);
            if (i % depth == depth - 1) {
                flowgen_wait(&g, 20000);
                flowgen_ack_all(&g, 1);
            }
        }
        r = check_flow(&g);
        json = checkrun_read(checkrun_path("hints.json"));
        CU_ASSERT_EQUAL(strstr(r.out, "192.0.2.1 sent one message at a time and waited for "
                                      "responses ") != NULL,
                        depth == 1);
        CU_ASSERT_EQUAL(strstr(json, "; 192.0.2.1 sent one message at a time") != NULL, depth == 1);
        free(json);
        checkrun_free(&r);
    }
}

/* The peer acknowledges packets of 2048 bytes, and then sends no more responses. The hints must not
 * name a cause that these ACKs refute, such as a too small MTU of the path. The list of the last
 * packets must state the shortest and the longest wait before a retransmission. */
static void hints_agree_with_earlier_acks(void)
{
    static const uint64_t waits_ns[] = {60000000, 70000000, 65000000};
    struct flowgen g;
    struct roce_pkt p;
    struct checkrun r;

    flowgen_init(&g);
    g.mtu = 2048;
    for (unsigned i = 0; i < 2; i++) {
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 2048);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 2048);
    flowgen_put(&g, 0, &p);
    for (unsigned i = 0; i < 3; i++) {
        flowgen_wait(&g, waits_ns[i] - g.step);
        flowgen_put(&g, 0, &p);
    }
    checkrun_write_flow("large.pcap", &g);
    r = checkrun("check $T/large.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "the QP is in error or destroyed"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "exceed the MTU"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "retransmission (timeout, after 60.000 to 70.000 ms)"));
    checkrun_free(&r);
}

SUITE("replay.check_hints", TEST(hints_agree_with_earlier_acks),
      TEST(refused_key_is_explained_by_its_earlier_use), TEST(wait_for_a_credit_is_reported),
      TEST(requester_with_one_message_in_flight_is_described))

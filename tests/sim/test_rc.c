/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * RC and XRC, with and without SRQ and credits, between two devices over a faulty network:
 * R057-R060, R062, R105-R107, R134-R135, R179, R181, R091-R123, R125, R127-R161, R189, R191, R198,
 * R247-R249, R251 of rnic/rules.md.
 *
 * The seeds are fixed, so that every run is equal. ROCEDRILL_SEED=<n> runs only that seed,
 * ROCEDRILL_RUNS=<n> runs n seeds (a soak). A failure prints the command that repeats it.
 */
#include <stdlib.h>
#include "support/suite.h"
#include "traffic.h"
#include "wire/codes.h"
#include "wire/crc32.h"

#define SECOND UINT64_C(1000000000)

static struct qp_pair pair; /* used by the functions of this file that do not use traffic.h */

/* ---- random traffic -------------------------------------------------------------------------- */

static void one_random_run(uint64_t seed)
{
    static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    struct rng rng = rng_of(seed);
    struct traffic_limits limits = {
        .qp_cnt = 1 + rng_below(&rng, QP_PAIR_QPS),
        .wr_cnt = 4 + rng_below(&rng, 37),
        .max_len = 1 + rng_below(&rng, 8192),
        .path_mtu = mtus[rng_below(&rng, 5)],
        .encap = encaps[rng_below(&rng, 3)],
        .slow_receiver = rng_below(&rng, 3) == 0,
        .opts = {.type = rng_below(&rng, 3) ? RNIC_QPT_RC : RNIC_QPT_XRC_SEND,
                 .srq = rng_below(&rng, 4) == 0,
                 .no_credits = rng_below(&rng, 3) == 0},
    };
    struct simnet_path path = {.delay_ns = rng_below(&rng, 5000)};

    /* Faults are so rare that no packet is lost eight times in a row. */
    if (rng_below(&rng, 4))
        path.loss_ppm = rng_below(&rng, 30000);
    if (rng_below(&rng, 2))
        path.dup_ppm = rng_below(&rng, 50000);
    if (rng_below(&rng, 2))
        path.corrupt_ppm = rng_below(&rng, 20000);
    if (rng_below(&rng, 2))
        path.mark_ppm = rng_below(&rng, 50000);
    if (rng_below(&rng, 3) == 0) {
        path.reorder_ppm = rng_below(&rng, 30000);
        path.reorder_ns = rng_below(&rng, 20000);
    }
    if (rng_below(&rng, 2))
        path.jitter_ns = rng_below(&rng, 3000);
    if (rng_below(&rng, 3) == 0)
        path.bps = UINT64_C(1000000000) * (1 + rng_below(&rng, 100));
    limits.drains = rng_below(&rng, 3) == 0;
    traffic_begin(seed, &limits, &path);
    traffic_run();
    traffic_check();
    traffic_end();
}

static void random_traffic_arrives_over_a_faulty_network(void)
{
    uint64_t only = suite_env("ROCEDRILL_SEED", 0);
    uint64_t runs = suite_env("ROCEDRILL_RUNS", SUITE_TURNS(400));

    for (uint64_t seed = only ? only : 1; seed <= (only ? only : runs); seed++) {
        unsigned before = CU_get_number_of_failures();

        one_random_run(seed);
        if (CU_get_number_of_failures() != before) {
            printf("\n    repeat with: ROCEDRILL_SEED=%llu test_sim_rc random_traffic\n",
                   (unsigned long long)seed);
            return;
        }
    }
}

/* ---- a fault at each packet ------------------------------------------------------------------ */

/* The network applies one fault to the n-th packet of each class from either side: it loses,
 * corrupts or delays the packet, or duplicates it early or late. All requests must complete as
 * without the fault; only counters may differ (R249). */
static void fault_of_any_packet_class_has_no_effect(void)
{
    static const struct {
        enum simnet_action action;
        uint64_t delay_ns;
    } strikes[] = {
        {SIMNET_DROP, 0},
        {SIMNET_REPEAT, 0},
        {SIMNET_REPEAT, 40000},
        {SIMNET_REPEAT, 2 * QP_PAIR_T},
        {SIMNET_HOLD, 30000},
        {SIMNET_HOLD, 2 * QP_PAIR_T},
        {SIMNET_CORRUPT_PAYLOAD, 0},
        {SIMNET_CORRUPT_HEADER, 0},
        {SIMNET_CORRUPT_ICRC, 0},
    };
    const struct traffic_limits limits = {.qp_cnt = 1,
                                          .wr_cnt = 14,
                                          .max_len = 1500,
                                          .path_mtu = 256,
                                          .encap = ROCE_ENCAP_V2_IP4,
                                          .slow_receiver = true};
    const struct simnet_path path = {.delay_ns = 2000};

    for (unsigned i = 0; i < sizeof(strikes) / sizeof(strikes[0]); i++) {
        for (unsigned cls = 0; cls < SIMNET_CLASS_CNT; cls++) {
            unsigned hits = 1;

            for (unsigned nth = 1; nth <= SUITE_TURNS(24) && hits; nth++) {
                unsigned before = CU_get_number_of_failures();
                struct qp_pair *p = traffic_begin(7, &limits, &path);
                struct simnet_rule *rule =
                    simnet_rule(&p->net, &(struct simnet_rule){.from = -1,
                                                               .classes = 1u << cls,
                                                               .nth = nth,
                                                               .action = strikes[i].action,
                                                               .delay_ns = strikes[i].delay_ns});

                traffic_run();
                traffic_check();
                hits = rule->hits;
                traffic_end();
                if (CU_get_number_of_failures() != before) {
                    printf("\n    fault %u of the table, applied to %s packet number %u\n", i,
                           simnet_class_name((enum simnet_class)cls), nth);
                    return;
                }
            }
        }
    }
}

/* The queue of a slow link overflows, which loses packets in bursts as a switch does. All requests
 * must still complete. */
static void losses_by_queue_overflow_are_recovered(void)
{
    const struct traffic_limits limits = {
        .qp_cnt = 4, .wr_cnt = 40, .max_len = 3000, .path_mtu = 1024, .encap = ROCE_ENCAP_V2_IP4};
    const struct simnet_path path = {
        .delay_ns = 2000, .bps = UINT64_C(10000000000), .queue = 12000};
    struct qp_pair *p = traffic_begin(11, &limits, &path);

    traffic_run();
    traffic_check();
    CU_ASSERT(simnet_count(&p->net, -1, SIMNET_ANY, SIMNET_OVERFLOWED) > 0);
    traffic_end();
}

/* The network is down for three timeouts. The requester must retry and complete all requests (R152,
 * R160). */
static void partition_of_three_timeouts_is_survived(void)
{
    const struct traffic_limits limits = {
        .qp_cnt = 2, .wr_cnt = 30, .max_len = 3000, .path_mtu = 1024, .encap = ROCE_ENCAP_V2_IP6};
    const struct simnet_path path = {.delay_ns = 2000, .bps = UINT64_C(1000000000)};
    struct qp_pair *p = traffic_begin(12, &limits, &path);

    qp_pair_run(p, 100000);
    simnet_part(&p->net, 0, 1, 3 * QP_PAIR_T);
    traffic_run();
    traffic_check();
    CU_ASSERT(qp_pair_counters(p, 0).local_ack_timeout_err >= 2);
    traffic_end();
}

/* ---- connections that end with an error ------------------------------------------------------ */

static void begin(unsigned qp_cnt)
{
    const struct simnet_path path = {.delay_ns = 1000};

    qp_pair_init(&pair, 1, ROCE_ENCAP_V2_IP4, qp_cnt, 16);
    simnet_paths(&pair.net, &path);
}

/* A request has no response. The request must be sent 1 + retry_cnt times (R154, R198, R189), first
 * after T, then after 2T each (R150), and then fail. Seven retries are the most. */
static void request_without_response_fails_after_retry_cnt(void)
{
    for (unsigned cnt = 0; cnt <= 7; cnt++) {
        struct simnet_rule *rule;

        begin(1);
        pair.side[0].attr[0].retry_cnt = (uint8_t)cnt;
        qp_pair_connect(&pair);
        rule = simnet_rule(&pair.net, &(struct simnet_rule){.from = 0, .action = SIMNET_DROP});
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_WRITE, 0, 100, 0), RNIC_OK);
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 2, RNIC_WR_SEND, 0, 100, 0), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, SECOND));
        EXPECT_EQ(rule->hits, 2 * (1 + cnt));
        EXPECT_EQ(pair.net.now, (1 + 2 * cnt) * QP_PAIR_T);
        qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_RETRY_EXC_ERR);
        qp_pair_expect_wc(pair.side[0].send_cq[0], 2, RNIC_WC_WR_FLUSH_ERR);
        EXPECT_EQ(qp_pair_state(&pair, 0, 0), RNIC_QPS_ERR);
        EXPECT_EQ(qp_pair_counters(&pair, 0).local_ack_timeout_err, 1 + cnt);
        EXPECT_EQ(qp_pair_counters(&pair, 0).retry_exceeded_err, 1);
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 3, RNIC_WR_SEND, 0, 100, 0), RNIC_OK);
        qp_pair_expect_wc(pair.side[0].send_cq[0], 3, RNIC_WC_WR_FLUSH_ERR);
        qp_pair_check_tally(&pair);
        qp_pair_free(&pair);
    }
}

/* A request finds no receive WQE. The request must be sent 1 + rnr_retry times, with the
 * responder's RNR timer between the transmissions (R157), and then fail. If rnr_retry is 7, it is
 * retried until there is a WQE. */
static void request_without_recv_wqe_fails_after_rnr_retry(void)
{
    for (unsigned cnt = 0; cnt <= 7; cnt++) {
        begin(1);
        pair.side[0].attr[0].rnr_retry = (uint8_t)cnt;
        pair.side[1].attr[0].min_rnr_timer = 8; /* 160 us */
        qp_pair_connect(&pair);
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 100, 0), RNIC_OK);
        if (cnt == 7) {
            CU_ASSERT(!qp_pair_run(&pair, SECOND / 10));
            qp_pair_expect_no_wc(pair.side[0].send_cq[0]);
            EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 9, 0, 100), RNIC_OK);
            CU_ASSERT(qp_pair_run(&pair, SECOND));
            qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
            CU_ASSERT(qp_pair_counters(&pair, 0).rnr_nak_retry_err > 500);
        } else {
            CU_ASSERT(qp_pair_run(&pair, SECOND));
            qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_RNR_RETRY_EXC_ERR);
            EXPECT_EQ(simnet_count(&pair.net, 1, SIMNET_BIT(NAK_RNR), SIMNET_SENT), 1 + cnt);
            EXPECT_EQ(pair.net.now, 2000 + cnt * (2000 + roce_rnr_ns(8)));
            EXPECT_EQ(qp_pair_counters(&pair, 0).local_ack_timeout_err, 0); /* no ACK timeout counts
                                                                             * during RNR waits
                                                                             * (R158) */
        }
        qp_pair_check_tally(&pair);
        qp_pair_free(&pair);
    }
}

/* The responder refuses a request. The request completes with the status of the refusal. Both ends
 * are then in the error state, and all other requests are flushed (R082, R083, R090, R146). */
static void refused_request_completes_with_its_error_status(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t rkey;
        uint32_t recv_len, recv_key;
        enum rnic_wc_status send, recv;
    } rows[] = {
        {RNIC_WR_WRITE, 0xBAD, 64, QP_PAIR_KEY, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_WR_FLUSH_ERR},
        {RNIC_WR_READ, 0xBAD, 64, QP_PAIR_KEY, RNIC_WC_REM_ACCESS_ERR, RNIC_WC_WR_FLUSH_ERR},
        {RNIC_WR_SEND, 0, 64, QP_PAIR_KEY, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_LOC_LEN_ERR},
        {RNIC_WR_SEND, 0, 1000, 0xBAD, RNIC_WC_REM_OP_ERR, RNIC_WC_LOC_PROT_ERR},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_sge sge = {QP_PAIR_IOVA, 300, QP_PAIR_KEY};
        struct rnic_send_wr wr = {.wr_id = 2,
                                  .opcode = rows[i].opcode,
                                  .sge = &sge,
                                  .sge_cnt = 1,
                                  .remote_addr = QP_PAIR_IOVA,
                                  .rkey = rows[i].rkey};
        struct rnic_sge rsge = {QP_PAIR_IOVA, rows[i].recv_len, rows[i].recv_key};
        struct rnic_recv_wr rwr = {.wr_id = 7, .sge = &rsge, .sge_cnt = 1};

        begin(1);
        qp_pair_connect(&pair);
        EXPECT_EQ(rnic_post_recv(pair.side[1].qp[0], &rwr), RNIC_OK);
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_WRITE, 0, 300, 0), RNIC_OK);
        EXPECT_EQ(rnic_post_send(pair.side[0].qp[0], &wr), RNIC_OK); /* the request is unsignaled,
                                                                      * but must have a completion,
                                                                      * because it fails */
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 3, RNIC_WR_WRITE, 0, 300, 4096), RNIC_OK);
        EXPECT_EQ(qp_pair_send(&pair, 1, 0, 4, RNIC_WR_WRITE, 0, 0, 0), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, SECOND));
        qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
        qp_pair_expect_wc(pair.side[0].send_cq[0], 2, rows[i].send);
        qp_pair_expect_wc(pair.side[0].send_cq[0], 3, RNIC_WC_WR_FLUSH_ERR);
        qp_pair_expect_wc(pair.side[1].recv_cq[0], 7, rows[i].recv);
        EXPECT_EQ(qp_pair_state(&pair, 0, 0), RNIC_QPS_ERR);
        EXPECT_EQ(qp_pair_state(&pair, 1, 0), RNIC_QPS_ERR);
        EXPECT_EQ(rnic_deadline(pair.side[0].rnic), RNIC_NEVER);
        EXPECT_EQ(rnic_deadline(pair.side[1].rnic), RNIC_NEVER);
        qp_pair_check_tally(&pair);
        qp_pair_free(&pair);
    }
}

/* A QP's own request is refused while the QP sends READ responses. The QP must send no more
 * responses, not even the remaining ones of this READ (R189). The other end, which sent the READ
 * and refused the request, must flush the READ. */
static void failed_qp_sends_no_more_responses(void)
{
    const struct simnet_path path = {.delay_ns = 1000, .bps = UINT64_C(10000000000)};
    uint64_t sent;

    begin(1);
    simnet_paths(&pair.net, &path);
    qp_pair_connect(&pair);
    EXPECT_EQ(qp_pair_send(&pair, 1, 0, 5, RNIC_WR_READ, 0, QP_PAIR_MEM, 0), RNIC_OK);
    qp_pair_run(&pair, 20000);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_WRITE, 0, 100, QP_PAIR_MEM), RNIC_OK);
    for (unsigned i = 0; i < 1000 && qp_pair_state(&pair, 0, 0) == RNIC_QPS_RTS; i++)
        qp_pair_run(&pair, 100);
    qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_REM_ACCESS_ERR);
    sent = simnet_count(&pair.net, 0, SIMNET_ANY, SIMNET_SENT);
    CU_ASSERT(simnet_count(&pair.net, 0, SIMNET_BIT(READ_RESP), SIMNET_SENT) < QP_PAIR_MEM / 1024);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    EXPECT_EQ(simnet_count(&pair.net, 0, SIMNET_ANY, SIMNET_SENT), sent);
    qp_pair_expect_wc(pair.side[1].send_cq[0], 5, RNIC_WC_WR_FLUSH_ERR);
    qp_pair_free(&pair);
}

/* A QP enters SQD. It must complete the current message and raise one event. After the return to
 * RTS it must continue with the next message (R191). */
static void sqd_completes_the_message_and_rts_continues(void)
{
    struct rnic_qp_attr attr = {.state = RNIC_QPS_SQD};
    struct rnic_event event;

    begin(1);
    qp_pair_connect(&pair);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_WRITE, 0, 5000, 0), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 2, RNIC_WR_WRITE, 0, 5000, 0), RNIC_OK);
    qp_pair_run(&pair, 10); /* both WRITEs are sent, and no ACK has arrived yet */
    EXPECT_EQ(rnic_qp_modify(pair.side[0].qp[0], &attr, pair.net.now), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 3, RNIC_WR_READ, 0, 5000, 0), RNIC_OK);
    CU_ASSERT(!rnic_event_get(pair.side[0].rnic, &event));
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[0].send_cq[0], 2, RNIC_WC_SUCCESS);
    qp_pair_expect_no_wc(pair.side[0].send_cq[0]);
    CU_ASSERT(rnic_event_get(pair.side[0].rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_SQ_DRAINED);
    CU_ASSERT(!rnic_event_get(pair.side[0].rnic, &event));
    /* The responder of the QP continues to work in SQD. */
    EXPECT_EQ(qp_pair_send(&pair, 1, 0, 4, RNIC_WR_READ, 0, 100, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[1].send_cq[0], 4, RNIC_WC_SUCCESS);
    attr.state = RNIC_QPS_RTS;
    EXPECT_EQ(rnic_qp_modify(pair.side[0].qp[0], &attr, pair.net.now), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 3, RNIC_WC_SUCCESS);
    qp_pair_check_tally(&pair);
    qp_pair_free(&pair);
}

/* After RESET, a QP connects again with other PSNs. No state of the old connection may remain
 * (R190). */
static void qp_connects_again_after_reset(void)
{
    begin(1);
    qp_pair_connect(&pair);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 5000, 0), RNIC_OK);
    qp_pair_run(&pair, 1500);
    for (unsigned s = 0; s < 2; s++) {
        struct rnic_qp_attr attr = {.state = RNIC_QPS_RESET};

        EXPECT_EQ(rnic_qp_modify(pair.side[s].qp[0], &attr, pair.net.now), RNIC_OK);
        pair.side[s].attr[0].rq_psn = 500 + 100 * s;
        pair.side[s].attr[0].sq_psn = 600 - 100 * s;
    }
    qp_pair_expect_no_wc(pair.side[0].send_cq[0]);
    qp_pair_connect(&pair);
    EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 9, 0, 100), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 2, RNIC_WR_SEND, 0, 100, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 2, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 9, RNIC_WC_SUCCESS);
    qp_pair_free(&pair);
}

/* Messages of 1 MiB, the length of the region, must arrive in both directions at each path MTU.
 * test_large.c tests 2 GiB. */
static void messages_of_1_mib_arrive_at_each_mtu(void)
{
    for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
        const struct simnet_path path = {.delay_ns = 1000, .loss_ppm = 500};

        begin(1);
        simnet_paths(&pair.net, &path);
        pair.side[0].attr[0].path_mtu = pair.side[1].attr[0].path_mtu = mtu;
        qp_pair_connect(&pair);
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_WRITE, 0, QP_PAIR_MEM, 0), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, 100 * SECOND));
        qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
        CU_ASSERT(memcmp(pair.side[0].mem, pair.side[1].mem, QP_PAIR_MEM) == 0);
        memset(pair.side[0].mem, 0, QP_PAIR_MEM);
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 2, RNIC_WR_READ, 0, QP_PAIR_MEM, 0), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, 100 * SECOND));
        qp_pair_expect_wc(pair.side[0].send_cq[0], 2, RNIC_WC_SUCCESS);
        CU_ASSERT(memcmp(pair.side[0].mem, pair.side[1].mem, QP_PAIR_MEM) == 0);
        qp_pair_check_tally(&pair);
        qp_pair_free(&pair);
    }
}

/* ---- load on other QPs ----------------------------------------------------------------------- */

/* Digest of all packets of one QP, in order and with their times, to compare two runs. */
static struct {
    uint32_t crc;
    unsigned cnt;
} heard;

static void hear(void *ctx, const struct simnet_event *event)
{
    (void)ctx;
    if ((event->pkt->bth.dest_qp & 0xF) != 0)
        return;
    heard.crc = roce_crc32(heard.crc, event->pkt->frame, event->pkt->wire_len);
    heard.crc = roce_crc32(heard.crc, (const uint8_t *)&event->now, sizeof(event->now));
    heard.cnt++;
}

/*
 * QP 0 works while the other QPs of both devices are idle, lose every second packet, lack receive
 * WQEs, or use invalid R_Keys. The packets of QP 0 must not change (R251).
 */
static void load_on_other_qps_changes_no_packet(void)
{
    uint32_t quiet = 0;
    unsigned cnt = 0;

    for (unsigned storm = 0; storm < 2; storm++) {
        begin(4);
        qp_pair_connect(&pair);
        pair.net.observe = hear;
        heard.crc = 0;
        heard.cnt = 0;
        for (unsigned i = 0; storm && i < 200; i++)
            if (i < SIMNET_RULES - 1)
                simnet_rule(&pair.net, &(struct simnet_rule){.from = 0,
                                                             .dest_qp = qp_pair_qpn(1, 1),
                                                             .nth = 2 * i + 1,
                                                             .action = SIMNET_DROP});
        for (unsigned i = 0; i < 12; i++) {
            EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 8192 * i, 8192), RNIC_OK);
            EXPECT_EQ(qp_pair_send(&pair, 0, 0, i, i % 3 ? RNIC_WR_SEND : RNIC_WR_READ, 8192 * i,
                                   500 * i, 0),
                      RNIC_OK);
            if (!storm)
                continue;
            qp_pair_send(&pair, 0, 1, i, RNIC_WR_WRITE, 0, 8000, 0x80000);
            qp_pair_send(&pair, 0, 2, i, RNIC_WR_SEND, 0, 100, 0);
            qp_pair_send(&pair, 0, 3, i, RNIC_WR_WRITE, 0, 100, QP_PAIR_MEM);
            qp_pair_send(&pair, 1, 1, i, RNIC_WR_READ, 0x90000, 8000, 0);
        }
        qp_pair_run(&pair, SECOND / 100);
        for (unsigned i = 0; i < 12; i++)
            qp_pair_expect_wc(pair.side[0].send_cq[0], i, RNIC_WC_SUCCESS);
        if (storm) {
            EXPECT_EQ(heard.crc, quiet);
            EXPECT_EQ(heard.cnt, cnt);
            CU_ASSERT(qp_pair_counters(&pair, 0).packet_seq_err > 0);
            CU_ASSERT(qp_pair_counters(&pair, 0).rnr_nak_retry_err > 3);
            EXPECT_EQ(qp_pair_counters(&pair, 0).req_remote_access_errors, 1);
        }
        quiet = heard.crc;
        cnt = heard.cnt;
        qp_pair_free(&pair);
    }
    CU_ASSERT(cnt > 40);
}

SUITE("sim.rc", TEST(random_traffic_arrives_over_a_faulty_network),
      TEST(fault_of_any_packet_class_has_no_effect), TEST(losses_by_queue_overflow_are_recovered),
      TEST(partition_of_three_timeouts_is_survived),
      TEST(request_without_response_fails_after_retry_cnt),
      TEST(request_without_recv_wqe_fails_after_rnr_retry),
      TEST(refused_request_completes_with_its_error_status),
      TEST(failed_qp_sends_no_more_responses), TEST(sqd_completes_the_message_and_rts_continues),
      TEST(qp_connects_again_after_reset), TEST(messages_of_1_mib_arrive_at_each_mtu),
      TEST(load_on_other_qps_changes_no_packet))

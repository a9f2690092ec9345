/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests behaviour of RNICs and fabrics of which traces/ has no capture
 * (tests/traces/hardware_traffic.py generates whole captures of more such behaviour).
 */
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static const struct judge_spoil whole;

static unsigned count(const struct verdict *v, enum roce_rule rule)
{
    return (unsigned)v->totals.rules[rule];
}

/* A NIC that lets switches choose a path for each packet sets a bit in byte 4 of the BTH. The
 * analysis engine must report the bit once, not for each packet. */
static void adaptive_routing_bit_is_reported_once(void)
{
    struct flowgen g;
    struct verdict v = {0};

    flowgen_init(&g);
    for (int i = 0; i < 50; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

        p.bth.resv6 = 0x20;
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(count(&v, ROCE_RULE_RESERVED_BITS), 1);
    EXPECT_EQ(v.finding[0].severity, ROCE_SEV_WARN);
    EXPECT_EQ(judge_errors(&v, "marked"), 0);
    flowgen_free(&g);
}

/* Reserved bits that the ICRC covers must be reported in each packet. */
static void other_reserved_bits_are_reported_each_time(void)
{
    struct flowgen g;
    struct verdict v = {0};

    flowgen_init(&g);
    for (int i = 0; i < 5; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

        p.bth.resv6 = 0x20;
        p.bth.resv7 = 1;
        flowgen_put(&g, 0, &p);
    }
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(count(&v, ROCE_RULE_RESERVED_BITS), 1 + 5);
    flowgen_free(&g);
}

/* Sends a packet of NVIDIA's dynamically connected transport (DC): 20 bytes after the BTH, then
 * the headers of RC. The codec parses it as a reliable datagram (RD); the bytes after the RDETH
 * and DETH are its payload. */
static void put_dc(struct flowgen *g, int side, uint8_t opcode, uint32_t psn)
{
    static const uint8_t rest[36] = {0x61, 0xe2, 0x4e, 0, 0, 0xc0, 0xdc};
    struct roce_pkt p = flowgen_req(g, side, ROCE_OP_RC_SEND_ONLY, 0);

    p.bth.opcode = opcode;
    p.op = roce_opcode(opcode);
    p.bth.psn = psn;
    p.rdeth.resv8 = 0x11;
    p.rdeth.eecnxt = 0x9036;
    p.deth.qkey = 0x00715001;
    p.payload = rest;
    p.payload_len = sizeof(rest);
    flowgen_put(g, side, &p);
}

static void dc_packets_are_not_judged(void)
{
    static const struct judge_spoil ways[] = {
        {0},
        {.snap_min = 64, .snap_max = 96},
        {.snap_min = 54, .snap_max = 57}, /* cut before the byte that distinguishes DC from RD */
        {.one_side = true, .side = 1},
        {.head = 3}};

    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        struct flowgen g;
        struct verdict v = {0};
        struct rng rng = {1};
        struct judge_spoil spoil = ways[way];

        spoil.rng = &rng;
        flowgen_init(&g);
        for (uint32_t i = 0; i < 10; i++) {
            put_dc(&g, 0, ROCE_OP_RD_WRITE_ONLY, 100 + i);
            put_dc(&g, 1, ROCE_OP_RD_ACK, 100 + i);
        }
        judge(&g, NULL, &spoil, &v);
        EXPECT_EQ(v.finding_cnt, 0);
        EXPECT_EQ(v.conn_cnt, 0);
        EXPECT_EQ(v.totals.dropped, 0);
        EXPECT_EQ(v.totals.dc, v.totals.packets);
        flowgen_free(&g);
    }
}

static void reliable_datagrams_are_reported(void)
{
    struct flowgen g;
    struct verdict v = {0};
    struct roce_pkt p;

    flowgen_init(&g);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.bth.opcode = ROCE_OP_RD_SEND_ONLY;
    p.op = roce_opcode(ROCE_OP_RD_SEND_ONLY);
    p.rdeth.eecnxt = 5;
    flowgen_put(&g, 0, &p);
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(v.totals.dc, 0);
    CU_ASSERT(judge_found(&v, ROCE_RULE_RD_OPCODE));
    flowgen_free(&g);
}

/* Sends response `k` of `cnt` responses to the READ with PSN `psn`. */
static void put_response(struct flowgen *g, uint32_t psn, uint32_t k, uint32_t cnt)
{
    uint8_t op = k == 0 ? ROCE_OP_RC_READ_RESP_FIRST
                        : (k + 1 == cnt ? ROCE_OP_RC_READ_RESP_LAST : ROCE_OP_RC_READ_RESP_MIDDLE);
    struct roce_pkt p = flowgen_resp(g, 1, op, (psn + k) & ROCE_PSN_MASK, g->mtu);

    flowgen_put(g, 1, &p);
}

/* Sends three READs, each with eight responses in the order `order`. The analysis engine must count
 * all READs as completed, and report `late` responses of each READ as out of order. */
static void read_in_order(const uint8_t order[8], unsigned late)
{
    struct flowgen g;
    struct verdict v = {0};
    const struct roce_endpoint_summary *side;

    flowgen_init(&g);
    flowgen_send(&g, 0, 3 * g.mtu); /* shows the path MTU */
    for (int round = 0; round < 3; round++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 8 * g.mtu);

        flowgen_put(&g, 0, &p);
        for (int i = 0; i < 8; i++)
            put_response(&g, p.bth.psn, order[i], 8);
    }
    flowgen_send(&g, 0, 64);
    judge(&g, NULL, &whole, &v);
    side = &v.conn[0].side[0];
    EXPECT_EQ(side->oper[ROCE_OPER_READ].completed, 3);
    EXPECT_EQ(side->oper[ROCE_OPER_READ].bytes, 3 * 8 * g.mtu);
    EXPECT_EQ(count(&v, ROCE_RULE_OUT_OF_ORDER), 3 * late);
    EXPECT_EQ(v.totals.findings[ROCE_SEV_ERROR] + v.totals.findings[ROCE_SEV_WARN], 0);
    EXPECT_EQ(count(&v, ROCE_RULE_IMPLIED_NAK) + count(&v, ROCE_RULE_RESP_DUPLICATE), 0);
    flowgen_free(&g);
}

static void reads_on_several_paths_complete(void)
{
    static const uint8_t none[8] = {0, 1, 2, 3, 4, 5, 6, 7}, pairs[8] = {0, 2, 1, 4, 3, 5, 7, 6},
                         first[8] = {1, 2, 0, 3, 4, 5, 6, 7}, last[8] = {7, 0, 1, 2, 3, 4, 5, 6},
                         back[8] = {7, 6, 5, 4, 3, 2, 1, 0};

    read_in_order(none, 0);
    read_in_order(pairs, 3);
    read_in_order(first, 1);
    read_in_order(last, 7);
    read_in_order(back, 7);
}

/* A response to a READ is missing. The responder repeats some responses, and the requester
 * retransmits the READ from the missing response on. */
static void read_with_a_hole_is_retransmitted(void)
{
    struct flowgen g;
    struct verdict v = {0};
    struct roce_pkt p;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 8 * g.mtu);
    flowgen_put(&g, 0, &p);
    put_response(&g, p.bth.psn, 0, 8);
    put_response(&g, p.bth.psn, 2, 8);
    put_response(&g, p.bth.psn, 3, 8);
    put_response(&g, p.bth.psn, 2, 8);
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(count(&v, ROCE_RULE_RESP_DUPLICATE), 1);
    EXPECT_EQ(count(&v, ROCE_RULE_OUT_OF_ORDER), 0);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, 0);
    p.bth.psn++;
    p.reth.va += g.mtu;
    p.reth.dma_len -= g.mtu;
    p.ip4.id = 0;
    flowgen_put(&g, 0, &p);
    flowgen_read_resp(&g, 1, p.bth.psn, p.reth.dma_len, 0, 6);
    v = (struct verdict){0};
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, 1);
    EXPECT_EQ(count(&v, ROCE_RULE_OUT_OF_ORDER), 0);
    EXPECT_EQ(v.totals.findings[ROCE_SEV_ERROR], 0);
    flowgen_free(&g);
}

/* For a retransmitted atomic, older Linux sends the stored response with its old MSN (rxe_resp.c,
 * res->atomic.skb). The analysis engine must not take this for a reuse of the QP, even if packets
 * are missing in the capture. */
static void stored_atomic_response_is_no_reuse(void)
{
    struct flowgen g;
    struct verdict v = {0};
    struct roce_pkt p[4], kept;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
    g.frame_cnt--; /* remove the frame: it is missing in the capture */
    flowgen_ack_all(&g, 1);
    for (int i = 0; i < 6; i++)
        flowgen_send(&g, 0, 64);
    p[0] = flowgen_req(&g, 0, ROCE_OP_RC_FETCH_ADD, 0);
    kept = flowgen_resp(&g, 1, ROCE_OP_RC_ATOMIC_ACK, p[0].bth.psn, 0);
    for (int i = 1; i < 4; i++)
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 4; i++) {
            p[i].ip4.id = 0;
            flowgen_put(&g, 0, &p[i]);
        }
        if (again) /* the first response was lost */
            flowgen_put(&g, 1, &kept);
        flowgen_ack_all(&g, 1);
    }
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(count(&v, ROCE_RULE_QP_REUSED), 0);
    flowgen_free(&g);
}

/* Sends a request and retransmits it after each wait in `waits` (ms; 0 ends the list). Then the
 * responder acknowledges the request. With `rnr`, an earlier request gets an RNR NAK. */
static void retransmit_after(const uint16_t *waits, uint8_t opcode, bool cm, bool rnr,
                             struct verdict *v)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    if (cm)
        flowgen_connect(&g); /* the ACK timeout is 67 ms */
    flowgen_send(&g, 0, 64);
    if (rnr) {
        p = flowgen_req(&g, 0, opcode, 64);
        flowgen_put(&g, 0, &p);
        flowgen_ack(&g, 1, p.bth.psn, 0x21); /* RNR NAK, 10 us */
        flowgen_wait(&g, 20000);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    p = flowgen_req(&g, 0, opcode, 64);
    flowgen_put(&g, 0, &p);
    for (; *waits; waits++) {
        flowgen_wait(&g, UINT64_C(1000000) * *waits);
        flowgen_put(&g, 0, &p);
    }
    flowgen_ack_all(&g, 1);
    flowgen_send(&g, 0, 64);
    *v = (struct verdict){0};
    judge_end(&g, v);
}

/* NVIDIA documents adaptive retransmission: the first waits are a few ms, even with a long ACK
 * timeout, and become longer. The analysis engine must recognise it in the rows with `adaptive`. */
static void adaptive_retransmission_is_recognised(void)
{
    static const struct {
        const char *name;
        uint16_t waits[8]; /* ms */
        uint8_t opcode;
        bool cm, rnr;
        uint64_t timeouts, early;
        bool adaptive;
    } rows[] = {
        {"shorter than agreed", {6, 4, 8, 17}, ROCE_OP_RC_WRITE_ONLY, true, false, 4, 4, true},
        {"up to the agreed one", {6, 4, 67}, ROCE_OP_RC_SEND_ONLY, true, false, 3, 2, true},
        {"one early repetition", {6}, ROCE_OP_RC_WRITE_ONLY, true, false, 1, 1, true},
        {"as agreed", {70, 70, 70}, ROCE_OP_RC_WRITE_ONLY, true, false, 3, 0, false},
        {"growing", {6, 4, 8, 17}, ROCE_OP_RC_WRITE_ONLY, false, false, 4, 0, true},
        {"equal", {6, 6, 6, 6}, ROCE_OP_RC_WRITE_ONLY, false, false, 4, 0, false},
        {"growing once", {6, 6, 12, 12}, ROCE_OP_RC_WRITE_ONLY, false, false, 4, 0, false},
        {"after an RNR NAK that may be missing",
         {6},
         ROCE_OP_RC_SEND_ONLY,
         true,
         true,
         0,
         0,
         false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_endpoint_summary *a;
        struct verdict v;

        retransmit_after(rows[i].waits, rows[i].opcode, rows[i].cm, rows[i].rnr, &v);
        a = &v.conn[v.conn_cnt - 1].side[0];
        if (v.conn[0].facts.svc == ROCE_SVC_RC)
            a = &v.conn[0].side[0];
        if (a->retx[ROCE_CAUSE_TIMEOUT].go_backs != rows[i].timeouts ||
            a->early_timeouts != rows[i].early || a->adaptive != rows[i].adaptive ||
            count(&v, ROCE_RULE_TIMEOUT_RANGE))
            suite_fail(
                __FILE__, __LINE__,
                "%s: %llu timeouts, %llu early timeouts%s, %u findings about the timeout range",
                rows[i].name, (unsigned long long)a->retx[ROCE_CAUSE_TIMEOUT].go_backs,
                (unsigned long long)a->early_timeouts, a->adaptive ? ", adaptive" : "",
                count(&v, ROCE_RULE_TIMEOUT_RANGE));
    }
}

/* Sends 40 WRITEs of one packet in pairs; in each pair, the second packet is sent before the first.
 * The responder acknowledges each pair. `ports` is the number of source ports used. If `in_order`,
 * the responder sends a NAK for each pair, and the requester retransmits both packets. Packet
 * `lost` (0: none) is lost, NAKed and retransmitted alone. */
static void overtake(struct flowgen *g, unsigned ports, bool in_order, unsigned lost)
{
    uint16_t port = g->conn.sport;

    for (unsigned i = 0; i < 40; i += 2) {
        struct roce_pkt p[2];

        for (unsigned k = 0; k < 2; k++) {
            p[k] = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
            p[k].udp.sport = (uint16_t)(port + (i + k) % ports);
            p[k].ip4.id = ++g->ip_id[0];
        }
        flowgen_put(g, 0, &p[1]);
        if (i != lost || lost == 0)
            flowgen_put(g, 0, &p[0]);
        if (in_order || (lost && i == lost)) {
            struct roce_pkt nak = flowgen_resp(g, 1, ROCE_OP_RC_ACK, p[0].bth.psn, 0);

            nak.aeth.syndrome = 0x60;                                   /* sequence NAK */
            nak.udp.sport = (uint16_t)(port + 7 * (lost && i == lost)); /* the NAK uses another
                                                                         * source port */
            flowgen_put(g, 1, &nak);
            p[0].ip4.id = p[1].ip4.id = 0;
            flowgen_put(g, 0, &p[0]);
            if (in_order)
                flowgen_put(g, 0, &p[1]);
        }
        flowgen_ack_all(g, 1);
    }
}

/* A receiver that acknowledges a packet although an earlier one is missing accepts any order. The
 * analysis engine must recognise such a receiver, except in the rows where the receiver sends
 * NAKs. */
static void order_that_does_not_matter_is_recognised(void)
{
    static const struct {
        const char *name;
        unsigned ports;
        bool in_order, told;
        unsigned lost;
        bool any;
        unsigned accepted, port_findings, naked;
    } rows[] = {
        {"one port", 1, false, false, 0, true, 20, 0, 0},
        {"three ports", 3, false, false, 0, true, 20, 0, 0},
        {"a packet is lost", 3, false, false, 10, true, 20, 0, 1},
        {"the receiver requires order", 1, true, false, 0, false, 0, 0, 20},
        {"the receiver requires order on three ports", 3, true, false, 0, false, 0, 1, 20},
        {"any order is told", 3, true, true, 0, true, 0, 0, 20},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_flow_opts opts = {.any_order = rows[i].told};
        const struct roce_endpoint_summary *a;
        struct flowgen g;
        struct verdict v = {0};

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        overtake(&g, rows[i].ports, rows[i].in_order, rows[i].lost);
        judge(&g, &opts, &whole, &v);
        a = &v.conn[0].side[0];
        if (a->any_order != rows[i].any || a->accepted_early != rows[i].accepted ||
            a->retx[ROCE_CAUSE_SEQ_NAK].go_backs != rows[i].naked ||
            a->retx[ROCE_CAUSE_UNKNOWN].go_backs ||
            count(&v, ROCE_RULE_SPORT_CONSTANT) != rows[i].port_findings ||
            (rows[i].ports > 1 && a->udp_sports != 3))
            suite_fail(__FILE__, __LINE__,
                       "%s: %s, %llu accepted early, %llu NAKs, %u findings about ports, %u ports",
                       rows[i].name, a->any_order ? "accepts any order" : "requires the order",
                       (unsigned long long)a->accepted_early,
                       (unsigned long long)a->retx[ROCE_CAUSE_SEQ_NAK].go_backs,
                       count(&v, ROCE_RULE_SPORT_CONSTANT), a->udp_sports);
        EXPECT_EQ(judge_errors(&v, rows[i].name), 0);
        flowgen_free(&g);
    }
}

/* The responses to several READs are out of order by up to 40 positions. The analysis engine cannot
 * record so many gaps, but must count all READs as completed. */
static void reads_in_any_order_complete(void)
{
    enum { READS = 8, PACKETS = 16, CNT = READS * PACKETS };
    struct flowgen g;
    struct verdict v = {0};
    const struct roce_endpoint_summary *b;
    uint32_t psn[READS];

    flowgen_begin(&g);
    flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
    for (unsigned r = 0; r < READS; r++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, PACKETS * g.mtu);

        psn[r] = p.bth.psn;
        flowgen_put(&g, 0, &p);
    }
    for (unsigned i = 0; i < CNT; i++) {
        unsigned at = i / 40 * 40 + (i / 40 * 40 + 40 <= CNT ? i % 40 * 7 % 40 : i % 40);

        put_response(&g, psn[at / PACKETS], at % PACKETS, PACKETS);
    }
    flowgen_send(&g, 0, 64);
    judge_end(&g, &v);
    b = &v.conn[0].side[1];
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].completed, READS);
    EXPECT_EQ(b->any_order, true);
    EXPECT_EQ(b->repeated_responses, 0);
    EXPECT_EQ(count(&v, ROCE_RULE_RESP_DUPLICATE), 0);
    EXPECT_EQ(count(&v, ROCE_RULE_RESP_ORDER), 0); /* the requester accepts this order */
    EXPECT_EQ(v.totals.findings[ROCE_SEV_ERROR], 0);
}

SUITE("flow.hardware", TEST(reads_on_several_paths_complete),
      TEST(read_with_a_hole_is_retransmitted), TEST(adaptive_routing_bit_is_reported_once),
      TEST(other_reserved_bits_are_reported_each_time), TEST(dc_packets_are_not_judged),
      TEST(reliable_datagrams_are_reported), TEST(stored_atomic_response_is_no_reuse),
      TEST(adaptive_retransmission_is_recognised), TEST(order_that_does_not_matter_is_recognised),
      TEST(reads_in_any_order_complete))

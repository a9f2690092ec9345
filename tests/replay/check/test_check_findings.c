/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests which findings and known deviations `rocedrill check` prints. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

/* The timers of Linux Soft-RoCE count jiffies, so its wait after an RNR NAK of 0.64 ms may be
 * shorter than 0.64 ms. */
static void short_rnr_wait_of_linux_is_a_known_deviation(void)
{
    struct checkrun r;
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_ack_all(&g, 1);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    g.conn.msn[0]--;
    flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 12);
    g.conn.msn[0]++;
    flowgen_wait(&g, 400000);
    flowgen_put(&g, 0, &p);
    flowgen_ack_all(&g, 1);
    checkrun_write_flow("jiffy.pcap", &g);
    r = checkrun("check -v --quirks linux-rxe-6.1 $T/jiffy.pcap");
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "RC-REQ-156"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "[known deviation S2]"));
    checkrun_free(&r);
}

/* All packets of a requester have a wrong ICRC. With up to three packets, check reports no
 * connection. With more packets, check reports the connection, because the capture itself may have
 * caused the wrong ICRCs. */
static void requester_with_wrong_icrcs_only_is_reported(void)
{
    for (unsigned cnt = 1; cnt < 10; cnt += 2) {
        struct flowgen g;
        struct roce_pkt p;
        struct checkrun r;

        flowgen_init(&g);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        for (unsigned i = 0; i < cnt; i++) {
            flowgen_put(&g, 0, &p);
            g.bytes[g.frame[i].off + g.frame[i].len - 1] ^= 0x55;
            flowgen_wait(&g, 70000000);
        }
        checkrun_write_flow("icrcs.pcap", &g);
        r = checkrun("check $T/icrcs.pcap");
        EXPECT_EQ(r.status, 0);
        EXPECT_EQ(
            strstr(r.out, "the capture contains no other packets of a connection. A receiver") !=
                NULL,
            cnt <= 3);
        EXPECT_EQ(strstr(r.out, "no correct ICRC") != NULL, cnt > 3);
        EXPECT_EQ(strstr(r.out, "ICRCs are wrong on the wire") != NULL, cnt >= 7);
        checkrun_free(&r);
    }
}

/* The capture causes the same finding in many connections. The report must print the finding only
 * once. */
static void shared_finding_is_printed_once(void)
{
    struct flowgen g;
    struct checkrun r;
    const char *at;

    flowgen_init(&g);
    for (unsigned i = 0; i < 6; i++) {
        g.conn = flowgen_conn_of(i + 1, 20480, 36864);
        g.conn.sport = 0xC123;
        for (unsigned k = 0; k < 3; k++)
            flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
    }
    for (unsigned i = 0; i < 6; i++) {
        g.conn = flowgen_conn_of(i + 1, 20483, 36864);
        g.conn.sport = 0xC123;
        g.conn.msn[0] = 3;
        flowgen_ack_all(&g, 1);
    }
    checkrun_write_flow("alike.pcap", &g);
    r = checkrun("check $T/alike.pcap");
    at = strstr(r.out, "ALL-OBS-321");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_PTR_NULL(strstr(at + 1, "ALL-OBS-321"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "in many connections:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(at, " connections; first frames: "));
    checkrun_free(&r);
    r = checkrun("check -v $T/alike.pcap");
    at = strstr(r.out, "ALL-OBS-321");
    CU_ASSERT(at && strstr(at + 1, "ALL-OBS-321"));
    checkrun_free(&r);
}

static void a_checksum_of_0_is_counted_once(void)
{
    struct flowgen g;
    struct checkrun r;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 2048);
    for (size_t i = 0; i < g.frame_cnt; i++)
        memset(g.bytes + g.frame[i].off + 24, 0, 2);
    checkrun_write_flow("sum0.pcap", &g);
    r = checkrun("check $T/sum0.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "IPv4 header checksum 0: 3 packets"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "1 SEND in "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "verdict: holds (no findings)"));
    checkrun_free(&r);
    r = checkrun("decode $T/sum0.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "the IPv4 header checksum is 0"));
    checkrun_free(&r);
}

/* A device with MigReq 0 is recognised as Linux rxe only if its source port is the one that Linux
 * computes from the QPNs. */
static void peer_is_recognised_by_migreq_and_port(void)
{
    static const struct {
        uint16_t sport;
        bool known;
    } rows[] = {{0, true}, {0xC123, false}};

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct flowgen g;
        struct checkrun r;
        uint64_t v;

        flowgen_begin(&g);
        g.conn.qpn[0] = 17;
        g.conn.qpn[1] = 19;
        v = (uint64_t)g.conn.qpn[0] * g.conn.qpn[1]; /* the product is below 2^20 */
        g.conn.sport = rows[k].sport;
        if (rows[k].known)
            g.conn.sport = (uint16_t)(0xC000 | (((v >> 14) ^ v) & 0x3FFF));
        flowgen_send(&g, 0, 64);
        flowgen_ack_all(&g, 1);
        for (size_t i = 0; i < g.frame_cnt; i++)
            g.bytes[g.frame[i].off + 14 + 20 + 8 + 1] &= (uint8_t)~0x40; /* MigReq bit of the BTH */
        checkrun_write_flow("migreq.pcap", &g);
        r = checkrun("check --no-icrc --fail-on note $T/migreq.pcap");
        EXPECT_EQ(strstr(r.out, "known deviations of linux-rxe: S9 ") != NULL, rows[k].known);
        EXPECT_EQ(strstr(r.out, "ALL-FMT-044") != NULL, !rows[k].known);
        checkrun_free(&r);
        r = checkrun("check --no-icrc --quirks none $T/migreq.pcap");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "ALL-FMT-044"));
        checkrun_free(&r);
    }
}

SUITE("replay.check_findings", TEST(short_rnr_wait_of_linux_is_a_known_deviation),
      TEST(requester_with_wrong_icrcs_only_is_reported), TEST(shared_finding_is_printed_once),
      TEST(a_checksum_of_0_is_counted_once), TEST(peer_is_recognised_by_migreq_and_port))

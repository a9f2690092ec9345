/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that `rocedrill check` tells waits apart from idle time, and names their cause. */
#include <stdlib.h>
#include <string.h>
#include "pcapng/pcapng.h"
#include "replay/checkrun.h"
#include "support/suite.h"

/* An RNR NAK demands 10 µs, and the requester waits 60 ms. The report must say that it may. */
static void long_wait_after_an_rnr_nak_is_explained(void)
{
    struct flowgen g;
    struct checkrun r;
    struct roce_pkt p;

    flowgen_init(&g);
    g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
    flowgen_send(&g, 0, 64);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 1);
    flowgen_wait(&g, 60000000);
    flowgen_put(&g, 0, &p);
    flowgen_ack_all(&g, 1);
    checkrun_write_flow("rnr.pcap", &g);
    r = checkrun("check $T/rnr.pcap");
    if (!strstr(r.out, "; the wait is chosen by the requester and may be longer than demanded\n"))
        suite_fail(__FILE__, __LINE__, "%s", r.out);
    checkrun_free(&r);
}

/* The requester retransmits after pauses. If only the requests were captured, the pauses must not
 * be reported as timeouts, because an RNR NAK may be their cause. */
static void pauses_in_a_capture_of_one_direction_are_not_timeouts(void)
{
    for (int both = 0; both < 2; both++) {
        struct checkrun r;
        struct flowgen g;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        for (int i = 0; i < 3; i++) {
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

            flowgen_put(&g, 0, &p);
            flowgen_wait(&g, 20000000);
            flowgen_put(&g, 0, &p);
            if (both)
                flowgen_ack_all(&g, 1);
        }
        if (!both)
            for (size_t i = 0; i < g.frame_cnt; i++)
                if (g.frame[i].side == 1)
                    memmove(&g.frame[i], &g.frame[i + 1], (--g.frame_cnt - i) * sizeof(g.frame[0]));
        checkrun_write_flow("one-direction.pcap", &g);
        r = checkrun("check $T/one-direction.pcap");
        EXPECT_EQ(strstr(r.out, "the requester paused 3×, for 20.01 ms") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "the capture lacks the responses of 192.0.2.2") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "waiting: 60.03 ms for a reason that the capture does not show") !=
                      NULL,
                  !both);
        EXPECT_EQ(strstr(r.out, "retransmissions: after a pause 3×") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "the ACK timeout of 192.0.2.1 expired 3×") != NULL, both);
        checkrun_free(&r);
        r = checkrun("check -q --json - $T/one-direction.pcap");
        EXPECT_EQ(strstr(r.out, "the capture lacks the responses of 192.0.2.2") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "\"text\":\"unknown reason\"") != NULL, !both);
        checkrun_free(&r);
    }
}

/* Each of ten ACKs comes 20 ms after its request, and the REP 3 s after the REQ. Nothing is lost,
 * but the report must name both waits. */
static void waits_without_a_loss_are_reported(void)
{
    static const char *const words[] = {
        "% of the connection's 200.2 ms was spent waiting: 200.1 ms for slow responses\n",
        "→ the REP of 192.0.2.2 came 3 s after the REQ, which was sent 2×\n",
        "       find out why the program on 192.0.2.2 accepts connections late, or check for lost",
        "→ 10× a response came late: the requester waited 20.01 ms, and retransmitted nothing",
        "or the path is slow: if the path is fast (ping), look on 192.0.2.2 for CPU load",
    };
    struct roce_cm_msg req, rep;
    struct flowgen g;
    struct checkrun r;

    flowgen_init(&g);
    req = flowgen_cm_req(&g);
    rep = flowgen_cm_rep(&g);
    flowgen_cm(&g, 0, &req);
    flowgen_wait(&g, 1500000000);
    flowgen_cm(&g, 0, &req);
    flowgen_wait(&g, 1500000000);
    flowgen_cm(&g, 1, &rep);
    for (unsigned i = 0; i < 10; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

        p.bth.ackreq = true;
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 20000000);
        flowgen_ack_all(&g, 1);
    }
    checkrun_write_flow("waits.pcap", &g);
    r = checkrun("check $T/waits.pcap");
    EXPECT_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strstr(r.out, words[i]))
            suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", words[i], r.out);
    checkrun_free(&r);
    /* the same capture, in which both programs run on one host */
    CHECKRUN_EXPECT("$R edit -q --impair set=ip4.src=192.0.2.2 --impair set=ip4.dst=192.0.2.2 "
                    "$T/waits.pcap $T/one-host.pcapng && $R check $T/one-host.pcapng",
                    0, "       find out why 192.0.2.2 QP 0x", "");
}

/* Writes a capture of 200 SENDs and their ACKs, with `pauses` pauses, and checks the capture. The
 * first pause lasts 60 ms, and each further pause is `step` times 60 ms longer than the previous
 * pause. The IPv4 identifications show that the requester sent a packet in each of the first `lost`
 * pauses, which the capture lacks. */
static struct checkrun busy_with_pauses(unsigned pauses, unsigned step, unsigned lost)
{
    struct flowgen g;

    flowgen_init(&g);
    for (unsigned i = 0; i < 200; i++) {
        if (i % 10 == 9 && i / 10 < pauses) {
            flowgen_wait(&g, UINT64_C(60000000) * (1 + step * (i / 10)));
            g.ip_id[0] = (uint16_t)(g.ip_id[0] + (i / 10 < lost));
        }
        flowgen_send(&g, 0, 64);
    }
    checkrun_write_flow("pauses.pcap", &g);
    return checkrun("check --json $T/pauses.json $T/pauses.pcap");
}

/* A busy connection pauses twice for 60 ms. This must be reported, because a request that is lost
 * before the capture point, and its retransmission, look like such a pause. The pauses of a program
 * that pauses often must not be reported. */
static void rare_silences_of_a_busy_connection_are_reported(void)
{
    struct checkrun r = busy_with_pauses(2, 0, 2);
    char *json = checkrun_read(checkrun_path("pauses.json"));

    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "no packet was captured for 60.01 ms, 2×, the "
                                         "longest before frame 19 (together 9"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "the similar lengths look like ACK timeouts"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "paused connections:\n  #0 "));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, "was spent waiting: 120 ms for new requests of the program;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", but 1 connection paused\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"silence\":{\"count\":2,\"ns\":12"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"state\":\"paused\",\"headline\":\"Connection #0 "
                                        "paused: no packet was captured for 60.01 ms, 2×"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"waits\":[{\"side\":\"a\",\"cause\":\"silence\","));
    free(json);
    checkrun_free(&r);
    r = busy_with_pauses(10, 1, 10);
    CU_ASSERT_PTR_NULL(strstr(r.out, "no packet was captured"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "paused"));
    checkrun_free(&r);
}

/* The IPv4 identifications show that the requester sent nothing in its pauses. So no request was
 * lost before the capture point, and the report must not suppose a loss. */
static void a_pause_without_a_lost_request_is_idle_time(void)
{
    struct checkrun r = busy_with_pauses(2, 0, 0);

    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "No problem found: 1 connection, 400 packets, none "
                                         "failed, stuck or slow."));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "no request was in flight 9"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "lost before the capture point"));
    checkrun_free(&r);
    /* a program that pauses often: a lost packet in one of ten pauses is no reason to report it */
    r = busy_with_pauses(10, 0, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "No problem found"));
    checkrun_free(&r);
}

/* A requester pauses once for 60 ms. If the pause is inside a message, the program did not cause
 * it: the rest of the message was posted. The report must name the pause even if the capture is
 * short. The pause of a program in such a capture must not be reported. */
static void a_silence_inside_a_message_of_a_short_capture_is_reported(void)
{
    for (int inside = 0; inside < 2; inside++) {
        struct checkrun r;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_init(&g);
        for (int i = 0; i < 8; i++)
            flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_FIRST, g.mtu);
        flowgen_put(&g, 0, &p);
        if (inside)
            flowgen_wait(&g, 60000000);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_LAST, 64);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        if (!inside)
            flowgen_wait(&g, 60000000);
        flowgen_send(&g, 0, 64);
        checkrun_write_flow("inside.pcap", &g);
        r = checkrun("check $T/inside.pcap");
        EXPECT_EQ(strstr(r.out, "no packet was captured for 60.01 ms before frame 18 (100 % of the "
                                "time), inside a message: a request was lost before the capture "
                                "point") != NULL,
                  inside);
        EXPECT_EQ(strstr(r.out, "paused connections:\n  #0 ") != NULL, inside);
        EXPECT_EQ(strstr(r.out, "new requests of the program") != NULL, 0);
        if (r.status != 0 || (inside && !strstr(r.out, "a reason that the capture does not show")))
            suite_fail(__FILE__, __LINE__, "%s", r.out);
        checkrun_free(&r);
    }
}

/* Replaces the section header of a pcapng file in $T by the section header that rnic-run writes. */
static void record_by_rnic_run(const char *name, const char *comment)
{
    uint8_t section[256];
    size_t len = pcapng_section_with(section, sizeof(section), PCAPNG_RNIC, comment);
    FILE *in = fopen(checkrun_path(name), "rb"), *out = fopen(checkrun_path("rnic.pcapng"), "wb");
    uint8_t head[8] = {0};
    int c;

    if (in && out && fread(head, sizeof(head), 1, in) == 1) {
        (void)fseek(in, (long)roce_le32_get(head + 4), SEEK_SET);
        fwrite(section, len, 1, out);
        while ((c = fgetc(in)) != EOF)
            fputc(c, out);
    }
    CU_ASSERT_TRUE(in && out && fclose(in) == 0 && fclose(out) == 0);
}

/* If rnic-run recorded both programs on one host and dropped no packet, no request was lost before
 * the capture point: a silence is idle time of the program. */
static void silences_in_a_recording_of_rnic_run_are_idle_time(void)
{
    static const struct {
        const char *host, *comment;
        bool paused;
    } rows[] = {
        {"192.0.2.2", NULL, false},
        {"192.0.2.2", PCAPNG_RNIC_DROPPED "1 packet", true},
        {"192.0.2.1", NULL, true},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct checkrun r = busy_with_pauses(2, 0, 2);

        checkrun_free(&r);
        r = checkrun("edit -q --impair set=ip4.src=%s@dir=request --impair "
                     "set=ip4.dst=%s@dir=response $T/pauses.pcap $T/local.pcapng",
                     rows[i].host, rows[i].host);
        EXPECT_EQ(r.status, 0);
        checkrun_free(&r);
        record_by_rnic_run("local.pcapng", rows[i].comment);
        r = checkrun("check $T/rnic.pcapng");
        EXPECT_EQ(strstr(r.out, "paused connections:") != NULL, rows[i].paused);
        EXPECT_EQ(strstr(r.out, "timeout") != NULL, rows[i].paused);
        EXPECT_EQ(strstr(r.out, "No problem found: 1 connection, 400 packets, none failed, stuck "
                                "or slow.") != NULL,
                  !rows[i].paused);
        EXPECT_EQ(strstr(r.out, "no request was in flight 9") != NULL, !rows[i].paused);
        checkrun_free(&r);
    }
}

/* A requester sets AckReq in no packet of its last message, gets no response and retransmits after
 * a timeout. The report must name the missing AckReq, not a loss. */
static void timeout_without_ackreq_names_the_requester(void)
{
    for (unsigned asks = 0; asks < 2; asks++) {
        struct flowgen g;
        struct roce_pkt p;
        struct checkrun r, json;

        flowgen_init(&g);
        for (unsigned i = 0; i < 10; i++)
            flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        p.bth.ackreq = asks;
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 80000000);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        checkrun_write_flow("unasked.pcap", &g);
        r = checkrun("check $T/unasked.pcap");
        json = checkrun("check --json - $T/unasked.pcap");
        EXPECT_EQ(strstr(r.out, "1× no outstanding request of 192.0.2.1 asked for an "
                                "acknowledgement (AckReq), so 192.0.2.2 need not respond") != NULL,
                  !asks);
        EXPECT_EQ(strstr(r.out, "1× the request was captured, and no response") != NULL, asks);
        EXPECT_EQ(strstr(json.out, "because 192.0.2.1 did not ask for an acknowledgement "
                                   "(AckReq)") != NULL,
                  !asks);
        checkrun_free(&r);
        checkrun_free(&json);
    }
}

SUITE("replay.check_waits", TEST(long_wait_after_an_rnr_nak_is_explained),
      TEST(pauses_in_a_capture_of_one_direction_are_not_timeouts),
      TEST(waits_without_a_loss_are_reported),
      TEST(rare_silences_of_a_busy_connection_are_reported),
      TEST(a_pause_without_a_lost_request_is_idle_time),
      TEST(a_silence_inside_a_message_of_a_short_capture_is_reported),
      TEST(silences_in_a_recording_of_rnic_run_are_idle_time),
      TEST(timeout_without_ackreq_names_the_requester))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Captures in an unusual form: cut packets, headers that the network or a mirror port rewrote,
 * files that contain nothing to replay, and files that are not captures. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "infer/infer_setup.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"
#include "wire/bytes.h"

#define VA   UINT64_C(0x7f0000001000)
#define RKEY TALK_RKEY
#define ACK  0x1F

static void what_cannot_be_replayed_is_skipped(void)
{
    struct roce_pkt pkt;
    struct talk t;

    talk_init(&t);
    talk_expect_skip(&t, "no RoCE packet");

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_expect_skip(&t, "responses to these requests were not captured");

    talk_init(&t);
    talk_ack(&t, 7, ACK, 1);
    talk_expect_skip(&t, "requests of these responses were not captured");

    talk_init(&t);
    talk_send(&t, ROCE_OP_UC_SEND_LAST, 7, 10, 1);
    talk_expect_skip(&t, "no complete message");

    talk_init(&t);
    talk_packet(&t, &pkt, ROCE_OP_RD_SEND_ONLY, 7, true);
    talk_add(&t, &pkt);
    talk_expect_skip(&t, "RD");
}

/* Part of a direction, for example the packets before a gap, may have only responses. */
static void a_direction_without_requests_is_not_damaged(void)
{
    struct inferred_setup s = {0};
    struct replay r;
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    if (talk_replay(&t, &r, NULL) == 0) {
        struct recorded_direction only = r.connections.dir[0];

        only.pkt = &r.connections.dir[0].pkt[1];
        only.cnt = 1;
        EXPECT_EQ(infer_setup(&s, &r.trace, &only, 0, VIEW_OF_RESPONDER, &r.session.host[0].memory),
                  0);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(s.skip ? s.skip : "", "requests of these responses were not"));
        inferred_setup_free(&s);
    }
    replay_free(&r);
    talk_free(&t);
}

static void the_snap_length_hides_data_only(void)
{
    struct replay r;
    struct talk t;

    for (unsigned wrong = 0; wrong < 2; wrong++) {
        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 512, 512, 1);
        talk_ack(&t, 7, ACK, 1);
        talk_read(&t, 8, VA, RKEY, 512);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 2, 512, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 512, 1);
        talk_ack(&t, 9, ACK, 3 + wrong);
        for (size_t i = 0; i < t.capture.cnt; i++) {
            struct capture_frame *f = &t.capture.frame[i];

            f->wire_len = f->len;
            f->len = f->len > 96 ? 96 : f->len;
        }
        if (talk_replay(&t, &r, NULL) == 0) {
            EXPECT_EQ(report_verdict(&r), wrong ? VERDICT_FAIL : VERDICT_PASS);
            EXPECT_EQ(r.responses.result[0].compared, 3);
            EXPECT_EQ(r.session.dir[0].setup.cut, 3);
        }
        replay_free(&r);
        talk_free(&t);
    }
}

static void headers_that_the_snap_length_cuts_are_skipped(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t i = 0; i < 4; i++) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, i, VA, RKEY, 512, 512, 1);
        talk_ack(&t, i, ACK, i + 1);
    }
    for (size_t i = 0; i < t.capture.cnt; i++) {
        struct capture_frame *f = &t.capture.frame[i];

        f->wire_len = f->len;
        f->len = f->len > 64 ? 64 : f->len;
    }
    talk_expect_skip(&t, "cut packet headers");
}

/* ---- files that are not captures ---------------------------------------------------------------
 */

static void expect_fault(const void *bytes, size_t len, const char *words)
{
    char *path = capture_temp(bytes, len);
    struct error error = {""};
    struct replay r;

    CU_ASSERT(replay_run(&r, path, &(struct replay_options){.quirks = NULL}, &error) == -1);
    if (!strstr(error.text, path) || !strstr(error.text, words))
        suite_fail(__FILE__, __LINE__, "error \"%s\" lacks \"%s\"", error.text, words);
    replay_free(&r);
    unlink(path);
    free(path);
}

static void broken_files_are_refused(void)
{
    static const uint32_t head[6] = {0xA1B2C3D4, 2 | 4u << 16, 0, 0, 65535, 1};
    static const uint32_t wifi[6] = {0xA1B2C3D4, 2 | 4u << 16, 0, 0, 65535, 105};
    uint8_t file[512] = {0};
    uint32_t rec[4] = {0, 0, 60, 60};
    struct error error = {""};
    struct replay r;

    CU_ASSERT(replay_run(&r, "/nonexistent.pcap", &(struct replay_options){.quirks = NULL},
                         &error) == -1);
    CU_ASSERT(strstr(error.text, "/nonexistent.pcap") != NULL);
    replay_free(&r);
    expect_fault("", 0, "");
    expect_fault("this is not a capture at all", 28, "not a capture");
    expect_fault(wifi, sizeof(wifi), "is not supported");
    memcpy(file, head, sizeof(head));
    memcpy(file + 24, rec, sizeof(rec));
    expect_fault(file, 24 + 16 + 20, "frame 1");
    rec[2] = 0x7FFFFFFF;
    memcpy(file + 24 + 16 + 60, rec, sizeof(rec));
    expect_fault(file, 300, "frame 2");
}

/* A mirror port rewrote the headers: every frame has another source MAC address, and a UDP source
 * port that makes its ICRC wrong. The capture must be accepted. */
static void headers_rewritten_by_a_mirror_port_are_accepted(void)
{
    struct replay r;
    struct talk t;

    talk_whole(&t, 5);
    for (size_t i = 0; i < t.capture.cnt; i++) {
        roce_be_put(t.capture.frame[i].data + 6, 6, 0x0143c7ee0000 + i * 77);
        roce_be_put(t.capture.frame[i].data + 34, 2, ROCE_UDP_PORT);
    }
    EXPECT_EQ(talk_replay(&t, &r, NULL), 0);
    EXPECT_EQ(r.trace.icrcs_fixed, t.capture.cnt);
    EXPECT_EQ(r.trace.macs_vary, true);
    replay_free(&r);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

/* Simulators, FPGAs and hosts with checksum offload leave the IPv4 header checksum 0, so such
 * packets must not count as damaged. */
static void a_checksum_of_0_is_ignored(void)
{
    struct replay r;
    struct talk t;

    talk_whole(&t, 5);
    for (size_t i = 0; i < t.capture.cnt; i++)
        roce_be_put(t.capture.frame[i].data + 24, 2, 0);
    EXPECT_EQ(talk_replay(&t, &r, NULL), 0);
    EXPECT_EQ(r.trace.checksums_filled, t.capture.cnt);
    replay_free(&r);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

/* With two routers, the MAC address from which the packets of a host come differs from the one to
 * which packets for the host are sent. */
static void host_behind_two_routers_is_one_host(void)
{
    struct talk t;

    talk_whole(&t, 5);
    for (size_t i = 0; i < t.capture.cnt; i += 3)
        t.capture.frame[i].data[4] ^= 0x5A;
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

SUITE("replay.unusual_captures", TEST(headers_that_the_snap_length_cuts_are_skipped),
      TEST(what_cannot_be_replayed_is_skipped), TEST(a_direction_without_requests_is_not_damaged),
      TEST(the_snap_length_hides_data_only), TEST(headers_rewritten_by_a_mirror_port_are_accepted),
      TEST(a_checksum_of_0_is_ignored), TEST(host_behind_two_routers_is_one_host),
      TEST(broken_files_are_refused))

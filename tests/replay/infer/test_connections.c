/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connections: replay pairs and numbers the directions of every capture as `rocedrill check` does.
 */
#include "infer/connections.h"

#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

static const json_t *connection_of(const json_t *lines, uint32_t conn_index)
{
    const json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        const char *type = json_string_value(json_object_get(line, "type"));

        if (type && strcmp(type, "connection") == 0 &&
            json_integer_value(json_object_get(line, "connection")) == (json_int_t)conn_index)
            return line;
    }
    return NULL;
}

/* Returns whether a side of the connection in check's JSON has QPN `qpn`. */
static bool has_qpn(const json_t *conn, unsigned side, uint32_t qpn)
{
    const json_t *s = json_object_get(conn, side ? "b" : "a");

    return json_integer_value(json_object_get(s, "qpn")) == (json_int_t)qpn;
}

static json_int_t figure(const json_t *conn, unsigned side, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(conn, side ? "b" : "a"), name));
}

static bool has_direction(const struct connections *connections, json_int_t conn_index,
                          unsigned side)
{
    for (size_t i = 0; i < connections->dir_cnt; i++)
        if (connections->dir[i].conn_index == conn_index && connections->dir[i].side == side)
            return true;
    return false;
}

/* Asserts that each side of a paired RC or XRC connection has a direction if, according to the
 * counts of `check`, that side sent requests and received responses. */
static void expect_all(const char *path, const json_t *lines, const struct connections *connections)
{
    const json_t *conn;
    size_t i;

    json_array_foreach(lines, i, conn)
    {
        const char *svc = json_string_value(json_object_get(conn, "service"));
        json_int_t conn_index = json_integer_value(json_object_get(conn, "connection"));

        if (!json_is_true(json_object_get(conn, "paired")) || !svc ||
            (strcmp(svc, "RC") != 0 && strcmp(svc, "XRC") != 0))
            continue;
        for (unsigned side = 0; side < 2; side++)
            if (figure(conn, side, "packets") > figure(conn, side, "responses") &&
                figure(conn, !side, "responses") > 0 &&
                !has_direction(connections, conn_index, side))
                suite_fail(__FILE__, __LINE__,
                           "%s: connection %d has no direction whose requests side %u sends", path,
                           (int)conn_index, side);
    }
}

/* Asserts that each direction has the connection number and the QPNs that `check` prints. */
static void expect_same(const char *path_arg)
{
    char *path = strdup(path_arg); /* copied, because checkrun_path() returns a static buffer */
    struct checkrun run = checkrun("check -q --json - '%s'", path);
    json_t *lines = checkrun_json(run.out);
    struct connections connections = {0};
    struct error error = {""};
    struct trace trace;

    if (trace_read(&trace, path, &error) != 0 ||
        connections_find(&connections, &trace, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s: %s", path, error.text);
    for (size_t i = 0; i < connections.dir_cnt; i++) {
        const struct recorded_direction *dir = &connections.dir[i];
        const json_t *conn = connection_of(lines, dir->conn_index);

        if (!conn || !has_qpn(conn, !dir->side, trace.flow[dir->req_flow].dest_qp) ||
            !has_qpn(conn, dir->side, trace.flow[dir->resp_flow].dest_qp))
            suite_fail(__FILE__, __LINE__,
                       "%s: connection %" PRIu32 ": not QP 0x%06" PRIx32 " and 0x%06" PRIx32, path,
                       dir->conn_index, trace.flow[dir->resp_flow].dest_qp,
                       trace.flow[dir->req_flow].dest_qp);
    }
    expect_all(path, lines, &connections);
    connections_free(&connections);
    trace_free(&trace);
    json_decref(lines);
    checkrun_free(&run);
    free(path);
}

static void every_capture_has_the_connections_that_check_prints(void)
{
    glob_t found;

    CU_ASSERT_EQUAL_FATAL(glob(TRACES_DIR "/captures/*.pcap", 0, NULL, &found), 0);
    CU_ASSERT_TRUE(found.gl_pathc > 100);
    for (size_t i = 0; i < found.gl_pathc; i++)
        expect_same(found.gl_pathv[i]);
    globfree(&found);
}

/* Several QPs are used one after the other, all with the same starting PSN. Only source ports and
 * times show which response flow answers which requests. */
static void qps_that_start_at_one_psn_pair_by_source_port(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t i = 0; i < 6; i++) {
        t.requester_qp = t.responder_qp = 0x11 + i;
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 16777200, 100, 1);
        talk_ack(&t, 16777200, i % 2 ? 0x61 : 0x1F, !(i % 2));
    }
    capture_keep(&t.capture, checkrun_path("one-psn.pcap"));
    expect_same(checkrun_path("one-psn.pcap"));
    CHECKRUN_EXPECT("$R replay $T/one-psn.pcap", 0, "PASS (6 directions", "");
    talk_free(&t);
}

/* Adds a connection with a SEND in each direction. Only the SEND to the responder has a response.
 */
static void send_both_ways(struct talk *t, uint32_t requester_qp, uint32_t psn)
{
    struct roce_pkt pkt;

    t->requester_qp = requester_qp;
    t->responder_qp = requester_qp + 0x11;
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(t, 7, 0x1F, 1);
    talk_packet(t, &pkt, ROCE_OP_RC_SEND_ONLY, psn, false);
    pkt.bth.ackreq = true;
    talk_add(t, &pkt);
}

/* Adds an ACK to the responder's host with the destination QPN `qpn`, which no other packet of the
 * capture has. */
static uint32_t add_stray_ack(struct talk *t, uint32_t qpn, uint32_t psn)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_ACK, psn, true);
    pkt.bth.dest_qp = qpn;
    pkt.aeth.syndrome = 0x1F;
    pkt.aeth.msn = 1;
    return talk_add(t, &pkt);
}

/* The only response to a connection's requests has a wrong destination QP. Requests in the other
 * direction show the right QP. */
static void the_only_response_to_a_wrong_qp_differs(void)
{
    struct talk t;
    uint32_t frame;

    talk_init(&t);
    send_both_ways(&t, 0x11, 900);
    send_both_ways(&t, 0x31, 5000);
    frame = add_stray_ack(&t, 0x822, 900);
    talk_expect_diff(&t, NULL, frame, "bth.dest_qp");
    talk_free(&t);
}

/* The response to a retransmitted atomic has a wrong destination QP and a higher MSN than the
 * response to its first copy. Its IPv4 identification shows that it belongs to the responses before
 * and after it. */
static void a_repeated_response_to_a_wrong_qp_differs(void)
{
    struct roce_pkt pkt;
    struct talk t;
    uint32_t frame;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 10; psn++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
        talk_ack(&t, psn, 0x1F, psn + 1);
    }
    for (unsigned copy = 0; copy < 2; copy++) {
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 10, 0x1000, 7, 1, 0);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 11, 10, 1);
        talk_packet(&t, &pkt, ROCE_OP_RC_ATOMIC_ACK, 10, false);
        pkt.aeth = (struct roce_aeth){.syndrome = 0x1F, .msn = 11 + copy};
        pkt.bth.dest_qp ^= copy ? 0x800 : 0;
        frame = talk_add(&t, &pkt);
        talk_ack(&t, 11, 0x1F, 12);
        t.time += 100000000;
    }
    talk_number(&t, 0);
    talk_expect_diff(&t, NULL, frame, "bth.dest_qp");
    talk_free(&t);
}

/* Two connections wait for a response with the same PSN, and the response has an unknown
 * destination QP. The capture does not show to which connection it belongs, so it must be skipped.
 */
static void a_response_to_an_unknown_qp_that_fits_two_connections_is_skipped(void)
{
    struct replay replay;
    struct talk t;

    talk_init(&t);
    send_both_ways(&t, 0x11, 900);
    send_both_ways(&t, 0x31, 900);
    add_stray_ack(&t, 0x822, 900);
    CU_ASSERT(talk_replay(&t, &replay, NULL) == 0);
    CU_ASSERT_EQUAL(report_verdict(&replay), VERDICT_PASS);
    replay_free(&replay);
    talk_free(&t);
}

/* Appends a packet of a WRITE from the responder's host to the requester's QP. */
static void add_opposite_write(struct talk *t, uint8_t opcode, uint32_t psn, uint8_t seed)
{
    uint8_t payload[1024];
    struct roce_pkt pkt;

    memset(payload, seed, sizeof(payload));
    talk_packet(t, &pkt, opcode, psn, false);
    pkt.reth = (struct roce_reth){.va = 0x1000, .rkey = 7, .dma_len = 40000};
    pkt.payload = payload;
    pkt.payload_len = sizeof(payload);
    talk_add(t, &pkt);
}

/* The responder's host sends a WRITE that has the PSNs of a READ response. The capture lacks the
 * last packets of that response, and the responses to the WRITE. A single packet with these PSNs is
 * a READ response with a wrong opcode. */
static void a_write_with_the_psns_of_a_read_response_holds(void)
{
    struct replay replay;
    struct talk t;

    for (unsigned packets = 1; packets <= 4; packets++) {
        talk_init(&t);
        talk_read(&t, 100, 0x1000, 7, 6 * 1024);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 100, 1, 1024, 1);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_MIDDLE, 101, 1, 1024, 2);
        for (unsigned i = 0; i < packets; i++)
            add_opposite_write(&t, ROCE_OP_RC_WRITE_MIDDLE, 102 + i, (uint8_t)(3 + i));
        if (packets == 1) {
            talk_expect_diff(&t, NULL, 4, "bth.opcode");
        } else {
            CU_ASSERT(talk_replay(&t, &replay, NULL) == 0);
            EXPECT_EQ(report_verdict(&replay), VERDICT_PASS);
            replay_free(&replay);
        }
        talk_free(&t);
    }
}

SUITE("replay.connections", TEST(every_capture_has_the_connections_that_check_prints),
      TEST(qps_that_start_at_one_psn_pair_by_source_port),
      TEST(the_only_response_to_a_wrong_qp_differs),
      TEST(a_repeated_response_to_a_wrong_qp_differs),
      TEST(a_response_to_an_unknown_qp_that_fits_two_connections_is_skipped),
      TEST(a_write_with_the_psns_of_a_read_response_holds))

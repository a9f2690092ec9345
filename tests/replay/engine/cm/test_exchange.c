/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of CM exchanges. Recorded exchanges pass at both ends. Altered exchanges differ in the
 * altered message. Exchanges that lack messages never differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/cm/cm_exchange.h"
#include "engine/diff_rule.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"
#include "wire/gid.h"

static bool load(struct capture *c, const char *name)
{
    char path[512];

    memset(c, 0, sizeof(*c));
    snprintf(path, sizeof(path), "%s/captures/%s.pcap", TRACES_DIR, name);
    if (capture_load(c, path))
        return true;
    suite_fail(__FILE__, __LINE__, "%s cannot be read", path);
    return false;
}

static bool run(const struct capture *c, struct replay *r)
{
    struct error error = {""};

    if (capture_replay(c, &(struct replay_options){.quirks = "linux-rxe-6.1"}, r, &error) == 0)
        return true;
    suite_fail(__FILE__, __LINE__, "%s", error.text);
    return false;
}

/* Replaces the CM message in frame number `frame`, counted from 1, by the result of `change`. */
static void alter(struct capture *c, uint32_t frame, void (*change)(struct roce_cm_msg *))
{
    struct capture_frame *f = &c->frame[frame - 1];
    uint8_t mad[ROCE_MAD_SIZE], buf[ROCE_FRAME_MAX];
    struct roce_cm_msg msg;
    struct roce_pkt pkt;
    int len;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) != 0 ||
        roce_cm_msg_of_pkt(&msg, &pkt) != 0)
        abort();
    change(&msg);
    if (roce_cm_msg_build(&msg, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        abort();
    pkt.payload = mad;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    if (len < 0)
        abort();
    capture_put(c, frame - 1, buf, (size_t)len);
}

static void expect_seen(const char *name, uint32_t frame, void (*change)(struct roce_cm_msg *),
                        const char *field, const char *rule)
{
    struct capture c;
    struct replay r;
    bool seen = false;

    if (!load(&c, name))
        return;
    alter(&c, frame, change);
    if (run(&c, &r)) {
        EXPECT_EQ(report_verdict(&r), VERDICT_FAIL);
        for (size_t i = 0; i < r.cm_exchanges.diff_cnt; i++)
            seen |= r.trace.pkt[r.cm_exchanges.diff[i].pkt].frame == frame &&
                    strcmp(r.cm_exchanges.diff[i].field, field) == 0 &&
                    strcmp(diff_rule_exchange(&r.cm_exchanges, &r.cm_exchanges.diff[i]), rule) == 0;
        if (!seen) {
            suite_fail(__FILE__, __LINE__, "%s frame %u: no difference in %s by %s", name, frame,
                       field, rule);
            report_text(stdout, &r, &(struct report_options){.ladder = false});
        }
    }
    replay_free(&r);
    capture_free(&c);
}

static void other_tid(struct roce_cm_msg *msg)
{
    msg->mad.tid ^= 0x100;
}

static void other_rep_id(struct roce_cm_msg *msg)
{
    msg->rep.remote_comm_id ^= 0x10;
}

static void other_rtu_id(struct roce_cm_msg *msg)
{
    msg->rtu.remote_comm_id ^= 0x10;
}

static void other_drep_id(struct roce_cm_msg *msg)
{
    msg->drep.local_comm_id ^= 0x10;
}

static void other_dreq_qpn(struct roce_cm_msg *msg)
{
    msg->dreq.remote_qpn ^= 1;
}

static void more_resources(struct roce_cm_msg *msg)
{
    msg->rep.initiator_depth = 200;
}

static void of_the_rep(struct roce_cm_msg *msg)
{
    msg->rej.message = 1;
}

static void of_sidr(struct roce_cm_msg *msg)
{
    msg->sidr_rep.request_id ^= 1;
}

static void altered_messages_are_seen(void)
{
    expect_seen("cm-connect-disconnect", 2, other_tid, "mad.tid", "ALL-CM-224");
    expect_seen("cm-connect-disconnect", 3, other_tid, "mad.tid", "ALL-CM-224");
    expect_seen("cm-connect-disconnect", 5, other_tid, "mad.tid", "ALL-CM-224");
    expect_seen("cm-connect-disconnect", 3, other_rtu_id, "remote_comm_id", "ALL-CM-225");
    expect_seen("cm-connect-disconnect", 4, other_dreq_qpn, "remote_qpn", "ALL-CM-225");
    expect_seen("cm-connect-disconnect", 2, more_resources, "initiator_depth", "ALL-CM-238");
    expect_seen("cm-reject", 2, of_the_rep, "message", "ALL-CM-235");
    expect_seen("cm-reject-no-listener", 2, of_the_rep, "message", "ALL-CM-235");
    expect_seen("cm-connect-disconnect", 2, other_rep_id, "remote_comm_id", "ALL-CM-225");
    expect_seen("cm-connect-disconnect", 5, other_drep_id, "local_comm_id", "ALL-CM-225");
    expect_seen("udaddy", 2, of_sidr, "request_id", "ALL-CM-244");
}

/* Complete recorded exchanges must pass. They must also pass if any one or two of their frames are
 * missing. */
static void missing_messages_never_differ(void)
{
    static const char *const names[] = {
        "cm-connect-disconnect", "cm-lost-dreq", "cm-lost-peer", "cm-lost-rep",
        "cm-lost-req",           "cm-lost-rtu",  "cm-reject",    "udaddy"};

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        struct capture all;

        if (!load(&all, names[n]))
            continue;
        for (size_t a = 0; a <= all.cnt; a++)
            for (size_t b = a; b <= all.cnt; b++) {
                struct capture c = {0};
                struct replay r;

                for (size_t i = 0; i < all.cnt; i++)
                    if (i != a && i != b)
                        capture_add(&c, all.frame[i].data, all.frame[i].len, all.frame[i].time);
                if (c.cnt && run(&c, &r)) {
                    for (size_t i = 0; i < r.cm_exchanges.cnt; i++)
                        for (unsigned role = 0; role < 2; role++)
                            if (r.cm_exchanges.at[i].end[role].verdict == VERDICT_FAIL) {
                                suite_fail(__FILE__, __LINE__, "%s without frames %zu, %zu",
                                           names[n], a + 1, b + 1);
                                report_text(stdout, &r, &(struct report_options){.ladder = false});
                            }
                    replay_free(&r);
                }
                capture_free(&c);
            }
        capture_free(&all);
    }
}

/* Gives both ends the address of the sender of the first frame: server and client run on one host.
 */
static void move_to_one_host(struct capture *c)
{
    uint8_t mad[ROCE_MAD_SIZE], buf[ROCE_FRAME_MAX];
    struct roce_cm_msg msg;
    struct roce_pkt pkt;
    uint8_t addr[4];

    for (uint32_t i = 0; i < c->cnt; i++) {
        const struct capture_frame *f = &c->frame[i];
        int len;

        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) != 0)
            abort();
        if (i == 0)
            memcpy(addr, pkt.ip4.src, 4);
        memcpy(pkt.ip4.src, addr, 4);
        memcpy(pkt.ip4.dst, addr, 4);
        if (roce_cm_msg_of_pkt(&msg, &pkt) == 0 && msg.kind == ROCE_CM_REQ) {
            roce_gid_of_ip4(addr, msg.req.primary_remote_gid);
            pkt.payload = mad;
            roce_cm_msg_build(&msg, mad, sizeof(mad));
        }
        len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
        if (len < 0)
            abort();
        capture_put(c, i, buf, (size_t)len);
    }
}

static void both_ends_hold(void)
{
    static const struct {
        const char *name;
        uint32_t compared[2], lost[2];
    } rows[] = {
        {"cm-connect-disconnect", {3, 2}, {0, 0}},
        {"cm-lost-dreq", {4, 2}, {0, 0}},
        {"cm-lost-peer", {5, 2}, {0, 2}},
        {"cm-lost-rep", {3, 3}, {0, 0}},
        {"cm-lost-req", {4, 2}, {0, 0}},
        {"cm-lost-rtu", {4, 3}, {0, 1}},
        {"cm-reject", {1, 1}, {0, 0}},
        {"cm-reject-no-listener", {1, 1}, {0, 0}},
        {"udaddy", {1, 1}, {0, 0}},
    };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = i / 2;
        struct capture c;
        struct replay r;

        if (!load(&c, rows[n].name))
            continue;
        if (i % 2)
            move_to_one_host(&c);
        if (run(&c, &r)) {
            EXPECT_EQ(r.cm_exchanges.cnt, 1);
            for (unsigned role = 0; role < 2 && r.cm_exchanges.cnt == 1; role++) {
                const struct cm_exchange_end *end = &r.cm_exchanges.at[0].end[role];

                EXPECT_EQ(end->verdict, VERDICT_PASS);
                EXPECT_EQ(end->compared, rows[n].compared[role]);
                EXPECT_EQ(end->lost, rows[n].lost[role]);
                EXPECT_EQ(end->stopped != NULL, false);
            }
        }
        replay_free(&r);
        capture_free(&c);
    }
}

static uint64_t req_tid;

static void note_tid(struct roce_cm_msg *msg)
{
    req_tid = msg->mad.tid;
}

static void into_rej(struct roce_cm_msg *msg)
{
    const struct roce_cm_drep drep = msg->drep;

    roce_cm_msg_init(msg, ROCE_CM_REJ, req_tid);
    msg->rej.local_comm_id = drep.local_comm_id;
    msg->rej.remote_comm_id = drep.remote_comm_id;
    msg->rej.message = 2; /* value for "neither REQ nor REP" */
    msg->rej.reason = ROCE_CM_REJ_CONSUMER;
}

/* The passive program destroys its id before the RTU arrives, so Linux sends a REJ. The active end
 * sends its DREQ before the REJ arrives. Both ends must pass, each with one lost message. */
static void a_rej_that_crosses_other_messages_holds(void)
{
    static const unsigned order[] = {0, 1, 2, 4, 3}; /* frames of the capture in their new order:
                                                      * REQ, REP, RTU, REJ, DREQ */
    struct capture all, c = {0};
    struct replay r;

    if (!load(&all, "cm-connect-disconnect"))
        return;
    alter(&all, 1, note_tid);
    alter(&all, 5, into_rej);
    for (unsigned i = 0; i < 5; i++)
        capture_add(&c, all.frame[order[i]].data, all.frame[order[i]].len, all.frame[i].time);
    if (run(&c, &r)) {
        EXPECT_EQ(r.cm_exchanges.cnt, 1);
        for (unsigned role = 0; role < 2 && r.cm_exchanges.cnt == 1; role++) {
            EXPECT_EQ(r.cm_exchanges.at[0].end[role].verdict, VERDICT_PASS);
            EXPECT_EQ(r.cm_exchanges.at[0].end[role].compared, role == CM_ACTIVE ? 3 : 2);
            EXPECT_EQ(r.cm_exchanges.at[0].end[role].lost, 1);
        }
    }
    replay_free(&r);
    capture_free(&c);
    capture_free(&all);
}

static uint8_t rej_reason;

static void into_rej_of_the_rep(struct roce_cm_msg *msg)
{
    const struct roce_cm_dreq dreq = msg->dreq;

    roce_cm_msg_init(msg, ROCE_CM_REJ, req_tid);
    msg->rej.remote_comm_id = dreq.remote_comm_id;
    msg->rej.message = 1; /* value for REP */
    msg->rej.reason = ROCE_CM_REJ_INVALID_COMM_ID;
}

static void into_rej_without_peer(struct roce_cm_msg *msg)
{
    const struct roce_cm_rtu rtu = msg->rtu;

    roce_cm_msg_init(msg, ROCE_CM_REJ, req_tid);
    msg->rej.local_comm_id = rtu.local_comm_id;
    msg->rej.message = 2; /* value for "neither REQ nor REP" */
    msg->rej.reason = rej_reason;
}

/* The active program destroys its id, or gives up, before its CM handles the REP. So its CM sends a
 * REJ without the ID of the peer (user: ib_read_bw -R with several QPs, of which one is rejected).
 * The REJ was captured after or before the REP, and the active CM may reject the late REP, too.
 * Both ends must pass, the active one with the REP that it did not receive in time. */
static void a_rej_that_crosses_the_rep_holds(void)
{
    static const struct {
        const char *frames; /* of cm-connect-disconnect, with the RTU as REJ and the DREQ as the
                             * second REJ */
        uint8_t reason;
    } rows[] = {{"\1\2\3", ROCE_CM_REJ_TIMEOUT},    {"\1\3\2", ROCE_CM_REJ_TIMEOUT},
                {"\1\2\3", ROCE_CM_REJ_CONSUMER},   {"\1\3\2", ROCE_CM_REJ_CONSUMER},
                {"\1\2\3\4", ROCE_CM_REJ_TIMEOUT},  {"\1\3\2\4", ROCE_CM_REJ_TIMEOUT},
                {"\1\3\2\4", ROCE_CM_REJ_CONSUMER}, {"\1\1\3\2\2", ROCE_CM_REJ_TIMEOUT}};

    for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
        const char *frames = rows[n].frames;
        struct capture all, c = {0};
        struct replay r;

        if (!load(&all, "cm-connect-disconnect"))
            return;
        alter(&all, 1, note_tid);
        rej_reason = rows[n].reason;
        alter(&all, 3, into_rej_without_peer);
        alter(&all, 4, into_rej_of_the_rep);
        for (size_t i = 0; i < strlen(frames); i++) {
            const struct capture_frame *f = &all.frame[frames[i] - 1];

            capture_add(&c, f->data, f->len, all.frame[0].time + i * 1000000);
        }
        if (run(&c, &r)) {
            EXPECT_EQ(r.cm_exchanges.cnt, 1);
            for (unsigned role = 0; role < 2 && r.cm_exchanges.cnt == 1; role++) {
                if (r.cm_exchanges.at[0].end[role].verdict != VERDICT_PASS)
                    suite_fail(__FILE__, __LINE__, "row %zu, role %u: %d", n, role,
                               r.cm_exchanges.at[0].end[role].verdict);
            }
        }
        replay_free(&r);
        capture_free(&c);
        capture_free(&all);
    }
}

static void other_rej_id(struct roce_cm_msg *msg)
{
    msg->rej.local_comm_id += 1;
}

static void no_rej_id(struct roce_cm_msg *msg)
{
    msg->rej.local_comm_id = 0;
    msg->rej.reason = ROCE_CM_REJ_INVALID_SERVICE_ID;
    memset(msg->rej.private_data, 0, sizeof(msg->rej.private_data)); /* the REJ has no private data,
                                                                      * because the CM sent it, not
                                                                      * a program */
}

/* Linux forgets an exchange when it sends a REJ. So it answers a copy of the REQ, captured after
 * the REJ, as a new REQ. The replay must count this copy and its answer as a second CM exchange. */
static void a_req_copied_after_a_rej_begins_another_exchange(void)
{
    void (*const second[])(struct roce_cm_msg *) = {other_rej_id, no_rej_id};

    for (unsigned n = 0; n < 2; n++) {
        struct capture all, c = {0};
        struct replay r;

        if (!load(&all, "cm-reject"))
            return;
        for (unsigned i = 0; i < 4; i++)
            capture_add(&c, all.frame[i % 2].data, all.frame[i % 2].len,
                        all.frame[i % 2].time + i / 2 * 1000000);
        alter(&c, 4, second[n]);
        if (run(&c, &r)) {
            EXPECT_EQ(r.cm_exchanges.cnt, 2);
            for (unsigned i = 0; i < r.cm_exchanges.cnt * 2; i++) {
                EXPECT_EQ(r.cm_exchanges.at[i / 2].end[i % 2].verdict, VERDICT_PASS);
                EXPECT_EQ(r.cm_exchanges.at[i / 2].end[i % 2].compared, 1);
            }
        }
        replay_free(&r);
        capture_free(&c);
        capture_free(&all);
    }
}

static void no_id(struct roce_cm_msg *msg)
{
    msg->rej.local_comm_id = 0;
}

static void redirected(struct roce_cm_msg *msg)
{
    msg->rej.reason = 24; /* the REJ redirects the port to the GID in `info` */
    msg->rej.info_len = 16;
    memset(msg->rej.info, 0x20, 16);
}

/* The REJ for a REQ may lack the local communication ID: Linux sends one only if it has sent an MRA
 * before. The REJ may also contain additional information about its reason. Both must pass. */
static void a_rej_may_lack_an_id_or_explain_its_reason(void)
{
    void (*const change[])(struct roce_cm_msg *) = {no_id, redirected};

    for (unsigned n = 0; n < 2; n++) {
        struct capture c;
        struct replay r;

        if (!load(&c, "cm-reject"))
            return;
        alter(&c, 2, change[n]);
        if (run(&c, &r))
            for (unsigned role = 0; role < 2 && r.cm_exchanges.cnt == 1; role++)
                EXPECT_EQ(r.cm_exchanges.at[0].end[role].verdict, VERDICT_PASS);
        EXPECT_EQ(r.cm_exchanges.cnt, 1);
        replay_free(&r);
        capture_free(&c);
    }
}

static struct roce_cm_drep sent_drep;
static uint32_t req_qpn;

static void note_req(struct roce_cm_msg *msg)
{
    req_qpn = msg->req.local_qpn;
}

static void drep_into_dreq(struct roce_cm_msg *msg)
{
    sent_drep = msg->drep;
    roce_cm_msg_init(msg, ROCE_CM_DREQ, 77);
    msg->dreq.local_comm_id = sent_drep.local_comm_id;
    msg->dreq.remote_comm_id = sent_drep.remote_comm_id;
    msg->dreq.remote_qpn = req_qpn;
}

static void dreq_into_drep(struct roce_cm_msg *msg)
{
    const struct roce_cm_dreq dreq = msg->dreq;

    roce_cm_msg_init(msg, ROCE_CM_DREP, 77);
    msg->drep.local_comm_id = dreq.local_comm_id;
    msg->drep.remote_comm_id = dreq.remote_comm_id;
}

/* Appends a copy of a frame with another IPv4 identification. Unless `cm` is set, the copy is a MAD
 * of another management class. */
static void add_numbered(struct capture *c, const struct capture_frame *f, bool cm, uint16_t id)
{
    uint8_t mad[ROCE_MAD_SIZE], buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    int len;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) != 0)
        abort();
    memcpy(mad, pkt.payload, sizeof(mad));
    if (!cm)
        mad[1] = 0x04; /* performance management */
    pkt.payload = mad;
    pkt.ip4.id = id;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    if (len < 0)
        abort();
    capture_add(c, buf, (size_t)len, c->cnt ? c->frame[c->cnt - 1].time + 1000 : f->time);
}

/* Both ends send a DREQ at the same time. The DREP of the active end overtakes its DREQ in the
 * network. Only the IPv4 identifications show that the active end sent the DREQ first. */
static void a_drep_that_overtakes_a_dreq_holds(void)
{
    for (int numbered = 1; numbered >= 0; numbered--) {
        struct capture all, c = {0};
        struct replay r;

        if (!load(&all, "cm-connect-disconnect"))
            return;
        alter(&all, 1, note_req);
        for (uint16_t i = 0; i < 20; i++)
            add_numbered(&c, &all.frame[0], false, 1000u + i);
        for (uint16_t i = 0; i < 3; i++)
            add_numbered(&c, &all.frame[i], true, 1020u + i);
        add_numbered(&c, &all.frame[4], true, 0);
        add_numbered(&c, &all.frame[3], true, 1031);
        add_numbered(&c, &all.frame[3], true, numbered ? 1030 : 1032);
        add_numbered(&c, &all.frame[4], true, 0);
        alter(&c, 24, drep_into_dreq);
        alter(&c, 25, dreq_into_drep);
        if (run(&c, &r)) {
            EXPECT_EQ(r.cm_exchanges.cnt, 1);
            EXPECT_EQ(r.cm_exchanges.at[0].end[CM_ACTIVE].verdict,
                      numbered ? VERDICT_PASS : VERDICT_FAIL);
            EXPECT_EQ(r.cm_exchanges.at[0].end[CM_PASSIVE].verdict, VERDICT_PASS);
        }
        replay_free(&r);
        capture_free(&c);
        capture_free(&all);
    }
}

SUITE("replay.exchange", TEST(both_ends_hold), TEST(a_rej_that_crosses_other_messages_holds),
      TEST(a_rej_that_crosses_the_rep_holds),
      TEST(a_req_copied_after_a_rej_begins_another_exchange), TEST(altered_messages_are_seen),
      TEST(missing_messages_never_differ), TEST(a_drep_that_overtakes_a_dreq_holds),
      TEST(a_rej_may_lack_an_id_or_explain_its_reason))

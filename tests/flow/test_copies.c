/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests copies: packets that the capture contains twice, for example because both ports of a switch
 * are mirrored. Copies must not count as retransmissions, and retransmissions must not count as
 * copies.
 */
#include <stdlib.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

/* An ACK, a request after a gap, and the NAK for the gap pass the first capture point. Then the
 * second point captures the ACK and the NAK again. So the second NAK in the capture is a copy and
 * must not be reported. With `wrong`, the responder really sent the NAK twice, which must be
 * reported. */
static void nak_captured_twice_is_a_copy(void)
{
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        struct flowgen g;
        struct roce_pkt p;
        size_t ack;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        (void)flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p);
        g.conn.msn[0] -= 2;
        ack = g.frame_cnt - 2;
        flowgen_ack(&g, 1, p.bth.psn - 1, NAK_SEQ);
        for (size_t i = ack; i < ack + 3; i += 2) {
            if (i > ack && wrong) {
                flowgen_ack(&g, 1, p.bth.psn - 1, NAK_SEQ);
                continue;
            }
            g.now += g.step;
            CU_ASSERT_FATAL(g.frame_cnt < g.frame_cap);
            g.frame[g.frame_cnt] = g.frame[i];
            g.frame[g.frame_cnt++].time = g.now;
        }
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_TWICE), wrong);
        if (!wrong)
            EXPECT_EQ(v.conn[0].side[1].psn_naks, 1);
    }
}

/* Two capture points capture each NAK. The second point captures the NAKs for two gaps only after
 * the first point has captured both. There, the first NAK is only a late copy, and must not be
 * reported. With `stale`, the responder really sends an outdated NAK, which must be reported. */
static void nak_captured_late_is_a_copy(void)
{
    for (unsigned stale = 0; stale < 2; stale++) {
        struct flowgen g;
        size_t nak[2];

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        for (unsigned i = 0; i < 2; i++) {
            struct roce_pkt lost = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

            flowgen_put(&g, 0, &p);
            g.conn.msn[0] -= 2;
            nak[i] = g.frame_cnt;
            flowgen_ack(&g, 1, lost.bth.psn, NAK_SEQ);
            flowgen_put(&g, 0, &lost);
            flowgen_put(&g, 0, &p);
            g.conn.msn[0] += 2;
            flowgen_ack_all(&g, 1);
        }
        if (stale) {
            struct roce_pkt p;

            CU_ASSERT_FATAL(roce_pkt_parse(&p, ROCE_LINK_ETHERNET, g.bytes + g.frame[nak[0]].off,
                                           g.frame[nak[0]].len, g.frame[nak[0]].len) == 0);
            flowgen_ack(&g, 1, p.bth.psn, NAK_SEQ);
        }
        for (unsigned i = 0; i < 2 && !stale; i++) {
            g.now += g.step;
            CU_ASSERT_FATAL(g.frame_cnt < g.frame_cap);
            g.frame[g.frame_cnt] = g.frame[nak[i]];
            g.frame[g.frame_cnt++].time = g.now;
        }
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_STALE), stale);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_TWICE), false);
        EXPECT_EQ(v.conn[0].side[1].copies, stale ? 0 : 2);
    }
}

/* A second NAK for one gap must be an ERROR, even if the network copied earlier packets. It makes
 * no difference whether the capture contains these copies. */
static void second_nak_is_an_error_despite_copies(void)
{
    for (uint32_t head = 0; head < 5; head += 4) {
        struct judge_spoil late = {.head = head};
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        for (unsigned i = 0; i < 2; i++) {
            CU_ASSERT_FATAL(g.frame_cnt < g.frame_cap);
            g.frame[g.frame_cnt] = g.frame[i];
            g.frame[g.frame_cnt++].time = g.now += g.step;
        }
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        for (unsigned i = 0; i < 2; i++) {
            p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
            flowgen_put(&g, 0, &p);
        }
        g.conn.msn[0] -= 2;
        flowgen_ack(&g, 1, p.bth.psn - 1, NAK_SEQ);
        flowgen_ack(&g, 1, p.bth.psn - 1, NAK_SEQ);
        judge(&g, NULL, &late, &v);
        flowgen_free(&g);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_NAK_TWICE), ROCE_SEV_ERROR);
    }
}

/* Begins a conversation with `cnt` SENDs without IPv4 identifications, 1 us apart. The first
 * `copies` SENDs are captured twice. */
static void put_unnumbered(struct flowgen *g, struct roce_pkt *p, unsigned cnt, unsigned copies)
{
    flowgen_begin(g);
    g->step = 1000;
    for (unsigned k = 0; k < cnt; k++) {
        g->ip_id[0] = 0;
        p[k] = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(g, 0, &p[k]);
        if (k < copies)
            flowgen_copy(g);
    }
}

/* A requester without IPv4 identifications goes back some microseconds after the first
 * transmission. The packets of the go-back must not count as copies, even if the network lost one
 * of them before the capture point. With `mirrored`, two mirror ports capture each packet of the
 * go-back: then the second capture of each packet must count as a copy. */
static void fast_go_back_is_no_copy(void)
{
    static const struct {
        uint8_t syndrome;
        bool mirrored;
    } rows[] = {{ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, false},
                {ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, true},
                {ROCE_SYNDROME_RNR | 1, false}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum { PACKETS = 8, LOST_AGAIN = 3 };
        const struct roce_endpoint_summary *a = &v.conn[0].side[0];
        struct roce_pkt p[PACKETS];
        struct flowgen g;
        uint64_t packets = 0;

        put_unnumbered(&g, p, PACKETS, 0);
        flowgen_ack(&g, 1, p[0].bth.psn, rows[i].syndrome);
        flowgen_wait(&g, 12000);
        for (unsigned k = 0; k < PACKETS; k++) {
            g.ip_id[0] = 0;
            if (k == LOST_AGAIN)
                continue;
            flowgen_put(&g, 0, &p[k]);
            if (rows[i].mirrored)
                flowgen_copy(&g);
        }
        judge_end(&g, &v);
        for (int c = 0; c < ROCE_CAUSE_CNT; c++)
            packets += a->retx[c].packets;
        EXPECT_EQ(packets, PACKETS - 1);
        EXPECT_EQ(a->copies, rows[i].mirrored ? PACKETS - 1 : 0);
    }
}

/* Only the requests are captured, and the requester goes back some microseconds after the first
 * transmission. The capture has no copies of the packets before the go-back, so the packets of the
 * go-back must not count as copies. */
static void go_back_without_responses_is_no_copy(void)
{
    enum { PACKETS = 12, FIRST = 6 };
    const struct roce_endpoint_summary *a = &v.conn[0].side[0];
    struct roce_pkt p[PACKETS];
    struct flowgen g;

    put_unnumbered(&g, p, PACKETS, 0);
    for (unsigned k = FIRST; k < PACKETS; k++) {
        g.ip_id[0] = 0;
        flowgen_put(&g, 0, &p[k]);
    }
    judge_end(&g, &v);
    EXPECT_EQ(a->copies, 0);
    EXPECT_EQ(a->retx[ROCE_CAUSE_UNKNOWN].packets, PACKETS - FIRST);
}

/* The first response to a READ is lost, and the requester sends the same READ again some
 * microseconds after the first time. */
static void restarted_read_is_no_copy(void)
{
    const struct roce_endpoint_summary *a = &v.conn[0].side[0];
    struct roce_pkt read;
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    g.step = 1000;
    g.ip_id[0] = 0;
    read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 4 * g.mtu);
    flowgen_put(&g, 0, &read);
    g.conn.msn[0] = 2;
    flowgen_read_resp(&g, 1, read.bth.psn, 4 * g.mtu, 1, 3);
    g.ip_id[0] = 0;
    flowgen_put(&g, 0, &read);
    flowgen_read_resp(&g, 1, read.bth.psn, 4 * g.mtu, 0, 3);
    judge_end(&g, &v);
    EXPECT_EQ(a->copies, 0);
    EXPECT_EQ(a->retx[ROCE_CAUSE_READ_GAP].packets, 1);
}

/* Two mirror ports capture each packet of a requester without IPv4 identifications. The last packet
 * before the go-back is captured a second time after the start of the go-back. This second capture
 * is a copy and does not end the go-back. */
static void copy_after_start_of_go_back_is_a_copy(void)
{
    enum { PACKETS = 4 };
    const struct roce_endpoint_summary *a = &v.conn[0].side[0];
    struct roce_pkt p[PACKETS];
    struct flowgen g;

    put_unnumbered(&g, p, PACKETS, PACKETS - 1);
    flowgen_ack(&g, 1, p[0].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    for (unsigned k = 0; k < PACKETS; k++) {
        g.ip_id[0] = 0;
        flowgen_put(&g, 0, &p[k]);
        g.ip_id[0] = 0;
        if (k == 0)
            flowgen_put(&g, 0, &p[PACKETS - 1]);
    }
    judge_end(&g, &v);
    EXPECT_EQ(a->copies, PACKETS);
    EXPECT_EQ(a->retx[ROCE_CAUSE_SEQ_NAK].go_backs, 1);
    EXPECT_EQ(a->retx[ROCE_CAUSE_SEQ_NAK].packets, PACKETS);
}

/* Two mirror ports capture each UD or UC packet, 4 us apart. The packets come in bursts of two. The
 * analysis engine must count each packet once, and count its second capture as a copy. With
 * `no_id`, a device without IPv4 identifications sends the same packets. */
static void mirrored_datagrams_are_counted_once(void)
{
    for (unsigned no_id = 0; no_id < 2; no_id++)
        for (unsigned uc = 0; uc < 2; uc++) {
            struct flowgen g;
            uint64_t sends = 0, copies = 0;

            flowgen_begin(&g);
            g.svc = uc ? ROCE_SVC_UC : ROCE_SVC_UD;
            for (unsigned i = 0; i < 8; i++) {
                struct roce_pkt p[2];

                for (unsigned k = 0; k < 2; k++)
                    p[k] = flowgen_req(&g, 0, uc ? ROCE_OP_RC_SEND_ONLY : ROCE_OP_UD_SEND_ONLY, 64);
                g.step = 2000;
                for (unsigned k = 0; k < 4; k++) { /* both packets, then both copies */
                    if (k == 2)
                        g.ip_id[0] = (uint16_t)(g.ip_id[0] - 2);
                    if (no_id)
                        g.ip_id[0] = 0;
                    flowgen_put(&g, 0, &p[k % 2]);
                }
                flowgen_wait(&g, 1000000);
            }
            judge_end(&g, &v);
            for (uint32_t c = 0; c < v.conn_cnt; c++)
                for (int s = 0; s < 2; s++) {
                    sends += v.conn[c].side[s].oper[ROCE_OPER_SEND].messages;
                    copies += v.conn[c].side[s].copies;
                }
            EXPECT_EQ(sends, 16);
            EXPECT_EQ(copies, 16);
        }
}

/* Two mirror ports capture each packet of a connection. Each response must be counted once,
 * beginning with the first one, even if the copies come in bursts or have no IPv4
 * identifications. */
static void mirrored_responses_are_counted_once(void)
{
    for (unsigned no_id = 0; no_id < 2; no_id++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0], *b = &v.conn[0].side[1];
        struct flowgen g;

        flowgen_begin(&g);
        g.step = 2000;
        for (unsigned i = 0; i < 8; i++) {
            struct roce_pkt send = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            struct roce_pkt read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2 * g.mtu);
            uint16_t id[2];

            for (unsigned k = 0; k < 4; k++) { /* the packets, then their copies */
                if (k == 0)
                    memcpy(id, g.ip_id, sizeof(id));
                if (k == 2 && !no_id)
                    memcpy(g.ip_id, id, sizeof(id));
                if (no_id)
                    g.ip_id[0] = g.ip_id[1] = 0;
                flowgen_put(&g, 0, k % 2 ? &read : &send);
            }
            memcpy(id, g.ip_id, sizeof(id));
            for (unsigned k = 0; k < 6; k++) {
                if (k == 3 && !no_id)
                    memcpy(g.ip_id, id, sizeof(id));
                if (no_id)
                    g.ip_id[0] = g.ip_id[1] = 0;
                g.conn.msn[0] = 2 * i + (k % 3 ? 2 : 1);
                if (k % 3 == 0)
                    flowgen_ack(&g, 1, send.bth.psn, ACK_31);
                else
                    flowgen_read_resp(&g, 1, read.bth.psn, 2 * g.mtu, k % 3 - 1, k % 3 - 1);
            }
            flowgen_wait(&g, 1000000);
        }
        judge_end(&g, &v);
        EXPECT_EQ(a->copies, 16);
        EXPECT_EQ(b->copies, 24);
        EXPECT_EQ(a->duplicates, 0);
        EXPECT_EQ(b->repeated_responses, 0);
        EXPECT_EQ(a->oper[ROCE_OPER_READ].completed, 8);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_DUPLICATE), false);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RESP_DUPLICATE), false);
    }
}

static void mirrored_cm_messages_are_no_retransmissions(void)
{
    struct flowgen g;
    struct roce_cm_msg req, rep;

    flowgen_begin(&g);
    req = flowgen_cm_req(&g);
    rep = flowgen_cm_rep(&g);
    flowgen_cm(&g, 0, &req);
    flowgen_copy(&g);
    flowgen_cm(&g, 1, &rep);
    flowgen_copy(&g);
    judge_end(&g, &v);
    EXPECT_EQ(v.cm_msgs, 2);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_CM_REQ_AGAIN), false);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_CM_REP_AGAIN), false);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_COPY), true);
}

/* Two sequence NAKs for packets 1 and 2 are captured. The requester goes back to packet 1, sends
 * two packets, and goes back to packet 2. The second transmission of packet 2 in the go-backs must
 * not count as a copy, although the sender does not use the IPv4 identification. */
static void go_back_for_a_second_nak_is_no_copy(void)
{
    static const uint8_t order[] = {0, 1, 2, 3, 4, 5, 1, 2, 2, 3, 4, 5};
    struct roce_pkt p[6];
    struct flowgen g;

    flowgen_begin(&g);
    g.step = 2000;
    for (unsigned k = 0; k < 4; k++) {
        g.ip_id[0] = 0;
        flowgen_send(&g, 0, 64);
    }
    for (unsigned k = 0; k < 6; k++)
        p[k] = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    for (unsigned k = 0; k < sizeof(order); k++) {
        for (uint32_t nak = 1; k == 6 && nak < 3; nak++) {
            g.conn.msn[0] = 4 + nak;
            flowgen_ack(&g, 1, p[nak].bth.psn, NAK_SEQ);
        }
        g.ip_id[0] = 0;
        flowgen_put(&g, 0, &p[order[k]]);
    }
    g.conn.msn[0] = 4 + 6;
    flowgen_ack_all(&g, 1);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[0].copies, 0);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].go_backs, 2);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].packets, 6);
}

/* Event of a conversation that passes two capture points: a request (psn, counted from 0), a
 * sequence NAK or an ACK. */
struct passing {
    uint64_t time; /* ns */
    uint32_t psn;
    enum { REQUEST, NAK, ACK } kind;
    uint16_t id; /* IPv4 identification */
};

static int compare_passing(const void *a, const void *b)
{
    const struct passing *x = a, *y = b;

    return (x->time > y->time) - (x->time < y->time);
}

#define MIRRORED  100u /* requests */
#define COPIED_NS 11000u

/* Fills `event` with the packets at the first capture point. Request 40 is lost, and the requester
 * retransmits requests 40 to 46 after a NAK. With `again`, the requester receives a second NAK when
 * it has retransmitted 40 to 42, and goes back to 41. Returns the number of packets. */
static unsigned first_point(struct passing *event, bool again)
{
    const unsigned more = again ? 9 : 7;
    unsigned cnt = 0;

    for (uint32_t i = 0; i < MIRRORED + more; i++)
        event[cnt++] = (struct passing){2000 * i,
                                        i < 47             ? i
                                        : again && i >= 50 ? i - 9
                                                           : i - 7,
                                        REQUEST, (uint16_t)(i + 1)};
    event[cnt++] = (struct passing){41000, 15, ACK, 1};
    event[cnt++] = (struct passing){93000, 40, NAK, 2};
    if (again)
        event[cnt++] = (struct passing){99000, 41, NAK, 3};
    event[cnt++] = (struct passing){2000 * (MIRRORED + 20), MIRRORED - 1, ACK, 4};
    return cnt;
}

/* Both ports of a switch are mirrored: each packet is captured again after 11 us. The requester
 * retransmits before the copies of the latest packets are captured. If it does not use the IPv4
 * identification, only the time distinguishes copies from retransmissions. */
static void mirrored_retransmissions_are_no_copies(void)
{
    for (unsigned row = 0; row < 4; row++) {
        const bool again = row & 1, ids = row & 2;
        struct passing event[2 * (MIRRORED + 16)];
        unsigned cnt = first_point(event, again), half = cnt;
        struct flowgen g;
        uint32_t base;

        flowgen_begin(&g);
        base = g.conn.psn[0];
        for (unsigned i = 0; i < half; i++) {
            event[cnt] = event[i];
            event[cnt++].time += COPIED_NS;
        }
        qsort(event, cnt, sizeof(event[0]), compare_passing);
        g.step = 0;
        for (unsigned i = 0; i < cnt; i++) {
            g.now = UINT64_C(1000000000) + event[i].time;
            g.ip_id[0] = g.ip_id[1] = ids ? (uint16_t)(event[i].id - 1) : 0;
            g.conn.msn[0] = event[i].kind == NAK ? event[i].psn : event[i].psn + 1;
            if (event[i].kind == REQUEST) {
                struct roce_pkt p;

                g.conn.psn[0] = (base + event[i].psn) & ROCE_PSN_MASK;
                p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
                p.bth.ackreq = event[i].psn % 16 == 15 || event[i].psn + 1 == MIRRORED;
                flowgen_put(&g, 0, &p);
            } else
                flowgen_ack(&g, 1, base + event[i].psn, event[i].kind == NAK ? NAK_SEQ : ACK_31);
        }
        judge_end(&g, &v);
        EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].packets, again ? 9 : 7);
        EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_UNKNOWN].packets, 0);
        EXPECT_EQ(v.conn[0].side[0].missing_repeats, 0);
        EXPECT_EQ(v.conn[0].side[0].copies, MIRRORED + (again ? 9 : 7));
    }
}

SUITE("flow.copies", TEST(mirrored_retransmissions_are_no_copies),
      TEST(go_back_for_a_second_nak_is_no_copy), TEST(mirrored_datagrams_are_counted_once),
      TEST(mirrored_responses_are_counted_once), TEST(mirrored_cm_messages_are_no_retransmissions),
      TEST(nak_captured_twice_is_a_copy), TEST(nak_captured_late_is_a_copy),
      TEST(second_nak_is_an_error_despite_copies), TEST(fast_go_back_is_no_copy),
      TEST(copy_after_start_of_go_back_is_a_copy), TEST(go_back_without_responses_is_no_copy),
      TEST(restarted_read_is_no_copy))

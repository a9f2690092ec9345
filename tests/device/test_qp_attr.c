/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Setting the QP attributes that a mask selects, and querying them: R183-R187, R191, R194, R197. */
#include <string.h>
#include "device/qp_attr.h"
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct device_fixture fixture;
static struct rnic_qp *qp;
static struct rnic_cq *cq;

/* Creates a second QP in RESET, with a send queue. */
static void begin(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = 0x77,
                                .max_recv_wr = 3,
                                .max_recv_sge = 2,
                                .max_send_wr = 4,
                                .max_send_sge = 1,
                                .max_inline = 32};

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 64, &cq), RNIC_OK);
    init.recv_cq = fixture.cq;
    init.send_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture.attr.port_num = 1;
    fixture.attr.sq_psn = 0x123;
    fixture.attr.timeout = 10;
    fixture.attr.retry_cnt = 3;
    fixture.attr.rnr_retry = 4;
    fixture.attr.max_rd_atomic = 2;
}

static int modify(enum rnic_qp_state to, unsigned mask)
{
    fixture.attr.state = to;
    return rnic_qp_modify_mask(qp, &fixture.attr, mask | RNIC_QP_STATE, fixture.now);
}

static unsigned required(enum rnic_qp_state from, enum rnic_qp_state to)
{
    struct rnic_qp_takes takes;

    CU_ASSERT(rnic_qp_transition(RNIC_QPT_RC, from, to, &takes));
    return takes.required;
}

static void to_rts(void)
{
    EXPECT_EQ(modify(RNIC_QPS_INIT, required(RNIC_QPS_RESET, RNIC_QPS_INIT)), RNIC_OK);
    EXPECT_EQ(modify(RNIC_QPS_RTR, required(RNIC_QPS_INIT, RNIC_QPS_RTR)), RNIC_OK);
    EXPECT_EQ(modify(RNIC_QPS_RTS, required(RNIC_QPS_RTR, RNIC_QPS_RTS)), RNIC_OK);
}

/* ibv_modify_qp(3) lists the required attributes for RC, UC and UD. An XRC initiator requires the
 * attributes of an RC requester, an XRC target the attributes of an RC responder (A14; R184-R186).
 * */
static void required_as_documented(void)
{
    static const struct {
        int type;
        unsigned init, rtr, rts;
    } rows[] = {
        {2, 0x38, 0x129180, 0x12E00}, /* RC: the masks that perftest passes are allowed, too (in
                                       * verbs they also contain IBV_QP_STATE: 0x39 instead of
                                       * 0x38) */
        {3, 0x38, 0x101180, 0x10000}, {4, 0x70, 0, 0x10000},
        {9, 0x38, 0x101180, 0x12E00}, {10, 0x38, 0x129180, 0x10200},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum rnic_qp_type type = (enum rnic_qp_type)rows[i].type;
        struct rnic_qp_takes takes;

        CU_ASSERT(rnic_qp_transition(type, RNIC_QPS_RESET, RNIC_QPS_INIT, &takes));
        EXPECT_EQ(takes.required, rows[i].init);
        CU_ASSERT(rnic_qp_transition(type, RNIC_QPS_INIT, RNIC_QPS_RTR, &takes));
        EXPECT_EQ(takes.required, rows[i].rtr);
        CU_ASSERT(rnic_qp_transition(type, RNIC_QPS_RTR, RNIC_QPS_RTS, &takes));
        EXPECT_EQ(takes.required, rows[i].rts);
    }
}

/* Of the 49 transitions between the 7 states, exactly the valid ones are allowed (R183). No
 * attribute is both required and optional. */
static void r183_exactly_the_valid_transitions_are_allowed(void)
{
    static const char *const rows[7] = {"11.....", "111...1", "1..1..1", "1..11.1",
                                        "1..11.1", "1..1..1", "1.....1"};

    for (int from = 0; from < 7; from++) {
        for (int to = 0; to < 7; to++) {
            struct rnic_qp_takes takes;

            EXPECT_EQ(rnic_qp_transition(RNIC_QPT_RC, (enum rnic_qp_state)from,
                                         (enum rnic_qp_state)to, &takes),
                      rows[from][to] == '1');
            EXPECT_EQ(takes.required & takes.optional, 0);
        }
    }
}

/* Compares member by member, because padding is undefined. */
static bool same(const struct rnic_qp_attr *a, const struct rnic_qp_attr *b)
{
    return a->state == b->state && a->cur_state == b->cur_state &&
           a->en_sqd_async_notify == b->en_sqd_async_notify && a->sq_draining == b->sq_draining &&
           a->port_num == b->port_num && a->access == b->access && a->pkey == b->pkey &&
           a->qkey == b->qkey && a->path_mtu == b->path_mtu && a->dest_qpn == b->dest_qpn &&
           a->rq_psn == b->rq_psn && a->rq_msn == b->rq_msn &&
           a->max_dest_rd_atomic == b->max_dest_rd_atomic && a->min_rnr_timer == b->min_rnr_timer &&
           a->sq_psn == b->sq_psn && a->max_rd_atomic == b->max_rd_atomic &&
           a->timeout == b->timeout && a->retry_cnt == b->retry_cnt &&
           a->rnr_retry == b->rnr_retry &&
           memcmp(a->av.dmac, b->av.dmac, sizeof(a->av.dmac)) == 0 &&
           memcmp(a->av.dgid, b->av.dgid, sizeof(a->av.dgid)) == 0 &&
           a->av.sgid_idx == b->av.sgid_idx && a->av.tclass == b->av.tclass &&
           a->av.hop_limit == b->av.hop_limit && a->av.flow == b->av.flow &&
           a->av.udp_sport == b->av.udp_sport && a->av.tagged == b->av.tagged &&
           a->av.priority == b->av.priority && a->av.vlan == b->av.vlan;
}

/* A transition without a required attribute, or with an invalid one, changes nothing (R187). */
static void r187_wrong_mask_changes_nothing(void)
{
    static const enum rnic_qp_state way[] = {RNIC_QPS_RESET, RNIC_QPS_INIT, RNIC_QPS_RTR,
                                             RNIC_QPS_RTS,   RNIC_QPS_SQD,  RNIC_QPS_SQD,
                                             RNIC_QPS_RTS,   RNIC_QPS_RTS};

    begin();
    for (unsigned step = 0; step + 1 < sizeof(way) / sizeof(way[0]); step++) {
        struct rnic_qp_takes takes;
        struct rnic_qp_attr before;
        struct rnic_qp_attr after;

        CU_ASSERT(rnic_qp_transition(RNIC_QPT_RC, way[step], way[step + 1], &takes));
        fixture.attr.cur_state = way[step];
        rnic_qp_query(qp, &before, NULL);
        for (unsigned bit = 1; bit < 21; bit++) {
            unsigned mask = takes.required;

            if (mask & 1u << bit)
                mask &= ~(1u << bit);
            else if (!(takes.optional & 1u << bit))
                mask |= 1u << bit;
            else
                continue;
            EXPECT_EQ(modify(way[step + 1], mask), RNIC_ERR_INVALID);
        }
        rnic_qp_query(qp, &after, NULL);
        CU_ASSERT(same(&before, &after));
        EXPECT_EQ(modify(way[step + 1], takes.required | takes.optional), RNIC_OK);
    }
    fixture_free(&fixture);
}

/* A second copy of the required and optional attributes, which checks the table of the device
 * (R184-R187). For each attribute and transition, a string has one letter for each service: r: the
 * attribute is required, o: it is optional, a dot: it is refused. Source: qp_state_table of
 * drivers/infiniband/core/verbs.c (Linux 6.1) without path migration. Unlike the Linux table, this
 * table also allows the attribute port for GSI. */
/* clang-format off */
static const struct {
    enum rnic_qp_state from, to;
} columns[] = {
    {RNIC_QPS_RESET, RNIC_QPS_INIT}, {RNIC_QPS_INIT, RNIC_QPS_INIT}, {RNIC_QPS_INIT, RNIC_QPS_RTR},
    {RNIC_QPS_RTR, RNIC_QPS_RTS},    {RNIC_QPS_RTS, RNIC_QPS_RTS},   {RNIC_QPS_RTS, RNIC_QPS_SQD},
    {RNIC_QPS_SQD, RNIC_QPS_RTS},    {RNIC_QPS_SQE, RNIC_QPS_RTS},   {RNIC_QPS_SQD, RNIC_QPS_SQD}};

#define COLUMNS  9u
#define SERVICES 6u

static const enum rnic_qp_type services[SERVICES] = {RNIC_QPT_RC,  RNIC_QPT_UC,       RNIC_QPT_UD,
                                                     RNIC_QPT_GSI, RNIC_QPT_XRC_SEND, RNIC_QPT_XRC_RECV};

#define NO "......"
static const struct {
    unsigned attribute;
    const char *takes[COLUMNS]; /* RC, UC, UD, GSI, XRC_SEND, XRC_RECV */
} facts[] = {
    /*                              RST>INIT  INIT>INIT INIT>RTR  RTR>RTS   RTS>RTS   RTS>SQD   SQD>RTS   SQE>RTS   SQD>SQD */
    {RNIC_QP_CUR_STATE,           { NO,       NO,       NO,       "oooooo", "oooooo", NO,       "oooooo", ".ooo..", NO }},
    {RNIC_QP_EN_SQD_ASYNC_NOTIFY, { NO,       NO,       NO,       NO,       NO,       "oooooo", NO,       NO,       NO }},
    {RNIC_QP_ACCESS_FLAGS,        { "rr..rr", "oo..oo", "oo..oo", "oo..oo", "oo..oo", NO,       "oo..oo", ".o....", "oo..oo" }},
    {RNIC_QP_PKEY_INDEX,          { "rrrrrr", "oooooo", "oooooo", NO,       NO,       NO,       NO,       NO,       "oooooo" }},
    {RNIC_QP_PORT,                { "rrrorr", "oooooo", NO,       NO,       NO,       NO,       NO,       NO,       "o...oo" }},
    {RNIC_QP_QKEY,                { "..rr..", "..oo..", "..oo..", "..oo..", "..oo..", NO,       "..oo..", "..oo..", "..oo.." }},
    {RNIC_QP_AV,                  { NO,       NO,       "rr..rr", NO,       NO,       NO,       NO,       NO,       "oo..oo" }},
    {RNIC_QP_PATH_MTU,            { NO,       NO,       "rr..rr", NO,       NO,       NO,       NO,       NO,       NO }},
    {RNIC_QP_TIMEOUT,             { NO,       NO,       NO,       "r...rr", NO,       NO,       NO,       NO,       "o...oo" }},
    {RNIC_QP_RETRY_CNT,           { NO,       NO,       NO,       "r...r.", NO,       NO,       NO,       NO,       "o...o." }},
    {RNIC_QP_RNR_RETRY,           { NO,       NO,       NO,       "r...r.", NO,       NO,       NO,       NO,       "o...o." }},
    {RNIC_QP_RQ_PSN,              { NO,       NO,       "rr..rr", NO,       NO,       NO,       NO,       NO,       NO }},
    {RNIC_QP_MAX_QP_RD_ATOMIC,    { NO,       NO,       NO,       "r...r.", NO,       NO,       NO,       NO,       "o...o." }},
    {RNIC_QP_ALT_PATH,            { NO,       NO,       NO,       NO,       NO,       NO,       NO,       NO,       NO }},
    {RNIC_QP_MIN_RNR_TIMER,       { NO,       NO,       "r....r", "o....o", "o....o", NO,       "o....o", NO,       "o....o" }},
    {RNIC_QP_SQ_PSN,              { NO,       NO,       NO,       "rrrrrr", NO,       NO,       NO,       NO,       NO }},
    {RNIC_QP_MAX_DEST_RD_ATOMIC,  { NO,       NO,       "r....r", NO,       NO,       NO,       NO,       NO,       "o....o" }},
    {RNIC_QP_PATH_MIG_STATE,      { NO,       NO,       NO,       NO,       NO,       NO,       NO,       NO,       NO }},
    {RNIC_QP_CAP,                 { NO,       NO,       NO,       NO,       NO,       NO,       NO,       NO,       NO }},
    {RNIC_QP_DEST_QPN,            { NO,       NO,       "rr..rr", NO,       NO,       NO,       NO,       NO,       NO }},
};
/* clang-format on */

#define FACTS (sizeof(facts) / sizeof(facts[0]))

static void r184_table(void)
{
    for (unsigned s = 0; s < SERVICES; s++) {
        for (unsigned c = 0; c < COLUMNS; c++) {
            struct rnic_qp_takes takes;
            struct rnic_qp_takes fact = {0, 0};

            for (unsigned i = 0; i < FACTS; i++) {
                fact.required |= facts[i].takes[c][s] == 'r' ? facts[i].attribute : 0;
                fact.optional |= facts[i].takes[c][s] == 'o' ? facts[i].attribute : 0;
            }
            CU_ASSERT(rnic_qp_transition(services[s], columns[c].from, columns[c].to, &takes));
            EXPECT_EQ(takes.required, fact.required);
            EXPECT_EQ(takes.optional, fact.optional);
        }
    }
}

/* Posts a request with unregistered memory, so that a UC, UD or GSI QP enters SQE (R192). */
static void to_sqe(enum rnic_qp_type type)
{
    const struct rnic_sge sge = {0x1234, 8, 0x0BADBAD0};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND, .sge = &sge, .sge_cnt = 1};
    uint8_t frame[ROCE_FRAME_MAX];
    struct rnic_qp_view view;
    struct rnic_ah *ah = NULL;
    struct rnic_wc wc;

    if (type != RNIC_QPT_UC)
        EXPECT_EQ(rnic_ah_new(fixture.pd, &fixture.attr.av, &ah), RNIC_OK);
    wr.ah = ah;
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    while (rnic_output(fixture.rnic, frame, sizeof(frame), fixture.now) > 0) {
    }
    EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 1);
    rnic_qp_view(qp, &view);
    EXPECT_EQ(view.state, RNIC_QPS_SQE);
}

/* Checks that the QP in this state refuses each missing or extra attribute for a transition, and
 * each invalid next state, without any change. */
static void refuses(enum rnic_qp_state from, enum rnic_qp_state next, unsigned s)
{
    struct rnic_qp_takes takes;
    struct rnic_qp_attr before;
    struct rnic_qp_attr after;
    unsigned mask;

    rnic_qp_query(qp, &before, NULL);
    EXPECT_EQ(before.state, from);
    CU_ASSERT(rnic_qp_transition(services[s], from, next, &takes));
    fixture.attr.cur_state = from;
    for (unsigned i = 0; i < FACTS; i++) {
        mask = takes.required ^ facts[i].attribute;
        if (!(takes.optional & facts[i].attribute))
            EXPECT_EQ(modify(next, mask), RNIC_ERR_INVALID);
        EXPECT_EQ(modify(RNIC_QPS_RESET, facts[i].attribute), RNIC_ERR_INVALID);
        if (from != RNIC_QPS_RESET)
            EXPECT_EQ(modify(RNIC_QPS_ERR, facts[i].attribute), RNIC_ERR_INVALID);
    }
    for (enum rnic_qp_state to = RNIC_QPS_RESET; to <= RNIC_QPS_ERR; to++)
        if (!rnic_qp_transition(services[s], from, to, &takes))
            EXPECT_EQ(modify(to, 0), RNIC_ERR_STATE);
    rnic_qp_query(qp, &after, NULL);
    CU_ASSERT(same(&before, &after));
}

/* A QP of every service passes every state and transition, with all valid attributes (R183,
 * R187). */
static void r187_every_service_passes_every_transition(void)
{
    static const enum rnic_qp_state way[] = {
        RNIC_QPS_RESET, RNIC_QPS_INIT, RNIC_QPS_INIT, RNIC_QPS_RTR,  RNIC_QPS_RTS,
        RNIC_QPS_RTS,   RNIC_QPS_SQD,  RNIC_QPS_SQD,  RNIC_QPS_RTS,  RNIC_QPS_SQE,
        RNIC_QPS_RTS,   RNIC_QPS_ERR,  RNIC_QPS_ERR,  RNIC_QPS_RESET};

    for (unsigned s = 0; s < SERVICES; s++) {
        struct rnic_qp_init init = {.type = services[s],
                                    .recv_cq = fixture.cq,
                                    .max_recv_wr = 1,
                                    .max_recv_sge = 1,
                                    .max_send_wr = 1,
                                    .max_send_sge = 1};
        bool sqe = s >= 1 && s <= 3;

        begin();
        init.recv_cq = services[s] == RNIC_QPT_XRC_SEND ? NULL : fixture.cq;
        init.send_cq = cq;
        if (services[s] == RNIC_QPT_XRC_RECV) {
            init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV};
            EXPECT_EQ(rnic_xrcd_new(fixture.rnic, &init.xrcd), RNIC_OK);
        }
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
        for (unsigned i = 0; i + 1 < sizeof(way) / sizeof(way[0]); i++) {
            struct rnic_qp_takes takes;
            enum rnic_qp_state from = way[i];
            enum rnic_qp_state to = way[i + 1];

            if (to == RNIC_QPS_SQE) {
                if (sqe)
                    to_sqe(services[s]);
                continue;
            }
            if (from == RNIC_QPS_SQE && !sqe)
                from = RNIC_QPS_RTS;
            refuses(from, to, s);
            CU_ASSERT(rnic_qp_transition(services[s], from, to, &takes));
            fixture.attr.cur_state = from;
            EXPECT_EQ(modify(to, takes.required | takes.optional), RNIC_OK);
        }
        fixture_free(&fixture);
    }
}

static void qp_keeps_its_state_without_the_mask_bit(void)
{
    begin();
    EXPECT_EQ(rnic_qp_modify_mask(qp, &fixture.attr, RNIC_QP_ACCESS_FLAGS, fixture.now),
              RNIC_ERR_INVALID);
    to_rts();
    fixture.attr.access = 0;
    fixture.attr.state = RNIC_QPS_ERR; /* ignored without STATE in the mask */
    EXPECT_EQ(rnic_qp_modify_mask(qp, &fixture.attr, RNIC_QP_ACCESS_FLAGS, fixture.now), RNIC_OK);
    rnic_qp_query(qp, &fixture.attr, NULL);
    EXPECT_EQ(fixture.attr.state, RNIC_QPS_RTS);
    EXPECT_EQ(fixture.attr.access, 0);
    fixture_free(&fixture);
}

/* A change of the READ right in RTS has an immediate effect (R075). */
static void access_in_rts(void)
{
    struct roce_pkt pkt;

    begin();
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_READ_RESP_ONLY);
    fixture.attr.access = RNIC_ACCESS_REMOTE_WRITE;
    EXPECT_EQ(rnic_qp_modify_mask(fixture.qp, &fixture.attr, RNIC_QP_ACCESS_FLAGS, fixture.now),
              RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN + 1, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, FIXTURE_PSN + 1, ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ, 1);
    fixture_free(&fixture);
}

static void cur_state(void)
{
    begin();
    to_rts();
    fixture.attr.cur_state = RNIC_QPS_SQD;
    EXPECT_EQ(modify(RNIC_QPS_RTS, RNIC_QP_CUR_STATE), RNIC_ERR_INVALID);
    fixture.attr.cur_state = RNIC_QPS_RTS;
    EXPECT_EQ(modify(RNIC_QPS_RTS, RNIC_QP_CUR_STATE), RNIC_OK);
    fixture_free(&fixture);
}

/* The drained event is raised only if it was requested (R191). */
static void sqd_event_is_raised_on_request_only(void)
{
    struct rnic_event event;

    for (int asked = 0; asked < 3; asked++) {
        begin();
        to_rts();
        fixture.attr.en_sqd_async_notify = asked == 2;
        EXPECT_EQ(modify(RNIC_QPS_SQD, asked ? RNIC_QP_EN_SQD_ASYNC_NOTIFY : 0), RNIC_OK);
        EXPECT_EQ(rnic_event_get(fixture.rnic, &event), asked == 2);
        if (asked == 2)
            EXPECT_EQ(event.type, RNIC_EVENT_SQ_DRAINED);
        fixture_free(&fixture);
    }
}

/* Some attributes may change in SQD, but not the path MTU (R187). */
static void changes_in_sqd(void)
{
    unsigned mask = RNIC_QP_AV | RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
                    RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER;
    struct rnic_qp_attr now;
    struct roce_pkt pkt;
    const struct rnic_sge sge = {FIXTURE_IOVA, 8, FIXTURE_KEY};
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND, .sge = &sge, .sge_cnt = 1};

    begin();
    to_rts();
    EXPECT_EQ(modify(RNIC_QPS_SQD, 0), RNIC_OK);
    EXPECT_EQ(modify(RNIC_QPS_SQD, RNIC_QP_PATH_MTU), RNIC_ERR_INVALID);
    fixture.attr.av.hop_limit = 99;
    fixture.attr.timeout = 17;
    fixture.attr.retry_cnt = 1;
    fixture.attr.rnr_retry = 0;
    fixture.attr.max_rd_atomic = 9;
    fixture.attr.max_dest_rd_atomic = 16;
    fixture.attr.min_rnr_timer = 31;
    EXPECT_EQ(modify(RNIC_QPS_SQD, mask), RNIC_OK);
    rnic_qp_query(qp, &now, NULL);
    EXPECT_EQ(now.av.hop_limit, 99);
    EXPECT_EQ(now.timeout, 17);
    EXPECT_EQ(now.retry_cnt, 1);
    EXPECT_EQ(now.rnr_retry, 0);
    EXPECT_EQ(now.max_rd_atomic, 9);
    EXPECT_EQ(now.max_dest_rd_atomic, 16);
    EXPECT_EQ(now.min_rnr_timer, 31);
    EXPECT_EQ(modify(RNIC_QPS_RTS, 0), RNIC_OK);
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.ip4.ttl, 99);
    EXPECT_EQ(rnic_deadline(fixture.rnic), fixture.now + (UINT64_C(4096) << 17));
    fixture_free(&fixture);
}

/* max_dest_rd_atomic is reduced to 2 while three atomics are stored. The two newest must remain
 * (R111-R114). */
static void resources_survive_a_resize(void)
{
    struct roce_pkt pkt;
    uint64_t value;

    begin();
    for (uint32_t i = 0; i < 3; i++) {
        pkt = pktgen_atomic(&fixture.gen, ROCE_OP_RC_FETCH_ADD, FIXTURE_PSN + i, FIXTURE_IOVA,
                            FIXTURE_KEY, 1, 0);
        fixture_in(&fixture, &pkt);
        CU_ASSERT(fixture_out(&fixture, &pkt));
    }
    memcpy(&value, fixture.mem, 8); /* value in memory after the third atomic */
    qp = fixture.qp;
    EXPECT_EQ(modify(RNIC_QPS_SQD, 0), RNIC_OK);
    fixture.attr.max_dest_rd_atomic = 2;
    EXPECT_EQ(modify(RNIC_QPS_SQD, RNIC_QP_MAX_DEST_RD_ATOMIC), RNIC_OK);
    for (uint32_t i = 0; i < 3; i++) {
        pkt = pktgen_atomic(&fixture.gen, ROCE_OP_RC_FETCH_ADD, FIXTURE_PSN + i, FIXTURE_IOVA,
                            FIXTURE_KEY, 1, 0);
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_out(&fixture, &pkt), i > 0); /* the oldest atomic is not stored any more
                                                        * (R116) */
        if (i)
            EXPECT_EQ(pkt.atomicacketh.orig, value - 3 + i);
    }
    fixture_free(&fixture);
}

/* ibv_query_qp(3): returns every attribute, with the current PSNs. */
static void query_returns_every_attribute(void)
{
    const struct rnic_sge sge = {FIXTURE_IOVA, 3000, FIXTURE_KEY};
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_WRITE, .sge = &sge, .sge_cnt = 1};
    struct rnic_qp_attr now;
    struct rnic_qp_init init;
    struct roce_pkt pkt;

    begin();
    to_rts();
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT(fixture_out(&fixture, &pkt));
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 2048);
    pkt.bth.dest_qp = 0x77;
    fixture_in(&fixture, &pkt);
    rnic_qp_query(qp, &now, &init);
    EXPECT_EQ(now.state, RNIC_QPS_RTS);
    EXPECT_EQ(now.cur_state, RNIC_QPS_RTS);
    EXPECT_EQ(now.sq_psn, 0x126);
    EXPECT_EQ(now.rq_psn, (FIXTURE_PSN + 2) & ROCE_PSN_MASK);
    EXPECT_EQ(now.path_mtu, 1024);
    EXPECT_EQ(now.dest_qpn, FIXTURE_PEER_QPN);
    EXPECT_EQ(now.access, 0xF);
    EXPECT_EQ(now.pkey, 0xFFFF);
    EXPECT_EQ(now.port_num, 1);
    EXPECT_EQ(now.av.udp_sport, 0xD00D);
    CU_ASSERT(!now.sq_draining);
    EXPECT_EQ(init.type, RNIC_QPT_RC);
    EXPECT_EQ(init.qpn, 0x77);
    EXPECT_EQ(init.max_recv_wr, 3);
    EXPECT_EQ(init.max_recv_sge, 2);
    EXPECT_EQ(init.max_send_wr, 4);
    EXPECT_EQ(init.max_send_sge, 1);
    EXPECT_EQ(init.max_inline, 32);
    CU_ASSERT(init.send_cq == cq && init.recv_cq == fixture.cq);
    EXPECT_EQ(modify(RNIC_QPS_SQD, 0), RNIC_OK);
    rnic_qp_query(qp, &now, NULL);
    CU_ASSERT(now.sq_draining);
    fixture_free(&fixture);
}

SUITE("device.qp_attr", TEST(required_as_documented),
      TEST(r183_exactly_the_valid_transitions_are_allowed), TEST(r187_wrong_mask_changes_nothing),
      TEST(r184_table), TEST(r187_every_service_passes_every_transition),
      TEST(qp_keeps_its_state_without_the_mask_bit), TEST(access_in_rts), TEST(cur_state),
      TEST(sqd_event_is_raised_on_request_only), TEST(changes_in_sqd),
      TEST(resources_survive_a_resize), TEST(query_returns_every_attribute))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Raw packet QPs and their flow rules (ibv_create_flow()), which select the frames that each QP
 * receives. */
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/pkt.h"

#include <string.h>

#define QPS 3u
#define LEN 60u /* length of the frames, bytes */
#define TCP 6u
#define UDP 17u

static struct device_fixture fixture;
static struct rnic_qp *raw[QPS];
static struct rnic_steer *flow[QPS + 1];
static uint8_t frame[LEN + 4];
static uint32_t frame_len;

static void begin(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RAW_PACKET,
                                .max_recv_wr = 8,
                                .max_recv_sge = 2,
                                .max_send_wr = 4,
                                .max_send_sge = 2};
    static const enum rnic_qp_state way[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    init.recv_cq = init.send_cq = fixture.cq;
    for (unsigned i = 0; i < QPS; i++) {
        struct rnic_qp_attr attr = {.port_num = 1};

        init.qpn = 0x100 + i;
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &raw[i]), RNIC_OK);
        for (unsigned s = 0; s < 3; s++) {
            attr.state = way[s];
            EXPECT_EQ(rnic_qp_modify(raw[i], &attr, fixture.now), RNIC_OK);
        }
    }
    memset(flow, 0, sizeof(flow));
}

static void end(void)
{
    for (unsigned i = 0; i <= QPS; i++)
        rnic_steer_del(flow[i]);
    fixture_free(&fixture);
}

/* Posts a receive of two SGEs, 10 bytes and `len` - 10 bytes, at 4096 * wr_id. */
static void post(unsigned qp, uint64_t wr_id, uint32_t len)
{
    const uint64_t at = FIXTURE_IOVA + 4096 * wr_id;
    const struct rnic_sge sge[] = {{at, 10, FIXTURE_KEY}, {at + 10, len - 10, FIXTURE_KEY}};

    EXPECT_EQ(rnic_post_recv(raw[qp], &(struct rnic_recv_wr){wr_id, sge, 2}), RNIC_OK);
}

/* Makes an IPv4 or IPv6 frame from 10.0.0.1 or fd00::1 with these ports. */
static void make(unsigned ip, unsigned proto, unsigned from, unsigned to)
{
    static const uint8_t macs[] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1};
    uint8_t *l4 = frame + 14 + (ip == 4 ? 20 : 40);

    memset(frame, 0, sizeof(frame));
    memcpy(frame, macs, sizeof(macs));
    frame[12] = ip == 4 ? 0x08 : 0x86;
    frame[13] = ip == 4 ? 0x00 : 0xDD;
    frame[14] = ip == 4 ? 0x45 : 0x60;
    if (ip == 4) {
        frame[23] = (uint8_t)proto;
        frame[26] = 10;
        frame[29] = 1;
    } else {
        frame[20] = (uint8_t)proto;
        frame[22] = 0xFD;
        frame[37] = 1;
    }
    l4[0] = (uint8_t)(from >> 8);
    l4[1] = (uint8_t)from;
    l4[2] = (uint8_t)(to >> 8);
    l4[3] = (uint8_t)to;
    frame_len = LEN;
}

static struct rnic_steer_attr ports_flow(enum rnic_steer_header header, unsigned to)
{
    struct rnic_steer_attr attr = {.kind = RNIC_STEER_NORMAL, .spec_cnt = 1};

    attr.spec[0].header = header;
    attr.spec[0].value[2] = (uint8_t)(to >> 8);
    attr.spec[0].value[3] = (uint8_t)to;
    attr.spec[0].mask[2] = attr.spec[0].mask[3] = 0xFF;
    return attr;
}

static void add(unsigned i, unsigned qp, const struct rnic_steer_attr *attr)
{
    EXPECT_EQ(rnic_steer_new(raw[qp], attr, &flow[i]), RNIC_OK);
}

/* Passes the frame to the flow rules and checks its bytes at each QP. Returns a bit for each QP
 * that received the frame. */
static unsigned receivers(void)
{
    unsigned qps = 0;
    struct rnic_wc wc;

    for (unsigned i = 0; i < QPS; i++) {
        memset(fixture.mem + 4096 * i, 0xEE, LEN + 4);
        post(i, i, LEN + 4);
    }
    rnic_steer_input(fixture.rnic, frame, frame_len, fixture.now);
    while (rnic_cq_poll(fixture.cq, &wc, 1)) {
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        EXPECT_EQ(wc.opcode, RNIC_WC_RECV);
        EXPECT_EQ(wc.flags, 0);
        EXPECT_EQ(wc.byte_len, frame_len);
        EXPECT_EQ(qps & 1u << (wc.qpn - 0x100), 0);
        qps |= 1u << (wc.qpn - 0x100);
        CU_ASSERT_EQUAL(memcmp(fixture.mem + 4096 * wc.wr_id, frame, frame_len), 0);
    }
    /* RESET empties the receive queues, also of the QPs that received nothing. */
    for (unsigned i = 0; i < QPS; i++) {
        struct rnic_qp_attr attr = {.state = RNIC_QPS_RESET, .port_num = 1};

        for (; attr.state <= RNIC_QPS_RTS; attr.state++)
            EXPECT_EQ(rnic_qp_modify(raw[i], &attr, fixture.now), RNIC_OK);
    }
    return qps;
}

static void expect_wc(uint64_t wr_id, enum rnic_wc_status status)
{
    struct rnic_wc wc = {.qpn = 0};

    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 1);
    EXPECT_EQ(wc.qpn, 0x100);
    EXPECT_EQ(wc.wr_id, wr_id);
    EXPECT_EQ(wc.status, status);
}

static void matching_flow_receives_the_whole_frame(void)
{
    struct rnic_steer_attr udp = ports_flow(RNIC_STEER_UDP, 700);
    struct rnic_steer_attr tcp = ports_flow(RNIC_STEER_TCP, 700);

    begin();
    add(0, 0, &udp);
    add(1, 1, &tcp);
    for (unsigned ip = 4; ip <= 6; ip += 2) {
        make(ip, UDP, 5, 700);
        EXPECT_EQ(receivers(), 1);
        make(ip, TCP, 5, 700);
        EXPECT_EQ(receivers(), 2);
        make(ip, UDP, 700, 5);
        EXPECT_EQ(receivers(), 0);
        make(ip, 1, 5, 700);
        EXPECT_EQ(receivers(), 0);
    }
    end();
}

static void every_spec_must_match(void)
{
    struct rnic_steer_attr attr = ports_flow(RNIC_STEER_UDP, 700);

    begin();
    attr.spec[1].header = RNIC_STEER_IP4;
    attr.spec[1].value[15] = 1; /* the mask compares the last byte of the address */
    attr.spec[1].mask[15] = 0xFF;
    attr.spec[2].header = RNIC_STEER_ETH;
    attr.spec[2].value[5] = 9;
    attr.spec[2].mask[5] = 0x0F;
    attr.spec_cnt = 3;
    add(0, 0, &attr);
    make(4, UDP, 5, 700);
    EXPECT_EQ(receivers(), 1);
    frame[5] ^= 0x10; /* a bit that the mask ignores */
    EXPECT_EQ(receivers(), 1);
    frame[5] ^= 1;
    EXPECT_EQ(receivers(), 0);
    frame[5] ^= 1;
    frame[29] = 2;
    EXPECT_EQ(receivers(), 0);
    make(6, UDP, 5, 700);
    EXPECT_EQ(receivers(), 0);
    end();
}

/* A fragment after the first one has no ports, and a frame may end before its ports. Such a frame
 * must match no rule with ports. */
static void frame_without_ports_matches_no_port(void)
{
    struct rnic_steer_attr attr = ports_flow(RNIC_STEER_UDP, 700);

    begin();
    add(0, 0, &attr);
    make(4, UDP, 5, 700);
    frame[21] = 1;
    EXPECT_EQ(receivers(), 0);
    make(4, UDP, 5, 700);
    for (frame_len = 14; frame_len < 38; frame_len++)
        EXPECT_EQ(receivers(), 0);
    EXPECT_EQ(receivers(), 1);
    make(4, UDP, 5, 700);
    frame[14] = 0x4F; /* IHL 15: the IPv4 options reach to the end of the frame */
    frame_len = 50;
    EXPECT_EQ(receivers(), 0);
    end();
}

static void tagged_frame_matches_its_tag_and_inner_type(void)
{
    static const uint8_t tag[] = {0x81, 0x00, 0x20, 0x07};
    struct rnic_steer_attr attr = ports_flow(RNIC_STEER_UDP, 700);

    begin();
    attr.spec[1].header = RNIC_STEER_ETH;
    attr.spec[1].value[12] = 0x08;
    attr.spec[1].mask[12] = attr.spec[1].mask[13] = 0xFF;
    attr.spec[2].header = RNIC_STEER_VLAN;
    attr.spec[2].value[1] = 7;
    attr.spec[2].mask[0] = 0x0F;
    attr.spec[2].mask[1] = 0xFF;
    attr.spec_cnt = 3;
    add(0, 0, &attr);
    make(4, UDP, 5, 700);
    EXPECT_EQ(receivers(), 0);
    memmove(frame + 16, frame + 12, LEN - 12);
    memcpy(frame + 12, tag, sizeof(tag));
    frame_len = LEN + 4;
    EXPECT_EQ(receivers(), 1);
    frame[15] = 8;
    EXPECT_EQ(receivers(), 0);
    end();
}

static void lowest_priority_number_receives(void)
{
    struct rnic_steer_attr any = {.kind = RNIC_STEER_NORMAL, .priority = 2};
    struct rnic_steer_attr attr = ports_flow(RNIC_STEER_UDP, 700);

    begin();
    attr.priority = 1;
    add(0, 0, &any);
    add(1, 1, &attr);
    add(2, 2, &attr);
    make(4, UDP, 5, 700);
    EXPECT_EQ(receivers(), 6);
    make(4, UDP, 5, 701);
    EXPECT_EQ(receivers(), 1);
    end();
}

static void defaults_receive_the_rest_without_roce(void)
{
    struct rnic_steer_attr attr = ports_flow(RNIC_STEER_UDP, 700);

    begin();
    add(0, 0, &attr);
    attr = (struct rnic_steer_attr){.kind = RNIC_STEER_MC_DEFAULT};
    add(1, 1, &attr);
    make(4, UDP, 5, 701);
    EXPECT_EQ(receivers(), 0);
    frame[0] = 1;
    EXPECT_EQ(receivers(), 2);
    attr = (struct rnic_steer_attr){.kind = RNIC_STEER_ALL_DEFAULT};
    add(2, 2, &attr);
    EXPECT_EQ(receivers(), 2);
    frame[0] = 2;
    EXPECT_EQ(receivers(), 4);
    make(4, UDP, 5, 700);
    EXPECT_EQ(receivers(), 1);
    make(4, UDP, 5, ROCE_UDP_PORT);
    EXPECT_EQ(receivers(), 0);
    frame[0] = 1;
    EXPECT_EQ(receivers(), 0);
    end();
}

static void sniffer_receives_one_copy_of_every_frame(void)
{
    struct rnic_steer_attr attr = {.kind = RNIC_STEER_SNIFFER};

    begin();
    add(0, 0, &attr);
    add(1, 1, &attr);
    attr = ports_flow(RNIC_STEER_UDP, ROCE_UDP_PORT);
    add(2, 1, &attr);
    add(3, 2, &attr);
    make(4, UDP, 5, ROCE_UDP_PORT);
    EXPECT_EQ(receivers(), 7);
    make(4, TCP, 5, 80);
    EXPECT_EQ(receivers(), 3);
    end();
}

static void frame_without_room_is_dropped_and_counted(void)
{
    struct rnic_steer_attr attr = {.kind = RNIC_STEER_SNIFFER};
    struct rnic_wc wc;

    begin();
    add(0, 0, &attr);
    make(4, UDP, 5, 700);
    rnic_steer_input(fixture.rnic, frame, LEN, fixture.now);
    EXPECT_EQ(fixture_counters(&fixture).out_of_buffer, 1);
    post(0, 1, LEN - 1);
    rnic_steer_input(fixture.rnic, frame, LEN, fixture.now);
    EXPECT_EQ(fixture_counters(&fixture).rx_datagram_too_long, 1);
    rnic_steer_input(fixture.rnic, frame, 13, fixture.now);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 0);
    rnic_steer_input(fixture.rnic, frame, LEN - 1, fixture.now);
    expect_wc(1, RNIC_WC_SUCCESS);
    end();
}

static void unwritable_buffer_stops_the_qp(void)
{
    struct rnic_steer_attr attr = {.kind = RNIC_STEER_SNIFFER};
    const struct rnic_sge sge = {FIXTURE_IOVA, LEN, FIXTURE_KEY + 1};
    struct rnic_qp_view view;

    begin();
    add(0, 0, &attr);
    EXPECT_EQ(rnic_post_recv(raw[0], &(struct rnic_recv_wr){5, &sge, 1}), RNIC_OK);
    make(4, UDP, 5, 700);
    rnic_steer_input(fixture.rnic, frame, LEN, fixture.now);
    expect_wc(5, RNIC_WC_LOC_PROT_ERR);
    rnic_qp_view(raw[0], &view);
    EXPECT_EQ(view.state, RNIC_QPS_ERR);
    rnic_steer_input(fixture.rnic, frame, LEN, fixture.now);
    EXPECT_EQ(fixture_counters(&fixture).out_of_buffer, 0);
    end();
}

static int send_frame(uint32_t first, uint32_t second, uint32_t key, unsigned flags)
{
    const struct rnic_sge sge[] = {{FIXTURE_IOVA, first, FIXTURE_KEY},
                                   {FIXTURE_IOVA + first, second, key}};

    return rnic_post_send(raw[0], &(struct rnic_send_wr){.wr_id = 9,
                                                         .opcode = RNIC_WR_SEND,
                                                         .flags = flags | RNIC_SEND_SIGNALED,
                                                         .sge = sge,
                                                         .sge_cnt = 2});
}

static void sent_frame_is_the_message(void)
{
    uint8_t buf[ROCE_FRAME_MAX];

    begin();
    for (unsigned i = 0; i < ROCE_FRAME_MAX; i++)
        fixture.mem[i] = (uint8_t)(i * 7);
    for (unsigned len = 14; len <= ROCE_FRAME_MAX; len = len == 14 ? 60 : len + 1431) {
        EXPECT_EQ(send_frame(4, len - 4, FIXTURE_KEY, 0), RNIC_OK);
        EXPECT_EQ(rnic_output(fixture.rnic, buf, sizeof(buf), fixture.now), len);
        CU_ASSERT_EQUAL(memcmp(buf, fixture.mem, len), 0);
        expect_wc(9, RNIC_WC_SUCCESS);
        EXPECT_EQ(rnic_output(fixture.rnic, buf, sizeof(buf), fixture.now), 0);
    }
    EXPECT_EQ(send_frame(4, 9, FIXTURE_KEY, 0), RNIC_ERR_INVALID);
    EXPECT_EQ(send_frame(4, ROCE_FRAME_MAX - 3, FIXTURE_KEY, 0), RNIC_ERR_INVALID);
    EXPECT_EQ(send_frame(4, 60, FIXTURE_KEY + 1, 0), RNIC_OK);
    EXPECT_EQ(rnic_output(fixture.rnic, buf, sizeof(buf), fixture.now), 0);
    expect_wc(9, RNIC_WC_LOC_PROT_ERR);
    end();
}

/* A packet to the number of a raw packet QP reaches no QP. */
static void raw_qp_takes_no_roce_packet(void)
{
    static const uint8_t opcodes[] = {ROCE_OP_RC_SEND_ONLY, ROCE_OP_UD_SEND_ONLY, 0xE4};

    begin();
    post(0, 1, 500);
    for (unsigned i = 0; i < 2; i++) {
        struct roce_pkt pkt = pktgen_data(&fixture.gen, opcodes[i], 1, (const uint8_t *)"abcd", 4);

        pkt.bth.dest_qp = 0x100;
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, i + 1);
    }
    EXPECT_EQ(rnic_mcast_attach(raw[0], (const uint8_t[16]){0xFF, 0x0E}), RNIC_ERR_INVALID);
    end();
}

static void flow_of_another_qp_or_range_is_refused(void)
{
    struct rnic_steer_attr attr = {.kind = RNIC_STEER_SNIFFER};
    struct rnic_qp_attr reset = {.state = RNIC_QPS_RESET};
    struct rnic_steer *none;

    begin();
    EXPECT_EQ(rnic_steer_new(fixture.qp, &attr, &none), RNIC_ERR_INVALID);
    attr.spec_cnt = 1;
    EXPECT_EQ(rnic_steer_new(raw[0], &attr, &none), RNIC_ERR_INVALID);
    attr = (struct rnic_steer_attr){.spec_cnt = RNIC_STEER_SPECS + 1};
    EXPECT_EQ(rnic_steer_new(raw[0], &attr, &none), RNIC_ERR_INVALID);
    attr = (struct rnic_steer_attr){.spec_cnt = 1, .spec[0].header = RNIC_STEER_HEADERS};
    EXPECT_EQ(rnic_steer_new(raw[0], &attr, &none), RNIC_ERR_INVALID);
    attr = (struct rnic_steer_attr){.kind = (enum rnic_steer_kind)4};
    EXPECT_EQ(rnic_steer_new(raw[0], &attr, &none), RNIC_ERR_INVALID);
    attr = (struct rnic_steer_attr){.kind = RNIC_STEER_SNIFFER};
    add(0, 0, &attr);
    EXPECT_EQ(rnic_qp_del(raw[0]), RNIC_ERR_BUSY);
    make(4, UDP, 5, 700);
    EXPECT_EQ(rnic_qp_modify(raw[0], &reset, fixture.now), RNIC_OK);
    rnic_steer_input(fixture.rnic, frame, LEN, fixture.now); /* a QP in RESET receives nothing */
    EXPECT_EQ(fixture_counters(&fixture).out_of_buffer, 0);
    rnic_steer_del(flow[0]);
    flow[0] = NULL;
    EXPECT_EQ(rnic_qp_del(raw[0]), RNIC_OK);
    end();
}

SUITE("device.steer", TEST(matching_flow_receives_the_whole_frame), TEST(every_spec_must_match),
      TEST(frame_without_ports_matches_no_port), TEST(tagged_frame_matches_its_tag_and_inner_type),
      TEST(lowest_priority_number_receives), TEST(defaults_receive_the_rest_without_roce),
      TEST(sniffer_receives_one_copy_of_every_frame),
      TEST(frame_without_room_is_dropped_and_counted), TEST(unwritable_buffer_stops_the_qp),
      TEST(sent_frame_is_the_message), TEST(raw_qp_takes_no_roce_packet),
      TEST(flow_of_another_qp_or_range_is_refused))

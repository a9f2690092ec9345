/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the capture port on a veth pair: which port receives a frame, and how often. There are four
 * ports: A and B on one end, which share its address like the ports of two processes; FAR on the
 * other end; LO on the loopback.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "port/frameio/impair_port.h"
#include "port/frameio/port_pcap.h"
#include "port/netns.h"
#include "support/suite.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

enum { A, B, FAR, LO, PORTS };

static const uint8_t near_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t far_mac[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t zero_mac[6];
static const uint8_t group[6] = {0x33, 0x33, 1, 2, 3, 4};
static const uint32_t blocks[PORTS] = {0x100, 0x200, 0x300, 0x400};

static struct rnic_port *ports[PORTS];

static void set_filter(unsigned i, bool joins)
{
    const struct rnic_port_filter filter = {
        .block = &blocks[i], .block_cnt = 1, .group = &group, .group_cnt = joins};

    EXPECT_EQ(rnic_port_pcap_filter(ports[i], &filter), 0);
}

static void open_all(void)
{
    static const char *const names[] = {"p0", "p0", "p1", "lo"};

    /* The interface has no address, so that the kernel sends no frames by itself. */
    CU_ASSERT_FATAL(
        netns_sh("ip link add p0 address 02:00:00:00:00:01 mtu 1500 type veth peer "
                 "name p1 address 02:00:00:00:00:02 && "
                 "ip link set p0 addrgenmode none && ip link set p1 addrgenmode none && "
                 "ip link set p0 up && ip link set p1 up"));
    for (unsigned i = 0; i < PORTS; i++) {
        struct rnic_iface iface;
        struct error why;

        CU_ASSERT_FATAL(rnic_iface_get(names[i], &iface, &why) == 0);
        if (rnic_port_pcap_open(&iface, 1u << 20, &ports[i], &why) != 0) {
            suite_fail(__FILE__, __LINE__, "%s", why.text);
            CU_FAIL_FATAL("no port");
        }
        set_filter(i, false);
    }
}

static void close_all(void)
{
    for (unsigned i = 0; i < PORTS; i++)
        rnic_port_close(ports[i]);
    CU_ASSERT(netns_sh("ip link del p0"));
}

/* Counts RoCE frames. Other received frames are the kernel's Neighbour Discovery. */
static void count(void *user, const struct rnic_frame *frame)
{
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) == 0)
        ++*(unsigned *)user;
}

/* Sends a frame from port A. Returns the flags that the port set on it. */
static unsigned send_from_a(const uint8_t dmac[6], uint32_t qpn, enum roce_encap encap)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    struct rnic_frame frame = {.data = buf};

    roce_pkt_init(&pkt, encap, ROCE_OP_RC_ACK);
    memcpy(pkt.eth.dst, dmac, 6);
    memcpy(pkt.eth.src, near_mac, 6);
    pkt.bth.dest_qp = qpn;
    frame.len = (uint32_t)roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    EXPECT_EQ(rnic_port_send(ports[A], &frame, 1, 0), 1);
    return frame.flags;
}

/* Sends a frame from A and checks its receivers. The decimal digits of `wanted` are the numbers of
 * copies that A, B, FAR and LO receive. If A receives a copy, the port must set RNIC_FRAME_ECHO.
 * Waits up to 5 s for these copies, and a moment for others, which must not arrive. */
static void sent(const uint8_t dmac[6], uint32_t qpn, enum roce_encap encap, unsigned wanted)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    unsigned got[PORTS] = {0};
    unsigned came = 0;

    EXPECT_EQ(send_from_a(dmac, qpn, encap), wanted >= 1000 ? RNIC_FRAME_ECHO : 0);
    for (unsigned turn = 0, more = 10; turn < 2500 && more > 0; turn++) {
        for (unsigned i = 0; i < PORTS; i++)
            CU_ASSERT(rnic_port_recv(ports[i], 100, count, &got[i], 0) >= 0);
        came = got[A] * 1000 + got[B] * 100 + got[FAR] * 10 + got[LO];
        more -= came == wanted;
        nanosleep(&nap, NULL);
    }
    EXPECT_EQ(came, wanted);
}

static void frame_reaches_the_process_of_its_qpn(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};

    open_all();
    /* The MAC address of FAR belongs to this machine too, so the rules for two interfaces of one
     * machine apply. */
    for (unsigned i = 0; i < sizeof(encaps) / sizeof(encaps[0]); i++) {
        enum roce_encap e = encaps[i];

        sent(near_mac, blocks[A] << 12 | 5, e, 1000);
        sent(near_mac, blocks[B] << 12 | 0xfff, e, 100);
        sent(far_mac, blocks[FAR] << 12, e, 10);
        sent(zero_mac, blocks[LO] << 12, e, 1);
        sent(near_mac, blocks[FAR] << 12, e, 0); /* QPN of another process: no port receives the
                                                  * frame */
        sent(far_mac, blocks[B] << 12, e, 0);
        sent(near_mac, 1, e, 1100);  /* QP 1: every port on the interface receives the frame */
        sent(group, 0xffffff, e, 0); /* no port has joined the group */
        sent(near_mac, 0x123456, e, 0);
    }
    close_all();
}

static void joined_group_is_received(void)
{

    open_all();
    set_filter(B, true);
    sent(group, 0xffffff, ROCE_ENCAP_V2_IP6, 100);
    set_filter(FAR, true);
    set_filter(LO, true); /* port LO is not on the link of A, B and FAR */
    sent(group, 0xffffff, ROCE_ENCAP_V2_IP6, 110);
    set_filter(A, true); /* the port that sends also receives the frame */
    sent(group, 0xffffff, ROCE_ENCAP_V2_IP6, 1110);
    set_filter(B, false);
    sent(group, 0xffffff, ROCE_ENCAP_V2_IP6, 1010);
    close_all();
}

/* A frame that is longer than the MTU, or that is sent while the link is down, is dropped and
 * counted. It does not block other frames. */
static void frame_that_cannot_be_sent_is_counted(void)
{
    uint8_t buf[ROCE_FRAME_MAX] = {2, 9, 9, 9, 9, 9};
    struct rnic_frame frame[3] = {
        {.data = buf, .len = 100}, {.data = buf, .len = 2000}, {.data = buf, .len = 100}};
    struct rnic_port_stats stats;

    open_all();
    EXPECT_EQ(rnic_port_send(ports[A], frame, 3, 0), 3);
    rnic_port_stats(ports[A], &stats);
    EXPECT_EQ(stats.tx_frames, 2);
    EXPECT_EQ(stats.tx_too_long, 1);
    CU_ASSERT(netns_sh("ip link set p0 down"));
    EXPECT_EQ(rnic_port_send(ports[A], frame, 1, 0), 1);
    rnic_port_stats(ports[A], &stats);
    EXPECT_EQ(stats.tx_link_down, 1);
    CU_ASSERT(netns_sh("ip link set p0 up"));
    EXPECT_EQ(rnic_port_send(ports[A], frame, 1, 0), 1);
    rnic_port_stats(ports[A], &stats);
    EXPECT_EQ(stats.tx_frames, 3);
    close_all();
}

/* The other end of a veth refuses a frame at every attempt to send it, because its MTU is smaller.
 * This frame must not block later frames. */
static void refused_frame_does_not_block_others(void)
{
    uint8_t buf[2][ROCE_FRAME_MAX] = {{2, 0, 0, 0, 0, 2}};
    struct rnic_frame frame[2] = {{.data = buf[0], .len = 1000}, {.data = buf[1]}};
    struct rnic_port_stats stats;
    struct roce_pkt pkt;
    unsigned done = 0;
    unsigned got = 0;
    uint64_t now = 0;

    open_all();
    CU_ASSERT(netns_sh("ip link set p1 mtu 500"));
    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK);
    memcpy(pkt.eth.dst, far_mac, 6);
    pkt.bth.dest_qp = blocks[FAR] << 12;
    frame[1].len = (uint32_t)roce_pkt_build(&pkt, 0, buf[1], sizeof(buf[1]));
    rnic_port_pcap_hosts(ports[A], NULL, 0); /* the port has no addresses of this machine, so it
                                              * treats the other end as another machine */
    for (; done < 2 && now < 1000000000; now += 20000)
        done += rnic_port_send(ports[A], frame + done, 2 - done, now);
    EXPECT_EQ(done, 2);
    CU_ASSERT(now < 20000000);
    rnic_port_stats(ports[A], &stats);
    /* Some kernels do not report that the frame was refused, and count both frames as sent. */
    EXPECT_EQ(stats.tx_frames + stats.tx_refused, 2);
    for (unsigned i = 0; i < 20 && got == 0; i++)
        CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, 0) >= 0);
    EXPECT_EQ(got, 1);
    close_all();
}

/* Each frame is either received, or counted as dropped because the receive ring was full. */
static void frames_beyond_the_ring_are_counted(void)
{
    enum { FRAMES = 5000 };
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_frame frame[50];
    struct rnic_port_stats stats;
    struct roce_pkt pkt;
    unsigned got = 0;

    open_all();
    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK);
    memcpy(pkt.eth.dst, near_mac, 6);
    pkt.bth.dest_qp = blocks[B] << 12;
    for (unsigned i = 0; i < 50; i++)
        frame[i] = (struct rnic_frame){.data = buf,
                                       .len = (uint32_t)roce_pkt_build(&pkt, 0, buf, sizeof(buf))};
    for (unsigned i = 0; i < FRAMES / 50; i++)
        EXPECT_EQ(rnic_port_send(ports[A], frame, 50, 0), 50);
    while (rnic_port_recv(ports[B], 1000, count, &got, 0) > 0)
        ;
    rnic_port_stats(ports[B], &stats);
    /* The counts can include a few frames of Neighbour Discovery. */
    CU_ASSERT(stats.rx_frames >= got && stats.rx_frames < got + 20);
    CU_ASSERT(stats.rx_frames + stats.rx_dropped >= FRAMES);
    CU_ASSERT(stats.rx_frames + stats.rx_dropped < FRAMES + 20);
    CU_ASSERT(stats.rx_dropped > 0);
    close_all();
}

/* Makes a capture handle fail: replaces its descriptor by one end of a pipe, and closes the other
 * end. */
static void break_fd(int fd)
{
    int ends[2];

    CU_ASSERT_FATAL(pipe(ends) == 0);
    close(ends[1]);
    CU_ASSERT_FATAL(dup2(ends[0], fd) == fd);
    close(ends[0]);
}

/* A capture handle that fails is opened again with its filter and groups, and a counter shows this.
 */
static void failed_handle_is_opened_again(void)
{
    struct rnic_port_stats stats;
    struct pollfd before[RNIC_PORT_FDS];
    struct pollfd after[RNIC_PORT_FDS];
    unsigned got = 0, tries = 0;

    open_all();
    set_filter(FAR, true);
    EXPECT_EQ(rnic_port_fds(ports[FAR], before), 2); /* capture handles on p1 and the loopback */
    break_fd(before[0].fd);
    do { /* frames of Neighbour Discovery that were in the ring are received first */
        CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, 0) >= 0);
        rnic_port_stats(ports[FAR], &stats);
    } while (stats.rx_failed == 0 && ++tries < 100);
    EXPECT_EQ(rnic_port_fds(ports[FAR], after), 2);
    CU_ASSERT(after[0].fd != before[0].fd);
    EXPECT_EQ(rnic_port_deadline(ports[FAR]), UINT64_MAX);
    EXPECT_EQ(stats.rx_failed, 1);
    EXPECT_EQ(stats.rx_reopened, 1);
    sent(far_mac, blocks[FAR] << 12, ROCE_ENCAP_V2_IP4, 10);
    sent(far_mac, blocks[B] << 12, ROCE_ENCAP_V2_IP4, 0);
    sent(group, 0xffffff, ROCE_ENCAP_V2_IP4, 10);
    /* A port may have only one capture handle, on the loopback. It also opens this handle again
     * after an error. */
    EXPECT_EQ(rnic_port_fds(ports[LO], before), 1);
    break_fd(before[0].fd);
    sent(zero_mac, blocks[LO] << 12, ROCE_ENCAP_V2_IP4, 1);
    close_all();
}

/* While the interface is down, the port tries at intervals to open its capture handle again. After
 * the interface was deleted, the port stops trying, even if a new interface has the same name. */
static void interface_is_opened_again_until_deleted(void)
{
    struct rnic_port_stats stats;
    struct pollfd fds[RNIC_PORT_FDS];
    unsigned got = 0;

    open_all();
    CU_ASSERT(netns_sh("ip link set p1 down"));
    CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, 0) >= 0);
    EXPECT_EQ(rnic_port_fds(ports[FAR], fds), 2);
    break_fd(fds[0].fd);
    CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, 1000000) >= 0);
    EXPECT_EQ(rnic_port_fds(ports[FAR], fds), 1);
    CU_ASSERT(rnic_port_deadline(ports[FAR]) < UINT64_MAX);
    CU_ASSERT(netns_sh("ip link set p1 up"));
    CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, 2000000) >= 0); /* the next attempt is
                                                                            * not due yet */
    EXPECT_EQ(rnic_port_fds(ports[FAR], fds), 1);
    CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, rnic_port_deadline(ports[FAR])) >= 0);
    EXPECT_EQ(rnic_port_fds(ports[FAR], fds), 2);
    sent(far_mac, blocks[FAR] << 12, ROCE_ENCAP_V2_IP4, 10);
    CU_ASSERT(
        netns_sh("ip link del p0 && ip link add p1 type veth peer name p2 && ip link set p1 up"));
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, UINT64_MAX / 2 + i) >= 0);
    EXPECT_EQ(rnic_port_fds(ports[FAR], fds), 1);
    EXPECT_EQ(rnic_port_deadline(ports[FAR]), UINT64_MAX);
    rnic_port_stats(ports[FAR], &stats);
    EXPECT_EQ(stats.rx_failed, 2);
    EXPECT_EQ(stats.rx_reopened, 1);
    for (unsigned i = 0; i < PORTS; i++)
        rnic_port_close(ports[i]);
    CU_ASSERT(netns_sh("ip link del p1"));
}

static void store_length(void *user, const struct rnic_frame *frame)
{
    if (memcmp(frame->data, far_mac, 6) == 0 && !(frame->flags & RNIC_FRAME_CUT))
        *(unsigned *)user = frame->len;
}

/* A port that was opened before the MTU was raised receives whole frames of the new MTU. */
static void longer_frames_are_received_after_the_mtu_was_raised(void)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    uint8_t buf[ROCE_FRAME_MAX];
    static const uint8_t payload[4096];
    struct rnic_frame frame = {.data = buf};
    struct rnic_iface *list;
    struct roce_pkt pkt;
    struct error why;
    size_t cnt;
    unsigned got = 0;

    open_all();
    CU_ASSERT_FATAL(netns_sh("ip link set p0 mtu 4300 && ip link set p1 mtu 4300"));
    CU_ASSERT_FATAL(rnic_iface_list(&list, &cnt, &why) == 0);
    rnic_port_pcap_hosts(ports[FAR], list, cnt);
    free(list);
    CU_ASSERT(rnic_port_recv(ports[FAR], 100, count, &got, 0) >= 0);
    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_SEND_ONLY);
    memcpy(pkt.eth.dst, far_mac, 6);
    pkt.bth.dest_qp = blocks[FAR] << 12;
    pkt.payload = payload;
    pkt.payload_len = sizeof(payload);
    frame.len = (uint32_t)roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    CU_ASSERT(frame.len > sizeof(payload));
    rnic_port_pcap_hosts(ports[A], NULL, 0); /* the frame takes the link, not the loopback */
    got = 0;
    EXPECT_EQ(rnic_port_send(ports[A], &frame, 1, 0), 1);
    for (unsigned turn = 0; turn < 2500 && got == 0; turn++) {
        CU_ASSERT(rnic_port_recv(ports[FAR], 100, store_length, &got, 0) >= 0);
        nanosleep(&nap, NULL);
    }
    EXPECT_EQ(got, frame.len);
    close_all();
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(frame_reaches_the_process_of_its_qpn),
        TEST(joined_group_is_received),
        TEST(frame_that_cannot_be_sent_is_counted),
        TEST(refused_frame_does_not_block_others),
        TEST(frames_beyond_the_ring_are_counted),
        TEST(failed_handle_is_opened_again),
        TEST(interface_is_opened_again_until_deleted),
        TEST(longer_frames_are_received_after_the_mtu_was_raised)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.pcap", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the tap port: it sends a copy of each frame on the interface of the tap, with a right ICRC,
 * and passes the frame itself to the port that it wraps. */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/frameio/port_pcap.h"
#include "port/frameio/tap_port.h"
#include "port/netns.h"
#include "port/shm/port_shm.h"
#include "support/suite.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

static const uint32_t block = 0x100;

static struct rnic_port *open_port(void)
{
    const struct rnic_port_filter filter = {.block = &block, .block_cnt = 1};
    const struct rnic_port_shm_attr attr = {.icrc = true};
    struct rnic_port *port, *tap;
    struct rnic_iface iface;
    struct error why;

    CU_ASSERT_FATAL(rnic_iface_get("lo", &iface, &why) == 0);
    CU_ASSERT_FATAL(rnic_port_shm_open(&iface, &attr, &port, &why) == 0);
    CU_ASSERT_FATAL(rnic_port_shm_filter(port, &filter) == 0);
    EXPECT_EQ(rnic_tap_port_open("nowhere", port, &tap, &why), -ENODEV);
    CU_ASSERT(strcmp(why.text, "tap nowhere: No such device") == 0);
    CU_ASSERT_FATAL(rnic_tap_port_open("t0", port, &tap, &why) == 0);
    return tap;
}

/* Makes the link t0 - t1, and opens a socket at its far end t1. The kernel drops frames until it
 * has seen the carrier of both ends. */
static int open_far_end(void)
{
    struct sockaddr_ll addr = {.sll_family = AF_PACKET};
    const struct timeval patience = {.tv_sec = 60};
    int fd;

    CU_ASSERT_FATAL(netns_sh("ip link add t0 mtu 4500 type veth peer name t1 mtu 4500 && "
                             "ip link set t0 up && ip link set t1 up && for i in $(seq 600); do "
                             "ip link show t0 | grep -q 'state UP' && exit 0; sleep 0.1; done; "
                             "exit 1"));
    addr.sll_ifindex = (int)if_nametoindex("t1");
    fd = socket(AF_PACKET, SOCK_RAW, 0); /* bind() selects the EtherType */
    roce_be_put((uint8_t *)&addr.sll_protocol, sizeof(addr.sll_protocol), ROCE_ETHERTYPE_IP4);
    CU_ASSERT_FATAL(fd >= 0 && bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

static void count(void *user, const struct rnic_frame *frame)
{
    (void)frame;
    ++*(unsigned *)user;
}

static void sent_frame_is_copied_once(void)
{
    uint8_t buf[ROCE_FRAME_MAX], copy[ROCE_FRAME_MAX];
    struct rnic_frame frame = {.data = buf};
    struct rnic_port_stats stats;
    struct roce_pkt pkt;
    struct rnic_port *port;
    unsigned got = 0;
    int far_end;

    far_end = open_far_end();
    port = open_port();
    for (unsigned i = 0; i < 10; i++) {
        roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK);
        pkt.bth.dest_qp = block << 12;
        pkt.bth.psn = i;
        frame.len = (uint32_t)roce_pkt_build(&pkt, 0, buf, sizeof(buf));
        EXPECT_EQ(rnic_port_send(port, &frame, 1, 1), 1);
        EXPECT_EQ(recv(far_end, copy, sizeof(copy), 0), frame.len);
        CU_ASSERT(memcmp(copy, buf, frame.len) == 0);
    }
    EXPECT_EQ(rnic_port_recv(port, 100, count, &got, 2), 10);
    EXPECT_EQ(got, 10);
    EXPECT_EQ(recv(far_end, copy, sizeof(copy), MSG_DONTWAIT), -1);
    CU_ASSERT(netns_sh("ip link set t0 down"));
    EXPECT_EQ(rnic_port_send(port, &frame, 1, 3), 1);
    rnic_port_stats(port, &stats);
    EXPECT_EQ(stats.tap_errors, 1);
    EXPECT_EQ(rnic_port_recv(port, 100, count, &got, 4), 1);
    rnic_port_close(port);
    close(far_end);
    CU_ASSERT(netns_sh("ip link del t0"));
}

/* The send function of a port that accepts at most one frame of each call. */
static unsigned send_one(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                         uint64_t now)
{
    (void)port, (void)frames, (void)now;
    return cnt > 0;
}

static void close_nothing(struct rnic_port *port)
{
    (void)port;
}

static void frame_that_must_wait_is_copied_once(void)
{
    static const struct rnic_port_ops ops = {.send = send_one, .close = close_nothing};
    struct rnic_port slow = {.ops = &ops}, *tap;
    uint8_t bytes[4][60] = {{0}}, copy[100];
    struct rnic_frame frame[4];
    struct error why;
    int far_end;

    far_end = open_far_end();
    CU_ASSERT_FATAL(rnic_tap_port_open("t0", &slow, &tap, &why) == 0);
    for (unsigned i = 0; i < 4; i++) {
        bytes[i][12] = 8; /* type IPv4 */
        bytes[i][59] = (uint8_t)i;
        frame[i] = (struct rnic_frame){.data = bytes[i], .len = 60};
    }
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(rnic_port_send(tap, frame + i, 4 - i, 0), 1);
    for (unsigned i = 0; i < 4; i++) {
        EXPECT_EQ(recv(far_end, copy, sizeof(copy), 0), 60);
        EXPECT_EQ(copy[59], i);
    }
    EXPECT_EQ(recv(far_end, copy, sizeof(copy), MSG_DONTWAIT), -1);
    rnic_port_close(tap);
    close(far_end);
    CU_ASSERT(netns_sh("ip link del t0"));
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(sent_frame_is_copied_once),
                                              TEST(frame_that_must_wait_is_copied_once)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.tap", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

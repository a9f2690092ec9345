/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Two live devices in two processes: on the loopback, on one interface, and across a veth pair
 * between two network namespaces; with and without losses. The test runs in separate namespaces.
 */
#include <pcap/pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/talk.h"
#include "support/suite.h"

/* ---- two processes --------------------------------------------------------------------------- */

/* Runs both sides, each in a child process, and expects that both succeed. */
static void converse(struct talk server, struct talk client)
{
    int pair[2];
    pid_t pid[2];

    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct talk *talk = i == 0 ? &server : &client;

        talk->fd = pair[i];
        talk->client = i == 1;
        fflush(NULL);
        pid[i] = fork();
        if (pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(pair[1 - i]);
            _exit(talk_play(talk) ? 0 : 1);
        }
    }
    close(pair[0]);
    close(pair[1]);
    EXPECT_EQ(netns_wait(pid[0]), 0);
    EXPECT_EQ(netns_wait(pid[1]), 0);
}

static void same(struct talk talk)
{
    converse(talk, talk);
}

static void polling_processes_converse_on_loopback(void)
{
    same((struct talk){.iface = "lo", .rounds = 20, .size = 100000, .polls = true});
}

static void poll_threads_converse_on_loopback(void)
{
    same((struct talk){.iface = "lo", .rounds = 20, .size = 100000});
}

static void processes_converse_on_loopback_over_ipv6(void)
{
    same((struct talk){.iface = "lo", .gid = "v6", .rounds = 5, .size = 100000});
}

static void processes_converse_on_loopback_with_rocev1(void)
{
    same((struct talk){.iface = "lo", .gid = "v1", .rounds = 5, .size = 100000});
}

static void losses_on_loopback_are_recovered(void)
{
    same((struct talk){.iface = "lo", .rounds = 20, .size = 100000, .impair = "loss=3%"});
}

/* Applies all impairments at once. The poll threads drive the devices. */
static void all_impairments_on_loopback_are_recovered(void)
{
    same((struct talk){.iface = "lo",
                       .rounds = 20,
                       .size = 50000,
                       .impair = "loss=1%,dup=2%,corrupt=1%,reorder=2%,ecn=5%,delay=0us..30us"});
}

static bool make_dummy(void)
{
    return netns_sh("ip link show eth7 >/dev/null 2>&1 || { ip link add eth7 type veth peer name "
                    "eth8 && ip link set eth7 mtu 5000 up && ip link set eth8 mtu 5000 up && "
                    "ip addr add 192.0.2.1/24 dev eth7 && "
                    "ip -6 addr add 2001:db8::1/64 dev eth7 nodad && "
                    "ip addr add 198.51.100.1/24 dev eth8; }");
}

/* Two processes on one Ethernet interface with one address: their frames use the loopback. */
static void processes_of_one_interface_converse(void)
{
    CU_ASSERT_FATAL(make_dummy());
    same((struct talk){.iface = "eth7", .rounds = 20, .size = 100000, .polls = true});
    same((struct talk){.iface = "eth7", .gid = "v6", .rounds = 5, .size = 100000});
    same((struct talk){.iface = "eth7", .gid = "v1", .rounds = 5, .size = 100000});
}

/* Two interfaces of one machine exchange frames. */
static void two_interfaces_of_one_machine_converse(void)
{
    CU_ASSERT_FATAL(make_dummy());
    converse((struct talk){.iface = "eth7", .rounds = 20, .size = 100000},
             (struct talk){.iface = "eth8", .rounds = 20, .size = 100000});
    converse((struct talk){.iface = "eth7", .rounds = 5, .size = 100000},
             (struct talk){.iface = "lo", .rounds = 5, .size = 100000});
}

/* ---- two namespaces -------------------------------------------------------------------------- */

/* Runs the server in another namespace, at the other end of a veth pair: va in this namespace, vb
 * in the server's. `here` and `there` are the shell commands that configure va and vb. */
static void across(struct talk server, struct talk client, const char *here, const char *there)
{
    int pair[2];
    int go[2];
    pid_t far;

    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    EXPECT_EQ(pipe(go), 0);
    server.fd = pair[0];
    client.fd = pair[1];
    client.client = true;
    fflush(NULL);
    far = netns_fork();
    if (far == 0) {
        char byte;

        close(pair[1]);
        close(go[1]);
        if (read(go[0], &byte, 1) != 1 || !netns_sh("%s", there))
            _exit(1);
        if (write(pair[0], "r", 1) != 1)
            _exit(1);
        _exit(talk_play(&server) ? 0 : 1);
    }
    close(pair[0]);
    close(go[0]);
    CU_ASSERT_FATAL(far > 0);
    if (netns_sh("ip link add va type veth peer name vb && ip link set vb netns %d", (int)far) &&
        netns_sh("%s", here)) {
        char byte;
        pid_t near;

        EXPECT_EQ(write(go[1], "g", 1), 1);
        EXPECT_EQ(read(pair[1], &byte, 1), 1);
        near = fork();
        if (near == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(talk_play(&client) ? 0 : 1);
        }
        close(pair[1]);
        EXPECT_EQ(netns_wait(near), 0);
    } else {
        CU_FAIL("no veth pair");
        close(pair[1]);
    }
    close(go[1]);
    EXPECT_EQ(netns_wait(far), 0);
    netns_sh("ip link del va 2>/dev/null || true");
}

#define VETH_HERE                                                                                  \
    "ip link set va mtu 5000 up && ip addr add 203.0.113.1/24 dev va && "                          \
    "ip -6 addr add 2001:db8:1::1/64 dev va nodad"
#define VETH_THERE                                                                                 \
    "ip link set vb mtu 5000 up && ip addr add 203.0.113.2/24 dev vb && "                          \
    "ip -6 addr add 2001:db8:1::2/64 dev vb nodad"

static void veth_with(struct talk talk)
{
    struct talk server = talk;

    talk.iface = "va";
    server.iface = "vb";
    if (server.seed)
        server.seed++;
    across(server, talk, VETH_HERE, VETH_THERE);
}

static void polling_processes_converse_over_veth(void)
{
    veth_with((struct talk){.rounds = 20, .size = 200000, .polls = true});
}

static void poll_threads_converse_over_veth(void)
{
    veth_with((struct talk){.rounds = 20, .size = 200000});
}

static void processes_converse_over_veth_and_ipv6(void)
{
    veth_with((struct talk){.rounds = 5, .size = 200000, .gid = "v6"});
}

static void processes_converse_over_veth_with_rocev1(void)
{
    veth_with((struct talk){.rounds = 5, .size = 200000, .gid = "v1"});
}

static void losses_on_veth_are_recovered(void)
{
    veth_with((struct talk){.rounds = 20, .size = 200000, .impair = "loss=3%", .seed = 7});
}

static void processes_converse_over_veth_with_default_mtu(void)
{
    struct talk talk = {.rounds = 5, .size = 100000, .iface = "va"};
    struct talk server = talk;

    server.iface = "vb";
    across(server, talk, "ip link set va up && ip addr add 203.0.113.1/24 dev va",
           "ip link set vb up && ip addr add 203.0.113.2/24 dev vb");
}

#define VLAN 5

/* Counts the RoCE frames of a recording with and without the VLAN tag. */
static void count_tags(const char *path, unsigned *tagged, unsigned *plain)
{
    char text[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(path, text);
    struct pcap_pkthdr *head;
    const u_char *data;

    CU_ASSERT_FATAL(pcap != NULL);
    while (pcap_next_ex(pcap, &head, &data) == 1) {
        bool tag = data[12] == 0x81 && data[13] == 0 && (data[14] & 0x0f) == 0 && data[15] == VLAN;
        const u_char *type = data + (tag ? 16 : 12);

        if (type[0] == 0x08 && type[1] == 0 && type[2 + 9] == 17)
            *(tag ? tagged : plain) += 1;
    }
    pcap_close(pcap);
}

/* The devices insert the VLAN tag themselves, as for a QP with a VLAN's GID. Frames of both
 * directions have the tag, and are accepted with it. The kernel needs no VLAN support. */
static void device_inserts_vlan_tags(void)
{
    char path[64], folder[] = "/tmp/rocedrill-tagged-XXXXXX";
    struct talk talk = {
        .rounds = 5, .size = 100000, .iface = "va", .vlan = VLAN, .record = folder, .polls = true};
    struct talk server = talk;
    unsigned tagged = 0;
    unsigned plain = 0;

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s.pcapng", folder);
    server.iface = "vb";
    server.record = NULL;
    across(server, talk, VETH_HERE, VETH_THERE);
    CU_ASSERT(talk_join_recordings(folder, path));
    count_tags(path, &tagged, &plain);
    unlink(path);
    /* 5 rounds of a WRITE and a READ in packets of 4096 bytes have more than 200 frames */
    if (tagged < 200 || plain > 0)
        suite_fail(__FILE__, __LINE__, "%u frames with the VLAN tag, %u without", tagged, plain);
}

/* Each side uses a VLAN interface. If the kernel lacks 8021q, the devices insert the tags
 * themselves.
 */
static void vlan_interfaces_converse(void)
{
    struct talk talk = {.rounds = 5, .size = 100000, .iface = "va.5"};
    struct talk server = talk;

    server.iface = "vb.5";
    if (system("ip link add vc type veth peer name vd 2>/dev/null && ip link add link vc name vc.5 "
               "type vlan id 5 2>/dev/null && ip link del vc") != 0) {
        netns_sh("ip link del vc");
        talk = (struct talk){.rounds = 5, .size = 33333, .iface = "va", .vlan = 4094};
        server = talk;
        server.iface = "vb";
        across(server, talk, VETH_HERE, VETH_THERE);
        return;
    }
    across(server, talk,
           "ip link set va up && ip link add link va name va.5 type vlan id 5 && "
           "ip link set va.5 up && ip addr add 203.0.113.1/24 dev va.5",
           "ip link set vb up && ip link add link vb name vb.5 type vlan id 5 && "
           "ip link set vb.5 up && ip addr add 203.0.113.2/24 dev vb.5");
}

/* Addresses that no kernel has: the devices resolve each other by their own ARP. */
static void addresses_unknown_to_the_kernel_resolve_by_arp(void)
{
    static const struct rnic_gid a = {.gid = {[10] = 0xff, [11] = 0xff, 10, 9, 8, 1},
                                      .type = RNIC_GID_ROCE_V2};
    static const struct rnic_gid b = {.gid = {[10] = 0xff, [11] = 0xff, 10, 9, 8, 2},
                                      .type = RNIC_GID_ROCE_V2};
    struct talk talk = {.rounds = 5, .size = 100000, .iface = "va", .own_gid = &a};
    struct talk server = {.rounds = 5, .size = 100000, .iface = "vb", .own_gid = &b};

    across(server, talk, "ip link set va up", "ip link set vb up");
}

/* IPv6 addresses that no kernel has: the devices use their own Neighbour Discovery. */
static void addresses_unknown_to_the_kernel_resolve_by_nd(void)
{
    static const struct rnic_gid a = {.gid = {0xfd, 0, [15] = 1}, .type = RNIC_GID_ROCE_V2};
    static const struct rnic_gid b = {.gid = {0xfd, 0, [15] = 2}, .type = RNIC_GID_ROCE_V2};
    struct talk talk = {.rounds = 5, .size = 100000, .iface = "va", .own_gid = &a};
    struct talk server = {.rounds = 5, .size = 100000, .iface = "vb", .own_gid = &b};

    across(server, talk, "ip link set va up", "ip link set vb up");
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(polling_processes_converse_on_loopback),
        TEST(poll_threads_converse_on_loopback),
        TEST(processes_converse_on_loopback_over_ipv6),
        TEST(processes_converse_on_loopback_with_rocev1),
        TEST(losses_on_loopback_are_recovered),
        TEST(all_impairments_on_loopback_are_recovered),
        TEST(processes_of_one_interface_converse),
        TEST(two_interfaces_of_one_machine_converse),
        TEST(polling_processes_converse_over_veth),
        TEST(poll_threads_converse_over_veth),
        TEST(processes_converse_over_veth_and_ipv6),
        TEST(processes_converse_over_veth_with_rocev1),
        TEST(losses_on_veth_are_recovered),
        TEST(processes_converse_over_veth_with_default_mtu),
        TEST(device_inserts_vlan_tags),
        TEST(vlan_interfaces_converse),
        TEST(addresses_unknown_to_the_kernel_resolve_by_arp),
        TEST(addresses_unknown_to_the_kernel_resolve_by_nd),
    };

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.live", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

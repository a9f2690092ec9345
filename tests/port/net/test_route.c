/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Routes, neighbours and interfaces: netlink messages as bytes, and the kernel's own messages about
 * links in this test's namespace. */
#include <linux/neighbour.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/net/route.h"
#include "port/netns.h"
#include "support/rng.h"
#include "support/suite.h"

static const uint8_t hop4[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 9};
static const uint8_t mac[6] = {2, 1, 2, 3, 4, 5};

static struct rnic_nl_request entry(uint8_t family, unsigned state, unsigned index)
{
    struct ndmsg info = {
        .ndm_family = family, .ndm_state = (uint16_t)state, .ndm_ifindex = (int)index};
    struct rnic_nl_request msg;

    rnic_nl_begin(&msg, RTM_NEWNEIGH, 0, &info, sizeof(info));
    rnic_nl_put(&msg, NDA_DST, hop4 + 12, 4);
    rnic_nl_put(&msg, NDA_LLADDR, mac, 6);
    return msg;
}

static void neighbours_in_valid_states_are_usable(void)
{
    static const struct {
        unsigned state;
        bool usable;
    } states[] = {
        {NUD_PERMANENT, true}, {NUD_REACHABLE, true},   {NUD_STALE, true},   {NUD_DELAY, true},
        {NUD_PROBE, true},     {NUD_INCOMPLETE, false}, {NUD_FAILED, false}, {NUD_NONE, false},
    };
    struct rnic_nl_request msg;
    uint8_t got[6];

    for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        msg = entry(AF_INET, states[i].state, 3);
        memset(got, 0, 6);
        EXPECT_EQ(rnic_neigh_parse(&msg.head, 3, hop4, got), states[i].usable);
        EXPECT_EQ(memcmp(got, mac, 6) == 0, states[i].usable);
    }
    msg = entry(AF_INET, NUD_REACHABLE, 4);
    EXPECT_EQ(rnic_neigh_parse(&msg.head, 3, hop4, got), false); /* an entry of another interface
                                                                  * does not match */
    msg = entry(AF_INET6, NUD_REACHABLE, 3);
    EXPECT_EQ(rnic_neigh_parse(&msg.head, 3, hop4, got), false);
}

/* Messages with wrong bytes are not read beyond their end (checked by the sanitizers' build). */
static void damaged_messages_are_read_in_bounds(void)
{
    struct rng rng = rng_seed();

    for (unsigned i = 0; i < 100000; i++) {
        struct rnic_nl_request msg = entry(AF_INET, NUD_REACHABLE, 3);
        uint32_t len = msg.head.nlmsg_len;
        struct nlmsghdr *exact;
        struct rnic_route route;
        uint8_t got[6];

        for (unsigned n = rng_below(&rng, 4); n > 0; n--)
            msg.body[rng_below(&rng, len - sizeof(msg.head))] = (uint8_t)rng_u64(&rng);
        msg.head.nlmsg_len =
            (uint32_t)sizeof(msg.head) + rng_below(&rng, len - (uint32_t)sizeof(msg.head) + 1);
        exact = malloc(msg.head.nlmsg_len);
        CU_ASSERT_FATAL(exact != NULL);
        memcpy(exact, &msg, msg.head.nlmsg_len);
        rnic_neigh_parse(exact, 3, hop4, got);
        exact->nlmsg_type = RTM_NEWROUTE;
        rnic_route_parse(exact, &route);
        free(exact);
    }
}

/* A default route with two next hops, on the interfaces 4 and 5. `len` is the length that the
 * attribute of the first next hop claims. */
static struct rnic_nl_request default_route(uint16_t len)
{
    const struct rtnexthop hops[2] = {
        {.rtnh_len = len, .rtnh_ifindex = 4},
        {.rtnh_len = sizeof(hops[0]), .rtnh_ifindex = 5},
    };
    struct rtmsg info = {.rtm_family = AF_INET, .rtm_type = RTN_UNICAST};
    struct rnic_nl_request msg;

    rnic_nl_begin(&msg, RTM_NEWROUTE, 0, &info, sizeof(info));
    rnic_nl_put(&msg, RTA_MULTIPATH, hops, sizeof(hops));
    return msg;
}

static void each_next_hop_of_a_default_route_counts(void)
{
    struct rnic_nl_request msg = default_route(sizeof(struct rtnexthop));

    EXPECT_EQ(rnic_route_parse_default(&msg.head, 4), true);
    EXPECT_EQ(rnic_route_parse_default(&msg.head, 5), true);
    EXPECT_EQ(rnic_route_parse_default(&msg.head, 6), false);
    for (uint16_t len = 0; len < 40; len++) {
        msg = default_route(len);
        EXPECT_EQ(rnic_route_parse_default(&msg.head, 6), false);
    }
}

static void interface_mtu_limits_path_mtu(void)
{
    static const uint32_t cases[][2] = {{0, 0},       {255, 0},     {351, 0},     {352, 256},
                                        {1500, 1024}, {2143, 1024}, {2144, 2048}, {4191, 2048},
                                        {4192, 4096}, {65536, 4096}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        EXPECT_EQ(rnic_iface_path_mtu(cases[i][0]), cases[i][1]);
}

/* ---- routes of the kernel -------------------------------------------------------------------- */

static void gid4(uint8_t gid[16], unsigned a, unsigned b, unsigned c, unsigned d)
{
    const uint8_t ip[16] = {[10] = 0xff, [11] = 0xff, (uint8_t)a,
                            (uint8_t)b,  (uint8_t)c,  (uint8_t)d};

    memcpy(gid, ip, 16);
}

static void routes_and_neighbours_of_the_kernel_are_found(void)
{
    struct rnic_iface iface;
    struct rnic_iface *list;
    struct rnic_route route;
    struct error why;
    uint8_t gid[16];
    uint8_t got[6];
    size_t cnt;

    CU_ASSERT_FATAL(netns_sh(
        "ip link add e0 address 02:00:00:00:00:01 mtu 4200 type veth peer name e1 && "
        "ip link set e1 up && ip link set e0 up && ip addr add 192.0.2.1/24 dev e0 && "
        "ip -6 addr add 2001:db8::1/64 dev e0 nodad && ip route add default via 192.0.2.254 && "
        "ip neigh add 192.0.2.7 lladdr 02:00:00:00:00:77 nud permanent dev e0 && "
        "ip neigh add 2001:db8::7 lladdr 02:00:00:00:00:78 nud permanent dev e0"));
    EXPECT_EQ(rnic_iface_get("e0", &iface, &why), 0);
    EXPECT_EQ(iface.path_mtu, 4096);
    EXPECT_EQ(iface.up, true);
    EXPECT_EQ(iface.loopback, false);
    EXPECT_EQ(iface.vlan, RNIC_VLAN_NONE);
    /* GIDs have the order of Linux: link-local address, IPv4, IPv6; RoCEv1 before RoCEv2 for each.
     */
    EXPECT_EQ(iface.gid_cnt, 6);
    for (unsigned i = 0; i < iface.gid_cnt; i++)
        EXPECT_EQ(iface.gid[i].type, i % 2 ? RNIC_GID_ROCE_V2 : RNIC_GID_ROCE_V1);
    EXPECT_EQ(iface.gid[0].gid[0], 0xfe);
    EXPECT_EQ(iface.gid[0].gid[15], 1);
    EXPECT_EQ(iface.gid[0].gid[11], 0xff);
    gid4(gid, 192, 0, 2, 1);
    EXPECT_EQ(memcmp(iface.gid[3].gid, gid, 16), 0);
    EXPECT_EQ(iface.gid_kernel[3], true);
    EXPECT_EQ(iface.gid[5].gid[0], 0x20);

    EXPECT_EQ(rnic_route_get(gid, 0, &route), 0);
    EXPECT_EQ(route.local, true);
    gid4(gid, 192, 0, 2, 7);
    EXPECT_EQ(rnic_route_get(gid, 0, &route), 0);
    EXPECT_EQ(route.local || route.gateway, false);
    EXPECT_EQ(route.oif, iface.index);
    EXPECT_EQ(memcmp(route.src, iface.gid[3].gid, 16), 0);
    EXPECT_EQ(rnic_neigh_lookup(iface.index, gid, got), true);
    EXPECT_EQ(got[5], 0x77);
    gid4(gid, 192, 0, 2, 8);
    EXPECT_EQ(rnic_neigh_lookup(iface.index, gid, got), false);
    gid4(gid, 198, 51, 100, 1);
    EXPECT_EQ(rnic_route_get(gid, 0, &route), 0);
    EXPECT_EQ(route.gateway, true);
    EXPECT_EQ(route.hop[15], 254);
    memcpy(gid, iface.gid[5].gid, 16);
    gid[15] = 7;
    EXPECT_EQ(rnic_route_get(gid, 0, &route), 0);
    EXPECT_EQ(rnic_neigh_lookup(iface.index, gid, got), true);
    EXPECT_EQ(got[5], 0x78);

    EXPECT_EQ(rnic_route_is_default(iface.index), 1);
    EXPECT_EQ(rnic_route_is_default(iface.index + 1), 0);
    CU_ASSERT_FATAL(netns_sh("ip route del default"));
    EXPECT_EQ(rnic_route_is_default(iface.index), 0);
    CU_ASSERT_FATAL(netns_sh("ip -6 route add default dev e0"));
    EXPECT_EQ(rnic_route_is_default(iface.index), 1);
    CU_ASSERT_FATAL(netns_sh("ip -6 route del default && ip route add default "
                             "nexthop via 192.0.2.253 dev e0 nexthop via 192.0.2.254 dev e0"));
    EXPECT_EQ(rnic_route_is_default(iface.index), 1);
    EXPECT_EQ(rnic_route_is_default(iface.index + 1), 0);
    CU_ASSERT_FATAL(netns_sh("ip route del default"));
    CU_ASSERT_FATAL(netns_sh("ip route add 128.0.0.0/1 via 192.0.2.254"));
    EXPECT_EQ(rnic_route_is_default(iface.index), 1);
    CU_ASSERT_FATAL(
        netns_sh("ip route del 128.0.0.0/1 && ip route add 10.0.0.0/8 via 192.0.2.254"));
    EXPECT_EQ(rnic_route_is_default(iface.index), 0);

    EXPECT_EQ(rnic_iface_get("e9", &iface, &why) != 0, true);
    CU_ASSERT(strstr(why.text, "e9") != NULL);
    EXPECT_EQ(rnic_iface_list(&list, &cnt, &why), 0);
    EXPECT_EQ(cnt, 3);
    EXPECT_EQ(list[2].loopback, true);
    free(list);
}

/* The frames of a port of a bridge reach the hosts to which the bridge's default route leads. */
static void default_route_of_a_bridge_counts_for_its_ports(void)
{
    struct rnic_iface port;
    struct rnic_iface other;
    struct error why;

    CU_ASSERT_FATAL(netns_sh(
        "ip link add p0 type veth peer name p1 && ip link add b0 type bridge && "
        "ip link set p0 master b0 && ip link set p0 up && ip link set p1 up && "
        "ip link set b0 up && ip addr add 203.0.113.1/24 dev b0 && ip route add default dev b0"));
    EXPECT_EQ(rnic_iface_get("p0", &port, &why), 0);
    EXPECT_EQ(rnic_iface_get("p1", &other, &why), 0);
    EXPECT_EQ(rnic_route_is_default(port.index), 1);
    EXPECT_EQ(rnic_route_is_default(other.index), 0);
    CU_ASSERT(netns_sh("ip link set p0 nomaster"));
    EXPECT_EQ(rnic_route_is_default(port.index), 0);
    CU_ASSERT(netns_sh("ip link del b0 && ip link del p0"));
}

/* Changes of some addresses do not hide others. The kernel sends a long list in parts, and the list
 * can change between two parts. */
static void changing_list_hides_no_address(void)
{
    enum { ADDRESSES = 600, ROUNDS = 3000 };
    struct error why = {""};
    uint8_t stable[16];
    unsigned missed = 0;
    pid_t churn;

    gid4(stable, 198, 18, 0, 1);
    CU_ASSERT_FATAL(netns_sh("ip link add r0 type veth peer name r1 && "
                             "ip addr add 198.18.0.1/32 dev r1"));
    CU_ASSERT_FATAL(netns_sh("for i in $(seq %d); do "
                             "echo addr add 198.19.$((i / 200)).$((i %% 200))/32 dev r0; done "
                             "| ip -batch -",
                             ADDRESSES));
    churn = fork();
    CU_ASSERT_FATAL(churn >= 0);
    if (churn == 0) {
        setpgid(0, 0);
        execlp("sh", "sh", "-c",
               "for n in $(seq 200); do for i in $(seq 1 100); do echo addr del 198.19.0.$i/32 dev "
               "r0; done; "
               "for i in $(seq 1 100); do echo addr add 198.19.0.$i/32 dev r0; done; done "
               "| exec ip -batch - 2>/dev/null",
               (char *)NULL);
        _exit(127);
    }
    setpgid(churn, churn);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rnic_iface iface;
        bool found = false;

        if (rnic_iface_get("r1", &iface, &why) != 0)
            iface.gid_cnt = 0;
        for (unsigned i = 0; i < iface.gid_cnt; i++)
            found |= memcmp(iface.gid[i].gid, stable, 16) == 0;
        missed += !found;
    }
    if (missed)
        suite_fail(__FILE__, __LINE__,
                   "the constant address was missing in %u lists; last error: %s", missed,
                   why.text);
    kill(-churn, SIGKILL);
    netns_wait(churn);
    CU_ASSERT(netns_sh("ip link del r0"));
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(neighbours_in_valid_states_are_usable),
                                              TEST(damaged_messages_are_read_in_bounds),
                                              TEST(each_next_hop_of_a_default_route_counts),
                                              TEST(interface_mtu_limits_path_mtu),
                                              TEST(routes_and_neighbours_of_the_kernel_are_found),
                                              TEST(default_route_of_a_bridge_counts_for_its_ports),
                                              TEST(changing_list_hides_no_address)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.route", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

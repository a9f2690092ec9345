/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The slots of a ring say what libpcap would: on handles as the live port opens them, for MTUs that
 * make one slot, two or many of a page, over more than two turns of the ring. And where they are
 * not those of libpcap's handle, they say nothing.
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/frameio/packet_socket.h"
#include "support/suite.h"

#define RING (256u * 1024)

static struct packet_socket from, to;
static uint8_t sent[9000]; /* no ARP, no Neighbour Discovery */

static void open_pair(unsigned mtu)
{
    struct error why;

    /* No address, so that the kernel sends nothing: its frame may come between two looks. */
    CU_ASSERT_FATAL(
        netns_sh("ip link add p0 type veth peer name p1 && "
                 "ip link set p0 addrgenmode none && ip link set p1 addrgenmode none && "
                 "ip link set p0 mtu %u up && ip link set p1 mtu %u up",
                 mtu, mtu));
    memset(&from, 0, sizeof(from));
    memset(&to, 0, sizeof(to));
    CU_ASSERT_FATAL(packet_socket_open(&from, "p0", RING, (int)mtu + 22, &why) == 0);
    CU_ASSERT_FATAL(packet_socket_open(&to, "p1", RING, (int)mtu + 22, &why) == 0);
    memset(sent, 0xff, 6);
    sent[12] = 0x88;
    sent[13] = 0xb5; /* for local experiments */
}

static void close_pair(void)
{
    pcap_close(from.pcap);
    pcap_close(to.pcap);
    CU_ASSERT(netns_sh("ip link del p0"));
}

static void put(size_t len)
{
    CU_ASSERT(send(from.fd, sent, len, 0) == (ssize_t)len);
}

static void took(u_char *user, const struct pcap_pkthdr *head, const u_char *bytes)
{
    (void)head;
    ring_peek_took(&to.slots, bytes);
    ++*(unsigned *)(void *)user;
}

/* One frame at a time, as far as there is one: how many, and how often the slots were wrong. */
static unsigned drain(unsigned *wrong)
{
    unsigned cnt = 0;

    for (;;) {
        bool empty = ring_peek_empty(&to.slots);
        unsigned before = cnt;

        CU_ASSERT(pcap_dispatch(to.pcap, 1, took, (void *)&cnt) >= 0);
        *wrong += empty && cnt > before;
        if (cnt == before)
            return cnt;
    }
}

static void turns(unsigned mtu, bool vlan)
{
    unsigned wrong = 0;
    unsigned untold = 0;
    unsigned cnt = 0;

    open_pair(mtu);
    if (vlan) {
        memcpy(sent + 16, sent + 12, 2);
        memcpy(sent + 12, "\x81\x00\x00\x05", 4);
    }
    CU_ASSERT(ring_peek_tell(&to.slots)); /* the first slot is known */
    for (unsigned i = 0; i < 1500; i++) {
        put(60 + i % 7 * 8);
        if (i % 5 == 0)
            put(mtu);
        cnt += drain(&wrong);
        untold += i > 20 && !ring_peek_empty(&to.slots) && drain(&wrong) == 0;
    }
    CU_ASSERT(cnt >= 1800);
    EXPECT_EQ(wrong, 0);
    CU_ASSERT(untold < 5); /* such a frame may come between two looks */
    close_pair();
}

static void as_libpcap_does(void)
{
    static const unsigned mtus[] = {128, 500, 900, 1500, 2500, 4000, 5000, 9000};

    for (unsigned i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++)
        turns(mtus[i], false);
}

static void tagged(void)
{
    turns(1500, true);
}

/* A frame that was not where it should have been, before two have come and after: from then on
 * libpcap is asked. */
static void surprised(void)
{
    struct ring_peek slots;

    open_pair(1500);
    slots = to.slots;
    ring_peek_took(&slots, slots.begin + slots.head + 16);
    CU_ASSERT(!ring_peek_tell(&slots) && !ring_peek_empty(&slots));
    slots = to.slots;
    ring_peek_took(&slots, slots.begin + slots.head);
    CU_ASSERT(!ring_peek_tell(&slots));
    ring_peek_took(&slots, slots.begin + slots.head + 2048 + 4);
    CU_ASSERT(ring_peek_tell(&slots));
    EXPECT_EQ(slots.slot, 2048);
    ring_peek_took(&slots, slots.begin + slots.head + 2048);
    CU_ASSERT(!ring_peek_tell(&slots) && !ring_peek_empty(&slots));
    ring_peek_took(&slots, slots.last);
    CU_ASSERT(!ring_peek_tell(&slots));
    close_pair();
}

static void no_ring(void)
{
    struct ring_peek slots;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    ring_peek_find(&slots, fd);
    CU_ASSERT(!ring_peek_tell(&slots) && !ring_peek_empty(&slots));
    close(fd);
    fd = socket(AF_PACKET, SOCK_RAW, 0);
    ring_peek_find(&slots, fd);
    CU_ASSERT(!ring_peek_tell(&slots) && !ring_peek_empty(&slots));
    close(fd);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(as_libpcap_does), TEST(tagged), TEST(surprised),
                                              TEST(no_ring)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.slots", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

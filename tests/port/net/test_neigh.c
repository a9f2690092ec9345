/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* ARP and Neighbour Discovery frames: written and parsed again, and malformed frames. */
#include <string.h>
#include "port/net/neigh.h"
#include "support/rng.h"
#include "support/suite.h"

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa};
static const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 0xb};
static const uint8_t ip4_a[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1};
static const uint8_t ip4_b[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 2};
static const uint8_t ip6_a[16] = {0xfd, 0, [15] = 1};
static const uint8_t ip6_b[16] = {0xfd, 0, [13] = 7, 8, 9};

static void ask_and_tell(const uint8_t a[16], const uint8_t b[16])
{
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];
    struct rnic_neigh_msg question;
    struct rnic_neigh_msg answer;
    size_t len = rnic_neigh_ask(buf, mac_a, a, b);

    CU_ASSERT_FATAL(rnic_neigh_read(buf, len, &question));
    EXPECT_EQ(question.kind, RNIC_NEIGH_ASKS);
    EXPECT_EQ(memcmp(question.mac, mac_a, 6), 0);
    EXPECT_EQ(memcmp(question.asker, a, 16), 0);
    EXPECT_EQ(memcmp(question.target, b, 16), 0);
    EXPECT_EQ(buf[0] & 1, 1); /* the request is sent to a multicast group, because the MAC address
                               * is not known yet */
    len = rnic_neigh_tell(buf, mac_b, &question);
    CU_ASSERT_FATAL(rnic_neigh_read(buf, len, &answer));
    EXPECT_EQ(answer.kind, RNIC_NEIGH_TELLS);
    EXPECT_EQ(memcmp(answer.mac, mac_b, 6), 0);
    EXPECT_EQ(memcmp(answer.target, b, 16), 0);
    EXPECT_EQ(memcmp(buf, mac_a, 6), 0);
}

static void arp_request_and_reply_are_read_back(void)
{
    ask_and_tell(ip4_a, ip4_b);
}

static void solicitation_and_advertisement_are_read_back(void)
{
    ask_and_tell(ip6_a, ip6_b);
}

/* An ARP request in the form of Linux (arping on Debian 12), and the reply to it. */
static void arp_request_of_linux_gets_reply(void)
{
    static const uint8_t request[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,   0, 0, 0, 0,
                                        0xa,  0x08, 0x06, 0,    1,    8,    0,   6, 4, 0, 1,
                                        2,    0,    0,    0,    0,    0xa,  192, 0, 2, 1, 0,
                                        0,    0,    0,    0,    0,    192,  0,   2, 2};
    struct rnic_neigh_msg msg;
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];

    CU_ASSERT_FATAL(rnic_neigh_read(request, sizeof(request), &msg));
    EXPECT_EQ(msg.kind, RNIC_NEIGH_ASKS);
    EXPECT_EQ(memcmp(msg.target, ip4_b, 16), 0);
    EXPECT_EQ(rnic_neigh_tell(buf, mac_b, &msg), 60);
    EXPECT_EQ(buf[21], 2);
}

/* An address probe has no sender address; the Neighbour Advertisement is sent to all nodes. */
static void address_probe_gets_reply_to_all_nodes(void)
{
    static const uint8_t none[16];
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];
    struct rnic_neigh_msg msg;
    size_t len = rnic_neigh_ask(buf, mac_a, none, ip6_b);

    CU_ASSERT_FATAL(rnic_neigh_read(buf, len, &msg));
    EXPECT_EQ(memcmp(msg.asker, none, 16), 0);
    len = rnic_neigh_tell(buf, mac_b, &msg);
    CU_ASSERT(rnic_neigh_read(buf, len, &msg));
    EXPECT_EQ(buf[0], 0x33);
    len = rnic_neigh_ask(buf, mac_a, none, ip4_b);
    CU_ASSERT_FATAL(rnic_neigh_read(buf, len, &msg));
    EXPECT_EQ(memcmp(msg.asker, none, 16), 0);
}

/* Frames that are cut off or changed are read within their bounds. In ND frames every changed bit
 * is detected. */
static void damaged_frames_are_read_in_bounds(void)
{
    struct rng rng = rng_seed();
    uint8_t frame[RNIC_NEIGH_FRAME_MAX];
    struct rnic_neigh_msg msg;
    size_t len = rnic_neigh_ask(frame, mac_a, ip6_a, ip6_b);

    for (size_t cut = 0; cut < len; cut++) {
        uint8_t exact[RNIC_NEIGH_FRAME_MAX];

        memcpy(exact, frame, cut);
        EXPECT_EQ(rnic_neigh_read(exact, cut, &msg), false);
        EXPECT_EQ(msg.kind, RNIC_NEIGH_NONE);
    }
    for (size_t bit = 22 * 8; bit < len * 8; bit++) { /* bits of the addresses and the message,
                                                       * which the ND checksum covers */
        frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        EXPECT_EQ(rnic_neigh_read(frame, len, &msg), false);
        frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    frame[21] = 254; /* a hop limit below 255 is invalid (RFC 4861 7.1.1) */
    EXPECT_EQ(rnic_neigh_read(frame, len, &msg), false);
    for (unsigned i = 0; i < 100000; i++) {
        uint8_t junk[RNIC_NEIGH_FRAME_MAX];
        size_t size = rng_below(&rng, sizeof(junk) + 1);

        rng_fill(&rng, junk, sizeof(junk));
        junk[12] = i & 1 ? 0x08 : 0x86;
        junk[13] = i & 1 ? 0x06 : 0xdd;
        rnic_neigh_read(junk, size, &msg);
    }
}

SUITE("port.neigh", TEST(arp_request_and_reply_are_read_back),
      TEST(solicitation_and_advertisement_are_read_back), TEST(arp_request_of_linux_gets_reply),
      TEST(address_probe_gets_reply_to_all_nodes), TEST(damaged_frames_are_read_in_bounds))

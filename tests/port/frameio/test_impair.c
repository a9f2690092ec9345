/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the impairing port: the effect of each rule on the frames between a pair of memory ports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "port/frameio/impair_port.h"
#include "support/port_mem.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

#define FRAMES 20000u
#define LEN    100u

/* ---- effects on frames ----------------------------------------------------------------------- */

struct seen {
    unsigned cnt;
    unsigned twice;
    unsigned late; /* number of frames that arrived after a frame that was sent later */
    unsigned changed;
    unsigned marked;
    uint32_t last;
    uint64_t order; /* checksum over the order of arrival; two random orders have different
                     * checksums */
    uint64_t now;
    uint8_t *times;
};

/* Returns the offset of the IPv4 header. Packets with odd numbers have a VLAN tag before it. */
static unsigned ip_at(uint32_t number)
{
    return number & 1 ? 18 : 14;
}

/* Returns the Ethertype of a frame's VLAN tag. The frames use each tag type in turn. */
static uint16_t tag_of(uint32_t number)
{
    static const uint16_t tags[] = {ROCE_ETHERTYPE_VLAN, ROCE_ETHERTYPE_QINQ, ROCE_ETHERTYPE_QINQ1};

    return tags[number / 2 % 3];
}

/* Builds an IPv4 packet with ECT(0). The packet number is at its end twice, once inverted, so that
 * the test detects a changed bit. */
static void make(uint8_t *buf, uint32_t number)
{
    unsigned at = ip_at(number);
    uint8_t *ip = buf + at;
    uint32_t sum = 0;

    memset(buf, 0, LEN);
    roce_bits_put(buf, 12, 0, 16, tag_of(number));
    roce_bits_put(buf, at - 2, 0, 16, ROCE_ETHERTYPE_IP4);
    ip[0] = 0x45;
    ip[1] = 0x02;
    ip[3] = (uint8_t)(LEN - at);
    ip[9] = 17;
    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)roce_bits_get(ip, i, 0, 16);
    roce_bits_put(ip, 10, 0, 16, 0xffff ^ ((sum & 0xffff) + (sum >> 16)));
    roce_bits_put(buf, LEN - 8, 0, 32, ~number);
    roce_bits_put(buf, LEN - 4, 0, 32, number);
}

static uint32_t ip_sum(const uint8_t *ip)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)roce_bits_get(ip, i, 0, 16);
    return (sum & 0xffff) + (sum >> 16);
}

static void on_frame(void *user, const struct rnic_frame *frame)
{
    struct seen *seen = user;
    uint32_t number = (uint32_t)roce_bits_get(frame->data, LEN - 4, 0, 32);
    uint8_t want[LEN];
    unsigned bits = 0, at = ip_at(number);

    seen->cnt++;
    make(want, number < FRAMES ? number : 0);
    if ((frame->data[at + 1] & 3) == 3 && ip_sum(frame->data + at) == 0xffff) {
        seen->marked++;
        want[at + 1] |= 3;
        memcpy(want + at + 10, frame->data + at + 10, 2);
    }
    for (unsigned i = 0; i < LEN; i++)
        bits += (unsigned)__builtin_popcount(want[i] ^ frame->data[i]);
    seen->changed += bits != 0;
    seen->order = seen->order * 31 + number;
    if (number >= FRAMES)
        return;
    seen->twice += seen->times[number]++ == 1;
    seen->late += number < seen->last;
    seen->last = number > seen->last ? number : seen->last;
}

/* Sends FRAMES frames, one per microsecond, through the impairments `text`. Returns counts of the
 * received frames. */
static struct seen run(const char *text, uint64_t seed, struct rnic_port_stats *stats)
{
    struct seen seen = {.times = calloc(1, FRAMES)};
    struct rnic_port *pair[2];
    struct rnic_port *front;
    struct error why;
    uint8_t buf[LEN];
    uint64_t now = 1000000;
    unsigned turns = 0;

    CU_ASSERT_FATAL(rnic_port_mem_pair(64, pair, &why) == 0);
    CU_ASSERT_FATAL(rnic_impair_port_open(text, seed, pair[0], &front, &why) == 0);
    for (uint32_t i = 0; i < FRAMES; now += 1000) {
        struct rnic_frame frame = {.data = buf, .len = LEN};

        make(buf, i);
        i += rnic_port_send(front, &frame, 1, now);
        rnic_port_recv(pair[1], 1000, on_frame, &seen, now);
    }
    /* Delayed frames arrive when the time reaches the port's next deadline. */
    while (rnic_port_deadline(front) != UINT64_MAX) {
        CU_ASSERT_FATAL(turns++ < 3 * FRAMES);
        now = rnic_port_deadline(front) > now ? rnic_port_deadline(front) : now + 1;
        rnic_port_recv(front, 1000, on_frame, &seen, now);
        rnic_port_recv(pair[1], 1000, on_frame, &seen, now);
    }
    rnic_port_recv(front, 1000, on_frame, &seen, now);
    rnic_port_recv(pair[1], 1000, on_frame, &seen, now);
    seen.now = now;
    rnic_port_stats(front, stats);
    rnic_port_close(front);
    rnic_port_close(pair[1]);
    free(seen.times);
    return seen;
}

/* Expects that `actual` is about FRAMES * `part`: within five standard deviations of the binomial
 * distribution. */
static void expect_about(unsigned actual, double part)
{
    double want = FRAMES * part;
    double away = (double)actual - want;

    if (away * away > 25 * want * (1 - part) + 1)
        suite_fail(__FILE__, __LINE__, "%u of %u frames, expected about %.0f", actual, FRAMES,
                   want);
}

static void empty_rule_changes_nothing(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("", 1, &stats);

    EXPECT_EQ(seen.cnt, FRAMES);
    EXPECT_EQ(seen.late + seen.twice + seen.changed + seen.marked, 0);
}

static void loss_rule_drops_its_share(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("loss=3%", rng_seed().state, &stats);

    expect_about(FRAMES - seen.cnt, 0.03);
    EXPECT_EQ(stats.impair_lost, FRAMES - seen.cnt);
    EXPECT_EQ(seen.late + seen.twice + seen.changed + seen.marked, 0);
    EXPECT_EQ(run("loss=100%", 1, &stats).cnt, 0);
}

static void dup_rule_duplicates_its_share(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("dup=2%", rng_seed().state, &stats);

    expect_about(seen.twice, 0.02);
    EXPECT_EQ(seen.cnt, FRAMES + seen.twice);
    EXPECT_EQ(stats.impair_duplicated, seen.twice);
    EXPECT_EQ(run("dup=100%", 1, &stats).cnt, 2 * FRAMES);
}

static void corrupt_rule_changes_its_share(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("corrupt=5%", rng_seed().state, &stats);

    EXPECT_EQ(seen.cnt, FRAMES);
    expect_about(seen.changed, 0.05);
    EXPECT_EQ(stats.impair_corrupted, seen.changed);
}

static void ecn_rule_marks_its_share(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("ecn=10%", rng_seed().state, &stats);

    EXPECT_EQ(seen.cnt, FRAMES);
    expect_about(seen.marked, 0.1);
    EXPECT_EQ(stats.impair_marked, seen.marked);
    EXPECT_EQ(seen.changed + seen.late, 0);
}

static void reorder_rule_reorders_its_share(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("reorder=1%", rng_seed().state, &stats);

    EXPECT_EQ(seen.cnt, FRAMES);
    expect_about((unsigned)stats.impair_reordered, 0.01);
    /* A reordered frame counts as late, except in two cases: no frame followed it, or only delayed
     * frames overtook it. */
    CU_ASSERT(seen.late + 20 >= stats.impair_reordered && seen.late <= stats.impair_reordered);
    EXPECT_EQ(seen.changed + seen.twice, 0);
}

static void delay_rule_delays_frames(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("delay=100us", 1, &stats);

    EXPECT_EQ(seen.cnt, FRAMES); /* a fixed delay keeps the order */
    EXPECT_EQ(seen.late, 0);
    EXPECT_EQ(seen.now, 1000000 + (FRAMES - 1) * 1000u + 100000);
    seen = run("delay=10us..500us", 1, &stats);
    EXPECT_EQ(seen.cnt, FRAMES);
    CU_ASSERT(seen.late > FRAMES / 2);
    EXPECT_EQ(stats.impair_delayed, FRAMES);
}

/* A port with a full queue refuses frames. No accepted frame is lost. */
static void full_queue_loses_no_frame(void)
{
    struct rnic_port_stats stats;
    struct seen seen = run("delay=50ms", 1, &stats);

    EXPECT_EQ(seen.cnt, FRAMES);
    EXPECT_EQ(seen.late, 0);
}

static void equal_seeds_give_equal_impairments(void)
{
    static const char all[] = "loss=2%,dup=2%,corrupt=1%,reorder=3%,ecn=2%,delay=0us..40us";
    struct rnic_port_stats a;
    struct rnic_port_stats b;
    struct seen first = run(all, 42, &a);
    struct seen second = run(all, 42, &b);

    EXPECT_EQ(first.order, second.order);
    EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
    CU_ASSERT(run(all, 43, &b).order != first.order);
    /* The loss rule drops the same frames whether or not other rules are set. */
    run("loss=2%", 42, &b);
    EXPECT_EQ(a.impair_lost, b.impair_lost);
}

/* Rules with dir=in affect received frames only. */
static void dir_in_affects_received_frames_only(void)
{
    struct seen seen = {.times = calloc(1, FRAMES)};
    struct rnic_port *pair[2];
    struct rnic_port *front;
    struct error why;
    uint8_t buf[LEN];

    CU_ASSERT_FATAL(rnic_port_mem_pair(64, pair, &why) == 0);
    CU_ASSERT_FATAL(rnic_impair_port_open("loss=10%,dir=in", 5, pair[0], &front, &why) == 0);
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct rnic_frame frame = {.data = buf, .len = LEN};

        make(buf, i);
        EXPECT_EQ(rnic_port_send(pair[1], &frame, 1, 1), 1);
        rnic_port_recv(front, 1000, on_frame, &seen, 1);
    }
    expect_about(FRAMES - seen.cnt, 0.1);
    memset(seen.times, 0, FRAMES);
    seen.cnt = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct rnic_frame frame = {.data = buf, .len = LEN};

        make(buf, i);
        EXPECT_EQ(rnic_port_send(front, &frame, 1, 1), 1);
        rnic_port_recv(pair[1], 1000, on_frame, &seen, 1);
    }
    EXPECT_EQ(seen.cnt, FRAMES);
    free(seen.times);
    rnic_port_close(front);
    rnic_port_close(pair[1]);
}

SUITE("port.impair", TEST(empty_rule_changes_nothing), TEST(loss_rule_drops_its_share),
      TEST(dup_rule_duplicates_its_share), TEST(corrupt_rule_changes_its_share),
      TEST(ecn_rule_marks_its_share), TEST(reorder_rule_reorders_its_share),
      TEST(delay_rule_delays_frames), TEST(full_queue_loses_no_frame),
      TEST(equal_seeds_give_equal_impairments), TEST(dir_in_affects_received_frames_only))

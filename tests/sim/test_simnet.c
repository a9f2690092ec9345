/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The simulated network: each fault has its effect, the counts of faults are correct, and the same
 * seed repeats a run exactly. */
#include "support/simnet.h"

#include <stdlib.h>
#include "support/pktgen.h"
#include "support/suite.h"

#define LOG 4096u

/* Node that sends a given number of packets and records the packets that arrive. */
struct talker {
    struct pktgen gen;
    uint32_t psn;
    uint32_t left; /* number of packets still to be sent */
    uint8_t opcode;
    uint64_t alarm;
    unsigned alarms;
    unsigned cnt;
    struct {
        uint64_t at;
        uint32_t psn;
        bool good;
        uint8_t ecn;
    } got[LOG];
};

static struct simnet net;
static struct talker left;
static struct talker right;
static const uint8_t data[256] = {1, 2, 3};

static size_t talk(void *ctx, uint8_t *buf, size_t cap, uint64_t now)
{
    struct talker *t = ctx;
    struct roce_pkt pkt;

    (void)now;
    if (t->left == 0)
        return 0;
    t->left--;
    pkt = pktgen_pkt(&t->gen, t->opcode, t->psn++);
    if (t->opcode == ROCE_OP_RC_SEND_ONLY) {
        pkt.payload = data;
        pkt.payload_len = sizeof(data);
    } else {
        pkt.aeth.syndrome = 0x1F;
    }
    return (size_t)roce_pkt_build(&pkt, 0, buf, cap);
}

static void listen(void *ctx, const uint8_t *frame, size_t len, uint64_t now)
{
    struct talker *t = ctx;
    struct roce_pkt pkt;

    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) == 0);
    if (t->cnt < LOG) {
        t->got[t->cnt].at = now;
        t->got[t->cnt].psn = pkt.bth.psn;
        t->got[t->cnt].good = roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD;
        t->got[t->cnt].ecn = pkt.ip4.ecn;
    }
    t->cnt++;
}

static uint64_t alarm_at(void *ctx)
{
    return ((struct talker *)ctx)->alarm;
}

static void ring(void *ctx, uint64_t now)
{
    struct talker *t = ctx;

    if (now >= t->alarm) {
        t->alarm = SIMNET_NEVER;
        t->alarms++;
    }
}

static void add(struct talker *t, const uint8_t *mac)
{
    struct simnet_node node = {t, {0}, talk, listen, alarm_at, ring};

    memcpy(node.mac, mac, 6);
    simnet_add(&net, &node);
}

static void begin(uint64_t seed, uint32_t cnt)
{
    struct pktgen gen;

    simnet_free(&net);
    simnet_init(&net, seed);
    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    left = (struct talker){
        .gen = gen, .left = cnt, .opcode = ROCE_OP_RC_SEND_ONLY, .alarm = SIMNET_NEVER};
    right = (struct talker){.gen = gen, .opcode = ROCE_OP_RC_ACK, .alarm = SIMNET_NEVER};
    memcpy(right.gen.smac, gen.dmac, 6);
    memcpy(right.gen.dmac, gen.smac, 6);
    add(&left, gen.smac);
    add(&right, gen.dmac);
}

static void perfect_network_delivers_everything(void)
{
    begin(1, 100);
    CU_ASSERT(simnet_run(&net, SIMNET_NEVER - 1));
    EXPECT_EQ(right.cnt, 100);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_EQ(right.got[i].psn, i);
        EXPECT_EQ(right.got[i].at, 0);
        CU_ASSERT(right.got[i].good);
    }
    EXPECT_EQ(simnet_count(&net, 0, SIMNET_ANY, SIMNET_SENT), 100);
    EXPECT_EQ(simnet_count(&net, 0, SIMNET_BIT(DATA), SIMNET_DELIVERED), 100);
    EXPECT_EQ(simnet_count(&net, 1, SIMNET_ANY, SIMNET_SENT), 0);
}

static void chance_faults_and_tally(void)
{
    struct simnet_path path = {.loss_ppm = 100000,
                               .dup_ppm = 50000,
                               .reorder_ppm = 50000,
                               .corrupt_ppm = 50000,
                               .mark_ppm = 50000,
                               .delay_ns = 1000,
                               .jitter_ns = 500,
                               .reorder_ns = 20000};
    unsigned good = 0;
    unsigned marked = 0;
    unsigned backwards = 0;

    begin(2, 2000);
    simnet_paths(&net, &path);
    CU_ASSERT(simnet_run(&net, SIMNET_NEVER - 1));
    for (unsigned i = 0; i < right.cnt; i++) {
        good += right.got[i].good;
        marked += right.got[i].ecn == 3;
        backwards += i && right.got[i].psn < right.got[i - 1].psn;
        CU_ASSERT(right.got[i].at >= 1000);
    }
    EXPECT_EQ(right.cnt, 2000 - simnet_count(&net, 0, SIMNET_ANY, SIMNET_LOST) +
                             simnet_count(&net, 0, SIMNET_ANY, SIMNET_DUPLICATED));
    EXPECT_EQ(right.cnt, simnet_count(&net, 0, SIMNET_ANY, SIMNET_DELIVERED));
    EXPECT_EQ(right.cnt - good, simnet_count(&net, 0, SIMNET_ANY, SIMNET_BAD));
    EXPECT_EQ(right.cnt, net.arrived[1]);
    CU_ASSERT(marked >= simnet_count(&net, 0, SIMNET_ANY, SIMNET_MARKED));
    CU_ASSERT(backwards > 0);
    CU_ASSERT(simnet_count(&net, 0, SIMNET_ANY, SIMNET_LOST) > 100);
    CU_ASSERT(simnet_count(&net, 0, SIMNET_ANY, SIMNET_LOST) < 400);
}

static void equal_seeds_repeat_a_run(void)
{
    static struct talker first;

    for (unsigned run = 0; run < 3; run++) {
        struct simnet_path path = {.loss_ppm = 100000,
                                   .dup_ppm = 50000,
                                   .reorder_ppm = 50000,
                                   .delay_ns = 1000,
                                   .jitter_ns = 500,
                                   .reorder_ns = 20000};

        begin(run < 2 ? 3 : 4, 500);
        simnet_paths(&net, &path);
        simnet_run(&net, SIMNET_NEVER - 1);
        if (run == 0)
            first = right;
        else
            CU_ASSERT((memcmp(first.got, right.got, sizeof(first.got)) == 0) == (run == 1));
    }
}

/* Rules select packets by sender, QP, PSN, class and occurrence, as in Lumina, a test tool for RDMA
 * NICs. */
static void rules_select_single_packets(void)
{
    struct simnet_rule *drop, *hold, *never, *corrupt;

    begin(5, 10);
    right.left = 3;
    drop = simnet_rule(&net, &(struct simnet_rule){
                                 .from = 0, .psn_matters = true, .psn = 4, .action = SIMNET_DROP});
    hold = simnet_rule(&net, &(struct simnet_rule){.from = -1,
                                                   .classes = SIMNET_BIT(DATA),
                                                   .nth = 2,
                                                   .action = SIMNET_HOLD,
                                                   .delay_ns = 5000});
    never = simnet_rule(&net,
                        &(struct simnet_rule){.from = -1, .dest_qp = 0x99, .action = SIMNET_DROP});
    simnet_rule(&net, &(struct simnet_rule){.from = 1,
                                            .classes = SIMNET_BIT(ACK),
                                            .nth = 3,
                                            .action = SIMNET_REPEAT,
                                            .delay_ns = 10});
    corrupt = simnet_rule(
        &net, &(struct simnet_rule){
                  .from = 0, .psn_matters = true, .psn = 7, .action = SIMNET_CORRUPT_PAYLOAD});
    simnet_rule(&net, &(struct simnet_rule){
                          .from = 0, .psn_matters = true, .psn = 8, .action = SIMNET_CORRUPT_ICRC});
    simnet_rule(&net, &(struct simnet_rule){
                          .from = 0, .psn_matters = true, .psn = 9, .action = SIMNET_MARK});
    simnet_run(&net, SIMNET_NEVER - 1);
    EXPECT_EQ(drop->hits, 1);
    EXPECT_EQ(hold->seen, 10);
    EXPECT_EQ(hold->hits, 1);
    EXPECT_EQ(never->seen, 0);
    EXPECT_EQ(corrupt->hits, 1);
    EXPECT_EQ(right.cnt, 9);
    EXPECT_EQ(right.got[8].psn, 1); /* the delayed packet arrives last */
    EXPECT_EQ(right.got[8].at, 5000);
    EXPECT_EQ(right.got[7].psn, 9);
    EXPECT_EQ(right.got[7].ecn, 3);
    CU_ASSERT(right.got[7].good); /* the ICRC is good, because it does not cover the ECN mark
                                   * (R024) */
    CU_ASSERT(!right.got[6].good);
    CU_ASSERT(!right.got[5].good);
    EXPECT_EQ(left.cnt, 4); /* three ACKs, the third one duplicated */
    EXPECT_EQ(left.got[3].at, 10);
}

/* The queue is full for one packet, and a path is down from another packet on. The packets must be
 * lost accordingly. */
static void rules_fill_a_queue_and_cut_a_path(void)
{
    struct simnet_rule *cut;

    begin(5, 10);
    simnet_rule(&net, &(struct simnet_rule){
                          .from = 0, .psn_matters = true, .psn = 2, .action = SIMNET_FULL});
    cut = simnet_rule(
        &net, &(struct simnet_rule){
                  .from = 0, .psn_matters = true, .psn = 4, .action = SIMNET_CUT, .delay_ns = 100});
    simnet_run(&net, 1000);
    EXPECT_EQ(simnet_count(&net, 0, SIMNET_ANY, SIMNET_OVERFLOWED), 1);
    EXPECT_EQ(cut->hits, 1);
    EXPECT_EQ(right.cnt + 1 + simnet_count(&net, 0, SIMNET_ANY, SIMNET_PARTED), 10);
    EXPECT_EQ(right.cnt, 3);                /* packets 0, 1 and 3; all leave at time 0, before the
                                             * path is down */
    EXPECT_EQ(net.path[0][1].down_to, 100); /* time at which the path is up again */
}

static void partition_and_timers(void)
{
    begin(6, 0);
    left.alarm = 7000;
    CU_ASSERT(!simnet_run(&net, 1000)); /* the timer has not fired yet */
    EXPECT_EQ(net.now, 1000);
    simnet_part(&net, 0, 1, 100);
    left.left = 2;
    simnet_run(&net, 1000);
    EXPECT_EQ(simnet_count(&net, 0, SIMNET_ANY, SIMNET_PARTED), 2);
    CU_ASSERT(!simnet_run(&net, 2000));
    left.left = 1;
    CU_ASSERT(simnet_run(&net, SIMNET_NEVER - 1));
    EXPECT_EQ(right.cnt, 1);
    EXPECT_EQ(left.alarms, 1);
    EXPECT_EQ(net.now, 7000);
}

/* The link has 1 Gbit/s, so a packet of 338 bytes needs 2704 ns. */
static void bandwidth_and_queue(void)
{
    struct simnet_path path = {.bps = 1000000000};
    size_t len = 14 + 20 + 8 + 12 + sizeof(data) + 4;

    begin(7, 10);
    simnet_paths(&net, &path);
    simnet_run(&net, SIMNET_NEVER - 1);
    EXPECT_EQ(right.cnt, 10);
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(right.got[i].at, (i + 1) * len * 8);

    path.queue = 4 * len;
    begin(8, 10);
    simnet_paths(&net, &path);
    simnet_run(&net, SIMNET_NEVER - 1);
    EXPECT_EQ(right.cnt, 4);
    EXPECT_EQ(simnet_count(&net, 0, SIMNET_ANY, SIMNET_OVERFLOWED), 6);
}

static void recording(void)
{
    static const char path[] = "test_simnet_recording.pcap"; /* relative to the working directory
                                                              * of ctest */
    FILE *f;

    begin(9, 3);
    CU_ASSERT(simnet_record(&net, path));
    simnet_run(&net, SIMNET_NEVER - 1);
    simnet_free(&net);
    f = fopen(path, "rb");
    CU_ASSERT_FATAL(f != NULL);
    fseek(f, 0, SEEK_END);
    EXPECT_EQ(ftell(f), 24 + 3 * (16 + 314));
    fclose(f);
    remove(path);
}

SUITE("sim.simnet", TEST(perfect_network_delivers_everything), TEST(chance_faults_and_tally),
      TEST(equal_seeds_repeat_a_run), TEST(rules_select_single_packets),
      TEST(rules_fill_a_queue_and_cut_a_path), TEST(partition_and_timers),
      TEST(bandwidth_and_queue), TEST(recording))

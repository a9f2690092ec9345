/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Recordings and file ports: what goes in comes out, byte for byte, and files of others are
 * refused. */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/pcapng/pcapng.h"
#include "port/pcapng/pcapng_sort.h"
#include "port/frameio/port_file.h"
#include "port/frameio/port_mem.h"
#include "port/frameio/record.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/pkt.h"

static char path[] = "/tmp/rocedrill-record-XXXXXX";

static void fresh(void)
{
    int fd;

    snprintf(path, sizeof(path), "/tmp/rocedrill-record-XXXXXX");
    fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
}

static void make(uint8_t *buf, uint32_t len, unsigned number)
{
    struct rng rng = rng_of(number + 1);

    rng_fill(&rng, buf, len);
}

static uint32_t len_of(unsigned number)
{
    return 60 + number * 37 % (ROCE_FRAME_MAX - 60);
}

static void ignore(void *user, const struct rnic_frame *frame)
{
    (void)frame;
    ++*(unsigned *)user;
}

/* A recorded port, and the other end. */
static struct rnic_port *recorded(struct rnic_port **far, bool shared, const char *iface)
{
    const struct rnic_record_attr attr = {.path = path, .iface = iface, .shared = shared};
    struct rnic_port *pair[2];
    struct rnic_port *front;
    struct error why;

    CU_ASSERT_FATAL(rnic_port_mem_pair(16, pair, &why) == 0);
    if (rnic_record_open(&attr, pair[0], &front, &why) != 0) {
        suite_fail(__FILE__, __LINE__, "%s", why.text);
        CU_FAIL_FATAL("no recording");
    }
    *far = pair[1];
    return front;
}

/* Number of frames in the file, every byte of each compared. `first`: number of the first. */
static unsigned count(unsigned first)
{
    char text[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, text);
    struct pcap_pkthdr *head;
    const u_char *data;
    unsigned cnt = 0;
    int status;

    CU_ASSERT_FATAL(pcap != NULL);
    while ((status = pcap_next_ex(pcap, &head, &data)) == 1) {
        uint8_t want[ROCE_FRAME_MAX];

        make(want, len_of(first + cnt), first + cnt);
        EXPECT_EQ(head->caplen, len_of(first + cnt));
        EXPECT_EQ(head->len, head->caplen);
        CU_ASSERT(memcmp(want, data, head->caplen) == 0);
        CU_ASSERT(head->ts.tv_sec > 1500000000);
        cnt++;
    }
    EXPECT_EQ(status == PCAP_ERROR_BREAK, true);
    pcap_close(pcap);
    return cnt;
}

static void everything(void)
{
    struct rnic_port *far;
    struct rnic_port *near;
    uint8_t buf[ROCE_FRAME_MAX];
    unsigned got = 0;

    fresh();
    near = recorded(&far, false, "veth-test");
    for (unsigned i = 0; i < 3000; i++) {
        struct rnic_frame frame = {.data = buf, .len = len_of(i), .comment = i % 3 ? NULL : "note"};

        make(buf, frame.len, i);
        if (i % 2) {
            EXPECT_EQ(rnic_port_send(near, &frame, 1, 0), 1);
            rnic_port_recv(far, 16, ignore, &got, 0);
        } else {
            EXPECT_EQ(rnic_port_send(far, &frame, 1, 0), 1);
            rnic_port_recv(near, 16, ignore, &got, 0);
        }
    }
    EXPECT_EQ(got, 3000);
    rnic_port_flush(near); /* nothing is held back after that: the process may be killed now */
    EXPECT_EQ(count(0), 3000);
    rnic_port_close(near);
    rnic_port_close(far);
    unlink(path);
}

/* Frames that the port did not take are not in the file. */
static void only_what_went(void)
{
    struct rnic_port *far;
    struct rnic_port *near;
    uint8_t buf[40][ROCE_FRAME_MAX];
    struct rnic_frame frame[40];

    fresh();
    near = recorded(&far, false, "e0");
    for (unsigned i = 0; i < 40; i++) {
        make(buf[i], len_of(i), i);
        frame[i] = (struct rnic_frame){.data = buf[i], .len = len_of(i)};
    }
    EXPECT_EQ(rnic_port_send(near, frame, 40, 0), 16);
    rnic_port_close(near);
    rnic_port_close(far);
    EXPECT_EQ(count(0), 16);
    unlink(path);
}

/* Two writers in one file: one section, an interface each, or one for both. */
static void together(void)
{
    struct rnic_port *far[2];
    struct rnic_port *near[2];
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_frame frame = {.data = buf};
    unsigned got = 0;

    fresh();
    near[0] = recorded(&far[0], true, "e0");
    near[1] = recorded(&far[1], true, "e1");
    for (unsigned i = 0; i < 100; i++) {
        frame.len = len_of(i);
        make(buf, frame.len, i);
        EXPECT_EQ(rnic_port_send(near[i / 7 % 2], &frame, 1, 0), 1);
        rnic_port_flush(near[i / 7 % 2]);
        rnic_port_recv(far[i / 7 % 2], 16, ignore, &got, 0);
        /* What comes from this machine is its sender's to record. */
        EXPECT_EQ(rnic_port_send(far[0], &frame, 1, 0), 1);
        rnic_port_recv(near[0], 16, ignore, &got, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        rnic_port_close(near[i]);
        rnic_port_close(far[i]);
    }
    EXPECT_EQ(got, 200);
    EXPECT_EQ(count(0), 100);
    near[0] = recorded(&far[0], true, "e1"); /* a third that finds its interface */
    frame.len = len_of(100);
    make(buf, frame.len, 100);
    EXPECT_EQ(rnic_port_send(near[0], &frame, 1, 0), 1);
    rnic_port_close(near[0]);
    rnic_port_close(far[0]);
    EXPECT_EQ(count(0), 101);
    unlink(path);
}

/* Appends frame `number`, of two interfaces, at a time of its own. */
static void append(FILE *file, unsigned iface, unsigned number, uint64_t stamp)
{
    uint8_t frame[ROCE_FRAME_MAX];
    uint8_t block[ROCE_FRAME_MAX + RNIC_PCAPNG_OVERHEAD];
    size_t len;

    make(frame, len_of(number), number);
    len = rnic_pcapng_frame(block, sizeof(block), iface, stamp, RNIC_PCAPNG_OUT, "a comment", frame,
                            len_of(number));
    CU_ASSERT_FATAL(len > 0 && fwrite(block, len, 1, file) == 1);
}

/* What processes appended in batches is in the order of its times afterwards; frames of one time
 * stay in their order, the interfaces come first, and a torn end stays where it is. */
static void sorted(void)
{
    enum { CNT = 2000 };
    static const uint64_t base = UINT64_C(1600000000000000000);
    struct rng rng = rng_seed();
    struct error why;
    unsigned order[CNT];
    uint8_t block[512];
    FILE *file;
    int status;

    fresh();
    file = fopen(path, "we");
    CU_ASSERT_FATAL(file != NULL);
    fwrite(block, rnic_pcapng_section(block, sizeof(block)), 1, file);
    fwrite(block, rnic_pcapng_iface(block, sizeof(block), "lo"), 1, file);
    for (unsigned i = 0; i < CNT; i++)
        order[i] = i;
    for (unsigned i = 0; i < CNT; i++) { /* swaps of even with even: of a pair the first stays so */
        unsigned k = 2 * (unsigned)rng_below(&rng, CNT / 2);
        unsigned j = 2 * (i / 2);
        unsigned even = order[j], odd = order[j + 1];

        order[j] = order[k], order[j + 1] = order[k + 1];
        order[k] = even, order[k + 1] = odd;
    }
    for (unsigned i = 0; i < CNT; i++) {
        if (i == CNT / 2)
            fwrite(block, rnic_pcapng_iface(block, sizeof(block), "eth0"), 1, file);
        append(file, i >= CNT / 2, order[i], base + order[i] / 2 * 10);
    }
    fclose(file);
    EXPECT_EQ(rnic_pcapng_sort(path, &why), 0);
    EXPECT_EQ(count(0), CNT);
    EXPECT_EQ(rnic_pcapng_sort(path, &why), 0); /* nothing to do */
    EXPECT_EQ(count(0), CNT);
    file = fopen(path, "ae");
    CU_ASSERT_FATAL(file != NULL);
    append(file, 0, CNT, base - 1); /* would be the first */
    fwrite(block, 11, 1, file);
    fclose(file);
    EXPECT_EQ(rnic_pcapng_sort(path, &why), 0);
    status = truncate(path, 20);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(rnic_pcapng_sort(path, &why) == -EINVAL, true); /* the section is not whole */
    CU_ASSERT(strstr(why.text, path) != NULL);
    EXPECT_EQ(truncate(path, 0), 0);
    EXPECT_EQ(rnic_pcapng_sort(path, &why), 0);
    unlink(path);
    EXPECT_EQ(rnic_pcapng_sort(path, &why) == -ENOENT, true);
}

static void refused(void)
{
    static const char junk[] = "this is no capture at all, but somebody's notes";
    const struct rnic_record_attr attr = {.path = path, .iface = "e0"};
    struct rnic_port *front;
    struct error why = {""};
    struct stat stat_before;
    struct stat stat_after;
    FILE *file;

    fresh();
    file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    fwrite(junk, 1, sizeof(junk), file);
    fclose(file);
    EXPECT_EQ(stat(path, &stat_before), 0);
    EXPECT_EQ(rnic_record_open(&attr, NULL, &front, &why) == -EINVAL, true);
    CU_ASSERT(strstr(why.text, path) != NULL);
    EXPECT_EQ(stat(path, &stat_after), 0);
    EXPECT_EQ(stat_after.st_size, stat_before.st_size);
    unlink(path);
}

/* Any damage to a file is seen, and nothing beyond it read. */
static void damaged(void)
{
    struct rng rng = rng_seed();
    uint8_t whole[512];
    uint8_t data[64] = {0};
    uint32_t cnt;
    size_t len = rnic_pcapng_section(whole, sizeof(whole));

    len += rnic_pcapng_iface(whole + len, sizeof(whole) - len, "e0");
    len += rnic_pcapng_iface(whole + len, sizeof(whole) - len, "e1");
    len += rnic_pcapng_frame(whole + len, sizeof(whole) - len, 1, 1, RNIC_PCAPNG_IN, "x", data, 61);
    EXPECT_EQ(rnic_pcapng_find(whole, len, "e0", &cnt), 0);
    EXPECT_EQ(rnic_pcapng_find(whole, len, "e1", &cnt), 1);
    EXPECT_EQ(rnic_pcapng_find(whole, len, "e", &cnt), 2);
    EXPECT_EQ(cnt, 2);
    for (unsigned i = 0; i < 50000; i++) {
        size_t cut = i < len ? i : rng_below(&rng, (uint32_t)len + 1);
        uint8_t *exact = malloc(cut ? cut : 1);

        CU_ASSERT_FATAL(exact != NULL);
        memcpy(exact, whole, cut);
        for (unsigned n = i < len ? 0 : rng_below(&rng, 4); n > 0 && cut > 0; n--)
            exact[rng_below(&rng, (uint32_t)cut)] = (uint8_t)rng_u64(&rng);
        rnic_pcapng_find(exact, cut, "e1", &cnt);
        free(exact);
    }
    for (size_t cap = 0; cap < 100; cap++) /* what has no room is not written */
        CU_ASSERT(rnic_pcapng_frame(whole, cap, 0, 0, RNIC_PCAPNG_IN, "x", data, 61) == 0);
}

/* ---- the file port --------------------------------------------------------------------------- */

/* What one port wrote another plays, at the times between. */
static void played(void)
{
    struct rnic_port *port;
    struct error why;
    uint8_t buf[ROCE_FRAME_MAX];
    unsigned got = 0;
    uint64_t now = 500;
    int status;

    fresh();
    EXPECT_EQ(rnic_port_file_open(NULL, path, "e0", &port, &why), 0);
    for (unsigned i = 0; i < 100; i++) {
        struct rnic_frame frame = {.data = buf, .len = len_of(i)};

        make(buf, frame.len, i);
        EXPECT_EQ(rnic_port_send(port, &frame, 1, 0), 1);
    }
    EXPECT_EQ(rnic_port_recv(port, 1, ignore, &got, 0) == -ENODATA, true);
    rnic_port_close(port);
    EXPECT_EQ(count(0), 100);
    EXPECT_EQ(rnic_port_file_open(path, NULL, "e0", &port, &why), 0);
    while ((status = rnic_port_recv(port, 1, ignore, &got, now)) >= 0) {
        CU_ASSERT_FATAL(status == 1 || rnic_port_deadline(port) > now);
        if (rnic_port_deadline(port) != UINT64_MAX && rnic_port_deadline(port) > now)
            now = rnic_port_deadline(port);
    }
    EXPECT_EQ(status == -ENODATA, true);
    EXPECT_EQ(got, 100);
    CU_ASSERT(now > 500); /* time went by while they were written */
    rnic_port_close(port);
    unlink(path);
}

static void not_played(void)
{
    struct rnic_port *port;
    struct error why;

    EXPECT_EQ(rnic_port_file_open("/nix/there.pcap", NULL, "e0", &port, &why) != 0, true);
    CU_ASSERT(strstr(why.text, "/nix/there.pcap") != NULL);
    EXPECT_EQ(rnic_port_file_open(NULL, "/nix/there.pcap", "e0", &port, &why) != 0, true);
    CU_ASSERT(strstr(why.text, "/nix/there.pcap") != NULL);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A full way is said, and a wait for room ends; frames keep their order. */
static void memory(void)
{
    struct rnic_port *pair[2];
    struct rnic_port_stats stats;
    struct rnic_frame frame[8];
    struct pollfd fds[RNIC_PORT_FDS];
    struct error why;
    uint8_t data[64] = {0};
    unsigned got = 0;

    CU_ASSERT_FATAL(rnic_port_mem_pair(4, pair, &why) == 0);
    for (unsigned i = 0; i < 8; i++)
        frame[i] = (struct rnic_frame){.data = data, .len = sizeof(data)};
    EXPECT_EQ(rnic_port_send(pair[0], frame, 8, 0), 4);
    EXPECT_EQ(rnic_port_fds(pair[0], fds), 1);
    EXPECT_EQ(poll(fds, 1, 0), 0);
    EXPECT_EQ(rnic_port_recv(pair[1], 1, ignore, &got, 0), 1);
    EXPECT_EQ(poll(fds, 1, 0), 1); /* there is room again */
    EXPECT_EQ(rnic_port_recv(pair[0], 8, ignore, &got, 0), 0);
    EXPECT_EQ(poll(fds, 1, 0), 0);
    EXPECT_EQ(rnic_port_send(pair[0], frame, 4, 0), 1);
    EXPECT_EQ(rnic_port_recv(pair[1], 8, ignore, &got, 0), 4);
    EXPECT_EQ(got, 5);
    rnic_port_close(pair[1]);
    EXPECT_EQ(rnic_port_send(pair[0], frame, 8, 0), 8);
    rnic_port_stats(pair[0], &stats);
    EXPECT_EQ(stats.tx_link_down, 8);
    EXPECT_EQ(stats.tx_frames, 5);
    EXPECT_EQ(stats.tx_full, 2);
    rnic_port_close(pair[0]);
}

SUITE("port.record", TEST(everything), TEST(only_what_went), TEST(together), TEST(sorted),
      TEST(refused), TEST(damaged), TEST(played), TEST(not_played), TEST(memory))

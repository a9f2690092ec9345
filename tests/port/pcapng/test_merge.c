/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Merges several recordings that still grow into one recording, sorted by time. */
#include <errno.h>
#include <string.h>
#include "pcapng/pcapng.h"
#include "pcapng/pcapng_merge.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/bytes.h"

#define BLOCK_FRAME 6u

struct taken {
    uint64_t stamp[4096];
    uint32_t iface[4096];
    unsigned frames, others;
};

static void take(void *user, const uint8_t *block, size_t len)
{
    struct taken *t = user;

    EXPECT_EQ(roce_le32_get(block + len - 4), len);
    if (roce_le32_get(block) != BLOCK_FRAME) {
        t->others++;
        return;
    }
    CU_ASSERT_FATAL(t->frames < 4096);
    t->iface[t->frames] = roce_le32_get(block + 8);
    t->stamp[t->frames++] = (uint64_t)roce_le32_get(block + 12) << 32 | roce_le32_get(block + 16);
}

static int begin(struct pcapng_merge *merge, const char *iface)
{
    uint8_t buf[256];
    int stream = pcapng_merge_add(merge);
    size_t len = pcapng_section(buf, sizeof(buf), "test");

    CU_ASSERT_FATAL(stream >= 0);
    len += pcapng_interface(buf + len, sizeof(buf) - len, iface, NULL, PCAPNG_LINKTYPE_ETHERNET, 0);
    EXPECT_EQ(pcapng_merge_feed(merge, stream, buf, len), 0);
    return stream;
}

static void mark(struct pcapng_merge *merge, int stream, uint64_t stamp)
{
    uint8_t buf[64];

    EXPECT_EQ(pcapng_merge_feed(merge, stream, buf, pcapng_mark(buf, sizeof(buf), stamp)), 0);
}

static size_t packet(uint8_t *buf, size_t cap, uint32_t iface, uint64_t stamp, const uint8_t *bytes,
                     uint32_t len)
{
    return pcapng_packet(buf, cap,
                         &(struct pcapng_frame){.iface = iface,
                                                .time = stamp,
                                                .direction = PCAPNG_OUT,
                                                .data = bytes,
                                                .cap_len = len,
                                                .wire_len = len});
}

static void frame(struct pcapng_merge *merge, int stream, uint64_t stamp)
{
    static const uint8_t bytes[61];
    uint8_t buf[256];
    size_t len = packet(buf, sizeof(buf), 0, stamp, bytes, sizeof(bytes));

    EXPECT_EQ(pcapng_merge_feed(merge, stream, buf, len), 0);
}

/* A mark with time T promises that its stream will have no more frames before T. The merge must
 * hold back the frames of all streams from T on, until this stream has a later mark. */
static void marks_hold_younger_frames_back(void)
{
    struct pcapng_merge *merge = pcapng_merge_new();
    struct taken t = {.frames = 0};
    int a = begin(merge, "lo"), b = begin(merge, "lo"), c = begin(merge, "eth0");

    mark(merge, a, 100);
    frame(merge, b, 150);
    frame(merge, b, 90);
    frame(merge, c, 120);
    pcapng_merge_take(merge, 1000, take, &t);
    EXPECT_EQ(t.others, 3); /* other blocks: the section, lo, eth0 */
    EXPECT_EQ(t.frames, 1);
    EXPECT_EQ(t.stamp[0], 90);
    frame(merge, a, 110);
    mark(merge, a, UINT64_MAX);
    pcapng_merge_take(merge, 130, take, &t);
    EXPECT_EQ(t.frames, 3);
    EXPECT_EQ(t.stamp[1], 110);
    EXPECT_EQ(t.iface[1], 0);
    EXPECT_EQ(t.stamp[2], 120);
    EXPECT_EQ(t.iface[2], 1);
    mark(merge, c, 10); /* stream c ends, because its process was killed */
    pcapng_merge_end(merge, c);
    pcapng_merge_take(merge, 1000, take, &t);
    EXPECT_EQ(t.frames, 4);
    mark(merge, a, 10);
    frame(merge, b, 2000);
    pcapng_merge_take(merge, UINT64_MAX, take, &t); /* no more frames will follow */
    EXPECT_EQ(t.frames, 5);
    EXPECT_EQ(pcapng_merge_waiting(merge), 0);
    EXPECT_EQ(t.others, 3);
    pcapng_merge_del(merge);
}

/* Processes record in batches. The test reads their recordings at random moments, each in two
 * parts. The result is sorted. */
static void growing_recordings_are_merged_in_order(void)
{
    enum { STREAMS = 5, STEPS = 20000 };
    struct rng rng = rng_seed();
    struct pcapng_merge *merge = pcapng_merge_new();
    static struct taken t;
    uint8_t file[STREAMS][8192];
    size_t len[STREAMS], given[STREAMS];
    bool open[STREAMS] = {false};
    int stream[STREAMS];
    uint64_t now = 1000;
    unsigned sent = 0;

    memset(&t, 0, sizeof(t));
    for (int i = 0; i < STREAMS; i++) {
        stream[i] = begin(merge, "lo");
        len[i] = given[i] = 0;
    }
    for (int step = 0; step < STEPS && sent < 4000; step++) {
        unsigned i = rng_below(&rng, STREAMS);
        static const uint8_t bytes[100];

        now += 1 + rng_below(&rng, 50);
        if (len[i] < 7000) {
            uint8_t *at = file[i] + len[i];
            size_t room = sizeof(file[i]) - len[i];

            if (!open[i]) {
                len[i] += pcapng_mark(at, room, now);
                open[i] = true;
            } else if (rng_below(&rng, 3) > 0) {
                len[i] += packet(at, room, 0, now, bytes, sizeof(bytes));
                sent++;
            } else {
                len[i] += pcapng_mark(at, room, UINT64_MAX);
                open[i] = false;
            }
        }
        if (rng_below(&rng, 10) == 0) { /* the reader reads all recordings */
            for (unsigned k = 0; k < STREAMS; k++) {
                size_t cut = (len[k] - given[k]) / 2;

                EXPECT_EQ(pcapng_merge_feed(merge, stream[k], file[k] + given[k], cut), 0);
                EXPECT_EQ(pcapng_merge_feed(merge, stream[k], file[k] + given[k] + cut,
                                            len[k] - given[k] - cut),
                          0);
                len[k] = given[k] = 0;
            }
            pcapng_merge_take(merge, now, take, &t);
        }
    }
    for (unsigned k = 0; k < STREAMS; k++)
        EXPECT_EQ(pcapng_merge_feed(merge, stream[k], file[k], len[k]), 0);
    pcapng_merge_take(merge, UINT64_MAX, take, &t);
    EXPECT_EQ(t.frames, sent);
    for (unsigned i = 1; i < t.frames; i++)
        CU_ASSERT(t.stamp[i - 1] < t.stamp[i]);
    pcapng_merge_del(merge);
}

static void streams_that_are_no_recording_end(void)
{
    static const uint8_t zeros[64];
    struct pcapng_merge *merge = pcapng_merge_new();
    struct taken t = {.frames = 0};
    int a = begin(merge, "lo"), b = begin(merge, "lo");
    uint8_t buf[256];
    size_t len = packet(buf, sizeof(buf), 1, 5, zeros, 20);

    EXPECT_EQ(pcapng_merge_feed(merge, a, zeros, sizeof(zeros)), -EINVAL);
    EXPECT_EQ(pcapng_merge_feed(merge, a, zeros, 4), -EINVAL); /* the stream has ended */
    EXPECT_EQ(pcapng_merge_feed(merge, b, buf, len),
              -EINVAL); /* the stream has no such interface */
    pcapng_merge_take(merge, UINT64_MAX, take, &t);
    EXPECT_EQ(t.frames, 0);
    pcapng_merge_del(merge);
}

SUITE("port.merge", TEST(marks_hold_younger_frames_back),
      TEST(growing_recordings_are_merged_in_order), TEST(streams_that_are_no_recording_end))

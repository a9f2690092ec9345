/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Recordings with a tally, a file of counters that programs share with rnic-run: a program counts
 * the frames that it records and those that it cannot record, waits for a slow reader, and stops
 * recording when rnic-run was killed. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "port/frameio/record.h"
#include "port/sys/tally.h"
#include "support/port_mem.h"
#include "support/suite.h"
#include "wire/bytes.h"

#define FRAME_LEN 1500u

static char folder[] = "/tmp/rocedrill-tally-XXXXXX";
static struct tally_file owner;
static struct rnic_port *near, *far;

static void open_recording(void)
{
    const struct rnic_record_attr attr = {.folder = folder, .iface = "e0"};
    struct rnic_port *pair[2];
    struct error why = {""};

    CU_ASSERT_FATAL(rnic_port_mem_pair(16, pair, &why) == 0);
    far = pair[1];
    CU_ASSERT_FATAL(rnic_record_open(&attr, pair[0], &near, &why) == 0);
}

static void create_tally(void)
{
    char name[64];

    snprintf(folder, sizeof(folder), "/tmp/rocedrill-tally-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(name, sizeof(name), "%s/tally", folder);
    CU_ASSERT_FATAL(tally_create(&owner, name) == 0);
}

static void close_all(void)
{
    char command[64];

    rnic_port_close(near);
    rnic_port_close(far);
    tally_close(&owner);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    CU_ASSERT(system(command) == 0);
}

static void ignore(void *user, const struct rnic_frame *frame)
{
    (void)frame;
    ++*(unsigned *)user;
}

/* Sends batches of 8 frames at one end, and receives them at the other end. */
static void send_batches(unsigned cnt)
{
    static uint8_t data[FRAME_LEN];
    unsigned got = 0;

    for (unsigned i = 0; i < cnt; i++) {
        struct rnic_frame frame[8];

        for (unsigned k = 0; k < 8; k++)
            frame[k] = (struct rnic_frame){.data = data, .len = sizeof(data)};
        EXPECT_EQ(rnic_port_send(near, frame, 8, 0), 8);
        rnic_port_flush(near);
        while (rnic_port_recv(far, 16, ignore, &got, 0) > 0)
            ;
    }
}

static off_t recorded_bytes(void)
{
    char pattern[64];
    struct stat st = {.st_size = -1};
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/*.pcapng", folder);
    CU_ASSERT_FATAL(glob(pattern, 0, NULL, &found) == 0);
    EXPECT_EQ(found.gl_pathc, 1);
    EXPECT_EQ(stat(found.gl_pathv[0], &st), 0);
    globfree(&found);
    return st.st_size;
}

static void recorded_frames_are_counted(void)
{
    create_tally();
    open_recording();
    send_batches(5);
    EXPECT_EQ(atomic_load(&owner.tally->recorded), 40);
    EXPECT_EQ(atomic_load(&owner.tally->lost), 0);
    CU_ASSERT(atomic_load(&owner.tally->written) > 40 * FRAME_LEN);
    close_all();
}

/* Returns whether the only recording ends at the end of a pcapng block. */
static bool ends_with_a_block(void)
{
    uint8_t head[8];
    char pattern[64];
    glob_t found;
    off_t at = 0, end = recorded_bytes();
    int fd;

    snprintf(pattern, sizeof(pattern), "%s/*.pcapng", folder);
    CU_ASSERT_FATAL(glob(pattern, 0, NULL, &found) == 0);
    fd = open(found.gl_pathv[0], O_RDONLY);
    globfree(&found);
    while (at < end && pread(fd, head, sizeof(head), at) == (ssize_t)sizeof(head))
        at += roce_le32_get(head + 4);
    close(fd);
    return at == end;
}

/* A frame that does not fit into the file is not written in part. */
static void frames_that_do_not_fit_are_counted(void)
{
    struct rlimit before, small;

    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_FATAL(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = (struct rlimit){.rlim_cur = 20 * FRAME_LEN, .rlim_max = before.rlim_max};
    create_tally();
    open_recording();
    CU_ASSERT_FATAL(setrlimit(RLIMIT_FSIZE, &small) == 0);
    send_batches(5);
    CU_ASSERT_FATAL(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CU_ASSERT(recorded_bytes() > 19 * FRAME_LEN);
    CU_ASSERT(ends_with_a_block());
    EXPECT_EQ(atomic_load(&owner.tally->recorded), 19);
    EXPECT_EQ(atomic_load(&owner.tally->lost), 21);
    EXPECT_EQ(atomic_load(&owner.tally->error), EFBIG);
    close_all();
}

static void recording_ends_with_rnic_run(void)
{
    char name[64];
    off_t before;

    create_tally();
    tally_close(&owner); /* closes the tally as the kernel does when rnic-run is killed */
    open_recording();
    before = recorded_bytes();
    send_batches(5);
    CU_ASSERT(recorded_bytes() < before + FRAME_LEN); /* at most a mark was added, and no frame */
    snprintf(name, sizeof(name), "%s/tally", folder);
    CU_ASSERT_FATAL(tally_open(&owner, name) == 0);
    EXPECT_EQ(atomic_load(&owner.tally->recorded), 0);
    close_all();
}

static void recording_goes_on_if_rnic_run_leaves_it(void)
{
    char name[64];

    create_tally();
    atomic_store(&owner.tally->detached, 1);
    tally_close(&owner);
    open_recording();
    send_batches(5);
    snprintf(name, sizeof(name), "%s/tally", folder);
    CU_ASSERT_FATAL(tally_open(&owner, name) == 0);
    EXPECT_EQ(atomic_load(&owner.tally->recorded), 40);
    close_all();
}

#define BACKLOG 100000u

/* Reads the recording a little at a time. Sets *user to the largest backlog seen, bytes. */
static void *read_slowly(void *user)
{
    uint64_t *most = user;
    struct tally *tally = owner.tally;

    while (atomic_load(&tally->recorded) < 8 * 500) {
        uint64_t written = atomic_load(&tally->written), consumed = atomic_load(&tally->consumed);
        uint64_t step = written - consumed < 5000 ? written - consumed : 5000;

        if (written - consumed > *most)
            *most = written - consumed;
        atomic_store(&tally->consumed, consumed + step);
        if (step == 0)
            sched_yield();
    }
    return NULL;
}

static void a_slow_reader_slows_the_recording(void)
{
    uint64_t most = 0;
    pthread_t reader;

    create_tally();
    atomic_store(&owner.tally->limit, BACKLOG);
    open_recording();
    CU_ASSERT_FATAL(pthread_create(&reader, NULL, read_slowly, &most) == 0);
    send_batches(500); /* 6 MB */
    pthread_join(reader, NULL);
    CU_ASSERT(most <= BACKLOG + 64);
    EXPECT_EQ(atomic_load(&owner.tally->recorded), 4000);
    EXPECT_EQ(atomic_load(&owner.tally->lost), 0);
    close_all();
}

SUITE("port.tally", TEST(recorded_frames_are_counted), TEST(frames_that_do_not_fit_are_counted),
      TEST(recording_ends_with_rnic_run), TEST(recording_goes_on_if_rnic_run_leaves_it),
      TEST(a_slow_reader_slows_the_recording))

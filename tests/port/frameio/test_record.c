/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Recordings and file ports: recorded frames are read back byte for byte, sorted by time. */
#include <errno.h>
#include <glob.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "pcapng/pcapng.h"
#include "pcapng/pcapng_join.h"
#include "port/frameio/record.h"
#include "port/netns.h"
#include "support/port_file.h"
#include "support/port_mem.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/pkt.h"

static char folder[] = "/tmp/rocedrill-record-XXXXXX"; /* folder of the recordings */
static char path[64];                                  /* path of the joined file, or of another
                                                        * file */

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/rocedrill-record-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s.joined", folder);
}

static void remove_folder(void)
{
    char command[160];

    snprintf(command, sizeof(command), "rm -rf %s %s", folder, path);
    CU_ASSERT(system(command) == 0);
}

/* Joins all files in the folder into one file. Returns the result of pcapng_join(). */
static int join_folder(struct error *why)
{
    char pattern[sizeof(folder) + 16];
    FILE *out = fopen(path, "we");
    glob_t found;
    int rc;

    snprintf(pattern, sizeof(pattern), "%s/*.pcapng", folder);
    CU_ASSERT_FATAL(out != NULL && glob(pattern, 0, NULL, &found) == 0);
    rc = pcapng_join(out, found.gl_pathv, (unsigned)found.gl_pathc, NULL, why);
    globfree(&found);
    EXPECT_EQ(fclose(out), 0);
    return rc;
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

/* Opens a pair of memory ports. Returns a port that records the frames of the first memory port,
 * and sets *far to the second one. */
static struct rnic_port *recorded(struct rnic_port **far, bool shared, const char *iface)
{
    const struct rnic_record_attr attr = {.folder = folder, .iface = iface, .shared = shared};
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

/* Returns the number of frames in the file and compares every byte. `first` is the number of the
 * first frame. */
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

/* Returns the number of interfaces in the joined file. */
static unsigned count_ifaces(void)
{
    static uint8_t bytes[8u << 20];
    FILE *file = fopen(path, "re");
    size_t len, at = 0;
    unsigned cnt = 0;
    uint32_t size;

    CU_ASSERT_FATAL(file != NULL);
    len = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    for (; (size = pcapng_block_len(false, bytes + at, len - at)) != 0; at += size)
        cnt += pcapng_u32(false, bytes + at) == PCAPNG_INTERFACE;
    EXPECT_EQ(at, len);
    return cnt;
}

static void every_frame_is_recorded_byte_for_byte(void)
{
    struct rnic_port *far;
    struct rnic_port *near;
    uint8_t buf[ROCE_FRAME_MAX];
    unsigned got = 0;
    struct error why;

    make_folder();
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
    rnic_port_flush(near); /* a flush writes all frames to the file, in case the process is killed
                            * later */
    EXPECT_EQ(join_folder(&why), 0);
    EXPECT_EQ(count(0), 3000);
    rnic_port_close(near);
    rnic_port_close(far);
    remove_folder();
}

/* Frames that the port did not accept are not in the file. */
static void frames_the_port_refused_are_not_recorded(void)
{
    struct rnic_port *far;
    struct rnic_port *near;
    uint8_t buf[40][ROCE_FRAME_MAX];
    struct rnic_frame frame[40];
    struct error why;

    make_folder();
    near = recorded(&far, false, "e0");
    for (unsigned i = 0; i < 40; i++) {
        make(buf[i], len_of(i), i);
        frame[i] = (struct rnic_frame){.data = buf[i], .len = len_of(i)};
    }
    EXPECT_EQ(rnic_port_send(near, frame, 40, 0), 16);
    rnic_port_close(near);
    rnic_port_close(far);
    EXPECT_EQ(join_folder(&why), 0);
    EXPECT_EQ(count(0), 16);
    remove_folder();
}

/* The joined file of several writers has one section, and one interface for each name. */
static void several_writers_share_interfaces(void)
{
    struct rnic_port *far[2];
    struct rnic_port *near[2];
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_frame frame = {.data = buf};
    unsigned got = 0;
    struct error why;

    make_folder();
    near[0] = recorded(&far[0], true, "e0");
    near[1] = recorded(&far[1], true, "e1");
    for (unsigned i = 0; i < 100; i++) {
        frame.len = len_of(i);
        make(buf, frame.len, i);
        EXPECT_EQ(rnic_port_send(near[i / 7 % 2], &frame, 1, 0), 1);
        rnic_port_flush(near[i / 7 % 2]);
        rnic_port_recv(far[i / 7 % 2], 16, ignore, &got, 0);
        /* A frame between two local processes is recorded only by its sender, so this reception is
         * not recorded. */
        EXPECT_EQ(rnic_port_send(far[0], &frame, 1, 0), 1);
        rnic_port_recv(near[0], 16, ignore, &got, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        rnic_port_close(near[i]);
        rnic_port_close(far[i]);
    }
    EXPECT_EQ(got, 200);
    EXPECT_EQ(join_folder(&why), 0);
    EXPECT_EQ(count(0), 100);
    near[0] = recorded(&far[0], true, "e1"); /* third recording, on an interface that another
                                              * recording has already */
    frame.len = len_of(100);
    make(buf, frame.len, 100);
    EXPECT_EQ(rnic_port_send(near[0], &frame, 1, 0), 1);
    rnic_port_close(near[0]);
    rnic_port_close(far[0]);
    EXPECT_EQ(join_folder(&why), 0);
    EXPECT_EQ(count(0), 101);
    EXPECT_EQ(count_ifaces(), 2);
    remove_folder();
}

/* Opens file `number` of the folder. */
static FILE *open_part(unsigned number, const char *mode)
{
    char name[sizeof(folder) + 16];

    snprintf(name, sizeof(name), "%s/%u.pcapng", folder, number);
    return fopen(name, mode);
}

static void write_interface(FILE *file, const char *name)
{
    uint8_t block[512];

    fwrite(block, pcapng_section(block, sizeof(block), "test"), 1, file);
    fwrite(block, pcapng_interface(block, sizeof(block), name, NULL, PCAPNG_LINKTYPE_ETHERNET, 0),
           1, file);
}

static void append(FILE *file, unsigned number, uint64_t stamp)
{
    static const char *const comment = "a comment";
    uint8_t frame[ROCE_FRAME_MAX];
    uint8_t block[ROCE_FRAME_MAX + PCAPNG_OVERHEAD(1)];
    size_t len;

    make(frame, len_of(number), number);
    len = pcapng_packet(block, sizeof(block),
                        &(struct pcapng_frame){.time = stamp,
                                               .direction = PCAPNG_OUT,
                                               .data = frame,
                                               .cap_len = len_of(number),
                                               .wire_len = len_of(number),
                                               .comment = &comment,
                                               .comment_cnt = 1});
    CU_ASSERT_FATAL(len > 0 && fwrite(block, len, 1, file) == 1);
}

/* Two files with frames in any order are joined into one file, sorted by time. Frames with equal
 * times keep their order. A killed process leaves an incomplete block at the end of its file, which
 * is dropped. */
static void joined_file_is_sorted_by_time(void)
{
    enum { CNT = 2000 };
    static const uint64_t base = UINT64_C(1600000000000000000);
    struct rng rng = rng_seed();
    struct error why;
    unsigned order[CNT];
    FILE *file[3];

    make_folder();
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_FATAL((file[i] = open_part(i, "we")) != NULL);
    write_interface(file[0], "lo");
    write_interface(file[1], "eth0"); /* the third file remains empty */
    for (unsigned i = 0; i < CNT; i++)
        order[i] = i;
    for (unsigned i = 0; i < CNT; i++) { /* shuffles pairs of frames; both frames of a pair have
                                          * the same time and keep their order */
        unsigned k = 2 * (unsigned)rng_below(&rng, CNT / 2);
        unsigned j = 2 * (i / 2);
        unsigned even = order[j], odd = order[j + 1];

        order[j] = order[k], order[j + 1] = order[k + 1];
        order[k] = even, order[k + 1] = odd;
    }
    for (unsigned i = 0; i < CNT; i++)
        append(file[i >= CNT / 2], order[i], base + order[i] / 2 * 10);
    append(file[1], CNT, base + CNT * 10);
    for (unsigned i = 0; i < 3; i++)
        fclose(file[i]);
    EXPECT_EQ(join_folder(&why), 0);
    EXPECT_EQ(count(0), CNT + 1);
    EXPECT_EQ(count_ifaces(), 2);
    file[1] = open_part(1, "r+e");
    CU_ASSERT_FATAL(file[1] != NULL && fseek(file[1], 0, SEEK_END) == 0);
    EXPECT_EQ(ftruncate(fileno(file[1]), ftell(file[1]) - 7), 0);
    fclose(file[1]);
    EXPECT_EQ(join_folder(&why), 0);
    EXPECT_EQ(count(0), CNT);
    file[1] = open_part(1, "r+e");
    CU_ASSERT_FATAL(file[1] != NULL);
    EXPECT_EQ(ftruncate(fileno(file[1]), 20), 0); /* the section block is incomplete */
    fclose(file[1]);
    EXPECT_EQ(join_folder(&why), -1);
    CU_ASSERT(strstr(why.text, "/1.pcapng: not a pcapng file") != NULL);
    remove_folder();
}

static void file_in_place_of_the_folder_is_refused(void)
{
    static const char junk[] = "this is no folder at all, but somebody's notes";
    const struct rnic_record_attr attr = {.folder = path, .iface = "e0"};
    struct rnic_port *front;
    struct error why = {""};
    struct stat st;
    FILE *file;

    make_folder();
    file = fopen(path, "w");
    CU_ASSERT_FATAL(file != NULL);
    fwrite(junk, 1, sizeof(junk), file);
    fclose(file);
    EXPECT_EQ(rnic_record_open(&attr, NULL, &front, &why), -ENOTDIR);
    CU_ASSERT(strstr(why.text, path) != NULL);
    EXPECT_EQ(stat(path, &st), 0);
    EXPECT_EQ(st.st_size, sizeof(junk));
    remove_folder();
}

/* Damaged recordings, which can contain any bytes, are not read beyond their end (checked by the
 * sanitizers' build). */
static void damaged_recordings_are_read_in_bounds(void)
{
    struct rng rng = rng_seed();
    static const char *const comment = "x";
    uint8_t whole[512], data[64] = {0};
    struct pcapng_frame frame = {
        .data = data, .cap_len = 61, .wire_len = 61, .comment = &comment, .comment_cnt = 1};
    size_t len = pcapng_section(whole, sizeof(whole), "test");

    len +=
        pcapng_interface(whole + len, sizeof(whole) - len, "e0", NULL, PCAPNG_LINKTYPE_ETHERNET, 0);
    len += pcapng_packet(whole + len, sizeof(whole) - len, &frame);
    make_folder();
    for (unsigned i = 0; i < 5000; i++) {
        size_t cut = i < len ? i : rng_below(&rng, (uint32_t)len + 1);
        uint8_t bytes[sizeof(whole)];
        FILE *file = open_part(0, "we");
        struct error why;

        CU_ASSERT_FATAL(file != NULL);
        memcpy(bytes, whole, cut);
        for (unsigned n = i < len ? 0 : rng_below(&rng, 4); n > 0 && cut > 0; n--)
            bytes[rng_below(&rng, (uint32_t)cut)] = (uint8_t)rng_u64(&rng);
        fwrite(bytes, 1, cut, file);
        fclose(file);
        (void)join_folder(&why);
    }
    remove_folder();
    for (size_t cap = 0; cap < 100; cap++) /* a block that does not fit is not written */
        CU_ASSERT(pcapng_packet(whole, cap, &frame) == 0);
}

/* ---- the file port --------------------------------------------------------------------------- */

/* A file port replays a file that another port wrote, with the original times between the frames.
 */
static void file_port_replays_frames_with_their_times(void)
{
    struct rnic_port *port;
    struct error why;
    uint8_t buf[ROCE_FRAME_MAX];
    unsigned got = 0;
    uint64_t now = 500;
    int status;

    make_folder();
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
    CU_ASSERT(now > 500); /* the frames are received at the times at which they were written */
    rnic_port_close(port);
    remove_folder();
}

static void missing_file_is_named(void)
{
    struct rnic_port *port;
    struct error why;

    EXPECT_EQ(rnic_port_file_open("/nix/there.pcap", NULL, "e0", &port, &why) != 0, true);
    CU_ASSERT(strstr(why.text, "/nix/there.pcap") != NULL);
    EXPECT_EQ(rnic_port_file_open(NULL, "/nix/there.pcap", "e0", &port, &why) != 0, true);
    CU_ASSERT(strstr(why.text, "/nix/there.pcap") != NULL);
}

/* ---- ports in memory ------------------------------------------------------------------------- */

/* A port accepts no more frames if its peer has no room. Its descriptor becomes readable when there
 * is room again. */
static void full_memory_port_reports_room(void)
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
    EXPECT_EQ(poll(fds, 1, 0), 1); /* the port has room again */
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

/* A program that opens no device, or is killed before it opens one, leaves an empty file. The
 * joined file is then a capture without frames. */
static void recording_without_a_device_is_a_capture_without_frames(void)
{
    char empty[sizeof(folder) + 16], why[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *hdr;
    const uint8_t *data;
    struct error error;
    pcap_t *in;
    FILE *out;

    make_folder();
    snprintf(empty, sizeof(empty), "%s/1.pcapng", folder);
    out = fopen(empty, "we");
    CU_ASSERT_FATAL(out != NULL && fclose(out) == 0);
    EXPECT_EQ(join_folder(&error), 0);
    in = pcap_open_offline(path, why);
    CU_ASSERT_FATAL(in != NULL);
    EXPECT_EQ(pcap_datalink(in), DLT_EN10MB);
    EXPECT_EQ(pcap_next_ex(in, &hdr, &data), PCAP_ERROR_BREAK);
    pcap_close(in);
    remove_folder();
}

/* ---- the time of day is set ------------------------------------------------------------------ */

static int64_t clock_set_by; /* how far the time of day was set, ns */

/* Replaces the C library's function in this program. */
int clock_gettime(clockid_t clock, struct timespec *at)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, at);
    int64_t ns = (int64_t)at->tv_sec * 1000000000 + at->tv_nsec + clock_set_by;

    if (clock == CLOCK_REALTIME)
        *at = rnic_timespec((uint64_t)ns);
    return rc;
}

/* A port that receives one frame at a time, with the time stamp of the kernel. */
struct stamping_port {
    struct rnic_port port;
    uint64_t stamp;
};

static int stamping_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                         uint64_t now)
{
    static const uint8_t data[60];

    (void)max;
    (void)now;
    fn(user, &(struct rnic_frame){.data = data,
                                  .len = sizeof(data),
                                  .stamp = ((struct stamping_port *)port)->stamp});
    return 1;
}

static unsigned stamping_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                              uint64_t now)
{
    (void)port;
    (void)frames;
    (void)now;
    return cnt;
}

static void stamping_close(struct rnic_port *port)
{
    (void)port;
}

static void record_one_each_way(struct rnic_port *recording, struct stamping_port *kernel,
                                uint64_t stamp)
{
    uint8_t data[60] = {0};
    struct rnic_frame frame = {.data = data, .len = sizeof(data)};
    unsigned got = 0;

    EXPECT_EQ(rnic_port_send(recording, &frame, 1, 0), 1);
    kernel->stamp = stamp ? stamp : rnic_clock_ns(CLOCK_REALTIME);
    EXPECT_EQ(rnic_port_recv(recording, 1, ignore, &got, 0), 1);
    EXPECT_EQ(got, 1);
}

/* An administrator or an NTP client sets the time of day during a recording. Sent frames have
 * stamps of the port, received frames have stamps of the kernel. The recording must keep the order,
 * and its times must not jump. A frame that the kernel stamped before the clock was set, but that
 * the port reads later, is in order, too. */
static void setting_the_time_of_day_does_not_change_times(void)
{
    static const struct rnic_port_ops ops = {
        .recv = stamping_recv, .send = stamping_send, .close = stamping_close};
    static const int64_t sets[] = {0, 7200, -86400, 1, 0};
    struct stamping_port kernel = {.port.ops = &ops};
    uint64_t begin = rnic_clock_ns(CLOCK_REALTIME), before = begin, stamp = 0;
    char text[PCAP_ERRBUF_SIZE], name[sizeof(folder) + 32];
    struct rnic_port *recording;
    struct pcap_pkthdr *head;
    const u_char *data;
    struct error why;
    unsigned cnt = 0;
    glob_t found;
    pcap_t *pcap;

    make_folder();
    CU_ASSERT_FATAL(rnic_record_open(&(struct rnic_record_attr){.folder = folder, .iface = "wire0"},
                                     &kernel.port, &recording, &why) == 0);
    for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        clock_set_by = sets[i] * 1000000000;
        record_one_each_way(recording, &kernel, stamp);
        record_one_each_way(recording, &kernel, 0);
        stamp = rnic_clock_ns(CLOCK_REALTIME);
    }
    rnic_port_close(recording);
    snprintf(name, sizeof(name), "%s/*.pcapng", folder);
    CU_ASSERT_FATAL(glob(name, 0, NULL, &found) == 0);
    pcap = pcap_open_offline_with_tstamp_precision(found.gl_pathv[0], PCAP_TSTAMP_PRECISION_NANO,
                                                   text);
    globfree(&found);
    CU_ASSERT_FATAL(pcap != NULL);
    while (pcap_next_ex(pcap, &head, &data) == 1) {
        uint64_t time = (uint64_t)head->ts.tv_sec * 1000000000u + (uint64_t)head->ts.tv_usec;

        /* Allow 0.1 ms, because the times are from two clocks. */
        CU_ASSERT(time + 100000 >= before);
        before = time;
        cnt++;
    }
    EXPECT_EQ(cnt, 4 * sizeof(sets) / sizeof(sets[0]));
    CU_ASSERT(before < rnic_clock_ns(CLOCK_REALTIME) + 100000);
    pcap_close(pcap);
    remove_folder();
}

SUITE("port.record", TEST(every_frame_is_recorded_byte_for_byte),
      TEST(frames_the_port_refused_are_not_recorded), TEST(several_writers_share_interfaces),
      TEST(joined_file_is_sorted_by_time),
      TEST(recording_without_a_device_is_a_capture_without_frames),
      TEST(file_in_place_of_the_folder_is_refused), TEST(damaged_recordings_are_read_in_bounds),
      TEST(file_port_replays_frames_with_their_times), TEST(missing_file_is_named),
      TEST(full_memory_port_reports_room), TEST(setting_the_time_of_day_does_not_change_times))

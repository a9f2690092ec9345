/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The capture reader returns the frames that libpcap reads from a file. It also reads files that
 * libpcap refuses.
 */
#include <glob.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/capture_reader.h"
#include "pcapng/pcapng.h"
#include "replay/checkrun.h"
#include "replay/ngfile.h"
#include "support/rng.h"
#include "support/suite.h"

#define S UINT64_C(1000000000)

static struct capture sample; /* Ethernet capture that all tests use, loaded once */

static void load(void)
{
    if (!sample.cnt)
        CU_ASSERT_TRUE_FATAL(capture_load(&sample, TRACES_DIR "/captures/rc-loss-both.pcap"));
}

/* True if the timestamps of the file have a resolution that libpcap computes wrong. */
static bool too_fine;

/* Sets too_fine for an interface of the file. libpcap multiplies the fraction of a second by 10^9
 * in 64 bits. This overflows if an interface has more than 2^34 units per second and their number
 * is a power of two. */
static void note_resolution(void *user, const uint8_t *block, uint32_t len, bool big)
{
    struct pcapng_iface iface;
    struct error error;

    (void)user;
    if (pcapng_u32(big, block) == PCAPNG_INTERFACE &&
        pcapng_read_iface(&iface, big, block, len, &error) == 0)
        too_fine |= iface.units > UINT64_C(1) << 34 && (iface.units & (iface.units - 1)) == 0;
}

/* Returns whether the timestamps of the reader and of libpcap agree. They may differ in two cases.
 * The reader returns 0 for a time before 1970 or beyond 64 bits of nanoseconds. For a Simple Packet
 * Block, the reader returns 0, and libpcap the time offset of the interface. */
static bool same_time(const struct captured_frame *frame, const struct pcap_pkthdr *hdr)
{
    bool simple = frame->block && (frame->block_big ? frame->block[3] : frame->block[0]) == 3;

    if (too_fine)
        return true;
    if (simple || hdr->ts.tv_sec < 0 || (uint64_t)hdr->ts.tv_sec >= UINT64_MAX / S)
        return frame->time == 0;
    return frame->time == (uint64_t)hdr->ts.tv_sec * S + (uint64_t)hdr->ts.tv_usec;
}

/* Asserts that the reader returns every frame that libpcap returns, with equal contents. With
 * `ends`, both must also end with the same result. Returns the number of frames. */
static unsigned expect_as_libpcap(const char *path, bool ends)
{
    char errbuf[PCAP_ERRBUF_SIZE];
    pcap_t *pcap =
        pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, errbuf);
    struct error error = {0};
    struct capture_reader *reader = reader_open(path, &error);
    struct captured_frame frame = {0};
    struct pcap_pkthdr *hdr;
    const u_char *data;
    unsigned cnt = 0;
    int rc = -1;

    too_fine = false;
    if (reader)
        reader_blocks(reader, note_resolution, NULL);
    while (pcap && reader && (rc = pcap_next_ex(pcap, &hdr, &data)) == 1) {
        bool same = reader_next(reader, &frame, &error) == 1 &&
                    frame.record_cap_len == hdr->caplen &&
                    frame.record_wire_len == (hdr->len > hdr->caplen ? hdr->len : hdr->caplen) &&
                    same_time(&frame, hdr) && memcmp(frame.record, data, hdr->caplen) == 0;

        cnt++;
        if (strstr(error.text, "is not supported")) /* only the reader refuses link types without
                                                     * RoCE */
            break;
        if (!same) {
            suite_fail(__FILE__, __LINE__,
                       "%s: frame %u differs from libpcap's: %u of %u bytes, time "
                       "%llu and %lld.%09ld: %s",
                       path, cnt, hdr->caplen, hdr->len, (unsigned long long)frame.time,
                       (long long)hdr->ts.tv_sec, (long)hdr->ts.tv_usec, error.text);
            break;
        }
    }
    if (ends) {
        CU_ASSERT_PTR_NOT_NULL(pcap);
        CU_ASSERT_PTR_NOT_NULL(reader);
        if (reader)
            EXPECT_EQ(reader_next(reader, &frame, &error), rc == PCAP_ERROR_BREAK ? 0 : -1);
    }
    if (pcap)
        pcap_close(pcap);
    reader_close(reader);
    return cnt;
}

static void every_capture_as_libpcap_reads_it(void)
{
    glob_t found;

    CU_ASSERT_EQUAL_FATAL(glob(TRACES_DIR "/captures/*.pcap", 0, NULL, &found), 0);
    CU_ASSERT_TRUE(found.gl_pathc > 100);
    for (size_t i = 0; i < found.gl_pathc; i++)
        CU_ASSERT_TRUE(expect_as_libpcap(found.gl_pathv[i], true) > 0);
    globfree(&found);
}

/* Writes a pcap file with this magic number and byte order, truncated after `len` bytes. Returns
 * its path. */
static const char *write_pcap(uint32_t magic, bool big, uint32_t snaplen, size_t len)
{
    const char *path = checkrun_path("s.pcap");
    struct ngfile f = {0};
    uint32_t head[6] = {magic, big ? 2u << 16 | 4 : 2 | 4u << 16, 0, 0, snaplen, 1};
    FILE *file;

    load();
    for (size_t i = 0; i < sample.cnt + 1; i++) {
        const struct capture_frame *fr = i ? &sample.frame[i - 1] : NULL;
        uint32_t rec[6] = {0};
        unsigned words = i ? 4 : 6;

        if (i) {
            rec[0] = (uint32_t)(fr->time / S);
            rec[1] = (uint32_t)(fr->time % S / (magic == 0xA1B23C4D ? 1 : 1000));
            rec[2] = fr->len;
            rec[3] = fr->len + (i % 3 == 0);
        } else {
            memcpy(rec, head, sizeof(head));
        }
        for (unsigned w = 0; w < words; w++)
            if (big)
                rec[w] = __builtin_bswap32(rec[w]);
        f.p = realloc(f.p, f.len + sizeof(rec) + (i ? fr->len : 0));
        memcpy(f.p + f.len, rec, words * 4);
        f.len += words * 4;
        if (i) {
            memcpy(f.p + f.len, fr->data, fr->len);
            f.len += fr->len;
        }
    }
    if (len < f.len)
        f.len = len;
    file = fopen(path, "wb");
    if (!file || fwrite(f.p, 1, f.len, file) != f.len || fclose(file) != 0)
        exit(2);
    ng_free(&f);
    return path;
}

static void pcap_of_every_kind(void)
{
    for (int big = 0; big < 2; big++) {
        EXPECT_EQ(expect_as_libpcap(write_pcap(0xA1B2C3D4, big, 65535, SIZE_MAX), true),
                  sample.cnt);
        EXPECT_EQ(expect_as_libpcap(write_pcap(0xA1B23C4D, big, 0, SIZE_MAX), true), sample.cnt);
        /* Records longer than the snaplen are cut at the snaplen. */
        EXPECT_EQ(expect_as_libpcap(write_pcap(0xA1B23C4D, big, 100, SIZE_MAX), true), sample.cnt);
    }
    /* A format of old libpcap patches: record headers have 24 bytes. The reader passes a file of
     * this format to libpcap. */
    expect_as_libpcap(write_pcap(0xA1B2CD34, false, 65535, 4000), false);
    /* Files cut at various bytes. */
    for (size_t len = 24; len < 3000; len += 7)
        expect_as_libpcap(write_pcap(0xA1B2C3D4, len & 1, 65535, len), true);
}

/* Builds a pcapng file with every kind of block that libpcap can also read. */
static void make_ng(struct ngfile *f, bool big, uint8_t tsresol, int64_t tsoffset)
{
    static const uint8_t addr[4] = {10, 0, 0, 1};
    static const uint8_t custom[8] = {0, 0, 0x7F, 1, 1, 2, 3, 4};

    load();
    ng_section(f, big, UINT64_MAX);
    ng_interface(f, 1, 0, tsresol, tsoffset);
    ng_name(f, addr, "left");
    ng_interface(f, 1, 0, 0, 0);
    for (size_t i = 0; i < sample.cnt; i++) {
        const struct capture_frame *fr = &sample.frame[i];
        uint64_t stamp = UINT64_C(1700000000000000) + i * 12345;

        switch (i % 4) {
        case 0: ng_enhanced(f, 0, stamp, fr->data, fr->len, i % 8 ? "first" : NULL); break;
        case 1: ng_enhanced(f, 1, stamp, fr->data, fr->len, "a comment that was there"); break;
        case 2: ng_obsolete(f, 0, stamp, fr->data, fr->len); break;
        default: ng_simple(f, fr->data, fr->len);
        }
        if (i % 10 == 9)
            ng_block(f, 0xBAD, custom, sizeof(custom));
    }
}

static void pcapng_of_every_kind(void)
{
    static const uint8_t resolutions[] = {0, 3, 6, 9, 0x80, 0x8A, 0x94};

    for (unsigned i = 0; i < 2 * sizeof(resolutions); i++) {
        struct ngfile f = {0};
        int64_t offset = i % 3 == 1 ? 86400 : i % 3 == 2 ? -3600 : 0;

        make_ng(&f, i & 1, resolutions[i / 2], offset);
        ng_write(&f, checkrun_path("s.pcapng"));
        EXPECT_EQ(expect_as_libpcap(checkrun_path("s.pcapng"), true), sample.cnt);
        ng_free(&f);
    }
}

/* Each row is a time in a resolution finer than a nanosecond, most of them just before a full
 * second. The reader must return the time rounded down to whole nanoseconds. libpcap computes some
 * of these times wrong. */
static void times_finer_than_a_nanosecond_are_exact(void)
{
    static const struct {
        uint8_t tsresol;
        uint64_t units, part; /* units per second, and the time stamp after the last whole second */
        uint64_t seconds, ns;
    } row[] = {
        {10, UINT64_C(10000000000), UINT64_C(9999999999), 1700000000, 999999999},
        {19, UINT64_C(10000000000000000000), UINT64_C(9999999999999999999), 0, 999999999},
        {0x9E, UINT64_C(1) << 30, (UINT64_C(1) << 30) - 1, 1700000000, 999999999},
        {0x9F, UINT64_C(1) << 31, (UINT64_C(1) << 30) + 1, 1700000000, 500000000},
        {0xA2, UINT64_C(1) << 34, (UINT64_C(1) << 34) - 1, 1000000000, 999999999},
        {0xA3, UINT64_C(1) << 35, (UINT64_C(1) << 35) - 1, 500000000, 999999999},
        {0xBC, UINT64_C(1) << 60, (UINT64_C(1) << 60) - 1, 15, 999999999},
        {0xBC, UINT64_C(1) << 60, UINT64_C(3) << 58, 15, 750000000},
        {0xBF, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, 1, 999999999},
    };

    load();
    for (size_t i = 0; i < 2 * sizeof(row) / sizeof(row[0]); i++) {
        const char *path = checkrun_path("fine.pcapng");
        struct captured_frame frame = {0};
        struct capture_reader *reader;
        struct ngfile f = {0};
        struct error error;

        ng_section(&f, i & 1, UINT64_MAX);
        ng_interface(&f, 1, 0, row[i / 2].tsresol, 0);
        ng_enhanced(&f, 0, row[i / 2].seconds * row[i / 2].units + row[i / 2].part,
                    sample.frame[0].data, sample.frame[0].len, NULL);
        ng_write(&f, path);
        ng_free(&f);
        reader = reader_open(path, &error);
        CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
        EXPECT_EQ(reader_next(reader, &frame, &error), 1);
        EXPECT_EQ(frame.time, row[i / 2].seconds * S + row[i / 2].ns);
        reader_close(reader);
        EXPECT_EQ(expect_as_libpcap(path, true), 1);
    }
}

/* An interface is refused if its timestamp resolution does not fit 64 bits. */
static void resolution_beyond_64_bits_is_refused(void)
{
    static const uint8_t tsresol[] = {20, 0x7F, 0xC0, 0xFF};

    load();
    for (size_t i = 0; i < sizeof(tsresol); i++) {
        struct captured_frame frame;
        struct capture_reader *reader;
        struct ngfile f = {0};
        struct error error = {0};

        ng_section(&f, false, UINT64_MAX);
        ng_interface(&f, 1, 0, tsresol[i], 0);
        ng_enhanced(&f, 0, 1, sample.frame[0].data, sample.frame[0].len, NULL);
        ng_write(&f, checkrun_path("fine.pcapng"));
        ng_free(&f);
        reader = reader_open(checkrun_path("fine.pcapng"), &error);
        if (reader)
            EXPECT_EQ(reader_next(reader, &frame, &error), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "unsupported time resolution"));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "fine.pcapng"));
        reader_close(reader);
    }
}

/* Files have changed bytes or a cut end. The reader must return the frames that libpcap returns, up
 * to the first error of libpcap. */
static void spoilt_files_as_libpcap_reads_them(void)
{
    struct rng rng = rng_seed();

    for (int n = 0; n < 400; n++) {
        struct ngfile f = {0};
        unsigned spoils = 1 + rng_below(&rng, 4);

        make_ng(&f, n & 1, n & 2 ? 9 : 0, 0);
        while (spoils--) {
            size_t at = rng_below(&rng, n % 4 ? 400 : (uint32_t)f.len);

            switch (rng_below(&rng, 4)) {
            case 0: f.p[at] ^= (uint8_t)(1u << rng_below(&rng, 8)); break;
            case 1: f.p[at] = (uint8_t)rng_below(&rng, 256); break;
            case 2: memset(f.p + at, 0xFF, f.len - at < 4 ? f.len - at : 4); break;
            default: f.len = at > 28 ? at : f.len;
            }
        }
        ng_write(&f, checkrun_path("s.pcapng"));
        expect_as_libpcap(checkrun_path("s.pcapng"), false);
        ng_free(&f);
    }
}

/* A file has two sections, which differ in byte order, and in link type and timestamp resolution of
 * their interfaces. The reader reads the file, although libpcap refuses it. */
static void sections_with_other_links_and_byte_orders_are_read(void)
{
    const char *path = checkrun_path("mixed.pcapng");
    struct captured_frame frame;
    struct ngfile f = {0};
    struct capture_reader *reader;
    struct error error;
    size_t i = 0;
    int rc;

    load();
    for (int section = 0; section < 2; section++) {
        ng_section(&f, section, UINT64_MAX);
        ng_interface(&f, 50, 0, 0, 0);    /* PPP, a link type that cannot contain RoCE */
        ng_interface(&f, 101, 0, 9, 0);   /* raw IP, without a link header */
        ng_interface(&f, 1, 65535, 0, 0); /* Ethernet without a snaplen limit */
        ng_interface(&f, 0, 65535, 0, 0); /* BSD loopback: four bytes before the IP header */
        for (size_t k = 0; k < 40; k++) {
            const struct capture_frame *fr = &sample.frame[k];

            if (k % 4 == 0)
                ng_enhanced(&f, 0, 5000000 + k, fr->data, fr->len, NULL);
            else if (k % 4 == 3)
                ng_enhanced(&f, 3, 5000000 + k, fr->data + 10, fr->len - 10, NULL);
            else if (k % 4 == 1)
                ng_enhanced(&f, 1, 5000000000u + k, fr->data + 14, fr->len - 14, NULL);
            else
                ng_enhanced(&f, 2, 5000000 + k, fr->data, fr->len, NULL);
        }
    }
    ng_write(&f, path);
    ng_free(&f);
    reader = reader_open(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    while ((rc = reader_next(reader, &frame, &error)) == 1) {
        const struct capture_frame *fr = &sample.frame[i % 40];
        unsigned kind = i % 40 % 4;

        EXPECT_EQ(frame.link, kind == 2 ? ROCE_LINK_ETHERNET : ROCE_LINK_IP);
        EXPECT_EQ(frame.cap_len, kind == 0 ? 0 : kind == 2 ? fr->len : fr->len - 14);
        EXPECT_EQ(frame.time, 5 * S + i % 40 * (kind == 1 ? 1 : 1000));
        if (kind)
            EXPECT_EQ(memcmp(frame.data, fr->data + (kind == 2 ? 0 : 14), frame.cap_len), 0);
        i++;
    }
    EXPECT_EQ(rc, 0);
    EXPECT_EQ(i, 80);
    reader_close(reader);
}

/* ---- frames of batches -------------------------------------------------------------------------
 */

#define FRAMES 12000u

/* Returns whether the frame is intact: each byte equals the frame number minus 1. */
static bool is_whole(const struct captured_frame *frame)
{
    return frame->cap_len == 0 || (frame->data[0] == (uint8_t)(frame->number - 1) &&
                                   memcmp(frame->data, frame->data + 1, frame->cap_len - 1) == 0);
}

/* Thread that reads ahead continuously. It does the work of all read-ahead threads of the program
 * in turn. */
struct ahead_thread {
    struct capture_reader *reader;
    atomic_bool stop;
};

static void *read_ahead(void *arg)
{
    struct ahead_thread *thread_arg = arg;

    while (!atomic_load(&thread_arg->stop)) {
        for (unsigned who = 1; who <= READ_AHEAD_PIECES; who++)
            reader_read_ahead(thread_arg->reader, who);
        sched_yield();
    }
    return NULL;
}

/* Reads frames in batches. Asserts that the frames of each batch stay valid as long as
 * reader_ready() promises. If `ahead` is true, another thread reads ahead at the same time. Returns
 * the number of frames. Sets *rc to the result of the last reader_next(). */
static unsigned expect_batches_to_stay(const char *path, bool ahead, int *rc)
{
    struct captured_frame *all = calloc(FRAMES + 1, sizeof(*all));
    const struct captured_frame *oldest;
    struct error error;
    struct ahead_thread thread_arg = {reader_open(path, &error), false};
    struct capture_reader *reader = thread_arg.reader;
    pthread_t thread;
    unsigned batches = 0, cnt = 0, first[READ_BUFFER_KEEP + 1] = {0};
    uint64_t piece[READ_BUFFER_KEEP + 1] = {0};
    uint64_t done, total;
    bool whole = true;

    CU_ASSERT_TRUE_FATAL(reader && all);
    if (ahead) {
        reader_begin_ahead(reader);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_ahead, &thread_arg), 0);
    }
    while (whole && cnt < FRAMES && (*rc = reader_next(reader, &all[cnt], &error)) == 1) {
        EXPECT_EQ(all[cnt].number, cnt + 1);
        cnt++;
        if (reader_ready(reader))
            continue;
        /* the frames of the oldest batch may become invalid now, so do not check them again */
        memmove(first, first + 1, sizeof(first) - sizeof(first[0]));
        first[READ_BUFFER_KEEP] = cnt;
        memmove(piece, piece + 1, sizeof(piece) - sizeof(piece[0]));
        piece[READ_BUFFER_KEEP] = reader_piece(reader);
        reader_release(reader, piece[1]);
        batches++;
        oldest = batches >= READ_BUFFER_KEEP ? &all[first[0]] : &all[0];
        for (; oldest < &all[cnt] && (whole = is_whole(oldest)); oldest++)
            ;
        if (!whole)
            suite_fail(__FILE__, __LINE__, "frame %u was overwritten when %u frames had been read",
                       oldest->number, cnt);
        reader_progress(reader, &done, &total);
        CU_ASSERT_TRUE(done <= total + READ_AHEAD_PIECES * READ_CHUNK_LEN);
    }
    if (cnt == FRAMES)
        *rc = reader_next(reader, &all[cnt], &error);
    CU_ASSERT_TRUE(batches > 2 * READ_BUFFER_KEEP || cnt < FRAMES);
    atomic_store(&thread_arg.stop, true);
    if (ahead)
        pthread_join(thread, NULL);
    reader_close(reader);
    free(all);
    return cnt;
}

/* Frames of a batch must stay valid while the reader skips 2 MiB of blocks without packets. */
static void frames_of_a_batch_stay_valid(void)
{
    static uint8_t filler[65536];
    const char *path = checkrun_path("long.pcapng");
    struct ngfile f = {0};

    ng_section(&f, false, UINT64_MAX);
    ng_interface(&f, 1, 0, 0, 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        uint32_t len = 60 + i * 7 % 1400;

        memset(filler, (int)(i & 0xFF), len);
        ng_enhanced(&f, 0, i, filler, len, NULL);
        for (unsigned k = 0; i % 500 == 499 && k < 30; k++)
            ng_block(&f, 0xBAD, filler, 65536);
    }
    ng_write(&f, path);
    ng_free(&f);
    for (int ahead = 0; ahead < 2; ahead++) {
        int rc = -2;

        EXPECT_EQ(expect_batches_to_stay(path, ahead, &rc), FRAMES);
        EXPECT_EQ(rc, 0);
    }
}

/* Long files yield equal frames with and without read-ahead. The read buffer reads a file in
 * pieces: some records end exactly at the end of a piece, and others are longer than a piece. Some
 * files have long parts without a packet, or end in the middle of a record. */
static void frames_are_equal_with_and_without_read_ahead(void)
{
    static uint8_t bytes[262144];
    const char *path = checkrun_path("ahead.pcapng");

    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct rng rng = rng_of(seed);
        struct ngfile f = {0};
        uint32_t odd = seed % 3 == 0 ? rng_below(&rng, FRAMES) : FRAMES;
        uint32_t long_len = seed % 2 ? 70000 : sizeof(bytes);
        unsigned cnt[2];
        int rc[2] = {-2, -2};

        ng_section(&f, false, UINT64_MAX);
        ng_interface(&f, 1, 0, 0, 0);
        for (unsigned i = 0; i < FRAMES; i++) {
            uint32_t len = i == odd   ? long_len
                           : seed & 4 ? 4096 - 32 /* length that divides a piece, so that records
                                                   * end at its end */
                                      : 60 + rng_below(&rng, 9000);

            memset(bytes, (int)(i & 0xFF), len);
            ng_enhanced(&f, 0, i, bytes, len, NULL);
            for (unsigned k = 0; seed % 5 == 0 && i == FRAMES / 2 && k < 40; k++)
                ng_block(&f, 0xBAD, bytes, 65536);
        }
        if (seed > 6)
            f.len -= rng_below(&rng, 3000000);
        ng_write(&f, path);
        ng_free(&f);
        for (int ahead = 0; ahead < 2; ahead++)
            cnt[ahead] = expect_batches_to_stay(path, ahead, &rc[ahead]);
        if (cnt[0] != cnt[1] || rc[0] != rc[1])
            suite_fail(__FILE__, __LINE__,
                       "seed %u: %u frames, result %d without read-ahead; %u, %d with read-ahead",
                       (unsigned)seed, cnt[0], rc[0], cnt[1], rc[1]);
        CU_ASSERT_TRUE(cnt[0] == FRAMES || seed > 6);
    }
}

/* Opens a mapped file, truncates the file, and reads it. Ends the process and never returns. */
static void read_cut_short(const char *path, int err)
{
    struct error error;
    struct captured_frame frame;
    struct capture_reader *reader = reader_open(path, &error);

    dup2(err, STDERR_FILENO);
    if (!reader || !reader_map(reader, SIZE_MAX) || truncate(path, 4096) != 0)
        _exit(100);
    while (reader_next(reader, &frame, &error) == 1)
        if (frame.cap_len && frame.data[frame.cap_len - 1])
            _exit(101); /* of a truncated file, the mapped page contains only zeros */
    _exit(0);
}

/* A mapped file that another process truncates is reported as unusable input (exit status 2),
 * without a crash. */
static void truncated_mapped_file_is_reported(void)
{
    const char *path = checkrun_path("cut.pcapng");
    static uint8_t filler[65536];
    struct ngfile f = {0};
    char said[512] = "", want[512];
    int err[2], status = 0;
    pid_t pid;

    ng_section(&f, false, UINT64_MAX);
    ng_interface(&f, 1, 0, 0, 0);
    for (unsigned i = 0; i < 64; i++)
        ng_enhanced(&f, 0, i, filler, 60000, NULL);
    ng_write(&f, path);
    ng_free(&f);
    CU_ASSERT_EQUAL_FATAL(pipe(err), 0);
    pid = fork();
    CU_ASSERT_TRUE_FATAL(pid >= 0);
    if (pid == 0)
        read_cut_short(path, err[1]);
    close(err[1]);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    CU_ASSERT_TRUE(read(err[0], said, sizeof(said) - 1) >= 0);
    close(err[0]);
    CU_ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 2);
    snprintf(want, sizeof(want), "%s: the file was truncated while rocedrill read it\n", path);
    CU_ASSERT_STRING_EQUAL(said, want);
}

SUITE("replay.source", TEST(every_capture_as_libpcap_reads_it), TEST(pcap_of_every_kind),
      TEST(pcapng_of_every_kind), TEST(times_finer_than_a_nanosecond_are_exact),
      TEST(resolution_beyond_64_bits_is_refused), TEST(spoilt_files_as_libpcap_reads_them),
      TEST(sections_with_other_links_and_byte_orders_are_read), TEST(frames_of_a_batch_stay_valid),
      TEST(frames_are_equal_with_and_without_read_ahead), TEST(truncated_mapped_file_is_reported))

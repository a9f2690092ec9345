/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "pcapng/pcapng.h"
#include "pcapng/pcapng_merge.h"
#include "port/sys/tally.h"
#include "wire/bytes.h"
#include "wire/cm_msg.h"
#include "wire/pkt.h"

#define BUFFER (1024u * 1024) /* size of the write buffer, bytes */

/* Intervals, ns. ALIVE_NS: time between two checks whether rnic-run still exists. ROOM_NS: time
 * between two checks whether rnic-run has read enough of the recording. */
#define ALIVE_NS UINT64_C(100000000)
#define ROOM_NS  UINT64_C(1000000)

#define MAD_HEADERS_MAX 100u /* maximum length of a frame without its MAD, bytes */

#define CLOCK_NOISE_NS 20000u /* largest error of rnic_utc_offset(), ns */

struct record {
    struct rnic_port port;
    struct rnic_port *behind;
    int fd;
    bool shared;
    uint32_t process;    /* id of this process */
    uint64_t offset;     /* UTC minus CLOCK_MONOTONIC when rnic-run started, or otherwise when this
                          * recording started, ns */
    uint64_t set_by[2];  /* sum of all changes of the time of day since the start of the recording,
                          * ns; [0]: at the current batch, [1]: at the previous batch */
    bool clock_is_noted; /* set_by was updated for the current batch */
    bool failed;         /* a write to the file failed, so the port records no more frames */
    int error;           /* errno of the failed write */
    bool ended;          /* rnic-run was killed; the port writes no more */
    uint64_t asked;      /* time of the latest check whether rnic-run exists, ns */
    struct tally_file tally;
    bool marked; /* the file has the block that marks the beginning of the current batch
                  * (pcapng_merge.h) */
    uint8_t *buf;
    size_t len;
    unsigned frames; /* number of frames in `buf` */
    struct rnic_port_stats stats;
    rnic_frame_fn *fn; /* callback of the current recv() call */
    void *user;
};

static const struct rnic_port_ops record_ops;

/* ---- writing the file ------------------------------------------------------------------------ */

/* Returns the present time (UTC) for a time stamp, ns. If the time of day is set during the
 * recording, this clock does not follow. */
static uint64_t record_time(const struct record *record)
{
    return rnic_clock_ns(CLOCK_MONOTONIC) + record->offset;
}

/* Detects whether the time of day was set since the previous batch. Ignores a change of a few
 * microseconds, because the two clocks, UTC and CLOCK_MONOTONIC, are not read at exactly the same
 * time. */
static void note_clock(struct record *record)
{
    uint64_t set_by = rnic_utc_offset() - record->offset;

    record->clock_is_noted = true;
    record->set_by[1] = record->set_by[0];
    if (set_by - record->set_by[0] + CLOCK_NOISE_NS > 2 * CLOCK_NOISE_NS)
        record->set_by[0] = set_by;
}

/* Converts the time stamp of a received frame, which is a time of day, to the clock of
 * record_time(). If the time of day was set since the previous batch, the frame may have arrived
 * before or after the change. Returns the later possible time that is not in the future. */
static uint64_t time_of(const struct record *record, uint64_t stamp)
{
    uint64_t first = stamp - record->set_by[0], second = stamp - record->set_by[1], now;

    if (first == second)
        return first;
    now = record_time(record);
    if (first > now || (second > first && second <= now))
        first = second;
    return first < now ? first : now;
}

/* Writes `len` bytes. Returns the number of bytes written. If it is less than `len`, errno has the
 * reason. */
static size_t write_all(int fd, const uint8_t *buf, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(fd, buf + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

/* Writes pcapng blocks. If the disk is full, removes the incomplete last block, so that all blocks
 * of the file can be read. Returns the number of bytes of the complete blocks. If it is less than
 * `len`, errno has the reason. */
static size_t write_blocks(int fd, const uint8_t *buf, size_t len)
{
    size_t done = write_all(fd, buf, len), whole = 0;
    int error = errno;
    off_t end;

    if (done == len)
        return len;
    while (whole + 8 <= done && whole + roce_le32_get(buf + whole + 4) <= done)
        whole += roce_le32_get(buf + whole + 4);
    end = lseek(fd, 0, SEEK_CUR);
    if (end >= (off_t)(done - whole))
        (void)!ftruncate(fd, end - (off_t)(done - whole));
    errno = error;
    return whole;
}

/* Returns the number of frames that are complete within the first `len` bytes of the write buffer.
 */
static unsigned frames_in(const struct record *record, size_t len)
{
    unsigned cnt = 0;

    for (size_t at = 0; at < record->len;) {
        uint32_t size = roce_le32_get(record->buf + at + 4);

        if (at + size > len)
            break;
        cnt += roce_le32_get(record->buf + at) == PCAPNG_PACKET;
        at += size;
    }
    return cnt;
}

static bool is_orphaned(struct record *record, uint64_t now)
{
    if (now - record->asked < ALIVE_NS)
        return false;
    record->asked = now;
    return tally_is_orphaned(&record->tally);
}

/* Waits until rnic-run has processed so much of the recordings that at most tally->limit bytes are
 * unprocessed after the next write. Without this wait, the recordings would fill the memory if
 * rnic-run is slower than the programs. */
static void wait_for_reader(struct record *record)
{
    const struct timespec pause = rnic_timespec(ROOM_NS);
    struct tally *tally = record->tally.tally;

    while (tally && !record->ended) {
        uint64_t limit = atomic_load(&tally->limit);
        bool room = limit == 0 || (int64_t)(atomic_load(&tally->written) + record->len -
                                            atomic_load(&tally->consumed)) <= (int64_t)limit;

        record->ended = is_orphaned(record, rnic_clock_ns(CLOCK_MONOTONIC));
        if (room)
            break;
        nanosleep(&pause, NULL);
    }
}

static void write_out(struct record *record)
{
    unsigned written = 0;
    size_t done;

    if (record->len > 0 && !record->failed)
        wait_for_reader(record);
    if (record->len > 0 && !record->failed && !record->ended) {
        done = write_blocks(record->fd, record->buf, record->len);
        written = frames_in(record, done);
        if (done < record->len) {
            record->failed = true;
            record->error = errno;
        }
        if (record->tally.tally) {
            atomic_fetch_add(&record->tally.tally->written, done);
            atomic_fetch_add(&record->tally.tally->recorded, written);
        }
    }
    record->stats.record_errors += record->frames - written;
    tally_lose(&record->tally, record->frames - written, record->error);
    record->len = 0;
    record->frames = 0;
}

/* Writes the block that marks the beginning of a batch, with the present time. The time stamps of
 * frames that the batch sends are not earlier than this time. The time stamp of a received frame
 * may be earlier, because the kernel stamped the frame. */
static void mark(struct record *record)
{
    uint8_t block[PCAPNG_OVERHEAD(1)];
    size_t len;

    if (record->marked || record->failed || record->ended)
        return;
    record->marked = true;
    len = pcapng_mark(block, sizeof(block), record_time(record));
    if (write_blocks(record->fd, block, len) == len) {
        if (record->tally.tally)
            atomic_fetch_add(&record->tally.tally->written, len);
        return;
    }
    record->failed = true;
    record->error = errno;
}

/* Returns whether the frame is a DREQ that a device sent in place of a program that ended. */
static bool is_dreq_of_gone(const struct rnic_frame *frame)
{
    struct roce_pkt pkt;
    struct roce_cm_msg msg;

    return frame->len > ROCE_MAD_SIZE && frame->len < ROCE_MAD_SIZE + MAD_HEADERS_MAX &&
           roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) == 0 &&
           roce_cm_msg_of_pkt(&msg, &pkt) == 0 && msg.kind == ROCE_CM_DREQ &&
           msg.mad.tid >> 32 == ROCE_CM_TID_GONE;
}

static void add(struct record *record, const struct rnic_frame *frame, uint64_t stamp,
                enum pcapng_direction direction)
{
    const char *comment[2];
    struct pcapng_frame out = {.time = stamp,
                               .direction = direction,
                               .process = record->process,
                               .data = frame->data,
                               .cap_len = frame->len,
                               .wire_len = frame->len,
                               .comment = comment};

    if (frame->comment)
        comment[out.comment_cnt++] = frame->comment;
    if (is_dreq_of_gone(frame))
        comment[out.comment_cnt++] =
            "the program of the sender was killed or crashed: the device of the receiver sent "
            "this DREQ instead";
    if (BUFFER - record->len < PCAPNG_OVERHEAD(2) + frame->len)
        write_out(record);
    record->len += pcapng_packet(record->buf + record->len, BUFFER - record->len, &out);
    record->frames++;
}

/* Writes the pcapng section and interface blocks. The description of the interface has the name of
 * the process, because Wireshark shows it for each packet. Returns 0 or a negative errno. */
static int begin_file(int fd, const char *iface)
{
    uint8_t block[512];
    size_t len = pcapng_section(block, sizeof(block), PCAPNG_RNIC);
    char process[64];

    snprintf(process, sizeof(process), "%.40s, process %ld", program_invocation_short_name,
             (long)getpid());
    for (char *c = process; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    len += pcapng_interface(block + len, sizeof(block) - len, iface, process,
                            PCAPNG_LINKTYPE_ETHERNET, 0);
    return write_all(fd, block, len) == len ? 0 : -errno;
}

/* ---- functions of the port ------------------------------------------------------------------- */

static unsigned record_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                            uint64_t now)
{
    struct record *record = (struct record *)port;
    uint64_t stamp;
    unsigned done;

    mark(record);
    /* The time stamp is taken before sending, so that the response has a later one. */
    stamp = record_time(record);
    done = rnic_port_send(record->behind, frames, cnt, now);
    for (unsigned i = 0; i < done; i++)
        if (record->shared || !(frames[i].flags & RNIC_FRAME_ECHO))
            add(record, &frames[i], stamp, PCAPNG_OUT);
    return done;
}

static void on_received(void *user, const struct rnic_frame *frame)
{
    struct record *record = user;

    if (!frame->stamp)
        mark(record);
    else if (!record->clock_is_noted)
        note_clock(record);
    if (!record->shared || !(frame->flags & RNIC_FRAME_LOCAL))
        add(record, frame, frame->stamp ? time_of(record, frame->stamp) : record_time(record),
            PCAPNG_IN);
    record->fn(record->user, frame);
}

static int record_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                       uint64_t now)
{
    struct record *record = (struct record *)port;

    record->fn = fn;
    record->user = user;
    record->clock_is_noted = false;
    return rnic_port_recv(record->behind, max, on_received, record, now);
}

static uint64_t record_deadline(const struct rnic_port *port)
{
    return rnic_port_deadline(((const struct record *)port)->behind);
}

static unsigned record_fds(const struct rnic_port *port, struct pollfd *fds)
{
    return rnic_port_fds(((const struct record *)port)->behind, fds);
}

static bool record_arm(struct rnic_port *port, bool on)
{
    return rnic_port_arm(((struct record *)port)->behind, on);
}

static void record_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct record *record = (struct record *)port;

    out->record_errors += record->stats.record_errors;
    record->behind->ops->stats(record->behind, out);
}

/* Ends a batch: writes its frames, and a mark (pcapng_merge.h) with the time UINT64_MAX. The mark
 * shows the reader that no frame is being sent. */
static void end_batch(struct record *record)
{
    if (record->marked) {
        if (BUFFER - record->len < PCAPNG_OVERHEAD(1))
            write_out(record);
        record->len += pcapng_mark(record->buf + record->len, BUFFER - record->len, UINT64_MAX);
        record->marked = false;
    }
    write_out(record);
}

static void record_flush(struct rnic_port *port)
{
    struct record *record = (struct record *)port;

    end_batch(record);
    rnic_port_flush(record->behind);
}

static void record_close(struct rnic_port *port)
{
    struct record *record = (struct record *)port;

    end_batch(record);
    close(record->fd);
    tally_close(&record->tally);
    rnic_port_close(record->behind);
    free(record->buf);
    free(record);
}

static void record_drop(struct rnic_port *port)
{
    struct record *record = (struct record *)port;

    close(record->fd);
    tally_close(&record->tally);
    record->behind->ops->drop(record->behind);
}

/* Creates the folder if needed and a new file in it. Locks the file to show that this process still
 * writes. Returns a descriptor or a negative errno. */
static int create_file(const char *folder)
{
    static atomic_uint last;
    char name[PATH_MAX];
    int fd;

    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (snprintf(name, sizeof(name), "%s/%ld-%u.pcapng", folder, (long)getpid(),
                 atomic_fetch_add(&last, 1)) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    (void)flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

int rnic_record_open(const struct rnic_record_attr *attr, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why)
{
    char name[PATH_MAX];
    struct record *record;
    int fd = create_file(attr->folder);
    int error = fd < 0 ? fd : begin_file(fd, attr->iface);

    record = calloc(1, sizeof(*record));
    if (record)
        record->buf = malloc(BUFFER);
    if (error == 0 && (!record || !record->buf))
        error = -ENOMEM;
    if (error) {
        error_set(why, "%s: recording: %s", attr->folder, strerror(-error));
        if (record)
            free(record->buf);
        free(record);
        if (fd >= 0)
            close(fd);
        return error;
    }
    record->port.ops = &record_ops;
    record->behind = behind;
    record->fd = fd;
    record->shared = attr->shared;
    record->process = (uint32_t)getpid();
    record->tally.fd = -1;
    if (snprintf(name, sizeof(name), "%s/tally", attr->folder) < (int)sizeof(name))
        /* The tally (counters shared with rnic-run) exists only if rnic-run started the program. A
         * user can also set RNIC_RECORD without rnic-run. */
        (void)tally_open(&record->tally, name);
    record->offset = record->tally.tally ? record->tally.tally->utc_offset : rnic_utc_offset();
    *out = &record->port;
    return 0;
}

static const struct rnic_port_ops record_ops = {
    .recv = record_recv,
    .send = record_send,
    .deadline = record_deadline,
    .fds = record_fds,
    .arm = record_arm,
    .stats = record_stats,
    .flush = record_flush,
    .close = record_close,
    .drop = record_drop,
};

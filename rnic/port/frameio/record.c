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
#include "pcapng/pcapng.h"
#include "pcapng/pcapng_merge.h"
#include "wire/pkt.h"

#define BUFFER (1024u * 1024)

struct record {
    struct rnic_port port;
    struct rnic_port *behind;
    int fd;
    bool shared;
    bool failed; /* a write to the file failed; the port writes no more */
    bool marked; /* the file has the first mark of the current batch */
    uint8_t *buf;
    size_t len;
    unsigned frames; /* number of frames in `buf` */
    struct rnic_port_stats stats;
    rnic_frame_fn *fn; /* callback of the current recv() call */
    void *user;
};

static const struct rnic_port_ops record_ops;

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t utc(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool write_all(int fd, const uint8_t *buf, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, buf, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        buf += n;
        len -= (size_t)n;
    }
    return true;
}

static void write_out(struct record *record)
{
    if (record->len > 0 && !record->failed && !write_all(record->fd, record->buf, record->len))
        record->failed = true;
    if (record->failed)
        record->stats.record_errors += record->frames;
    record->len = 0;
    record->frames = 0;
}

/* Writes the mark at the beginning of a batch. Later frames get timestamps. */
static void mark(struct record *record)
{
    uint8_t block[PCAPNG_OVERHEAD(1)];

    if (record->marked || record->failed)
        return;
    record->marked = true;
    record->failed = !write_all(record->fd, block, pcapng_mark(block, sizeof(block), utc()));
}

static void add(struct record *record, const struct rnic_frame *frame, uint64_t stamp,
                enum pcapng_direction direction)
{
    const struct pcapng_frame out = {.time = stamp,
                                     .direction = direction,
                                     .data = frame->data,
                                     .cap_len = frame->len,
                                     .wire_len = frame->len,
                                     .comment = &frame->comment,
                                     .comment_cnt = frame->comment != NULL};

    if (BUFFER - record->len < PCAPNG_OVERHEAD(1) + frame->len)
        write_out(record);
    record->len += pcapng_packet(record->buf + record->len, BUFFER - record->len, &out);
    record->frames++;
}

/* Writes the pcapng section and interface blocks. Returns 0 or a negative errno. */
static int begin_file(int fd, const char *iface)
{
    uint8_t block[512];
    size_t len = pcapng_section(block, sizeof(block), "RoCEdrill");

    len += pcapng_interface(block + len, sizeof(block) - len, iface, PCAPNG_LINKTYPE_ETHERNET, 0);
    return write_all(fd, block, len) ? 0 : -errno;
}

/* ---- the port -------------------------------------------------------------------------------- */

static unsigned record_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                            uint64_t now)
{
    struct record *record = (struct record *)port;
    uint64_t stamp;
    unsigned done;

    mark(record);
    stamp = utc(); /* time stamp before sending, so that the answer has a later one */
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
    if (!record->shared || !(frame->flags & RNIC_FRAME_LOCAL))
        add(record, frame, frame->stamp ? frame->stamp : utc(), PCAPNG_IN);
    record->fn(record->user, frame);
}

static int record_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                       uint64_t now)
{
    struct record *record = (struct record *)port;

    record->fn = fn;
    record->user = user;
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

static void record_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct record *record = (struct record *)port;

    out->record_errors += record->stats.record_errors;
    record->behind->ops->stats(record->behind, out);
}

/* Ends a batch: writes its frames, and a mark that no frame is missing. */
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
    rnic_port_close(record->behind);
    free(record->buf);
    free(record);
}

static void record_drop(struct rnic_port *port)
{
    struct record *record = (struct record *)port;

    close(record->fd);
    record->behind->ops->drop(record->behind);
}

/* Creates the folder if needed and a new file in it. Locks the file to show that this process still
 * writes. Returns a descriptor or a negative errno. */
static int create_file(const char *folder)
{
    static atomic_uint last;
    char name[PATH_MAX];
    int fd;

    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return -errno;
    if (snprintf(name, sizeof(name), "%s/%ld-%u.pcapng", folder, (long)getpid(),
                 atomic_fetch_add(&last, 1)) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    (void)flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

int rnic_record_open(const struct rnic_record_attr *attr, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why)
{
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
    *out = &record->port;
    return 0;
}

static const struct rnic_port_ops record_ops = {
    .recv = record_recv,
    .send = record_send,
    .deadline = record_deadline,
    .fds = record_fds,
    .stats = record_stats,
    .flush = record_flush,
    .close = record_close,
    .drop = record_drop,
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "support/port_file.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "pcapng/pcapng.h"
#include "wire/pkt.h"

struct file_port {
    struct rnic_port port;
    pcap_t *in;
    FILE *out;
    uint8_t buf[PCAPNG_OVERHEAD(1) + ROCE_FRAME_MAX];
    /* the next frame, already read from the file */
    struct rnic_frame next;
    /* 0 if `next` is valid; otherwise the reason why there is no next frame: -ENODATA or -EIO. */
    int end;
    uint64_t started; /* time of the first call of recv(), ns; 0: not called yet */
    uint64_t first;   /* time stamp of the first frame, ns */
    struct rnic_port_stats stats;
};

static const struct rnic_port_ops file_ops;

/* Reads the next frame of the capture file. */
static void advance(struct file_port *file)
{
    struct pcap_pkthdr *head;
    const u_char *data;
    int status = file->in ? pcap_next_ex(file->in, &head, &data) : PCAP_ERROR_BREAK;

    if (status != 1) {
        file->end = status == PCAP_ERROR_BREAK ? -ENODATA : -EIO;
        return;
    }
    file->next = (struct rnic_frame){
        .data = data,
        .len = head->caplen,
        .flags = head->len > head->caplen ? RNIC_FRAME_CUT : 0,
        /* tv_usec contains nanoseconds, because the file was opened with nanosecond precision */
        .stamp = (uint64_t)head->ts.tv_sec * 1000000000u + (uint64_t)head->ts.tv_usec,
    };
}

/* Returns the time at which the next frame must be received, ns. A frame with an earlier timestamp
 * than the first frame is due at once. */
static uint64_t due(const struct file_port *file)
{
    return file->next.stamp > file->first ? file->started + (file->next.stamp - file->first)
                                          : file->started;
}

static int file_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    struct file_port *file = (struct file_port *)port;
    unsigned taken = 0;

    if (file->started == 0)
        file->started = now;
    while (taken < max && !file->end && due(file) <= now) {
        file->stats.rx_frames++;
        fn(user, &file->next);
        advance(file);
        taken++;
    }
    return taken == 0 && file->end ? file->end : (int)taken;
}

static unsigned file_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                          uint64_t now)
{
    struct file_port *file = (struct file_port *)port;
    uint64_t stamp = rnic_clock_ns(CLOCK_REALTIME);

    (void)now;
    for (unsigned i = 0; i < cnt; i++) {
        size_t len;

        if (frames[i].len > ROCE_FRAME_MAX) {
            file->stats.tx_too_long++;
            continue;
        }
        file->stats.tx_frames++;
        if (!file->out)
            continue;
        len = pcapng_packet(file->buf, sizeof(file->buf),
                            &(struct pcapng_frame){.time = stamp,
                                                   .direction = PCAPNG_OUT,
                                                   .data = frames[i].data,
                                                   .cap_len = frames[i].len,
                                                   .wire_len = frames[i].len,
                                                   .comment = &frames[i].comment,
                                                   .comment_cnt = frames[i].comment != NULL});
        if (fwrite(file->buf, 1, len, file->out) != len)
            file->stats.record_errors++;
    }
    return cnt;
}

static uint64_t file_deadline(const struct rnic_port *port)
{
    const struct file_port *file = (const struct file_port *)port;

    if (file->end)
        return UINT64_MAX;
    return file->started ? due(file) : 0;
}

static unsigned file_fds(const struct rnic_port *port, struct pollfd *fds)
{
    (void)port;
    (void)fds;
    return 0;
}

static void file_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct file_port *file = (struct file_port *)port;

#define X(name, text) out->name += file->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
}

static void file_flush(struct rnic_port *port)
{
    struct file_port *file = (struct file_port *)port;

    if (file->out && fflush(file->out) != 0)
        file->stats.record_errors++;
}

static void file_close(struct rnic_port *port)
{
    struct file_port *file = (struct file_port *)port;

    if (file->in)
        pcap_close(file->in);
    if (file->out)
        fclose(file->out);
    free(file);
}

static void file_drop(struct rnic_port *port)
{
    (void)port; /* nothing to do: the descriptors of the child are closed when it ends */
}

static int open_in(struct file_port *file, const char *path, struct error *why)
{
    char text[PCAP_ERRBUF_SIZE];

    file->in = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, text);
    if (!file->in) {
        error_set(why, "%s", text); /* libpcap's text already contains the name of the file */
        return -EINVAL;
    }
    if (pcap_datalink(file->in) != DLT_EN10MB) {
        error_set(why, "%s: its frames are not Ethernet", path);
        return -EINVAL;
    }
    return 0;
}

static int open_out(struct file_port *file, const char *path, const char *name, struct error *why)
{
    size_t len = pcapng_section(file->buf, sizeof(file->buf), "RoCEdrill");

    len += pcapng_interface(file->buf + len, sizeof(file->buf) - len, name, NULL,
                            PCAPNG_LINKTYPE_ETHERNET, 0);
    file->out = fopen(path, "we");
    if (!file->out || fwrite(file->buf, 1, len, file->out) != len) {
        int error = -errno;

        error_set(why, "%s cannot be written: %s", path, strerror(-error));
        return error;
    }
    return 0;
}

int rnic_port_file_open(const char *in, const char *out_path, const char *name,
                        struct rnic_port **out, struct error *why)
{
    struct file_port *file = calloc(1, sizeof(*file));
    int error = 0;

    if (!file) {
        error_set(why, "no memory");
        return -ENOMEM;
    }
    file->port.ops = &file_ops;
    if (in)
        error = open_in(file, in, why);
    if (!error && out_path)
        error = open_out(file, out_path, name, why);
    if (error) {
        file_close(&file->port);
        return error;
    }
    advance(file);
    file->first = file->next.stamp;
    *out = &file->port;
    return 0;
}

static const struct rnic_port_ops file_ops = {
    .recv = file_recv,
    .send = file_send,
    .deadline = file_deadline,
    .fds = file_fds,
    .stats = file_stats,
    .flush = file_flush,
    .close = file_close,
    .drop = file_drop,
};

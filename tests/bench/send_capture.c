/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reads a pcap file in host byte order from standard input, and sends its frames to an interface at
 * a constant rate, until the file ends.
 *
 *   gen_capture -n 1000000 | send_capture INTERFACE PACKETS_PER_SECOND
 *
 * If sending is late, all frames that are due are sent in one batch. At the end, prints the number
 * of frames and the rate reached.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH     64u
#define FRAME_MAX 9216u
#define HEAD_LEN  24u
#define NS_PER_S  UINT64_C(1000000000)

struct batch {
    uint8_t bytes[BATCH][FRAME_MAX];
    struct iovec iov[BATCH];
    struct mmsghdr msg[BATCH];
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Reads the next frame. Returns its length, 0 at the end, or -1 if the input is malformed. */
static long read_frame(uint8_t frame[FRAME_MAX])
{
    uint32_t record[4];

    if (fread(record, sizeof(record), 1, stdin) != 1)
        return 0;
    if (record[2] == 0 || record[2] > FRAME_MAX || fread(frame, record[2], 1, stdin) != 1)
        return -1;
    return (long)record[2];
}

/* Reads up to `max` frames. Returns their number, or -1 if the input is malformed. */
static int read_batch(struct batch *b, unsigned max)
{
    unsigned cnt = 0;

    while (cnt < max) {
        long len = read_frame(b->bytes[cnt]);

        if (len < 0)
            return -1;
        if (len == 0)
            break;
        b->iov[cnt] = (struct iovec){b->bytes[cnt], (size_t)len};
        b->msg[cnt] = (struct mmsghdr){.msg_hdr = {.msg_iov = &b->iov[cnt], .msg_iovlen = 1}};
        cnt++;
    }
    return (int)cnt;
}

static bool send_batch(int fd, struct batch *b, unsigned cnt)
{
    for (unsigned sent = 0; sent < cnt;) {
        int rc = sendmmsg(fd, b->msg + sent, cnt - sent, 0);

        if (rc < 0 && errno != ENOBUFS && errno != EINTR)
            return false;
        sent += rc > 0 ? (unsigned)rc : 0;
    }
    return true;
}

static int open_interface(const char *name)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
    int fd = to.sll_ifindex ? socket(AF_PACKET, SOCK_RAW, 0) : -1;

    return fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    static struct batch batch;
    uint8_t head[HEAD_LEN];
    uint64_t rate = argc == 3 ? strtoull(argv[2], NULL, 10) : 0, begin, sent = 0;
    int fd = rate ? open_interface(argv[1]) : -1, cnt = 1;

    if (rate == 0) {
        fprintf(stderr, "usage: send_capture INTERFACE PACKETS_PER_SECOND <FILE.pcap\n");
        return 2;
    }
    if (fd < 0 || fread(head, sizeof(head), 1, stdin) != 1) {
        fprintf(stderr, "send_capture: %s: %s\n", argv[1], errno ? strerror(errno) : "no capture");
        return 2;
    }
    begin = now_ns();
    while (cnt > 0) {
        uint64_t due = (uint64_t)((double)(now_ns() - begin) * (double)rate / (double)NS_PER_S);

        if (due <= sent) {
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
            continue;
        }
        cnt = read_batch(&batch, due - sent < BATCH ? (unsigned)(due - sent) : BATCH);
        if (cnt < 0 || !send_batch(fd, &batch, (unsigned)cnt)) {
            fprintf(stderr, "send_capture: %s\n", cnt < 0 ? "invalid capture" : strerror(errno));
            return 2;
        }
        sent += (uint64_t)cnt;
    }
    printf("%" PRIu64 " frames, %.0f frames/s\n", sent,
           (double)sent / ((double)(now_ns() - begin) / (double)NS_PER_S));
    return 0;
}

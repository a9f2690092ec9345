/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Raw socket: receives the frames for flows of raw packet QPs, in a thread. One packet socket
 * receives all frames that the interface receives and sends. A second one, on the loopback,
 * receives the packets between this device and the other devices of this machine. The packet
 * sockets of the port see only packets for the QPs of this process.
 *
 * The kernel passes the frames to its own protocols, too.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "port/live/live_impl.h"
#include "port/sys/event_fd.h"
#include "port/sys/wait_limit.h"
#include "wire/bytes.h"

#define BATCH     16u    /* maximum number of frames of a system call */
#define FRAME_MAX 65600u /* longest frame: an IP packet, its Ethernet header and a VLAN tag */
#define TAG_LEN   4u
#define ETH_ADDRS 12u /* length of both MAC addresses, after which a VLAN tag would be */
#define BUFFER    (8 * 1024 * 1024)
#define LOOK_MS   (int)(RNIC_LOOK_NS / 1000000)

enum which { LINK, HOST, SIDES };

struct received {
    uint8_t bytes[FRAME_MAX];
    size_t len;
};

struct reader {
    struct rnic_live *live;
    bool loopback; /* the interface is the loopback itself */
    uint8_t mac[6];
    struct received frame[BATCH];
};

/* Returns whether a frame on the loopback was sent by or to this device. The kernel's own frames on
 * the loopback have MAC addresses of zeros. Returns false for multicast frames of this device,
 * because the link socket receives them too. */
static bool is_ours_on_loopback(const struct reader *reader, const uint8_t *frame)
{
    if (frame[0] & 1)
        return memcmp(frame + 6, reader->mac, 6) != 0;
    return memcmp(frame, reader->mac, 6) == 0 || memcmp(frame + 6, reader->mac, 6) == 0;
}

/* Inserts the VLAN tag that the kernel removed from the frame. */
static void restore_tag(struct received *frame, struct msghdr *msg)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        struct tpacket_auxdata aux;
        unsigned type = ETH_P_8021Q;

        if (cmsg->cmsg_level != SOL_PACKET || cmsg->cmsg_type != PACKET_AUXDATA)
            continue;
        memcpy(&aux, CMSG_DATA(cmsg), sizeof(aux));
        if (!(aux.tp_status & TP_STATUS_VLAN_VALID) || frame->len < ETH_ADDRS ||
            frame->len + TAG_LEN > FRAME_MAX)
            continue;
        if (aux.tp_status & TP_STATUS_VLAN_TPID_VALID)
            type = aux.tp_vlan_tpid;
        memmove(frame->bytes + ETH_ADDRS + TAG_LEN, frame->bytes + ETH_ADDRS,
                frame->len - ETH_ADDRS);
        roce_be_put(frame->bytes + ETH_ADDRS, 2, type);
        roce_be_put(frame->bytes + ETH_ADDRS + 2, 2, aux.tp_vlan_tci);
        frame->len += TAG_LEN;
    }
}

/* Reads one frame. Returns false if there is no unread frame, or if the program has closed the
 * descriptor. */
static bool read_frame(struct reader *reader, enum which which, int fd, struct received *frame)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    } control;
    struct sockaddr_ll from;
    struct iovec iov = {.iov_base = frame->bytes, .iov_len = FRAME_MAX};

    for (;;) {
        struct msghdr msg = {.msg_name = &from,
                             .msg_namelen = sizeof(from),
                             .msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
        ssize_t len = recvmsg(fd, &msg, MSG_DONTWAIT);

        if (len < 0)
            return false;
        frame->len = (size_t)len;
        /* The loopback shows each frame twice: when it leaves and when it arrives. */
        if ((which == HOST || reader->loopback) && from.sll_pkttype == PACKET_OUTGOING)
            continue;
        if (which == HOST && (len < ETH_HLEN || !is_ours_on_loopback(reader, frame->bytes)))
            continue;
        restore_tag(frame, &msg);
        return true;
    }
}

/* Reads a batch of frames from both sockets and passes it to the device. Returns whether there was
 * a frame. */
static bool read_batch(struct reader *reader)
{
    struct rnic_live *live = reader->live;
    unsigned cnt = 0;

    for (int which = LINK; which < SIDES; which++) {
        int fd = live->raw.fd[which];

        while (cnt < BATCH && rnic_fd_is_tagged(fd) &&
               read_frame(reader, (enum which)which, fd, &reader->frame[cnt]))
            cnt++;
    }
    if (cnt == 0)
        return false;
    live_take_lock(live);
    for (unsigned i = 0; i < cnt; i++)
        rnic_steer_input(live->rnic, reader->frame[i].bytes, reader->frame[i].len, rnic_live_now());
    live_notify(live);
    pthread_mutex_unlock(&live->lock);
    return true;
}

/* Adds to raw->dropped the frames that the kernel dropped because a socket's buffer was full. */
static void count_dropped(struct live_raw *raw)
{
    for (int which = LINK; which < SIDES; which++) {
        struct tpacket_stats stats; /* the kernel sets its counters to 0 */
        socklen_t size = sizeof(stats);

        if (rnic_fd_is_tagged(raw->fd[which]) &&
            getsockopt(raw->fd[which], SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0)
            atomic_fetch_add(&raw->dropped, stats.tp_drops);
    }
}

static void *run_reader(void *user)
{
    struct reader *reader = user;
    struct live_raw *raw = &reader->live->raw;

    prctl(PR_SET_NAME, "rnic-raw");
    for (;;) {
        struct pollfd fds[] = {{.fd = raw->wake_fd, .events = POLLIN},
                               {.fd = raw->fd[LINK], .events = POLLIN},
                               {.fd = raw->fd[HOST], .events = POLLIN}};

        poll(fds, 3, LOOK_MS);
        if (fds[0].revents || !rnic_fd_is_tagged(raw->wake_fd))
            break; /* rnic_live_raw_stop() ends this thread, or the program closed the
                    * descriptors */
        while (read_batch(reader) && poll(fds, 1, 0) == 0)
            continue;
        count_dropped(raw);
    }
    free(reader);
    return NULL;
}

/* Opens a packet socket for all frames of an interface. Returns a descriptor or a negative errno.
 */
static int open_socket(unsigned index)
{
    static const int on = 1, buffer = BUFFER;
    struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_ifindex = (int)index};
    uint8_t protocol[2];
    int fd = rnic_fd_tag(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int error;

    if (fd < 0)
        return -errno;
    roce_be_put(protocol, 2, ETH_P_ALL);
    memcpy(&addr.sll_protocol, protocol, sizeof(protocol));
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) == 0 &&
        bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
        return fd;
    error = -errno;
    close(fd);
    return error;
}

/* Opens the socket on the loopback, if it is up. Returns 0 or a negative errno. */
static int open_loopback(struct live_raw *raw)
{
    struct rnic_iface *list;
    const struct rnic_iface *lo;
    size_t cnt;
    int error = rnic_iface_list(&list, &cnt, &(struct error){""});

    if (error)
        return error;
    lo = rnic_iface_loopback(list, cnt);
    if (lo)
        raw->fd[HOST] = open_socket(lo->index);
    free(list);
    return lo && raw->fd[HOST] < 0 ? raw->fd[HOST] : 0;
}

static void close_sockets(struct live_raw *raw)
{
    for (int which = LINK; which < SIDES; which++) {
        rnic_tagged_close(raw->fd[which]);
        raw->fd[which] = -1;
    }
    rnic_tagged_close(raw->wake_fd);
    raw->wake_fd = -1;
}

/* Opens the sockets and starts the thread. Returns 0 or a negative errno. */
static int start(struct rnic_live *live)
{
    struct live_raw *raw = &live->raw;
    struct reader *reader = calloc(1, sizeof(*reader));
    struct rnic_iface iface;
    int error = reader ? 0 : -ENOMEM;

    pthread_mutex_lock(&live->small_lock);
    iface = live->iface;
    pthread_mutex_unlock(&live->small_lock);
    if (!error) {
        reader->live = live;
        reader->loopback = iface.loopback;
        memcpy(reader->mac, iface.mac, sizeof(reader->mac));
        raw->wake_fd = rnic_event_fd_new(EFD_CLOEXEC | EFD_NONBLOCK);
        error = raw->wake_fd < 0 ? -errno : 0;
    }
    if (!error) {
        raw->fd[LINK] = open_socket(iface.index);
        error = raw->fd[LINK] < 0 ? raw->fd[LINK] : 0;
    }
    if (!error && !iface.loopback)
        error = open_loopback(raw);
    if (!error)
        error = -live_spawn(&raw->thread, NULL, run_reader, reader);
    if (error) {
        close_sockets(raw);
        free(reader);
    }
    return error;
}

int rnic_live_raw_start(struct rnic_live *live)
{
    int error = 0;

    if (live->given_port || live->attr.wire != RNIC_WIRE_PCAP)
        return -EOPNOTSUPP;
    pthread_mutex_lock(&live->raw.lock);
    if (live->raw.users == 0)
        error = start(live);
    if (!error)
        live->raw.users++;
    pthread_mutex_unlock(&live->raw.lock);
    return error;
}

void rnic_live_raw_stop(struct rnic_live *live)
{
    pthread_mutex_lock(&live->raw.lock);
    if (live->raw.users > 0 && --live->raw.users == 0) {
        rnic_event_fd_signal(live->raw.wake_fd);
        pthread_join(live->raw.thread, NULL);
        close_sockets(&live->raw);
    }
    pthread_mutex_unlock(&live->raw.lock);
}

void live_raw_init(struct rnic_live *live)
{
    live->raw.fd[LINK] = live->raw.fd[HOST] = live->raw.wake_fd = -1;
    pthread_mutex_init(&live->raw.lock, NULL);
}

void live_raw_forked(struct rnic_live *live)
{
    close_sockets(&live->raw);
    live->raw.users = 0;
    pthread_mutex_init(&live->raw.lock, NULL);
}

int rnic_live_raw_permitted(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return error;
}

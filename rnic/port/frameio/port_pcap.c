/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/port_pcap.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "port/frameio/frame_dest.h"
#include "port/frameio/packet_socket.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

#define BATCH 64u /* maximum number of frames of a system call */
/* Time from a send that failed with ENOBUFS to the next attempt, ns. A real interface sends some
 * frames of its queue in this time. */
#define RETRY_NS 20000u
/* The port has two sockets. At each call it reads the socket that received the last frames. It also
 * reads the other socket at these intervals, ns. OTHER_IDLE_NS: if the first socket had no frame.
 * OTHER_BUSY_NS: if the first socket had frames. */
#define OTHER_IDLE_NS 3000u
#define OTHER_BUSY_NS 20000u
/* Time after which the port drops a frame that it cannot send because of ENOBUFS, ns. A link with a
 * full queue accepts frames again after microseconds. But a veth returns ENOBUFS for every frame
 * longer than the MTU of its peer (Linux 6.7). */
#define REFUSED_NS 5000000u
#define REOPEN_NS  100000000u /* time between two attempts to reopen a failed socket, ns */

enum which { LINK, HOST, SIDES };

struct pcap_port {
    struct rnic_port port;
    struct rnic_iface iface;
    size_t ring;
    int snaplen;
    char loopback[RNIC_IFNAME_MAX];
    struct packet_socket side[SIDES]; /* packet sockets: LINK on the interface of the port, HOST on
                                       * the loopback; if the loopback is the interface of the port,
                                       * only HOST is used */
    enum which busy;                  /* socket that received frames last */
    uint64_t both_at;                 /* time when the port last read both sockets, ns */
    enum which full;                  /* socket with a full send queue; SIDES: none */
    bool half; /* true: the loopback socket has accepted the next multicast frame, but the link
                * socket has not */
    uint64_t retry_at;   /* time of the next attempt to send after ENOBUFS, ns; UINT64_MAX: none */
    uint64_t refused_at; /* time of the first ENOBUFS for the next frame to send, ns; UINT64_MAX:
                          * no ENOBUFS yet */
    uint8_t (*host)[6];
    size_t host_cnt;
    /* QPN blocks in the capture filter, to recognise sent frames that this port also receives */
    uint32_t *block;
    unsigned block_cnt;
    uint8_t (*group)[6]; /* MAC addresses of the joined groups */
    unsigned group_cnt;
    struct rnic_port_stats stats;
};

static const struct rnic_port_ops pcap_port_ops;

static void reopen(struct pcap_port *self, uint64_t now);
static void widen_snaplen(struct pcap_port *self, uint32_t mtu);

/* ---- packet filter and groups ---------------------------------------------------------------- */

/* `slot` points to the address of an array. Replaces this array by a copy of `from`. Returns false
 * if out of memory. */
static bool replace(void *slot, const void *from, size_t size)
{
    void *copy = malloc(size ? size : 1);
    void *old;

    if (!copy)
        return false;
    if (size)
        memcpy(copy, from, size);
    memcpy(&old, slot, sizeof(old));
    memcpy(slot, &copy, sizeof(copy));
    free(old);
    return true;
}

/* Adds a multicast MAC address to the interface's receive filter, or removes it. */
static void member(const struct pcap_port *self, const uint8_t mac[6], bool joins)
{
    struct packet_mreq request = {
        .mr_ifindex = (int)self->iface.index, .mr_type = PACKET_MR_MULTICAST, .mr_alen = 6};

    memcpy(request.mr_address, mac, 6);
    if (packet_socket_works(&self->side[LINK]))
        setsockopt(self->side[LINK].fd, SOL_PACKET,
                   joins ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &request,
                   sizeof(request));
}

static bool has_mac(const uint8_t (*list)[6], size_t cnt, const uint8_t mac[6])
{
    for (size_t i = 0; i < cnt; i++)
        if (memcmp(list[i], mac, 6) == 0)
            return true;
    return false;
}

int rnic_port_pcap_filter(struct rnic_port *port, const struct rnic_port_filter *filter)
{
    struct pcap_port *self = (struct pcap_port *)port;
    int error = 0;

    for (int which = LINK; which < SIDES && !error; which++) {
        char *text = rnic_port_pcap_expression(filter, self->iface.mac, which == HOST);

        error = text ? packet_socket_attach(&self->side[which], text) : -ENOMEM;
        if (!error) {
            char *before = self->side[which].expression;

            self->side[which].expression = text;
            text = before;
        }
        free(text);
    }
    if (error)
        return error;
    for (unsigned i = 0; i < filter->group_cnt; i++)
        if (!has_mac((const void *)self->group, self->group_cnt, filter->group[i]))
            member(self, filter->group[i], true);
    for (unsigned i = 0; i < self->group_cnt; i++)
        if (!has_mac(filter->group, filter->group_cnt, self->group[i]))
            member(self, self->group[i], false);
    if (!replace(&self->block, filter->block, filter->block_cnt * sizeof(*filter->block)) ||
        !replace(&self->group, filter->group, filter->group_cnt * sizeof(*filter->group)))
        return -ENOMEM;
    self->block_cnt = filter->block_cnt;
    self->group_cnt = filter->group_cnt;
    return 0;
}

void rnic_port_pcap_hosts(struct rnic_port *port, const struct rnic_iface *list, size_t cnt)
{
    struct pcap_port *self = (struct pcap_port *)port;
    uint8_t(*host)[6] = malloc((cnt + 1) * sizeof(*host));

    if (!host)
        return;
    for (size_t i = 0; i < cnt; i++)
        memcpy(host[i], list[i].mac, 6);
    memcpy(host[cnt], self->iface.mac, 6);
    free(self->host);
    self->host = host;
    self->host_cnt = cnt + 1;
    for (size_t i = 0; i < cnt; i++)
        if (list[i].index == self->iface.index)
            widen_snaplen(self, list[i].mtu);
}

/* ---- receiving frames ------------------------------------------------------------------------ */

static bool works(const struct pcap_port *self)
{
    return packet_socket_works(&self->side[LINK]) || packet_socket_works(&self->side[HOST]);
}

struct taker {
    struct pcap_port *self;
    enum which which;
    rnic_frame_fn *fn;
    void *user;
};

static void on_packet(u_char *user, const struct pcap_pkthdr *head, const u_char *bytes)
{
    struct taker *taker = (void *)user;
    struct rnic_frame frame = {
        .data = bytes,
        .len = head->caplen,
        .flags = (taker->which == HOST ? RNIC_FRAME_LOCAL : 0u) |
                 (head->len > head->caplen ? RNIC_FRAME_CUT : 0u),
        /* tv_usec contains nanoseconds, the precision set for the handle */
        .stamp = (uint64_t)head->ts.tv_sec * 1000000000u + (uint64_t)head->ts.tv_usec,
    };

    __builtin_prefetch(bytes); /* another CPU wrote the frame, so it is not in this CPU's cache */
    __builtin_prefetch(bytes + 64);
    taker->self->stats.rx_frames++;
    taker->fn(taker->user, &frame);
}

/* Reads at most `max` frames from one socket. Returns their number. */
static int read_socket(struct pcap_port *self, enum which which, unsigned max, rnic_frame_fn *fn,
                       void *user)
{
    struct taker taker = {self, which, fn, user};
    struct packet_socket *side = &self->side[which];
    int n;

    if (!packet_socket_works(side))
        return 0;
    n = pcap_dispatch(side->pcap, (int)max, on_packet, (u_char *)&taker);
    if (n < 0) {
        side->dead = true;
        side->reopen_at = side->spared;
        self->stats.rx_failed++;
    }
    return n > 0 ? n : 0;
}

/* Receives frames. Each call reads the socket that received frames last. The other socket is read
 * only at intervals, because reading an empty socket costs a system call. */
static int pcap_port_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                          uint64_t now)
{
    struct pcap_port *self = (struct pcap_port *)port;
    enum which other = self->busy == LINK ? HOST : LINK;
    int taken = read_socket(self, self->busy, max, fn, user);

    if (self->side[LINK].dead || self->side[HOST].dead)
        reopen(self, now);
    if (now <= self->both_at || /* a caller that always passes the same time reads both sockets
                                 * at each call */
        now - self->both_at > (taken > 0 ? OTHER_BUSY_NS : OTHER_IDLE_NS) ||
        self->side[self->busy].dead) {
        int more = read_socket(self, other, max, fn, user);

        self->both_at = now;
        if (more > 0 && taken == 0)
            self->busy = other;
        taken += more;
    }
    return taken > 0 || works(self) ? taken : -ENETDOWN;
}

/* ---- sending frames -------------------------------------------------------------------------- */

/* Returns whether this process will also receive `frame`, which it sends on the loopback. */
static bool comes_back(const struct pcap_port *self, const struct rnic_frame *frame)
{
    uint32_t qpn = rnic_frame_qpn(frame);

    if (frame->data[0] & 1)
        return qpn == ROCE_QP_MULTICAST &&
               has_mac((const void *)self->group, self->group_cnt, frame->data);
    if (memcmp(frame->data, self->iface.mac, 6) != 0)
        return false;
    if (qpn == ROCE_QP_GSI)
        return true;
    for (unsigned i = 0; i < self->block_cnt; i++)
        if (qpn >> 12 == self->block[i])
            return true;
    return false;
}

/* Returns the socket on which a frame is sent: LINK, HOST (the loopback), or SIDES for both. */
static enum which way_of(const struct pcap_port *self, const uint8_t *dmac)
{
    if (self->iface.loopback)
        return HOST;
    if (dmac[0] & 1)
        return self->side[HOST].pcap ? SIDES : LINK;
    return has_mac((const void *)self->host, self->host_cnt, dmac) ? HOST : LINK;
}

/* Passes frames to the kernel. Returns the number of accepted frames. If it is less than `cnt`,
 * errno has the reason. */
static int hand_over(struct packet_socket *side, const struct rnic_frame *frames, unsigned cnt)
{
    struct mmsghdr msg[BATCH];
    struct iovec iov[BATCH];

    if (side->plain) {
        for (unsigned i = 0; i < cnt; i++)
            if (pcap_inject(side->pcap, frames[i].data, frames[i].len) < 0)
                return i ? (int)i : -1;
        return (int)cnt;
    }
    if (cnt == 1)
        return send(side->fd, frames->data, frames->len, MSG_DONTWAIT) < 0 ? -1 : 1;
    for (unsigned i = 0; i < cnt; i++) {
        union {
            const void *in;
            void *out;
        } bytes = {.in = frames[i].data};

        iov[i] = (struct iovec){.iov_base = bytes.out, .iov_len = frames[i].len};
        memset(&msg[i], 0, sizeof(msg[i]));
        msg[i].msg_hdr.msg_iov = &iov[i];
        msg[i].msg_hdr.msg_iovlen = 1;
    }
    return sendmmsg(side->fd, msg, cnt, MSG_DONTWAIT);
}

/* Sends frames on one socket. Returns the number of frames that need not be passed again: those
 * sent, and those counted as failed. */
static unsigned push(struct pcap_port *self, enum which which, struct rnic_frame *frames,
                     unsigned cnt, uint64_t now)
{
    struct packet_socket *side = &self->side[which];
    unsigned done = 0;
    bool asked = false; /* true: this call has read and cleared the stored error of the socket
                         * (SO_ERROR), so the next error is new */

    if (!packet_socket_works(side)) {
        self->stats.tx_link_down += cnt;
        return cnt;
    }
    while (done < cnt) {
        unsigned run = cnt - done < BATCH ? cnt - done : BATCH;
        int n = hand_over(side, frames + done, run);

        if (n > 0) {
            self->stats.tx_frames += (unsigned)n;
            self->stats.tx_local += which == HOST ? (unsigned)n : 0;
            done += (unsigned)n;
            self->refused_at = UINT64_MAX;
            continue;
        }
        switch (errno) {
        case EINTR: continue;
        case EAGAIN:
        case ENOBUFS:
            if (errno == ENOBUFS && self->refused_at == UINT64_MAX) {
                self->refused_at = now;
            } else if (errno == ENOBUFS && now - self->refused_at > REFUSED_NS) {
                self->stats.tx_refused++;
                break;
            }
            self->stats.tx_full++;
            self->full = which;
            self->retry_at = errno == EAGAIN ? UINT64_MAX : now + RETRY_NS;
            return done;
        /* libpcap's descriptor is not a socket, or the program closed it and another file has the
         * descriptor number */
        case ENOTSOCK:
        case ENOSYS:
            if (!side->plain) {
                side->plain = true;
                continue;
            }
            self->stats.tx_errors++;
            break;
        case EMSGSIZE: self->stats.tx_too_long++; break;
        case ENETDOWN:
            /* The error may be an old one that the socket stored while the link was down. The
             * kernel reports a stored error once: read it, and send again. */
            if (!asked) {
                int before;
                socklen_t size = sizeof(before);

                getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &before, &size);
                asked = true;
                continue;
            }
            self->stats.tx_link_down++;
            break;
        case ENODEV:
        case ENXIO: self->stats.tx_link_down++; break;
        default: self->stats.tx_errors++; break;
        }
        self->refused_at = UINT64_MAX;
        done++;
    }
    return done;
}

/* Sends a multicast frame on both sockets, first on the loopback. If only the link is full, a later
 * call skips the loopback. Returns 1 if both sockets accepted the frame, else 0. */
static unsigned push_both(struct pcap_port *self, struct rnic_frame *frame, uint64_t now)
{
    if (!self->half && push(self, HOST, frame, 1, now) == 0)
        return 0;
    self->half = push(self, LINK, frame, 1, now) == 0;
    return self->half ? 0 : 1;
}

static unsigned pcap_port_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                               uint64_t now)
{
    struct pcap_port *self = (struct pcap_port *)port;
    unsigned done = 0;

    self->full = SIDES;
    self->retry_at = UINT64_MAX;
    while (done < cnt) {
        enum which way = way_of(self, frames[done].data);
        unsigned run = 1;
        unsigned n;

        if (way == SIDES) {
            n = push_both(self, &frames[done], now);
        } else {
            while (done + run < cnt && way_of(self, frames[done + run].data) == way)
                run++;
            n = push(self, way, frames + done, run, now);
        }
        if (way != LINK)
            for (unsigned i = 0; i < n; i++)
                if (comes_back(self, &frames[done + i]))
                    frames[done + i].flags |= RNIC_FRAME_ECHO;
        done += n;
        if (n < run)
            break;
    }
    return done;
}

/* ---- deadline, descriptors, counters, close -------------------------------------------------- */

static uint64_t pcap_port_deadline(const struct rnic_port *port)
{
    const struct pcap_port *self = (const struct pcap_port *)port;
    uint64_t first = self->retry_at;

    for (int which = LINK; which < SIDES; which++)
        if (self->side[which].dead && self->side[which].reopen_at < first)
            first = self->side[which].reopen_at;
    return first;
}

static unsigned pcap_port_fds(const struct rnic_port *port, struct pollfd *fds)
{
    const struct pcap_port *self = (const struct pcap_port *)port;
    unsigned cnt = 0;

    for (int which = LINK; which < SIDES; which++) {
        const struct packet_socket *side = &self->side[which];
        short out = self->full == (enum which)which && self->retry_at == UINT64_MAX ? POLLOUT : 0;

        if (packet_socket_works(side))
            fds[cnt++] = (struct pollfd){.fd = side->fd, .events = (short)(POLLIN | out)};
    }
    return cnt;
}

static void pcap_port_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct pcap_port *self = (struct pcap_port *)port;
    uint64_t dropped = 0;

    for (int which = LINK; which < SIDES; which++) {
        struct pcap_stat stat;

        if (packet_socket_works(&self->side[which]) &&
            pcap_stats(self->side[which].pcap, &stat) == 0)
            self->side[which].dropped_before = self->side[which].dropped_base + stat.ps_drop;
        dropped += self->side[which].dropped_before;
    }
#define X(name, text) out->name += self->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
    out->rx_dropped += dropped;
}

static void pcap_port_close(struct rnic_port *port)
{
    struct pcap_port *self = (struct pcap_port *)port;

    for (int which = LINK; which < SIDES; which++) {
        if (self->side[which].pcap)
            pcap_close(self->side[which].pcap);
        free(self->side[which].expression);
    }
    free(self->host);
    free(self->block);
    free(self->group);
    free(self);
}

static void pcap_port_drop(struct rnic_port *port)
{
    struct pcap_port *self = (struct pcap_port *)port;

    for (int which = LINK; which < SIDES; which++)
        if (self->side[which].pcap)
            close(self->side[which].fd);
}

/* ---- opening the port ------------------------------------------------------------------------ */

/* Opens a new handle for each failed one, with the previous filter and groups. Opens the new handle
 * before it closes the old one, so that the new descriptor has another number: an epoll set may
 * still contain the old descriptor. */
static void reopen(struct pcap_port *self, uint64_t now)
{
    for (int which = LINK; which < SIDES; which++) {
        struct packet_socket *old = &self->side[which];
        struct packet_socket side = {.expression = old->expression,
                                     .dropped_base = old->dropped_before};
        const char *name = which == LINK ? self->iface.name : self->loopback;
        struct error why;
        int error;

        if (!old->dead || old->reopen_at > now)
            continue;
        if (which == LINK && if_nametoindex(name) != self->iface.index)
            error = -ENODEV; /* a new interface with the old name is another device */
        else
            error = packet_socket_open(&side, name, self->ring, self->snaplen, &why);
        if (!error && side.expression)
            error = packet_socket_attach(&side, side.expression);
        if (error) {
            if (side.pcap)
                pcap_close(side.pcap);
            old->reopen_at = error == -ENODEV || error == -EPERM ? UINT64_MAX : now + REOPEN_NS;
            continue;
        }
        side.dropped_before = side.dropped_base;
        side.spared = now + REOPEN_NS;
        pcap_close(old->pcap);
        *old = side;
        self->stats.rx_reopened++;
        for (unsigned i = 0; which == LINK && i < self->group_cnt; i++)
            member(self, self->group[i], true);
    }
}

/* Returns the length of the longest frame on a link with this MTU. A slot of the receive ring has
 * this size. */
static int snaplen_of(uint32_t mtu)
{
    return mtu < ROCE_FRAME_MAX - 22 ? (int)mtu + 22 : ROCE_FRAME_MAX;
}

/* Makes the next call of pcap_port_recv() reopen the handles if `mtu` allows frames that are longer
 * than the slots of the receive ring. */
static void widen_snaplen(struct pcap_port *self, uint32_t mtu)
{
    if (snaplen_of(mtu) <= self->snaplen)
        return;
    self->snaplen = snaplen_of(mtu);
    for (int which = LINK; which < SIDES; which++) {
        self->side[which].dead = self->side[which].pcap != NULL;
        self->side[which].reopen_at = 0;
    }
}

int rnic_port_pcap_open(const struct rnic_iface *iface, size_t ring, struct rnic_port **out,
                        struct error *why)
{
    struct pcap_port *self = calloc(1, sizeof(*self));
    int snaplen = snaplen_of(iface->mtu);
    struct rnic_iface *list = NULL;
    size_t cnt = 0;
    const struct rnic_iface *lo;
    int error;

    if (!self)
        return -ENOMEM;
    self->port.ops = &pcap_port_ops;
    self->iface = *iface;
    self->ring = ring;
    self->snaplen = snaplen;
    self->busy = iface->loopback ? HOST : LINK;
    self->full = SIDES;
    self->retry_at = UINT64_MAX;
    self->refused_at = UINT64_MAX;
    error = rnic_iface_list(&list, &cnt, why);
    if (!error)
        error = packet_socket_open(&self->side[iface->loopback ? HOST : LINK], iface->name, ring,
                                   snaplen, why);
    /* If there is no loopback, or it is down, the port uses the link only and cannot reach local
     * processes. */
    lo = iface->loopback ? iface : rnic_iface_loopback(list, cnt);
    if (lo)
        memcpy(self->loopback, lo->name, sizeof(self->loopback));
    if (!error && lo && !iface->loopback)
        error = packet_socket_open(&self->side[HOST], self->loopback, ring, snaplen, why);
    if (!error)
        rnic_port_pcap_hosts(&self->port, list, cnt);
    free(list);
    if (error) {
        pcap_port_close(&self->port);
        return error;
    }
    *out = &self->port;
    return 0;
}

static const struct rnic_port_ops pcap_port_ops = {
    .recv = pcap_port_recv,
    .send = pcap_port_send,
    .deadline = pcap_port_deadline,
    .fds = pcap_port_fds,
    .stats = pcap_port_stats,
    .close = pcap_port_close,
    .drop = pcap_port_drop,
};

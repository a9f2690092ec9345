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
#include "port/frameio/packet_socket.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

#define BATCH    64u
#define RETRY_NS 20000u  /* after ENOBUFS: the queue of a real interface has drained a little */
#define BOTH_NS  3000u   /* so often is the other side looked at while nothing comes, ... */
#define BUSY_NS  20000u  /* ... and so often while something does */
#define LOOK_NS  100000u /* so often is libpcap asked, though the slots tell that it has nothing */
/* A frame that finds no room for so long, while links drain some in microseconds, never will: a
 * veth answers ENOBUFS to what is longer than its peer's MTU (Linux 6.7). */
#define REFUSED_NS 5000000u
#define REOPEN_NS  100000000u /* between two tries to open what failed */

enum which { LINK, HOST, SIDES };

struct live {
    struct rnic_port port;
    struct rnic_iface iface;
    size_t ring;
    int snaplen;
    char loopback[RNIC_IFNAME_MAX];
    struct port_side side[SIDES]; /* of the loopback itself only HOST */
    enum which busy;              /* gave frames last */
    uint64_t both_at;             /* when both were looked at */
    enum which full;              /* the side that blocks; SIDES: none */
    bool half;           /* the multicast frame to be sent next is on the loopback already */
    uint64_t retry_at;   /* UINT64_MAX: not waiting for a time */
    uint64_t refused_at; /* the frame to be sent next first found no room; UINT64_MAX: it did not */
    uint8_t (*host)[6];
    size_t host_cnt;
    uint32_t *block; /* for telling what comes back */
    unsigned block_cnt;
    uint8_t (*group)[6]; /* joined */
    unsigned group_cnt;
    struct rnic_port_stats stats;
};

static const struct rnic_port_ops live_ops;

static void reopen(struct live *live, uint64_t now);

/* ---- filter ---------------------------------------------------------------------------------- */

/* A copy of an array in place of the old one; false without memory. */
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

/* Makes the interface let a group's frames in, or no longer. */
static void member(const struct live *live, const uint8_t mac[6], bool joins)
{
    struct packet_mreq request = {
        .mr_ifindex = (int)live->iface.index, .mr_type = PACKET_MR_MULTICAST, .mr_alen = 6};

    memcpy(request.mr_address, mac, 6);
    if (port_side_works(&live->side[LINK]))
        setsockopt(live->side[LINK].fd, SOL_PACKET,
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
    struct live *live = (struct live *)port;
    int error = 0;

    for (int which = LINK; which < SIDES && !error; which++) {
        char *text = rnic_port_pcap_expression(filter, live->iface.mac, which == HOST);

        error = text ? port_side_attach(&live->side[which], text) : -ENOMEM;
        if (!error) {
            char *before = live->side[which].expression;

            live->side[which].expression = text;
            text = before;
        }
        free(text);
    }
    if (error)
        return error;
    for (unsigned i = 0; i < filter->group_cnt; i++)
        if (!has_mac((const void *)live->group, live->group_cnt, filter->group[i]))
            member(live, filter->group[i], true);
    for (unsigned i = 0; i < live->group_cnt; i++)
        if (!has_mac(filter->group, filter->group_cnt, live->group[i]))
            member(live, live->group[i], false);
    if (!replace(&live->block, filter->block, filter->block_cnt * sizeof(*filter->block)) ||
        !replace(&live->group, filter->group, filter->group_cnt * sizeof(*filter->group)))
        return -ENOMEM;
    live->block_cnt = filter->block_cnt;
    live->group_cnt = filter->group_cnt;
    return 0;
}

void rnic_port_pcap_hosts(struct rnic_port *port, const struct rnic_iface *list, size_t cnt)
{
    struct live *live = (struct live *)port;
    uint8_t(*host)[6] = malloc((cnt + 1) * sizeof(*host));

    if (!host)
        return;
    for (size_t i = 0; i < cnt; i++)
        memcpy(host[i], list[i].mac, 6);
    memcpy(host[cnt], live->iface.mac, 6);
    free(live->host);
    live->host = host;
    live->host_cnt = cnt + 1;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static bool is_live(const struct live *live)
{
    return port_side_works(&live->side[LINK]) || port_side_works(&live->side[HOST]);
}

struct taker {
    struct live *live;
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
        /* The handle counts in nanoseconds. */
        .stamp = (uint64_t)head->ts.tv_sec * 1000000000u + (uint64_t)head->ts.tv_usec,
    };

    __builtin_prefetch(bytes); /* another CPU wrote it */
    __builtin_prefetch(bytes + 64);
    port_slots_took(&taker->live->side[taker->which].slots, bytes);
    taker->live->stats.rx_frames++;
    taker->fn(taker->user, &frame);
}

/* Whether libpcap need not be asked. Now and then it is all the same: it alone is told that the
 * handle failed. (A clock that stands does not make it one of many calls.) */
static bool is_empty(const struct port_side *side, uint64_t now)
{
    return port_slots_empty(&side->slots) && now > side->looked_at &&
           now - side->looked_at <= LOOK_NS;
}

/* What waits on one side: how many frames. */
static int take(struct live *live, enum which which, unsigned max, rnic_frame_fn *fn, void *user,
                uint64_t now)
{
    struct taker taker = {live, which, fn, user};
    struct port_side *side = &live->side[which];
    int n;

    if (!port_side_works(side) || is_empty(side, now))
        return 0;
    side->looked_at = now;
    n = pcap_dispatch(side->pcap, (int)max, on_packet, (u_char *)&taker);
    if (n < 0) {
        side->dead = true;
        side->reopen_at = side->spared;
        live->stats.rx_failed++;
    }
    return n > 0 ? n : 0;
}

/* A handle that is empty costs a system call, unless its slots tell. Who calls again and again has
 * the one that gave frames last looked at each time, the other now and then. */
static int live_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    struct live *live = (struct live *)port;
    enum which other = live->busy == LINK ? HOST : LINK;
    int taken = take(live, live->busy, max, fn, user, now);

    if (live->side[LINK].dead || live->side[HOST].dead)
        reopen(live, now);
    /* (A clock that stands does not make it one of many calls.) */
    if (now <= live->both_at || now - live->both_at > (taken > 0 ? BUSY_NS : BOTH_NS) ||
        live->side[live->busy].dead || port_slots_tell(&live->side[other].slots)) {
        int more = take(live, other, max, fn, user, now);

        live->both_at = now;
        if (more > 0 && taken == 0)
            live->busy = other;
        taken += more;
    }
    return taken > 0 || is_live(live) ? taken : -ENETDOWN;
}

/* The side that gave frames last: the other is looked at by recv(). */
static int live_peek(const struct rnic_port *port)
{
    const struct live *live = (const struct live *)port;
    const struct port_side *side = &live->side[live->busy];

    if (!port_side_works(side) || !port_slots_tell(&side->slots))
        return -1;
    if (port_slots_empty(&side->slots))
        return 0;
    port_slots_prefetch(&side->slots);
    return 1;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The destination QPN of a RoCE frame, or 0. */
static uint32_t frame_qpn(const struct rnic_frame *frame)
{
    unsigned type = (unsigned)roce_bits_get(frame->data, 12, 0, 16);
    size_t bth = 0;

    if (type == ROCE_ETHERTYPE_IP4 && frame->len > 14)
        bth = 14 + (frame->data[14] & 0xfu) * 4u + 8;
    else if (type == ROCE_ETHERTYPE_IP6 || type == ROCE_ETHERTYPE_V1)
        bth = 14 + 40 + (type == ROCE_ETHERTYPE_IP6 ? 8 : 0);
    if (bth == 0 || bth + 8 > frame->len)
        return 0;
    return (uint32_t)roce_bits_get(frame->data, (unsigned)bth + 5, 0, 24);
}

/* Whether our own filter lets a frame on the loopback in. */
static bool comes_back(const struct live *live, const struct rnic_frame *frame)
{
    uint32_t qpn = frame_qpn(frame);

    if (frame->data[0] & 1)
        return qpn == ROCE_QP_MULTICAST &&
               has_mac((const void *)live->group, live->group_cnt, frame->data);
    if (memcmp(frame->data, live->iface.mac, 6) != 0)
        return false;
    if (qpn == ROCE_QP_GSI)
        return true;
    for (unsigned i = 0; i < live->block_cnt; i++)
        if (qpn >> 12 == live->block[i])
            return true;
    return false;
}

/* LINK, HOST, or SIDES for both. */
static enum which way_of(const struct live *live, const uint8_t *dmac)
{
    if (live->iface.loopback)
        return HOST;
    if (dmac[0] & 1)
        return live->side[HOST].pcap ? SIDES : LINK;
    return has_mac((const void *)live->host, live->host_cnt, dmac) ? HOST : LINK;
}

/* Hands frames to the kernel: how many it took, and errno when not all. */
static int hand_over(struct port_side *side, const struct rnic_frame *frames, unsigned cnt)
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

/* Sends on one side: how many frames are done with. */
static unsigned push(struct live *live, enum which which, struct rnic_frame *frames, unsigned cnt,
                     uint64_t now)
{
    struct port_side *side = &live->side[which];
    unsigned done = 0;
    bool asked = false; /* whether an error is one of now */

    if (!port_side_works(side)) {
        live->stats.tx_link_down += cnt;
        return cnt;
    }
    while (done < cnt) {
        unsigned run = cnt - done < BATCH ? cnt - done : BATCH;
        int n = hand_over(side, frames + done, run);

        if (n > 0) {
            live->stats.tx_frames += (unsigned)n;
            live->stats.tx_local += which == HOST ? (unsigned)n : 0;
            done += (unsigned)n;
            live->refused_at = UINT64_MAX;
            continue;
        }
        switch (errno) {
        case EINTR: continue;
        case EAGAIN:
        case ENOBUFS:
            if (errno == ENOBUFS && live->refused_at == UINT64_MAX) {
                live->refused_at = now;
            } else if (errno == ENOBUFS && now - live->refused_at > REFUSED_NS) {
                live->stats.tx_refused++;
                break;
            }
            live->stats.tx_full++;
            live->full = which;
            live->retry_at = errno == EAGAIN ? UINT64_MAX : now + RETRY_NS;
            return done;
        case ENOTSOCK: /* not a socket in this libpcap, or a file of the program's by now */
        case ENOSYS:
            if (!side->plain) {
                side->plain = true;
                continue;
            }
            live->stats.tx_errors++;
            break;
        case EMSGSIZE: live->stats.tx_too_long++; break;
        case ENETDOWN:
            /* Maybe only the socket's memory of a time when it was: that is told once. */
            if (!asked) {
                int before;
                socklen_t size = sizeof(before);

                getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &before, &size);
                asked = true;
                continue;
            }
            live->stats.tx_link_down++;
            break;
        case ENODEV:
        case ENXIO: live->stats.tx_link_down++; break;
        default: live->stats.tx_errors++; break;
        }
        live->refused_at = UINT64_MAX;
        done++;
    }
    return done;
}

/* A multicast frame goes both ways; if only the second is full it is not sent the first twice. */
static unsigned push_both(struct live *live, struct rnic_frame *frame, uint64_t now)
{
    if (!live->half && push(live, HOST, frame, 1, now) == 0)
        return 0;
    live->half = push(live, LINK, frame, 1, now) == 0;
    return live->half ? 0 : 1;
}

static unsigned live_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                          uint64_t now)
{
    struct live *live = (struct live *)port;
    unsigned done = 0;

    live->full = SIDES;
    live->retry_at = UINT64_MAX;
    while (done < cnt) {
        enum which way = way_of(live, frames[done].data);
        unsigned run = 1;
        unsigned n;

        if (way == SIDES) {
            n = push_both(live, &frames[done], now);
        } else {
            while (done + run < cnt && way_of(live, frames[done + run].data) == way)
                run++;
            n = push(live, way, frames + done, run, now);
        }
        if (way != LINK)
            for (unsigned i = 0; i < n; i++)
                if (comes_back(live, &frames[done + i]))
                    frames[done + i].flags |= RNIC_FRAME_ECHO;
        done += n;
        if (n < run)
            break;
    }
    return done;
}

/* ---- the rest of a port ---------------------------------------------------------------------- */

static uint64_t live_deadline(const struct rnic_port *port)
{
    const struct live *live = (const struct live *)port;
    uint64_t first = live->retry_at;

    for (int which = LINK; which < SIDES; which++)
        if (live->side[which].dead && live->side[which].reopen_at < first)
            first = live->side[which].reopen_at;
    return first;
}

static unsigned live_fds(const struct rnic_port *port, struct pollfd *fds)
{
    const struct live *live = (const struct live *)port;
    unsigned cnt = 0;

    for (int which = LINK; which < SIDES; which++) {
        const struct port_side *side = &live->side[which];
        short out = live->full == (enum which)which && live->retry_at == UINT64_MAX ? POLLOUT : 0;

        if (port_side_works(side))
            fds[cnt++] = (struct pollfd){.fd = side->fd, .events = (short)(POLLIN | out)};
    }
    return cnt;
}

static void live_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct live *live = (struct live *)port;
    uint64_t dropped = 0;

    for (int which = LINK; which < SIDES; which++) {
        struct pcap_stat stat;

        if (port_side_works(&live->side[which]) && pcap_stats(live->side[which].pcap, &stat) == 0)
            live->side[which].dropped_before = live->side[which].dropped_base + stat.ps_drop;
        dropped += live->side[which].dropped_before;
    }
#define X(name, text) out->name += live->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
    out->rx_dropped += dropped;
}

static void live_close(struct rnic_port *port)
{
    struct live *live = (struct live *)port;

    for (int which = LINK; which < SIDES; which++) {
        if (live->side[which].pcap)
            pcap_close(live->side[which].pcap);
        free(live->side[which].expression);
    }
    free(live->host);
    free(live->block);
    free(live->group);
    free(live);
}

static void live_drop(struct rnic_port *port)
{
    struct live *live = (struct live *)port;

    for (int which = LINK; which < SIDES; which++)
        if (live->side[which].pcap)
            close(live->side[which].fd);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A new handle in place of each that failed, with the same filter and groups. The new one has
 * another descriptor than the old, which an epoll set may hold still. */
static void reopen(struct live *live, uint64_t now)
{
    for (int which = LINK; which < SIDES; which++) {
        struct port_side *old = &live->side[which];
        struct port_side side = {.expression = old->expression,
                                 .dropped_base = old->dropped_before};
        const char *name = which == LINK ? live->iface.name : live->loopback;
        struct rnic_why why;
        int error;

        if (!old->dead || old->reopen_at > now)
            continue;
        if (which == LINK && if_nametoindex(name) != live->iface.index)
            error = -ENODEV; /* another one of that name is another device */
        else
            error = port_side_open(&side, name, live->ring, live->snaplen, &why);
        if (!error && side.expression)
            error = port_side_attach(&side, side.expression);
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
        live->stats.rx_reopened++;
        for (unsigned i = 0; which == LINK && i < live->group_cnt; i++)
            member(live, live->group[i], true);
    }
}

/* The loopback's name, and whether it is up. */
static bool find_loopback(char name[RNIC_IFNAME_MAX], const struct rnic_iface *list, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++)
        if (list[i].loopback && list[i].up) {
            memcpy(name, list[i].name, RNIC_IFNAME_MAX);
            return true;
        }
    return false;
}

int rnic_port_pcap_open(const struct rnic_iface *iface, size_t ring, struct rnic_port **out,
                        struct rnic_why *why)
{
    struct live *live = calloc(1, sizeof(*live));
    /* Slots of a ring are as long as the longest frame: no longer than needed. */
    int snaplen = iface->mtu < ROCE_FRAME_MAX - 22 ? (int)iface->mtu + 22 : ROCE_FRAME_MAX;
    struct rnic_iface *list = NULL;
    size_t cnt = 0;
    int error;

    if (!live)
        return -ENOMEM;
    live->port.ops = &live_ops;
    live->iface = *iface;
    live->ring = ring;
    live->snaplen = snaplen;
    live->busy = iface->loopback ? HOST : LINK;
    live->full = SIDES;
    live->retry_at = UINT64_MAX;
    live->refused_at = UINT64_MAX;
    error = rnic_iface_list(&list, &cnt, why);
    if (!error)
        error = port_side_open(&live->side[iface->loopback ? HOST : LINK], iface->name, ring,
                               snaplen, why);
    /* Without a loopback that is up nothing on this machine is reached; the link still is. */
    if (iface->loopback)
        memcpy(live->loopback, iface->name, sizeof(live->loopback));
    else if (!error && find_loopback(live->loopback, list, cnt))
        error = port_side_open(&live->side[HOST], live->loopback, ring, snaplen, why);
    if (!error)
        rnic_port_pcap_hosts(&live->port, list, cnt);
    free(list);
    if (error) {
        live_close(&live->port);
        return error;
    }
    *out = &live->port;
    return 0;
}

static const struct rnic_port_ops live_ops = {
    .recv = live_recv,
    .peek = live_peek,
    .send = live_send,
    .deadline = live_deadline,
    .fds = live_fds,
    .stats = live_stats,
    .close = live_close,
    .drop = live_drop,
};

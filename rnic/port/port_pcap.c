/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/port_pcap.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "wire/bytes.h"
#include "wire/pkt.h"

#define BATCH       64u
#define RING_MIN    (256u * 1024)
#define SEND_BUFFER (8 * 1024 * 1024)
#define RETRY_NS    20000u /* after ENOBUFS: the queue of a real interface has drained a little */
#define BOTH_NS     3000u  /* so often is the other side looked at while nothing comes, ... */
#define BUSY_NS     20000u /* ... and so often while something does */
/* A frame that finds no room for so long, while links drain some in microseconds, never will: a
 * veth answers ENOBUFS to what is longer than its peer's MTU (Linux 6.7). */
#define REFUSED_NS 5000000u
#define GROUPS_MAX 32u        /* more groups than that are not told apart in the filter */
#define REOPEN_NS  100000000u /* between two tries to open what failed */

enum which { LINK, HOST, SIDES };

/* One capture handle. */
struct side {
    pcap_t *pcap; /* NULL: there is none */
    int fd;
    bool dead;          /* it failed: the interface went away, or the kernel and libpcap disagree */
    uint64_t reopen_at; /* of a dead one: the next try; UINT64_MAX: none */
    uint64_t spared;    /* no try before: one that fails at once again is left alone for a time */
    bool plain;         /* its descriptor does not take sendmmsg() */
    char *expression;   /* its filter; NULL before there is one */
    uint64_t dropped_before;
    uint64_t dropped_base; /* by handles that failed */
};

struct live {
    struct rnic_port port;
    struct rnic_iface iface;
    size_t ring;
    int snaplen;
    char loopback[RNIC_IFNAME_MAX];
    struct side side[SIDES]; /* of the loopback itself only HOST */
    enum which busy;         /* gave frames last */
    uint64_t both_at;        /* when both were looked at */
    enum which full;         /* the side that blocks; SIDES: none */
    bool half;               /* the multicast frame to be sent next is on the loopback already */
    uint64_t retry_at;       /* UINT64_MAX: not waiting for a time */
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

/* Where the BTH's 32 bits with the destination QPN are, by encapsulation. */
static const struct {
    const char *is;
    const char *qpn;
} encaps[] = {
    {"ip and udp dst port 4791", "udp[12:4]"},
    {"ip6[6] = 17 and ip6[42:2] = 4791", "ip6[52:4]"},
    {"ether proto 0x8915", "ether[58:4]"},
};

static void print_groups(FILE *out, const struct rnic_port_filter *filter, const char *qpn)
{
    if (filter->group_cnt == 0)
        return;
    fprintf(out, " or (%s & 0xffffff = 0xffffff", qpn);
    for (unsigned i = 0; i < filter->group_cnt && filter->group_cnt <= GROUPS_MAX; i++) {
        const uint8_t *mac = filter->group[i];

        fprintf(out, "%s ether dst %02x:%02x:%02x:%02x:%02x:%02x", i == 0 ? " and (" : " or",
                mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    }
    fprintf(out, "%s)", filter->group_cnt <= GROUPS_MAX ? ")" : "");
}

char *rnic_port_pcap_expression(const struct rnic_port_filter *filter, const uint8_t mac[6],
                                bool host)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (host) {
        char own[18];

        snprintf(own, sizeof(own), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                 mac[4], mac[5]);
        /* A group's frames stay with the interface they were sent from. */
        fprintf(out, "(ether dst %s or (ether multicast and ether src %s)) and (", own, own);
    }
    for (unsigned i = 0; i < sizeof(encaps) / sizeof(encaps[0]); i++) {
        const char *qpn = encaps[i].qpn;

        fprintf(out, "%s(%s and (%s & 0xffffff = 1", i ? " or " : "", encaps[i].is, qpn);
        for (unsigned j = 0; j < filter->block_cnt; j++)
            fprintf(out, " or %s & 0xfff000 = 0x%x", qpn, filter->block[j] << 12);
        print_groups(out, filter, qpn);
        fprintf(out, "))");
    }
    /* ARP and Neighbour Discovery. */
    fprintf(out, "%s", host ? ")" : " or arp or (icmp6 and (ip6[40] = 135 or ip6[40] = 136))");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* pcap_setfilter() empties the socket between two filters; the kernel changes one for the other. */
static int attach(struct side *side, const char *expression)
{
    struct bpf_program program;
    struct sock_fprog filter;
    int error = 0;

    if (!side->pcap || side->dead)
        return 0;
    if (pcap_compile(side->pcap, &program, expression, 1, PCAP_NETMASK_UNKNOWN) != 0)
        return -EINVAL;
    filter.len = (unsigned short)program.bf_len;
    filter.filter = (void *)program.bf_insns; /* the same layout: struct bpf_insn, sock_filter */
    if (setsockopt(side->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0)
        error = -errno;
    pcap_freecode(&program);
    return error;
}

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
    if (live->side[LINK].pcap && !live->side[LINK].dead)
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

        error = text ? attach(&live->side[which], text) : -ENOMEM;
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
    return (live->side[LINK].pcap && !live->side[LINK].dead) ||
           (live->side[HOST].pcap && !live->side[HOST].dead);
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
    taker->live->stats.rx_frames++;
    taker->fn(taker->user, &frame);
}

/* What waits on one side: how many frames. */
static int take(struct live *live, enum which which, unsigned max, rnic_frame_fn *fn, void *user)
{
    struct taker taker = {live, which, fn, user};
    struct side *side = &live->side[which];
    int n;

    if (!side->pcap || side->dead)
        return 0;
    n = pcap_dispatch(side->pcap, (int)max, on_packet, (u_char *)&taker);
    if (n < 0) {
        side->dead = true;
        side->reopen_at = side->spared;
        live->stats.rx_failed++;
    }
    return n > 0 ? n : 0;
}

/* A handle that is empty costs a system call. Who calls again and again has the one that gave
 * frames last looked at each time, the other now and then. */
static int live_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    struct live *live = (struct live *)port;
    enum which other = live->busy == LINK ? HOST : LINK;
    int taken = take(live, live->busy, max, fn, user);

    if (live->side[LINK].dead || live->side[HOST].dead)
        reopen(live, now);
    /* (A clock that stands does not make it one of many calls.) */
    if (now <= live->both_at || now - live->both_at > (taken > 0 ? BUSY_NS : BOTH_NS) ||
        live->side[live->busy].dead) {
        int more = take(live, other, max, fn, user);

        live->both_at = now;
        if (more > 0 && taken == 0)
            live->busy = other;
        taken += more;
    }
    return taken > 0 || is_live(live) ? taken : -ENETDOWN;
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
static int hand_over(struct side *side, const struct rnic_frame *frames, unsigned cnt)
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
    struct side *side = &live->side[which];
    unsigned done = 0;
    bool asked = false; /* whether an error is one of now */

    if (!side->pcap || side->dead) {
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
        case ENOTSOCK:
        case ENOSYS: side->plain = true; continue;
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
        const struct side *side = &live->side[which];
        short out = live->full == (enum which)which && live->retry_at == UINT64_MAX ? POLLOUT : 0;

        if (side->pcap && !side->dead)
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

        if (live->side[which].pcap && !live->side[which].dead &&
            pcap_stats(live->side[which].pcap, &stat) == 0)
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

static int open_error(int status, const char *name, const char *text, struct rnic_why *why)
{
    switch (status) {
    case PCAP_ERROR_PERM_DENIED:
        rnic_why_set(why,
                     "no permission to open %s: CAP_NET_RAW is needed (or a user and network "
                     "namespace of its own)",
                     name);
        return -EPERM;
    case PCAP_ERROR_IFACE_NOT_UP: rnic_why_set(why, "interface %s is down", name); return -ENETDOWN;
    case PCAP_ERROR_NO_SUCH_DEVICE:
        rnic_why_set(why, "there is no interface %s", name);
        return -ENODEV;
    default: rnic_why_set(why, "interface %s cannot be opened: %s", name, text); return -EIO;
    }
}

/* One try with a size of ring: 0, or a status of pcap_activate(). */
static int activate(struct side *side, const char *name, size_t ring, int snaplen, char *text)
{
    pcap_t *pcap = pcap_create(name, text);
    int status;

    if (!pcap)
        return PCAP_ERROR;
    status = pcap_set_snaplen(pcap, snaplen);
    if (status == 0)
        status = pcap_set_immediate_mode(pcap, 1);
    if (status == 0)
        status = pcap_set_timeout(pcap, 1);
    if (status == 0)
        status = pcap_set_buffer_size(pcap, (int)ring);
    if (status == 0)
        status = pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
    if (status == 0)
        status = pcap_activate(pcap);
    if (status >= 0 && pcap_datalink(pcap) != DLT_EN10MB) {
        snprintf(text, PCAP_ERRBUF_SIZE, "its frames are not Ethernet");
        status = PCAP_ERROR;
    } else if (status < 0) {
        snprintf(text, PCAP_ERRBUF_SIZE, "%s",
                 status == PCAP_ERROR ? pcap_geterr(pcap) : pcap_statustostr(status));
    } else if (pcap_setnonblock(pcap, 1, text) != 0) {
        status = PCAP_ERROR;
    }
    if (status < 0) {
        pcap_close(pcap);
        return status;
    }
    side->pcap = pcap;
    side->fd = pcap_fileno(pcap);
    return 0;
}

static int open_side(struct side *side, const char *name, size_t ring, int snaplen,
                     struct rnic_why *why)
{
    static const int on = 1;
    static const int send_buffer = SEND_BUFFER;
    char text[PCAP_ERRBUF_SIZE] = "";
    int status = activate(side, name, ring, snaplen, text);

    while (status == PCAP_ERROR && ring > RING_MIN && strstr(text, "memory")) {
        ring /= 2;
        status = activate(side, name, ring, snaplen, text);
    }
    if (status < 0)
        return open_error(status, name, text, why);
    /* Own frames: not even put into the ring where the kernel knows how (Linux 4.20). */
    if (setsockopt(side->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 &&
        pcap_setdirection(side->pcap, PCAP_D_IN) != 0)
        return open_error(PCAP_ERROR, name, pcap_geterr(side->pcap), why);
    if (setsockopt(side->fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof(send_buffer)) < 0)
        setsockopt(side->fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    return 0;
}

/* A new handle in place of each that failed, with the same filter and groups. The new one has
 * another descriptor than the old, which an epoll set may hold still. */
static void reopen(struct live *live, uint64_t now)
{
    for (int which = LINK; which < SIDES; which++) {
        struct side *old = &live->side[which];
        struct side side = {.expression = old->expression, .dropped_base = old->dropped_before};
        const char *name = which == LINK ? live->iface.name : live->loopback;
        struct rnic_why why;
        int error;

        if (!old->dead || old->reopen_at > now)
            continue;
        if (which == LINK && if_nametoindex(name) != live->iface.index)
            error = -ENODEV; /* another one of that name is another device */
        else
            error = open_side(&side, name, live->ring, live->snaplen, &why);
        if (!error && side.expression)
            error = attach(&side, side.expression);
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
        error =
            open_side(&live->side[iface->loopback ? HOST : LINK], iface->name, ring, snaplen, why);
    /* Without a loopback that is up nothing on this machine is reached; the link still is. */
    if (iface->loopback)
        memcpy(live->loopback, iface->name, sizeof(live->loopback));
    else if (!error && find_loopback(live->loopback, list, cnt))
        error = open_side(&live->side[HOST], live->loopback, ring, snaplen, why);
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
    .send = live_send,
    .deadline = live_deadline,
    .fds = live_fds,
    .stats = live_stats,
    .close = live_close,
    .drop = live_drop,
};

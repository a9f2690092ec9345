/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shm/port_shm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "port/frameio/frame_dest.h"
#include "port/frameio/port_pcap.h"
#include "port/shm/hello.h"
#include "port/shm/peers.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

#define RING_DEFAULT (512u * 1024)
/* interval at which a polling program checks the sockets for new peers, ns */
#define CHECK_NS 50000u
/* Time after which the port drops frames to a process that does not read, ns. A process that waits
 * for a CPU of a busy machine reads earlier. */
#define STUCK_NS 200000000u

struct shm_port {
    struct rnic_port port;
    struct rnic_iface iface;
    struct rnic_port_shm_attr attr;
    struct shm_peers peers;
    struct shm_segment own; /* ring for frames of this process to itself */
    struct shm_writer own_writer;
    struct shm_reader own_reader;
    struct shm_out *blocked; /* full ring; the port waits until its reader has made room; NULL: none
                              * */
    uint64_t cast;           /* serial number of the next multicast or QP 1 frame, from 1 */
    unsigned next_in;        /* index of the ring that recv() reads first */
    bool check_next;         /* true: the next recv() must check the sockets for new and ended
                              * peers, because the thread may have slept */
    uint64_t checked_at;     /* time of the last shm_peers_check(), ns */
    bool has_warned;         /* attr.warned was called */
    unsigned group_cnt;
    uint8_t (*group)[6]; /* MAC addresses of the joined groups */
    struct rnic_port_stats stats;
    uint8_t frame[ROCE_FRAME_MAX]; /* copy of the frame being received */
};

static const struct rnic_port_ops shm_port_ops;

/* ---- sending frames -------------------------------------------------------------------------- */

static void wake_readers(struct shm_port *self)
{
    for (unsigned i = 0; i < self->peers.out_cnt; i++) {
        struct shm_out *out = self->peers.out[i];

        if (!out->touched || out->ended)
            continue;
        out->touched = false;
        if (shm_writer_rings(&out->writer))
            shm_hello_wake(out->fd);
    }
}

/* Writes a frame to a ring; without the ICRC if the sender has not computed it. Returns what
 * shm_write() returns. */
static int write_frame(const struct shm_port *self, struct shm_writer *writer,
                       const struct rnic_frame *frame)
{
    if (self->attr.icrc || frame->len <= ROCE_ICRC_LEN)
        return shm_write(writer, frame->data, frame->len, 0);
    return shm_write(writer, frame->data, frame->len - ROCE_ICRC_LEN, SHM_NO_ICRC);
}

static int put_frame(struct shm_port *self, struct shm_out *out, const struct rnic_frame *frame)
{
    int put = write_frame(self, &out->writer, frame);

    if (put < 0)
        shm_out_end(&self->peers, out);
    out->touched |= put > 0;
    return put;
}

/* Writes a frame to one process. Returns false if the ring is full, so that the frame must wait. */
static bool send_to(struct shm_port *self, struct shm_out *out, const struct rnic_frame *frame,
                    uint64_t now)
{
    int put = put_frame(self, out, frame);

    if (put == 0 && !out->stuck) {
        if (out->full_since == 0) {
            out->full_since = now | 1;
            self->stats.tx_full++;
        }
        out->stuck = now > out->full_since + STUCK_NS;
        if (!out->stuck && shm_writer_waits(&out->writer)) {
            self->blocked = out;
            return false;
        }
        put = put_frame(self, out, frame);
    }
    if (put > 0) {
        out->full_since = 0;
        out->stuck = false;
    }
    self->stats.tx_frames += put > 0;
    self->stats.tx_local += put > 0;
    self->stats.tx_refused += put == 0;
    self->stats.tx_errors += put < 0;
    return true;
}

/* Writes a frame to this process itself. Returns false if the ring is full. */
static bool send_to_self(struct shm_port *self, struct rnic_frame *frame)
{
    if (write_frame(self, &self->own_writer, frame) == 0)
        return false;
    frame->flags |= RNIC_FRAME_ECHO;
    return true;
}

static bool has_group(const struct shm_port *self, const uint8_t mac[6])
{
    for (unsigned i = 0; i < self->group_cnt; i++)
        if (memcmp(self->group[i], mac, 6) == 0)
            return true;
    return false;
}

/* Writes a multicast frame to all processes on the sender's interface, or a frame to QP 1 to all
 * processes with the destination MAC address. Returns false if the frame must wait for a process
 * whose ring is full. The next call, for the same frame, then omits the processes that already have
 * it. */
static bool send_to_all(struct shm_port *self, struct rnic_frame *frame, bool multicast,
                        uint32_t qpn, uint64_t now)
{
    bool own = multicast ? qpn == ROCE_QP_MULTICAST && has_group(self, frame->data)
                         : memcmp(frame->data, self->iface.mac, 6) == 0;

    /* first accept new peers, so that a process that has just started also receives the frame */
    shm_peers_check(&self->peers);
    for (unsigned i = 0; i < self->peers.out_cnt; i++) {
        struct shm_out *out = self->peers.out[i];
        bool wants = multicast ? strcmp(out->iface, self->iface.name) == 0
                               : memcmp(out->mac, frame->data, 6) == 0;

        if (!wants || !out->first || out->ended || out->cast == self->cast)
            continue;
        if (!send_to(self, out, frame, now))
            return false;
        out->cast = self->cast;
    }
    if (own && !send_to_self(self, frame))
        return false;
    self->cast++;
    return true;
}

static bool is_own(const struct shm_port *self, const uint8_t mac[6], uint32_t block)
{
    if (memcmp(mac, self->iface.mac, 6) != 0)
        return false;
    for (unsigned i = 0; i < self->peers.name_cnt; i++)
        if (self->peers.name[i].block == block)
            return true;
    return false;
}

static unsigned shm_port_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                              uint64_t now)
{
    struct shm_port *self = (struct shm_port *)port;
    unsigned done;

    self->blocked = NULL;
    for (done = 0; done < cnt; done++) {
        struct rnic_frame *frame = &frames[done];
        uint32_t qpn = rnic_frame_qpn(frame);
        uint32_t block = qpn / RNIC_BLOCK_QPNS;
        struct shm_out *out;

        if (frame->len > ROCE_FRAME_MAX) {
            self->stats.tx_too_long++;
            continue;
        }
        if ((frame->data[0] & 1) || qpn == ROCE_QP_GSI) {
            if (!send_to_all(self, frame, frame->data[0] & 1, qpn, now))
                break;
        } else if (is_own(self, frame->data, block)) {
            if (!send_to_self(self, frame))
                break;
        } else {
            out = shm_peers_find(&self->peers, frame->data, block);
            if (!out)
                self->stats.tx_no_peer++;
            else if (!send_to(self, out, frame, now))
                break;
        }
    }
    wake_readers(self);
    return done;
}

/* ---- receiving frames ------------------------------------------------------------------------ */

/* Computes the ICRC of a received frame that has none. */
static void fill_icrc(uint8_t *frame, size_t len)
{
    struct roce_pkt pkt;
    uint32_t icrc;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) == ROCE_OK &&
        roce_pkt_icrc_check(&pkt, &icrc) != ROCE_ICRC_UNVERIFIED)
        roce_le32_put(frame + pkt.icrc_off, icrc);
}

/* Reads at most `max` frames of one ring. Returns their number, or -EPROTO. */
static int read_ring(struct shm_port *self, struct shm_reader *reader, unsigned max,
                     rnic_frame_fn *fn, void *user)
{
    unsigned taken = 0;
    int len = 0;

    while (taken < max) {
        struct rnic_frame frame = {.data = self->frame, .flags = RNIC_FRAME_LOCAL};
        unsigned flags;

        len = shm_read(reader, self->frame, &flags);
        if (len <= 0)
            break;
        frame.len = (uint32_t)len;
        if (flags & SHM_NO_ICRC) {
            if (len > (int)(ROCE_FRAME_MAX - ROCE_ICRC_LEN)) {
                len = -EPROTO; /* the frame would be too long with its ICRC */
                break;
            }
            roce_le32_put(self->frame + len, 0);
            frame.len += ROCE_ICRC_LEN;
            if (self->attr.icrc)
                fill_icrc(self->frame, frame.len);
            else
                frame.flags |= RNIC_FRAME_NO_ICRC;
        }
        self->stats.rx_frames++;
        taken++;
        fn(user, &frame);
    }
    return len < 0 && taken == 0 ? len : (int)taken;
}

/* Reads the rings of all peers one after the other, beginning with another ring at each call. */
static unsigned read_peers(struct shm_port *self, unsigned max, rnic_frame_fn *fn, void *user)
{
    unsigned taken = 0;

    /* `in` stays valid while fn() runs: fn() may send a frame, and sending may add a ring but never
     * frees one */
    for (unsigned i = 0; i < self->peers.in_cnt && taken < max; i++) {
        struct shm_in *in = self->peers.in[(self->next_in + i) % self->peers.in_cnt];
        int n;

        if (!in->greeted)
            continue;
        n = read_ring(self, &in->reader, max - taken, fn, user);
        if (n < 0) {
            self->stats.rx_failed++;
            shm_in_end(&self->peers, in);
            /* the peer has written impossible values to the ring: its remaining frames are lost */
            in->greeted = false;
            continue;
        }
        taken += (unsigned)n;
        if (n > 0 && shm_reader_rings(&in->reader) && !in->ended)
            shm_hello_wake(in->fd);
    }
    self->next_in++;
    return taken;
}

static void warn_of_shortage(struct shm_port *self)
{
    int error = self->peers.shortage;
    struct error text;

    if (error == 0 || self->has_warned || !self->attr.warned)
        return;
    self->has_warned = true;
    error_set(&text, "interface %s: shared memory: another process cannot be connected: %s%s",
              self->iface.name, strerror(-error),
              error == -EMFILE ? ": see the limit of open files (ulimit -n)" : "");
    self->attr.warned(self->attr.user, text.text);
}

static int shm_port_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                         uint64_t now)
{
    struct shm_port *self = (struct shm_port *)port;
    unsigned taken;
    int own;

    if (self->check_next || now < self->checked_at || now - self->checked_at > CHECK_NS) {
        self->check_next = false;
        self->checked_at = now;
        shm_peers_check(&self->peers);
        if (self->blocked && self->blocked->ended)
            self->blocked = NULL;
        shm_peers_sweep(&self->peers);
        warn_of_shortage(self);
    }
    own = read_ring(self, &self->own_reader, max, fn, user);
    taken = own > 0 ? (unsigned)own : 0;
    shm_reader_rings(&self->own_reader);
    return (int)(taken + read_peers(self, max - taken, fn, user));
}

/* ---- waiting for frames ---------------------------------------------------------------------- */

static bool shm_port_arm(struct rnic_port *port, bool on)
{
    struct shm_port *self = (struct shm_port *)port;
    bool may_wait = true;

    if (!on && !self->peers.sleeps)
        return true;
    self->peers.sleeps = self->check_next = on;
    for (unsigned i = 0; i < self->peers.in_cnt; i++)
        if (self->peers.in[i]->greeted)
            may_wait &= shm_reader_sleeps(&self->peers.in[i]->reader, on);
    return may_wait && !(on && shm_reader_ready(&self->own_reader));
}

static uint64_t shm_port_deadline(const struct rnic_port *port)
{
    const struct shm_port *self = (const struct shm_port *)port;

    if (shm_reader_ready(&self->own_reader))
        return 0;
    return self->blocked ? self->blocked->full_since + STUCK_NS + 1 : UINT64_MAX;
}

static unsigned shm_port_fds(const struct rnic_port *port, struct pollfd *fds)
{
    const struct shm_port *self = (const struct shm_port *)port;

    fds[0] = (struct pollfd){.fd = self->peers.epoll_fd, .events = POLLIN};
    return 1;
}

/* ---- counters, configuration, opening and closing -------------------------------------------- */

static void shm_port_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    const struct shm_port *self = (const struct shm_port *)port;

#define X(name, text) out->name += self->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
}

static void shm_port_close(struct rnic_port *port)
{
    struct shm_port *self = (struct shm_port *)port;

    shm_peers_close(&self->peers);
    shm_segment_unmap(&self->own);
    free(self->group);
    free(self);
}

static void shm_port_drop(struct rnic_port *port)
{
    shm_peers_drop(&((struct shm_port *)port)->peers);
}

int rnic_port_shm_filter(struct rnic_port *port, const struct rnic_port_filter *filter)
{
    struct shm_port *self = (struct shm_port *)port;
    uint8_t(*group)[6] = malloc((filter->group_cnt + 1) * sizeof(*group));

    if (!group)
        return -ENOMEM;
    if (filter->group_cnt)
        memcpy(group, filter->group, filter->group_cnt * sizeof(*group));
    free(self->group);
    self->group = group;
    self->group_cnt = filter->group_cnt;
    for (unsigned i = 0; i < filter->block_cnt; i++) {
        int error;

        if (is_own(self, self->iface.mac, filter->block[i]))
            continue;
        error = shm_peers_listen(&self->peers, filter->block[i]);
        if (error)
            return error;
    }
    return 0;
}

void rnic_port_shm_hosts(struct rnic_port *port, const struct rnic_iface *list, size_t cnt)
{
    shm_peers_hosts(&((struct shm_port *)port)->peers, list, cnt);
}

/* Tests whether a ring can be created, and frees it. Returns 0, or the negative errno with which
 * every connection to a peer would fail. */
static int try_ring(uint32_t size)
{
    struct shm_segment segment;
    int fd = shm_segment_new(size, &segment);

    if (fd < 0)
        return fd;
    close(fd);
    shm_segment_unmap(&segment);
    return 0;
}

int rnic_port_shm_open(const struct rnic_iface *iface, const struct rnic_port_shm_attr *attr,
                       struct rnic_port **out, struct error *why)
{
    struct shm_port *self = calloc(1, sizeof(*self));
    uint32_t ring = attr->ring ? attr->ring : RING_DEFAULT;
    struct rnic_iface *list = NULL;
    size_t cnt = 0;
    int error;

    if (!self)
        return -ENOMEM;
    self->port.ops = &shm_port_ops;
    self->iface = *iface;
    self->attr = *attr;
    self->cast = 1;
    error = try_ring(ring);
    if (!error)
        error = shm_segment_private(ring, &self->own);
    if (!error)
        error = shm_peers_init(&self->peers, iface->name, ring);
    if (error) {
        shm_segment_unmap(&self->own);
        free(self);
        error_set(why, "interface %s: shared memory: %s%s", iface->name, strerror(-error),
                  error == -EFBIG ? ": see the limit of file sizes (ulimit -f)" : "");
        return error;
    }
    shm_writer_init(&self->own_writer, &self->own.memory);
    shm_reader_init(&self->own_reader, &self->own.memory);
    error = rnic_iface_list(&list, &cnt, why);
    if (error) {
        shm_port_close(&self->port);
        return error;
    }
    rnic_port_shm_hosts(&self->port, list, cnt);
    free(list);
    *out = &self->port;
    return 0;
}

static const struct rnic_port_ops shm_port_ops = {
    .recv = shm_port_recv,
    .send = shm_port_send,
    .deadline = shm_port_deadline,
    .fds = shm_port_fds,
    .stats = shm_port_stats,
    .close = shm_port_close,
    .drop = shm_port_drop,
    .arm = shm_port_arm,
};

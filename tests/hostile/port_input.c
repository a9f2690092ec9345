/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Passes the frames of a pcap file to the receive path of a live device. cost.py counts the
 * instructions that each frame costs.
 *
 *   port_input live CAPTURE   A port in memory delivers the frames to the device that live_input.c
 *                             opens. The device posts no WRITEs.
 *   port_input shm CAPTURE    A port on shared memory has a hostile peer: a process of the same
 *                             user. A frame of the capture shorter than 14 bytes is a command for
 * the peer (enum act and its data); the peer writes longer frames to its ring.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "port/frameio/port_pcap.h"
#include "port/live/live.h"
#include "port/netns.h"
#include "port/shared/qpn_alloc.h"
#include "port/shm/hello.h"
#include "port/shm/port_shm.h"
#include "port/shm/segment.h"
#include "wire/pkt.h"

#define REGION   4096u
#define BATCH    64u
#define OWN      0x200u /* QPN block of the port */
#define PEER     0x777u /* QPN block of its peer */
#define STEP     1000u  /* time between two frames, ns */
#define SHORTEST 14u

/* Actions of the hostile peer on the shared-memory wire. */
enum act {
    ACT_WORD = 'w',  /* the peer writes the command's 8 bytes as the header word of its next
                      * record */
    ACT_LEAVE = 'l', /* the peer connects once more, and closes this connection without a hello */
    ACT_HELLO = 'h', /* the peer closes its connection, and connects with a new ring */
    ACT_READ = 'r',  /* the port sends a frame, which the peer never reads */
    ACT_HEAD = 'p',  /* the peer writes the command's 8 bytes as its read position in the ring of
                      * the port; then the port sends a frame */
};

struct capture {
    FILE *in;
    uint8_t frame[65536];
    uint32_t len;
    unsigned cnt;
};

static void need(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "port_input: %s failed\n", what);
        exit(3);
    }
}

static bool next_frame(struct capture *capture)
{
    uint32_t record[4];

    if (fread(record, sizeof(record), 1, capture->in) != 1)
        return false;
    capture->len = record[2];
    need(capture->len <= sizeof(capture->frame) &&
             fread(capture->frame, 1, capture->len, capture->in) == capture->len,
         "reading a frame");
    capture->cnt++;
    return true;
}

static void open_capture(struct capture *capture, const char *path)
{
    uint32_t head[6];

    *capture = (struct capture){.in = fopen(path, "rb")};
    need(capture->in && fread(head, sizeof(head), 1, capture->in) == 1, "reading the capture");
}

/* ---- live: a port in memory ------------------------------------------------------------------ */

struct memory_port {
    struct rnic_port port;
    struct capture *capture; /* NULL: no frame arrives yet */
    bool ended;
    unsigned sent;
};

static int memory_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                       uint64_t now)
{
    struct memory_port *self = (struct memory_port *)port;
    unsigned cnt = 0;

    (void)now;
    while (self->capture && cnt < max && cnt < BATCH) {
        struct rnic_frame frame = {.data = self->capture->frame};

        self->ended = !next_frame(self->capture);
        if (self->ended)
            break;
        frame.len = self->capture->len;
        fn(user, &frame);
        cnt++;
    }
    return (int)cnt;
}

static unsigned memory_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                            uint64_t now)
{
    (void)frames;
    (void)now;
    ((struct memory_port *)port)->sent += cnt;
    return cnt;
}

static uint64_t memory_deadline(const struct rnic_port *port)
{
    (void)port;
    return UINT64_MAX;
}

static unsigned memory_fds(const struct rnic_port *port, struct pollfd *fds)
{
    (void)port;
    (void)fds;
    return 0;
}

static void memory_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    (void)port;
    (void)out;
}

static void memory_close(struct rnic_port *port)
{
    (void)port;
}

static const struct rnic_port_ops memory_ops = {.recv = memory_recv,
                                                .send = memory_send,
                                                .deadline = memory_deadline,
                                                .fds = memory_fds,
                                                .stats = memory_stats,
                                                .close = memory_close,
                                                .drop = memory_close};

/* Creates an RC QP 0x200 that is connected to QP 0x100 of 192.0.2.1, and a region with R_Key 7. */
static void make_qp(struct rnic *rnic)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};
    static uint8_t region[REGION];
    struct rnic_mr_attr mr = {
        .addr = region, .len = REGION, .iova = 0x1000, .access = 0xF, .key = 7};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = 0x200,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic_qp_attr attr = {.access = 0xF,
                                .pkey = 0xFFFF,
                                .path_mtu = 1024,
                                .dest_qpn = 0x100,
                                .max_dest_rd_atomic = 16,
                                .max_rd_atomic = 16,
                                .timeout = 14,
                                .retry_cnt = 7,
                                .rnr_retry = 7,
                                .av.dgid = {[10] = 0xFF, 0xFF, 192, 0, 2, 1}};
    struct rnic_mr *region_mr;
    struct rnic_qp *qp;
    struct rnic_pd *pd;
    struct rnic_cq *cq;

    need(rnic_pd_new(rnic, &pd) == RNIC_OK, "rnic_pd_new");
    need(rnic_cq_new(rnic, 64, &cq) == RNIC_OK, "rnic_cq_new");
    need(rnic_mr_reg(pd, &mr, &region_mr) == RNIC_OK, "rnic_mr_reg");
    init.send_cq = init.recv_cq = cq;
    need(rnic_qp_new(pd, &init, &qp) == RNIC_OK, "rnic_qp_new");
    for (unsigned i = 0; i < 3; i++) {
        attr.state = states[i];
        need(rnic_qp_modify(qp, &attr, 0) == RNIC_OK, "rnic_qp_modify");
    }
}

static void run_live(struct capture *capture)
{
    const struct rnic_iface iface = {
        .mac = {2, 0, 0, 0, 0, 2},
        .path_mtu = 1024,
        .gid = {{.gid = {[10] = 0xFF, 0xFF, 192, 0, 2, 2}, .type = RNIC_GID_ROCE_V2},
                {.gid = {0xFE, 0x80, [15] = 2}, .type = RNIC_GID_ROCE_V2}},
        .gid_cnt = 2};
    struct memory_port port = {.port.ops = &memory_ops};
    struct rnic_live_attr attr = {.seed = 1};
    struct rnic_live *live;
    struct error why;

    need(rnic_live_open_port(&attr, &iface, &port.port, &live, &why) == 0, "rnic_live_open_port");
    make_qp(rnic_live_lock(live));
    port.capture = capture;
    rnic_live_unlock(live);
    while (!port.ended)
        rnic_live_poll(live);
    rnic_live_close(live);
    printf("%u frames, %u answers\n", capture->cnt, port.sent);
}

/* ---- shm: a hostile peer --------------------------------------------------------------------- */

struct peer {
    struct rnic_port *port;
    int listener, fd;           /* socket on which the peer accepts the port; connection to it */
    struct shm_segment segment; /* ring of the peer's frames */
    struct shm_writer writer;
    int back;                /* connection from the port; -1: none */
    struct shm_segment from; /* ring of the port's frames */
    uint64_t now;
    unsigned got;
};

static void count_frame(void *user, const struct rnic_frame *frame)
{
    (void)frame;
    ((struct peer *)user)->got++;
}

static void receive(struct peer *peer)
{
    peer->now += STEP;
    rnic_port_recv(peer->port, BATCH, count_frame, peer, peer->now);
}

/* Maps the ring that the port has offered, if there is a new one. */
static void take_back(struct peer *peer)
{
    struct shm_hello hello;
    int fd = shm_hello_accept(peer->listener), file;

    if (fd < 0)
        return;
    if (peer->back >= 0) {
        close(peer->back);
        shm_segment_unmap(&peer->from);
    }
    peer->back = fd;
    need(shm_hello_recv(fd, &hello, &file) == 0 && shm_segment_map(file, &peer->from) == 0,
         "mapping the port's ring");
    close(file);
}

static void leave(struct peer *peer)
{
    close(peer->fd);
    shm_segment_unmap(&peer->segment);
}

static void join(struct peer *peer)
{
    struct shm_hello hello = {.block = PEER, .iface = "lo"};
    int file = shm_segment_new(SHM_RING_MIN, &peer->segment);

    peer->fd = shm_hello_connect("lo", OWN);
    need(file >= 0 && peer->fd >= 0 && shm_hello_send(peer->fd, &hello, file) == 0, "joining");
    close(file);
    shm_writer_init(&peer->writer, &peer->segment.memory);
    peer->now += 1000000; /* the port reads its sockets */
    receive(peer);
    take_back(peer);
}

/* The port sends a frame to the peer. */
static void send_to_peer(struct peer *peer)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_frame frame = {.data = buf};
    struct roce_pkt pkt;

    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK);
    pkt.bth.dest_qp = PEER * RNIC_BLOCK_QPNS;
    frame.len = (uint32_t)roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    peer->now += STEP;
    rnic_port_send(peer->port, &frame, 1, peer->now);
    take_back(peer);
}

static void act(struct peer *peer, const struct capture *capture)
{
    const uint8_t *data = capture->frame + 1;
    uint64_t head;
    int fd;

    switch ((enum act)capture->frame[0]) {
    case ACT_WORD:
        memcpy(peer->segment.memory.data + (peer->writer.tail & (SHM_RING_MIN - 1)), data, 8);
        receive(peer);
        leave(peer);
        join(peer);
        break;
    case ACT_LEAVE:
        fd = shm_hello_connect("lo", OWN);
        need(fd >= 0, "connecting");
        peer->now += 1000000;
        receive(peer);
        close(fd);
        peer->now += 1000000;
        receive(peer);
        break;
    case ACT_HELLO:
        leave(peer);
        join(peer);
        break;
    case ACT_READ: send_to_peer(peer); break;
    case ACT_HEAD:
        memcpy(&head, data, 8);
        if (peer->back >= 0)
            atomic_store(&peer->from.memory.control->head, head);
        send_to_peer(peer);
        break;
    }
}

static void run_shm(struct capture *capture)
{
    static const uint32_t own = OWN;
    const struct rnic_port_filter filter = {.block = &own, .block_cnt = 1};
    const struct rnic_port_shm_attr attr = {.ring = 65536, .icrc = true};
    struct peer peer = {.back = -1, .now = 1000000000};
    struct rnic_iface iface;
    struct error why;

    need(rnic_iface_get("lo", &iface, &why) == 0 &&
             rnic_port_shm_open(&iface, &attr, &peer.port, &why) == 0 &&
             rnic_port_shm_filter(peer.port, &filter) == 0,
         "opening the port");
    peer.listener = shm_hello_listen("lo", PEER, true);
    need(peer.listener >= 0, "listening");
    join(&peer);
    while (next_frame(capture)) {
        if (capture->len < SHORTEST) {
            act(&peer, capture);
            continue;
        }
        need(shm_write(&peer.writer, capture->frame, capture->len, 0) == 1, "writing a frame");
        receive(&peer);
    }
    leave(&peer);
    rnic_port_close(peer.port);
    printf("%u frames and actions sent, %u frames received\n", capture->cnt, peer.got);
}

int main(int argc, char **argv)
{
    struct capture capture;

    need(argc == 3, "port_input live|shm CAPTURE");
    open_capture(&capture, argv[2]);
    if (!netns_enter())
        return NETNS_SKIP;
    if (strcmp(argv[1], "live") == 0)
        run_live(&capture);
    else
        run_shm(&capture);
    fclose(capture.in);
    return 0;
}

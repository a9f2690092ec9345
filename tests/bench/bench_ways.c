/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "bench_ways.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/live/live.h"
#include "port/net/udp_reserve.h"
#include "wire/crc32.h"

#define BATCH   64u
#define WINDOW  512u
#define HEADERS 70u /* total length of the headers Ethernet, IPv4, UDP, BTH and RETH, bytes */
/* An ACK is shorter than a request by this number of bytes: it has an AETH instead of a RETH. */
#define ACK_SHORTER 12u
#define SLOT        8192u
#define SLOTS       256u
#define FRAME_MAX   4352u

const char *const way_names[WAY_CNT] = {
    "pcap_inject",          "sendmmsg of 64",           "the same, copies and CRCs",
    "PACKET_TX_RING of 64", "AF_XDP, copying, at best", "shared memory, copy and CRC"};

static void need(bool fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "bench_ways: %s: %s\n", what, strerror(errno));
        _exit(1);
    }
}

static void meet(int fd)
{
    char byte = 'x';

    need(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1, "the other side");
}

/* Sends the MAC address of `iface` to the other side and sets `peer` to the other side's MAC
 * address. */
static void swap_macs(const char *iface, int fd, uint8_t peer[6])
{
    struct rnic_iface own;
    struct error why;

    need(rnic_iface_get(iface, &own, &why) == 0, "the interface");
    need(write(fd, own.mac, 6) == 6 && read(fd, peer, 6) == 6, "the other side");
}

/* Builds a frame for the other side. Byte 46, the last byte of the destination QPN, shows which
 * side sent it. Returns the length of the frame. */
static size_t make(uint8_t *frame, uint32_t size, bool roce, bool client)
{
    size_t len = size + HEADERS + 4;

    memset(frame + 6, 0, len - 6);
    frame[12] = roce ? 0x08 : 0x88;
    frame[13] = roce ? 0x00 : 0xb5; /* EtherType: IPv4, or 0x88b5 for local experiments */
    frame[14] = 0x45;
    frame[16] = (uint8_t)((len - 14) >> 8);
    frame[17] = (uint8_t)(len - 14);
    frame[22] = 64;
    frame[23] = 17;
    memcpy(frame + 26, client ? "\xcb\0\x71\1\xcb\0\x71\2" : "\xcb\0\x71\2\xcb\0\x71\1", 8);
    frame[34] = 0xc0;
    frame[36] = 4791 >> 8;
    frame[37] = 4791 & 0xff;
    frame[38] = (uint8_t)((len - 34) >> 8);
    frame[39] = (uint8_t)(len - 34);
    for (unsigned i = 14; i < 34; i += 2) { /* IP header checksum */
        unsigned sum = frame[24] * 256u + frame[25] + frame[i] * 256u + frame[i + 1];

        if (i == 24)
            continue;
        sum = (sum & 0xffff) + (sum >> 16);
        frame[24] = (uint8_t)(sum >> 8);
        frame[25] = (uint8_t)sum;
    }
    frame[24] ^= 0xff;
    frame[25] ^= 0xff;
    frame[46] = client;
    return len;
}

static pcap_t *open_handle(const char *iface, bool roce, bool client)
{
    char text[PCAP_ERRBUF_SIZE];
    char filter[64];
    struct bpf_program program;
    pcap_t *pcap = pcap_create(iface, text);

    need(pcap != NULL, "pcap_create");
    need(pcap_set_snaplen(pcap, FRAME_MAX) == 0 && pcap_set_immediate_mode(pcap, 1) == 0 &&
             pcap_set_timeout(pcap, 1) == 0 && pcap_set_buffer_size(pcap, 16 << 20) == 0,
         "a handle's options");
    need(pcap_activate(pcap) >= 0, "pcap_activate");
    need(pcap_setdirection(pcap, PCAP_D_IN) == 0, "pcap_setdirection");
    snprintf(filter, sizeof(filter), "ether proto 0x%s and ether[46] = %d", roce ? "0800" : "88b5",
             !client);
    need(pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) == 0 &&
             pcap_setfilter(pcap, &program) == 0,
         "the filter");
    pcap_freecode(&program);
    need(pcap_setnonblock(pcap, 1, text) == 0, "pcap_setnonblock");
    return pcap;
}

static void take(pcap_t *pcap)
{
    struct pcap_pkthdr *head;
    const u_char *data;

    while (pcap_next_ex(pcap, &head, &data) != 1)
        ;
}

static volatile uint32_t sink; /* result that prevents the compiler from removing a CRC */

/* Waits for a frame as take() does, then computes the CRC and copies the payload, as a device
 * does. */
static void take_payload(pcap_t *pcap, uint32_t size)
{
    static uint8_t memory[FRAME_MAX];
    struct pcap_pkthdr *head;
    const u_char *data;

    while (pcap_next_ex(pcap, &head, &data) != 1)
        ;
    sink += roce_crc32(0, data + 14, head->caplen - 14);
    memcpy(memory, data + HEADERS, size);
}

/* ---- ways to send ---------------------------------------------------------------------------- */

struct sender {
    enum way way;
    pcap_t *pcap;
    const uint8_t *frame;
    size_t len;
    int ring_fd;
    uint8_t *ring;
    unsigned slot;
};

static void ring_open(struct sender *sender, const char *iface)
{
    const struct tpacket_req request = {.tp_block_size = SLOT * SLOTS / 8,
                                        .tp_block_nr = 8,
                                        .tp_frame_size = SLOT,
                                        .tp_frame_nr = SLOTS};
    const struct sockaddr_ll to = {.sll_family = AF_PACKET,
                                   .sll_ifindex = (int)if_nametoindex(iface)};
    const int version = TPACKET_V2;

    sender->ring_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    need(sender->ring_fd >= 0, "packet socket");
    need(setsockopt(sender->ring_fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) == 0 &&
             setsockopt(sender->ring_fd, SOL_PACKET, PACKET_TX_RING, &request, sizeof(request)) ==
                 0 &&
             bind(sender->ring_fd, (const struct sockaddr *)&to, sizeof(to)) == 0,
         "transmit ring");
    sender->ring = mmap(NULL, SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, sender->ring_fd, 0);
    need(sender->ring != MAP_FAILED, "mmap");
}

/* Builds a batch of frames: copies the payload from the program's memory into each frame and
 * computes its CRC. */
static void gather(const struct sender *sender, struct iovec iov[BATCH])
{
    static uint8_t frames[BATCH][FRAME_MAX];
    static uint8_t memory[FRAME_MAX];
    size_t size = sender->len - HEADERS - 4;

    for (unsigned i = 0; i < BATCH; i++) {
        uint32_t crc = roce_crc32(0, sender->frame + 14, HEADERS - 14);

        memcpy(frames[i], sender->frame, HEADERS);
        crc = roce_crc32_copy(crc, frames[i] + HEADERS, memory, size);
        memcpy(frames[i] + HEADERS + size, &crc, 4);
        iov[i] = (struct iovec){.iov_base = frames[i], .iov_len = sender->len};
    }
}

static void send_batch(struct sender *sender)
{
    struct mmsghdr msg[BATCH];
    struct iovec payload[BATCH];
    union {
        const void *in;
        void *out;
    } bytes = {.in = sender->frame};
    struct iovec iov = {.iov_base = bytes.out, .iov_len = sender->len};

    switch (sender->way) {
    case WAY_MMSG:
    case WAY_BARE:
    case WAY_LEAST:
        if (sender->way == WAY_LEAST)
            gather(sender, payload);
        memset(msg, 0, sizeof(msg));
        for (unsigned i = 0; i < BATCH; i++) {
            msg[i].msg_hdr.msg_iov = sender->way == WAY_LEAST ? &payload[i] : &iov;
            msg[i].msg_hdr.msg_iovlen = 1;
        }
        for (unsigned done = 0; done < BATCH;) {
            int cnt = sendmmsg(pcap_fileno(sender->pcap), msg + done, BATCH - done, 0);

            if (cnt > 0)
                done += (unsigned)cnt;
        }
        break;
    case WAY_RING:
        for (unsigned i = 0; i < BATCH; i++) {
            struct tpacket2_hdr *head = (void *)(sender->ring + SLOT * sender->slot);
            volatile uint32_t *status = &head->tp_status;

            while (*status != TP_STATUS_AVAILABLE)
                send(sender->ring_fd, NULL, 0, 0);
            memcpy((uint8_t *)head + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll), sender->frame,
                   sender->len);
            head->tp_len = (uint32_t)sender->len;
            atomic_thread_fence(memory_order_release);
            *status = TP_STATUS_SEND_REQUEST;
            sender->slot = (sender->slot + 1) % SLOTS;
        }
        need(send(sender->ring_fd, NULL, 0, 0) >= 0, "the transmit ring");
        break;
    default:
        for (unsigned i = 0; i < BATCH; i++)
            while (pcap_inject(sender->pcap, sender->frame, sender->len) < 0)
                ;
    }
}

static void run_frames(enum way way, const char *iface, bool client, uint32_t size, unsigned frames,
                       bool roce, int fd, uint64_t *start)
{
    uint8_t frame[FRAME_MAX];
    struct sender sender = {.way = way, .pcap = open_handle(iface, roce, client), .frame = frame};
    struct rnic_udp_reserve guard;
    struct error why;

    need(rnic_udp_reserve_open(&guard, &why) == 0, why.text);
    swap_macs(iface, fd, frame);
    sender.len = make(frame, client ? size : 0, roce, client);
    if (way == WAY_RING && client)
        ring_open(&sender, iface);
    meet(fd);
    *start = rnic_live_now();
    for (unsigned i = 0; i < frames; i += BATCH) {
        if (client) {
            if (i >= WINDOW)
                take(sender.pcap);
            send_batch(&sender);
        } else {
            for (unsigned j = 0; j < BATCH; j++)
                if (way == WAY_LEAST)
                    take_payload(sender.pcap, size);
                else
                    take(sender.pcap);
            need(pcap_inject(sender.pcap, frame, sender.len) > 0, "pcap_inject");
        }
    }
    meet(fd);
    if (sender.ring) {
        munmap(sender.ring, SLOT * SLOTS);
        close(sender.ring_fd);
    }
    pcap_close(sender.pcap);
    rnic_udp_reserve_close(&guard);
}

/* WAY_BARE: sends frames that no process receives. */
static void run_bare(const char *iface, bool client, uint32_t size, unsigned frames, int fd,
                     uint64_t *start)
{
    uint8_t frame[FRAME_MAX];
    struct sender sender = {.way = WAY_BARE, .frame = frame};

    swap_macs(iface, fd, frame);
    if (client)
        sender.pcap = open_handle(iface, false, true);
    sender.len = make(frame, size, false, client);
    meet(fd);
    *start = rnic_live_now();
    for (unsigned i = 0; client && i < frames; i += BATCH)
        send_batch(&sender);
    meet(fd);
    if (client)
        pcap_close(sender.pcap);
}

double way_trips(const char *iface, bool client, int fd, unsigned trips)
{
    uint8_t write[FRAME_MAX];
    uint8_t ack[FRAME_MAX];
    pcap_t *pcap = open_handle(iface, true, client);
    struct pcap_pkthdr *head;
    const u_char *data;
    struct rnic_udp_reserve guard;
    struct error why;
    uint64_t start;
    size_t write_len, ack_len;
    double seconds;

    need(rnic_udp_reserve_open(&guard, &why) == 0, why.text);
    swap_macs(iface, fd, write);
    memcpy(ack, write, 6);
    write_len = make(write, 8, true, client);
    ack_len = make(ack, 0, true, client) - ACK_SHORTER;
    meet(fd);
    start = rnic_live_now();
    for (unsigned i = 0; i < trips; i++)
        for (unsigned turn = 0; turn < 2; turn++)
            if ((turn == 0) == client) {
                need(pcap_inject(pcap, write, write_len) > 0, "pcap_inject");
                need(pcap_inject(pcap, ack, ack_len) > 0, "pcap_inject");
            } else {
                while (pcap_next_ex(pcap, &head, &data) != 1 || head->len != write_len)
                    ;
            }
    seconds = (double)(rnic_live_now() - start) / 1e9;
    meet(fd);
    pcap_close(pcap);
    rnic_udp_reserve_close(&guard);
    return seconds / trips;
}

/* ---- shared memory --------------------------------------------------------------------------- */

struct shared {
    _Alignas(64) atomic_uint sent;
    _Alignas(64) atomic_uint taken;
    _Alignas(64) struct {
        uint32_t crc;
        uint8_t data[4160];
    } slot[512];
};
_Static_assert(sizeof(struct shared) <= WAY_SHARED_LEN, "it fits");

static void run_shared(struct shared *shared, bool client, uint32_t size, unsigned frames, int fd,
                       uint64_t *start)
{
    static uint8_t memory[4096];

    if (client) {
        atomic_store(&shared->sent, 0);
        atomic_store(&shared->taken, 0);
    }
    meet(fd);
    *start = rnic_live_now();
    for (unsigned i = 0; i < frames; i++) {
        unsigned at = i % 512;

        if (client) {
            while (i - atomic_load_explicit(&shared->taken, memory_order_acquire) >= 512)
                ;
            memcpy(shared->slot[at].data, memory, size);
            shared->slot[at].crc = roce_crc32(0, shared->slot[at].data, size);
            atomic_store_explicit(&shared->sent, i + 1, memory_order_release);
        } else {
            while (atomic_load_explicit(&shared->sent, memory_order_acquire) <= i)
                ;
            need(roce_crc32(0, shared->slot[at].data, size) == shared->slot[at].crc, "CRC");
            memcpy(memory, shared->slot[at].data, size);
            atomic_store_explicit(&shared->taken, i + 1, memory_order_release);
        }
    }
    meet(fd);
}

double way_flood(enum way way, const char *iface, bool client, int fd, uint32_t size,
                 unsigned frames, bool roce, void *shared)
{
    uint64_t start = 0;

    if (way == WAY_SHARED)
        run_shared(shared, client, size, frames, fd, &start);
    else if (way == WAY_BARE)
        run_bare(iface, client, size, frames, fd, &start);
    else
        run_frames(way, iface, client, size, frames, roce, fd, &start);
    return frames / ((double)(rnic_live_now() - start) / 1e9);
}

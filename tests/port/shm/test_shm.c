/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests ports on shared memory: which port receives a frame, and what happens if a peer is slow,
 * ends, or is hostile. There are three ports on the loopback and one on a veth interface, all in
 * one process.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "port/frameio/port_pcap.h"
#include "port/netns.h"
#include "port/shared/registry.h"
#include "port/shm/hello.h"
#include "port/shm/port_shm.h"
#include "port/shm/segment.h"
#include "support/suite.h"
#include "wire/pkt.h"

enum { A, B, C, FAR, PORTS };

static const uint8_t group[6] = {0x33, 0x33, 1, 2, 3, 4};
static const uint32_t blocks[PORTS] = {0x100, 0x200, 0x300, 0x400};
static const uint8_t far_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t lo_mac[6];

static struct rnic_port *ports[PORTS];
static char warning[256];
static unsigned warnings;
static uint64_t now = 1000000000;

static void set_filter(unsigned i, const uint32_t *block, unsigned cnt, bool joins)
{
    const struct rnic_port_filter filter = {
        .block = block, .block_cnt = cnt, .group = &group, .group_cnt = joins};

    EXPECT_EQ(rnic_port_shm_filter(ports[i], &filter), 0);
}

static void keep_warning(void *user, const char *text)
{
    (void)user;
    snprintf(warning, sizeof(warning), "%s", text);
    warnings++;
}

static void open_port(unsigned i, bool icrc)
{
    const struct rnic_port_shm_attr attr = {.ring = 65536, .icrc = icrc, .warned = keep_warning};
    struct rnic_iface iface;
    struct error why;

    CU_ASSERT_FATAL(rnic_iface_get(i == FAR ? "d0" : "lo", &iface, &why) == 0);
    CU_ASSERT_FATAL(rnic_port_shm_open(&iface, &attr, &ports[i], &why) == 0);
    set_filter(i, &blocks[i], 1, false);
}

static void open_all(bool icrc)
{
    CU_ASSERT_FATAL(
        netns_sh("ip link add d0 address 02:00:00:00:00:01 mtu 4500 type veth peer name d1 && "
                 "ip link set d0 up && ip link set d1 up"));
    for (unsigned i = 0; i < PORTS; i++)
        open_port(i, icrc);
}

static void close_all(void)
{
    for (unsigned i = 0; i < PORTS; i++) {
        rnic_port_close(ports[i]);
        ports[i] = NULL;
    }
    CU_ASSERT(netns_sh("ip link del d0"));
}

struct seen {
    unsigned cnt;
    unsigned no_icrc;
    unsigned bad_icrc;
    uint32_t last_psn;
};

static void see(void *user, const struct rnic_frame *frame)
{
    struct seen *seen = user;
    struct roce_pkt pkt;

    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) == 0);
    CU_ASSERT(frame->flags & RNIC_FRAME_LOCAL);
    seen->cnt++;
    seen->last_psn = pkt.bth.psn;
    if (frame->flags & RNIC_FRAME_NO_ICRC)
        seen->no_icrc++;
    else
        seen->bad_icrc += roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD;
}

/* Builds an ACK. Returns its length. */
static uint32_t build(uint8_t *buf, const uint8_t dmac[6], uint32_t qpn, uint32_t psn,
                      unsigned flags)
{
    struct roce_pkt pkt;

    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK);
    memcpy(pkt.eth.dst, dmac, 6);
    pkt.bth.dest_qp = qpn;
    pkt.bth.psn = psn;
    return (uint32_t)roce_pkt_build(&pkt, flags, buf, ROCE_FRAME_MAX);
}

/* Sends a frame from port A. Returns whether the port accepted it, and its flags in *flags. */
static unsigned send_one(const uint8_t dmac[6], uint32_t qpn, uint32_t psn, unsigned *flags)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_frame frame = {.data = buf, .len = build(buf, dmac, qpn, psn, 0)};
    unsigned done = rnic_port_send(ports[A], &frame, 1, now);

    *flags = frame.flags;
    return done;
}

static unsigned receive(unsigned i, struct seen *seen)
{
    *seen = (struct seen){0};
    for (unsigned turn = 0; turn < 4; turn++) {
        now += 1000000; /* the port checks its sockets at this time */
        CU_ASSERT(rnic_port_recv(ports[i], 1000, see, seen, now) >= 0);
    }
    return seen->cnt;
}

/* Sends a frame from A. The decimal digits of `wanted` are the numbers of copies that A, B, C and
 * FAR receive. */
static void sent(const uint8_t dmac[6], uint32_t qpn, unsigned wanted)
{
    unsigned got = 0, flags;
    struct seen seen;

    EXPECT_EQ(send_one(dmac, qpn, 7, &flags), 1);
    EXPECT_EQ(flags, wanted >= 1000 ? RNIC_FRAME_ECHO : 0);
    for (unsigned i = 0; i < PORTS; i++)
        got = got * 10 + receive(i, &seen);
    EXPECT_EQ(got, wanted);
}

static void frame_reaches_the_process_of_its_qpn(void)
{
    struct rnic_port_stats stats;

    open_all(true);
    sent(lo_mac, blocks[A] << 12 | 5, 1000);
    sent(lo_mac, blocks[B] << 12 | 5, 100);
    sent(lo_mac, blocks[C] << 12, 10);
    sent(far_mac, blocks[FAR] << 12 | 4095, 1);
    sent(lo_mac, blocks[FAR] << 12, 0); /* the QPN block belongs to another interface */
    sent(far_mac, blocks[B] << 12, 0);
    sent(lo_mac, 0x999000, 0); /* no process has this QPN block */
    rnic_port_stats(ports[A], &stats);
    EXPECT_EQ(stats.tx_no_peer, 3);
    sent(lo_mac, ROCE_QP_GSI, 1110);
    sent(far_mac, ROCE_QP_GSI, 1);
    sent(group, ROCE_QP_MULTICAST, 110);
    set_filter(A, &blocks[A], 1, true);
    sent(group, ROCE_QP_MULTICAST, 1110);
    close_all();
}

static void further_block_of_a_process_is_found(void)
{
    const uint32_t more[] = {blocks[B], 0x201, 0x202};

    open_all(true);
    sent(lo_mac, 0x201 << 12, 0);
    set_filter(B, more, 3, false);
    sent(lo_mac, 0x201 << 12, 100);
    sent(lo_mac, 0x202 << 12, 100);
    sent(lo_mac, ROCE_QP_GSI, 1110); /* B receives one copy, although it has three rings */
    close_all();
}

static void peer_that_starts_later_is_reached(void)
{
    open_all(true);
    rnic_port_close(ports[B]);
    ports[B] = NULL;
    open_port(B, true);
    sent(lo_mac, ROCE_QP_GSI, 1110);
    sent(lo_mac, blocks[B] << 12, 100);
    close_all();
}

/* Counts the mappings of rings in this process, and the mappings in which all pages are mapped. */
static void count_rings(unsigned *all, unsigned *mapped)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[512];
    bool is_ring = false;
    unsigned size = 0, resident;

    *all = *mapped = 0;
    CU_ASSERT_FATAL(maps != NULL);
    while (fgets(line, sizeof(line), maps)) {
        if (strstr(line, " /memfd:rnic-ring")) {
            is_ring = true;
            (*all)++;
        }
        (void)sscanf(line, "Size: %u", &size);
        if (!is_ring || sscanf(line, "Rss: %u", &resident) != 1)
            continue;
        *mapped += resident == size;
        is_ring = false;
    }
    fclose(maps);
}

/* Frames between two processes must cause no page faults. This includes the first frames. */
static void pages_of_the_first_rings_are_mapped_at_once(void)
{
    unsigned all, mapped;
    struct seen seen;

    open_all(true);
    for (unsigned i = 0; i < PORTS; i++)
        EXPECT_EQ(receive(i, &seen), 0); /* accepts the peers */
    count_rings(&all, &mapped);
    EXPECT_EQ(all, 2 * PORTS * (PORTS - 1));
    EXPECT_EQ(mapped, all);
    close_all();
}

/* Fills the ring from port A to port `i`. Returns the number of frames that fitted. */
static unsigned fill_ring(unsigned i)
{
    unsigned cnt = 0, flags;

    while (send_one(lo_mac, blocks[i] << 12, cnt, &flags) == 1 && cnt < 100000)
        cnt++;
    return cnt;
}

static void full_ring_delays_and_loses_nothing(void)
{
    struct seen seen;
    unsigned cnt, flags;

    open_all(true);
    cnt = fill_ring(B);
    CU_ASSERT(cnt > 300 && cnt < 1000);
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, cnt, &flags), 0);
    CU_ASSERT(rnic_port_deadline(ports[A]) < now + 1000000000);
    EXPECT_EQ(receive(B, &seen), cnt);
    EXPECT_EQ(seen.last_psn, cnt - 1);
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, cnt, &flags), 1);
    EXPECT_EQ(rnic_port_deadline(ports[A]), UINT64_MAX);
    EXPECT_EQ(receive(B, &seen), 1);
    close_all();
}

static void process_that_does_not_read_blocks_the_others_briefly(void)
{
    struct rnic_port_stats stats;
    struct seen seen;
    unsigned flags;

    open_all(true);
    fill_ring(B);
    now = rnic_port_deadline(ports[A]);
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, 1, &flags), 1); /* the port drops the frame */
    EXPECT_EQ(send_one(lo_mac, blocks[C] << 12, 1, &flags), 1);
    EXPECT_EQ(receive(C, &seen), 1);
    rnic_port_stats(ports[A], &stats);
    EXPECT_EQ(stats.tx_refused, 1);
    receive(B, &seen);
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, 99, &flags), 1);
    EXPECT_EQ(receive(B, &seen), 1);
    EXPECT_EQ(seen.last_psn, 99);
    close_all();
}

/* The ring to one process is full. A multicast frame must wait, and then reach each process once.
 */
static void multicast_waits_for_the_slowest(void)
{
    struct seen seen;
    unsigned flags, cnt;

    open_all(true);
    cnt = fill_ring(B);
    EXPECT_EQ(send_one(group, ROCE_QP_MULTICAST, 77, &flags), 0);
    EXPECT_EQ(receive(B, &seen), cnt);
    EXPECT_EQ(send_one(group, ROCE_QP_MULTICAST, 77, &flags), 1);
    EXPECT_EQ(receive(B, &seen), 1);
    EXPECT_EQ(receive(C, &seen), 1);
    close_all();
}

static void frames_of_an_ended_process_are_still_read(void)
{
    struct seen seen;
    unsigned flags;

    open_all(true);
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, 1, &flags), 1);
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, 2, &flags), 1);
    rnic_port_close(ports[A]);
    ports[A] = NULL;
    EXPECT_EQ(receive(B, &seen), 2);
    EXPECT_EQ(seen.last_psn, 2);
    open_port(A, true);
    sent(lo_mac, blocks[B] << 12, 100);
    close_all();
}

static void received_frame_gets_an_icrc_only_if_wanted(void)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_frame frame = {.data = buf};
    struct seen seen;

    open_all(false);
    rnic_port_close(ports[B]);
    open_port(B, true);
    for (unsigned i = B; i <= C; i++) {
        frame.len = build(buf, lo_mac, blocks[i] << 12, 1, ROCE_BUILD_KEEP_ICRC);
        EXPECT_EQ(rnic_port_send(ports[A], &frame, 1, now), 1);
        EXPECT_EQ(receive(i, &seen), 1);
        EXPECT_EQ(seen.no_icrc, i == C);
        EXPECT_EQ(seen.bad_icrc, 0);
    }
    close_all();
}

/* Waits for the descriptor of port `i`, without a time limit of the port itself. */
static bool is_readable(unsigned i, int timeout)
{
    struct pollfd fds[RNIC_PORT_FDS];

    EXPECT_EQ(rnic_port_fds(ports[i], fds), 1);
    return poll(fds, 1, timeout) == 1;
}

/* A child of fork() has copies of B's descriptors, for example until its first call of verbs. When
 * A ends, B must still remove its sockets to A from its epoll set; otherwise it uses the freed ring
 * of A. */
static void ended_process_is_forgotten_if_a_child_has_copies(void)
{
    struct seen seen;
    int ready[2];
    pid_t child;
    char byte;

    CU_ASSERT_FATAL(pipe(ready) == 0);
    open_all(true);
    EXPECT_EQ(receive(A, &seen) + receive(B, &seen), 0);
    child = fork();
    if (child == 0) {
        ports[A]->ops->drop(ports[A]);
        close(ready[1]);
        pause();
        _exit(0);
    }
    CU_ASSERT_FATAL(child > 0);
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &byte, 1), 0); /* the child has dropped A */
    close(ready[0]);
    rnic_port_close(ports[A]);
    ports[A] = NULL;
    EXPECT_EQ(receive(B, &seen), 0);
    CU_ASSERT(!is_readable(B, 0));
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, NULL, 0), child);
    open_port(A, true);
    close_all();
}

static void armed_port_is_woken_and_others_are_not(void)
{
    struct seen seen;
    unsigned flags;

    open_all(true);
    sent(lo_mac, ROCE_QP_GSI, 1110); /* all ports are connected to each other now */
    for (unsigned i = 0; i < PORTS; i++)
        receive(i, &seen);
    CU_ASSERT(rnic_port_arm(ports[B], true));
    CU_ASSERT(!is_readable(B, 0));
    EXPECT_EQ(send_one(lo_mac, blocks[B] << 12, 1, &flags), 1);
    EXPECT_EQ(send_one(lo_mac, blocks[C] << 12, 1, &flags), 1);
    CU_ASSERT(is_readable(B, 60000));
    CU_ASSERT(!is_readable(C, 0));
    CU_ASSERT(!rnic_port_arm(ports[C], true)); /* a frame waits */
    EXPECT_EQ(receive(B, &seen), 1);
    CU_ASSERT(!is_readable(B, 0));
    close_all();
}

static void waiting_writer_is_woken(void)
{
    struct seen seen;

    open_all(true);
    fill_ring(B);
    receive(A, &seen);
    CU_ASSERT(!is_readable(A, 0));
    receive(B, &seen);
    CU_ASSERT(is_readable(A, 60000));
    receive(A, &seen);
    CU_ASSERT(!is_readable(A, 0));
    close_all();
}

/* ---- a hostile peer -------------------------------------------------------------------------- */

/* Connects to port B with a separate ring. Returns the socket. */
static int intrude(struct shm_segment *segment, uint32_t block, const char *iface)
{
    struct shm_hello hello = {.block = block};
    int fd = shm_hello_connect("lo", blocks[B]);
    int file = shm_segment_new(SHM_RING_MIN, segment);

    CU_ASSERT_FATAL(fd >= 0 && file >= 0);
    strncpy(hello.iface, iface, sizeof(hello.iface) - 1);
    EXPECT_EQ(shm_hello_send(fd, &hello, file), 0);
    close(file);
    return fd;
}

/* A peer writes `word` as the header word of its first record. */
static void break_ring(uint32_t word)
{
    struct rnic_port_stats stats;
    struct shm_segment segment;
    struct seen seen;
    char byte;
    int fd;

    open_all(true);
    fd = intrude(&segment, 0x777, "lo");
    memcpy(segment.memory.data, &word, sizeof(word));
    receive(B, &seen);
    rnic_port_stats(ports[B], &stats);
    EXPECT_EQ(stats.rx_failed, 1);
    EXPECT_EQ(recv(fd, &byte, 1, 0), 0); /* B has closed the connection */
    sent(lo_mac, blocks[B] << 12, 100);
    shm_segment_unmap(&segment);
    close(fd);
    close_all();
}

static void broken_ring_ends_only_its_peer(void)
{
    break_ring(UINT32_MAX);
    break_ring(SHM_NO_ICRC << 16 | ROCE_FRAME_MAX); /* too long with its ICRC */
}

static void wrong_hello_is_refused(void)
{
    static const char *const text[] = {"", "hello"};
    struct shm_segment segment;
    struct seen seen;
    char byte;
    int fd;

    open_all(true);
    for (unsigned i = 0; i < 2; i++) {
        fd = shm_hello_connect("lo", blocks[B]);
        CU_ASSERT_FATAL(fd >= 0);
        EXPECT_EQ(send(fd, text[i], strlen(text[i]), 0), strlen(text[i]));
        receive(B, &seen);
        EXPECT_EQ(recv(fd, &byte, 1, 0), 0);
        close(fd);
    }
    fd = intrude(&segment, 4095, "lo"); /* the block of no process */
    receive(B, &seen);
    EXPECT_EQ(recv(fd, &byte, 1, 0), 0);
    shm_segment_unmap(&segment);
    close(fd);
    fd = intrude(&segment, 0x888, "no-such-iface"); /* the port can read frames, but has no
                                                     * process to connect back to */
    receive(B, &seen);
    EXPECT_EQ(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    shm_segment_unmap(&segment);
    close(fd);
    sent(lo_mac, blocks[B] << 12, 100);
    close_all();
}

/* A process without free descriptors cannot accept a peer. The waiting peer must not wake the
 * process again and again. The process must report the problem once, and accept the peer after the
 * connection of another peer has ended. */
static void peer_waits_until_a_descriptor_is_free(void)
{
    struct shm_segment segment[2];
    struct pollfd fds[RNIC_PORT_FDS];
    struct rlimit limit, small;
    struct seen seen;
    int used[256], peer[2];
    unsigned cnt = 0;
    char byte;

    open_all(true);
    peer[0] = intrude(&segment[0], 0x888, "no-such-iface");
    receive(B, &seen);
    peer[1] =
        intrude(&segment[1], 4095, "lo"); /* B refuses this hello after it accepted the peer */
    CU_ASSERT_FATAL(rnic_port_fds(ports[B], fds) > 0);
    CU_ASSERT_FATAL(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    small = (struct rlimit){.rlim_cur = 256, .rlim_max = limit.rlim_max};
    CU_ASSERT_FATAL(setrlimit(RLIMIT_NOFILE, &small) == 0);
    while (cnt < 256 && (used[cnt] = dup(peer[0])) >= 0)
        cnt++;
    warnings = 0;
    receive(B, &seen);
    EXPECT_EQ(warnings, 1);
    CU_ASSERT(strstr(warning, "Too many open files: see the limit of open files") != NULL);
    EXPECT_EQ(poll(fds, 1, 0), 0);
    EXPECT_EQ(recv(peer[1], &byte, 1, MSG_DONTWAIT), -1);
    while (cnt > 0)
        close(used[--cnt]);
    CU_ASSERT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    shutdown(peer[0], SHUT_RDWR);
    for (unsigned i = 0; i < 3; i++)
        receive(B, &seen);
    EXPECT_EQ(recv(peer[1], &byte, 1, MSG_DONTWAIT), 0);
    for (unsigned i = 0; i < 2; i++) {
        close(peer[i]);
        shm_segment_unmap(&segment[i]);
    }
    close_all();
}

/* Returns a connected or listening socket of another user, or -1. The socket has the name that
 * belongs to this user's QPN block `block`. */
static int foreign_socket(uint32_t block, bool listens)
{
    struct sockaddr_un addr;
    char name[32];
    int fd, len;

    snprintf(name, sizeof(name), "shm/%u.%u", (unsigned)geteuid(), (unsigned)block);
    if (seteuid(1234) != 0)
        return -1;
    len = rnic_registry_address(&addr, "lo", name);
    fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    CU_ASSERT(len > 0 && fd >= 0);
    if (listens) {
        CU_ASSERT(bind(fd, (struct sockaddr *)&addr, (socklen_t)len) == 0);
        CU_ASSERT(listen(fd, 8) == 0);
    } else {
        CU_ASSERT(connect(fd, (struct sockaddr *)&addr, (socklen_t)len) == 0);
    }
    CU_ASSERT_FATAL(seteuid(0) == 0);
    return fd;
}

static void process_of_another_user_is_refused(void)
{
    struct rnic_port_stats stats;
    struct seen seen;
    char byte;
    int fd;

    if (geteuid() != 0 || seteuid(1234) != 0) {
        suite_skip("needs two users");
        return;
    }
    EXPECT_EQ(shm_hello_connect("lo", blocks[B]),
              -ECONNREFUSED); /* the name of a socket contains the user, so another user has
                               * another name */
    CU_ASSERT_FATAL(seteuid(0) == 0);
    open_all(true);
    fd = foreign_socket(blocks[B], false);
    receive(B, &seen);
    EXPECT_EQ(recv(fd, &byte, 1, 0), 0); /* B has closed the connection */
    close(fd);
    fd = foreign_socket(0x555, true);
    EXPECT_EQ(shm_hello_connect("lo", 0x555), -EPERM);
    sent(lo_mac, 0x555 << 12, 0);
    rnic_port_stats(ports[A], &stats);
    EXPECT_EQ(stats.tx_no_peer, 1);
    close(fd);
    close_all();
}

/* RLIMIT_FSIZE forbids files of the size of a ring, so no peer can be reached. Opening the port
 * must fail with a reason, and the kernel must not end the program with SIGXFSZ. */
static void limit_of_file_sizes_is_reported(void)
{
    struct rlimit limit, small;
    struct rnic_iface iface;
    struct rnic_port *port = NULL;
    struct error why;

    CU_ASSERT_FATAL(rnic_iface_get("lo", &iface, &why) == 0);
    CU_ASSERT_FATAL(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    small = limit;
    small.rlim_cur = 65536;
    CU_ASSERT_FATAL(setrlimit(RLIMIT_FSIZE, &small) == 0);
    EXPECT_EQ(rnic_port_shm_open(&iface, &(struct rnic_port_shm_attr){.icrc = false}, &port, &why),
              -EFBIG);
    CU_ASSERT(strstr(why.text, "ulimit -f") != NULL);
    CU_ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(frame_reaches_the_process_of_its_qpn),
        TEST(further_block_of_a_process_is_found),
        TEST(peer_that_starts_later_is_reached),
        TEST(pages_of_the_first_rings_are_mapped_at_once),
        TEST(full_ring_delays_and_loses_nothing),
        TEST(process_that_does_not_read_blocks_the_others_briefly),
        TEST(multicast_waits_for_the_slowest),
        TEST(frames_of_an_ended_process_are_still_read),
        TEST(received_frame_gets_an_icrc_only_if_wanted),
        TEST(ended_process_is_forgotten_if_a_child_has_copies),
        TEST(armed_port_is_woken_and_others_are_not),
        TEST(waiting_writer_is_woken),
        TEST(broken_ring_ends_only_its_peer),
        TEST(wrong_hello_is_refused),
        TEST(peer_waits_until_a_descriptor_is_free),
        TEST(process_of_another_user_is_refused),
        TEST(limit_of_file_sizes_is_reported)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.shm", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A program that waits for a completion event wakes soon after the frame arrived. This must not
 * depend on the order in which it arms its CQ, polls it and waits, nor on how it waits. The program
 * is the main thread, with a live device on the loopback. Each time the program waits, a second
 * thread sends it a message through another device. The limit depends on a time that the test
 * measures in the same attempt: the second thread wakes a third one, which wakes the program.
 * ROCEDRILL_PRINT=1 prints all times.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "port/live/live.h"
#include "port/netns.h"
#include "support/suite.h"
#include "wire/gid.h"

#define ROUNDS 21u
/* Limit of the median time: LIMIT_NS, and LIMIT_HOPS times the median time of the bare hops. The
 * poll thread naps for 200 us or more if the gate is shut while the program waits. */
#define LIMIT_NS   150000u
#define LIMIT_HOPS 4u
/* A busy machine can delay every message of one attempt. A defect of the live device delays the
 * messages of all attempts. */
#define ATTEMPTS 50u

/* Values of request_fd and listen_fd. */
enum { REQUEST_MESSAGE = 1, REQUEST_END, REQUEST_HOPS };

struct end {
    struct rnic_live *live;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    uint8_t gid[16];
    uint32_t qpn;
};

/* How the program waits: it reads the event fd, or waits for it with epoll, or another of its
 * threads reads the event fd. */
enum way { WAY_READ, WAY_EPOLL, WAY_THREAD, WAYS };

static const char *const way_name[WAYS] = {"read", "epoll", "thread"};

static struct end sender, receiver;
static enum rnic_wire wire;
static int event_fd, request_fd; /* event_fd: readable after a notification of the CQ; request_fd:
                                  * the program writes a REQUEST to it */
static int hop_fd;               /* wakes the thread between sender and program (pass_hops) */
static int epoll_fd;             /* set with event_fd, for WAY_EPOLL */
static int listen_fd, heard_fd;  /* WAY_THREAD: wakes the listening thread; its answer */
static uint64_t sent_at;  /* time at which the message was sent; needs no lock: the sender writes it
                           * before it signals the event, the waiter reads it after the event */
static uint64_t heard_at; /* time at which the listening thread woke up, protected like sent_at */
static long pause_ns;     /* time from the request for a message to its transmission, ns */

static void notified(void *user, struct rnic *rnic)
{
    (void)user;
    while (rnic_cq_notified(rnic))
        eventfd_write(event_fd, 1);
}

static void open_end(struct end *end, bool receives)
{
    struct rnic_live_attr attr = {
        .wire = wire, .iface = "lo", .notified = receives ? notified : NULL};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_recv_wr = 64,
                                .max_recv_sge = 1,
                                .max_send_wr = 64,
                                .max_send_sge = 1,
                                .max_inline = 8};
    struct rnic_pd *pd;
    struct rnic_iface iface;
    struct error why;
    struct rnic *rnic;

    CU_ASSERT_FATAL(rnic_live_open(&attr, &end->live, &why) == 0);
    rnic = rnic_live_lock(end->live);
    CU_ASSERT_FATAL(rnic_pd_new(rnic, &pd) == 0 && rnic_cq_new(rnic, 256, &end->cq) == 0);
    init.send_cq = init.recv_cq = end->cq;
    end->qpn = init.qpn = rnic_live_qpn_get(end->live);
    CU_ASSERT_FATAL(rnic_qp_new(pd, &init, &end->qp) == 0);
    rnic_live_unlock(end->live);
    rnic_live_iface(end->live, &iface);
    for (unsigned i = 0; i < iface.gid_cnt; i++)
        if (roce_gid_is_ip4(iface.gid[i].gid) && iface.gid[i].type == RNIC_GID_ROCE_V2)
            memcpy(end->gid, iface.gid[i].gid, 16);
}

static void connect_end(struct end *end, const struct end *peer)
{
    struct rnic_qp_attr qp = {.pkey = 0xffff,
                              .max_dest_rd_atomic = 1,
                              .max_rd_atomic = 1,
                              .timeout = 14,
                              .retry_cnt = 7,
                              .rnr_retry = 7,
                              .dest_qpn = peer->qpn};
    struct rnic_path path;

    CU_ASSERT_FATAL(rnic_live_resolve(end->live, peer->gid, -1, 5000000000u, &path) == 0);
    memcpy(qp.av.dmac, path.dmac, 6);
    memcpy(qp.av.dgid, peer->gid, 16);
    qp.av.sgid_idx = path.sgid_idx;
    qp.path_mtu = path.path_mtu;
    rnic_live_lock(end->live);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        qp.state = (enum rnic_qp_state)state;
        EXPECT_EQ(rnic_qp_modify(end->qp, &qp, rnic_live_now()), 0);
    }
    for (unsigned i = 0; i < 32; i++)
        rnic_post_recv(end->qp, &(struct rnic_recv_wr){.wr_id = i});
    rnic_live_unlock(end->live);
}

/* Polls the CQ as ibv_poll_cq() does. Returns whether there was a completion. */
static bool poll_once(struct end *end)
{
    struct rnic_wc wc;
    size_t cnt;

    rnic_live_lock(end->live);
    cnt = rnic_cq_poll(end->cq, &wc, 1);
    if (cnt == 0 && rnic_live_drive(end->live))
        cnt = rnic_cq_poll(end->cq, &wc, 1);
    if (cnt > 0)
        rnic_live_leave_poll(end->live, false);
    if (cnt > 0 && end == &receiver)
        rnic_post_recv(end->qp, &(struct rnic_recv_wr){0});
    rnic_live_unlock(end->live);
    return cnt > 0;
}

/* Arms the CQ as ibv_req_notify_cq() does. */
static void arm(struct end *end)
{
    rnic_live_lock(end->live);
    rnic_cq_arm(end->cq, false);
    rnic_live_leave_poll(end->live, true);
    rnic_live_unlock(end->live);
}

static void *send_on_request(void *user)
{
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_SIGNALED};
    struct rnic_wc wc;
    eventfd_t request;

    (void)user;
    while (eventfd_read(request_fd, &request) == 0 && request != REQUEST_END) {
        if (pause_ns)
            nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        if (request == REQUEST_HOPS) {
            __atomic_store_n(&sent_at, rnic_live_now(), __ATOMIC_RELEASE);
            eventfd_write(hop_fd, 1);
            continue;
        }
        rnic_live_lock(sender.live);
        while (rnic_cq_poll(sender.cq, &wc, 1) > 0) /* frees the slots of the send queue */
            ;
        __atomic_store_n(&sent_at, rnic_live_now(), __ATOMIC_RELEASE);
        EXPECT_EQ(rnic_post_send(sender.qp, &wr), 0);
        rnic_live_unlock(sender.live);
    }
    return NULL;
}

static void *pass_hops(void *user)
{
    eventfd_t value;

    (void)user;
    while (eventfd_read(hop_fd, &value) == 0 && value != REQUEST_END)
        eventfd_write(event_fd, 1);
    return NULL;
}

static void *listen_for_events(void *user)
{
    eventfd_t value;

    (void)user;
    while (eventfd_read(listen_fd, &value) == 0 && value != REQUEST_END) {
        eventfd_read(event_fd, &value);
        __atomic_store_n(&heard_at, rnic_live_now(), __ATOMIC_RELEASE);
        eventfd_write(heard_fd, 1);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static uint64_t median_of(uint64_t times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof(times[0]), by_value);
    return times[ROUNDS / 2];
}

/* Requests a message or bare hops, and waits for the event. Returns the time from sending to
 * waking up, ns. */
static uint64_t wait_event(eventfd_t request, enum way way)
{
    struct epoll_event event;
    eventfd_t value;
    uint64_t woken_at;

    eventfd_write(request_fd, request);
    if (way == WAY_THREAD) {
        eventfd_read(heard_fd, &value);
        woken_at = __atomic_load_n(&heard_at, __ATOMIC_ACQUIRE);
    } else {
        if (way == WAY_EPOLL)
            EXPECT_EQ(epoll_wait(epoll_fd, &event, 1, -1), 1);
        eventfd_read(event_fd, &value);
        woken_at = rnic_live_now();
    }
    return woken_at - __atomic_load_n(&sent_at, __ATOMIC_ACQUIRE);
}

static uint64_t median_hops(void)
{
    uint64_t times[ROUNDS];

    for (unsigned i = 0; i < ROUNDS; i++)
        times[i] = wait_event(REQUEST_HOPS, WAY_READ);
    return median_of(times);
}

/* Runs a program with a loop of the steps in `order`: E waits for an event, A arms, p polls once, P
 * polls until the CQ is empty, S polls 200 times. Returns the median time from message to wakeup,
 * ns. */
static uint64_t median_wake(const char *order, enum way way)
{
    uint64_t times[ROUNDS];

    arm(&receiver);
    if (way == WAY_THREAD)
        eventfd_write(listen_fd, 1);
    for (unsigned i = 0; i < ROUNDS; i++)
        for (const char *at = order; *at; at++) {
            if (*at == 'E') {
                times[i] = wait_event(REQUEST_MESSAGE, way);
                if (way == WAY_THREAD && i + 1 < ROUNDS)
                    eventfd_write(listen_fd, 1); /* listens while the main thread polls and arms */
            } else if (*at == 'A') {
                arm(&receiver);
            } else if (*at == 'p') {
                poll_once(&receiver);
            } else if (*at == 'P') {
                while (poll_once(&receiver))
                    ;
            } else {
                for (unsigned polls = 0; polls < 200; polls++)
                    poll_once(&receiver);
            }
        }
    while (poll_once(&receiver) || poll_once(&sender))
        ;
    return median_of(times);
}

static void test_order(const char *order, enum way way, long pause)
{
    uint64_t wake = UINT64_MAX, hops = 0;

    pause_ns = pause;
    for (unsigned i = 0; i < ATTEMPTS && wake > LIMIT_NS + LIMIT_HOPS * hops; i++) {
        hops = median_hops();
        wake = median_wake(order, way);
    }
    if (suite_env("ROCEDRILL_PRINT", 0))
        printf("%s %-7s %-6s %4ld us: wakes after %6.1f us, bare hops %6.1f us\n",
               wire == RNIC_WIRE_SHM ? "shm " : "pcap", order, way_name[way], pause / 1000,
               (double)wake / 1000, (double)hops / 1000);
    if (wake > LIMIT_NS + LIMIT_HOPS * hops)
        suite_fail(__FILE__, __LINE__,
                   "order of calls %s, %s: the program wakes %llu us after the message was sent; "
                   "bare hops need %llu us",
                   order, way_name[way], (unsigned long long)wake / 1000,
                   (unsigned long long)hops / 1000);
}

static void test_orders(void)
{
    static const char *const orders[] = {"EAP",  "EPA",  "EPAP", "EPApp", "EppApp", "EppAppA",
                                         "EAPP", "EApp", "EpAp", "EAS",   "EPSA",   "ESAS"};
    pthread_t thread[3];
    int *const fds[] = {&event_fd, &request_fd, &hop_fd, &listen_fd, &heard_fd};

    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        *fds[i] = eventfd(0, EFD_CLOEXEC);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event_fd, &(struct epoll_event){.events = EPOLLIN});
    open_end(&sender, false);
    open_end(&receiver, true);
    connect_end(&sender, &receiver);
    connect_end(&receiver, &sender);
    pthread_create(&thread[0], NULL, send_on_request, NULL);
    pthread_create(&thread[1], NULL, pass_hops, NULL);
    pthread_create(&thread[2], NULL, listen_for_events, NULL);
    for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        for (unsigned way = 0; way < WAYS; way++) {
            /* The message is sent at once, or after the poll thread has gone to sleep. */
            test_order(orders[i], way, 0);
            test_order(orders[i], way, 2500000);
        }
    eventfd_write(request_fd, REQUEST_END);
    eventfd_write(hop_fd, REQUEST_END);
    eventfd_write(listen_fd, REQUEST_END);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    rnic_live_close(sender.live);
    rnic_live_close(receiver.live);
    for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        close(*fds[i]);
    close(epoll_fd);
}

static void every_order_of_arm_poll_and_wait_wakes_soon(void)
{
    wire = RNIC_WIRE_PCAP;
    test_orders();
}

static void every_order_wakes_soon_on_shared_memory(void)
{
    wire = RNIC_WIRE_SHM;
    test_orders();
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(every_order_of_arm_poll_and_wait_wakes_soon),
                                              TEST(every_order_wakes_soon_on_shared_memory)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.wakeup", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

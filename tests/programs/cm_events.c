/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM events: causes each event of rdma_get_cm_event(3), with both ends of a connection in one
 * process. Three events are missing, as a RoCE device on Linux cannot cause them either:
 *
 * - ROUTE_ERROR: the path follows from the address (core/cma.c cma_resolve_iboe_route).
 * - MULTICAST_ERROR: a join is done at once or refused by the call (cma_iboe_join_multicast).
 * - ADDR_CHANGE: only when a bond changes its active slave (cma_netdev_callback).
 *
 * cm_events ADDRESS [NAME...]: an address of a device, and the cases to run. The case "removal"
 * needs the right to delete the interface, whose name follows a colon (removal:rnic0).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cancels.h"
#include "must.h"

#define WAIT_MS 20000

static const char *address;
static struct rdma_event_channel *active, *passive;
static struct rdma_cm_id *asks, *listens, *child;
static int port = 7600;   /* port of the current case; each case has another port, so that it gets
                           * no late request of an earlier case */
static uint32_t qpn = 77; /* QPN of the active side; the passive side has the next number */

static struct sockaddr_in at(const char *text, int number)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    MUST(inet_pton(AF_INET, text, &to.sin_addr) == 1);
    return to;
}

/* Returns the next event of a channel, which must be of this type. The caller acknowledges it. */
static struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(rdma_get_cm_event(channel, &event) == 0);
    if (event->event != type) {
        fprintf(stderr, "%s (%d) instead of %s\n", rdma_event_str(event->event), event->status,
                rdma_event_str(type));
        exit(1);
    }
    return event;
}

static void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status)
{
    struct rdma_cm_event *event = next(channel, type);
    if (event->status != status)
        fprintf(stderr, "%s with status %d\n", rdma_event_str(type), event->status);
    MUST(event->status == status);
    MUST(rdma_ack_cm_event(event) == 0);
}

static void begin(enum rdma_port_space space, bool bound, bool listening)
{
    struct sockaddr_in here = at(address, port);
    MUST((active = rdma_create_event_channel()) && (passive = rdma_create_event_channel()));
    MUST(rdma_create_id(active, &asks, NULL, space) == 0);
    MUST(rdma_create_id(passive, &listens, NULL, space) == 0);
    child = NULL;
    if (bound)
        MUST(rdma_bind_addr(listens, (struct sockaddr *)&here) == 0);
    if (listening)
        MUST(rdma_listen(listens, 5) == 0);
}

static void end(void)
{
    if (child)
        MUST(rdma_destroy_id(child) == 0);
    MUST(rdma_destroy_id(asks) == 0 && rdma_destroy_id(listens) == 0);
    rdma_destroy_event_channel(active);
    rdma_destroy_event_channel(passive);
}

static void resolve(void)
{
    struct sockaddr_in to = at(address, port);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void ask_with(uint8_t rnr_retry)
{
    struct rdma_conn_param param = {
        .private_data = "ask", .private_data_len = 4, .qp_num = qpn, .rnr_retry_count = rnr_retry};
    MUST(rdma_connect(asks, &param) == 0);
}

static void ask(void)
{
    ask_with(0);
}

static void take_request(void)
{
    struct rdma_cm_event *event = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(event->listen_id == listens);
    MUST(memcmp(asks->ps == RDMA_PS_UDP ? event->param.ud.private_data
                                        : event->param.conn.private_data,
                "ask", 4) == 0);
    child = event->id;
    MUST(rdma_ack_cm_event(event) == 0);
}

static void accept_it(void)
{
    struct rdma_conn_param param = {
        .private_data = "yes", .private_data_len = 4, .qp_num = qpn + 1};
    MUST(rdma_accept(child, &param) == 0);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* A program without a QP in librdmacm gets the event CONNECT_RESPONSE, and calls rdma_establish()
 * itself. */
static void connect_and_disconnect(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    take_request();
    accept_it();
    event = next(active, RDMA_CM_EVENT_CONNECT_RESPONSE);
    MUST(event->param.conn.qp_num == qpn + 1 &&
         memcmp(event->param.conn.private_data, "yes", 4) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    MUST(rdma_establish(asks) == 0);
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    MUST(rdma_disconnect(asks) == 0);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0); /* sends the DREP */
    expect(active, RDMA_CM_EVENT_DISCONNECTED, 0);
    expect(active, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    expect(passive, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    end();
}

static uint8_t rnr_timer(struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int mask;
    MUST(rdma_init_qp_attr(id, &attr, &mask) == 0 && mask & IBV_QP_MIN_RNR_TIMER);
    return attr.min_rnr_timer;
}

/* With a limited number of RNR retries, the peer is asked to wait 655 ms (code 0) for each. Linux
 * always uses this time. So a peer that posts its receive late, on a busy machine, does not lose
 * the connection. */
static void limited_retries_get_long_rnr_timer(void)
{
    static const uint8_t retries[] = {1, 5, 7};
    for (size_t i = 0; i < sizeof retries; i++) {
        begin(RDMA_PS_TCP, true, true);
        resolve();
        ask_with(retries[i]);
        take_request();
        uint8_t of_child = rnr_timer(child);
        accept_it();
        expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
        MUST(rnr_timer(asks) == of_child);
        MUST((of_child == 0) == (retries[i] < 7)); /* 7 means unlimited retries, so a shorter RNR
                                                    * time is enough */
        MUST(rdma_establish(asks) == 0);
        expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
        end();
        port++;
    }
}

/* If the program names no port, the device assigns one: when the id is bound, otherwise when its
 * address is resolved. No other id gets this port. */
static void device_assigns_an_unnamed_port(void)
{
    struct sockaddr_in here = at(address, 0), any = at("0.0.0.0", 0);
    struct rdma_cm_id *other;
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0 && rdma_listen(listens, 5) == 0);
    MUST(rdma_get_src_port(listens) != 0);
    struct sockaddr_in to = at(address, ntohs(rdma_get_src_port(listens)));
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_get_src_port(asks) != 0 && rdma_get_src_port(asks) != rdma_get_src_port(listens));
    MUST(rdma_create_id(active, &other, NULL, RDMA_PS_TCP) == 0);
    here.sin_port = rdma_get_src_port(asks);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == -1 && errno == EADDRINUSE);
    here.sin_port = 0;
    MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == 0 && rdma_get_src_port(other) != 0);
    MUST(rdma_destroy_id(other) == 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    ask();
    struct rdma_cm_event *event = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    child = event->id;
    MUST(rdma_get_src_port(child) == rdma_get_src_port(listens));
    MUST(rdma_get_dst_port(child) == rdma_get_src_port(asks));
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void set_afonly(struct rdma_cm_id *id, int on)
{
    MUST(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof on) == 0);
}

/* Two ids with RDMA_OPTION_ID_AFONLY may listen at the wildcard addresses of both families with one
 * port, as tgtd does. Without the option they may not. */
static void families_share_a_port(void)
{
    struct sockaddr_in any = at("0.0.0.0", port);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct rdma_cm_id *other, *third;
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_create_id(passive, &other, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_create_id(passive, &third, NULL, RDMA_PS_TCP) == 0);
    set_afonly(listens, 1);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0 && rdma_listen(listens, 5) == 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&any6) != 0 && errno == EADDRINUSE);
    set_afonly(other, 1);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&any6) == 0 && rdma_listen(other, 5) == 0);
    set_afonly(third, 1);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any) != 0 && errno == EADDRINUSE);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any6) != 0 && errno == EADDRINUSE);
    resolve();
    ask();
    struct rdma_cm_event *request = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(request->listen_id == (strchr(address, ':') ? other : listens));
    child = request->id;
    rdma_ack_cm_event(request);
    MUST(rdma_destroy_id(other) == 0 && rdma_destroy_id(third) == 0);
    end();
}

/* A REQ waits a quarter of a second for a listener that binds late. The case is repeated if this
 * process itself waited for a CPU nearly as long. */
static void early_connect_waits_for_listener(void)
{
    for (int tries = 0;; tries++, port++) {
        begin(RDMA_PS_TCP, true, false);
        resolve();
        double asked = now_ms();
        ask();
        usleep(50000);
        MUST(rdma_listen(listens, 5) == 0);
        double took = now_ms() - asked;
        struct pollfd fds[] = {{.fd = passive->fd, .events = POLLIN},
                               {.fd = active->fd, .events = POLLIN}};
        MUST(poll(fds, 2, WAIT_MS) > 0);
        if (fds[0].revents || took < 150 || tries == 20)
            break;
        expect(active, RDMA_CM_EVENT_REJECTED, 8);
        end();
    }
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

static void rejection_is_reported(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    take_request();
    MUST(rdma_reject(child, "no", 3) == 0);
    event = next(active, RDMA_CM_EVENT_REJECTED);
    MUST(event->status == 28 && memcmp(event->param.conn.private_data, "no", 3) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

/* Without a listener, a REQ is rejected with reason 8, invalid service ID. The port may be bound or
 * not. */
static void connect_without_listener_is_rejected(void)
{
    for (int bound = 0; bound < 2; bound++) {
        begin(RDMA_PS_TCP, bound, false);
        resolve();
        ask();
        expect(active, RDMA_CM_EVENT_REJECTED, 8);
        end();
    }
}

/* Destroying a listener rejects the request that waits to be accepted. */
static void closed_listener_rejects(void)
{
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(rdma_destroy_id(listens) == 0);
    expect(active, RDMA_CM_EVENT_REJECTED, 28);
    MUST(rdma_create_id(passive, &listens, NULL, RDMA_PS_TCP) == 0);
    end();
}

/* A UD service is found, refused, or missing. If it is missing, the event is UNREACHABLE with the
 * status of the SIDR_REP. */
static void ud_service_is_resolved(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_UDP, true, true);
    resolve();
    ask();
    take_request();
    accept_it();
    event = next(active, RDMA_CM_EVENT_ESTABLISHED);
    MUST(event->param.ud.qp_num == 78 && event->param.ud.qkey == RDMA_UDP_QKEY);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
    begin(RDMA_PS_UDP, true, true);
    resolve();
    ask();
    take_request();
    MUST(rdma_reject(child, NULL, 0) == 0);
    expect(active, RDMA_CM_EVENT_UNREACHABLE, 2);
    end();
    begin(RDMA_PS_UDP, false, false);
    resolve();
    ask();
    expect(active, RDMA_CM_EVENT_UNREACHABLE, 1);
    end();
}

static void multicast_join_and_leave(void)
{
    struct sockaddr_in group = at("239.1.2.3", 0);
    struct rdma_cm_event *event;
    begin(RDMA_PS_UDP, true, false);
    MUST(rdma_join_multicast(listens, (struct sockaddr *)&group, &group) == 0);
    event = next(passive, RDMA_CM_EVENT_MULTICAST_JOIN);
    MUST(event->param.ud.private_data == &group && event->param.ud.qp_num == 0xFFFFFF);
    MUST(rdma_ack_cm_event(event) == 0);
    MUST(rdma_leave_multicast(listens, (struct sockaddr *)&group) == 0);
    end();
}

/* If the machine has no route to the address, the event is ADDR_ERROR. */
static void unroutable_address_is_reported(void)
{
    struct sockaddr_in to = at("203.0.113.1", port);
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, false, false);
    if (rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 300) == 0) {
        event = next(active, RDMA_CM_EVENT_ADDR_ERROR);
        MUST(event->status < 0);
        MUST(rdma_ack_cm_event(event) == 0);
    }
    end();
}

/* If the program's QP cannot make the transition that the REP requires, librdmacm reports
 * CONNECT_ERROR. */
static void wrong_qp_state_is_connect_error(void)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct rdma_conn_param param = {.private_data = "ask", .private_data_len = 4};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    MUST(rdma_create_qp(asks, NULL, &init) == 0);
    MUST(rdma_connect(asks, &param) == 0);
    take_request();
    MUST(ibv_modify_qp(asks->qp, &attr, IBV_QP_STATE) == 0);
    accept_it();
    event = next(active, RDMA_CM_EVENT_CONNECT_ERROR);
    MUST(event->status != 0);
    MUST(rdma_ack_cm_event(event) == 0);
    rdma_destroy_qp(asks);
    end();
}

/* Deleting the interface removes its device, and the program gets DEVICE_REMOVAL. */
static void removal(const char *iface)
{
    char command[64];
    struct sockaddr_in here = at(address, port);
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(asks, (struct sockaddr *)&here) == 0);
    snprintf(command, sizeof command, "ip link delete %s", iface);
    MUST(system(command) == 0);
    struct rdma_cm_event *event = next(active, RDMA_CM_EVENT_DEVICE_REMOVAL);
    MUST(event->id == asks);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

/* The nonblocking descriptor returns EAGAIN if it has no event. If a thread reads from a channel
 * that was just destroyed, the process does not end with an error. */
static void *ask_late(void *fd)
{
    struct rdma_cm_event *event;
    struct rdma_event_channel channel = {.fd = *(int *)fd};
    if (rdma_get_cm_event(&channel, &event) != 0)
        _exit(1);
    return NULL;
}

static void closed_descriptor_is_ebadf(void)
{
    struct rdma_cm_event *event;
    static int fd;
    pthread_t thread;
    begin(RDMA_PS_TCP, false, false);
    MUST(fcntl(active->fd, F_SETFL, fcntl(active->fd, F_GETFL) | O_NONBLOCK) == 0);
    MUST(rdma_get_cm_event(active, &event) == -1 && errno == EAGAIN);
    fd = active->fd;
    end();
    MUST(pthread_create(&thread, NULL, ask_late, &fd) == 0);
    MUST(pthread_detach(thread) == 0);
    usleep(100000);
}

/* A program closed a descriptor of the device without a library call, and opened its own file under
 * that number. The device does not touch that file. */
static void file_under_closed_descriptor_is_kept(void)
{
    begin(RDMA_PS_TCP, true, true);
    int was = active->fd, fd;
    struct stat is;
    char byte;
    MUST(close_range((unsigned)was, (unsigned)was, 0) == 0);
    MUST((fd = memfd_create("own", 0)) == was || dup2(fd, was) == was);
    MUST(fstat(was, &is) == 0 && S_ISREG(is.st_mode));
    MUST(write(was, "own", 4) == 4 && pread(was, &byte, 1, 0) == 1 && byte == 'o');
    MUST(close(was) == 0 && close(was) < 0);
}

static sem_t told;

static void *take_two(void *unused)
{
    (void)unused;
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    struct pollfd fd = {.fd = active->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(sem_post(&told) == 0);
    usleep(5000);
    /* After ROUTE_RESOLVED librdmacm queries the route of the id, which may be destroyed by then.
     */
    struct rdma_cm_event *event;
    MUST(poll(&fd, 1, WAIT_MS) == 1 && rdma_get_cm_event(active, &event) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    return NULL;
}

/* A thread sees an event by poll(2) and reads it a moment later. Meanwhile another thread destroys
 * the id. The event must remain, so that the first thread does not wait forever. rping does so at
 * its end, from rdma-core 59 on. */
static void destroyed_id_leaves_its_event(void)
{
    struct sockaddr_in to = at(address, port);
    struct timespec until;
    pthread_t thread;
    begin(RDMA_PS_TCP, true, false);
    MUST(sem_init(&told, 0, 0) == 0);
    MUST(pthread_create(&thread, NULL, take_two, NULL) == 0);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    MUST(sem_wait(&told) == 0);
    MUST(rdma_destroy_id(asks) == 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    MUST(pthread_timedjoin_np(thread, NULL, &until) == 0);
    MUST(rdma_create_id(active, &asks, NULL, RDMA_PS_TCP) == 0);
    end();
}

/* A cancelled thread ends within the call, as it would in write(2), and has no lock then. */
static void *resolve_cancelled(void *to)
{
    pthread_cancel(pthread_self());
    rdma_resolve_addr(asks, NULL, to, 2000);
    return NULL;
}

static void cancelled_thread_holds_no_lock(void)
{
    struct sockaddr_in to = at(address, port);
    pthread_t thread;
    void *result;
    begin(RDMA_PS_TCP, true, true);
    if (CANCELS) {
        MUST(pthread_create(&thread, NULL, resolve_cancelled, &to) == 0);
        MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    resolve();
    end();
}

/* If a listener moves to another channel, its waiting request is reported there. */
static void request_moves_with_migrated_listener(void)
{
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    struct rdma_event_channel *before = passive;
    MUST((passive = rdma_create_event_channel()) != NULL);
    MUST(rdma_migrate_id(listens, passive) == 0);
    rdma_destroy_event_channel(before);
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

/* A request that no program accepted keeps neither the process from ending nor the channel from
 * being destroyed. */
static void untaken_request_does_not_block_the_end(void)
{
    for (unsigned how = 0; how < 2; how++) {
        fflush(stdout);
        port += 100;
        pid_t pid = fork();
        if (pid == 0) {
            begin(RDMA_PS_TCP, true, true);
            resolve();
            ask();
            struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
            MUST(poll(&fd, 1, WAIT_MS) == 1);
            if (how == 0)
                exit(0);
            end();
            _exit(0);
        }
        int status;
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* A process of this machine is killed while its connection is idle. Its peer gets DISCONNECTED,
 * because this machine disconnects on behalf of the killed process. */
static void killed_peer_is_disconnected(void)
{
    qpn += 100; /* QPNs of earlier cases may still be in TIMEWAIT at the peer (R231), so this case
                 * uses others */
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        begin(RDMA_PS_TCP, false, false);
        resolve();
        ask();
        expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
        MUST(rdma_establish(asks) == 0);
        pause();
    }
    take_request();
    accept_it();
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    int status;
    MUST(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0);
    expect(passive, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    end();
}

static void end_process(int signal)
{
    (void)signal;
    exit(0);
}

/* A signal handler that calls exit() ends the process, even if it interrupts a call of librdmacm.
 * libfabric's provider psm installs such a handler. */
static void end_in_handler(bool polls)
{
    for (unsigned i = 0; i < 6; i++) {
        int status;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            const struct itimerval soon = {.it_value = {.tv_usec = 30000 + 1700 * (int)i}};
            struct ibv_cq *cq;
            struct ibv_wc wc;
            begin(RDMA_PS_TCP, true, true);
            MUST((cq = ibv_create_cq(listens->verbs, 1, NULL, NULL, 0)) != NULL);
            MUST(signal(SIGALRM, end_process) != SIG_ERR);
            MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
            while (polls)
                MUST(ibv_poll_cq(cq, 1, &wc) == 0);
            for (;;) {
                struct rdma_cm_id *id;
                MUST(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == 0);
                MUST(rdma_destroy_id(id) == 0);
            }
        }
        MUST(pid > 0);
        for (int waited = 0; waitpid(pid, &status, WNOHANG) != pid; waited += 10) {
            if (waited > WAIT_MS)
                kill(pid, SIGKILL); /* the process does not end */
            usleep(10000);
        }
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void handler_ends_the_process(void)
{
    end_in_handler(false);
}

/* The handler interrupts ibv_poll_cq(), which has the lock of the device most of the time. */
static void handler_ends_a_polling_process(void)
{
    end_in_handler(true);
}

/* A child of fork() cannot use its parent's ids: its calls fail with ENODEV. It can destroy its
 * copies and use a channel of its own. The parent keeps its port. */
static void child_is_refused_its_parents_ids(void)
{
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rdma_event_channel *own;
        struct rdma_cm_id *other;
        struct sockaddr_in here = at(address, port + 50);
        alarm(WAIT_MS / 1000);
        MUST(rdma_listen(listens, 5) == -1 && errno == ENODEV);
        MUST((own = rdma_create_event_channel()) != NULL);
        MUST(rdma_create_id(own, &other, NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == 0 && rdma_listen(other, 1) == 0);
        MUST(rdma_destroy_id(other) == 0);
        rdma_destroy_event_channel(own);
        end();
        _exit(0);
    }
    resolve();
    ask();
    take_request();
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    MUST(rdma_establish(asks) == 0);
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    MUST(rdma_disconnect(asks) == 0);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0);
    end();
    /* The parent's port is free again, although a child that inherited the parent's ids is alive.
     */
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(WAIT_MS / 1000);
        pause();
    }
    end();
    begin(RDMA_PS_TCP, true, true);
    end();
    MUST(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
}

/* A child of fork() connects to its parent with a channel, an id and a QP of its own. Its librdmacm
 * uses the context and the PD that it opened in the parent; librpma's tests do this. */
static void child_connects_to_its_parent(void)
{
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct ibv_qp_init_attr init = {
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
        struct rdma_conn_param param = {.private_data = "ask", .private_data_len = 4};
        alarm(WAIT_MS / 1000);
        MUST((active = rdma_create_event_channel()) != NULL);
        MUST(rdma_create_id(active, &asks, NULL, RDMA_PS_TCP) == 0);
        resolve();
        MUST(rdma_create_qp(asks, NULL, &init) == 0);
        MUST(rdma_connect(asks, &param) == 0);
        expect(active, RDMA_CM_EVENT_ESTABLISHED, 0);
        MUST(rdma_disconnect(asks) == 0);
        expect(active, RDMA_CM_EVENT_DISCONNECTED, 0);
        rdma_destroy_qp(asks);
        MUST(rdma_destroy_id(asks) == 0);
        rdma_destroy_event_channel(active);
        _exit(0);
    }
    take_request();
    accept_it();
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0);
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    end();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"connect_and_disconnect", connect_and_disconnect},
        {"limited_retries_get_long_rnr_timer", limited_retries_get_long_rnr_timer},
        {"early_connect_waits_for_listener", early_connect_waits_for_listener},
        {"rejection_is_reported", rejection_is_reported},
        {"families_share_a_port", families_share_a_port},
        {"connect_without_listener_is_rejected", connect_without_listener_is_rejected},
        {"ud_service_is_resolved", ud_service_is_resolved},
        {"multicast_join_and_leave", multicast_join_and_leave},
        {"closed_listener_rejects", closed_listener_rejects},
        {"unroutable_address_is_reported", unroutable_address_is_reported},
        {"wrong_qp_state_is_connect_error", wrong_qp_state_is_connect_error},
        {"device_assigns_an_unnamed_port", device_assigns_an_unnamed_port},
        {"request_moves_with_migrated_listener", request_moves_with_migrated_listener},
        {"file_under_closed_descriptor_is_kept", file_under_closed_descriptor_is_kept},
        {"destroyed_id_leaves_its_event", destroyed_id_leaves_its_event},
        {"cancelled_thread_holds_no_lock", cancelled_thread_holds_no_lock},
        {"untaken_request_does_not_block_the_end", untaken_request_does_not_block_the_end},
        {"killed_peer_is_disconnected", killed_peer_is_disconnected},
        {"handler_ends_the_process", handler_ends_the_process},
        {"handler_ends_a_polling_process", handler_ends_a_polling_process},
        {"child_is_refused_its_parents_ids", child_is_refused_its_parents_ids},
        {"child_connects_to_its_parent", child_connects_to_its_parent},
        {"closed_descriptor_is_ebadf",
         closed_descriptor_is_ebadf}, /* last case, because it leaves a thread that would end the
                                       * process after 5 s */
    };
    address = argc > 1 ? argv[1] : "127.0.0.1";
    if (argc > 2 && strncmp(argv[2], "removal:", 8) == 0) {
        removal(argv[2] + 8);
        puts("removal: as it should be");
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wanted = argc < 3;
        for (int k = 2; k < argc; k++)
            wanted |= strcmp(argv[k], cases[i].name) == 0;
        if (!wanted)
            continue;
        printf("%s\n", cases[i].name);
        fflush(stdout);
        port++;
        cases[i].run();
    }
    puts("all as they should be");
    return 0;
}

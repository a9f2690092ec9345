/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM process: programs of rdma_cm that fork, end, are killed, cancel threads, or close descriptors.
 *
 * cm_process ADDRESS [NAME...]: ADDRESS is an address of a device; NAME are the cases to run.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cancels.h"
#include "cm_case.h"

/* rdma_get_cm_event() on a non-blocking channel without events must fail with EAGAIN. If a thread
 * reads from a channel that was just destroyed, the call must not fail at once, because some
 * programs would then end with an error. */
static void *ask_late(void *fd)
{
    struct rdma_cm_event *event;
    struct rdma_event_channel channel = {.fd = *(int *)fd};
    if (rdma_get_cm_event(&channel, &event) != 0)
        _exit(1);
    return NULL;
}

static void reader_of_a_destroyed_channel_gets_no_error(void)
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

/* The program closes the descriptor of an event channel with close_range(), and opens its own file,
 * which gets the same number. The device must not write to this file. */
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

/* The child of a vfork() closes all descriptors, as a shell does before it starts a program, and
 * puts another file in place of one. The channels of the parent must stay open: parent and child
 * share the memory, but not the descriptors. */
static void vfork_child_closes_only_its_own(void)
{
    begin(RDMA_PS_TCP, true, true);
    int last = active->fd > passive->fd ? active->fd : passive->fd, status;
    pid_t pid = vfork();
    if (pid == 0) {
        for (int fd = 3; fd <= last; fd++)
            close(fd);
        _exit(dup2(0, active->fd) != active->fd || close(active->fd) != 0);
    }
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    resolve();
    ask();
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
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
    /* After ROUTE_RESOLVED, librdmacm queries the route of the id although the id may already be
     * destroyed. */
    struct rdma_cm_event *event;
    MUST(poll(&fd, 1, WAIT_MS) == 1 && rdma_get_cm_event(active, &event) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    return NULL;
}

/* In one thread, poll(2) reports an event, and the thread reads the event a moment later. In
 * between, another thread destroys the id. The event must not be deleted before it was read,
 * because the first thread would then wait forever. rping of rdma-core 59 and later destroys its id
 * in this way at its end. */
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

/* A thread is cancelled and then calls librdmacm. It must end inside the call, as it would in
 * write(2). It must not end with a lock, so that other threads can continue. */
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

/* A connection request waits, and the program never accepts it. The process must be able to end,
 * and the channel to be destroyed. */
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

/* A child process is killed while its connection is idle. The peer must get DISCONNECTED, because
 * the device disconnects on behalf of the killed process. */
static void killed_peer_is_disconnected(void)
{
    /* Uses QPNs that no earlier case used, because the earlier QPNs may still be in TIMEWAIT at the
     * peer (R231). */
    qpn += 100;
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

/* Two processes use one port number. A child listens at another address than its parent. Each
 * process must get the requests for its address, and must not reject requests for the address of
 * the other process. A child must not be able to listen at the address of its parent or at the
 * wildcard. If the parent listens at the wildcard, the child must not be able to listen at any
 * address (core/cma.c, cma_check_port). */
static void processes_share_a_port(void)
{
    struct sockaddr_in here = at(address, port), any = at("0.0.0.0", port);
    struct sockaddr_in6 second = second_address();
    int ready[2], status;
    char byte = 0;
    second.sin6_port = htons((uint16_t)port);
    qpn += 100;
    begin(RDMA_PS_TCP, true, true);
    MUST(pipe(ready) == 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(WAIT_MS / 1000);
        begin(RDMA_PS_TCP, false, false);
        MUST(rdma_bind_addr(listens, (struct sockaddr *)&here) == -1 && errno == EADDRINUSE);
        MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == -1 && errno == EADDRNOTAVAIL);
        MUST(rdma_bind_addr(listens, (struct sockaddr *)&second) == 0);
        MUST(rdma_listen(listens, 5) == 0 && write(ready[1], &byte, 1) == 1);
        take_request();
        accept_it();
        expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
        end();
        _exit(0);
    }
    MUST(pid > 0 && read(ready[0], &byte, 1) == 1);
    resolve();
    ask();
    take_request();
    MUST(rdma_destroy_id(asks) == 0 && rdma_create_id(active, &asks, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&second, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    ask();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    MUST(rdma_establish(asks) == 0);
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    end();
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        begin(RDMA_PS_TCP, false, false);
        MUST(rdma_bind_addr(listens, (struct sockaddr *)&here) == -1 && errno == EADDRNOTAVAIL);
        end();
        _exit(0);
    }
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    end();
    MUST(close(ready[0]) == 0 && close(ready[1]) == 0);
}

/* A process creates ids until no handle is free. The call must fail; it must not wait. */
static void too_many_ids_are_refused(void)
{
    fflush(stdout);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct rdma_cm_id *id;
        unsigned cnt = 0;
        alarm(WAIT_MS / 1000);
        MUST((active = rdma_create_event_channel()) != NULL);
        while (rdma_create_id(active, &id, NULL, RDMA_PS_TCP) == 0)
            cnt++;
        MUST(errno == ENOMEM && cnt == 0x10000);
        _exit(0);
    }
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void end_process(int signal)
{
    (void)signal;
    exit(0);
}

/* A signal handler calls exit() while the program is inside librdmacm, as the handler of
 * libfabric's provider psm does. The process must end. */
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
                kill(pid, SIGKILL); /* the process did not end, so the case fails */
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

/* A child of fork() uses the ids of its parent: the calls must fail with ENODEV. The child must be
 * able to destroy its copies and to use a new channel. The parent must keep its port. */
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
    /* The parent closes its ids. Its port must be free again, although a child that inherited the
     * ids is still alive. */
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

/* A child of fork() connects to its parent with a new channel, id and QP. Its librdmacm uses the
 * context and the PD that it opened in the parent; librpma's tests do this. */
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
    static const struct cm_case cases[] = {
        {"file_under_closed_descriptor_is_kept", file_under_closed_descriptor_is_kept},
        {"vfork_child_closes_only_its_own", vfork_child_closes_only_its_own},
        {"destroyed_id_leaves_its_event", destroyed_id_leaves_its_event},
        {"cancelled_thread_holds_no_lock", cancelled_thread_holds_no_lock},
        {"untaken_request_does_not_block_the_end", untaken_request_does_not_block_the_end},
        {"killed_peer_is_disconnected", killed_peer_is_disconnected},
        {"processes_share_a_port", processes_share_a_port},
        {"too_many_ids_are_refused", too_many_ids_are_refused},
        {"handler_ends_the_process", handler_ends_the_process},
        {"handler_ends_a_polling_process", handler_ends_a_polling_process},
        {"child_is_refused_its_parents_ids", child_is_refused_its_parents_ids},
        {"child_connects_to_its_parent", child_connects_to_its_parent},
        {"reader_of_a_destroyed_channel_gets_no_error",
         /* This must be the last case, because its second thread continues to run and ends the
          * process after 5 s. */
         reader_of_a_destroyed_channel_gets_no_error},
    };
    return run_cases(argc, argv, cases, sizeof cases / sizeof *cases);
}

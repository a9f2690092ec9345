/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Events: tests poll() on the descriptors of completion channels and asynchronous events, and the
 * acknowledgement of events. Also tests fork(), closing a device while its objects still exist, and
 * programs that end at any time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "both.h"

static struct ibv_context *context;

static bool readable(int fd, int ms)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    int got = poll(&pollfd, 1, ms);
    MUST(got >= 0);
    return got == 1 && pollfd.revents & POLLIN;
}

/* Waits for the next asynchronous event. Ends the program unless it has this type and belongs to
 * `object`. */
static void event_is(enum ibv_event_type type, const void *object)
{
    struct ibv_async_event event;
    if (!readable(context->async_fd, 10000))
        die("no event %s within 10 s", ibv_event_type_str(type));
    MUST(ibv_get_async_event(context, &event) == 0);
    if (event.event_type != type)
        die("event %s instead of %s", ibv_event_type_str(event.event_type),
            ibv_event_type_str(type));
    MUST(!object || event.element.qp == object);
    ibv_ack_async_event(&event);
}

/* ---- descriptors of events ------------------------------------------------------------------- */

static void channel_is_pollable(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_comp_channel *ch = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 8, &both, ch, 0), *got;
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    void *user;
    MUST(ch && cq);
    MUST(fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK) == 0);
    errno = 0;
    MUST(ibv_get_cq_event(ch, &got, &user) == -1 && errno == EAGAIN);
    init.send_cq = both.b.cq;
    init.recv_cq = cq;
    MUST(ibv_destroy_qp(both.b.qp) == 0);
    MUST((both.b.qp = ibv_create_qp(both.b.pd, &init)) != NULL);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
    MUST(ibv_modify_qp(both.a.qp, &attr, IBV_QP_STATE) == 0);
    struct ibv_qp *qps[] = {both.a.qp, both.b.qp};
    for (unsigned i = 0; i < 2; i++) {
        attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1};
        MUST(ibv_modify_qp(qps[i], &attr,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
             0);
    }
    both_connect(&both);
    for (unsigned i = 0; i < 8; i++)
        post_recv(both.b.qp, both.mr_b, i, 64);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event want = {.events = EPOLLIN};
    MUST(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, ch->fd, &want) == 0);
    /* Request an event for solicited completions only: the first, unsolicited SEND must not cause
     * one. */
    MUST(ibv_req_notify_cq(cq, 1) == 0);
    post_send(both.a.qp, both.mr_a, 1, 8, IBV_SEND_SIGNALED);
    MUST(endpoint_wait(both.a.cq).status == IBV_WC_SUCCESS);
    MUST(endpoint_wait(cq).wr_id == 0);
    MUST(!readable(ch->fd, 50));
    post_send(both.a.qp, both.mr_a, 1, 8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
    MUST(epoll_wait(epoll, &want, 1, 10000) == 1);
    MUST(ibv_get_cq_event(ch, &got, &user) == 0 && got == cq && user == &both);
    MUST(!readable(ch->fd, 0)); /* one request causes only one event */
    ibv_ack_cq_events(cq, 1);
    MUST(endpoint_wait(cq).wr_id == 1);
    MUST(endpoint_wait(both.a.cq).status == IBV_WC_SUCCESS);
    close(epoll);
    MUST(ibv_destroy_qp(both.b.qp) == 0 && ibv_destroy_cq(cq) == 0 &&
         ibv_destroy_comp_channel(ch) == 0);
    MUST(ibv_dereg_mr(both.mr_a) == 0 && ibv_dereg_mr(both.mr_b) == 0);
    endpoint_close(&both.a);
    MUST(ibv_destroy_cq(both.b.cq) == 0 && ibv_dealloc_pd(both.b.pd) == 0);
    free(both.buf_a);
    free(both.buf_b);
}

static struct ibv_qp *qp_in_init(const struct both *both, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    init.send_cq = init.recv_cq = cq;
    struct ibv_qp *qp = ibv_create_qp(both->a.pd, &init);
    MUST(qp &&
         ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    return qp;
}

static void enter_error(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
}

/* CQ moderation (ibv_modify_cq()) is set to 3 completions and 30 ms. Three completions must cause
 * one event at once. Fewer must cause an event after 30 ms. */
static void moderated_events(void)
{
    enum { PERIOD_US = 30000 };
    struct both both;
    struct timespec start, end;
    both_open(&both, context);
    struct ibv_comp_channel *ch = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, ch, 0), *got;
    struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE << 1};
    struct ibv_device_attr_ex limits;
    void *user;
    MUST(ch && cq && ibv_query_device_ex(context, NULL, &limits) == 0);
    MUST(limits.cq_mod_caps.max_cq_count >= 3 && limits.cq_mod_caps.max_cq_period >= PERIOD_US);
    MUST(ibv_modify_cq(cq, &attr) == EINVAL);
    attr = (struct ibv_modify_cq_attr){IBV_CQ_ATTR_MODERATE, {3, PERIOD_US}};
    MUST(ibv_modify_cq(cq, &attr) == 0);
    /* A QP in the error state completes each posted receive at once (flush), so the test controls
     * when completions occur. */
    struct ibv_qp *qp = qp_in_init(&both, cq);
    enter_error(qp);
    for (unsigned sent = 1; sent <= 3; sent += 2) {
        MUST(ibv_req_notify_cq(cq, 0) == 0);
        MUST(clock_gettime(CLOCK_MONOTONIC, &start) == 0);
        for (unsigned i = 0; i < sent; i++)
            post_recv(qp, both.mr_a, i, 8);
        MUST(readable(ch->fd, sent == 3 ? 0 : 10000));
        MUST(ibv_get_cq_event(ch, &got, &user) == 0 && got == cq);
        MUST(clock_gettime(CLOCK_MONOTONIC, &end) == 0);
        if (sent == 1)
            MUST((end.tv_sec - start.tv_sec) * 1000000 + (end.tv_nsec - start.tv_nsec) / 1000 >=
                 PERIOD_US);
        MUST(!readable(ch->fd, 2 * PERIOD_US / 1000));
        ibv_ack_cq_events(cq, 1);
    }
    /* If moderation is switched off while an event is delayed, the event must be raised at once. */
    MUST(ibv_req_notify_cq(cq, 0) == 0);
    post_recv(qp, both.mr_a, 9, 8);
    attr.moderate = (struct ibv_moderate_cq){0, 0};
    MUST(ibv_modify_cq(cq, &attr) == 0 && readable(ch->fd, 0));
    MUST(ibv_get_cq_event(ch, &got, &user) == 0);
    ibv_ack_cq_events(cq, 1);
    MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(ch) == 0);
    both_close(&both);
}

static atomic_bool gone;

static void *destroy(void *cq)
{
    MUST(ibv_destroy_cq(cq) == 0);
    atomic_store(&gone, true);
    return NULL;
}

static void *wait_event(void *ch)
{
    struct ibv_cq *cq;
    void *user;
    MUST(ibv_get_cq_event(ch, &cq, &user) == 0);
    return cq;
}

/* Thread 1 got an event of a CQ and has not acknowledged it. Thread 2 calls ibv_destroy_cq(), which
 * must wait until thread 1 acknowledges the event. */
static void destroy_waits_for_acknowledged_events(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_comp_channel *ch = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, ch, 0);
    pthread_t thread;
    void *got;
    MUST(ch && cq && ibv_req_notify_cq(cq, 0) == 0);
    MUST(pthread_create(&thread, NULL, wait_event, ch) == 0);
    /* Cause the event: a QP in the error state flushes its receive into the CQ. */
    struct ibv_qp *qp = qp_in_init(&both, cq);
    post_recv(qp, both.mr_a, 5, 8);
    enter_error(qp);
    MUST(pthread_join(thread, &got) == 0 && got == cq);
    MUST(endpoint_wait(cq).status == IBV_WC_WR_FLUSH_ERR);
    MUST(ibv_destroy_qp(qp) == 0);
    atomic_store(&gone, false);
    MUST(pthread_create(&thread, NULL, destroy, cq) == 0);
    usleep(100000);
    MUST(!atomic_load(&gone));
    ibv_ack_cq_events(cq, 1);
    MUST(pthread_join(thread, NULL) == 0 && atomic_load(&gone));
    MUST(ibv_destroy_comp_channel(ch) == 0);
    both_close(&both);
}

/* ---- asynchronous events --------------------------------------------------------------------- */

static void affiliated_errors_are_events(void)
{
    struct both both;
    struct ibv_async_event event;
    int flags = fcntl(context->async_fd, F_GETFL);
    MUST(fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) == 0);
    errno = 0;
    MUST(ibv_get_async_event(context, &event) == -1 && errno == EAGAIN);
    MUST(fcntl(context->async_fd, F_SETFL, flags) == 0);
    both_open(&both, context);
    /* Move the QP to SQD, which drains the send queue. The event must report that it is drained. */
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
    MUST(ibv_modify_qp(both.a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
    event_is(IBV_EVENT_SQ_DRAINED, both.a.qp);
    attr.qp_state = IBV_QPS_RTS;
    MUST(ibv_modify_qp(both.a.qp, &attr, IBV_QP_STATE) == 0);
    /* Use a wrong R_Key: the responder must raise an asynchronous event. */
    MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey ^ 0x5a5a00, 8) ==
         IBV_WC_REM_ACCESS_ERR);
    event_is(IBV_EVENT_QP_ACCESS_ERR, both.b.qp);
    both_close(&both);
}

static void srq_limit_is_an_event(void)
{
    struct both both;
    both_open(&both, context);
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = 8, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(both.b.pd, &attr);
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    MUST(srq != NULL && ibv_destroy_qp(both.b.qp) == 0);
    init.srq = srq;
    init.send_cq = init.recv_cq = both.b.cq;
    MUST((both.b.qp = ibv_create_qp(both.b.pd, &init)) != NULL);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_RESET};
    MUST(ibv_modify_qp(both.a.qp, &to, IBV_QP_STATE) == 0);
    struct ibv_qp *qps[] = {both.a.qp, both.b.qp};
    for (unsigned i = 0; i < 2; i++) {
        to = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1};
        MUST(ibv_modify_qp(qps[i], &to,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
             0);
    }
    both_connect(&both);
    for (unsigned i = 0; i < 4; i++) {
        struct ibv_sge sge = {(uintptr_t)both.buf_b, 64, both.mr_b->lkey};
        struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
        MUST(ibv_post_srq_recv(srq, &wr, &bad) == 0);
    }
    struct ibv_srq_attr limit = {.srq_limit = 4};
    MUST(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0);
    post_send(both.a.qp, both.mr_a, 1, 8, IBV_SEND_SIGNALED);
    MUST(endpoint_wait(both.b.cq).status == IBV_WC_SUCCESS);
    event_is(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
    to.qp_state = IBV_QPS_ERR;
    MUST(ibv_modify_qp(both.b.qp, &to, IBV_QP_STATE) == 0);
    event_is(IBV_EVENT_QP_LAST_WQE_REACHED, both.b.qp);
    MUST(ibv_destroy_srq(srq) == EBUSY);
    MUST(ibv_destroy_qp(both.b.qp) == 0 && ibv_destroy_srq(srq) == 0);
    MUST(ibv_dereg_mr(both.mr_a) == 0 && ibv_dereg_mr(both.mr_b) == 0);
    endpoint_close(&both.a);
    MUST(ibv_destroy_cq(both.b.cq) == 0 && ibv_dealloc_pd(both.b.pd) == 0);
    free(both.buf_a);
    free(both.buf_b);
}

/* ---- fork, close, exit ----------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifndef ASAN
#define ASAN 0
#endif

/* Returns whether all other threads of this process sleep. */
static bool others_sleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    bool sleep = tasks != NULL;
    while (sleep && (entry = readdir(tasks)) != NULL) {
        char name[300], state = 'S';
        if (*entry->d_name == '.' || atoi(entry->d_name) == gettid())
            continue;
        snprintf(name, sizeof name, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(name, "re");
        if (file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1)
            sleep = state == 'S';
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return sleep;
}

/* Calls fork(). ASan does not take the locks of its allocator before fork(). If another thread has
 * one of these locks during the fork(), for example a thread that has just started, the child waits
 * forever. So with ASan, first waits until all other threads sleep, for at most a second. */
static pid_t fork_asleep(void)
{
    for (int ms = 0; ASAN && ms < 1000 && !others_sleep(); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return fork();
}

static void finish_child(pid_t pid)
{
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die("the child ended with status 0x%x", (unsigned)status);
}

/* In a child of fork(): calls on the parent's objects must fail, but the child must be able to
 * destroy its copies of them. */
static void refused_in_child(struct both *both)
{
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    struct ibv_sge sge = {(uintptr_t)both->buf_a, 8, both->mr_a->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad = NULL;
    struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv = NULL;
    struct ibv_wc wc;
    init.send_cq = init.recv_cq = both->a.cq;
    MUST(ibv_post_send(both->a.qp, &wr, &bad) == ENODEV && bad == &wr);
    MUST(ibv_post_recv(both->a.qp, &recv, &bad_recv) == ENODEV && bad_recv == &recv);
    MUST(ibv_poll_cq(both->a.cq, 1, &wc) == -1);
    MUST(!ibv_create_qp(both->a.pd, &init) && errno == ENODEV);
    MUST(ibv_attach_mcast(both->a.qp, &both->a.gid, 0) == ENODEV);
    MUST(ibv_rereg_mr(both->mr_a, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) != 0 &&
         errno == ENODEV);
    both_close(both);
    MUST(ibv_close_device(context) == 0);
}

/* Writes through two QPs that a child creates on `pd`, with their own CQ and memory. */
static void write_in_child(struct ibv_pd *pd)
{
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    struct both own = {.a = {.context = context, .pd = pd}, .b = {.context = context, .pd = pd}};
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    MUST((init.send_cq = init.recv_cq = ibv_create_cq(context, 32, NULL, NULL, 0)) != NULL);
    struct endpoint *ends[] = {&own.a, &own.b};
    for (int i = 0; i < 2; i++) {
        ends[i]->cq = init.send_cq;
        ends[i]->gid_idx = endpoint_gid(context, &ends[i]->gid);
        MUST((ends[i]->qp = ibv_create_qp(pd, &init)) != NULL);
        MUST(ibv_modify_qp(ends[i]->qp, &attr,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
             0);
    }
    both_memory(&own);
    both_connect(&own);
    MUST(both_write(&own, (uintptr_t)own.buf_b, own.mr_b->rkey, 4000) == IBV_WC_SUCCESS);
    MUST(memcmp(own.buf_a, own.buf_b, 4000) == 0);
    MUST(ibv_destroy_qp(own.a.qp) == 0 && ibv_destroy_qp(own.b.qp) == 0);
    MUST(ibv_dereg_mr(own.mr_a) == 0 && ibv_dereg_mr(own.mr_b) == 0);
    MUST(ibv_destroy_cq(init.send_cq) == 0);
    free(own.buf_a);
    free(own.buf_b);
}

/* A child creates new objects with the context and the PD of its parent, as a device with rdma_rxe
 * permits. So does a child of the child. */
static void parents_context_works_in_child(struct both *both)
{
    write_in_child(both->a.pd);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    MUST(pd != NULL);
    write_in_child(pd);
    pid_t pid = fork_asleep();
    if (pid == 0) {
        alarm(20);
        write_in_child(both->b.pd);
        write_in_child(pd);
        refused_in_child(both);
        _exit(0);
    }
    finish_child(pid);
    write_in_child(pd);
    MUST(ibv_dealloc_pd(pd) == 0);
    refused_in_child(both);
}

/* Forks five children: one calls _exit(), one calls exit(), one opens its own device, one tries to
 * use its parent's objects, and one uses only its parent's context and PDs. The parent's device
 * must work while the children run and afterwards. */
static void parent_and_child_keep_separate_devices(void)
{
    struct both both;
    both_open(&both, context);
    for (unsigned kind = 0; kind < 5; kind++) {
        fflush(stdout);
        pid_t pid = fork_asleep();
        if (pid == 0) {
            alarm(20);
            if (kind == 0)
                _exit(0);
            if (kind == 1)
                exit(0);
            if (kind == 4) {
                parents_context_works_in_child(&both);
                _exit(0);
            }
            if (kind == 3) {
                refused_in_child(&both);
                _exit(0);
            }
            struct both own;
            struct ibv_context *mine = endpoint_device(NULL);
            both_open(&own, mine);
            MUST(both_write(&own, (uintptr_t)own.buf_b, own.mr_b->rkey, 4000) == IBV_WC_SUCCESS);
            MUST(memcmp(own.buf_a, own.buf_b, 4000) == 0);
            both_close(&own);
            MUST(ibv_close_device(mine) == 0);
            _exit(0);
        }
        memset(both.buf_b, 0, BUF);
        MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey, 4000) == IBV_WC_SUCCESS);
        MUST(memcmp(both.buf_a, both.buf_b, 4000) == 0);
        finish_child(pid);
        MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey, 100) == IBV_WC_SUCCESS);
    }
    both_close(&both);
}

/* Process B uses, over its own QPs, the R_Key and address of a region of process A. This must fail
 * with a remote access error and change no memory. */
static void keys_of_another_process_open_nothing(void)
{
    struct both both;
    both_open(&both, context);
    fflush(stdout);
    pid_t pid = fork_asleep();
    if (pid == 0) {
        alarm(20);
        struct both own;
        struct ibv_context *mine = endpoint_device(NULL);
        both_open(&own, mine);
        uintptr_t theirs = (uintptr_t)both.buf_b;
        MUST(both_write(&own, theirs, both.mr_b->rkey, 64) == IBV_WC_REM_ACCESS_ERR);
        for (unsigned i = 0; i < 64; i++)
            /* The copy of the memory in this process must not change, either. */
            MUST(both.buf_b[i] == 0);
        both_close(&own);
        ibv_close_device(mine);
        _exit(0);
    }
    finish_child(pid);
    for (unsigned i = 0; i < 64; i++)
        MUST(both.buf_b[i] == 0);
    both_close(&both);
}

/* Closes a context while its objects still exist and a message is in flight. Another context of the
 * process must continue to work. */
static void close_with_objects(void)
{
    struct both kept, left;
    both_open(&kept, context);
    for (unsigned i = 0; i < 3; i++) {
        struct ibv_context *mine = endpoint_device(NULL);
        both_open(&left, mine);
        struct ibv_comp_channel *ch = ibv_create_comp_channel(mine);
        struct ibv_cq *cq = ibv_create_cq(mine, 8, NULL, ch, 0);
        MUST(ch && cq && ibv_req_notify_cq(cq, 0) == 0);
        union ibv_gid far = left.b.gid;
        post_recv(left.b.qp, left.mr_b, 1, 64);
        /* The message is still in flight when the context is closed. */
        post_send(left.a.qp, left.mr_a, 1, 64, IBV_SEND_SIGNALED);
        (void)far;
        MUST(ibv_close_device(mine) == 0);
        MUST(both_write(&kept, (uintptr_t)kept.buf_b, kept.mr_b->rkey, 100) == IBV_WC_SUCCESS);
        free(left.buf_a);
        free(left.buf_b);
    }
    both_close(&kept);
}

/* A child process ends while requests are in flight: by exit(), by _exit(), by exit() in another
 * thread, or after it closed the device. Its exit status must be 0. */
static void *end_process(void *unused)
{
    (void)unused;
    exit(0);
}

static void process_may_end_with_requests_in_flight(void)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        fflush(stdout);
        pid_t pid = fork_asleep();
        if (pid == 0) {
            alarm(20);
            struct both own;
            struct ibv_context *mine = endpoint_device(NULL);
            pthread_t thread;
            both_open(&own, mine);
            for (unsigned i = 0; i < 8; i++)
                post_recv(own.b.qp, own.mr_b, i, 64);
            for (unsigned i = 0; i < 8; i++)
                post_send(own.a.qp, own.mr_a, i, 64, IBV_SEND_SIGNALED);
            if (kind == 0)
                exit(0);
            if (kind == 1)
                _exit(0);
            if (kind == 2 && pthread_create(&thread, NULL, end_process, NULL) == 0)
                pthread_join(thread, NULL);
            ibv_close_device(mine);
            exit(0);
        }
        finish_child(pid);
    }
}

int main(int argc, char **argv)
{
    static const struct both_case cases[] = {
        {"channel_is_pollable", channel_is_pollable},
        {"moderated_events", moderated_events},
        {"destroy_waits_for_acknowledged_events", destroy_waits_for_acknowledged_events},
        {"affiliated_errors_are_events", affiliated_errors_are_events},
        {"srq_limit_is_an_event", srq_limit_is_an_event},
        {"parent_and_child_keep_separate_devices", parent_and_child_keep_separate_devices},
        {"close_with_objects", close_with_objects},
        {"keys_of_another_process_open_nothing", keys_of_another_process_open_nothing},
        {"process_may_end_with_requests_in_flight", process_may_end_with_requests_in_flight},
    };
    context = endpoint_device(NULL);
    int status = both_run(cases, sizeof cases / sizeof *cases, argc, argv);
    MUST(ibv_close_device(context) == 0);
    return status;
}

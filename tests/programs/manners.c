/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Manners: tests the device in programs that do unusual things with their process: frequent
 * signals, cancelled threads, chroot(), all descriptors closed. Each case runs in a separate
 * process.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "both.h"
#include "cancels.h"

static struct ibv_context *context;
static struct both both;

/* ---- signals during calls -------------------------------------------------------------------- */

static volatile sig_atomic_t signals;

static void count(int sig)
{
    (void)sig;
    signals++;
}

/* From now on, this process gets SIGALRM every half millisecond. `flags`: flags of sigaction() for
 * the handler. */
static void storm(int flags)
{
    const struct sigaction action = {.sa_handler = count, .sa_flags = flags};
    const struct itimerval often = {{0, 500}, {0, 500}};
    MUST(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
}

/* Thread: waits for a hundred signals, then moves the QP to ERR, which flushes a receive and so
 * causes a completion. */
static void *post_late(void *cq)
{
    (void)cq;
    while (signals < 100)
        usleep(1000);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    MUST(ibv_modify_qp(both.b.qp, &attr, IBV_QP_STATE) == 0);
    return NULL;
}

static void start(void *(*run)(void *), void *user, pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    MUST(pthread_create(thread, NULL, run, user) == 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Replaces both.b.qp by a QP in INIT with a posted receive. The CQ of this QP has a completion
 * channel. When the QP moves to ERR, the device flushes the receive to this CQ. */
static struct ibv_cq *with_channel(struct ibv_comp_channel **ch)
{
    struct ibv_qp_init_attr init = both_init(IBV_QPT_RC);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_cq *cq;
    MUST((*ch = ibv_create_comp_channel(context)) != NULL);
    MUST((cq = ibv_create_cq(context, 8, NULL, *ch, 0)) != NULL);
    MUST(ibv_req_notify_cq(cq, 0) == 0 && ibv_destroy_qp(both.b.qp) == 0);
    init.send_cq = init.recv_cq = cq;
    MUST((both.b.qp = ibv_create_qp(both.b.pd, &init)) != NULL);
    MUST(ibv_modify_qp(both.b.qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    post_recv(both.b.qp, both.mr_b, 1, 64);
    return cq;
}

/* A call that waits is interrupted by signals. After a handler with SA_RESTART it must continue.
 * After any other handler it must fail with EINTR, as read(2) of the kernel's device does
 * (signal(7)). */
static void sa_restart_continues_the_call(void)
{
    struct ibv_comp_channel *ch;
    struct ibv_cq *cq = with_channel(&ch), *got;
    pthread_t thread;
    void *user;
    storm(SA_RESTART);
    start(post_late, NULL, &thread);
    MUST(ibv_get_cq_event(ch, &got, &user) == 0 && got == cq && signals >= 100);
    ibv_ack_cq_events(cq, 1);
    MUST(pthread_join(thread, NULL) == 0);
}

static void signal_ends_the_call_with_eintr(void)
{
    struct ibv_async_event event;
    struct ibv_comp_channel *ch;
    struct ibv_cq *got;
    void *user;
    (void)with_channel(&ch);
    storm(0);
    errno = 0;
    MUST(ibv_get_cq_event(ch, &got, &user) == -1 && errno == EINTR);
    errno = 0;
    MUST(ibv_get_async_event(context, &event) == -1 && errno == EINTR);
}

/* Transfers data while signals arrive every half millisecond, with and without SA_RESTART. All data
 * must be right. */
static void transfers_survive_signal_storm(void)
{
    for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
        storm(flags);
        for (unsigned i = 0; i < 200; i++) {
            memset(both.buf_b, 0, BUF);
            MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey, BUF) == IBV_WC_SUCCESS);
            MUST(memcmp(both.buf_a, both.buf_b, BUF) == 0);
        }
    }
}

static void *wait_for_event(void *ch)
{
    struct ibv_cq *cq;
    void *user;
    ibv_get_cq_event(ch, &cq, &user);
    return NULL;
}

/* A thread that waits for an event is cancelled. It must end, and another thread must get the next
 * event. */
static void waiting_thread_can_be_cancelled(void)
{
    struct ibv_comp_channel *ch;
    struct ibv_cq *cq = with_channel(&ch), *got;
    pthread_t thread;
    void *result;
    if (CANCELS) {
        MUST(pthread_create(&thread, NULL, wait_for_event, ch) == 0);
        usleep(20000);
        MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        MUST(result == PTHREAD_CANCELED);
    }
    signals = 100;
    (void)post_late(NULL);
    MUST(ibv_get_cq_event(ch, &got, &result) == 0 && got == cq);
}

/* A thread waits for an event of a channel. The program destroys the channel, reuses its memory,
 * and cancels the thread. The thread must end. */
static void waiting_thread_outlives_its_channel(void)
{
    struct ibv_comp_channel *ch;
    pthread_t thread;
    void *result, *reused[64];
    if (!CANCELS)
        return;
    MUST((ch = ibv_create_comp_channel(context)) != NULL);
    MUST(pthread_create(&thread, NULL, wait_for_event, ch) == 0);
    usleep(20000);
    MUST(ibv_destroy_comp_channel(ch) == 0);
    for (size_t i = 0; i < 64; i++) {
        MUST((reused[i] = malloc(16 * i + 16)) != NULL);
        memset(reused[i], 1, 16 * i + 16);
    }
    MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    MUST(result == PTHREAD_CANCELED);
    for (size_t i = 0; i < 64; i++)
        free(reused[i]);
}

static struct ibv_comp_channel *channel;
static struct ibv_cq *notified; /* receive CQ of both.b.qp */

static void posts(void)
{
    post_send(both.a.qp, both.mr_a, 1, 64, IBV_SEND_SIGNALED);
}

static void polls(void)
{
    struct ibv_wc wc;
    (void)ibv_poll_cq(both.a.cq, 1, &wc);
}

static void registers(void)
{
    struct ibv_mr *mr = ibv_reg_mr(both.a.pd, both.buf_a, BUF, 0);
    MUST(mr && ibv_dereg_mr(mr) == 0);
}

static void opens(void)
{
    struct ibv_context *own = endpoint_device(NULL);
    MUST(own && ibv_close_device(own) == 0);
}

static void addresses(void)
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 1};
    attr.grh.dgid = both.b.gid;
    attr.grh.sgid_index = (uint8_t)both.a.gid_idx;
    struct ibv_ah *ah = ibv_create_ah(both.a.pd, &attr);
    MUST(ah && ibv_destroy_ah(ah) == 0);
}

/* Moves the QP to ERR. The flush of its receives causes an event on `channel`. */
static void stops(void)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    MUST(ibv_modify_qp(both.b.qp, &attr, IBV_QP_STATE) == 0);
    MUST(ibv_req_notify_cq(notified, 0) == 0);
}

static void takes(void)
{
    struct ibv_cq *got;
    void *user;
    MUST(ibv_get_cq_event(channel, &got, &user) == 0 && got == notified);
    ibv_ack_cq_events(got, 1);
}

struct cancelled {
    void (*step)(void);
    bool done;
};

static void *be_cancelled(void *user)
{
    struct cancelled *now = user;
    pthread_cancel(pthread_self());
    now->step();
    now->done = true;
    pthread_testcancel();
    return NULL;
}

/* For each call in `steps`: a thread is cancelled and then makes the call. The thread must end
 * where the call waits, or after the call. It must not end while it has a lock of the device. To
 * check this, another thread makes the same call. */
static void cancelled_thread_holds_no_lock(void)
{
    static void (*const steps[])(void) = {posts, polls, registers, opens, addresses, stops, takes};
    pthread_t thread;
    void *result;
    alarm(20);
    notified = with_channel(&channel);
    for (size_t i = 0; CANCELS && i < sizeof steps / sizeof *steps; i++) {
        struct cancelled now = {.step = steps[i]};
        MUST(pthread_create(&thread, NULL, be_cancelled, &now) == 0);
        MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        /* The function opens() may end before its last step, because open(2) and read(2) are
         * cancellation points. */
        if (steps[i] != opens)
            MUST(now.done == (steps[i] != takes));
        steps[i](); /* another thread must be able to make the call */
    }
}

/* ---- folders and descriptors ----------------------------------------------------------------- */

static void device_works_after_chroot(void)
{
    char folder[] = "/tmp/rnic-root-XXXXXX";
    struct both own;
    /* Remove the folder at once, so that it does not remain after the test. */
    MUST(mkdtemp(folder) && chdir(folder) == 0 && rmdir(folder) == 0);
    MUST(chroot(".") == 0);
    MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey, 64) == IBV_WC_SUCCESS);
    /* Must work without /proc, from which the device otherwise reads the mappings of registered
     * memory. */
    both_open(&own, context);
    MUST(both_write(&own, (uintptr_t)own.buf_b, own.mr_b->rkey, BUF) == IBV_WC_SUCCESS);
    MUST(!ibv_reg_mr(own.a.pd, NULL, BUF, 0) && errno == EFAULT);
    both_close(&own);
}

static double cpu(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Returns whether all threads together use less than `limit` seconds of CPU time in 300 ms. Tries
 * for up to 3 s, because on a slow machine earlier work may continue. */
static bool idle(double limit)
{
    for (unsigned i = 0; i < 10; i++) {
        double before = cpu();
        usleep(300000);
        if (cpu() - before < limit)
            return true;
    }
    return false;
}

/* From now on, system call number `call` fails with `error` in this thread and in threads that it
 * creates (seccomp). */
static void refuse(unsigned call, unsigned error)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

/* Simulates a container runtime that refuses newer system calls with EPERM. The device must work
 * without epoll_pwait2(). */
static void refused_system_call_is_replaced(void)
{
    both_close(&both);
    /* Closing the device also ends its thread. A new thread is needed, because refuse() does not
     * apply to existing threads. */
    MUST(ibv_close_device(context) == 0);
#ifdef SYS_epoll_pwait2
    refuse(SYS_epoll_pwait2, EPERM);
#endif
    context = endpoint_device(NULL);
    both_open(&both, context);
    MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey, BUF) == IBV_WC_SUCCESS);
    MUST(idle(0.03)); /* the device has no work, so it must not use CPU time */
}

/* The program closes all descriptors, including the descriptors of the device. The device is then
 * lost, but no call may hang and no thread may use CPU time. */
static void lose_device(void)
{
    struct ibv_sge sge = {(uintptr_t)both.buf_a, 64, both.mr_a->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {(uintptr_t)both.buf_b, both.mr_b->rkey}},
                       *bad;
    struct ibv_wc wc;
    MUST(idle(0.15));
    (void)ibv_post_send(both.a.qp, &wr, &bad);
    (void)ibv_poll_cq(both.a.cq, 1, &wc);
    both_close(&both);
    MUST(ibv_close_device(context) == 0);
}

/* Waits until all other threads of the process sleep, that is until the device's threads have no
 * work. */
static void await_rest(void)
{
    for (unsigned quiet = 0, tries = 0; quiet < 4; tries++) {
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *task;
        bool rest = true;
        MUST(tasks && tries < 4000);
        while ((task = readdir(tasks))) {
            char path[300], line[512] = "";
            if (*task->d_name == '.' || atoi(task->d_name) == getpid())
                continue;
            snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
            FILE *file = fopen(path, "r");
            const char *state = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
            rest &= !state || state[2] == 'S';
            if (file)
                fclose(file);
        }
        closedir(tasks);
        quiet = rest ? quiet + 1 : 0;
        usleep(5000);
    }
}

static void closed_descriptors_lose_the_device(void)
{
    await_rest();
    closefrom(3);
    lose_device();
}

#define OWN_FD 200 /* the device uses only descriptor numbers below this one */

static int own_file(int *far)
{
    *far = -1;
    return memfd_create("own", 0);
}

static int own_eventfd(int *far)
{
    *far = -1;
    return eventfd(0, EFD_NONBLOCK);
}

/* Duplicates `fd` to a number that the device does not use, and closes `fd`. Returns the new
 * number. */
static int out_of_the_way(int fd)
{
    int high = fcntl(fd, F_DUPFD, OWN_FD);
    MUST(high >= 0 && close(fd) == 0);
    return high;
}

static int own_socket(int *far)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int listener = out_of_the_way(socket(AF_INET, SOCK_STREAM, 0));
    MUST(bind(listener, (struct sockaddr *)&addr, len) == 0 && listen(listener, 1) == 0);
    MUST(getsockname(listener, (struct sockaddr *)&addr, &len) == 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    MUST(connect(fd, (struct sockaddr *)&addr, len) == 0);
    *far = out_of_the_way(accept(listener, NULL, NULL));
    MUST(close(listener) == 0);
    return fd;
}

/* The program closes the device's descriptors, and opens its own files, which get the same numbers.
 * The device must neither write to these files nor close them. */
static void own_descriptors(int (*open_own)(int *far))
{
    int far[40], its, fd = 0;
    char buf[8];
    struct stat is;
    notified = with_channel(&channel);
    await_rest();
    closefrom(3);
    for (int at = 3; at < 40; at = fd + 1) {
        MUST((fd = open_own(&its)) == at);
        far[fd] = its;
    }
    stops();
    lose_device();
    for (fd = 3; fd < 40; fd++) {
        MUST(fstat(fd, &is) == 0 && is.st_size == 0);
        if (open_own == own_eventfd)
            MUST(read(fd, buf, sizeof buf) < 0 && errno == EAGAIN);
        if (open_own == own_socket)
            MUST(recv(far[fd], buf, sizeof buf, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    }
}

static void own_files_are_not_written(void)
{
    own_descriptors(own_file);
}

static void own_eventfds_are_not_signaled(void)
{
    own_descriptors(own_eventfd);
}

static void own_sockets_get_no_data(void)
{
    own_descriptors(own_socket);
}

static atomic_bool over;

static void *open_and_close(void *unused)
{
    (void)unused;
    both_close(&both);
    /* Close the last device of the process, so that each open and close also opens and closes the
     * UDP port. */
    MUST(ibv_close_device(context) == 0);
    while (!over) {
        struct ibv_context *own = endpoint_device(NULL);
        MUST(own && ibv_close_device(own) == 0);
    }
    return NULL;
}

/* Calls fork() while another thread opens and closes a device. Both threads need the locks of all
 * layers of the library. They must not deadlock. */
static void forked_while_opening(void)
{
    pthread_t thread;
    alarm(20);
    MUST(pthread_create(&thread, NULL, open_and_close, NULL) == 0);
    for (unsigned i = 0; i < 40; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
    over = true;
    MUST(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    static const struct both_case cases[] = {
        {"sa_restart_continues_the_call", sa_restart_continues_the_call},
        {"signal_ends_the_call_with_eintr", signal_ends_the_call_with_eintr},
        {"transfers_survive_signal_storm", transfers_survive_signal_storm},
        {"waiting_thread_can_be_cancelled", waiting_thread_can_be_cancelled},
        {"waiting_thread_outlives_its_channel", waiting_thread_outlives_its_channel},
        {"cancelled_thread_holds_no_lock", cancelled_thread_holds_no_lock},
        {"device_works_after_chroot", device_works_after_chroot},
        {"refused_system_call_is_replaced", refused_system_call_is_replaced},
        {"closed_descriptors_lose_the_device", closed_descriptors_lose_the_device},
        {"own_files_are_not_written", own_files_are_not_written},
        {"own_eventfds_are_not_signaled", own_eventfds_are_not_signaled},
        {"own_sockets_get_no_data", own_sockets_get_no_data},
        {"forked_while_opening", forked_while_opening},
    };
    setbuf(stdout, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        printf("%-28s", cases[i].name);
        pid_t pid = fork();
        if (pid == 0) {
            context = endpoint_device(NULL);
            both_open(&both, context);
            cases[i].run();
            _exit(0);
        }
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (status != 0)
            die("the case ended with status 0x%x", (unsigned)status);
        printf(" ok\n");
    }
    puts("all cases passed");
    return 0;
}

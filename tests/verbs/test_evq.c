/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/suite.h"
#include "verbs/evq.h"

static bool readable(const struct evq *evq)
{
    struct pollfd fd = {.fd = evq->fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static void nonblocking(struct evq *evq)
{
    CU_ASSERT_FATAL(evq_init(evq) == 0);
    CU_ASSERT(fcntl(evq->fd, F_SETFL, fcntl(evq->fd, F_GETFL) | O_NONBLOCK) == 0);
}

static void events_come_in_order(void)
{
    static char objects[1000];
    struct evq evq;
    struct evq_entry entry;
    unsigned reported = 0;
    nonblocking(&evq);
    EXPECT_EQ(evq_get(&evq, &entry), EAGAIN);
    CU_ASSERT_FALSE(readable(&evq));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++)
            EXPECT_EQ(evq_push(&evq, &(struct evq_entry){&objects[i], i, &reported}), 0);
        CU_ASSERT(readable(&evq));
        for (int i = 0; i < 1000; i++) {
            EXPECT_EQ(evq_get(&evq, &entry), 0);
            CU_ASSERT(entry.object == &objects[i] && entry.type == i);
            EXPECT_EQ(reported, round * 1000 + i + 1);
        }
        CU_ASSERT_FALSE(readable(&evq));
        EXPECT_EQ(evq_get(&evq, &entry), EAGAIN);
    }
    evq_free(&evq);
}

static void purge_removes_one_objects_events(void)
{
    int a = 0, b = 0;
    struct evq evq;
    struct evq_entry entry;
    unsigned of_a = 0, of_b = 0;
    nonblocking(&evq);
    for (int i = 0; i < 40; i++)
        evq_push(&evq, &(struct evq_entry){i % 3 ? &a : &b, i, i % 3 ? &of_a : &of_b});
    for (int i = 0; i < 4; i++)
        evq_get(&evq, &entry);
    EXPECT_EQ(evq_purge(&evq, &a, &of_a), 2);
    for (int i = 6; i < 40; i += 3) {
        EXPECT_EQ(evq_get(&evq, &entry), 0);
        CU_ASSERT(entry.object == &b && entry.type == i);
    }
    CU_ASSERT_FALSE(readable(&evq));
    evq_push(&evq, &(struct evq_entry){&a, 0, NULL});
    EXPECT_EQ(evq_purge(&evq, &a, NULL), 0);
    CU_ASSERT_FALSE(readable(&evq));
    EXPECT_EQ(evq_purge(&evq, &a, NULL), 0);
    EXPECT_EQ(evq_get(&evq, &entry), EAGAIN);
    evq_free(&evq);
}

static void *take_all(void *arg)
{
    struct evq_entry entry;
    long sum = 0;
    while (evq_get(arg, &entry) == 0 && entry.type >= 0)
        sum += entry.type;
    return (void *)sum;
}

/* With several waiting readers and a writer, each event is read exactly once. */
static void push_wakes_waiters(void)
{
    enum { READERS = 4, EVENTS = 20000 };
    pthread_t readers[READERS];
    struct evq evq;
    long sum = 0;
    CU_ASSERT_FATAL(evq_init(&evq) == 0);
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, take_all, &evq);
    for (int i = 1; i <= EVENTS; i++)
        evq_push(&evq, &(struct evq_entry){NULL, i, NULL});
    for (int i = 0; i < READERS; i++)
        evq_push(&evq, &(struct evq_entry){NULL, -1, NULL});
    for (int i = 0; i < READERS; i++) {
        void *part;
        pthread_join(readers[i], &part);
        sum += (long)part;
    }
    EXPECT_EQ(sum, (long)EVENTS * (EVENTS + 1) / 2);
    evq_free(&evq);
}

/* The child has a separate, empty queue. The event of the parent stays in the parent's queue. */
static void child_has_empty_queue(void)
{
    struct evq evq;
    struct evq_entry entry;
    nonblocking(&evq);
    evq_push(&evq, &(struct evq_entry){NULL, 1, NULL});
    evq_before_fork();
    pid_t pid = fork();
    if (pid == 0) {
        evq_child_forked();
        bool good = !readable(&evq) && evq_get(&evq, &entry) == EAGAIN &&
                    evq_push(&evq, &(struct evq_entry){NULL, 2, NULL}) == 0 && readable(&evq) &&
                    evq_get(&evq, &entry) == 0 && entry.type == 2;
        _exit(good ? 0 : 1);
    }
    evq_parent_forked();
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    CU_ASSERT(readable(&evq));
    EXPECT_EQ(evq_get(&evq, &entry), 0);
    EXPECT_EQ(entry.type, 1);
    evq_free(&evq);
}

/* In the child, the descriptor of the event queue keeps the flags that the program set. If the
 * program has assigned the descriptor number to another file, the number still belongs to that
 * file. */
static void child_keeps_descriptor_flags(void)
{
    for (unsigned kind = 0; kind < 5; kind++) {
        struct evq evq;
        CU_ASSERT_FATAL(evq_init(&evq) == 0);
        int cloexec = kind & 1 ? FD_CLOEXEC : 0, nonblock = kind & 2 ? O_NONBLOCK : 0;
        CU_ASSERT(fcntl(evq.fd, F_SETFD, cloexec) == 0 && fcntl(evq.fd, F_SETFL, nonblock) == 0);
        int pipes[2] = {-1, -1};
        if (kind == 4)
            CU_ASSERT_FATAL(pipe(pipes) == 0 && dup2(pipes[1], evq.fd) == evq.fd);
        evq_before_fork();
        pid_t pid = fork();
        if (pid == 0) {
            evq_child_forked();
            bool good = fcntl(evq.fd, F_GETFD) == cloexec &&
                        (fcntl(evq.fd, F_GETFL) & O_NONBLOCK) == nonblock &&
                        (kind < 4 || write(evq.fd, "x", 1) == 1);
            _exit(good ? 0 : 1);
        }
        evq_parent_forked();
        int status = -1;
        waitpid(pid, &status, 0);
        EXPECT_EQ(status, 0);
        struct pollfd came = {.fd = pipes[0], .events = POLLIN};
        if (kind == 4)
            CU_ASSERT(poll(&came, 1, 0) == 1);
        evq_free(&evq);
        close(pipes[0]);
        close(pipes[1]);
    }
}

SUITE("verbs.evq", TEST(events_come_in_order), TEST(purge_removes_one_objects_events),
      TEST(push_wakes_waiters), TEST(child_has_empty_queue), TEST(child_keeps_descriptor_flags))

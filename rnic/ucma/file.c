/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Files: the rdma_cm channels that the program has open, and the events queued for the program in
 * each channel. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "port/sys/event_fd.h"
#include "ucma/ucma.h"
#include "verbs/device.h"
#include "verbs/waiters.h"

/* A thread that waits in poll(2) is expected to read an event at most this time (ns) after
 * uc_post() has queued the event. */
#define EVENT_READ_NS UINT64_C(100000000)
#define STEP_NS       UINT64_C(1000000)

pthread_mutex_t uc_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uc_file *files;
static struct waiters waiters; /* threads that wait for an event of any file */

static void init_files(void)
{
    waiters_init(&waiters, &uc_lock);
    uc_register_fork_handlers();
}

struct uc_file *uc_file_of(int fd)
{
    struct uc_file *file = files;
    while (file && file->fd != fd)
        file = file->next;
    return file;
}

int vcma_open(int flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct uc_file *file = calloc(1, sizeof *file);
    if (!file) {
        errno = ENOMEM;
        return -1;
    }
    pthread_once(&once, init_files);
    file->fd = rnic_event_fd_new((flags & O_CLOEXEC ? EFD_CLOEXEC : 0) |
                                 (flags & O_NONBLOCK ? EFD_NONBLOCK : 0));
    if (file->fd < 0) {
        free(file);
        return -1;
    }
    file->last = &file->first;
    int held = rnic_lock_uncancelable(&uc_lock);
    int result = uc_worker_start();
    if (result == 0) {
        file->next = files;
        files = file;
    }
    rnic_unlock_uncancelable(&uc_lock, held);
    if (result != 0) {
        rnic_tagged_close(file->fd);
        free(file);
        errno = -result;
        return -1;
    }
    return file->fd;
}

int vcma_close(int fd)
{
    int held = rnic_lock_uncancelable(&uc_lock);
    struct uc_file *file = uc_file_of(fd);
    if (file) {
        for (struct uc_id *id = uc_ids, *next; id; id = next) {
            next = id->next;
            if (id->file == file) {
                uc_id_del(id);
                next = uc_ids; /* restart the loop, because uc_id_del() may also delete other ids */
            }
        }
        for (struct uc_file **at = &files; *at; at = &(*at)->next)
            if (*at == file) {
                *at = file->next;
                break;
            }
        free(file);
        uc_worker_wake();
    }
    rnic_unlock_uncancelable(&uc_lock, held);
    return close(fd);
}

/* ---- queued events of a channel -------------------------------------------------------------- */

static void clear_fd(const struct uc_file *file)
{
    struct pollfd fd = {.fd = file->fd, .events = POLLIN};
    if (poll(&fd, 1, 0) > 0)
        rnic_event_fd_clear(file->fd);
}

void uc_files_forked(void)
{
    waiters_init(&waiters, &uc_lock);
    for (struct uc_file *file = files; file; file = file->next) {
        rnic_event_fd_renew(file->fd);
        file->inherited = true;
        file->first = NULL; /* queued events belong to the parent */
        file->last = &file->first;
    }
}

struct uc_event *uc_event_new(struct uc_id *id, enum ucma_event_type type, int status)
{
    struct uc_event *event = calloc(1, sizeof *event);
    if (!event)
        return NULL;
    event->id = id;
    event->resp.uid = id->uid;
    event->resp.id = id->handle;
    event->resp.event = type;
    event->resp.status = (uint32_t)status;
    return event;
}

void uc_post(struct uc_event *event)
{
    struct uc_file *file = event->id->file;
    bool was_empty = !file->first;
    event->next = NULL;
    event->at = rnic_live_now();
    *file->last = event;
    file->last = &event->next;
    if (was_empty)
        rnic_event_fd_signal(file->fd);
    waiters_wake(&waiters);
}

static struct uc_event *unlink_event(struct uc_file *file, struct uc_event **at)
{
    struct uc_event *event = *at;
    *at = event->next;
    if (!event->next)
        file->last = at;
    if (!file->first)
        clear_fd(file);
    return event;
}

struct uc_event *uc_take_event(struct uc_file *file, const struct uc_id *id,
                               const struct uc_mcast *mcast)
{
    struct uc_event **at = &file->first;
    while (*at && ((id && (*at)->id != id) || (mcast && (*at)->mcast != mcast)))
        at = &(*at)->next;
    return *at ? unlink_event(file, at) : NULL;
}

int uc_get_event(struct uc_file *file, struct rdma_ucm_event_resp *resp)
{
    struct uc_event *event = uc_take_event(file, NULL, NULL);
    if (!event)
        return -EAGAIN;
    *resp = event->resp;
    file->reader = pthread_self();
    file->read = true;
    file->late = false;
    event->id->reported++;
    if (event->mcast)
        event->mcast->reported++;
    if (event->child)
        event->id->backlog++;
    free(event);
    return 0;
}

/* Returns the time until which another thread is expected to read the queued events of the id.
 * Returns 0 if the id has no queued events. */
static rnic_time events_fresh_until(const struct uc_file *file, uint32_t handle)
{
    rnic_time until = 0;
    for (const struct uc_event *event = file->first; event; event = event->next)
        if (event->id->handle == handle && event->at + EVENT_READ_NS > until)
            until = event->at + EVENT_READ_NS;
    return until;
}

/*
 * Called before the current thread deletes an id. In another thread, poll(2) may have reported an
 * event of this id that the thread has not read yet. Waits until that thread has read the event.
 *
 * Without this wait, deleting the id would delete the event, and the other thread would wait for
 * another event, perhaps forever. Example: rping (rdma-core 59 and later) deletes an id with an
 * unread event when it ends, and then hangs. With the rdma_cm of Linux, rping can hang, too
 * (core/ucma.c, ucma_free_ctx), but seldom, because the kernel needs longer to delete an id.
 *
 * The function waits only for the thread that read the previous event of the channel. If that is
 * the current thread, the function does not wait. The wait ends EVENT_READ_NS after the event was
 * queued. If the event is still unread then, this function stops waiting in later calls, until a
 * thread reads an event of the channel.
 */
void uc_wait_for_reader(const struct uc_id *id)
{
    const struct timespec step = rnic_timespec(STEP_NS);
    struct uc_file *file = id->file;
    const int fd = file->fd;
    const uint32_t handle = id->handle;
    rnic_time until;
    while (file && file->read && !file->late && !pthread_equal(file->reader, pthread_self()) &&
           (until = events_fresh_until(file, handle)) != 0) {
        file->late = rnic_live_now() >= until;
        pthread_mutex_unlock(&uc_lock);
        nanosleep(&step, NULL);
        pthread_mutex_lock(&uc_lock);
        file = uc_file_of(fd); /* search the channel again, because another thread may have closed
                                * it */
    }
}

void uc_discard_request(const struct uc_id *child)
{
    struct uc_file *file = child->file;
    struct uc_event **at = &file->first;
    while (*at && (*at)->child != child)
        at = &(*at)->next;
    if (*at)
        free(unlink_event(file, at));
}

void uc_move_events(struct uc_id *id, struct uc_file *to)
{
    struct uc_file *from = id->file;
    struct uc_event *event;
    struct uc_event *list = NULL, **last = &list;
    while ((event = uc_take_event(from, id, NULL)) != NULL) {
        *last = event;
        last = &event->next;
        event->next = NULL;
        if (event->child) /* the id of the new connection moves to the other channel together with
                           * its CONNECT_REQUEST event */
            event->child->file = to;
    }
    id->file = to;
    while ((event = list) != NULL) {
        list = event->next;
        uc_post(event);
    }
}

/* ---- system calls on a channel --------------------------------------------------------------- */

/* Returns whether a read on the descriptor blocks until there is an event; false with O_NONBLOCK.
 */
static bool is_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && !(flags & O_NONBLOCK);
}

/* Called if a child of fork() uses a channel of its parent: warns once, and returns the error. */
static int refuse_inherited(void)
{
    static bool warned;
    if (!warned)
        verbs_warn(
            "rdma_cm: process %ld cannot use event channels that its parent opened before fork()",
            (long)getpid());
    warned = true;
    return -ENODEV;
}

ssize_t vcma_write(int fd, const void *buf, size_t len)
{
    struct rdma_ucm_cmd_hdr hdr;
    struct waiter waiter;
    int result = -EINVAL;
    pthread_testcancel(); /* this function is a cancellation point, as write(2) is */
    if (len >= sizeof hdr) {
        memcpy(&hdr, buf, sizeof hdr);
        do {
            int held = rnic_lock_uncancelable(&uc_lock);
            struct uc_file *file = uc_file_of(fd);
            if (!file)
                result = -EBADF;
            else if (hdr.in > len - sizeof hdr)
                result = -EINVAL;
            else if (file->inherited && hdr.cmd != RDMA_USER_CM_CMD_DESTROY_ID)
                result = refuse_inherited();
            else
                result = uc_command(file, &hdr, (const char *)buf + sizeof hdr, hdr.in);
            if (hdr.cmd == RDMA_USER_CM_CMD_REJECT || hdr.cmd == RDMA_USER_CM_CMD_DISCONNECT ||
                hdr.cmd == RDMA_USER_CM_CMD_DESTROY_ID)
                uc_worker_flush();
            bool later =
                hdr.cmd == RDMA_USER_CM_CMD_GET_EVENT && result == -EAGAIN && is_blocking(fd);
            if (later)
                waiters_add(&waiters, &waiter);
            rnic_unlock_uncancelable(&uc_lock, held);
            if (!later)
                break;
            result = -waiters_wait(&waiter); /* waits until an event or a signal arrives */
        } while (result == 0);
        /* Another thread closed the descriptor during this call, as rping does at its end. With a
         * kernel CM, the call keeps the file open and waits until the process ends. So this
         * function also waits. */
        if (result == -EBADF && hdr.cmd == RDMA_USER_CM_CMD_GET_EVENT) {
            pause();
            result = -EINTR;
        }
    }
    if (result < 0) {
        errno = -result;
        return -1;
    }
    return (ssize_t)len;
}

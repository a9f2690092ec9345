/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shared/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "port/shared/registry.h"

#define LISTENS 0x10000u /* listening-socket flag in /proc/net/unix: __SO_ACCEPTCON */

/* Limit of one process's description in bytes. 262,144 QPs (RNIC_BLOCKS_MAX) need about 20 MB of
 * text. */
#define TEXT_MAX ((off_t)64 << 20)

/* PATIENCE_MS: time within which the other processes must send their descriptions, ms. ASKED_MAX:
 * maximum number of processes that receive a request at the same time. */
#define PATIENCE_MS 2000
#define ASKED_MAX   128u

/* A message of one byte and one descriptor. CMSG_SPACE rounds the size of the buffer up, so a
 * received message can have two descriptors. The struct contains pointers to itself and must not be
 * copied. */
struct parcel {
    char byte;
    struct iovec iov;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr msg;
};

static void parcel_init(struct parcel *parcel)
{
    memset(parcel, 0, sizeof(*parcel));
    parcel->iov = (struct iovec){.iov_base = &parcel->byte, .iov_len = 1};
    parcel->msg = (struct msghdr){.msg_iov = &parcel->iov,
                                  .msg_iovlen = 1,
                                  .msg_control = parcel->control,
                                  .msg_controllen = sizeof(parcel->control)};
}

/* ---- answering other processes --------------------------------------------------------------- */

int rnic_process_listen(const char *iface)
{
    int fd = -EADDRINUSE;

    /* Use the first free name. The name proc/<pid> may be taken by another device of this process,
     * or by a process with this pid in another PID namespace. */
    for (unsigned i = 0; i < 1000 && fd == -EADDRINUSE; i++) {
        char name[48];

        if (i == 0)
            snprintf(name, sizeof(name), "proc/%d", (int)getpid());
        else
            snprintf(name, sizeof(name), "proc/%d.%u", (int)getpid(), i);
        fd = rnic_registry_bind_as(SOCK_STREAM, iface, name);
    }
    if (fd >= 0 && listen(fd, 16) < 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return fd;
}

/* Sends the text as a memory file, so that the sender never blocks however long the text is. */
static void send_text(int to, int file)
{
    struct parcel parcel;
    struct cmsghdr *head;

    parcel_init(&parcel);
    head = CMSG_FIRSTHDR(&parcel.msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof(int));
    (void)sendmsg(to, &parcel.msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void rnic_process_answer(int fd, void (*describe)(void *user, FILE *out), void *user)
{
    int to = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    FILE *out = NULL;
    int file = -1;

    if (to < 0)
        return;
    if (getsockopt(to, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == 0 || peer.uid == geteuid()))
        file = memfd_create("rnic", MFD_CLOEXEC);
    if (file >= 0)
        out = fdopen(file, "w");
    if (out) {
        describe(user, out);
        fflush(out);
        send_text(to, file);
        fclose(out);
    } else if (file >= 0) {
        close(file);
    }
    close(to);
}

/* ---- asking other processes ------------------------------------------------------------------ */

/* Replaces control characters for a terminal. Bytes above 0x7F are also replaced, because they can
 * be control characters. */
static void make_printable(char *text)
{
    for (char *p = text; *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\n') || (unsigned char)*p >= 0x7F)
            *p = '?';
}

/* Returns the text of a memory file. The sender is not trusted: the text is limited to TEXT_MAX,
 * and control characters for a terminal are replaced. Returns NULL if out of memory, and for any
 * other kind of file, because reading it might block. */
static char *read_text(int file)
{
    off_t size = fcntl(file, F_GET_SEALS) < 0 ? -1 : lseek(file, 0, SEEK_END);
    size_t most = size < TEXT_MAX ? (size_t)size : TEXT_MAX;
    char *text = size < 0 ? NULL : malloc(most + 1);
    ssize_t len;

    if (!text)
        return NULL;
    len = pread(file, text, most, 0);
    text[len > 0 ? len : 0] = 0;
    make_printable(text);
    return text;
}

/* Returns the text of the first received descriptor and closes all received descriptors. A message
 * can have two descriptors, because CMSG_SPACE rounds the size of its buffer up. */
static char *text_of(const struct cmsghdr *head)
{
    size_t cnt = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    char *text = NULL;

    for (size_t i = 0; i < cnt; i++) {
        int file;

        memcpy(&file, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
        if (i == 0)
            text = read_text(file);
        close(file);
    }
    return text;
}

/* A process to which this process has sent a request for a description, and its answer. */
struct asked {
    struct rnic_process process;
    int fd; /* connection, or -1 */
};

/* Returns true if this process may see the processes of user `uid`: root sees all processes, any
 * other user only the own processes. */
static bool is_listed(uid_t uid)
{
    return geteuid() == 0 || uid == geteuid();
}

/* Returns true if this process may see process `pid`, a pid taken from a registry name. */
static bool is_listed_pid(int pid)
{
    char path[32];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", pid);
    return stat(path, &st) == 0 && is_listed(st.st_uid);
}

/* Connects to the process without waiting. Returns false if the process has ended or belongs to
 * another user. The user id comes from the kernel (SO_PEERCRED), because a process of any user can
 * listen under the name. */
static bool begin_asking(struct asked *asked, const char *name)
{
    struct sockaddr_un addr;
    int len = rnic_registry_address(&addr, asked->process.iface, name);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    asked->fd = len < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (asked->fd < 0)
        return false;
    if (connect(asked->fd, (const struct sockaddr *)&addr, (socklen_t)len) == 0) {
        if (getsockopt(asked->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
            is_listed(peer.uid)) {
            if (peer.pid > 0)
                asked->process.pid = peer.pid;
            return true;
        }
    } else if (errno == EAGAIN && is_listed_pid(asked->process.pid)) {
        /* the process's connection queue is full, so the process exists but is stopped */
        close(asked->fd);
        asked->fd = -1;
        return true;
    }
    close(asked->fd);
    asked->fd = -1;
    return false;
}

/* Receives the description that a process sent, if any, and closes the connection. */
static void end_asking(struct asked *asked)
{
    struct parcel parcel;
    struct cmsghdr *head;

    parcel_init(&parcel);
    if (asked->fd >= 0 && recvmsg(asked->fd, &parcel.msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) > 0) {
        head = CMSG_FIRSTHDR(&parcel.msg);
        if (head && head->cmsg_type == SCM_RIGHTS)
            asked->process.text = text_of(head);
    }
    if (asked->fd >= 0)
        close(asked->fd);
    asked->fd = -1;
    if (!asked->process.text)
        asked->process.text = calloc(1, 1);
}

static uint64_t now_ms(void)
{
    return rnic_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Receives the descriptions of all processes that send one before the deadline. */
static void collect_texts(struct asked *asked, unsigned cnt, uint64_t deadline)
{
    unsigned left = cnt;

    while (left > 0) {
        struct pollfd wait[ASKED_MAX];
        uint64_t now = now_ms();

        for (unsigned i = 0; i < cnt; i++)
            wait[i] = (struct pollfd){.fd = asked[i].fd, .events = POLLIN};
        left = 0;
        if (poll(wait, cnt, now < deadline ? (int)(deadline - now) : 0) < 0 && errno == EINTR) {
            left = 1;
            continue;
        }
        for (unsigned i = 0; i < cnt; i++) {
            if (now >= deadline || wait[i].revents || asked[i].fd < 0) {
                if (!asked[i].process.text)
                    end_asking(&asked[i]);
            } else {
                left++;
            }
        }
    }
}

/* Splits "@rnic/<interface>/proc/<pid>[.n]" into its parts. Returns false for any other text. */
static bool split(const char *at, struct rnic_process *out, char *name, size_t cap)
{
    const char *slash = strstr(at, "/proc/");
    size_t len;

    if (strncmp(at, "@" RNIC_REGISTRY_PREFIX, sizeof("@" RNIC_REGISTRY_PREFIX) - 1) != 0 || !slash)
        return false;
    at += sizeof("@" RNIC_REGISTRY_PREFIX) - 1;
    len = (size_t)(slash - at);
    if (slash < at || len >= sizeof(out->iface))
        return false;
    memset(out, 0, sizeof(*out));
    memcpy(out->iface, at, len);
    snprintf(name, cap, "%s", slash + 1);
    name[strcspn(name, "\n")] = 0;
    out->pid = atoi(slash + sizeof("/proc/") - 1);
    return out->pid > 0;
}

/* Reads the next name of a process from /proc/net/unix and sends a request to the process. Returns
 * false at the end of the file. */
static bool ask_next(FILE *names, struct asked *asked)
{
    char line[512];

    while (fgets(line, sizeof(line), names)) {
        const char *at = strchr(line, '@');
        unsigned flags = 0;
        char name[64];

        /* The fields of a line are "Num: RefCount Protocol Flags ...". An accepted connection also
         * has its listener's name, so only listening sockets count. */
        if (at && sscanf(line, "%*s %*s %*s %x", &flags) == 1 && (flags & LISTENS) &&
            split(at, &asked->process, name, sizeof(name)) && begin_asking(asked, name)) {
            make_printable(asked->process.iface);
            return true;
        }
    }
    return false;
}

/* Appends the processes to which requests were sent to the list *out. Returns 0 or a negative
 * errno. */
static int append_asked(struct rnic_process **out, size_t *cnt, struct asked *asked, unsigned more)
{
    struct rnic_process *grown = realloc(*out, (*cnt + more) * sizeof(**out));
    int error = grown ? 0 : -ENOMEM;

    if (grown)
        *out = grown;
    for (unsigned i = 0; i < more; i++) {
        if (!asked[i].process.text)
            error = -ENOMEM;
        if (grown)
            grown[(*cnt)++] = asked[i].process;
        else
            free(asked[i].process.text);
    }
    return error;
}

int rnic_process_list(struct rnic_process **out, size_t *cnt)
{
    FILE *names = fopen("/proc/net/unix", "re");
    uint64_t deadline = now_ms() + PATIENCE_MS;
    bool more = true;
    int error = 0;

    *out = NULL;
    *cnt = 0;
    if (!names)
        return -errno;
    while (more && !error) {
        struct asked asked[ASKED_MAX];
        unsigned begun = 0;

        while (begun < ASKED_MAX && (more = ask_next(names, &asked[begun])))
            begun++;
        collect_texts(asked, begun, deadline);
        if (begun > 0)
            error = append_asked(out, cnt, asked, begun);
    }
    fclose(names);
    if (error) {
        rnic_process_free(*out, *cnt);
        *out = NULL;
        *cnt = 0;
    }
    return error;
}

void rnic_process_free(struct rnic_process *list, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++)
        free(list[i].text);
    free(list);
}

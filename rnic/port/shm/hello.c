/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shm/hello.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/shared/qpn_alloc.h"
#include "port/shared/registry.h"
#include "port/sys/fd_tag.h"

#define MAGIC   0x32484d53u /* "SMH2" in memory */
#define BACKLOG 512         /* maximum number of connections that are not accepted yet */
/* maximum number of messages that one call of shm_hello_drain() reads, because a peer can send
 * messages without end */
#define DRAIN_MAX 64u

/* A message with one descriptor. A received message can have two, because CMSG_SPACE rounds the
 * size of `control` up. */
struct envelope {
    struct iovec iov;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr msg;
};

static void envelope_init(struct envelope *envelope, struct shm_hello *hello)
{
    memset(envelope, 0, sizeof(*envelope));
    envelope->iov = (struct iovec){.iov_base = hello, .iov_len = sizeof(*hello)};
    envelope->msg = (struct msghdr){.msg_iov = &envelope->iov,
                                    .msg_iovlen = 1,
                                    .msg_control = envelope->control,
                                    .msg_controllen = sizeof(envelope->control)};
}

static void block_name(char name[32], uint32_t block, bool first)
{
    snprintf(name, 32, "%s/%u.%u", first ? "shm" : "shm-more", (unsigned)geteuid(),
             (unsigned)block);
}

static bool is_this_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int shm_hello_listen(const char *iface, uint32_t block, bool first)
{
    char name[32];
    int fd;

    block_name(name, block, first);
    fd = rnic_registry_bind_as(SOCK_SEQPACKET, iface, name);
    if (fd < 0)
        return fd;
    if (rnic_fd_tag(fd) < 0)
        return -errno;
    if (listen(fd, BACKLOG) < 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return fd;
}

/* Checks that the process at the other end of a connected socket belongs to this user, and tags the
 * socket as opened by the device (port/sys/fd_tag.h). Closes the socket on failure. Returns `fd` or
 * a negative errno. */
static int check_peer(int fd)
{
    if (rnic_fd_tag(fd) < 0)
        return -errno;
    if (is_this_user(fd))
        return fd;
    close(fd);
    return -EPERM;
}

int shm_hello_accept(int fd)
{
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    return peer < 0 ? -errno : check_peer(peer);
}

static int connect_name(const char *iface, uint32_t block, bool first)
{
    struct sockaddr_un addr;
    char name[32];
    int len;
    int fd;

    block_name(name, block, first);
    len = rnic_registry_address(&addr, iface, name);
    if (len < 0)
        return len;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&addr, (socklen_t)len) < 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return check_peer(fd);
}

int shm_hello_connect(const char *iface, uint32_t block)
{
    int fd = connect_name(iface, block, true);

    return fd == -ECONNREFUSED ? connect_name(iface, block, false) : fd;
}

int shm_hello_send(int fd, const struct shm_hello *hello, int file)
{
    struct shm_hello copy = *hello;
    struct envelope envelope;
    struct cmsghdr *head;

    copy.magic = MAGIC;
    envelope_init(&envelope, &copy);
    head = CMSG_FIRSTHDR(&envelope.msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    envelope.msg.msg_controllen = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof(int));
    return sendmsg(fd, &envelope.msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns the first descriptor of a message, or -1, and closes all others. */
static int file_of(struct msghdr *msg)
{
    int file = -1;

    for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
        size_t cnt = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < cnt; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
            if (file < 0)
                file = fd;
            else
                close(fd);
        }
    }
    return file;
}

int shm_hello_recv(int fd, struct shm_hello *hello, int *file)
{
    struct envelope envelope;
    ssize_t len;

    envelope_init(&envelope, hello);
    len = recvmsg(fd, &envelope.msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (len < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPROTO;
    *file = file_of(&envelope.msg);
    if (*file < 0 && (envelope.msg.msg_flags & MSG_CTRUNC))
        return -EMFILE;
    if (len == sizeof(*hello) && *file >= 0 && hello->magic == MAGIC &&
        hello->block >= RNIC_BLOCK_FIRST && hello->block <= RNIC_BLOCK_LAST &&
        memchr(hello->iface, 0, sizeof(hello->iface)))
        return 0;
    if (*file >= 0)
        close(*file);
    *file = -1;
    return -EPROTO;
}

void shm_hello_wake(int fd)
{
    /* Errors are ignored: if the socket's queue is full, the other end already has bytes to
     * read. */
    if (rnic_fd_is_tagged(fd))
        (void)send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool shm_hello_drain(int fd)
{
    char byte;

    for (unsigned i = 0; i < DRAIN_MAX; i++) {
        ssize_t len = recv(fd, &byte, 1, MSG_DONTWAIT);

        if (len < 0)
            return errno == EAGAIN || errno == EINTR;
        if (len == 0)
            return false;
    }
    return true;
}

/* ---- the names of other processes ------------------------------------------------------------ */

/* Splits "@rnic/<interface>/shm/<user id>.<block>" into its parts. Returns false for any other text
 * and for another user. */
static bool split_name(const char *at, char iface[RNIC_IFNAME_MAX], uint32_t *block)
{
    static const char prefix[] = "@" RNIC_REGISTRY_PREFIX;
    const char *slash = strstr(at, "/shm/");
    unsigned uid;
    unsigned number;
    size_t len;

    if (strncmp(at, prefix, sizeof(prefix) - 1) != 0 || !slash)
        return false;
    at += sizeof(prefix) - 1;
    if (slash <= at || (len = (size_t)(slash - at)) >= RNIC_IFNAME_MAX ||
        sscanf(slash, "/shm/%u.%u", &uid, &number) != 2 || uid != (unsigned)geteuid() ||
        number < RNIC_BLOCK_FIRST || number > RNIC_BLOCK_LAST)
        return false;
    memset(iface, 0, RNIC_IFNAME_MAX);
    memcpy(iface, at, len);
    *block = number;
    return true;
}

int shm_hello_list(void (*fn)(void *user, const char *iface, uint32_t block), void *user)
{
    FILE *names = fopen("/proc/net/unix", "re");
    char line[512];

    if (!names)
        return -errno;
    while (fgets(line, sizeof(line), names)) {
        const char *at = strchr(line, '@');
        char iface[RNIC_IFNAME_MAX];
        uint32_t block;

        if (at && split_name(at, iface, &block))
            fn(user, iface, block);
    }
    fclose(names);
    return 0;
}

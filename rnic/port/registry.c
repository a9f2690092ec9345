/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX  "rnic/"
#define LISTENS 0x10000u /* in /proc/net/unix: __SO_ACCEPTCON */

/* Of what a process says of itself: 262,144 QPs (RNIC_BLOCKS_MAX) have some 20 MB of lines. */
#define TEXT_MAX ((off_t)64 << 20)

/* Fills an abstract address; its length, or -ENAMETOOLONG. */
static int address(struct sockaddr_un *addr, const char *iface, const char *name)
{
    int len;

    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, PREFIX "%s/%s", iface, name);
    if (len < 0 || (size_t)len >= sizeof(addr->sun_path) - 1)
        return -ENAMETOOLONG;
    return (int)offsetof(struct sockaddr_un, sun_path) + 1 + len;
}

static int bind_as(int type, const char *iface, const char *name)
{
    struct sockaddr_un addr;
    int len = address(&addr, iface, name);
    int fd;
    int error;

    if (len < 0)
        return len;
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&addr, (socklen_t)len) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

int rnic_registry_bind(const char *iface, const char *name)
{
    int fd = bind_as(SOCK_DGRAM, iface, name);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR); /* nobody can fill it */
    return fd;
}

/* A datagram socket is connected to whatever has the name, without the other's doing. */
bool rnic_registry_held(const char *iface, const char *name)
{
    struct sockaddr_un addr;
    int len = address(&addr, iface, name);
    int fd = len < 0 ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool free_now;

    if (fd < 0)
        return len >= 0;
    free_now =
        connect(fd, (const struct sockaddr *)&addr, (socklen_t)len) < 0 && errno == ECONNREFUSED;
    close(fd);
    return !free_now;
}

/* ---- QPNs ------------------------------------------------------------------------------------ */

struct block_name {
    char text[32];
};

static struct block_name name_of_block(uint32_t number)
{
    struct block_name name;

    snprintf(name.text, sizeof(name.text), "qpnblk/%u", number);
    return name;
}

bool rnic_registry_block_held(const char *iface, uint32_t number)
{
    return rnic_registry_held(iface, name_of_block(number).text);
}

static int bind_block(const struct rnic_qpns *qpns, uint32_t number)
{
    if (qpns->whole)
        return -1;
    return rnic_registry_bind(qpns->iface, name_of_block(number).text);
}

static bool has_block(const struct rnic_qpns *qpns, uint32_t number)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        if (qpns->block[i].number == number)
            return true;
    return false;
}

/* Claims a block, trying from an unpredictable one on: who starts after a crash does not get the
 * QPNs that the crashed process's peers still send to. */
static int claim_block(struct rnic_qpns *qpns, struct rnic_entropy *entropy)
{
    const uint32_t cnt = RNIC_BLOCK_LAST - RNIC_BLOCK_FIRST + 1;
    uint32_t start = rnic_entropy_u32(entropy) % cnt;
    struct rnic_block *grown;

    if (qpns->block_cnt == RNIC_BLOCKS_MAX)
        return -ENOSPC;
    grown = realloc(qpns->block, (qpns->block_cnt + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    qpns->block = grown;
    for (uint32_t i = 0; i < cnt; i++) {
        uint32_t number = RNIC_BLOCK_FIRST + (start + i) % cnt;
        int fd;

        if (has_block(qpns, number))
            continue;
        fd = bind_block(qpns, number);
        if (fd == -EADDRINUSE)
            continue;
        if (fd < 0 && !qpns->whole)
            return fd;
        grown += qpns->block_cnt++;
        memset(grown, 0, sizeof(*grown));
        grown->number = number;
        grown->fd = fd;
        grown->free = RNIC_BLOCK_QPNS;
        return 0;
    }
    return -ENOSPC;
}

int rnic_qpns_init(struct rnic_qpns *qpns, const char *iface, bool whole,
                   struct rnic_entropy *entropy)
{
    memset(qpns, 0, sizeof(*qpns));
    snprintf(qpns->iface, sizeof(qpns->iface), "%s", iface);
    qpns->whole = whole;
    return claim_block(qpns, entropy);
}

void rnic_qpns_drop(struct rnic_qpns *qpns)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++) {
        if (qpns->block[i].fd >= 0)
            close(qpns->block[i].fd);
        qpns->block[i].fd = -1;
    }
}

int rnic_qpns_restore(struct rnic_qpns *qpns)
{
    for (unsigned i = 0; i < qpns->block_cnt && !qpns->whole; i++) {
        int fd = bind_block(qpns, qpns->block[i].number);

        if (fd < 0) {
            rnic_qpns_drop(qpns);
            return fd;
        }
        qpns->block[i].fd = fd;
    }
    return 0;
}

void rnic_qpns_fini(struct rnic_qpns *qpns)
{
    rnic_qpns_drop(qpns);
    free(qpns->block);
    memset(qpns, 0, sizeof(*qpns));
}

static bool bit_get(const uint64_t *bits, uint32_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static void bit_flip(uint64_t *bits, uint32_t at)
{
    bits[at / 64] ^= UINT64_C(1) << (at % 64);
}

/* The QPN that rested longest is free. */
static void end_rest(struct rnic_block *block)
{
    uint32_t at = block->rest[block->rest_first];

    block->rest_first = (block->rest_first + 1) % RNIC_QPNS_REST;
    block->rest_cnt--;
    bit_flip(block->resting, at);
    bit_flip(block->used, at);
    block->free++;
}

/* What is left anywhere, or NULL. */
static struct rnic_block *last_resort(struct rnic_qpns *qpns)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        if (qpns->block[i].free > 0)
            return &qpns->block[i];
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        if (qpns->block[i].rest_cnt > 0) {
            end_rest(&qpns->block[i]);
            return &qpns->block[i];
        }
    return NULL;
}

uint32_t rnic_qpns_get(struct rnic_qpns *qpns, struct rnic_entropy *entropy, bool *grew)
{
    struct rnic_block *block = NULL;
    uint32_t at;

    *grew = false;
    /* A block is left before it is full: numbers stay hard to guess, and a free one is found soon.
     */
    for (unsigned i = 0; i < qpns->block_cnt && !block; i++)
        if (qpns->block[i].free > RNIC_BLOCK_QPNS / 4)
            block = &qpns->block[i];
    if (!block && claim_block(qpns, entropy) == 0) {
        block = &qpns->block[qpns->block_cnt - 1];
        *grew = true;
    }
    if (!block)
        block = last_resort(qpns);
    if (!block)
        return 0;
    at = rnic_entropy_u32(entropy) % RNIC_BLOCK_QPNS;
    while (bit_get(block->used, at))
        at = (at + 1) % RNIC_BLOCK_QPNS;
    bit_flip(block->used, at);
    block->free--;
    return block->number * RNIC_BLOCK_QPNS + at;
}

void rnic_qpns_put(struct rnic_qpns *qpns, uint32_t qpn)
{
    uint32_t at = qpn % RNIC_BLOCK_QPNS;

    for (unsigned i = 0; i < qpns->block_cnt; i++) {
        struct rnic_block *block = &qpns->block[i];

        if (block->number != qpn / RNIC_BLOCK_QPNS || !bit_get(block->used, at) ||
            bit_get(block->resting, at))
            continue;
        if (block->rest_cnt == RNIC_QPNS_REST)
            end_rest(block);
        block->rest[(block->rest_first + block->rest_cnt++) % RNIC_QPNS_REST] = (uint16_t)at;
        bit_flip(block->resting, at);
    }
}

/* ---- telling other processes ------------------------------------------------------------------
 */

int rnic_registry_listen(const char *iface)
{
    int fd = -EADDRINUSE;

    /* A process with several devices on the interface, or one of the same number in another PID
     * namespace, takes the next name. */
    for (unsigned i = 0; i < 1000 && fd == -EADDRINUSE; i++) {
        char name[48];

        if (i == 0)
            snprintf(name, sizeof(name), "proc/%d", (int)getpid());
        else
            snprintf(name, sizeof(name), "proc/%d.%u", (int)getpid(), i);
        fd = bind_as(SOCK_STREAM, iface, name);
    }
    if (fd >= 0 && listen(fd, 16) < 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return fd;
}

/* The text goes as a memory file, so that its length never makes the sender wait. */
static void send_text(int to, int file)
{
    char byte = 0;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head;

    memset(&control, 0, sizeof(control));
    head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof(int));
    (void)sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void rnic_registry_answer(int fd, void (*describe)(void *user, FILE *out), void *user)
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

/* ---- asking them ------------------------------------------------------------------------------
 */

/* The text in a memory file, as anybody may have made it up: no more than a process has to say, and
 * nothing that a terminal would obey. NULL of another file: to read that might wait. */
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
    for (char *p = text; *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7F)
            *p = '?';
    return text;
}

/* The text in the first of the descriptors that came: there is room for two. */
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

/* Connects to a process and returns its text, "" if it gives none; NULL without memory or when it
 * went away meanwhile. */
static char *ask(const char *iface, const char *name, int *pid)
{
    static const struct timeval patience = {.tv_sec = 2};
    struct sockaddr_un addr;
    int len = address(&addr, iface, name);
    int fd = len < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct ucred peer;
    socklen_t size = sizeof(peer);
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head;
    char *text = NULL;
    bool there;

    if (fd < 0)
        return NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* of connect() too */
    if (connect(fd, (const struct sockaddr *)&addr, (socklen_t)len) == 0) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0)
            *pid = peer.pid;
        if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) > 0) {
            head = CMSG_FIRSTHDR(&msg);
            if (head && head->cmsg_type == SCM_RIGHTS)
                text = text_of(head);
        }
        there = true;
    } else {
        there = errno == EAGAIN; /* more ask than it has room for: it is stopped */
    }
    if (there && !text)
        text = calloc(1, 1);
    close(fd);
    return text;
}

/* Splits "@rnic/<interface>/proc/<pid>[.n]": false for any other line. */
static bool split(const char *at, struct rnic_process *out, char *name, size_t cap)
{
    const char *slash = strstr(at, "/proc/");
    size_t len;

    if (strncmp(at, "@" PREFIX, sizeof("@" PREFIX) - 1) != 0 || !slash)
        return false;
    at += sizeof("@" PREFIX) - 1;
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

int rnic_process_list(struct rnic_process **out, size_t *cnt)
{
    FILE *names = fopen("/proc/net/unix", "re");
    char line[512];
    int error = 0;

    *out = NULL;
    *cnt = 0;
    if (!names)
        return -errno;
    while (!error && fgets(line, sizeof(line), names)) {
        const char *at = strchr(line, '@');
        struct rnic_process process;
        struct rnic_process *grown;
        unsigned flags = 0;
        char name[64];

        /* "Num: RefCount Protocol Flags ...": a connection's end has the name of its listener. */
        if (!at || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & LISTENS) ||
            !split(at, &process, name, sizeof(name)))
            continue;
        process.text = ask(process.iface, name, &process.pid);
        if (!process.text)
            continue; /* it ended meanwhile */
        grown = realloc(*out, (*cnt + 1) * sizeof(**out));
        if (!grown) {
            free(process.text);
            error = -ENOMEM;
            continue;
        }
        *out = grown;
        grown[(*cnt)++] = process;
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

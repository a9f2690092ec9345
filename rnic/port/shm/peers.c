/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shm/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "port/shm/hello.h"
#include "port/sys/fd_tag.h"

#define PEERS_MAX  4096u /* maximum number of rings in each direction: one per QPN block */
#define EVENTS_MAX 64
/* Number of rings in each direction with pages that are mapped when the ring is created. The pages
 * of further rings are mapped when frames use them, because a process with many peers communicates
 * with few of them. */
#define PREFAULT_RINGS 4u
#define ACCEPT_MAX     64u /* maximum number of connections accepted by one accept_peers() */

/* ---- the epoll set --------------------------------------------------------------------------- */

static int watch_socket(struct shm_peers *peers, int fd, void *socket)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = socket}};

    return epoll_ctl(peers->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Adds a listening socket to the epoll set (EPOLL_CTL_ADD). With EPOLL_CTL_MOD, makes the epoll set
 * report the socket again if it still has connections to accept. EPOLLET: the epoll set reports
 * each new connection only once. Otherwise, if no descriptor is left to accept a connection, the
 * connection would wake the process in a loop. */
static int watch_name(struct shm_peers *peers, int op, struct shm_name *name)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.ptr = name}};

    return epoll_ctl(peers->epoll_fd, op, name->fd, &event) < 0 ? -errno : 0;
}

/* Removes a socket from the epoll set and closes it. close() alone does not remove it while a child
 * of fork() has a copy of the descriptor. */
static void close_socket(struct shm_peers *peers, int fd)
{
    struct epoll_event event = {.events = 0};

    if (rnic_fd_is_tagged(fd))
        epoll_ctl(peers->epoll_fd, EPOLL_CTL_DEL, fd, &event);
    rnic_tagged_close(fd);
}

/* Stores `error` if it is a lack of descriptors or memory. Returns `error`. */
static int note_shortage(struct shm_peers *peers, int error)
{
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS)
        peers->shortage = error;
    return error;
}

/* Appends a pointer to an array. Returns false if out of memory or at the limit. */
static bool append_pointer(void *array, unsigned *cnt, void *pointer)
{
    void **old;
    void **grown;

    memcpy(&old, array, sizeof(old));
    if (*cnt >= PEERS_MAX)
        return false;
    grown = realloc(old, (*cnt + 1) * sizeof(*grown));
    if (!grown)
        return false;
    grown[(*cnt)++] = pointer;
    memcpy(array, &grown, sizeof(grown));
    return true;
}

/* ---- rings to peers -------------------------------------------------------------------------- */

static const struct shm_host *find_host(const struct shm_peers *peers, const char *iface)
{
    for (size_t i = 0; i < peers->host_cnt; i++)
        if (strcmp(peers->host[i].name, iface) == 0)
            return &peers->host[i];
    return NULL;
}

static void free_out(struct shm_peers *peers, struct shm_out *out)
{
    close_socket(peers, out->fd);
    shm_segment_unmap(&out->segment);
    free(out);
}

/* Creates the memory of the ring `out` and sends its file to the peer. Returns 0 or a negative
 * errno. */
static int offer_ring(struct shm_peers *peers, struct shm_out *out)
{
    struct shm_hello hello = {.block = peers->name_cnt ? peers->name[0].block : 0};
    int file = shm_segment_new(peers->ring, &out->segment);
    int error;

    if (file < 0)
        return file;
    if (peers->out_cnt < PREFAULT_RINGS)
        shm_segment_prefault(&out->segment);
    memcpy(hello.iface, peers->iface, sizeof(hello.iface));
    shm_writer_init(&out->writer, &out->segment.memory);
    error = shm_hello_send(out->fd, &hello, file);
    close(file);
    return error;
}

/* Connects to the process that has claimed the QPN block `block`. Returns the ring from this
 * process to that one, or NULL. */
static struct shm_out *connect_peer(struct shm_peers *peers, const struct shm_host *host,
                                    uint32_t block, bool first)
{
    struct shm_out *out = calloc(1, sizeof(*out));
    int error;

    if (!out)
        return NULL;
    out->kind = SHM_WRITES;
    out->block = block;
    out->first = first;
    memcpy(out->iface, host->name, sizeof(out->iface));
    memcpy(out->mac, host->mac, sizeof(out->mac));
    out->fd = shm_hello_connect(host->name, block);
    error = out->fd < 0 ? out->fd : offer_ring(peers, out);
    if (!error)
        error = watch_socket(peers, out->fd, out);
    if (note_shortage(peers, error) || !append_pointer(&peers->out, &peers->out_cnt, out)) {
        free_out(peers, out);
        return NULL;
    }
    return out;
}

static bool owns_name(const struct shm_peers *peers, const char *iface, uint32_t block)
{
    if (strcmp(iface, peers->iface) != 0)
        return false;
    for (unsigned i = 0; i < peers->name_cnt; i++)
        if (peers->name[i].block == block)
            return true;
    return false;
}

/* Connects to a process by the name of its first QPN block. Does nothing for this process itself
 * and for connected processes. */
static void meet_peer(void *user, const char *iface, uint32_t block)
{
    struct shm_peers *peers = user;
    const struct shm_host *host = find_host(peers, iface);

    if (!host || owns_name(peers, iface, block))
        return;
    for (unsigned i = 0; i < peers->out_cnt; i++) {
        struct shm_out *out = peers->out[i];

        if (out->block == block && !out->ended && strcmp(out->iface, iface) == 0) {
            out->first = true;
            return;
        }
    }
    (void)connect_peer(peers, host, block, true);
}

struct shm_out *shm_peers_find(struct shm_peers *peers, const uint8_t mac[6], uint32_t block)
{
    struct shm_out *found = peers->found;

    if (found && found->block == block && memcmp(found->mac, mac, 6) == 0)
        return found;
    found = NULL;
    for (unsigned i = 0; i < peers->out_cnt && !found; i++)
        if (peers->out[i]->block == block && !peers->out[i]->ended &&
            memcmp(peers->out[i]->mac, mac, 6) == 0)
            found = peers->out[i];
    for (size_t i = 0; i < peers->host_cnt && !found; i++)
        if (memcmp(peers->host[i].mac, mac, 6) == 0)
            found = connect_peer(peers, &peers->host[i], block, false);
    peers->found = found;
    return found;
}

void shm_out_end(struct shm_peers *peers, struct shm_out *out)
{
    out->ended = true;
    if (peers->found == out)
        peers->found = NULL;
}

/* ---- rings from peers ------------------------------------------------------------------------ */

static void free_in(struct shm_peers *peers, struct shm_in *in)
{
    close_socket(peers, in->fd);
    shm_segment_unmap(&in->segment);
    free(in);
}

void shm_in_end(struct shm_peers *peers, struct shm_in *in)
{
    struct epoll_event event = {.events = 0};

    if (!in->ended && rnic_fd_is_tagged(in->fd))
        /* remove the socket: a closed connection stays readable, so the epoll set would report it
         * forever */
        epoll_ctl(peers->epoll_fd, EPOLL_CTL_DEL, in->fd, &event);
    in->ended = true;
}

/* Receives the hello of a new peer, maps its ring, and connects back. */
static void greet_peer(struct shm_peers *peers, struct shm_in *in)
{
    struct shm_hello hello;
    int file = -1;
    int error = note_shortage(peers, shm_hello_recv(in->fd, &hello, &file));

    if (error == -EAGAIN)
        return;
    if (!error) {
        error = shm_segment_map(file, &in->segment);
        close(file);
    }
    if (error) {
        shm_in_end(peers, in);
        return;
    }
    if (peers->in_cnt <= PREFAULT_RINGS)
        shm_segment_prefault(&in->segment);
    shm_reader_init(&in->reader, &in->segment.memory);
    shm_reader_sleeps(&in->reader, peers->sleeps);
    in->greeted = true;
    meet_peer(peers, hello.iface, hello.block);
}

static void accept_peers(struct shm_peers *peers, struct shm_name *name)
{
    for (unsigned i = 0; i < ACCEPT_MAX; i++) {
        int fd = shm_hello_accept(name->fd);
        struct shm_in *in;

        if (note_shortage(peers, fd) == -EPERM)
            continue;
        if (fd < 0)
            return;
        in = calloc(1, sizeof(*in));
        if (!in) {
            close(fd);
            return;
        }
        in->kind = SHM_READS;
        in->fd = fd;
        if (watch_socket(peers, fd, in) != 0 || !append_pointer(&peers->in, &peers->in_cnt, in))
            free_in(peers, in);
        else
            greet_peer(peers, in); /* usually the peer has already sent its hello message on the new
                                    * connection */
    }
    (void)watch_name(peers, EPOLL_CTL_MOD, name);
}

/* ---- managing all peers ---------------------------------------------------------------------- */

void shm_peers_check(struct shm_peers *peers)
{
    struct epoll_event events[EVENTS_MAX];
    int cnt = epoll_wait(peers->epoll_fd, events, EVENTS_MAX, 0);

    for (int i = 0; i < cnt; i++) {
        enum shm_socket kind;

        memcpy(&kind, events[i].data.ptr, sizeof(kind));
        if (kind == SHM_LISTENS) {
            accept_peers(peers, events[i].data.ptr);
        } else if (kind == SHM_READS) {
            struct shm_in *in = events[i].data.ptr;

            if (!in->greeted)
                greet_peer(peers, in);
            else if (!shm_hello_drain(in->fd))
                shm_in_end(peers, in);
        } else {
            struct shm_out *out = events[i].data.ptr;

            if (!shm_hello_drain(out->fd))
                shm_out_end(peers, out);
        }
    }
}

void shm_peers_sweep(struct shm_peers *peers)
{
    unsigned before = peers->out_cnt + peers->in_cnt;

    for (unsigned i = 0; i < peers->out_cnt;) {
        if (peers->out[i]->ended) {
            free_out(peers, peers->out[i]);
            peers->out[i] = peers->out[--peers->out_cnt];
        } else {
            i++;
        }
    }
    for (unsigned i = 0; i < peers->in_cnt;) {
        struct shm_in *in = peers->in[i];

        if (in->ended && (!in->greeted || !shm_reader_ready(&in->reader))) {
            free_in(peers, in);
            peers->in[i] = peers->in[--peers->in_cnt];
        } else {
            i++;
        }
    }
    /* the freed rings have closed descriptors, so connections that found none can be accepted
     * now */
    for (unsigned i = 0; peers->out_cnt + peers->in_cnt < before && i < peers->name_cnt; i++)
        (void)watch_name(peers, EPOLL_CTL_MOD, &peers->name[i]);
}

int shm_peers_listen(struct shm_peers *peers, uint32_t block)
{
    struct shm_name *name = &peers->name[peers->name_cnt];
    int error;
    int fd;

    if (peers->name_cnt == RNIC_BLOCKS_MAX)
        return -ENOSPC;
    fd = shm_hello_listen(peers->iface, block, peers->name_cnt == 0);
    if (fd < 0)
        return fd;
    *name = (struct shm_name){.kind = SHM_LISTENS, .fd = fd, .block = block};
    error = watch_name(peers, EPOLL_CTL_ADD, name);
    if (error) {
        close(fd);
        return error;
    }
    /* This process claims its name before it reads the names of other processes. So if two
     * processes start at the same time, at least one finds the name of its peer. */
    if (++peers->name_cnt == 1)
        return shm_hello_list(meet_peer, peers);
    return 0;
}

void shm_peers_hosts(struct shm_peers *peers, const struct rnic_iface *list, size_t cnt)
{
    struct shm_host *host = malloc((cnt + 1) * sizeof(*host));

    if (!host)
        return;
    for (size_t i = 0; i < cnt; i++) {
        memcpy(host[i].name, list[i].name, sizeof(host[i].name));
        memcpy(host[i].mac, list[i].mac, sizeof(host[i].mac));
    }
    free(peers->host);
    peers->host = host;
    peers->host_cnt = cnt;
    for (unsigned i = 0; i < peers->out_cnt; i++) {
        const struct shm_host *has = find_host(peers, peers->out[i]->iface);

        if (has)
            memcpy(peers->out[i]->mac, has->mac, sizeof(peers->out[i]->mac));
    }
    peers->found = NULL;
}

int shm_peers_init(struct shm_peers *peers, const char *iface, uint32_t ring)
{
    *peers = (struct shm_peers){.ring = ring};
    strncpy(peers->iface, iface, sizeof(peers->iface) - 1);
    peers->epoll_fd = rnic_fd_tag(epoll_create1(EPOLL_CLOEXEC));
    return peers->epoll_fd < 0 ? -errno : 0;
}

void shm_peers_drop(struct shm_peers *peers)
{
    rnic_tagged_close(peers->epoll_fd);
    for (unsigned i = 0; i < peers->name_cnt; i++)
        rnic_tagged_close(peers->name[i].fd);
    for (unsigned i = 0; i < peers->in_cnt; i++)
        rnic_tagged_close(peers->in[i]->fd);
    for (unsigned i = 0; i < peers->out_cnt; i++)
        rnic_tagged_close(peers->out[i]->fd);
}

void shm_peers_close(struct shm_peers *peers)
{
    shm_peers_drop(peers);
    for (unsigned i = 0; i < peers->in_cnt; i++) {
        shm_segment_unmap(&peers->in[i]->segment);
        free(peers->in[i]);
    }
    for (unsigned i = 0; i < peers->out_cnt; i++) {
        shm_segment_unmap(&peers->out[i]->segment);
        free(peers->out[i]);
    }
    free(peers->in);
    free(peers->out);
    free(peers->host);
}

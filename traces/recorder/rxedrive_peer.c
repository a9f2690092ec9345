/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The control channel of rxedrive: one TCP connection; right listens. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "recorder/rxedrive.h"

enum {
    CONTROL_PORT = 18600,
    CONNECT_TRIES = 300, /* attempts to connect, one each 0.1 s, because the other side may start
                          * later */
    SILENCE_S = 90,      /* timeout, s; longer than the slowest step of a scenario */
};

void peer_connect(struct rig *rig)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(CONTROL_PORT)};
    struct timeval silence = {.tv_sec = SILENCE_S};
    int one = 1, fd = -1, listener;

    if (inet_pton(AF_INET, rig->opt.control[RIGHT], &addr.sin_addr) != 1)
        fatal("bad control address %s", rig->opt.control[RIGHT]);
    if (rig->opt.me == RIGHT) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1))
            fatal("control address: %s", strerror(errno));
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        for (int tries = 0; tries < CONNECT_TRIES; tries++) {
            fd = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
                break;
            close(fd);
            fd = -1;
            usleep(100000);
        }
    }
    if (fd < 0)
        fatal("no control connection");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
    rig->control_fd = fd;
}

void peer_exchange(struct rig *rig, const void *mine, void *theirs, size_t len)
{
    uint8_t *to = theirs;
    ssize_t got;

    if (send(rig->control_fd, mine, len, MSG_NOSIGNAL) != (ssize_t)len)
        fatal("control connection: cannot send");
    for (size_t have = 0; have < len; have += got) {
        got = recv(rig->control_fd, to + have, len - have, 0);
        if (got <= 0)
            fatal("control connection: the other side is gone");
    }
}

uint64_t peer_meet(struct rig *rig, uint64_t value)
{
    uint64_t theirs;

    peer_exchange(rig, &value, &theirs, sizeof(value));
    return theirs;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The TCP connection between the two ends of random_verbs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bulk_verbs/random_verbs.h"

enum { CONTROL_PORT = 18600, WAIT_SECONDS = 12 };

void peer_connect(struct end *end)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(CONTROL_PORT)};
    const int one = 1;
    struct timeval wait = {.tv_sec = WAIT_SECONDS};
    int sock = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, end->control, &addr.sin_addr);
    if (end->opt.side == RIGHT) {
        setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
        if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) || listen(sock, 1))
            fail("control port: %s", strerror(errno));
        end->sock = accept(sock, NULL, NULL);
        close(sock);
        if (end->sock < 0)
            fail("no peer: %s", strerror(errno));
    } else {
        for (int i = 0; connect(sock, (struct sockaddr *)&addr, sizeof(addr)); i++) {
            if (i == 100)
                fail("no peer: %s", strerror(errno));
            close(sock);
            usleep(50000);
            sock = socket(AF_INET, SOCK_STREAM, 0);
        }
        end->sock = sock;
    }
    setsockopt(end->sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(end->sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
}

void peer_send(struct end *end, const struct message *message)
{
    if (!end->peer_gone &&
        send(end->sock, message, sizeof(*message), MSG_NOSIGNAL) != sizeof(*message))
        end->peer_gone = true;
}

static void handle(struct end *end, const struct message *message)
{
    if (message->kind == MESSAGE_DONE)
        end->peer_done = true;
    else if (message->kind == MESSAGE_KEY && message->a < MAX_QPS)
        end->q[message->a].peer_mw = message->b;
    else if (message->kind == MESSAGE_KEY)
        end->peer.rkey[KEY_ALL] = message->b;
}

bool peer_wait(struct end *end, uint32_t kind, struct message *message)
{
    while (!end->peer_gone) {
        if (recv(end->sock, message, sizeof(*message), MSG_WAITALL) != sizeof(*message))
            end->peer_gone = true;
        else if (message->kind == kind)
            return true;
        else
            handle(end, message);
    }
    return false;
}

void peer_poll(struct end *end)
{
    struct message message;
    ssize_t got;

    while (!end->peer_gone) {
        got = recv(end->sock, &message, sizeof(message), MSG_DONTWAIT | MSG_PEEK);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0 || recv(end->sock, &message, sizeof(message), MSG_WAITALL) != sizeof(message))
            end->peer_gone = true;
        else
            handle(end, &message);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM talk: reads rdma_cm commands from standard input, one in each line, and executes them. Prints
 * each event with its status and the text in its private data. The test cm_peer.py controls this
 * program.
 *
 *   listen ADDRESS PORT | connect ADDRESS PORT | find ADDRESS PORT (a UD service)
 *   accept | establish | reject TEXT | disconnect | leave TEXT (reject, and end at once)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rdma_event_channel *channel;
/* Id that the commands use: the id of the latest connection request if there was one, otherwise the
 * id that this program created. */
static struct rdma_cm_id *id;
static struct sockaddr_in to;

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "cm_talk: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static struct rdma_conn_param param_of(const char *text, uint32_t qpn)
{
    return (struct rdma_conn_param){.private_data = text,
                                    .private_data_len = (uint8_t)strlen(text),
                                    .responder_resources = 1,
                                    .initiator_depth = 1,
                                    .retry_count = 7,
                                    .qp_num = qpn};
}

static void command(char *line)
{
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = 0;
    if (strcmp(line, "listen") == 0 || strcmp(line, "connect") == 0 || strcmp(line, "find") == 0) {
        char *port = strchr(rest, ' ');
        must(port != NULL, line);
        *port++ = 0;
        to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
        must(inet_pton(AF_INET, rest, &to.sin_addr) == 1, rest);
        must(rdma_create_id(channel, &id, NULL, *line == 'f' ? RDMA_PS_UDP : RDMA_PS_TCP) == 0,
             "rdma_create_id");
        if (*line == 'l') {
            must(rdma_bind_addr(id, (struct sockaddr *)&to) == 0, "rdma_bind_addr");
            must(rdma_listen(id, 10) == 0, "rdma_listen");
            puts("listening");
        } else {
            must(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000) == 0, "resolve_addr");
        }
    } else if (strcmp(line, "accept") == 0) {
        struct rdma_conn_param param = param_of("yes", 0x78);
        must(rdma_accept(id, &param) == 0, line);
    } else if (strcmp(line, "establish") == 0) {
        must(rdma_establish(id) == 0, line);
    } else if (strcmp(line, "reject") == 0 || strcmp(line, "leave") == 0) {
        must(rdma_reject(id, rest, (uint8_t)strlen(rest)) == 0, line);
        if (*line == 'l')
            _exit(0);
    } else if (strcmp(line, "disconnect") == 0) {
        must(rdma_disconnect(id) == 0, line);
    } else {
        must(false, line);
    }
}

static void event(void)
{
    struct rdma_cm_event *event;
    char text[256] = "";
    must(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
    bool ud = event->id->ps == RDMA_PS_UDP;
    const void *data = ud ? event->param.ud.private_data : event->param.conn.private_data;
    size_t len = ud ? event->param.ud.private_data_len : event->param.conn.private_data_len;
    if (data)
        memcpy(text, data, len < sizeof text ? len : sizeof text - 1);
    printf("%s %d %s\n", rdma_event_str(event->event), event->status, text);
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        id = event->id;
    else if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED)
        must(rdma_resolve_route(event->id, 2000) == 0, "rdma_resolve_route");
    if (event->event == RDMA_CM_EVENT_ROUTE_RESOLVED) {
        struct rdma_conn_param param = param_of("ask", 0x77);
        must(rdma_connect(event->id, &param) == 0, "rdma_connect");
    }
    must(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
}

int main(void)
{
    char line[256];
    /* Unbuffered: otherwise poll() would not see lines that stdio has already read. */
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    must((channel = rdma_create_event_channel()) != NULL, "rdma_create_event_channel");
    for (;;) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = channel->fd, .events = POLLIN}};
        must(poll(fds, 2, -1) > 0, "poll");
        if (fds[1].revents)
            event();
        if (fds[0].revents) {
            if (!fgets(line, sizeof line, stdin))
                _exit(0);
            line[strcspn(line, "\n")] = 0;
            command(line);
        }
    }
}

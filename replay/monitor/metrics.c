/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "monitor/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "util/strbuf.h"

/* Limits of the time in which a client must send its HTTP request, and of the time in which it must
 * read the HTTP response, ns. */
#define REQUEST_NS  UINT64_C(2000000000)
#define ANSWER_NS   UINT64_C(10000000000)
#define REQUEST_LEN 4096u

struct metrics {
    struct monitor *monitor;
    pthread_t thread;
    int listener;
    int wake[2]; /* pipe; closing its write end wakes the thread and makes it stop */
};

/* ---- text of the metrics -----------------------------------------------------------------------
 */

static const struct {
    const char *name, *help;
    size_t off; /* offset of the counter in struct monitor_counts */
} counters[] = {
#define COUNTER(name, member, help)                                                                \
    {                                                                                              \
        name, help, offsetof(struct monitor_counts, member)                                        \
    }
    COUNTER("packets_total", packets, "Captured packets."),
    COUNTER("payload_bytes_total", payload, "Payload bytes without retransmissions."),
    COUNTER("retransmitted_packets_total", retransmitted,
            "Retransmitted request and READ response packets."),
    COUNTER("timeout_packets_total", timeouts, "Requests retransmitted after an ACK timeout."),
    COUNTER("missing_psns_total", missing, "PSNs missing before a request or READ response."),
    COUNTER("rnr_naks_total", rnr_naks, "RNR NAKs."),
    COUNTER("naks_total", naks, "NAKs except RNR NAKs."),
    COUNTER("damaged_packets_total", damaged,
            "Malformed packets and packets with a wrong ICRC, which a receiver drops."),
    COUNTER("ce_marked_packets_total", ce, "Packets with a congestion mark."),
    COUNTER("cnps_total", cnps, "Congestion notification packets."),
    COUNTER("ack_rtt_seconds_count", rtt_cnt, "Measured ACK round trips."),
    COUNTER("operation_latency_seconds_count", latency_cnt, "Completed operations."),
#undef COUNTER
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

struct print {
    FILE *out;
    /* Index in `counters`. Values from COUNTERS on stand for metrics that are not in `counters`. */
    unsigned which;
    uint32_t rows;
};

static void print_labels(FILE *out, const struct monitor_row *row)
{
    char buf[64];

    fprintf(out, "{connection=\"%" PRIu32 "\",service=\"%s\"", row->conn_index,
            roce_svc_name(row->svc));
    for (unsigned i = 0; i < 2; i++) {
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        strbuf_add_addr(&t, row->addr[i]);
        fprintf(out, ",%c=\"%s\",%c_qp=\"", 'a' + i, buf, 'a' + i);
        if (row->qpn[i] != ROCE_QPN_UNKNOWN)
            fprintf(out, "0x%" PRIx32, row->qpn[i]);
        fputc('"', out);
    }
    fputs("} ", out);
}

static void print_counter(void *user, const struct monitor_row *row)
{
    struct print *p = user;
    uint64_t v;

    memcpy(&v, (const char *)&row->sum + counters[p->which].off, sizeof(v));
    fprintf(p->out, "rocedrill_%s", counters[p->which].name);
    print_labels(p->out, row);
    fprintf(p->out, "%" PRIu64 "\n", v);
}

static void print_seconds(void *user, const struct monitor_row *row)
{
    struct print *p = user;
    uint64_t ns = p->which == COUNTERS ? row->sum.rtt_ns : row->sum.latency_ns;

    fprintf(p->out, "rocedrill_%s_seconds_sum",
            p->which == COUNTERS ? "ack_rtt" : "operation_latency");
    print_labels(p->out, row);
    fprintf(p->out, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000u, ns % 1000000000u);
}

static void print_in_flight(void *user, const struct monitor_row *row)
{
    struct print *p = user;

    p->rows++;
    fputs("rocedrill_bytes_in_flight", p->out);
    print_labels(p->out, row);
    fprintf(p->out, "%" PRIu64 "\n", row->bytes_in_flight[0] + row->bytes_in_flight[1]);
}

static void begin_metric(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP rocedrill_%s %s\n# TYPE rocedrill_%s %s\n", name, help, name, type);
}

void metrics_print(FILE *out, struct monitor *monitor)
{
    struct print p = {.out = out};

    for (p.which = 0; p.which < COUNTERS; p.which++) {
        begin_metric(out, counters[p.which].name, "counter", counters[p.which].help);
        monitor_each(monitor, print_counter, &p);
    }
    begin_metric(out, "ack_rtt_seconds_sum", "counter", "Sum of the ACK round trips.");
    monitor_each(monitor, print_seconds, &p);
    p.which++;
    begin_metric(out, "operation_latency_seconds_sum", "counter",
                 "Sum of the operation latencies.");
    monitor_each(monitor, print_seconds, &p);
    begin_metric(out, "bytes_in_flight", "gauge",
                 "Payload bytes that were sent and are not yet acknowledged.");
    monitor_each(monitor, print_in_flight, &p);
    begin_metric(out, "connections", "gauge", "QP pairs in the table.");
    fprintf(out, "rocedrill_connections %" PRIu32 "\n", p.rows);
}

/* ---- the HTTP server ---------------------------------------------------------------------------
 */

/* Waits until the client can be read from or written to. Returns false at the time limit `until`,
 * or if the thread of the metrics must stop. */
static bool client_is_ready(const struct metrics *metrics, int fd, short events, uint64_t until)
{
    struct pollfd wanted[] = {{.fd = fd, .events = events},
                              {.fd = metrics->wake[0], .events = POLLIN}};
    uint64_t now = rnic_clock_ns(CLOCK_MONOTONIC);

    return now < until && poll(wanted, 2, (int)((until - now) / 1000000) + 1) > 0 &&
           wanted[0].revents;
}

/* Reads an HTTP request up to its empty line. Returns true, or false if the client is too slow or
 * sends too much. */
static bool read_request(const struct metrics *metrics, int fd, char request[REQUEST_LEN])
{
    uint64_t until = rnic_clock_ns(CLOCK_MONOTONIC) + REQUEST_NS;
    size_t len = 0;

    for (;;) {
        ssize_t got;

        if (len + 1 >= REQUEST_LEN || !client_is_ready(metrics, fd, POLLIN, until))
            return false;
        got = recv(fd, request + len, REQUEST_LEN - 1 - len, MSG_DONTWAIT);
        if (got <= 0)
            return false;
        len += (size_t)got;
        request[len] = 0;
        if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n"))
            return true;
    }
}

/* Sends bytes until the time limit `until`, or until the client closes the connection. */
static void send_all(const struct metrics *metrics, int fd, const char *bytes, size_t len,
                     uint64_t until)
{
    while (len && client_is_ready(metrics, fd, POLLOUT, until)) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent <= 0)
            return;
        bytes += sent;
        len -= (size_t)sent;
    }
}

static void answer_client(struct metrics *metrics, int fd)
{
    char request[REQUEST_LEN], head[160], *body = NULL;
    size_t len = 0;
    uint64_t until;
    bool found;
    FILE *out;

    if (!read_request(metrics, fd, request) || !(out = open_memstream(&body, &len)))
        return;
    found = strncmp(request, "GET /metrics ", 13) == 0 || strncmp(request, "GET / ", 6) == 0;
    if (found)
        metrics_print(out, metrics->monitor);
    else
        fputs("the metrics are at /metrics\n", out);
    if (fclose(out) == 0) {
        snprintf(head, sizeof(head),
                 "HTTP/1.0 %s\r\nContent-Type: text/plain; version=0.0.4\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                 found ? "200 OK" : "404 Not Found", len);
        until = rnic_clock_ns(CLOCK_MONOTONIC) + ANSWER_NS;
        send_all(metrics, fd, head, strlen(head), until);
        send_all(metrics, fd, body, len, until);
    }
    free(body);
}

static void *run_server(void *user)
{
    struct metrics *metrics = user;

    for (;;) {
        struct pollfd wanted[] = {{.fd = metrics->listener, .events = POLLIN},
                                  {.fd = metrics->wake[0], .events = POLLIN}};
        int fd;

        if (poll(wanted, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (wanted[1].revents)
            return NULL;
        if (!(wanted[0].revents & POLLIN))
            continue;
        fd = accept(metrics->listener, NULL, NULL);
        if (fd >= 0) {
            answer_client(metrics, fd);
            close(fd);
        }
    }
}

/* Splits "ADDR:PORT", "[ADDR]:PORT", ":PORT" or "PORT". Returns false if a part is too long. */
static bool split_address(const char *address, char host[64], char port[8])
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;

    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    }
    if (len >= 64 || strlen(colon ? colon + 1 : address) >= 8)
        return false;
    snprintf(host, 64, "%.*s", (int)len, len ? address : "");
    snprintf(port, 8, "%s", colon ? colon + 1 : address);
    if (len == 0)
        strcpy(host, "127.0.0.1");
    return port[0] != 0 && port[strspn(port, "0123456789")] == 0;
}

/* Returns a listening socket, or -1 and an error. */
static int open_listener(const char *address, struct error *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *info = NULL;
    char host[64], port[8];
    int fd, yes = 1;

    if (!split_address(address, host, port) || getaddrinfo(host, port, &hints, &info) != 0)
        return error_set(error, "--prometheus %s: not an ADDR:PORT", address);
    fd = socket(info->ai_family, SOCK_STREAM, 0);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (fd < 0 || bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 8) != 0) {
        error_set(error, "--prometheus %s: %s", address, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(info);
    return fd;
}

static void name_listener(int fd, char where[64])
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    char host[48] = "?", port[8] = "?";

    if (getsockname(fd, (struct sockaddr *)&addr, &len) == 0)
        (void)getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port, sizeof(port),
                          NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(where, 64, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

struct metrics *metrics_serve(struct monitor *monitor, const char *address, char where[64],
                              struct error *error)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    int rc = ENOMEM;

    if (metrics) {
        metrics->monitor = monitor;
        metrics->listener = open_listener(address, error);
        if (metrics->listener < 0) {
            free(metrics);
            return NULL;
        }
        name_listener(metrics->listener, where);
        if (pipe(metrics->wake) == 0) {
            rc = pthread_create(&metrics->thread, NULL, run_server, metrics);
            if (rc == 0)
                return metrics;
            close(metrics->wake[0]);
            close(metrics->wake[1]);
        }
        close(metrics->listener);
        free(metrics);
    }
    error_set(error, "--prometheus %s: %s", address, strerror(rc));
    return NULL;
}

void metrics_stop(struct metrics *metrics)
{
    if (!metrics)
        return;
    close(metrics->wake[1]); /* wakes the thread, which then stops */
    pthread_join(metrics->thread, NULL);
    close(metrics->wake[0]);
    close(metrics->listener);
    free(metrics);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/load_gen.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "infer/trace.h"

/* Number of frames passed to the port at a time if no rate is set. */
#define BATCH 64u

/* Frames that are due within this time (ns) are sent together, because the kernel does not end a
 * wait more precisely. */
#define SLACK_NS 20000u

struct load_gen {
    const struct live_args *args;
    struct live_port port;
    struct rnic_frame *frame;
    uint64_t *time; /* recorded time of each frame, ns since the first request */
    size_t cnt, cap, time_cap;
    uint8_t **bytes;
    size_t bytes_cnt, bytes_cap;
    uint64_t len;   /* total bytes of all frames */
    size_t skipped; /* number of requests that the capture contains only in part */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* ---- reading the captures ----------------------------------------------------------------------
 */

static int add_frame(struct load_gen *load, const struct rewrite_path *path,
                     const struct trace_packet *p, uint64_t time, struct error *error)
{
    uint8_t buf[ROCE_FRAME_MAX];
    int len = rewrite_addresses(path, p, buf, sizeof(buf));
    uint8_t *copy;

    if (len < 0 || (uint32_t)len > load->port.iface.mtu + 14) {
        load->skipped++;
        return 0;
    }
    copy = malloc((size_t)len);
    if (!copy || !VEC_GROW(load->frame, load->cnt, load->cap) ||
        !VEC_GROW(load->time, load->cnt, load->time_cap) ||
        !VEC_GROW(load->bytes, load->bytes_cnt, load->bytes_cap)) {
        free(copy);
        return error_set(error, "no memory");
    }
    memcpy(copy, buf, (size_t)len);
    load->bytes[load->bytes_cnt++] = copy;
    load->time[load->cnt] = time;
    load->frame[load->cnt++] = (struct rnic_frame){.data = copy, .len = (uint32_t)len};
    load->len += (uint64_t)len;
    return 0;
}

/* Appends the requests of one capture. Returns 0, or -1 and an error. */
static int read_capture(struct load_gen *load, const char *name, struct error *error)
{
    struct rewrite_path path;
    struct trace trace = {0};
    uint64_t base = load->cnt ? load->time[load->cnt - 1] : 0, first = 0;
    int rc = trace_read(&trace, name, error);

    memcpy(path.mac, load->port.mac, 6);
    memset(path.dmac, 0, 6); /* not known yet */
    memcpy(path.addr, load->port.addr, 16);
    memcpy(path.target, load->port.target, 16);
    for (size_t i = 0; rc == 0 && i < trace.cnt; i++) {
        const struct trace_packet *p = &trace.pkt[i];

        if (roce_opcode_is_response(roce_opcode(p->opcode)))
            continue;
        first = first ? first : p->time;
        rc = add_frame(load, &path, p, base + p->time - first, error);
    }
    trace_free(&trace);
    return rc;
}

/* ---- sending the requests ----------------------------------------------------------------------
 */

/* Returns the time at which frame `i` must be sent, ns. `sent` frames with `bytes` bytes were sent
 * since `begin`, the start of the whole run. `start`: start of the current round. */
static uint64_t frame_due(const struct load_gen *load, uint64_t begin, uint64_t start,
                          uint64_t sent, uint64_t bytes, size_t i)
{
    const struct live_args *a = load->args;

    if (a->pps > 0)
        return begin + (uint64_t)((double)sent / a->pps * 1e9);
    if (a->mbps > 0)
        return begin + (uint64_t)((double)bytes * 8000.0 / a->mbps);
    if (a->topspeed)
        return 0;
    return start + (uint64_t)((double)load->time[i] / a->multiplier);
}

static int drain_port(struct load_gen *load, uint64_t until, struct error *error)
{
    do {
        if (live_port_wait(&load->port, until, NULL, NULL) < 0)
            return error_set(error, "interface %s: no longer available", load->port.iface.name);
    } while (live_now() < until && !interrupted);
    return 0;
}

static int send_frames(struct load_gen *load, uint64_t *sent, uint64_t *bytes, struct error *error)
{
    uint64_t begin = live_now(), looked = begin;

    for (uint64_t round = 0; !interrupted && (load->args->loop == 0 || round < load->args->loop);
         round++) {
        uint64_t start = live_now();

        for (size_t i = 0; i < load->cnt && !interrupted;) {
            uint64_t now = live_now(), at = frame_due(load, begin, start, *sent, *bytes, i);
            unsigned cnt = 0;

            /* The port answers ARP requests for our address only while it receives frames. */
            if (at > now + SLACK_NS || now - looked > 10000000) {
                if (drain_port(load, at > now ? at : now, error) != 0)
                    return -1;
                looked = now = live_now();
            }
            do {
                *bytes += load->frame[i + cnt].len;
                cnt++;
            } while (i + cnt < load->cnt && cnt < BATCH &&
                     frame_due(load, begin, start, *sent + cnt, *bytes, i + cnt) <= now + SLACK_NS);
            if (live_port_send(&load->port, load->frame + i, cnt, error) != 0)
                return -1;
            *sent += cnt;
            i += cnt;
        }
    }
    return 0;
}

static void print_summary(const struct load_gen *load, uint64_t sent, uint64_t bytes, uint64_t ns,
                          FILE *out)
{
    double seconds = (double)(ns ? ns : 1) / 1e9;
    struct rnic_port_stats stats = {0};

    rnic_port_stats(load->port.io, &stats);
    fprintf(out,
            "load: %" PRIu64 " packets, %" PRIu64 " bytes in %.3f s: %.0f packets/s, %.1f Mbit/s",
            sent, bytes, seconds, (double)sent / seconds, (double)bytes * 8 / 1e6 / seconds);
    if (stats.tx_too_long + stats.tx_link_down + stats.tx_errors)
        fprintf(out, "; %" PRIu64 " not sent",
                stats.tx_too_long + stats.tx_link_down + stats.tx_errors);
    if (load->skipped)
        fprintf(out, "; %zu requests left out: truncated, or longer than the MTU of the interface",
                load->skipped);
    fputc('\n', out);
}

int load_gen_run(const struct live_args *args, const char *const *path, size_t cnt, FILE *out,
                 struct error *error)
{
    const struct live_options *o = &args->options;
    struct load_gen load = {.args = args};
    uint8_t target[16], ours[16];
    uint64_t sent = 0, bytes = 0, begin;
    int rc = 0;

    if (!live_address(o->target, target))
        return error_set(error, "--target %s: not an IPv4 or IPv6 address", o->target);
    if (o->address && !live_address(o->address, ours))
        return error_set(error, "--address %s: not an IPv4 or IPv6 address", o->address);
    rc = live_port_open(&load.port, o->iface, target, o->address ? ours : NULL, o->really, error);
    for (size_t i = 0; rc == 0 && i < cnt; i++)
        rc = read_capture(&load, path[i], error);
    if (rc == 0 && load.cnt == 0)
        rc = error_set(error, "%s: the capture contains no request that can be sent", path[0]);
    if (rc == 0 && args->loop == 0)
        live_port_announce(&load.port, "%zu requests, repeatedly until interrupted,", load.cnt);
    else if (rc == 0)
        live_port_announce(&load.port, "%zu requests, %" PRIu64 " %s,", load.cnt, args->loop,
                           args->loop == 1 ? "time" : "times");
    if (rc == 0)
        rc = live_port_resolve(&load.port, error);
    for (size_t i = 0; rc == 0 && i < load.bytes_cnt; i++)
        memcpy(load.bytes[i], load.port.dmac, 6); /* the ICRC does not cover MAC addresses */
    if (rc == 0) {
        struct sigaction old, action = {.sa_handler = on_signal};

        sigaction(SIGINT, &action, &old);
        begin = live_now();
        rc = send_frames(&load, &sent, &bytes, error);
        if (rc == 0 && out)
            print_summary(&load, sent, bytes, live_now() - begin, out);
        sigaction(SIGINT, &old, NULL);
    }
    live_port_close(&load.port);
    for (size_t i = 0; i < load.bytes_cnt; i++)
        free(load.bytes[i]);
    free(load.bytes);
    free(load.frame);
    free(load.time);
    return rc;
}

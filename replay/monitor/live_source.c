/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "monitor/live_source.h"

#include <errno.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/sigint.h"

#define SNAPLEN 65535
/* Maximum time until the thread processes a captured packet, or stops after a request to stop,
 * ms. */
#define WAIT_MS      100
#define BUFFER_BYTES (64 * 1024 * 1024) /* size of the kernel's capture buffer, bytes */
#define ROCE         "udp dst port 4791 or ether proto 0x8915"

struct live_source {
    pcap_t *pcap;
    pcap_dumper_t *dumper; /* writes to the pipe */
    /* Read end of the pipe. `rocedrill check` opens the pipe again by `path`, which is /dev/fd/N of
     * this descriptor. live_source_stop() closes the descriptor. */
    int fd;
    char path[32];
    pthread_t thread;
    atomic_bool stop;
};

static void *copy_packets(void *user)
{
    struct live_source *source = user;
    int rc = 0;

    while (rc >= 0 && !atomic_load(&source->stop) && !sigint_received()) {
        struct pollfd wanted = {.fd = pcap_get_selectable_fd(source->pcap), .events = POLLIN};

        (void)poll(&wanted, 1, WAIT_MS);
        rc = pcap_dispatch(source->pcap, -1, pcap_dump, (u_char *)source->dumper);
        if (pcap_dump_flush(source->dumper) != 0)
            break; /* the read end of the pipe is closed */
    }
    pcap_dump_close(source->dumper); /* closes the pipe, so that the reader finds the end of the
                                      * capture */
    return NULL;
}

/* Opens the interface. Returns NULL and sets an error on failure. */
static pcap_t *open_interface(const char *interface, struct error *error)
{
    char buf[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap = pcap_create(interface, buf);
    struct bpf_program filter;
    int rc;

    if (!pcap) {
        error_set(error, "--live %s: %s", interface, buf);
        return NULL;
    }
    (void)pcap_set_snaplen(pcap, SNAPLEN);
    (void)pcap_set_timeout(pcap, WAIT_MS);
    (void)pcap_set_buffer_size(pcap, BUFFER_BYTES);
    (void)pcap_set_promisc(pcap, 1);
    rc = pcap_activate(pcap);
    if (rc < 0) {
        const char *text = pcap_geterr(pcap);

        if (rc != PCAP_ERROR_PERM_DENIED)
            error_set(error, "--live %s: %s", interface, *text ? text : pcap_statustostr(rc));
        else if (strcmp(interface, "any") != 0 && if_nametoindex(interface) == 0)
            error_set(error, "--live %s: no such interface", interface);
        else
            error_set(error, "--live %s: capturing requires root or CAP_NET_RAW", interface);
        pcap_close(pcap);
        return NULL;
    }
    /* Non-blocking, because a blocking read of libpcap may take longer than its timeout. The thread
     * waits with poll(). */
    (void)pcap_setnonblock(pcap, 1, buf);
    /* pcap_compile() fails for a link layer without EtherTypes. In this case, all frames are
     * captured, and check ignores those without RoCE. */
    if (pcap_compile(pcap, &filter, ROCE " or (vlan and (" ROCE "))", 1, PCAP_NETMASK_UNKNOWN) ==
        0) {
        (void)pcap_setfilter(pcap, &filter);
        pcap_freecode(&filter);
    }
    return pcap;
}

/* Starts the thread with SIGPIPE blocked. If the read end of the pipe is closed, a write to the
 * pipe then returns an error and does not kill the program. */
static int start_thread(struct live_source *source)
{
    sigset_t pipe_signal, old;
    int rc;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
    rc = pthread_create(&source->thread, NULL, copy_packets, source);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

/* Opens the pipe, and the libpcap dumper that writes to it. Returns 0, or an errno. */
static int open_pipe(struct live_source *source)
{
    int fds[2];
    FILE *writer;

    if (pipe(fds) != 0)
        return errno;
    writer = fdopen(fds[1], "wb");
    source->dumper = writer ? pcap_dump_fopen(source->pcap, writer) : NULL;
    if (!source->dumper) {
        close(fds[0]);
        if (writer)
            fclose(writer);
        else
            close(fds[1]);
        return ENOMEM;
    }
    source->fd = fds[0];
    snprintf(source->path, sizeof(source->path), "/dev/fd/%d", source->fd);
    return 0;
}

struct live_source *live_source_start(const char *interface, struct error *error)
{
    struct live_source *source = calloc(1, sizeof(*source));
    int rc;

    if (!source) {
        error_set(error, "--live %s: no memory", interface);
        return NULL;
    }
    source->pcap = open_interface(interface, error);
    if (!source->pcap) {
        free(source);
        return NULL;
    }
    sigint_begin(); /* from here on, Ctrl-C ends the capture, not the program */
    rc = open_pipe(source);
    if (rc == 0 && (rc = start_thread(source)) != 0) {
        pcap_dump_close(source->dumper);
        close(source->fd);
    }
    if (rc != 0) {
        sigint_end();
        error_set(error, "--live %s: %s", interface, strerror(rc));
        pcap_close(source->pcap);
        free(source);
        return NULL;
    }
    return source;
}

char *live_source_path(struct live_source *source)
{
    return source->path;
}

void live_source_stop(struct live_source *source, uint64_t *received, uint64_t *dropped)
{
    struct pcap_stat stat = {0};

    if (!source)
        return;
    atomic_store(&source->stop, true);
    close(source->fd);
    pthread_join(source->thread, NULL);
    (void)pcap_stats(source->pcap, &stat);
    *received = stat.ps_recv;
    *dropped = (uint64_t)stat.ps_drop + stat.ps_ifdrop;
    pcap_close(source->pcap);
    free(source);
}

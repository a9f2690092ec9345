/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/packet_socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define RING_MIN    (256u * 1024)     /* smallest receive ring, bytes */
#define SEND_BUFFER (8 * 1024 * 1024) /* size of the send buffer, bytes */

static int open_error(int status, const char *name, const char *text, struct error *why)
{
    switch (status) {
    case PCAP_ERROR_PERM_DENIED:
        error_set(why,
                  "no permission to open %s: CAP_NET_RAW is required, or a separate user and "
                  "network namespace",
                  name);
        return -EPERM;
    case PCAP_ERROR_IFACE_NOT_UP: error_set(why, "interface %s is down", name); return -ENETDOWN;
    case PCAP_ERROR_NO_SUCH_DEVICE:
        error_set(why, "there is no interface %s", name);
        return -ENODEV;
    default: error_set(why, "interface %s cannot be opened: %s", name, text); return -EIO;
    }
}

/* Opens the libpcap handle of interface `name` with a receive ring of `ring` bytes. Returns 0 or a
 * status of pcap_activate(). On failure, writes the reason to `text`. */
static int activate(struct packet_socket *side, const char *name, size_t ring, int snaplen,
                    char *text)
{
    pcap_t *pcap = pcap_create(name, text);
    int status;

    if (!pcap)
        return PCAP_ERROR;
    status = pcap_set_snaplen(pcap, snaplen);
    if (status == 0)
        status = pcap_set_immediate_mode(pcap, 1);
    if (status == 0)
        status = pcap_set_timeout(pcap, 1);
    if (status == 0)
        status = pcap_set_buffer_size(pcap, (int)ring);
    if (status == 0)
        status = pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
    if (status == 0)
        status = pcap_activate(pcap);
    if (status >= 0 && pcap_datalink(pcap) != DLT_EN10MB) {
        snprintf(text, PCAP_ERRBUF_SIZE, "the link layer is not Ethernet");
        status = PCAP_ERROR;
    } else if (status < 0) {
        snprintf(text, PCAP_ERRBUF_SIZE, "%s",
                 status == PCAP_ERROR ? pcap_geterr(pcap) : pcap_statustostr(status));
    } else if (pcap_setnonblock(pcap, 1, text) != 0) {
        status = PCAP_ERROR;
    }
    if (status < 0) {
        pcap_close(pcap);
        return status;
    }
    side->pcap = pcap;
    side->fd = pcap_fileno(pcap);
    return 0;
}

int packet_socket_open(struct packet_socket *side, const char *name, size_t ring, int snaplen,
                       struct error *why)
{
    static const int on = 1;
    static const int send_buffer = SEND_BUFFER;
    char text[PCAP_ERRBUF_SIZE] = "";
    int status = activate(side, name, ring, snaplen, text);

    while (status == PCAP_ERROR && ring > RING_MIN && strstr(text, "memory")) {
        ring /= 2;
        status = activate(side, name, ring, snaplen, text);
    }
    if (status < 0)
        return open_error(status, name, text, why);
    /* Excludes frames that this machine sends on the interface. Since Linux 4.20 the kernel keeps
     * them out of the ring; on older kernels libpcap discards them. */
    if (setsockopt(side->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 &&
        pcap_setdirection(side->pcap, PCAP_D_IN) != 0)
        return open_error(PCAP_ERROR, name, pcap_geterr(side->pcap), why);
    if (setsockopt(side->fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof(send_buffer)) < 0)
        setsockopt(side->fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
    return 0;
}

/* Replaces the filter with setsockopt(), which loses no frames. pcap_setfilter() would discard the
 * unread frames of the socket. */
int packet_socket_attach(struct packet_socket *side, const char *expression)
{
    struct bpf_program program;
    struct sock_fprog filter;
    int error = 0;

    if (!packet_socket_works(side))
        return 0;
    if (pcap_compile(side->pcap, &program, expression, 1, PCAP_NETMASK_UNKNOWN) != 0)
        return -EINVAL;
    filter.len = (unsigned short)program.bf_len;
    /* struct bpf_insn and struct sock_filter have the same layout */
    filter.filter = (void *)program.bf_insns;
    if (setsockopt(side->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0)
        error = -errno;
    pcap_freecode(&program);
    return error;
}

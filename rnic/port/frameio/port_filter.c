/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include "port/frameio/port_pcap.h"

/* Maximum number of multicast groups for which the filter compares MAC addresses. If the process
 * has joined more groups, the filter passes the frames of all multicast groups. */
#define GROUPS_MAX 32u

/* Two filter expressions for each encapsulation: one matches its packets, the other denotes the 32
 * bits of the BTH that contain the destination QPN. */
static const struct {
    const char *is;
    const char *qpn;
} encaps[] = {
    {"ip and udp dst port 4791", "udp[12:4]"},
    {"ip6[6] = 17 and ip6[42:2] = 4791", "ip6[52:4]"},
    {"ether proto 0x8915", "ether[58:4]"},
};

static void print_groups(FILE *out, const struct rnic_port_filter *filter, const char *qpn)
{
    if (filter->group_cnt == 0)
        return;
    fprintf(out, " or (%s & 0xffffff = 0xffffff", qpn);
    for (unsigned i = 0; i < filter->group_cnt && filter->group_cnt <= GROUPS_MAX; i++) {
        const uint8_t *mac = filter->group[i];

        fprintf(out, "%s ether dst %02x:%02x:%02x:%02x:%02x:%02x", i == 0 ? " and (" : " or",
                mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    }
    fprintf(out, "%s)", filter->group_cnt <= GROUPS_MAX ? ")" : "");
}

char *rnic_port_pcap_expression(const struct rnic_port_filter *filter, const uint8_t mac[6],
                                bool host)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (host) {
        char own[18];

        snprintf(own, sizeof(own), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                 mac[4], mac[5]);
        /* Multicast frames on the loopback pass only if they have the source MAC address of this
         * interface. A group belongs to one interface, but the loopback carries the frames of all
         * interfaces. */
        fprintf(out, "(ether dst %s or (ether multicast and ether src %s)) and (", own, own);
    }
    for (unsigned i = 0; i < sizeof(encaps) / sizeof(encaps[0]); i++) {
        const char *qpn = encaps[i].qpn;

        fprintf(out, "%s(%s and (%s & 0xffffff = 1", i ? " or " : "", encaps[i].is, qpn);
        for (unsigned j = 0; j < filter->block_cnt; j++)
            fprintf(out, " or %s & 0xfff000 = 0x%x", qpn, filter->block[j] << 12);
        print_groups(out, filter, qpn);
        fprintf(out, "))");
    }
    /* On the link, ARP and Neighbour Discovery frames pass too. */
    fprintf(out, "%s", host ? ")" : " or arp or (icmp6 and (ip6[40] = 135 or ip6[40] = 136))");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

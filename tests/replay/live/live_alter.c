/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * live_alter IN OUT: copies a capture and inverts one bit in the payload of its last READ response.
 * Recomputes the ICRC, as if the responder had sent this data.
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "infer/trace.h"

int main(int argc, char **argv)
{
    struct error error;
    struct trace trace = {0};
    size_t last = SIZE_MAX;
    pcap_t *dead =
        pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *out;

    if (argc != 3 || trace_read(&trace, argv[1], &error) != 0 ||
        !(out = pcap_dump_open(dead, argv[2])))
        return 2;
    for (size_t i = 0; i < trace.cnt; i++)
        if (roce_opcode(trace.pkt[i].opcode)->kind == ROCE_KIND_READ_RESP &&
            trace.pkt[i].payload_len)
            last = i;
    for (size_t i = 0; i < trace.cnt; i++) {
        const struct trace_packet *p = &trace.pkt[i];
        struct pcap_pkthdr head = {.ts = {.tv_sec = (time_t)(p->time / 1000000000u),
                                          .tv_usec = (suseconds_t)(p->time % 1000000000u)},
                                   .caplen = p->cap_len,
                                   .len = p->cap_len};
        uint8_t buf[ROCE_FRAME_MAX];
        struct roce_pkt pkt;
        uint32_t icrc;

        if (p->cap_len > sizeof(buf))
            return 2;
        memcpy(buf, p->data, p->cap_len);
        if (i == last) {
            buf[p->payload_off] ^= 0x10;
            roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, p->cap_len, p->cap_len);
            roce_pkt_icrc_check(&pkt, &icrc);
            for (unsigned k = 0; k < 4; k++)
                buf[pkt.icrc_off + k] = (uint8_t)(icrc >> 8 * k);
        }
        pcap_dump((u_char *)out, &head, buf);
    }
    pcap_dump_close(out);
    pcap_close(dead);
    trace_free(&trace);
    return last == SIZE_MAX ? 2 : 0;
}

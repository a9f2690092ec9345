/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Makes the corpora of the fuzz targets from captures of real RNICs:
 *
 *   make_corpus OUT CAPTURES
 *
 * CAPTURES is a folder of .pcap files. The program writes copies of these files to OUT/replay,
 * single frames in the format of frame.h to OUT/pkt, and the MADs of the packets to QP 1 to OUT/cm.
 *
 * A few frames of each kind are enough, because frames of one kind differ only in numbers. Frames
 * are of the same kind if opcode, encapsulation and payload length are equal, and if either all or
 * none have a right ICRC. The first frame of a kind is also written inside a tunnel. The name of a
 * file is the checksum of its contents, so that a second run writes the same files.
 */
#include <dirent.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "frame.h"
#include "wire/crc32.h"

#define KIND_MAX    4 /* maximum number of frames of one kind taken from one capture */
#define CAPTURE_MAX ((size_t)1 << 20)

/* For each hash of a kind of frames: number of frames of this kind taken from the current
 * capture. */
static uint8_t seen[1 << 16];

static void write_input(const char *out, const char *corpus, const uint8_t *p, size_t len)
{
    char name[4096];
    FILE *file;

    snprintf(name, sizeof(name), "%s/%s/%08x", out, corpus, (unsigned)roce_crc32(0, p, len));
    file = fopen(name, "wb");
    if (!file || fwrite(p, 1, len, file) != len || fclose(file) != 0) {
        fprintf(stderr, "make_corpus: %s: %s\n", name, strerror(errno));
        exit(1);
    }
}

static unsigned kind_of(const struct roce_pkt *pkt, int error)
{
    uint32_t key[5] = {(uint32_t)error, pkt->bth.opcode, pkt->encap, pkt->payload_len,
                       (uint32_t)roce_pkt_icrc_check(pkt, NULL)};

    return roce_crc32(0, (const uint8_t *)key, sizeof(key)) & 0xFFFF;
}

/* Writes an input with the frame inside a tunnel over IPv4. `which` selects the kind of tunnel. The
 * outer IP header has the length 0, which means an unknown length. */
static void wrap(const char *out, unsigned which, const struct pcap_pkthdr *hdr, const uint8_t *p)
{
    static const struct {
        uint8_t proto, len;
        /* Bytes between the outer IP header and the inner frame, which begins with its Ethernet
         * header. */
        uint8_t head[20];
    } heads[] = {
        {17, 16, {0xC3, 0x50, 0x12, 0xB5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 42}},       /* VXLAN */
        {17, 16, {0xC3, 0x50, 0x17, 0xC1, 0, 0, 0, 0, 0, 0, 0x65, 0x58, 0, 0, 42}}, /* GENEVE */
        {47, 16, {0x10, 0, 0x88, 0xBE, 0, 0, 0, 1, 0x10, 0, 0, 10}},                /* ERSPAN II */
        {47, 20, {0x10, 0, 0x22, 0xEB, 0, 0, 0, 1, 0x20}},                          /* ERSPAN III */
        {47, 8, {0x20, 0, 0x65, 0x58, 0, 0, 0, 7}},                                 /* GRE */
        {137, 4, {0, 1, 1, 64}},                                                    /* MPLS */
    };
    const size_t at = which % (sizeof(heads) / sizeof(heads[0]));
    static uint8_t input[FUZZ_FRAME_HEAD + ROCE_IP4_LEN + sizeof(heads[0].head) + 65536];
    const struct roce_ip4 ip = {.version = 4, .ihl = 5, .ttl = 9, .proto = heads[at].proto};
    size_t len = FUZZ_FRAME_HEAD;

    input[0] = ROCE_LINK_IP;
    input[1] = (uint8_t)(hdr->len - hdr->caplen > 255 ? 255 : hdr->len - hdr->caplen);
    roce_ip4_build(&ip, input + len);
    len += ROCE_IP4_LEN;
    memcpy(input + len, heads[at].head, heads[at].len);
    len += heads[at].len;
    memcpy(input + len, p, hdr->caplen);
    write_input(out, "pkt", input, len + hdr->caplen);
}

static void take(const char *out, enum roce_link link, const struct pcap_pkthdr *hdr,
                 const uint8_t *p)
{
    static uint8_t input[FUZZ_FRAME_HEAD + 65536];
    struct roce_pkt pkt;
    int error = roce_pkt_parse(&pkt, link, p, hdr->caplen, hdr->len);
    unsigned kind = kind_of(&pkt, error);

    if (seen[kind] == KIND_MAX || hdr->caplen > 65536)
        return;
    seen[kind]++;
    input[0] = (uint8_t)link;
    input[1] = (uint8_t)(hdr->len - hdr->caplen > 255 ? 255 : hdr->len - hdr->caplen);
    memcpy(input + FUZZ_FRAME_HEAD, p, hdr->caplen);
    write_input(out, "pkt", input, FUZZ_FRAME_HEAD + hdr->caplen);
    if (link == ROCE_LINK_ETHERNET && seen[kind] == 1)
        wrap(out, kind, hdr, p);
    if (!error && pkt.bth.opcode == ROCE_OP_UD_SEND_ONLY && pkt.bth.dest_qp == ROCE_QP_GSI &&
        pkt.payload)
        write_input(out, "cm", pkt.payload, pkt.payload_cap_len);
}

static int link_of(pcap_t *pcap)
{
    switch (pcap_datalink(pcap)) {
    case DLT_EN10MB: return ROCE_LINK_ETHERNET;
    case DLT_LINUX_SLL: return ROCE_LINK_SLL;
#ifdef DLT_LINUX_SLL2
    case DLT_LINUX_SLL2: return ROCE_LINK_SLL2;
#endif
    case DLT_RAW: return ROCE_LINK_IP;
    case DLT_INFINIBAND: return ROCE_LINK_IB;
    default: return -1;
    }
}

static void read_capture(const char *out, const char *path)
{
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(path, why);
    struct pcap_pkthdr *hdr;
    const u_char *p;
    int link;

    if (!pcap) {
        fprintf(stderr, "make_corpus: %s: %s\n", path, why);
        exit(1);
    }
    memset(seen, 0, sizeof(seen));
    link = link_of(pcap);
    while (link >= 0 && pcap_next_ex(pcap, &hdr, &p) == 1)
        take(out, (enum roce_link)link, hdr, p);
    pcap_close(pcap);
}

static void copy_capture(const char *out, const char *path)
{
    static uint8_t bytes[CAPTURE_MAX];
    FILE *file = fopen(path, "rb");
    size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

    if (!file || ferror(file)) {
        fprintf(stderr, "make_corpus: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    write_input(out, "replay", bytes, len);
}

static void make_folder(const char *out, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", out, name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "make_corpus: %s: %s\n", path, strerror(errno));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct dirent *entry;
    unsigned cnt = 0;
    DIR *dir;

    if (argc != 3) {
        fprintf(stderr, "usage: make_corpus OUT CAPTURES\n");
        return 2;
    }
    make_folder(argv[1], "");
    make_folder(argv[1], "pkt");
    make_folder(argv[1], "cm");
    make_folder(argv[1], "replay");
    dir = opendir(argv[2]);
    if (!dir) {
        fprintf(stderr, "make_corpus: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    while ((entry = readdir(dir))) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[4096];

        if (!dot || strcmp(dot, ".pcap") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[2], entry->d_name);
        read_capture(argv[1], path);
        copy_capture(argv[1], path);
        cnt++;
    }
    closedir(dir);
    printf("%u captures\n", cnt);
    return cnt == 0;
}

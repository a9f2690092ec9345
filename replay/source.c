/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "source.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "erf.h"
#include "inflate.h"

/* pcap.h has no names for these two in every version; the numbers are tcpdump.org's. */
#define LINKTYPE_RAW        101
#define LINKTYPE_ERF        197
#define LINKTYPE_IPV4       228
#define LINKTYPE_IPV6       229
#define LINKTYPE_INFINIBAND 247
#define LINKTYPE_SLL2       276

/* stdio reads this much at a time: captures are read from front to back. */
#define READ_LEN ((size_t)256 << 10)

struct source {
    pcap_t *pcap;
    char *name;
    FILE *file;              /* as opened; closed by way of `pcap` */
    struct inflate *inflate; /* NULL for a plain file */
    uint64_t total;          /* bytes of `file`, 0 for a pipe */
    char *buf;               /* READ_LEN bytes for stdio */
    enum roce_link link;
    bool erf;
    uint32_t number;
};

static int link_of(int datalink, enum roce_link *out)
{
    switch (datalink) {
    case DLT_EN10MB: *out = ROCE_LINK_ETHERNET; return 0;
    case DLT_LINUX_SLL: *out = ROCE_LINK_SLL; return 0;
    case LINKTYPE_SLL2: *out = ROCE_LINK_SLL2; return 0;
    case DLT_RAW:
    case LINKTYPE_IPV4:
    case LINKTYPE_IPV6: *out = ROCE_LINK_IP; return 0;
    case LINKTYPE_INFINIBAND: *out = ROCE_LINK_IB; return 0;
    case LINKTYPE_ERF: *out = ROCE_LINK_IP; return 0; /* each record says for itself */
    default: return -1;
    }
}

/* Puts the decompressor, if one is needed, between the file and libpcap. */
static FILE *open_stream(struct source *source, struct fault *fault)
{
    struct fault why;
    struct stat st;
    FILE *stream;

    if (source->file != stdin && fstat(fileno(source->file), &st) == 0 && S_ISREG(st.st_mode))
        source->total = (uint64_t)st.st_size;
    /* Before the first read, as setvbuf() wants it. */
    source->buf = malloc(READ_LEN);
    if (source->buf && source->file != stdin)
        setvbuf(source->file, source->buf, _IOFBF, READ_LEN);
    stream = inflate_open(source->file, source->file == stdin, &source->inflate, &why);
    if (!stream)
        fault_set(fault, "%s: %s", source->name, why.text);
    return stream;
}

struct source *source_open(const char *path, struct fault *fault)
{
    return source_open_as(path, strcmp(path, "-") == 0 ? "standard input" : path, fault);
}

struct source *source_open_as(const char *path, const char *name, struct fault *fault)
{
    char errbuf[PCAP_ERRBUF_SIZE] = "";
    bool is_stdin = strcmp(path, "-") == 0;
    struct source *source;
    FILE *file, *stream;

    file = is_stdin ? stdin : fopen(path, "rb");
    if (!file) {
        fault_set(fault, "%s: %s", name, strerror(errno));
        return NULL;
    }
    source = calloc(1, sizeof(*source));
    if (source)
        source->name = strdup(name);
    if (!source || !source->name) {
        fault_set(fault, "%s: no memory", name);
        goto fail_file;
    }
    source->file = file;
    stream = open_stream(source, fault);
    if (!stream)
        goto fail_file;
    source->pcap =
        pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, errbuf);
    if (!source->pcap) {
        const char *error = inflate_error(source->inflate);

        fault_set(fault, "%s: not a capture file: %s", name, error ? error : errbuf);
        if (stream != file) {
            fclose(stream); /* and `file` with it */
            file = NULL;
        }
        goto fail_file;
    }
    if (link_of(pcap_datalink(source->pcap), &source->link) != 0) {
        const char *link = pcap_datalink_val_to_name(pcap_datalink(source->pcap));

        fault_set(fault, "%s: link layer %s (%d) does not carry RoCE", name, link ? link : "?",
                  pcap_datalink(source->pcap));
        source_close(source);
        return NULL;
    }
    source->erf = pcap_datalink(source->pcap) == LINKTYPE_ERF;
    return source;

fail_file:
    if (file && !is_stdin)
        fclose(file);
    source_close(source);
    return NULL;
}

/* The frame inside an ERF record. */
static void unwrap(struct source_frame *frame)
{
    struct erf_frame inner;

    if (!erf_frame(&inner, frame->record, frame->record_cap_len))
        inner = (struct erf_frame){.link = ROCE_LINK_IP, .data = frame->record};
    frame->link = inner.link;
    frame->data = inner.data;
    frame->cap_len = inner.cap_len;
    frame->wire_len = inner.wire_len;
}

int source_next(struct source *source, struct source_frame *out, struct fault *fault)
{
    struct pcap_pkthdr *hdr;
    const u_char *data;
    int rc = pcap_next_ex(source->pcap, &hdr, &data);

    if (rc == PCAP_ERROR_BREAK)
        return 0;
    if (rc != 1) {
        const char *error = inflate_error(source->inflate);

        return fault_set(fault, "%s: frame %u: %s", source->name, source->number + 1,
                         error ? error : pcap_geterr(source->pcap));
    }
    if (source->number == UINT32_MAX)
        return fault_set(fault, "%s: more than 2^32 frames", source->name);
    /* With nanosecond precision libpcap puts nanoseconds into tv_usec. A time before 1970 is
     * garbage and becomes 0. */
    *out = (struct source_frame){
        .number = ++source->number,
        .time = hdr->ts.tv_sec < 0 ? 0
                                   : (uint64_t)hdr->ts.tv_sec % 10000000000u * 1000000000u +
                                         (uint64_t)hdr->ts.tv_usec % 1000000000u,
        .link = source->link,
        .cap_len = hdr->caplen,
        .wire_len = hdr->len < hdr->caplen ? hdr->caplen : hdr->len,
        .data = data,
        .record = data,
        .record_cap_len = hdr->caplen,
    };
    out->record_wire_len = out->wire_len;
    if (source->erf)
        unwrap(out);
    return 1;
}

const char *source_name(const struct source *source)
{
    return source->name;
}

uint32_t source_linktype(const struct source *source)
{
    int datalink = pcap_datalink(source->pcap);

    /* The one link type here whose number in files is not the one in memory. */
    return datalink == DLT_RAW ? LINKTYPE_RAW : (uint32_t)datalink;
}

uint32_t source_snaplen(const struct source *source)
{
    return (uint32_t)pcap_snapshot(source->pcap);
}

void source_progress(const struct source *source, uint64_t *done, uint64_t *total)
{
    off_t at = source->total ? ftello(source->file) : 0;

    *done = at > 0 ? (uint64_t)at : 0;
    *total = source->total;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    if (source->pcap)
        pcap_close(source->pcap);
    free(source->buf); /* stdio used it until here */
    free(source->name);
    free(source);
}

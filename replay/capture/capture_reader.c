/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/capture_reader.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "capture/pcap_parse.h"
#include "capture/erf.h"
#include "capture/decompress.h"
#include "util/sigint.h"

#define LONG_MIN_LEN (UINT64_C(1) << 20) /* a smaller file is read as quickly in order */

/* pcap.h has no names for these two in every version; the numbers are tcpdump.org's. */
#define LINKTYPE_NULL       0 /* BSD loopback: four bytes of address family, then IP */
#define LINKTYPE_ETHERNET   1
#define LINKTYPE_RAW        101
#define LINKTYPE_LOOP       108 /* OpenBSD loopback: as NULL, but of network byte order */
#define LINKTYPE_SLL        113
#define LINKTYPE_ERF        197
#define LINKTYPE_IPV4       228
#define LINKTYPE_IPV6       229
#define LINKTYPE_INFINIBAND 247
#define LINKTYPE_SLL2       276

#define HEAD_LEN   8u
#define FAMILY_LEN 4u

struct source {
    char *name;
    FILE *file;   /* as opened */
    FILE *stream; /* `file`, or what it holds compressed */
    bool is_stdin;
    struct inflate *inflate; /* NULL for a plain file; lives until `stream` is closed */
    uint64_t total;          /* bytes of `file`, 0 for a pipe */
    uint32_t number;
    bool straight; /* a file of one link layer, whose frames are what its records hold: */
    enum roce_link link;
    struct capfile cap;
    /* Of a file that libpcap reads, and then what its frames are copied to. */
    pcap_t *pcap; /* owns `stream` */
    struct chunk kept[CHUNKS_KEEP + 1];
    unsigned kept_at;
};

/* DLT_RAW has numbers of its own in files of some systems: 12 and 14. */
static int link_of(uint32_t linktype, enum roce_link *out)
{
    switch (linktype) {
    case LINKTYPE_ETHERNET: *out = ROCE_LINK_ETHERNET; return 0;
    case LINKTYPE_SLL: *out = ROCE_LINK_SLL; return 0;
    case LINKTYPE_SLL2: *out = ROCE_LINK_SLL2; return 0;
    case LINKTYPE_NULL:
    case LINKTYPE_LOOP: /* IP says its version itself: the family has other numbers elsewhere */
    case 12:
    case 14:
    case LINKTYPE_RAW:
    case LINKTYPE_IPV4:
    case LINKTYPE_IPV6: *out = ROCE_LINK_IP; return 0;
    case LINKTYPE_INFINIBAND: *out = ROCE_LINK_IB; return 0;
    case LINKTYPE_ERF: *out = ROCE_LINK_IP; return 0; /* each record says for itself */
    default: return -1;
    }
}

/* ---- opening -----------------------------------------------------------------------------------
 */

/* Opens the file and puts the decompressor, if one is needed, behind it. */
static int open_stream(struct source *source, const char *path, struct fault *fault)
{
    struct fault why;
    struct stat st;

    source->file = source->is_stdin ? stdin : fopen(path, "rb");
    if (!source->file)
        return fault_set(fault, "%s: %s", source->name, strerror(errno));
    if (!source->is_stdin && fstat(fileno(source->file), &st) == 0 && S_ISREG(st.st_mode))
        source->total = (uint64_t)st.st_size;
    source->stream = inflate_open(source->file, source->is_stdin, &source->inflate, &why);
    if (!source->stream)
        return fault_set(fault, "%s: %s", source->name, why.text);
    return 0;
}

static int open_pcap(struct source *source, struct fault *fault)
{
    char errbuf[PCAP_ERRBUF_SIZE] = "";
    const char *error;

    source->pcap = pcap_fopen_offline_with_tstamp_precision(source->stream,
                                                            PCAP_TSTAMP_PRECISION_NANO, errbuf);
    if (source->pcap)
        return 0;
    error = inflate_error(source->inflate);
    return fault_set(fault, "%s: not a capture file: %s", source->name, error ? error : errbuf);
}

/* The first bytes of the stream, which stay in it. No more than any C library takes back. */
static bool peek_head(struct source *source, uint8_t head[HEAD_LEN])
{
    size_t len = fread(head, 1, HEAD_LEN, source->stream);

    for (size_t i = len; i > 0; i--)
        if (ungetc(head[i - 1], source->stream) == EOF)
            return false;
    return len == HEAD_LEN;
}

/* Whether any interface, or the file, has a link layer that carries RoCE. */
static int check_link(const struct source *source, struct fault *fault)
{
    const struct capfile *cap = &source->cap;
    uint32_t linktype = source_linktype(source);
    enum roce_link link;
    const char *name;

    if (link_of(linktype, &link) == 0 || (cap->pcapng && cap->iface_cnt == 0))
        return 0;
    for (uint32_t i = 0; i < cap->iface_cnt; i++)
        if (link_of(cap->iface[i].linktype, &link) == 0)
            return 0;
    name = pcap_datalink_val_to_name((int)linktype);
    return fault_set(fault, "%s: link layer %s (%u) does not carry RoCE", source->name,
                     name ? name : "?", linktype);
}

static int begin(struct source *source, const char *path, struct fault *fault)
{
    uint8_t head[HEAD_LEN];
    struct fault why;

    if (open_stream(source, path, fault) != 0)
        return -1;
    if (!peek_head(source, head) || !capfile_knows(head)) {
        if (open_pcap(source, fault) != 0)
            return -1;
        return 0;
    }
    inflate_live(source->inflate);
    if (capfile_open(&source->cap, source->stream, source->inflate, &why) != 0) {
        return fault_set(fault, "%s: not a capture file: %s", source->name, why.text);
    }
    return 0;
}

static bool is_straight(const struct source *source, enum roce_link *link)
{
    uint32_t linktype = source->cap.linktype;

    return source->cap.plain && linktype != LINKTYPE_ERF && linktype != LINKTYPE_NULL &&
           linktype != LINKTYPE_LOOP && link_of(linktype, link) == 0;
}

struct source *source_open(const char *path, struct fault *fault)
{
    return source_open_as(path, strcmp(path, "-") == 0 ? "standard input" : path, fault);
}

struct source *source_open_as(const char *path, const char *name, struct fault *fault)
{
    struct source *source = calloc(1, sizeof(*source));

    if (source)
        source->name = strdup(name);
    if (!source || !source->name) {
        free(source);
        fault_set(fault, "%s: no memory", name);
        return NULL;
    }
    source->is_stdin = strcmp(path, "-") == 0;
    if (begin(source, path, fault) != 0 ||
        ((source->pcap || !source->cap.pcapng) && check_link(source, fault) != 0)) {
        source_close(source);
        return NULL;
    }
    source->straight = is_straight(source, &source->link);
    return source;
}

/* ---- frames ------------------------------------------------------------------------------------
 */

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

/* A record through libpcap, copied to where it can stay. 1, 0, -1 and a reason. */
static int next_pcap(struct source *source, struct capfile_record *out, struct fault *why)
{
    struct pcap_pkthdr *hdr;
    const u_char *data;
    int rc = pcap_next_ex(source->pcap, &hdr, &data);
    struct chunk *kept;

    if (rc == PCAP_ERROR_BREAK)
        return 0;
    if (rc != 1)
        return fault_set(why, "%s", pcap_geterr(source->pcap));
    source->kept_at = (source->kept_at + 1) % (CHUNKS_KEEP + 1);
    kept = &source->kept[source->kept_at];
    if (kept->cap < hdr->caplen) {
        uint8_t *grown = realloc(kept->p, hdr->caplen);

        if (!grown)
            return fault_set(why, "no memory");
        *kept = (struct chunk){grown, hdr->caplen};
    }
    if (hdr->caplen)
        memcpy(kept->p, data, hdr->caplen);
    /* With nanosecond precision libpcap puts nanoseconds into tv_usec. A time before 1970 is
     * garbage and becomes 0. */
    *out = (struct capfile_record){
        .time = hdr->ts.tv_sec < 0 ? 0
                                   : (uint64_t)hdr->ts.tv_sec % 10000000000u * 1000000000u +
                                         (uint64_t)hdr->ts.tv_usec % 1000000000u,
        .linktype = source_linktype(source),
        .cap_len = hdr->caplen,
        .wire_len = hdr->len,
        .data = kept->p,
    };
    return 1;
}

static int next_record(struct source *source, struct capfile_record *out, struct fault *why)
{
    if (source->pcap)
        return next_pcap(source, out, why);
    return capfile_next(&source->cap, out, why);
}

/* The next frame from its record. */
static void frame_set(struct source *source, const struct capfile_record *record,
                      struct source_frame *out)
{
    *out = (struct source_frame){
        .number = ++source->number,
        .time = record->time,
        .cap_len = record->cap_len,
        .wire_len = record->wire_len < record->cap_len ? record->cap_len : record->wire_len,
        .data = record->data,
        .record = record->data,
        .record_cap_len = record->cap_len,
        .block = record->block,
        .block_len = record->block_len,
        .block_options_off = record->options_off,
        .block_big = source->cap.big,
    };
    out->record_wire_len = out->wire_len;
    if (record->linktype == LINKTYPE_ERF) {
        unwrap(out);
    } else if (record->linktype == LINKTYPE_NULL || record->linktype == LINKTYPE_LOOP) {
        uint32_t len = out->cap_len < FAMILY_LEN ? out->cap_len : FAMILY_LEN;

        out->link = ROCE_LINK_IP;
        out->data += len;
        out->cap_len -= len;
        out->wire_len -= len;
    } else if (link_of(record->linktype, &out->link) != 0) {
        out->link = ROCE_LINK_IP;
        out->cap_len = out->wire_len = 0;
    }
}

int source_next(struct source *source, struct source_frame *out, struct fault *fault)
{
    struct capfile_record record;
    struct fault why;
    int rc;

    if (sigint_received() && !source_is_live(source))
        return fault_set(fault, "%s: frame %u: interrupted", source->name, source->number + 1);
    rc = next_record(source, &record, &why);
    if (rc >= 0 && source->number == 0 && check_link(source, fault) != 0)
        return -1;
    if (rc == 0)
        return 0;
    if (rc != 1) {
        const char *error = inflate_error(source->inflate);

        if (sigint_received())
            return 0; /* a pipe, in the middle of a frame */
        return fault_set(fault, "%s: frame %u: %s", source->name, source->number + 1,
                         error ? error : why.text);
    }
    if (source->number == UINT32_MAX)
        return fault_set(fault, "%s: more than 2^32 frames", source->name);
    frame_set(source, &record, out);
    return 1;
}

bool source_next_here(struct source *source, struct source_frame *out)
{
    struct capfile_record record;

    if (!source->straight || source->number == UINT32_MAX ||
        !capfile_next_here(&source->cap, &record))
        return false;
    out->number = ++source->number;
    out->time = record.time;
    out->link = source->link;
    out->cap_len = record.cap_len;
    out->wire_len = record.wire_len < record.cap_len ? record.cap_len : record.wire_len;
    out->data = record.data;
    return true;
}

bool source_is_live(const struct source *source)
{
    return inflate_is_live(source->inflate);
}

bool source_ready(const struct source *source)
{
    return !source->pcap && capfile_ready(&source->cap);
}

bool source_blocks(struct source *source,
                   void (*on_block)(void *user, const uint8_t *block, uint32_t len, bool big),
                   void *user)
{
    source->cap.on_block = on_block;
    source->cap.user = user;
    return !source->pcap && source->cap.pcapng;
}

const char *source_name(const struct source *source)
{
    return source->name;
}

uint32_t source_linktype(const struct source *source)
{
    const struct capfile *cap = &source->cap;
    int datalink;

    if (!source->pcap)
        return cap->pcapng && cap->iface_cnt ? cap->iface[0].linktype : cap->linktype;
    datalink = pcap_datalink(source->pcap);
    /* The one link type here whose number in files is not the one in memory. */
    return datalink == DLT_RAW ? LINKTYPE_RAW : (uint32_t)datalink;
}

uint32_t source_snaplen(const struct source *source)
{
    return source->pcap ? (uint32_t)pcap_snapshot(source->pcap) : source->cap.snaplen;
}

/* Whether it is a plain file, and not too short, of which only the first chunk was read. */
static bool is_long_file(const struct source *source)
{
    return !source->pcap && !source->inflate && source->total >= LONG_MIN_LEN &&
           ftello(source->file) == (off_t)source->cap.chunks.len;
}

struct mapped *source_map(struct source *source)
{
    struct chunks *chunks = &source->cap.chunks;
    struct mapped *mapped;

    if (!is_long_file(source) || source->total > SIZE_MAX)
        return NULL;
    mapped = mapped_open(fileno(source->file), (size_t)source->total, source_name(source));
    if (mapped)
        chunks_map(chunks, mapped_bytes(mapped), (size_t)source->total);
    return mapped;
}

void source_begin_ahead(struct source *source)
{
    if (is_long_file(source))
        chunks_begin_ahead(&source->cap.chunks);
}

bool source_may_read_ahead(const struct source *source, unsigned who)
{
    return chunks_may_read_ahead(&source->cap.chunks, who);
}

bool source_read_ahead(struct source *source, unsigned who)
{
    return chunks_read_ahead(&source->cap.chunks, who);
}

uint64_t source_piece(const struct source *source)
{
    return chunks_piece(&source->cap.chunks);
}

void source_release(struct source *source, uint64_t oldest)
{
    chunks_release(&source->cap.chunks, oldest);
}

bool source_has_turn(const struct source *source, unsigned who)
{
    const struct chunks *chunks = &source->cap.chunks;

    return !chunks->ahead.on || chunks_has_next(chunks, who) || capfile_ready(&source->cap);
}

void source_progress(const struct source *source, uint64_t *done, uint64_t *total)
{
    bool plain = source->total && !source->pcap && !source->inflate;
    off_t at = source->total && !plain ? ftello(source->file) : 0;

    *done = plain ? chunks_position(&source->cap.chunks) : at > 0 ? (uint64_t)at : 0;
    *total = source->total;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    capfile_close(&source->cap);
    if (source->pcap)
        pcap_close(source->pcap); /* and the stream with it, unless that is stdin */
    else if (source->stream && source->stream != stdin)
        fclose(source->stream); /* and `file` with it, if it is another */
    else if (!source->stream && source->file && !source->is_stdin)
        fclose(source->file);
    for (unsigned i = 0; i <= CHUNKS_KEEP; i++)
        free(source->kept[i].p);
    free(source->name);
    free(source);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/capture_reader.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "capture/decompress.h"
#include "capture/erf.h"
#include "capture/mapped_reader.h"
#include "capture/mmap_pages.h"
#include "capture/narrow.h"
#include "capture/pcap_parse.h"
#include "util/sigint.h"

/* Link types of tcpdump.org. Defined here because not every version of pcap.h has all these
 * names. */
#define LINKTYPE_NULL     0 /* BSD loopback: 4 bytes address family, then IP */
#define LINKTYPE_ETHERNET 1
#define LINKTYPE_RAW      101
/* OpenBSD loopback: address family in network byte order, then IP. */
#define LINKTYPE_LOOP       108
#define LINKTYPE_SLL        113
#define LINKTYPE_ERF        197
#define LINKTYPE_IPV4       228
#define LINKTYPE_IPV6       229
#define LINKTYPE_INFINIBAND 247
#define LINKTYPE_SLL2       276

#define HEAD_LEN   8u /* bytes that show the format of a file */
#define FAMILY_LEN 4u /* header of BSD loopback frames, bytes */

struct capture_reader {
    char *name;
    FILE *file;   /* the opened file, compressed or not */
    FILE *stream; /* `file`, or its decompressed content */
    bool is_stdin;
    struct decompress *decompress; /* NULL for a plain file; freed with `stream` */
    uint64_t total;                /* size of `file`, bytes; 0 for a pipe */
    uint32_t number;
    uint32_t last;  /* number of the last frame to read; UINT32_MAX: no limit */
    uint64_t start; /* time of the first frame, ns since 1970 */
    const struct narrow *narrow;
    bool ignores_sigint;      /* SIGINT does not end the reading */
    struct mmap_file *mapped; /* result of reader_map(), owned by the caller of reader_map() */
    /* True: every frame of the file, or of the current pcapng section, has link layer `link` and no
     * record header, so reader_next_here() may be used. */
    bool straight;
    uint32_t straight_type; /* result of plain_type() when `straight` was computed */
    enum roce_link link;
    struct pcap_parser cap;
    /* Used only if libpcap reads the file: its handle, and a ring of copies of its latest
     * frames. */
    pcap_t *pcap; /* owns `stream` */
    struct chunk kept[READ_BUFFER_KEEP + 1];
    unsigned kept_at;
};

uint32_t capture_linktype(enum roce_link link)
{
    switch (link) {
    case ROCE_LINK_SLL: return LINKTYPE_SLL;
    case ROCE_LINK_SLL2: return LINKTYPE_SLL2;
    case ROCE_LINK_IP: return LINKTYPE_RAW;
    case ROCE_LINK_IB: return LINKTYPE_INFINIBAND;
    default: return LINKTYPE_ETHERNET;
    }
}

/* Converts a LINKTYPE_ number to enum roce_link. The numbers 12 and 14 are raw IP in files that
 * some systems wrote. Returns 0, or -1 if the link layer cannot carry RoCE. */
static int link_of(uint32_t linktype, enum roce_link *out)
{
    switch (linktype) {
    case LINKTYPE_ETHERNET: *out = ROCE_LINK_ETHERNET; return 0;
    case LINKTYPE_SLL: *out = ROCE_LINK_SLL; return 0;
    case LINKTYPE_SLL2: *out = ROCE_LINK_SLL2; return 0;
    case LINKTYPE_NULL:
    /* Ignore the address family, because its numbers differ between systems. The IP header contains
     * the version. */
    case LINKTYPE_LOOP:
    case 12:
    case 14:
    case LINKTYPE_RAW:
    case LINKTYPE_IPV4:
    case LINKTYPE_IPV6: *out = ROCE_LINK_IP; return 0;
    case LINKTYPE_INFINIBAND: *out = ROCE_LINK_IB; return 0;
    /* ROCE_LINK_IP is a placeholder, because each ERF record names its own link layer. */
    case LINKTYPE_ERF: *out = ROCE_LINK_IP; return 0;
    default: return -1;
    }
}

/* ---- opening a capture -------------------------------------------------------------------------
 */

/* Opens the file, and the decompressor if the file is compressed. */
static int open_stream(struct capture_reader *reader, const char *path, struct error *error)
{
    struct error why;
    struct stat st;

    reader->file = reader->is_stdin ? stdin : fopen(path, "rb");
    if (!reader->file)
        return error_set(error, "%s: %s", reader->name, strerror(errno));
    if (!reader->is_stdin && fstat(fileno(reader->file), &st) == 0 && S_ISREG(st.st_mode))
        reader->total = (uint64_t)st.st_size;
    reader->stream = decompress_open(reader->file, reader->is_stdin, &reader->decompress, &why);
    if (!reader->stream)
        return error_set(error, "%s: %s", reader->name, why.text);
    return 0;
}

static int open_libpcap(struct capture_reader *reader, struct error *error)
{
    char errbuf[PCAP_ERRBUF_SIZE] = "";
    const char *reason;

    reader->pcap = pcap_fopen_offline_with_tstamp_precision(reader->stream,
                                                            PCAP_TSTAMP_PRECISION_NANO, errbuf);
    if (reader->pcap)
        return 0;
    reason = decompress_error(reader->decompress);
    return error_set(error, "%s: not a capture file: %s", reader->name, reason ? reason : errbuf);
}

/* Reads the first 8 bytes of the stream and puts them back. Relies on ungetc() accepting 8 bytes,
 * which the usual C libraries do. */
static bool peek_head(struct capture_reader *reader, uint8_t head[HEAD_LEN])
{
    size_t len = fread(head, 1, HEAD_LEN, reader->stream);

    for (size_t i = len; i > 0; i--)
        if (ungetc(head[i - 1], reader->stream) == EOF)
            return false;
    return len == HEAD_LEN;
}

/* Checks that the link layer of the file is supported. In pcapng, one supported interface among
 * those read so far is sufficient. Returns 0, or -1 and an error. */
static int check_link(const struct capture_reader *reader, struct error *error)
{
    const struct pcap_parser *cap = &reader->cap;
    uint32_t linktype = reader_linktype(reader);
    enum roce_link link;
    const char *name;

    if (link_of(linktype, &link) == 0 || (cap->pcapng && cap->iface_cnt == 0))
        return 0;
    for (uint32_t i = 0; i < cap->iface_cnt; i++)
        if (link_of(cap->iface[i].linktype, &link) == 0)
            return 0;
    name = pcap_datalink_val_to_name((int)linktype);
    return error_set(error, "%s: link layer %s (%u) is not supported", reader->name,
                     name ? name : "?", linktype);
}

static int begin_reader(struct capture_reader *reader, const char *path, struct error *error)
{
    uint8_t head[HEAD_LEN];
    struct error why;

    if (open_stream(reader, path, error) != 0)
        return -1;
    if (!peek_head(reader, head) || !pcap_parser_knows(head)) {
        if (open_libpcap(reader, error) != 0)
            return -1;
        return 0;
    }
    decompress_set_live(reader->decompress);
    if (pcap_parser_open(&reader->cap, reader->stream, reader->decompress, &why) != 0) {
        return error_set(error, "%s: not a capture file: %s", reader->name, why.text);
    }
    return 0;
}

/* Returns the link type of all records that pcap_walk.h can read, or UINT32_MAX if it cannot read
 * the file or section. */
static uint32_t plain_type(const struct capture_reader *reader)
{
    return reader->cap.plain ? reader->cap.linktype : UINT32_MAX;
}

static void update_straight(struct capture_reader *reader)
{
    uint32_t linktype = plain_type(reader);

    reader->straight_type = linktype;
    reader->straight = linktype != UINT32_MAX && linktype != LINKTYPE_ERF &&
                       linktype != LINKTYPE_NULL && linktype != LINKTYPE_LOOP &&
                       link_of(linktype, &reader->link) == 0;
}

struct capture_reader *reader_open(const char *path, struct error *error)
{
    return reader_open_as(path, strcmp(path, "-") == 0 ? "standard input" : path, error);
}

struct capture_reader *reader_open_as(const char *path, const char *name, struct error *error)
{
    struct capture_reader *reader = calloc(1, sizeof(*reader));

    if (reader)
        reader->name = strdup(name);
    if (!reader || !reader->name) {
        free(reader);
        error_set(error, "%s: no memory", name);
        return NULL;
    }
    reader->last = UINT32_MAX;
    reader->is_stdin = strcmp(path, "-") == 0;
    if (begin_reader(reader, path, error) != 0 ||
        ((reader->pcap || !reader->cap.pcapng) && check_link(reader, error) != 0)) {
        reader_close(reader);
        return NULL;
    }
    update_straight(reader);
    return reader;
}

/* ---- reading frames ----------------------------------------------------------------------------
 */

/* Sets link, data and lengths of `frame` to the values of the frame inside the ERF record. */
static void unwrap_erf(struct captured_frame *frame)
{
    struct erf_frame inner;

    if (!erf_frame(&inner, frame->record, frame->record_cap_len))
        inner = (struct erf_frame){.link = ROCE_LINK_IP, .data = frame->record};
    frame->link = inner.link;
    frame->data = inner.data;
    frame->cap_len = inner.cap_len;
    frame->wire_len = inner.wire_len;
}

/* Reads a record with libpcap. Copies it, because libpcap reuses its buffer at the next call.
 * Returns 1, 0 at the end, or -1 and an error. */
static int next_libpcap(struct capture_reader *reader, struct pcap_record *out, struct error *why)
{
    struct pcap_pkthdr *hdr;
    const u_char *data;
    int rc = pcap_next_ex(reader->pcap, &hdr, &data);
    struct chunk *kept;

    if (rc == PCAP_ERROR_BREAK)
        return 0;
    if (rc != 1)
        return error_set(why, "%s", pcap_geterr(reader->pcap));
    reader->kept_at = (reader->kept_at + 1) % (READ_BUFFER_KEEP + 1);
    kept = &reader->kept[reader->kept_at];
    if (kept->cap < hdr->caplen) {
        uint8_t *grown = realloc(kept->p, hdr->caplen);

        if (!grown)
            return error_set(why, "no memory");
        *kept = (struct chunk){grown, hdr->caplen};
    }
    if (hdr->caplen)
        memcpy(kept->p, data, hdr->caplen);
    /* With nanosecond precision libpcap puts nanoseconds into tv_usec. A time before 1970 is
     * garbage and becomes 0. */
    *out = (struct pcap_record){
        .time = hdr->ts.tv_sec < 0 ? 0
                                   : (uint64_t)hdr->ts.tv_sec % 10000000000u * 1000000000u +
                                         (uint64_t)hdr->ts.tv_usec % 1000000000u,
        .linktype = reader_linktype(reader),
        .cap_len = hdr->caplen,
        .wire_len = hdr->len,
        .data = kept->p,
    };
    return 1;
}

static int next_record(struct capture_reader *reader, struct pcap_record *out, struct error *why)
{
    if (reader->pcap)
        return next_libpcap(reader, out, why);
    return pcap_parser_next(&reader->cap, out, why);
}

/* Fills `out` from a record and assigns the next frame number to it. */
static void set_frame(struct capture_reader *reader, const struct pcap_record *record,
                      struct captured_frame *out)
{
    *out = (struct captured_frame){
        .number = ++reader->number,
        .time = record->time,
        .cap_len = record->cap_len,
        .wire_len = record->wire_len < record->cap_len ? record->cap_len : record->wire_len,
        .data = record->data,
        .record = record->data,
        .record_cap_len = record->cap_len,
        .block = record->block,
        .block_len = record->block_len,
        .block_options_off = record->options_off,
        .block_big = reader->cap.big,
    };
    out->record_wire_len = out->wire_len;
    if (record->linktype == LINKTYPE_ERF) {
        unwrap_erf(out);
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

int reader_next(struct capture_reader *reader, struct captured_frame *out, struct error *error)
{
    struct pcap_record record;
    struct error why;
    int rc;

    if (reader->number == reader->last && reader->last != UINT32_MAX)
        return 0;
    if (!reader->ignores_sigint && sigint_received() && !reader_is_live(reader))
        return error_set(error, "%s: frame %u: interrupted", reader->name, reader->number + 1);
    rc = next_record(reader, &record, &why);
    if (rc >= 0 && reader->number == 0 && check_link(reader, error) != 0)
        return -1;
    if (rc == 0)
        return 0;
    if (rc != 1) {
        const char *reason = decompress_error(reader->decompress);

        if (sigint_received())
            /* Ctrl-C usually also ends the program that writes to the pipe. So the last frame may
             * be incomplete, which is not an error. */
            return 0;
        return error_set(error, "%s: frame %u: %s", reader->name, reader->number + 1,
                         reason ? reason : why.text);
    }
    if (reader->number == UINT32_MAX)
        return error_set(error, "%s: more than 2^32 frames", reader->name);
    if (plain_type(reader) != reader->straight_type) /* a pcapng section or interface began */
        update_straight(reader);
    set_frame(reader, &record, out);
    if (out->number == 1)
        reader->start = out->time;
    return 1;
}

bool reader_next_here(struct capture_reader *reader, struct captured_frame *out)
{
    struct pcap_record record;

    if (!reader->straight || reader->number == reader->last ||
        !pcap_parser_next_here(&reader->cap, &record))
        return false;
    out->number = ++reader->number;
    out->time = record.time;
    out->link = reader->link;
    out->cap_len = record.cap_len;
    out->wire_len = record.wire_len < record.cap_len ? record.cap_len : record.wire_len;
    out->data = record.data;
    return true;
}

bool reader_walk(const struct capture_reader *reader, struct reader_walk *walk)
{
    if (!reader->straight || reader->link != ROCE_LINK_ETHERNET)
        return false;
    walk->pcapng = reader->cap.pcapng;
    walk->number = reader->number;
    walk->last = reader->last;
    walk->records = pcap_parser_walk(&reader->cap);
    return true;
}

void reader_walked(struct capture_reader *reader, const struct reader_walk *walk)
{
    reader->number = walk->number;
    pcap_parser_walked(&reader->cap, &walk->records);
}

void reader_narrow(struct capture_reader *reader, const struct narrow *narrow)
{
    reader->narrow = narrow;
    if (narrow && narrow->first)
        reader->last = narrow->first;
}

bool reader_takes(const struct capture_reader *reader, const struct captured_frame *frame)
{
    return !reader->narrow || narrow_takes(reader->narrow, frame, reader->start);
}

bool reader_is_live(const struct capture_reader *reader)
{
    return decompress_is_live(reader->decompress);
}

bool reader_ready(const struct capture_reader *reader)
{
    return !reader->pcap && pcap_parser_ready(&reader->cap);
}

bool reader_blocks(struct capture_reader *reader,
                   void (*on_block)(void *user, const uint8_t *block, uint32_t len, bool big),
                   void *user)
{
    reader->cap.on_block = on_block;
    reader->cap.user = user;
    return !reader->pcap && reader->cap.pcapng;
}

const char *reader_name(const struct capture_reader *reader)
{
    return reader->name;
}

uint32_t reader_linktype(const struct capture_reader *reader)
{
    const struct pcap_parser *cap = &reader->cap;
    int datalink;

    if (!reader->pcap)
        return cap->pcapng && cap->iface_cnt ? cap->iface[0].linktype : cap->linktype;
    datalink = pcap_datalink(reader->pcap);
    /* For the supported link layers, the DLT_ numbers of libpcap equal the LINKTYPE_ numbers in
     * files, except DLT_RAW. */
    return datalink == DLT_RAW ? LINKTYPE_RAW : (uint32_t)datalink;
}

uint32_t reader_snaplen(const struct capture_reader *reader)
{
    return reader->pcap ? (uint32_t)pcap_snapshot(reader->pcap) : reader->cap.snaplen;
}

/* Returns whether the input is an uncompressed file of at least `min` bytes, and the reader has
 * read only its first piece. */
static bool is_long_file(const struct capture_reader *reader, uint64_t min)
{
    return !reader->pcap && !reader->decompress && reader->total >= min &&
           ftello(reader->file) == (off_t)reader->cap.buf.len;
}

/* Makes the reader use the whole mapped file instead of the piece that it has read. If `mapped` is
 * NULL, the file could not be mapped, and the reader continues to read it in pieces. */
static struct mmap_file *use_mapped(struct capture_reader *reader, struct mmap_file *mapped)
{
    reader->mapped = mapped;
    if (mapped)
        read_buffer_map(&reader->cap.buf, mmap_file_bytes(mapped), (size_t)reader->total);
    return mapped;
}

struct mmap_file *reader_map(struct capture_reader *reader, uint64_t max)
{
    if (!is_long_file(reader, READER_LONG) || reader->total > max || reader->total > SIZE_MAX)
        return NULL;
    return use_mapped(
        reader, mmap_file_open(fileno(reader->file), (size_t)reader->total, reader_name(reader)));
}

struct mmap_file *reader_map_lazily(struct capture_reader *reader, uint64_t min)
{
    if (!is_long_file(reader, min) || reader->total > SIZE_MAX)
        return NULL;
    return use_mapped(reader, mmap_file_open_lazily(fileno(reader->file), (size_t)reader->total,
                                                    reader_name(reader)));
}

struct capture_reader *reader_twin(const struct capture_reader *reader, bool blocks)
{
    struct capture_reader *twin = malloc(sizeof(*twin));

    if (!twin)
        return NULL;
    *twin = *reader;
    twin->ignores_sigint = true;
    twin->file = twin->stream = NULL; /* only `reader` closes the file */
    twin->name = strdup(reader->name);
    if (!blocks)
        twin->cap.on_block = NULL;
    twin->cap.iface = NULL;
    if (!twin->name || !pcap_parser_copy_ifaces(&twin->cap, &reader->cap)) {
        reader_close(twin);
        return NULL;
    }
    return twin;
}

int reader_skip(struct capture_reader *reader, struct captured_frame *out, struct error *error)
{
    int rc;

    reader->ignores_sigint = true;
    rc = reader_next(reader, out, error);
    reader->ignores_sigint = false;
    return rc;
}

size_t reader_map_next(const struct capture_reader *reader)
{
    size_t at = reader->cap.buf.off;

    if (reader->mapped)
        mmap_file_populate(reader->mapped, at);
    return at;
}

void reader_unmap_before(const struct capture_reader *reader, size_t off)
{
    if (reader->mapped)
        mmap_file_drop(reader->mapped, off);
}

const uint8_t *reader_mapped(const struct capture_reader *reader)
{
    return read_buffer_here(&reader->cap.buf);
}

void reader_show(struct capture_reader *reader, size_t off)
{
    reader->cap.buf.off = off;
}

void reader_begin_ahead(struct capture_reader *reader)
{
    if (!reader->mapped && is_long_file(reader, READER_LONG))
        read_buffer_begin_ahead(&reader->cap.buf);
}

bool reader_may_read_ahead(const struct capture_reader *reader, unsigned who)
{
    return read_buffer_may_read_ahead(&reader->cap.buf, who);
}

bool reader_read_ahead(struct capture_reader *reader, unsigned who)
{
    return read_buffer_read_ahead(&reader->cap.buf, who);
}

uint64_t reader_piece(const struct capture_reader *reader)
{
    return read_buffer_piece(&reader->cap.buf);
}

void reader_release(struct capture_reader *reader, uint64_t oldest)
{
    read_buffer_release(&reader->cap.buf, oldest);
}

bool reader_has_turn(const struct capture_reader *reader, unsigned who)
{
    const struct read_buffer *buf = &reader->cap.buf;

    return !buf->ahead.on || read_buffer_has_next(buf, who) || pcap_parser_ready(&reader->cap);
}

void reader_progress(const struct capture_reader *reader, uint64_t *done, uint64_t *total)
{
    bool plain = reader->total && !reader->pcap && !reader->decompress;
    off_t at = reader->total && !plain ? ftello(reader->file) : 0;

    *done = reader->mapped ? reader->cap.buf.off
            : plain        ? read_buffer_position(&reader->cap.buf)
            : at > 0       ? (uint64_t)at
                           : 0;
    *total = reader->total;
}

void reader_close(struct capture_reader *reader)
{
    if (!reader)
        return;
    pcap_parser_close(&reader->cap);
    if (reader->pcap)
        pcap_close(reader->pcap); /* also closes `stream`, unless it is stdin */
    else if (reader->stream && reader->stream != stdin)
        fclose(reader->stream); /* for a compressed file, also closes `file` */
    else if (!reader->stream && reader->file && !reader->is_stdin)
        fclose(reader->file);
    for (unsigned i = 0; i <= READ_BUFFER_KEEP; i++)
        free(reader->kept[i].p);
    free(reader->name);
    free(reader);
}

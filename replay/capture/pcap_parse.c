/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/pcap_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "wire/bytes.h"

#define FILE_LEN 24u

static bool pcap_magic(const uint8_t *p, bool *big, uint64_t *unit_ns)
{
    for (int i = 0; i < 4; i++) {
        uint32_t magic = i & 1 ? PCAP_MAGIC_NS : PCAP_MAGIC_US;

        if (pcapng_u32(i >> 1, p) != magic)
            continue;
        *big = i >> 1;
        *unit_ns = i & 1 ? 1 : 1000;
        return true;
    }
    return false;
}

bool pcap_parser_knows(const uint8_t head[8])
{
    uint64_t unit_ns;
    bool big;

    if (roce_le32_get(head) == PCAPNG_SECTION)
        return true;
    /* Accepts only version 2.4: in earlier versions, the order of captured and original length
     * varied. */
    return pcap_magic(head, &big, &unit_ns) && pcapng_u16(big, head + 4) == 2 &&
           pcapng_u16(big, head + 6) == 4;
}

/* Returns whether another capture file begins at `p`, as after `cat A B`. Such files are rejected.
 * Otherwise the header would be read as an empty packet of the year 2055 (pcap), or as a block of
 * invalid length (pcapng). */
static bool is_joined(const uint8_t p[PCAPNG_BLOCK_MIN], struct error *error)
{
    bool big;

    if (!pcap_parser_knows(p) || !(roce_le32_get(p) == PCAPNG_SECTION ? pcapng_byte_order(p, &big)
                                                                      : roce_le32_get(p + 8) == 0))
        return false;
    error_set(error, "another capture begins here: join captures with mergecap, not with cat");
    return true;
}

/* Sets the error after read_buffer_peek() returned NULL. The reason is that memory ran out, that a
 * read failed, or that the file ends inside an object of `len` bytes. `what` names this object, for
 * example "header". Returns -1. */
static int set_truncated(struct pcap_parser *cap, const char *what, size_t len, struct error *error)
{
    if (cap->buf.no_memory)
        return error_set(error, "no memory");
    if (ferror(cap->buf.file))
        return error_set(error, "%s", strerror(errno));
    return error_set(error, "truncated dump file; tried to read %zu %s bytes, only got %zu", len,
                     what, read_buffer_left(&cap->buf));
}

int pcap_parser_open(struct pcap_parser *cap, FILE *file, const struct decompress *decompress,
                     struct error *error)
{
    const uint8_t *p;

    *cap = (struct pcap_parser){0};
    read_buffer_open(&cap->buf, file, decompress);
    p = read_buffer_peek(&cap->buf, 4);
    if (!p)
        return set_truncated(cap, "file header", 4, error);
    cap->pcapng = roce_le32_get(p) == PCAPNG_SECTION;
    if (cap->pcapng)
        return 0;
    p = read_buffer_peek(&cap->buf, FILE_LEN);
    if (!p)
        return set_truncated(cap, "file header", FILE_LEN, error);
    if (!pcap_magic(p, &cap->big, &cap->unit_ns))
        return error_set(
            error, "unknown file format (editcap converts every format that Wireshark can read)");
    cap->snaplen = pcapng_u32(cap->big, p + 16);
    cap->plain = !cap->big;
    /* The upper six bits contain the length of the frame check sequence. */
    cap->linktype = pcapng_u32(cap->big, p + 20) & 0x03FFFFFF;
    if (cap->snaplen == 0 || cap->snaplen > PCAPNG_RECORD_MAX)
        cap->snaplen = PCAPNG_RECORD_MAX;
    read_buffer_take(&cap->buf, FILE_LEN);
    return 0;
}

void pcap_parser_close(struct pcap_parser *cap)
{
    read_buffer_close(&cap->buf);
    free(cap->iface);
    *cap = (struct pcap_parser){0};
}

bool pcap_parser_copy_ifaces(struct pcap_parser *to, const struct pcap_parser *from)
{
    size_t size = from->iface_cap * sizeof(*from->iface);

    to->iface = size ? malloc(size) : NULL;
    if (size && !to->iface)
        return false;
    if (size)
        memcpy(to->iface, from->iface, size);
    return true;
}

/* ---- reading pcap ------------------------------------------------------------------------------
 */

/* Converts the fraction of a time stamp to ns. A fraction of 1 s or more is invalid; the result is
 * then the part below 1 s. */
static uint64_t fraction_ns(const struct pcap_parser *cap, uint32_t fraction)
{
    uint64_t ns = fraction * cap->unit_ns;

    return ns < PCAP_NS ? ns : ns % PCAP_NS;
}

struct pcap_walk pcap_parser_walk(const struct pcap_parser *cap)
{
    const struct read_buffer *buf = &cap->buf;

    return (struct pcap_walk){.at = read_buffer_here(buf),
                              .end = buf->p + buf->len,
                              .unit_ns = cap->unit_ns,
                              .snaplen = cap->snaplen,
                              .iface_cnt = cap->iface_cnt,
                              .stamp_end = cap->stamp_end,
                              .linktype = cap->linktype};
}

void pcap_parser_walked(struct pcap_parser *cap, const struct pcap_walk *walk)
{
    struct read_buffer *buf = &cap->buf;

    read_buffer_take(buf, (size_t)(walk->at - read_buffer_here(buf)));
    read_buffer_keep(buf);
}

bool pcap_parser_next_here(struct pcap_parser *cap, struct pcap_record *out)
{
    struct pcap_walk walk;

    if (!cap->plain)
        return false;
    walk = pcap_parser_walk(cap);
    if (!pcap_walk_next(&walk, cap->pcapng, out))
        return false;
    pcap_parser_walked(cap, &walk);
    return true;
}

static int next_pcap(struct pcap_parser *cap, struct pcap_record *out, struct error *error)
{
    struct read_buffer *buf = &cap->buf;
    const uint8_t *p = read_buffer_peek(buf, PCAP_RECORD_LEN);
    uint32_t cap_len, fraction;

    if (!p) {
        if (read_buffer_left(buf) == 0 && buf->end && !ferror(buf->file))
            return 0;
        return set_truncated(cap, "header", PCAP_RECORD_LEN, error);
    }
    if (is_joined(p, error))
        return -1;
    cap_len = pcapng_u32(cap->big, p + 8);
    if (cap_len > PCAPNG_RECORD_MAX)
        return error_set(error, "invalid packet capture length %u, bigger than maximum of %u",
                         cap_len, PCAPNG_RECORD_MAX);
    p = read_buffer_peek(buf, PCAP_RECORD_LEN + cap_len);
    if (!p) {
        read_buffer_take(buf, PCAP_RECORD_LEN);
        return set_truncated(cap, "captured", cap_len, error);
    }
    fraction = pcapng_u32(cap->big, p + 4);
    *out = (struct pcap_record){
        .time = pcapng_u32(cap->big, p) * PCAP_NS + fraction_ns(cap, fraction),
        .linktype = cap->linktype,
        .cap_len = cap_len < cap->snaplen ? cap_len : cap->snaplen,
        .wire_len = pcapng_u32(cap->big, p + 12),
        .data = p + PCAP_RECORD_LEN,
    };
    read_buffer_take(buf, PCAP_RECORD_LEN + cap_len);
    return 1;
}

/* ---- reading pcapng ----------------------------------------------------------------------------
 */

/* Updates `plain` for another interface of the section: all interfaces must have the link layer and
 * the unit of the first one. */
static void update_plain(struct pcap_parser *cap, const struct pcapng_iface *iface)
{
    const uint64_t unit_ns = iface->units == PCAP_NS          ? 1
                             : iface->units == PCAP_NS / 1000 ? 1000
                                                              : 0;

    if (cap->iface_cnt == 0) {
        cap->linktype = iface->linktype;
        cap->unit_ns = unit_ns;
        cap->stamp_end = unit_ns ? UINT64_MAX / PCAP_NS * iface->units : 0;
        cap->plain = !cap->big;
    }
    cap->plain &= unit_ns && iface->offset == 0 && unit_ns == cap->unit_ns &&
                  iface->linktype == cap->linktype;
}

static int add_iface(struct pcap_parser *cap, const uint8_t *block, uint32_t len,
                     struct error *error)
{
    struct pcapng_iface iface;

    if (pcapng_read_iface(&iface, cap->big, block, len, error) != 0)
        return -1;
    if (cap->iface_cnt == cap->iface_cap) {
        uint32_t grown = cap->iface_cap ? cap->iface_cap * 2 : 4;
        struct pcapng_iface *p = NULL;

        if (grown <= PCAPNG_IFACES_MAX)
            p = realloc(cap->iface, grown * sizeof(*p));
        if (!p)
            return error_set(error, "more interfaces than the limit of %u", cap->iface_cnt);
        cap->iface = p;
        cap->iface_cap = grown;
    }
    if (cap->iface_cnt == 0)
        cap->snaplen = iface.snaplen ? iface.snaplen : PCAPNG_RECORD_MAX;
    update_plain(cap, &iface);
    cap->iface[cap->iface_cnt++] = iface;
    return 0;
}

/* Peeks at the next block and checks that the lengths at its start and end are equal. Sets the byte
 * order if the block is a section header. Returns 1, 0 at the end, or -1 and an error. */
static int peek_block(struct pcap_parser *cap, const uint8_t **block, uint32_t *len,
                      struct error *error)
{
    struct read_buffer *buf = &cap->buf;
    const uint8_t *p = read_buffer_peek(buf, PCAPNG_BLOCK_MIN);

    if (!p) {
        if (read_buffer_left(buf) == 0 && buf->end && !ferror(buf->file))
            return 0;
        return set_truncated(cap, "block header", PCAPNG_BLOCK_MIN, error);
    }
    if (roce_le32_get(p) == PCAPNG_SECTION) {
        if (!pcapng_byte_order(p, &cap->big))
            return error_set(error,
                             "a section header has the byte-order magic 0x%08x, which is not valid",
                             roce_le32_get(p + 8));
    } else if (is_joined(p, error)) {
        return -1;
    }
    *len = pcapng_u32(cap->big, p + 4);
    if (*len < PCAPNG_BLOCK_MIN || *len % 4 != 0 || *len > PCAPNG_BLOCK_MAX)
        return error_set(
            error, "a block has the length %u; a valid length is a multiple of 4 from %u to %u",
            *len, PCAPNG_BLOCK_MIN, PCAPNG_BLOCK_MAX);
    p = read_buffer_peek(buf, *len);
    if (!p)
        return set_truncated(cap, "block", *len, error);
    /* Like libpcap, does not check the second length of a section header. */
    if (roce_le32_get(p) != PCAPNG_SECTION && pcapng_u32(cap->big, p + *len - 4) != *len)
        return error_set(error,
                         "a block has two different lengths: %u at its start and %u at its end",
                         *len, pcapng_u32(cap->big, p + *len - 4));
    *block = p;
    return 1;
}

/* Fills `out` from a packet block. Returns 1, or -1 and an error. */
static int read_packet(struct pcap_parser *cap, const uint8_t *p, uint32_t len,
                       struct pcap_record *out, struct error *error)
{
    const struct pcapng_iface *iface;
    struct pcapng_packet packet;

    if (pcapng_read_packet(&packet, cap->big, p, len, error) != 0)
        return -1;
    if (packet.iface >= cap->iface_cnt)
        return error_set(error,
                         "a packet arrived on interface %u, but there's no Interface "
                         "Description Block for that interface",
                         packet.iface);
    iface = &cap->iface[packet.iface];
    *out = (struct pcap_record){
        .linktype = iface->linktype,
        .cap_len = packet.cap_len,
        .wire_len = packet.wire_len,
        .data = p + packet.data_off,
        .block = p,
        .block_len = len,
        .options_off = packet.options_off,
    };
    if (packet.options_off)
        out->time = pcapng_time(iface, packet.stamp);
    else if (iface->snaplen && out->cap_len > iface->snaplen)
        out->cap_len = iface->snaplen;
    return 1;
}

/* Reads a block that is not a packet. Returns 0, or -1 and an error. */
static int read_other(struct pcap_parser *cap, const uint8_t *p, uint32_t len, struct error *error)
{
    uint32_t type = pcapng_u32(cap->big, p);

    if (type == PCAPNG_SECTION) {
        if (len < PCAPNG_SECTION_MIN)
            return error_set(error, "a section header of %u bytes is too short", len);
        if (pcapng_u16(cap->big, p + 12) != 1)
            return error_set(error, "unsupported pcapng savefile version %u.%u",
                             pcapng_u16(cap->big, p + 12), pcapng_u16(cap->big, p + 14));
        cap->iface_cnt = 0;
        cap->linktype = 0;
        cap->plain = false;
    } else if (type == PCAPNG_INTERFACE && add_iface(cap, p, len, error) != 0) {
        return -1;
    }
    if (cap->on_block)
        cap->on_block(cap->user, p, len, cap->big);
    return 0;
}

/* Reads blocks up to the next packet block and peeks at this block. Returns 1, 0 at the end, or -1
 * and an error. */
static int seek_packet(struct pcap_parser *cap, const uint8_t **p, uint32_t *len,
                       struct error *error)
{
    int rc;

    while ((rc = peek_block(cap, p, len, error)) == 1 &&
           !pcapng_is_packet(pcapng_u32(cap->big, *p))) {
        if (read_other(cap, *p, *len, error) != 0)
            return -1;
        read_buffer_take(&cap->buf, *len);
    }
    return rc;
}

int pcap_parser_next(struct pcap_parser *cap, struct pcap_record *out, struct error *error)
{
    const uint8_t *p = NULL;
    uint32_t len = 0;
    int rc;

    if (pcap_parser_next_here(cap, out))
        return 1;
    if (!cap->pcapng) {
        rc = next_pcap(cap, out, error);
    } else {
        rc = seek_packet(cap, &p, &len, error);
        if (rc == 1)
            rc = read_packet(cap, p, len, out, error);
        if (rc == 1)
            read_buffer_take(&cap->buf, len);
    }
    if (rc == 1)
        read_buffer_keep(&cap->buf);
    return rc;
}

bool pcap_parser_ready(const struct pcap_parser *cap)
{
    const struct read_buffer *buf = &cap->buf;
    const uint8_t *p;

    if (!read_buffer_has(buf, PCAP_RECORD_LEN))
        return false;
    p = read_buffer_here(buf);
    if (!cap->pcapng) {
        uint32_t cap_len = pcapng_u32(cap->big, p + 8);

        return cap_len <= PCAPNG_RECORD_MAX && read_buffer_has(buf, PCAP_RECORD_LEN + cap_len);
    }
    return pcapng_is_packet(pcapng_u32(cap->big, p)) &&
           read_buffer_has(buf, pcapng_u32(cap->big, p + 4));
}

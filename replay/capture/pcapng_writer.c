/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/pcapng_writer.h"

#include <stdlib.h>
#include <string.h>

/* Enlarges the buffer for a block with `len` bytes and `comments` comments. Returns false if out of
 * memory. */
static bool reserve_block(struct pcapng_writer *out, size_t len, size_t comments)
{
    size_t cap = len + PCAPNG_OVERHEAD(comments);
    uint8_t *grown;

    if (out->cap >= cap)
        return true;
    grown = realloc(out->buf, cap);
    if (!grown)
        return false;
    out->buf = grown;
    out->cap = cap;
    return true;
}

static int write_bytes(struct pcapng_writer *out, const uint8_t *p, size_t len)
{
    fwrite(p, 1, len, out->file); /* ferror() below detects a write error */
    return len == 0 || ferror(out->file) ? -1 : 0;
}

int pcapng_writer_begin(struct pcapng_writer *out, FILE *file, uint32_t linktype, uint32_t snaplen,
                        const char *application)
{
    *out = (struct pcapng_writer){.file = file};
    if (!reserve_block(out, strlen(application), 0) ||
        write_bytes(out, out->buf, pcapng_section(out->buf, out->cap, application)) != 0)
        return -1;
    return pcapng_writer_interface(out, linktype, snaplen);
}

int pcapng_writer_interface(struct pcapng_writer *out, uint32_t linktype, uint32_t snaplen)
{
    return reserve_block(out, 0, 0)
               ? write_bytes(out, out->buf,
                             pcapng_interface(out->buf, out->cap, NULL, NULL, linktype, snaplen))
               : -1;
}

int pcapng_writer_frame(struct pcapng_writer *out, const struct pcapng_frame *frame)
{
    if (!reserve_block(out, frame->cap_len, frame->comment_cnt))
        return -1;
    return write_bytes(out, out->buf, pcapng_packet(out->buf, out->cap, frame));
}

int pcapng_writer_copy_block(struct pcapng_writer *out, const uint8_t *block, uint32_t len)
{
    uint32_t copied = 0;
    bool big;

    if (len >= PCAPNG_SECTION_MIN && pcapng_byte_order(block, &big)) {
        static const uint8_t unknown[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

        fwrite(block, 1, 16, out->file);
        fwrite(unknown, 1, sizeof(unknown), out->file);
        copied = 24;
    }
    return write_bytes(out, block + copied, len - copied);
}

int pcapng_writer_copy_packet(struct pcapng_writer *out, const struct captured_frame *frame,
                              const char *const *comment, size_t cnt)
{
    const struct pcapng_packet packet = {
        .cap_len = frame->record_cap_len,
        .wire_len = frame->record_wire_len,
        .data_off = (uint32_t)(frame->record - frame->block),
        .options_off = frame->block_options_off,
    };

    if (cnt == 0)
        return write_bytes(out, frame->block, frame->block_len);
    if (!reserve_block(out, frame->block_len, cnt))
        return -1;
    return write_bytes(out, out->buf,
                       pcapng_add_comments(out->buf, out->cap, frame->block_big, frame->block,
                                           frame->block_len, &packet, comment, cnt));
}

void pcapng_writer_free(struct pcapng_writer *out)
{
    free(out->buf);
    out->buf = NULL;
    out->cap = 0;
}

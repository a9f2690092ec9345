/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _GNU_SOURCE /* fopencookie */
#include "capture/decompress.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/sigint.h"
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define IN_LEN   ((size_t)256 << 10) /* read at a time from the compressed file */
#define HEAD_LEN 6                   /* the longest mark at the start of a file */

enum packing { PLAIN, GZIP, ZSTD, XZ, BZIP2, LZ4 };

static const struct mark {
    enum packing packing;
    uint8_t len;
    uint8_t bytes[HEAD_LEN];
    const char *name;
} marks[] = {
    {GZIP, 2, {0x1F, 0x8B}, "gzip"},
    {ZSTD, 4, {0x28, 0xB5, 0x2F, 0xFD}, "zstd"},
    {XZ, 6, {0xFD, '7', 'z', 'X', 'Z', 0}, "xz"},
    {BZIP2, 3, {'B', 'Z', 'h'}, "bzip2"},
    {LZ4, 4, {0x04, 0x22, 0x4D, 0x18}, "lz4"},
};

struct decompress {
    FILE *file;
    bool keep;
    enum packing packing;
    bool more;  /* a member or frame has begun and not ended */
    bool done;  /* nothing follows */
    bool pipe;  /* no regular file: `file` has no buffer, and its descriptor is read */
    bool live;  /* a read ends where the input pauses */
    bool given; /* something was, since the last pause */
    const char *error;
    uint8_t *in; /* IN_LEN bytes */
    size_t in_off, in_len;
#ifdef HAVE_ZLIB
    z_stream gzip;
#endif
#ifdef HAVE_ZSTD
    ZSTD_DStream *zstd;
#endif
};

static const struct mark *mark_of(const uint8_t *head, size_t len)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (len >= marks[i].len && memcmp(head, marks[i].bytes, marks[i].len) == 0)
            return &marks[i];
    return NULL;
}

/* Whether there is input, reading more if needed. A read error ends the stream with its reason. */
static bool fill(struct decompress *s)
{
    if (s->in_off < s->in_len)
        return true;
    s->in_off = s->in_len = 0;
    if (s->pipe) { /* what is there: fread() would wait for all of it */
        ssize_t got = 0;

        do
            if (!sigint_wait_readable(fileno(s->file)))
                break; /* the end */
            else
                got = read(fileno(s->file), s->in, IN_LEN);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            s->error = strerror(errno);
        else
            s->in_len = (size_t)got;
    } else {
        s->in_len = fread(s->in, 1, IN_LEN, s->file);
        if (s->in_len == 0 && ferror(s->file))
            s->error = strerror(errno);
    }
    return s->in_len > 0;
}

/* Whether a read would have to wait, though it could end with what was given. */
static bool pauses(struct decompress *s)
{
    struct pollfd fd = {.fd = fileno(s->file), .events = POLLIN};

    return s->live && s->given && s->in_off == s->in_len && poll(&fd, 1, 0) == 0;
}

static ssize_t fail(struct decompress *s, const char *error)
{
    s->error = error;
    errno = EIO;
    return -1;
}

/* The end of the input: fine between members, and nowhere else. */
static ssize_t end(struct decompress *s)
{
    s->done = true;
    if (s->error || s->more)
        return fail(s, s->error ? s->error : "the compressed data ends in the middle");
    return 0;
}

static ssize_t read_plain(struct decompress *s, char *buf, size_t len)
{
    if (!fill(s))
        return end(s);
    if (len > s->in_len - s->in_off)
        len = s->in_len - s->in_off;
    memcpy(buf, s->in + s->in_off, len);
    s->in_off += len;
    return (ssize_t)len;
}

#ifdef HAVE_ZLIB
static ssize_t read_gzip(struct decompress *s, char *buf, size_t len)
{
    z_stream *z = &s->gzip;

    z->next_out = (Bytef *)buf;
    z->avail_out = (uInt)(len < IN_LEN ? len : IN_LEN);
    len = z->avail_out;
    while (z->avail_out == len) {
        int rc;

        if (!fill(s))
            return end(s);
        if (!s->more) {
            /* What follows the last member and is no other one is padding, as gzip -d has it. */
            if (s->in[s->in_off] != marks[0].bytes[0])
                return end(s);
            inflateReset(z);
            s->more = true;
        }
        z->next_in = s->in + s->in_off;
        z->avail_in = (uInt)(s->in_len - s->in_off);
        rc = inflate(z, Z_NO_FLUSH);
        s->in_off = s->in_len - z->avail_in;
        if (rc == Z_STREAM_END)
            s->more = false;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return fail(s, "the gzip data is damaged");
    }
    return (ssize_t)(len - z->avail_out);
}
#endif

#ifdef HAVE_ZSTD
static ssize_t read_zstd(struct decompress *s, char *buf, size_t len)
{
    ZSTD_outBuffer out = {.dst = buf, .size = len};

    while (out.pos == 0) {
        ZSTD_inBuffer in;
        size_t rc;

        /* A frame may still have output after the last of its input. */
        if (!fill(s) && (s->error || !s->more))
            return end(s);
        in = (ZSTD_inBuffer){.src = s->in, .size = s->in_len, .pos = s->in_off};
        rc = ZSTD_decompressStream(s->zstd, &out, &in);
        if (ZSTD_isError(rc))
            return fail(s, "the zstd data is damaged");
        if (in.pos == s->in_off && out.pos == 0)
            return end(s);
        s->in_off = in.pos;
        s->more = rc != 0;
    }
    return (ssize_t)out.pos;
}
#endif

static ssize_t cookie_read(void *cookie, char *buf, size_t len)
{
    struct decompress *s = cookie;

    if (s->error)
        return fail(s, s->error);
    if (s->done || len == 0)
        return 0;
    if (pauses(s)) {
        s->given = false;
        return 0;
    }
    s->given = true;
    switch (s->packing) {
#ifdef HAVE_ZLIB
    case GZIP: return read_gzip(s, buf, len);
#endif
#ifdef HAVE_ZSTD
    case ZSTD: return read_zstd(s, buf, len);
#endif
    default: return read_plain(s, buf, len);
    }
}

static int cookie_close(void *cookie)
{
    struct decompress *s = cookie;
    int rc = s->keep || !s->file ? 0 : fclose(s->file);

#ifdef HAVE_ZLIB
    if (s->packing == GZIP)
        inflateEnd(&s->gzip);
#endif
#ifdef HAVE_ZSTD
    ZSTD_freeDStream(s->zstd);
#endif
    free(s->in);
    free(s);
    return rc;
}

/* Makes the decompressor of s->packing. */
static bool begin(struct decompress *s)
{
    switch (s->packing) {
    case PLAIN: return true;
#ifdef HAVE_ZLIB
    case GZIP: return inflateInit2(&s->gzip, 15 + 16) == Z_OK; /* largest window, gzip header */
#endif
#ifdef HAVE_ZSTD
    case ZSTD: s->zstd = ZSTD_createDStream(); return s->zstd != NULL;
#endif
    default: return false;
    }
}

static bool known(enum packing packing)
{
#ifdef HAVE_ZLIB
    if (packing == GZIP)
        return true;
#endif
#ifdef HAVE_ZSTD
    if (packing == ZSTD)
        return true;
#endif
    return packing == PLAIN;
}

FILE *decompress_open(FILE *file, bool keep, struct decompress **state, struct error *error)
{
    static const cookie_io_functions_t io = {.read = cookie_read, .close = cookie_close};
    uint8_t head[HEAD_LEN];
    const struct mark *mark;
    struct decompress *s;
    FILE *stream;
    struct stat st;
    bool regular = fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
    size_t len;

    *state = NULL;
    if (!regular)
        (void)setvbuf(file, NULL, _IONBF, 0);
    len = fread(head, 1, sizeof(head), file);
    mark = mark_of(head, len);
    /* Only a regular file is sure to go back: some pipes and devices only say they did. */
    if (!mark && regular && fseek(file, -(long)len, SEEK_CUR) == 0)
        return file;
    if (mark && !known(mark->packing)) {
        error_set(error, "compressed with %s, which this build cannot read: unpack it (%s -dc)",
                  mark->name, mark->name);
        return NULL;
    }
    s = calloc(1, sizeof(*s));
    if (s)
        s->in = malloc(IN_LEN);
    if (!s || !s->in) {
        free(s);
        error_set(error, "no memory");
        return NULL;
    }
    s->packing = mark ? mark->packing : PLAIN;
    s->keep = true; /* until all went well */
    s->file = file;
    s->pipe = !regular;
    memcpy(s->in, head, len);
    s->in_len = len;
    if (!begin(s)) {
        s->packing = PLAIN;
        cookie_close(s);
        error_set(error, "no memory");
        return NULL;
    }
    stream = fopencookie(s, "rb", io);
    if (!stream) {
        cookie_close(s);
        error_set(error, "no memory");
        return NULL;
    }
    s->keep = keep;
    *state = s;
    return stream;
}

void decompress_live(struct decompress *state)
{
    if (state)
        state->live = state->pipe;
}

bool decompress_waits(const struct decompress *state)
{
    return state && state->live && !state->done && !state->error;
}

bool decompress_is_live(const struct decompress *state)
{
    return state && state->live;
}

const char *decompress_error(const struct decompress *state)
{
    return state ? state->error : NULL;
}

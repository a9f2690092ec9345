/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _GNU_SOURCE /* declares fopencookie() */
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
#ifdef HAVE_ARCHIVE
#include <archive.h>
#endif

#define IN_LEN   ((size_t)256 << 10) /* bytes per read of the compressed file */
#define HEAD_LEN 6                   /* length of the longest magic number, bytes */

struct decompress {
    FILE *file;
    bool keep;
    const struct format *format;
    /* gzip: a member has begun but not ended. Formats of libarchive: the archive is open. */
    bool more;
    bool done;   /* all decompressed bytes were returned */
    bool in_end; /* the end of the compressed file was reached */
    /* The input is not a regular file: `file` is unbuffered, and read() on its descriptor is used
     * instead of fread(). */
    bool pipe;
    bool live;  /* decompress_set_live() was called: a read returns the bytes that have arrived */
    bool given; /* a read has returned bytes since the input last paused */
    const char *error;
    char message[64]; /* text of `error`, unless `error` points to a constant */
    uint8_t *in;      /* input buffer, IN_LEN bytes */
    size_t in_off, in_len;
#ifdef HAVE_ZLIB
    z_stream gzip;
#endif
#ifdef HAVE_ARCHIVE
    struct archive *archive;
#endif
};

/* One compression format, or `plain` for an uncompressed pipe. */
struct format {
    const char *name;
    uint8_t len;
    uint8_t magic[HEAD_LEN];
    bool (*begin)(struct decompress *s); /* NULL if this build does not support the format */
    ssize_t (*read)(struct decompress *s, char *buf, size_t len);
};

/* Reads more input if the buffer is empty. Returns false at the end, and after a read error, which
 * sets s->error. */
static bool fill_input(struct decompress *s)
{
    ssize_t got = 0;

    if (s->in_off < s->in_len)
        return true;
    s->in_off = s->in_len = 0;
    /* For a pipe, read() returns the bytes that have arrived; fread() would wait until the buffer
     * is full. */
    if (s->pipe) {
        do
            if (!sigint_wait_readable(fileno(s->file)))
                break;
            else
                got = read(fileno(s->file), s->in, IN_LEN);
        while (got < 0 && errno == EINTR);
    } else {
        got = (ssize_t)fread(s->in, 1, IN_LEN, s->file);
        got = got == 0 && ferror(s->file) ? -1 : got;
    }
    if (got < 0)
        s->error = strerror(errno);
    s->in_len = got > 0 ? (size_t)got : 0;
    s->in_end = s->in_len == 0;
    return s->in_len > 0;
}

/* Returns whether the compressed input pauses, so that another read of it would block. The
 * decompressor then returns the bytes that it has decompressed so far. */
static bool input_pauses(struct decompress *s)
{
    struct pollfd fd = {.fd = fileno(s->file), .events = POLLIN};

    return s->live && s->given && s->in_off == s->in_len && poll(&fd, 1, 0) == 0;
}

static ssize_t fail_read(struct decompress *s, const char *error)
{
    s->error = error;
    errno = EIO;
    return -1;
}

/* Sets the error after the decompressor failed: the failed read of the input if there was one,
 * otherwise truncated or corrupt data. */
static ssize_t fail_format(struct decompress *s)
{
    if (s->error) /* a failed read of the input is the real cause */
        return fail_read(s, s->error);
    if (s->in_end)
        return fail_read(s, "the compressed data is truncated");
    snprintf(s->message, sizeof(s->message), "the %s data is corrupt", s->format->name);
    return fail_read(s, s->message);
}

static ssize_t end_input(struct decompress *s)
{
    s->done = true;
    return s->error || s->more ? fail_format(s) : 0;
}

static bool begin_plain(struct decompress *s)
{
    (void)s;
    return true;
}

static ssize_t read_plain(struct decompress *s, char *buf, size_t len)
{
    if (!fill_input(s))
        return end_input(s);
    if (len > s->in_len - s->in_off)
        len = s->in_len - s->in_off;
    memcpy(buf, s->in + s->in_off, len);
    s->in_off += len;
    return (ssize_t)len;
}

#ifdef HAVE_ZLIB
static bool begin_gzip(struct decompress *s)
{
    /* 15 is the largest window (32 KiB); adding 16 makes zlib expect a gzip header. */
    return inflateInit2(&s->gzip, 15 + 16) == Z_OK;
}

static ssize_t read_gzip(struct decompress *s, char *buf, size_t len)
{
    z_stream *z = &s->gzip;

    z->next_out = (Bytef *)buf;
    z->avail_out = (uInt)(len < IN_LEN ? len : IN_LEN);
    len = z->avail_out;
    while (z->avail_out == len) {
        int rc;

        if (!fill_input(s))
            return end_input(s);
        if (!s->more) {
            /* The input has more bytes after a gzip member. If no further member begins here, the
             * bytes are padding, which gzip -d also ignores. */
            if (s->in[s->in_off] != s->format->magic[0])
                return end_input(s);
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
            return fail_format(s);
    }
    return (ssize_t)(len - z->avail_out);
}
#else
#define begin_gzip NULL
#define read_gzip  NULL
#endif

#ifdef HAVE_ARCHIVE
static la_ssize_t feed_archive(struct archive *archive, void *user, const void **buf)
{
    struct decompress *s = user;

    *buf = s->in;
    if (!fill_input(s)) {
        if (s->error)
            archive_set_error(archive, EIO, "%s", s->error);
        return s->error ? -1 : 0;
    }
    *buf = s->in + s->in_off;
    s->in_off = s->in_len;
    return (la_ssize_t)(s->in + s->in_len - (const uint8_t *)*buf);
}

static bool begin_archive(struct decompress *s)
{
    struct archive *a = s->archive = archive_read_new();

    if (!a)
        return false;
    archive_read_support_filter_zstd(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_lz4(a);
    return archive_read_support_format_raw(a) == ARCHIVE_OK;
}

static ssize_t read_archive(struct decompress *s, char *buf, size_t len)
{
    struct archive_entry *entry;
    la_ssize_t got;
    int rc = ARCHIVE_OK;

    if (!s->more) { /* this is the first read */
        s->more = true;
        rc = archive_read_open(s->archive, s, NULL, feed_archive, NULL);
        if (rc == ARCHIVE_OK)
            rc = archive_read_next_header(s->archive, &entry);
    }
    got = rc == ARCHIVE_OK ? archive_read_data(s->archive, buf, len) : -1;
    if (rc == ARCHIVE_EOF || got == 0) {
        s->more = false;
        return end_input(s);
    }
    return got > 0 ? (ssize_t)got : fail_format(s);
}
#else
#define begin_archive NULL
#define read_archive  NULL
#endif

static const struct format plain = {.begin = begin_plain, .read = read_plain};
static const struct format formats[] = {
    {"gzip", 2, {0x1F, 0x8B}, begin_gzip, read_gzip},
    {"zstd", 4, {0x28, 0xB5, 0x2F, 0xFD}, begin_archive, read_archive},
    {"xz", 6, {0xFD, '7', 'z', 'X', 'Z', 0}, begin_archive, read_archive},
    {"bzip2", 3, {'B', 'Z', 'h'}, begin_archive, read_archive},
    {"lz4", 4, {0x04, 0x22, 0x4D, 0x18}, begin_archive, read_archive},
};

static const struct format *format_of(const uint8_t *head, size_t len)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (len >= formats[i].len && memcmp(head, formats[i].magic, formats[i].len) == 0)
            return &formats[i];
    return &plain;
}

static ssize_t cookie_read(void *cookie, char *buf, size_t len)
{
    struct decompress *s = cookie;

    if (s->error)
        return fail_read(s, s->error);
    if (s->done || len == 0)
        return 0;
    if (input_pauses(s)) {
        s->given = false;
        return 0;
    }
    s->given = true;
    return s->format->read(s, buf, len);
}

static int cookie_close(void *cookie)
{
    struct decompress *s = cookie;
    int rc = s->keep || !s->file ? 0 : fclose(s->file);

#ifdef HAVE_ZLIB
    if (s->format->read == read_gzip)
        inflateEnd(&s->gzip);
#endif
#ifdef HAVE_ARCHIVE
    if (s->archive)
        archive_read_free(s->archive);
#endif
    free(s->in);
    free(s);
    return rc;
}

/* Creates a decompressor (*state) and the stream that reads from it. Returns the stream, or NULL if
 * out of memory. */
static FILE *open_cookie(struct decompress **state, const struct format *format)
{
    static const cookie_io_functions_t io = {.read = cookie_read, .close = cookie_close};
    struct decompress *s = calloc(1, sizeof(*s));
    FILE *stream = NULL;

    if (!s)
        return NULL;
    s->format = &plain; /* so that cookie_close() has no decompressor to free if begin() fails */
    s->keep = true;
    s->in = malloc(IN_LEN);
    if (s->in && format->begin(s)) {
        s->format = format;
        stream = fopencookie(s, "rb", io);
    }
    if (!stream)
        cookie_close(s);
    else
        *state = s;
    return stream;
}

FILE *decompress_open(FILE *file, bool keep, struct decompress **state, struct error *error)
{
    struct stat st;
    bool regular = fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
    const struct format *format;
    uint8_t head[HEAD_LEN];
    FILE *stream;
    size_t len;

    *state = NULL;
    if (!regular)
        (void)setvbuf(file, NULL, _IONBF, 0);
    len = fread(head, 1, sizeof(head), file);
    format = format_of(head, len);
    /* Goes back to the start of an uncompressed regular file and uses it directly. Does not try
     * this with other inputs: some pipes and devices report a successful seek although they did not
     * seek. */
    if (format == &plain && regular && fseek(file, -(long)len, SEEK_CUR) == 0)
        return file;
    if (!format->begin) {
        error_set(
            error,
            "this build cannot read files compressed with %s: decompress the file with %s -dc",
            format->name, format->name);
        return NULL;
    }
    stream = open_cookie(state, format);
    if (!stream) {
        error_set(error, "no memory");
        return NULL;
    }
    (*state)->file = file;
    (*state)->keep = keep;
    (*state)->pipe = !regular;
    memcpy((*state)->in, head, len);
    (*state)->in_len = len;
    return stream;
}

void decompress_set_live(struct decompress *state)
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

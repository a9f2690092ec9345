/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *must(void *p)
{
    if (!p) {
        perror("capture");
        exit(2);
    }
    return p;
}

void capture_free(struct capture *c)
{
    for (size_t i = 0; i < c->cnt; i++)
        free(c->frame[i].data);
    free(c->frame);
    memset(c, 0, sizeof(*c));
}

void capture_add(struct capture *c, const uint8_t *data, size_t len, uint64_t time)
{
    if (!VEC_GROW(c->frame, c->cnt, c->cap))
        must(NULL);
    c->frame[c->cnt] =
        (struct capture_frame){.data = must(malloc(len + 1)), .len = (uint32_t)len, .time = time};
    memcpy(c->frame[c->cnt++].data, data, len);
}

void capture_put(struct capture *c, size_t at, const uint8_t *data, size_t len)
{
    uint8_t *copy = must(malloc(len + 1));

    memcpy(copy, data, len);
    free(c->frame[at].data);
    c->frame[at].data = copy;
    c->frame[at].len = (uint32_t)len;
}

bool capture_load(struct capture *c, const char *path)
{
    struct error error;
    struct capture_reader *reader = reader_open(path, &error);
    struct captured_frame frame;
    int rc;

    memset(c, 0, sizeof(*c));
    if (!reader)
        return false;
    while ((rc = reader_next(reader, &frame, &error)) == 1)
        capture_add(c, frame.data, frame.cap_len, frame.time);
    reader_close(reader);
    return rc == 0;
}

char *capture_temp(const void *bytes, size_t len)
{
    const char *dir = getenv("TMPDIR");
    char *path = must(malloc(4096));
    int fd;

    snprintf(path, 4096, "%s/rocedrill-test.XXXXXX", dir ? dir : "/tmp");
    fd = mkstemp(path);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        must(NULL);
    close(fd);
    return path;
}

/* Returns the capture as a pcap file in memory: nanosecond timestamps, host byte order, link type
 * Ethernet. Sets *len to its length. */
static uint8_t *to_file(const struct capture *c, size_t *len)
{
    static const uint32_t head[6] = {0xA1B23C4D, 2 | 4u << 16, 0, 0, 262144, 1};
    size_t off = sizeof(head);
    uint8_t *file;

    *len = sizeof(head);
    for (size_t i = 0; i < c->cnt; i++)
        *len += 16 + c->frame[i].len;
    file = must(malloc(*len));
    memcpy(file, head, sizeof(head));
    for (size_t i = 0; i < c->cnt; i++) {
        uint32_t rec[4] = {(uint32_t)(c->frame[i].time / 1000000000u),
                           (uint32_t)(c->frame[i].time % 1000000000u), c->frame[i].len,
                           c->frame[i].wire_len ? c->frame[i].wire_len : c->frame[i].len};

        memcpy(file + off, rec, sizeof(rec));
        memcpy(file + off + 16, c->frame[i].data, c->frame[i].len);
        off += 16 + c->frame[i].len;
    }
    return file;
}

void capture_keep(const struct capture *c, const char *path)
{
    size_t len;
    uint8_t *file = to_file(c, &len);
    FILE *out = fopen(path, "wb");

    if (!out || fwrite(file, 1, len, out) != len || fclose(out) != 0)
        fprintf(stderr, "%s cannot be written\n", path);
    free(file);
}

int capture_replay(const struct capture *c, const struct replay_options *options,
                   struct replay *replay, struct error *error)
{
    size_t len;
    uint8_t *file = to_file(c, &len);
    char *path = capture_temp(file, len);
    int rc = replay_run(replay, path, options, error);

    unlink(path);
    free(path);
    free(file);
    return rc;
}

bool capture_differs(const struct replay *replay, uint32_t frame, const char *field)
{
    for (size_t i = 0; i < replay->responses.diff_cnt; i++) {
        const struct diff *d = &replay->responses.diff[i];

        if (!d->known && replay->trace.pkt[d->pkt].frame == frame &&
            (!field || strcmp(d->field, field) == 0))
            return true;
    }
    return false;
}

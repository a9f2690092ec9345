/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "pcapng/pcapng_join.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "pcapng/pcapng.h"
#include "pcapng/pcapng_merge.h"
#include "wire/bytes.h"

struct file {
    uint8_t *p; /* mapped bytes of the file; NULL if the file is empty */
    size_t len;
    size_t end;      /* offset after the last complete block */
    uint32_t *iface; /* iface[i] = number, in the joined file, of interface i of this file */
    uint32_t iface_cnt;
};

struct frame {
    uint64_t time;
    uint64_t at; /* offset of the frame in its file */
    uint32_t file, len;
};

struct join {
    struct file *file;
    struct pcapng_ifaces ifaces;
    struct frame *frame;
    size_t frame_cnt, frame_cap;
};

/* Maps a file. Returns 0, or a negative errno. */
static int map_file(struct file *file, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
    void *p;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0) {
        error = -errno;
    } else if (st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            error = -errno;
        else
            *file = (struct file){.p = p, .len = (size_t)st.st_size};
    }
    close(fd);
    return error;
}

static int add_iface(struct join *join, struct file *file, const uint8_t *block, uint32_t len)
{
    uint32_t *grown = realloc(file->iface, (file->iface_cnt + 1) * sizeof(*grown));
    int number = grown ? pcapng_ifaces_number(&join->ifaces, block, len) : -ENOMEM;

    if (grown)
        file->iface = grown;
    if (number >= 0)
        grown[file->iface_cnt++] = (uint32_t)number;
    return number < 0 ? number : 0;
}

static int add_frame(struct join *join, uint32_t number, const uint8_t *block, uint32_t len)
{
    const struct file *file = &join->file[number];
    struct pcapng_packet packet;
    struct error ignored;

    if (pcapng_read_packet(&packet, false, block, len, &ignored) != 0 ||
        packet.iface >= file->iface_cnt)
        return -EINVAL;
    if (join->frame_cnt == join->frame_cap) {
        size_t cap = join->frame_cap ? 2 * join->frame_cap : 4096;
        struct frame *grown = realloc(join->frame, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        join->frame = grown;
        join->frame_cap = cap;
    }
    join->frame[join->frame_cnt++] =
        (struct frame){packet.stamp, (uint64_t)(block - file->p), number, len};
    return 0;
}

/* Finds the interfaces and frames of a file. Stops at the last complete block. */
static int scan_file(struct join *join, uint32_t number)
{
    struct file *file = &join->file[number];
    uint32_t size = 0;
    int rc = 0;
    bool big;

    if (file->p && (file->len < PCAPNG_SECTION_MIN || !pcapng_byte_order(file->p, &big) || big))
        return -EINVAL;
    for (size_t at = 0; rc == 0 && at < file->len; at += size) {
        const uint8_t *block = file->p + at;
        uint32_t type;

        size = pcapng_block_len(false, block, file->len - at);
        if (size == 0)
            break;
        type = roce_le32_get(block);
        if (type == PCAPNG_SECTION && at > 0)
            rc = -EINVAL;
        else if (type == PCAPNG_INTERFACE)
            rc = add_iface(join, file, block, size);
        else if (type == PCAPNG_PACKET)
            rc = add_frame(join, number, block, size);
        file->end = at + size;
    }
    return rc;
}

static int compare_frames(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void write_joined(struct join *join, const char *comment, FILE *out)
{
    uint8_t section[PCAPNG_COMMENT_MAX + 128], unused[64], iface[4];

    fwrite(section, 1, pcapng_section_with(section, sizeof(section), PCAPNG_RNIC, comment), out);
    if (join->ifaces.cnt == 0) /* libpcap refuses a file without an interface */
        fwrite(unused, 1,
               pcapng_interface(unused, sizeof(unused), "none", NULL, PCAPNG_LINKTYPE_ETHERNET, 0),
               out);
    for (uint32_t i = 0; i < join->ifaces.cnt; i++)
        fwrite(join->ifaces.block[i], 1, roce_le32_get(join->ifaces.block[i] + 4), out);
    for (size_t i = 0; i < join->frame_cnt; i++) {
        const struct frame *frame = &join->frame[i];
        const struct file *file = &join->file[frame->file];
        const uint8_t *block = file->p + frame->at;

        roce_le32_put(iface, file->iface[roce_le32_get(block + 8)]);
        fwrite(block, 1, 8, out);
        fwrite(iface, 1, sizeof(iface), out);
        fwrite(block + 12, 1, frame->len - 12, out);
    }
}

static void free_join(struct join *join, unsigned file_cnt)
{
    for (unsigned i = 0; join->file && i < file_cnt; i++) {
        if (join->file[i].p)
            munmap(join->file[i].p, join->file[i].len);
        free(join->file[i].iface);
    }
    pcapng_ifaces_free(&join->ifaces);
    free(join->frame);
    free(join->file);
}

static bool is_sorted(const struct join *join)
{
    for (size_t i = 1; i < join->frame_cnt; i++)
        if (join->frame[i].time < join->frame[i - 1].time)
            return false;
    return true;
}

bool pcapng_is_joined(const char *path, uint64_t *len)
{
    struct join join = {.file = calloc(1, sizeof(struct file))};
    bool joined = join.file && map_file(join.file, path) == 0 && scan_file(&join, 0) == 0 &&
                  join.ifaces.cnt > 0 && join.ifaces.cnt == join.file->iface_cnt &&
                  is_sorted(&join);

    *len = joined ? join.file->end : 0;
    free_join(&join, 1);
    return joined;
}

int pcapng_join(FILE *out, char *const *path, unsigned cnt, const char *comment,
                struct error *error)
{
    struct join join = {.file = calloc(cnt + 1, sizeof(struct file))};
    int rc = join.file ? 0 : -ENOMEM;
    unsigned done = 0;

    for (; rc == 0 && done < cnt; done++) {
        rc = map_file(&join.file[done], path[done]);
        if (rc == 0)
            rc = scan_file(&join, done);
    }
    if (rc == -EINVAL)
        error_set(error, "%s: not a pcapng file of one section", path[done - 1]);
    else if (rc != 0)
        error_set(error, "%s: %s", done ? path[done - 1] : "recording", strerror(-rc));
    if (rc == 0 && join.frame_cnt)
        qsort(join.frame, join.frame_cnt, sizeof(*join.frame), compare_frames);
    if (rc == 0)
        write_joined(&join, comment, out);
    free_join(&join, done);
    return rc == 0 ? 0 : -1;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/suite_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"

#define SNAPLEN 65535

/* ---- writing a capture file --------------------------------------------------------------------
 */

int suite_file_open(struct suite_file *file, const char *path, struct error *error)
{
    (void)error;
    *file = (struct suite_file){.path = path};
    return 0;
}

/* Returns the DLT_ number of libpcap for a link layer, or -1 if this program cannot write frames of
 * this link layer. */
static int dlt_of(enum roce_link link)
{
    switch (link) {
    case ROCE_LINK_ETHERNET: return DLT_EN10MB;
    case ROCE_LINK_SLL: return DLT_LINUX_SLL;
    case ROCE_LINK_SLL2: return DLT_LINUX_SLL2;
    case ROCE_LINK_IP: return DLT_RAW;
    case ROCE_LINK_IB: return DLT_INFINIBAND;
    default: return -1;
    }
}

static int open_pcap(struct suite_file *file, enum roce_link link, struct error *error)
{
    int dlt = dlt_of(link);

    file->link = link;
    if (dlt < 0)
        return error_set(error, "%s: frames without a link-layer or IP header cannot be imported",
                         file->path);
    file->dead = pcap_open_dead_with_tstamp_precision(dlt, SNAPLEN, PCAP_TSTAMP_PRECISION_NANO);
    if (!file->dead)
        return error_set(error, "%s: no memory", file->path);
    file->out = pcap_dump_open(file->dead, file->path);
    return file->out ? 0 : error_set(error, "%s", pcap_geterr(file->dead));
}

int suite_file_write(struct suite_file *file, enum roce_link link, const struct suite_frame *frame,
                     const uint8_t *data, struct error *error)
{
    struct pcap_pkthdr hdr = {.caplen = frame->cap_len, .len = frame->wire_len};

    if (!file->out && open_pcap(file, link, error) != 0)
        return -1;
    if (link != file->link)
        return error_set(error,
                         "%s: frames of several link layers: a pcap file can contain only one",
                         file->path);
    hdr.ts.tv_sec = (time_t)(frame->time / 1000000000);
    hdr.ts.tv_usec = (suseconds_t)(frame->time % 1000000000); /* in a file with nanoseconds, tv_usec
                                                               * contains nanoseconds */
    pcap_dump((u_char *)file->out, &hdr, data);
    return 0;
}

int suite_file_close(struct suite_file *file, struct error *error)
{
    int rc = 0;

    if (file->out) {
        rc = pcap_dump_flush(file->out) == 0 && !ferror(pcap_dump_file(file->out)) ? 0 : -1;
        pcap_dump_close(file->out);
    }
    if (file->dead)
        pcap_close(file->dead);
    if (rc != 0 && error)
        error_set(error, "%s: cannot be written", file->path);
    return rc;
}

/* ---- the folder of captures --------------------------------------------------------------------
 */

static int make_folder(const char *path, struct error *error)
{
    struct stat st;

    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return error_set(error, "%s: %s", path, strerror(errno));
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? 0
                                                       : error_set(error, "%s: not a folder", path);
}

/* Reads the manifest and finds the row of the capture. Returns 0, or -1 and an error: without
 * `replace`, the folder must not have a capture of this name. */
static int find_capture(struct suite_folder *f, struct error *error)
{
    char path[1300], file[160];
    struct stat st;
    int rc = manifest_read(&f->manifest, f->path, error);

    snprintf(file, sizeof(file), "captures/%s.pcap", f->name);
    f->row = rc == 0 ? manifest_find(&f->manifest, file) : NULL;
    if (f->row && !f->replace)
        rc = error_set(error,
                       "%s/manifest.tsv: %s is already listed (choose another --name, or "
                       "--replace)",
                       f->path, f->row->file);
    snprintf(path, sizeof(path), "%s/captures/%s.pcap", f->path, f->name);
    if (rc == 0 && !f->replace && lstat(path, &st) == 0)
        rc = error_set(error, "%s: already exists (choose another --name, or --replace)", path);
    return rc;
}

int suite_folder_open(struct suite_folder *f, const char *path, const char *name, bool replace,
                      struct error *error)
{
    char captures[1100];

    memset(f, 0, sizeof(*f));
    if (strlen(path) >= sizeof(f->path) - 1)
        return error_set(error, "%s: the path is too long", path);
    strcpy(f->path, path);
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->replace = replace;
    snprintf(captures, sizeof(captures), "%s/captures", path);
    if (make_folder(path, error) != 0 || make_folder(captures, error) != 0 ||
        find_capture(f, error) != 0)
        return -1;
    snprintf(f->work, sizeof(f->work), "%s/.add-XXXXXX", path);
    if (!mkdtemp(f->work)) {
        f->work[0] = '\0';
        return error_set(error, "%s: %s", path, strerror(errno));
    }
    snprintf(f->capture, sizeof(f->capture), "%s/%s.pcap", f->work, name);
    return 0;
}

/* ---- writing the manifest ----------------------------------------------------------------------
 */

/* Writes a row of the manifest. `header`: first line of the manifest, which names the columns.
 * `old`: row of the replaced capture, or "". If a column has no new value, it keeps the value of
 * `old`. */
static void write_row(FILE *out, const char *header, const char *old, const struct suite_folder *f,
                      const struct suite_row *row)
{
    char file[160], frames[16];
    const struct {
        const char *column, *value; /* NULL: no new value */
    } values[] = {
        {"file", f->row ? NULL : file},
        {"peer", row->peer},
        {"shows", row->shows},
        {"frames", frames},
        {"replay", outcome_name(row->expected)},
    };

    snprintf(file, sizeof(file), "%s.pcap", f->name);
    snprintf(frames, sizeof(frames), "%u", row->frames);
    while (*header && *header != '\n') {
        size_t len = strcspn(header, "\t\r\n"), old_len = strcspn(old, "\t\r\n");
        const char *value = NULL;

        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
            if (strlen(values[i].column) == len && strncmp(header, values[i].column, len) == 0)
                value = values[i].value;
        if (value)
            fputs(value, out);
        else
            fwrite(old, 1, old_len, out);
        header += len;
        old += old_len;
        old += *old == '\t';
        if (*header == '\r')
            header++;
        if (*header == '\t')
            fputc(*header++, out);
    }
    fputc('\n', out);
}

/* Writes a copy of the manifest. The new row replaces the row of the same capture, or is appended
 * if there is none. */
static int write_manifest(const struct suite_folder *f, const struct suite_row *row, const char *to,
                          struct error *error)
{
    char path[1300], *header = NULL, *line = NULL;
    size_t cap = 0, header_cap = 0;
    FILE *in, *out = fopen(to, "w");
    bool ok = out != NULL;
    ssize_t len;

    snprintf(path, sizeof(path), "%s/manifest.tsv", f->path);
    in = fopen(path, "r");
    if (ok && in && getline(&header, &header_cap, in) > 0) {
        fputs(header, out);
        if (!strchr(header, '\n'))
            fputc('\n', out);
        for (unsigned number = 2; (len = getline(&line, &cap, in)) > 0; number++)
            if (f->row && f->row->line == number)
                write_row(out, header, line, f, row);
            else if (fwrite(line, 1, (size_t)len, out) != (size_t)len ||
                     (line[len - 1] != '\n' && fputc('\n', out) == EOF))
                ok = false;
        if (!f->row)
            write_row(out, header, "", f, row);
    } else if (ok) {
        static const char columns[] = "file\tpeer\tshows\tframes\treplay";

        fprintf(out, "%s\n", columns);
        write_row(out, columns, "", f, row);
    }
    ok = ok && !ferror(out) && (!in || !ferror(in));
    if (in)
        fclose(in);
    if (out && fclose(out) != 0)
        ok = false;
    free(header);
    free(line);
    return ok ? 0 : error_set(error, "%s: %s", path, strerror(errno));
}

/* Paths of the capture. */
struct file_paths {
    char to[1300];  /* in the folder of captures */
    char old[1300]; /* in the temporary folder: link to the replaced capture */
};

static struct file_paths paths_of(const struct suite_folder *f)
{
    struct file_paths p;

    snprintf(p.to, sizeof(p.to), "%s/captures/%s.pcap", f->path, f->name);
    snprintf(p.old, sizeof(p.old), "%s/old.pcap", f->work);
    return p;
}

/* Moves the capture to its final path. Returns 0, or -1 and errno. */
static int move_in(const struct suite_folder *f, const struct file_paths *p)
{
    if (f->replace)
        return (link(p->to, p->old) == 0 || errno == ENOENT) && rename(f->capture, p->to) == 0 ? 0
                                                                                               : -1;
    /* another process may have created the file in the meantime; link() does not replace it */
    return link(f->capture, p->to);
}

int suite_folder_keep(struct suite_folder *f, const struct suite_row *row, struct error *error)
{
    const struct file_paths p = paths_of(f);
    char manifest[1300], to[1300];

    snprintf(manifest, sizeof(manifest), "%s/manifest.tsv", f->work);
    if (write_manifest(f, row, manifest, error) != 0)
        return -1;
    if (move_in(f, &p) != 0)
        return error_set(error, "%s: %s", p.to, strerror(errno));
    snprintf(to, sizeof(to), "%s/manifest.tsv", f->path);
    if (rename(manifest, to) == 0)
        return 0;
    error_set(error, "%s: %s", to, strerror(errno));
    if (!f->replace || rename(p.old, p.to) != 0)
        unlink(p.to);
    return -1;
}

void suite_folder_close(struct suite_folder *f)
{
    const struct file_paths p = paths_of(f);
    char path[1300];

    manifest_free(&f->manifest);
    if (!f->work[0])
        return;
    unlink(f->capture);
    unlink(p.old);
    snprintf(path, sizeof(path), "%s/manifest.tsv", f->work);
    unlink(path);
    rmdir(f->work);
    f->work[0] = '\0';
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "capture/pcapng_writer.h"
#include "util/sigint.h"
#include "util/strbuf.h"

/* Maximum number of findings in annotator.late, which need 25 MB. */
#define LATE_MAX     262144u
#define COMMENTS_MAX 16u /* limit of comments for each frame */
#define COMMENT_LEN  512u

int annotate_init(struct annotator *annotate, const char *path, struct error *error)
{
    *annotate = (struct annotator){.spool = tmpfile(), .out_name = path};
    if (!annotate->spool)
        return error_set(error, "cannot create a temporary file: %s", strerror(errno));
    annotate->out = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    if (!annotate->out)
        return error_set(error, "%s: %s", path, strerror(errno));
    return 0;
}

/* Closes the annotated copy of the capture. Returns 0, or -1 and errno. */
static int close_out(struct annotator *a)
{
    FILE *out = a->out;

    a->out = NULL;
    if (!out)
        return 0;
    return out == stdout ? fflush(out) : fclose(out);
}

void annotate_free(struct annotator *annotate)
{
    (void)close_out(annotate);
    if (annotate->spool)
        fclose(annotate->spool);
    free(annotate->late);
    *annotate = (struct annotator){0};
}

static void add_late(struct annotator *a, const struct roce_finding *finding)
{
    if (a->late_cnt == a->late_cap) {
        uint32_t cap = a->late_cap ? a->late_cap * 2 : 64;
        struct late_finding *grown =
            cap <= LATE_MAX ? realloc(a->late, cap * sizeof(*grown)) : NULL;

        if (!grown) {
            a->lost++;
            return;
        }
        a->late = grown;
        a->late_cap = cap;
    }
    a->late[a->late_cnt] = (struct late_finding){*finding, a->late_cnt};
    a->late_cnt++;
}

void annotate_add(struct annotator *a, const struct roce_finding *finding, uint32_t frame)
{
    /* A struct roce_finding points only to static strings, so its bytes can be stored and read
     * back. */
    if (finding->frame < frame)
        add_late(a, finding);
    else
        fwrite(finding, sizeof(*finding), 1, a->spool);
}

/* ---- the second pass ---------------------------------------------------------------------------
 */

static int compare_late(const void *a, const void *b)
{
    const struct late_finding *x = a, *y = b;

    if (x->finding.frame != y->finding.frame)
        return x->finding.frame < y->finding.frame ? -1 : 1;
    return x->idx < y->idx ? -1 : x->idx > y->idx;
}

/* The comments of one frame. */
struct frame_comments {
    char text[COMMENTS_MAX][COMMENT_LEN];
    const char *p[COMMENTS_MAX];
    size_t cnt;
};

static void add_comment(struct frame_comments *c, const struct roce_finding *f)
{
    struct strbuf t;
    char buf[COMMENT_LEN];

    if (c->cnt == COMMENTS_MAX)
        return;
    t = strbuf_of(c->text[c->cnt], COMMENT_LEN);
    strbuf_addf(&t, "%s %s: %s", roce_severity_name(f->severity), roce_rule_info(f->rule)->id,
                roce_finding_text(f, buf, sizeof(buf)));
    c->p[c->cnt] = c->text[c->cnt];
    c->cnt++;
}

static bool next_spooled(struct annotator *a, struct roce_finding *f)
{
    return fread(f, sizeof(*f), 1, a->spool) == 1;
}

static void copy_block(void *user, const uint8_t *block, uint32_t len, bool big)
{
    (void)big;
    /* A write error remains set in the stream `out`. annotate_write() tests for it at the end. */
    (void)pcapng_writer_copy_block(user, block, len);
}

/* Writes a frame with its comments. If `copy` is true, copies the frame's pcapng block, otherwise
 * writes a new block. */
static int write_frame(struct pcapng_writer *out, bool copy, const struct captured_frame *frame,
                       const struct frame_comments *comments)
{
    const struct pcapng_frame record = {.time = frame->time,
                                        .data = frame->record,
                                        .cap_len = frame->record_cap_len,
                                        .wire_len = frame->record_wire_len,
                                        .comment = comments->p,
                                        .comment_cnt = comments->cnt};

    return copy ? pcapng_writer_copy_packet(out, frame, comments->p, comments->cnt)
                : pcapng_writer_frame(out, &record);
}

int annotate_write(struct annotator *a, struct capture_reader *reader, struct progress *progress,
                   struct error *error)
{
    struct frame_comments *comments = calloc(1, sizeof(*comments));
    struct roce_finding f;
    struct captured_frame frame;
    struct pcapng_writer out = {.file = a->out};
    uint32_t late = 0;
    bool more, copy;
    int rc = 0;

    if (!comments)
        return error_set(error, "%s: no memory", a->out_name);
    if (a->late_cnt)
        qsort(a->late, a->late_cnt, sizeof(*a->late), compare_late);
    /* Checks ferror() before rewind(), because rewind() clears the error indicator. */
    if (fflush(a->spool) != 0 || ferror(a->spool)) {
        free(comments);
        return error_set(error, "%s: cannot write the temporary file of findings: %s", a->out_name,
                         strerror(errno));
    }
    rewind(a->spool);
    more = next_spooled(a, &f);
    copy = reader_blocks(reader, copy_block, &out);
    if (!copy && pcapng_writer_begin(&out, a->out, reader_linktype(reader), reader_snaplen(reader),
                                     "rocedrill") != 0)
        rc = error_set(error, "%s: no memory", a->out_name);
    while (rc == 0 && (rc = reader_next(reader, &frame, error)) == 1) {
        for (comments->cnt = 0; more && f.frame <= frame.number; more = next_spooled(a, &f))
            add_comment(comments, &f);
        for (; late < a->late_cnt && a->late[late].finding.frame <= frame.number; late++)
            add_comment(comments, &a->late[late].finding);
        if (write_frame(&out, copy, &frame, comments) != 0) {
            rc = error_set(error, "%s: no memory", a->out_name);
            break;
        }
        rc = 0;
        if ((frame.number & 1023) == 0)
            progress_step(progress, reader, frame.number);
    }
    free(comments);
    pcapng_writer_free(&out);
    /* If a write failed, the tests below replace the error "no memory". */
    if (ferror(a->spool))
        return error_set(error, "%s: cannot read the temporary file of findings", a->out_name);
    if (fflush(a->out) != 0 || ferror(a->out) || close_out(a) != 0)
        return error_set(error, "%s: %s", a->out_name, strerror(errno));
    return rc;
}

int annotate_copy_stdin(char **path, struct error *error)
{
    const char *dir = getenv("TMPDIR");
    char buf[65536], *name;
    ssize_t got = 0;
    size_t len = strlen(dir && *dir ? dir : "/tmp") + sizeof("/rocedrill.XXXXXX");
    FILE *copy;
    int fd;

    name = malloc(len);
    if (!name)
        return error_set(error, "standard input: no memory");
    snprintf(name, len, "%s/rocedrill.XXXXXX", dir && *dir ? dir : "/tmp");
    fd = mkstemp(name);
    copy = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!copy) {
        error_set(error, "standard input: cannot create the temporary file %s: %s", name,
                  strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(name);
        }
        free(name);
        return -1;
    }
    while (sigint_wait_readable(STDIN_FILENO) && (got = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
        if (fwrite(buf, 1, (size_t)got, copy) != (size_t)got)
            break;
    if (got < 0 || ferror(copy) || fclose(copy) != 0) {
        error_set(error, "standard input: cannot copy it to %s: %s", name, strerror(errno));
        unlink(name);
        free(name);
        return -1;
    }
    *path = name;
    return 0;
}

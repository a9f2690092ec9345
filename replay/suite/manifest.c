/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "util/keymap.h"

#define COLUMNS(X)                                                                                 \
    X(FILE, "file")                                                                                \
    X(PEER, "peer")                                                                                \
    X(REPLAY, "replay")

enum column {
#define X(NAME, name) COLUMN_##NAME,
    COLUMNS(X)
#undef X
        COLUMN_CNT
};

static const char *const columns[COLUMN_CNT] = {
#define X(NAME, name) name,
    COLUMNS(X)
#undef X
};

/* Position of each known column in a line of the file, or -1 if the manifest lacks the column. */
struct layout {
    int at[COLUMN_CNT];
};

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[OUTCOME_CNT] = {
#define X(NAME, name) name,
        OUTCOMES(X)
#undef X
    };

    return names[outcome];
}

/* Copies field number `idx` of a line, from 0, to `buf`. Copies "" if the line has fewer fields. */
static void field_of(const char *line, int idx, char *buf, size_t cap)
{
    size_t len;

    for (; idx > 0 && line; idx--) {
        line = strchr(line, '\t');
        if (line)
            line++;
    }
    len = line ? strcspn(line, "\t\r\n") : 0;
    if (len >= cap)
        len = cap - 1;
    if (line)
        memcpy(buf, line, len);
    buf[len] = '\0';
}

static int read_header(struct layout *layout, const char *line, const char *path,
                       struct error *error)
{
    char name[64];
    int fields = 1;

    for (const char *p = line; (p = strchr(p, '\t')) != NULL; p++)
        fields++;
    for (int c = 0; c < COLUMN_CNT; c++) {
        layout->at[c] = -1;
        for (int i = 0; i < fields; i++) {
            field_of(line, i, name, sizeof(name));
            if (strcmp(name, columns[c]) == 0)
                layout->at[c] = i;
        }
    }
    if (layout->at[COLUMN_FILE] < 0)
        return error_set(error, "%s: line 1: no column \"file\"", path);
    return 0;
}

/* Returns the outcome that a word names, or OUTCOME_CRASHED for an unknown word. An empty word
 * names PASS. Ignores case. "holds" and "differs" are former words for PASS and FAIL. */
static enum outcome outcome_of_word(const char *word)
{
    int i = 0;

    if (word[0] == '\0' || strcmp(word, "holds") == 0)
        return OUTCOME_PASS;
    if (strcmp(word, "differs") == 0)
        return OUTCOME_FAIL;
    while (i < OUTCOME_CRASHED && strcasecmp(word, outcome_name((enum outcome)i)) != 0)
        i++;
    return (enum outcome)i;
}

static int read_row(struct manifest *m, const struct layout *layout, const char *line,
                    unsigned number, struct error *error)
{
    struct manifest_row row = {.line = number, .expected = OUTCOME_PASS};
    char buf[4096];

    if (layout->at[COLUMN_REPLAY] >= 0) {
        field_of(line, layout->at[COLUMN_REPLAY], buf, sizeof(buf));
        row.expected = outcome_of_word(buf);
        if (row.expected == OUTCOME_CRASHED)
            return error_set(error,
                             "%s: line %u: replay: \"%s\" is not PASS, FAIL, SKIPPED or UNUSABLE",
                             m->path, number, buf);
    }
    if (!VEC_GROW(m->row, m->cnt, m->cap))
        return error_set(error, "%s: no memory", m->path);
    if (layout->at[COLUMN_PEER] >= 0) {
        field_of(line, layout->at[COLUMN_PEER], buf, sizeof(buf));
        row.peer = buf[0] ? strdup(buf) : NULL;
    }
    field_of(line, layout->at[COLUMN_FILE], buf, sizeof(buf));
    row.file = strdup(buf);
    if (!row.file || !buf[0]) {
        free(row.file);
        free(row.peer);
        return error_set(error, "%s: line %u: file: empty", m->path, number);
    }
    m->row[m->cnt++] = row;
    return 0;
}

static int read_lines(struct manifest *m, FILE *in, struct error *error)
{
    struct layout layout = {{-1, -1, -1}};
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;

    for (unsigned number = 1; rc == 0 && getline(&line, &cap, in) > 0; number++) {
        if (number == 1)
            rc = read_header(&layout, line, m->path, error);
        else if (line[strspn(line, " \t\r\n")] != '\0' && line[0] != '#')
            rc = read_row(m, &layout, line, number, error);
    }
    if (rc == 0 && ferror(in))
        rc = error_set(error, "%s: %s", m->path, strerror(errno));
    free(line);
    return rc;
}

int manifest_read(struct manifest *m, const char *folder, struct error *error)
{
    char path[4096];
    FILE *in;
    int rc;

    memset(m, 0, sizeof(*m));
    if ((size_t)snprintf(path, sizeof(path), "%s/manifest.tsv", folder) >= sizeof(path))
        return error_set(error, "%s: the path is too long", folder);
    in = fopen(path, "r");
    if (!in)
        return errno == ENOENT ? 0 : error_set(error, "%s: %s", path, strerror(errno));
    m->path = strdup(path);
    rc = m->path ? read_lines(m, in, error) : error_set(error, "%s: no memory", path);
    fclose(in);
    return rc;
}

void manifest_free(struct manifest *m)
{
    for (size_t i = 0; i < m->cnt; i++) {
        free(m->row[i].file);
        free(m->row[i].peer);
    }
    free(m->row);
    free(m->path);
    memset(m, 0, sizeof(*m));
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const struct manifest_row *manifest_find(struct manifest *m, const char *path)
{
    struct manifest_row *found = NULL;

    for (size_t i = 0; i < m->cnt; i++) {
        struct manifest_row *row = &m->row[i];

        if (strcmp(row->file, path) == 0) {
            row->used = true;
            return row;
        }
        if (!strchr(row->file, '/') && strcmp(row->file, last_part(path)) == 0)
            found = row;
    }
    if (found)
        found->used = true;
    return found;
}

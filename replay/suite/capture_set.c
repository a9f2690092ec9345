/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/capture_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "util/keymap.h"
#include "util/outfile.h"

/* Maximum depth of nested folders. If a symbolic link points to a parent folder, this limit ends
 * the search. */
#define DEPTH_MAX 16u

static bool ends_with(const char *name, size_t *len, const char *ending)
{
    size_t n = strlen(ending);

    if (*len <= n || memcmp(name + *len - n, ending, n) != 0)
        return false;
    *len -= n;
    return true;
}

bool is_capture_name(const char *name)
{
    static const char *const packed[] = {".gz", ".zst"};
    static const char *const endings[] = {".pcap", ".pcapng", ".cap", ".erf"};
    size_t len = strlen(name);

    if (name[0] == '.')
        return false;
    for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++)
        if (ends_with(name, &len, packed[i]))
            break;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (ends_with(name, &len, endings[i]))
            return true;
    return false;
}

static int add_item(struct capture_set *c, const char *path, const struct manifest_row *row,
                    struct error *error)
{
    struct capture_item item = {.expected = row ? row->expected : OUTCOME_PASS, .position = c->cnt};

    if (!VEC_GROW(c->item, c->cnt, c->cap))
        return error_set(error, "%s: no memory", path);
    item.path = strdup(path);
    item.peer = row && row->peer ? strdup(row->peer) : NULL;
    if (!item.path || (row && row->peer && !item.peer)) {
        free(item.path);
        free(item.peer);
        return error_set(error, "%s: no memory", path);
    }
    c->item[c->cnt++] = item;
    return 0;
}

struct folder_walk {
    struct capture_set *captures;
    struct manifest manifest;
    size_t root_len; /* length of the path of the folder that has the manifest, including the
                      * last slash */
    struct error *error;
};

static int walk_folder(struct folder_walk *w, const char *folder, unsigned depth);

static int walk_entry(struct folder_walk *w, const char *folder, const char *name, unsigned depth)
{
    char path[4096];
    struct stat st;

    if (name[0] == '.')
        return 0;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return error_set(w->error, "%s/%s: the path is too long", folder, name);
    if (stat(path, &st) != 0)
        return !is_capture_name(name) ? 0 : error_set(w->error, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return depth < DEPTH_MAX
                   ? walk_folder(w, path, depth + 1)
                   : error_set(w->error, "%s: more than %u folders deep", path, DEPTH_MAX);
    if (!S_ISREG(st.st_mode) || !is_capture_name(name))
        return 0;
    return add_item(w->captures, path, manifest_find(&w->manifest, path + w->root_len), w->error);
}

static int walk_folder(struct folder_walk *w, const char *folder, unsigned depth)
{
    struct dirent **entry;
    int cnt = scandir(folder, &entry, NULL, alphasort), rc = 0;

    if (cnt < 0)
        return error_set(w->error, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < cnt; i++) {
        if (rc == 0)
            rc = walk_entry(w, folder, entry[i]->d_name, depth);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

static int all_rows_used(const struct folder_walk *w)
{
    for (size_t i = 0; i < w->manifest.cnt; i++) {
        const struct manifest_row *row = &w->manifest.row[i];

        if (!row->used)
            return error_set(w->error, "%s: line %u: file: %s does not exist", w->manifest.path,
                             row->line, row->file);
    }
    return 0;
}

static int add_folder(struct capture_set *c, const char *path, struct error *error)
{
    struct folder_walk w = {.captures = c, .error = error};
    size_t before = c->cnt, len = strlen(path);
    char *folder = strdup(path);
    int rc;

    if (!folder)
        return error_set(error, "%s: no memory", path);
    while (len > 1 && folder[len - 1] == '/')
        folder[--len] = '\0';
    w.root_len = len + 1;
    rc = manifest_read(&w.manifest, folder, error);
    if (rc == 0)
        rc = walk_folder(&w, folder, 0);
    if (rc == 0)
        rc = all_rows_used(&w);
    if (rc == 0 && c->cnt == before)
        rc = error_set(error,
                       "%s: the folder contains no capture (.pcap, .pcapng, .cap, .erf, .gz, .zst)",
                       path);
    manifest_free(&w.manifest);
    free(folder);
    if (!c->folder)
        c->folder = path;
    return rc;
}

int capture_set_add(struct capture_set *c, const char *path, struct error *error)
{
    struct stat st;

    if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(c, path, error);
    return add_item(c, path, NULL, error);
}

static void free_item(struct capture_item *item)
{
    free(item->path);
    free(item->peer);
}

static const char *path_of_item(const void *list, size_t i)
{
    return ((const struct capture_item *)list)[i].path;
}

int capture_set_shard(struct capture_set *c, struct shard *shard, struct error *error)
{
    bool *chosen;
    size_t cnt = 0;

    if (!shard->count)
        return 0;
    for (size_t i = 0; i < c->cnt; i++)
        if (strcmp(c->item[i].path, "-") == 0)
            return error_set(error, "--shard requires files, not standard input");
    chosen = shard_choose(shard, path_of_item, c->item, c->cnt);
    if (!chosen)
        return error_set(error, "no memory for %zu captures", c->cnt);
    for (size_t i = 0; i < c->cnt; i++) {
        if (chosen[i])
            c->item[cnt++] = c->item[i];
        else
            free_item(&c->item[i]);
    }
    c->cnt = cnt;
    free(chosen);
    return 0;
}

int capture_set_is_no_output(const struct capture_set *captures, const char *const *out,
                             unsigned cnt)
{
    int rc = 0;

    for (unsigned i = 0; i < cnt && rc == 0; i++)
        for (size_t j = 0; j < captures->cnt && rc == 0; j++)
            rc = outfile_is_no_input(out[i], captures->item[j].path);
    return rc;
}

void capture_set_free(struct capture_set *c)
{
    for (size_t i = 0; i < c->cnt; i++)
        free_item(&c->item[i]);
    free(c->item);
    memset(c, 0, sizeof(*c));
}

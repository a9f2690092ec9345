/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: JSON reports through `rocedrill merge`. The input has EDITS changes of JSON values,
 * then the reports of the shards, separated by byte SEPARATOR. So a mutation of the first bytes
 * changes one value of a report that is still JSON, and a mutation of the rest changes its text.
 *
 * Invariants: the exit status is 0, 1 or 2. If the reports can be merged, the JSON of replay and
 * drill parses, and a second run writes the same bytes.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cmd_merge.h"
#include "fuzz.h"

#define EDITS 4u
/* Length of all edits, bytes. An edit selects a JSON value by its number (two bytes) and the kind
 * of the change (one byte; 0: no change). */
#define HEAD      (3 * EDITS)
#define SEPARATOR 0x1E
#define REPORTS   4u
#define OUTPUTS   3u /* JSON, JUnit, page */

struct edits {
    const uint8_t *head;
    unsigned nodes; /* number of values that were visited */
};

/* Returns the changed value, or NULL to remove it. */
static json_t *changed(json_t *value, unsigned change)
{
    json_t *list;

    switch (change % 9) {
    case 0: return NULL;
    case 1: return json_null();
    case 2: return json_integer(change & 16 ? -1 : 0);
    case 3: return json_integer(change & 16 ? 0x7FFFFFFFFFFFFFFF : (json_int_t)1 << change / 8);
    case 4: return json_string(change & 16 ? "PASS" : "\xC2\x85<]]>&\"");
    case 5: return json_array();
    case 6: return json_object();
    case 7: return json_boolean(change & 16);
    default:
        list = json_array();
        json_array_append(list, value);
        json_array_append(list, value);
        return list;
    }
}

/* Returns the change of the next value, or 0. */
static unsigned next_change(struct edits *e)
{
    unsigned node = e->nodes++;

    for (unsigned i = 0; i < EDITS; i++)
        if (e->head[3 * i + 2] && (e->head[3 * i] << 8 | e->head[3 * i + 1]) == (int)node)
            return e->head[3 * i + 2];
    return 0;
}

static void edit(struct edits *e, json_t *value)
{
    const char *key;
    json_t *child;
    void *next;

    json_object_foreach_safe(value, next, key, child)
    {
        unsigned change = next_change(e);
        json_t *now = change ? changed(child, change) : NULL;

        if (!change)
            edit(e, child);
        else if (now)
            json_object_set_new(value, key, now);
        else
            json_object_del(value, key);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        unsigned change = next_change(e);
        json_t *now = change ? changed(json_array_get(value, i), change) : NULL;

        if (!change)
            edit(e, json_array_get(value, i));
        else if (now)
            json_array_set_new(value, i, now);
        else
            json_array_remove(value, i);
    }
}

/* Writes a report with the edits made. A report is one JSON value or several, one per line. Writes
 * text that is not JSON unchanged. */
static void write_report(FILE *out, struct edits *e, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        json_error_t error;
        json_t *value = json_loadb(text + at, len - at, JSON_DISABLE_EOF_CHECK, &error);

        if (!value) {
            fwrite(text + at, 1, len - at, out);
            return;
        }
        at += (size_t)error.position;
        edit(e, value);
        json_dumpf(value, out, JSON_COMPACT);
        fputc('\n', out);
        json_decref(value);
        while (at < len && strchr(" \t\r\n", text[at]))
            at++;
    }
}

/* Creates a file in memory. Returns its descriptor. */
static int make_file(char path[64])
{
    int fd = memfd_create("report", 0);

    FUZZ_CHECK(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Runs merge without its messages. Sanitizers still write to the descriptor of standard error. */
static int run_quietly(int argc, char **argv)
{
    static FILE *null;
    FILE *out = stdout, *err = stderr;
    int status;

    if (!null)
        null = fopen("/dev/null", "w");
    FUZZ_CHECK(null != NULL);
    stdout = stderr = null;
    optind = 0;
    status = cmd_merge(argc, argv);
    fflush(null);
    stdout = out;
    stderr = err;
    return status;
}

/* Checks that two files are equal. */
static void check_equal(int a, int b)
{
    char x[4096], y[4096];
    ssize_t n;

    for (off_t at = 0; (n = pread(a, x, sizeof(x), at)) > 0; at += n) {
        FUZZ_CHECK(pread(b, y, sizeof(y), at) == n);
        FUZZ_CHECK(memcmp(x, y, (size_t)n) == 0);
    }
    FUZZ_CHECK(lseek(a, 0, SEEK_END) == lseek(b, 0, SEEK_END));
}

static void check_json(int fd)
{
    json_t *report;

    lseek(fd, 0, SEEK_SET);
    report = json_loadfd(fd, 0, NULL);
    FUZZ_CHECK(json_is_object(report));
    json_decref(report);
}

/* Writes the reports of the input to files. Returns their number. */
static unsigned write_reports(const uint8_t *data, size_t size, int fd[REPORTS],
                              char path[REPORTS][64])
{
    struct edits e = {.head = data};
    const char *text = (const char *)data + HEAD;
    size_t left = size - HEAD;
    unsigned cnt = 0;

    do {
        const char *end = memchr(text, SEPARATOR, left);
        size_t len = end ? (size_t)(end - text) : left;
        FILE *out;

        fd[cnt] = make_file(path[cnt]);
        out = fopen(path[cnt], "w");
        FUZZ_CHECK(out != NULL);
        write_report(out, &e, text, len);
        FUZZ_CHECK(fclose(out) == 0);
        cnt++;
        left -= end ? len + 1 : len;
        text += end ? len + 1 : len;
    } while (left && cnt < REPORTS);
    return cnt;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[REPORTS][64], out_path[2][OUTPUTS][64];
    int fd[REPORTS], out[2][OUTPUTS], status[2];
    unsigned cnt, outputs = OUTPUTS;

    if (size < HEAD)
        return 0;
    cnt = write_reports(data, size, fd, path);
    if (memmem(data + HEAD, size - HEAD, "\"captures\"", 10) == NULL &&
        memmem(data + HEAD, size - HEAD, "\"drills\"", 8) == NULL)
        outputs--; /* check has no page */
    for (unsigned run = 0; run < 2; run++) {
        char json[] = "--json", junit[] = "--junit", html[] = "--html", command[] = "merge";
        char *const options[OUTPUTS] = {json, junit, html};
        char *argv[1 + 2 * OUTPUTS + REPORTS + 1] = {command};
        int argc = 1;

        for (unsigned i = 0; i < OUTPUTS; i++)
            out[run][i] = make_file(out_path[run][i]);
        for (unsigned i = 0; i < outputs; i++) {
            argv[argc++] = options[i];
            argv[argc++] = out_path[run][i];
        }
        for (unsigned i = 0; i < cnt; i++)
            argv[argc++] = path[i];
        status[run] = run_quietly(argc, argv);
    }
    FUZZ_CHECK(status[0] >= 0 && status[0] <= 2 && status[0] == status[1]);
    for (unsigned i = 0; i < OUTPUTS; i++)
        check_equal(out[0][i], out[1][i]);
    if (status[0] < 2 && outputs == OUTPUTS)
        check_json(out[0][0]);
    for (unsigned run = 0; run < 2; run++)
        for (unsigned i = 0; i < OUTPUTS; i++)
            close(out[run][i]);
    for (unsigned i = 0; i < cnt; i++)
        close(fd[i]);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "checkrun.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/suite.h"

static char folder[256];

static void remove_folder(void)
{
    char command[300];

    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    if (system(command) != 0)
        perror(folder);
}

/* At the first call, creates the folder $T and sets the environment variables that test commands
 * use. */
static void prepare(void)
{
    const char *dir = getenv("TMPDIR");

    if (*folder)
        return;
    snprintf(folder, sizeof(folder), "%s/rocedrill-check.XXXXXX", dir && *dir ? dir : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    atexit(remove_folder);
    setenv("T", folder, 1);
    setenv("C", TRACES_DIR "/captures", 1);
    setenv("R", ROCEDRILL_PROGRAM, 1);
    setenv("GEN", GEN_CAPTURE_PROGRAM, 1);
}

const char *checkrun_path(const char *name)
{
    static char path[512];

    prepare();
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

char *checkrun_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t len = 0, cap = 4096, got;
    char *text = malloc(cap);

    while (file && text && (got = fread(text + len, 1, cap - len - 1, file)) > 0) {
        len += got;
        if (cap - len < 2)
            text = realloc(text, cap *= 2);
    }
    if (file)
        fclose(file);
    if (!text)
        exit(2);
    text[len] = '\0';
    return text;
}

static struct checkrun run(const char *command)
{
    char line[4096];
    struct checkrun result = {.status = -1};
    struct rusage usage;
    int rc;

    snprintf(line, sizeof(line), CHECKRUN_SHELL "{ %s; } >\"$T/.out\" 2>\"$T/.err\"", command);
    rc = system(line);
    result.status = WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
    result.out = checkrun_read(checkrun_path(".out"));
    result.err = checkrun_read(checkrun_path(".err"));
    if (getrusage(RUSAGE_CHILDREN, &usage) == 0)
        result.max_rss_kb = usage.ru_maxrss;
    return result;
}

struct checkrun checkrun_shell(const char *fmt, ...)
{
    char command[3072];
    va_list args;

    prepare();
    va_start(args, fmt);
    vsnprintf(command, sizeof(command), fmt, args);
    va_end(args);
    return run(command);
}

struct checkrun checkrun(const char *fmt, ...)
{
    char command[3072] = "\"$R\" ";
    size_t len = strlen(command);
    va_list args;

    prepare();
    va_start(args, fmt);
    vsnprintf(command + len, sizeof(command) - len, fmt, args);
    va_end(args);
    return run(command);
}

void checkrun_free(struct checkrun *result)
{
    free(result->out);
    free(result->err);
    *result = (struct checkrun){0};
}

bool checkrun_complains(const struct checkrun *result, const char *text)
{
    const char *end = strchr(result->err, '\n');

    if (end && end[1] == '\0' && strstr(result->err, text))
        return true;
    suite_fail(__FILE__, __LINE__, "standard error is not one line with \"%s\": %s", text,
               result->err);
    return false;
}

json_t *checkrun_json(const char *text)
{
    json_t *lines = json_array();

    while (*text) {
        const char *end = strchr(text, '\n');
        size_t len = end ? (size_t)(end - text) : strlen(text);
        json_error_t json_error;
        json_t *line = json_loadb(text, len, 0, &json_error);

        if (!json_is_object(line))
            suite_fail(__FILE__, __LINE__, "no JSON object: %.*s: %s", (int)len, text,
                       json_error.text);
        json_array_append_new(lines, line ? line : json_null());
        text += len + (end != NULL);
    }
    return lines;
}

static bool is_type(const json_t *line, const char *type)
{
    const char *is = json_string_value(json_object_get(line, "type"));

    return is && strcmp(is, type) == 0;
}

size_t checkrun_count(const json_t *lines, const char *type)
{
    size_t cnt = 0;

    for (size_t i = 0; i < json_array_size(lines); i++)
        cnt += is_type(json_array_get(lines, i), type);
    return cnt;
}

json_t *checkrun_first(const json_t *lines, const char *type)
{
    for (size_t i = 0; i < json_array_size(lines); i++)
        if (is_type(json_array_get(lines, i), type))
            return json_array_get(lines, i);
    return NULL;
}

json_int_t checkrun_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);

    if (!json_is_integer(v))
        suite_fail(__FILE__, __LINE__, "no number \"%s\"", key);
    return json_integer_value(v);
}

void checkrun_write_pcap(const char *name, uint32_t linktype, const struct capture *capture)
{
    const uint32_t head[6] = {0xA1B2C3D4, 2 | 4u << 16, 0, 0, 262144, linktype};
    FILE *file = fopen(checkrun_path(name), "wb");

    if (!file) {
        perror(name);
        exit(2);
    }
    fwrite(head, sizeof(head), 1, file);
    for (size_t i = 0; i < capture->cnt; i++) {
        const struct capture_frame *f = &capture->frame[i];
        const uint32_t rec[4] = {(uint32_t)(f->time / 1000000000u),
                                 (uint32_t)(f->time % 1000000000u / 1000u), f->len, f->len};

        fwrite(rec, sizeof(rec), 1, file);
        fwrite(f->data, 1, f->len, file);
    }
    if (fclose(file) != 0)
        exit(2);
}

void checkrun_write_flow(const char *name, struct flowgen *flow)
{
    struct capture c = {0};

    for (size_t i = 0; i < flow->frame_cnt; i++)
        capture_add(&c, flow->bytes + flow->frame[i].off, flow->frame[i].len, flow->frame[i].time);
    checkrun_write_pcap(name, 1, &c); /* Ethernet */
    capture_free(&c);
    flowgen_free(flow);
}

void checkrun_refused(const char *arguments, const char *text)
{
    struct checkrun r = checkrun("%s", arguments);

    if (r.status != 2)
        suite_fail(__FILE__, __LINE__, "%s: expected status 2, actual %d", arguments, r.status);
    CU_ASSERT_TRUE(checkrun_complains(&r, text));
    checkrun_free(&r);
}

void checkrun_expect(const char *file, unsigned line, const char *command, int status,
                     const char *out, const char *err)
{
    struct checkrun r = checkrun_shell("%s", command);

    if (r.status != status)
        suite_fail(file, line, "%s: expected status %d, actual %d: %s%s", command, status, r.status,
                   r.out, r.err);
    if (!strstr(r.out, out))
        suite_fail(file, line, "%s: no \"%s\" in: %s", command, out, r.out);
    if (*err ? !checkrun_complains(&r, err) : *r.err)
        suite_fail(file, line, "%s: expected \"%s\" on standard error: %s", command, err, r.err);
    checkrun_free(&r);
}

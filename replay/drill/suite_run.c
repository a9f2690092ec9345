/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/suite_run.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "drill/parser.h"
#include "drill/record.h"
#include "drill/words.h"
#include "flow/base/rules.h"
#include "util/cli_opts.h"
#include "util/file_queue.h"
#include "util/keymap.h"

#define SUFFIX    ".drill"
#define DEPTH_MAX 8 /* maximum depth of folders */

struct suite_runner {
    struct drill_suite *suite;
    const struct drill_suite_options *options;
    pthread_mutex_t lock;
    struct file_queue queue; /* queue of the cases */
    bool stopped, failed;
    struct error error; /* error of the first recording that failed */
};

/* ---- finding drill files --------------------------------------------------------------------- */

static bool has_suffix(const char *name)
{
    size_t len = strlen(name);

    return len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static int add_path(struct drill_suite *suite, const char *path, struct error *error)
{
    char *copy;

    if (!VEC_GROW(suite->path, suite->path_cnt, suite->path_cap) || !(copy = strdup(path)))
        return error_set(error, "%s: no memory", path);
    suite->path[suite->path_cnt++] = copy;
    return 0;
}

static int is_listed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int add_folder(struct drill_suite *suite, const char *folder, unsigned depth,
                      struct error *error)
{
    struct dirent **entries;
    int cnt = scandir(folder, &entries, is_listed, alphasort), rc = 0;

    if (cnt < 0)
        return error_set(error, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < cnt; i++) {
        char path[4096];
        struct stat st;

        if (rc == 0 &&
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < (int)sizeof(path) &&
            stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
                rc = add_folder(suite, path, depth + 1, error);
            else if (S_ISREG(st.st_mode) && has_suffix(path))
                rc = add_path(suite, path, error);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int drill_suite_add(struct drill_suite *suite, const char *path, struct error *error)
{
    size_t before = suite->path_cnt;
    struct stat st;
    char folder[4096];
    size_t len = strlen(path);

    if (stat(path, &st) != 0)
        return error_set(error, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_path(suite, path, error);
    while (len > 1 && path[len - 1] == '/')
        len--;
    snprintf(folder, sizeof(folder), "%.*s", (int)len, path);
    if (add_folder(suite, folder, 0, error) != 0)
        return -1;
    return suite->path_cnt > before ? 0 : error_set(error, "%s: no file *%s", path, SUFFIX);
}

bool drill_suite_find(const char *name, char *path, size_t cap)
{
    static const char *const folders[] = {"../../tests/conformance",
                                          "../share/rocedrill/conformance"};
    char program[2048];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    struct stat st;
    char *slash;

    if (stat(name, &st) == 0)
        return false;
    if (snprintf(path, cap, "tests/conformance/%s" SUFFIX, name) < (int)cap && stat(path, &st) == 0)
        return true;
    program[len > 0 ? len : 0] = '\0';
    slash = strrchr(program, '/');
    for (unsigned i = 0; slash && i < sizeof(folders) / sizeof(folders[0]); i++)
        if (snprintf(path, cap, "%.*s/%s/%s" SUFFIX, (int)(slash - program), program, folders[i],
                     name) < (int)cap &&
            stat(path, &st) == 0)
            return true;
    return false;
}

static const char *path_of_drill(const void *paths, size_t i)
{
    return ((char *const *)paths)[i];
}

int drill_suite_shard(struct drill_suite *suite, struct shard *shard, struct error *error)
{
    bool *chosen;
    size_t cnt = 0;

    if (!shard->count)
        return 0;
    suite->position = calloc(suite->path_cnt + 1, sizeof(*suite->position));
    chosen =
        suite->position ? shard_choose(shard, path_of_drill, suite->path, suite->path_cnt) : NULL;
    if (!chosen)
        return error_set(error, "no memory for %zu drills", suite->path_cnt);
    for (size_t i = 0; i < suite->path_cnt; i++) {
        if (!chosen[i]) {
            free(suite->path[i]);
            continue;
        }
        suite->position[cnt] = i;
        suite->path[cnt++] = suite->path[i];
    }
    suite->path_cnt = cnt;
    free(chosen);
    return 0;
}

/* ---- choosing and playing cases -------------------------------------------------------------- */

/* Sets the name of a case to "FOLDER/NAME": the last folder of the path, and the file name without
 * suffix. */
static void set_name(struct drill_case *c)
{
    const char *file = strrchr(c->path, '/'), *at = file;

    c->name = c->path;
    if (file) {
        while (at > c->path && at[-1] != '/')
            at--;
        c->name = at;
    }
    c->name_len = (unsigned)strlen(c->name);
    if (has_suffix(c->name))
        c->name_len -= (unsigned)strlen(SUFFIX);
}

struct drill_case *drill_suite_case(struct drill_suite *suite, const char *path,
                                    unsigned combination)
{
    struct drill_case *c;

    if (!VEC_GROW(suite->at, suite->cnt, suite->cap))
        return NULL;
    c = &suite->at[suite->cnt++];
    memset(c, 0, sizeof(*c));
    c->path = path;
    c->combination = combination;
    set_name(c);
    return c;
}

/* Cases that the options of a run select. */
struct wanted_cases {
    const char *only;
    const json_t *not_run; /* cases that a stopped run did not play, from its JSON report
                            * (--resume); NULL: no such report */
};

/* Returns whether a combination of variants, such as "mtu=1024 ip=4", has all the values in
 * `values`. */
static bool has_values(const char *text, const char *values)
{
    for (size_t len; *values; values += len) {
        values += strspn(values, " ");
        len = strcspn(values, " ");
        if (len && !words_list_has(text, values, len))
            return false;
    }
    return true;
}

/* Returns whether the options select this combination of the variants of a drill. */
static bool is_wanted(const char *path, unsigned combination, const struct wanted_cases *wanted)
{
    struct script script;
    struct error error;
    char text[96] = "";
    const json_t *item;
    size_t at;

    if (script_read(&script, path, combination, &error) == 0)
        script_variant_text(&script, text, sizeof(text));
    script_free(&script);
    if (wanted->only && !has_values(text, wanted->only))
        return false;
    json_array_foreach(wanted->not_run, at, item)
    {
        const char *file = json_string_value(json_object_get(item, "file"));
        const char *variant = json_string_value(json_object_get(item, "variant"));

        if (file && variant && strcmp(file, path) == 0 && strcmp(variant, text) == 0)
            return true;
    }
    return !wanted->not_run;
}

/* Adds a case for each combination of variants that the options select, of each drill. Returns 0,
 * or -1 and an error. */
static int make_cases(struct drill_suite *suite, const struct wanted_cases *wanted,
                      struct error *error)
{
    for (size_t i = 0; i < suite->path_cnt; i++) {
        struct script script;
        struct error problem = {""};
        int rc = script_read(&script, suite->path[i], 0, &problem);
        unsigned cnt = rc == 0 ? script_combinations(&script) : 1;

        script_free(&script);
        for (unsigned k = 0; k < cnt; k++) {
            struct drill_case *c;

            if (rc == 0 && (wanted->only || wanted->not_run) &&
                !is_wanted(suite->path[i], k, wanted))
                continue;
            c = drill_suite_case(suite, suite->path[i], k);

            if (!c)
                return error_set(error, "%s: no memory", suite->path[i]);
            c->position = suite->position ? suite->position[i] : i;
            c->unusable = rc != 0;
            c->error = problem;
        }
    }
    return 0;
}

/* Returns the first occurrence of a name in a line, or NULL. */
static const char *find_name(const char *line, const char *name)
{
    const char *at = line;

    while ((at = strstr(at, name)) != NULL) {
        size_t len = strcspn(at, " \t,]#");

        if (len == strlen(name) && (at == line || strchr(" \t,[", at[-1])))
            return at;
        at += strlen(name);
    }
    return NULL;
}

/* Sets an error with the line and column at which `name` first occurs in the script. Returns -1. */
static int refuse_name(const struct script *script, const char *what, const char *name,
                       struct error *error)
{
    const char *at = NULL;
    unsigned line = 0;

    while (line < script->line_cnt && !(at = find_name(script->line[line], name)))
        line++;
    return error_set(error, "%s:%u:%u: no %s %s", script->path, line + 1,
                     at ? (unsigned)(at - script->line[line]) + 1 : 1, what, name);
}

static int check_rule(const struct script *script, const char *id, struct error *error)
{
    return roce_rule_find(id) != ROCE_RULE_CNT ? 0
                                               : refuse_name(script, "rule has the id", id, error);
}

static int check_rules(const struct script *script, struct error *error)
{
    for (unsigned i = 0; i < script->rule_cnt; i++)
        if (check_rule(script, script->rule[i], error) != 0)
            return -1;
    for (unsigned i = 0; i < script->allow_cnt; i++)
        if (check_rule(script, script->allow[i], error) != 0)
            return -1;
    for (size_t i = 0; i < script->step_cnt; i++)
        for (unsigned k = 0; k < script->step[i].rule_cnt; k++)
            if (check_rule(script, script->step[i].rule[k], error) != 0)
                return -1;
    return 0;
}

static int check_needs(const struct script *script, struct error *error)
{
    for (unsigned i = 0; i < script->need_cnt; i++)
        if (!words_is_need(script->need[i]))
            return refuse_name(script, "feature has the name", script->need[i], error);
    return 0;
}

/* Checks the device after a drill that lost its connection to the device. Returns 0, or -1 and an
 * error if the device cannot be reached any more. */
static int check_device(const struct drill_suite_options *options,
                        const struct drill_result *result, struct error *error)
{
    if (!result->gone)
        return 0;
    if (result->unreachable)
        return error_set(error, "%s", result->problem);
    return options->ops->reach ? options->ops->reach(options->config, error) : 0;
}

static void run_case(struct suite_runner *runner, struct drill_case *c)
{
    const struct drill_suite_options *options = runner->options;
    struct error error;

    c->played = true;
    c->device_options = options->device_options;
    if (c->unusable)
        return;
    if (script_read(&c->script, c->path, c->combination, &c->error) != 0) {
        c->unusable = true;
        return;
    }
    script_variant_text(&c->script, c->variant, sizeof(c->variant));
    c->unusable =
        check_rules(&c->script, &c->error) != 0 || check_needs(&c->script, &c->error) != 0;
    if (options->check_only || c->unusable)
        return;
    drill_run(&c->script, options->ops, options->config, options->lacking, &c->result);
    if (check_device(options, &c->result, &error) != 0) {
        c->played = !c->result.not_opened;
        pthread_mutex_lock(&runner->lock);
        if (!runner->stopped)
            runner->suite->stopped = error;
        runner->stopped = true;
        pthread_mutex_unlock(&runner->lock);
        if (!c->played)
            return;
    }
    if (options->record_dir && drill_record(c, options->record_dir, &error) != 0) {
        pthread_mutex_lock(&runner->lock);
        if (!runner->failed)
            runner->error = error;
        runner->failed = true;
        pthread_mutex_unlock(&runner->lock);
    }
    if (!options->keep_log &&
        (c->result.verdict == DRILL_PASS || c->result.verdict == DRILL_UNSUPPORTED))
        drill_result_free(&c->result);
}

static void *run_cases(void *arg)
{
    struct suite_runner *runner = arg;

    for (;;) {
        size_t at;
        bool more;

        pthread_mutex_lock(&runner->lock);
        more = !runner->stopped && file_queue_take(&runner->queue, &at);
        pthread_mutex_unlock(&runner->lock);
        if (!more)
            return NULL;
        run_case(runner, &runner->suite->at[at]);
    }
}

/* Moves the cases that were not played to the end of suite->at. Returns 0, or -1 if out of
 * memory. */
static int move_unplayed(struct drill_suite *suite)
{
    struct error error;
    struct drill_case *sorted = calloc(suite->cnt + 1, sizeof(*sorted));
    size_t cnt = 0, played;

    if (!sorted)
        return -1;
    for (size_t i = 0; i < suite->cnt; i++)
        if (suite->at[i].played)
            sorted[cnt++] = suite->at[i];
    played = cnt;
    for (size_t i = 0; i < suite->cnt; i++) {
        struct drill_case *c = &suite->at[i];

        if (c->played)
            continue;
        if (c->script.line_cnt > 0 || script_read(&c->script, c->path, c->combination, &error) == 0)
            script_variant_text(&c->script, c->variant, sizeof(c->variant));
        sorted[cnt++] = *c;
    }
    free(suite->at);
    suite->at = sorted;
    suite->cnt = played;
    suite->left = cnt - played;
    return 0;
}

int drill_suite_choose(struct drill_suite *suite, const struct drill_suite_options *options,
                       struct error *error)
{
    struct wanted_cases wanted = {.only = options->only};
    json_t *report = NULL;
    int rc;

    if (options->resume) {
        report = json_load_file(options->resume, 0, NULL);
        wanted.not_run = json_object_get(json_object_get(report, "stopped"), "not_run");
        if (!json_is_array(wanted.not_run)) {
            json_decref(report);
            return error_set(error, "--resume %s: not the report of a run that stopped",
                             options->resume);
        }
    }
    rc = make_cases(suite, &wanted, error);
    json_decref(report);
    /* If no drill has the variant that --only names, report an error. With --shard, report none,
     * because drills of another shard may have the variant. */
    if (rc == 0 && options->only && suite->path_cnt && !suite->cnt && !suite->position)
        return error_set(error, "--only '%s': no drill has this variant", options->only);
    return rc;
}

size_t drill_suite_count(const struct drill_suite *suite, unsigned ip)
{
    const char *counted = NULL;
    size_t cnt = 0;

    for (size_t i = 0; i < suite->cnt; i++) {
        const struct drill_case *c = &suite->at[i];
        struct script script;
        struct error error;

        if (c->path == counted || c->unusable)
            continue;
        if (script_read(&script, c->path, c->combination, &error) == 0 &&
            script_variant_value(&script, "ip", 4) == ip) {
            counted = c->path;
            cnt++;
        }
        script_free(&script);
    }
    return cnt;
}

static const char *path_of_case(const void *cases, size_t i)
{
    return ((const struct drill_case *)cases)[i].path;
}

int drill_suite_run(struct drill_suite *suite, const struct drill_suite_options *options,
                    struct error *error)
{
    struct suite_runner runner = {.suite = suite, .options = options};
    pthread_t thread[CLI_JOBS_MAX];
    unsigned threads, started = 0;

    threads = file_queue_workers(options->threads, suite->cnt);
    if (!file_queue_init(&runner.queue, path_of_case, suite->at, suite->cnt, threads)) {
        file_queue_free(&runner.queue);
        return error_set(error, "no memory for %zu cases", suite->cnt);
    }
    pthread_mutex_init(&runner.lock, NULL);
    while (started + 1 < threads && pthread_create(&thread[started], NULL, run_cases, &runner) == 0)
        started++;
    run_cases(&runner);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    pthread_mutex_destroy(&runner.lock);
    file_queue_free(&runner.queue);
    if (runner.stopped && move_unplayed(suite) != 0)
        return error_set(error, "no memory");
    if (!runner.failed)
        return 0;
    *error = runner.error;
    return -1;
}

void drill_suite_free(struct drill_suite *suite)
{
    for (size_t i = 0; i < suite->cnt + suite->left; i++) {
        drill_result_free(&suite->at[i].result);
        script_free(&suite->at[i].script);
        free(suite->at[i].recorded);
        json_decref(suite->at[i].json);
        json_decref(suite->at[i].merge);
    }
    free(suite->at);
    for (size_t i = 0; i < suite->path_cnt; i++)
        free(suite->path[i]);
    free(suite->path);
    free(suite->position);
    memset(suite, 0, sizeof(*suite));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Suite run: collects drills from files and folders, and plays each drill with all combinations of
 * its variants. Several threads play cases at the same time, but the order of the cases in the
 * results is always the same.
 *
 *   1. drill_suite_add() for each file or folder.
 *   2. drill_suite_choose()
 *   3. drill_suite_run()
 *   4. the reports of drill_report.h
 *   5. drill_suite_free()
 */
#ifndef REPLAY_DRILL_SUITE_RUN_H
#define REPLAY_DRILL_SUITE_RUN_H

#include <jansson.h>
#include "drill/engine.h"
#include "util/shard.h"

/* One drill with one combination of its variants. */
struct drill_case {
    const char *path;     /* file of the drill */
    const char *name;     /* name in the reports, "GROUP/NNN-name": part of `path`, not
                           * zero-terminated */
    unsigned name_len;    /* length of `name`, characters */
    unsigned combination; /* number of the combination of variants, from 0 */
    char variant[96];     /* combination as text, such as "mtu=1024 ip=4", or "" */
    bool unusable;        /* the file cannot be parsed */
    bool played;
    struct error error;   /* reason why the file cannot be parsed */
    struct script script; /* parsed drill; all zero if the drill cannot be parsed */
    struct drill_result result;
    char *recorded;             /* path of the recording, or NULL */
    const char *device_options; /* options that select the device, quoted for a shell, or NULL */
    size_t position;            /* number of the drill in the list of the drills of all shards,
                                 * from 0 */
    /* Members that only `rocedrill merge` sets, for a case that another process played; else
     * NULL. */
    json_t *json;        /* JSON report of the case, without its member `merge` */
    json_t *merge;       /* member `merge` of the case in the JSON report: texts for the reports
                          * in other formats */
    const char *ladder;  /* ladder as text, owned by `merge`; drill_text() prints it */
    const char *section; /* HTML section about the case, owned by `merge` */
};

struct drill_suite {
    char **path;
    size_t path_cnt, path_cap;
    size_t *position;      /* for each drill file: its index in the list of the files of all
                            * shards. NULL: the run has no shards */
    struct drill_case *at; /* the cases that were played, then the cases that were not played */
    size_t cnt, cap;       /* number of cases that were played */
    size_t left;           /* number of cases at the end of `at` that were not played */
    struct error stopped;  /* if `left` is not 0: reason why the run stopped */
};

struct drill_suite_options {
    const struct drill_device_ops *ops;
    const void *config;  /* argument of ops->open(), for example struct device_pipe_config */
    const char *lacking; /* capabilities that the engine treats as missing (drill_run()); NULL:
                          * none */
    const char *device_options; /* command line options that select the device, quoted for a shell,
                                 * each followed by a blank; NULL: none */
    const char *record_dir; /* folder for a pcapng recording of each case; NULL: no recordings */
    const char *only;       /* play only the combinations with these values of variants, such as
                             * "mtu=1024"; NULL: play all */
    const char *resume;     /* JSON report of a run that stopped early: play only the cases that
                             * it did not play. NULL: play all cases */
    unsigned threads;       /* number of threads; 0: number of processors */
    bool keep_log;          /* also keep the logs of the cases that passed */
    bool check_only;        /* only parse the drills, and check the ids of their rules */
};

/* Finds the file of a drill by the name that reports print, for example "rc-rsp/068-one-nak-a-gap".
 * Searches tests/conformance and the folder of the installed drills. Returns false if there is no
 * such drill, or if `name` is itself the path of an existing file or folder. */
bool drill_suite_find(const char *name, char *path, size_t cap);

/* Adds a drill, or all files *.drill of a folder and its subfolders in the order of their names.
 * Returns 0, or -1 and an error. */
int drill_suite_add(struct drill_suite *suite, const char *path, struct error *error);

/* Removes the drills that do not belong to this shard (part) of the run. Does nothing if
 * shard->count is 0. Returns 0, or -1 and an error. */
int drill_suite_shard(struct drill_suite *suite, struct shard *shard, struct error *error);

/* Adds a case. `path` must live as long as the suite. Returns NULL if out of memory. */
struct drill_case *drill_suite_case(struct drill_suite *suite, const char *path,
                                    unsigned combination);

/* Makes a case for each combination of variants that the options select. A drill that cannot be
 * parsed becomes one unusable case. Returns 0, or -1 and an error if out of memory, if no drill has
 * the variant options->only, or if the report of options->resume is not usable. */
int drill_suite_choose(struct drill_suite *suite, const struct drill_suite_options *options,
                       struct error *error);

/* Returns the number of drills with a chosen case of this IP version, 4 or 6. */
size_t drill_suite_count(const struct drill_suite *suite, unsigned ip);

/* Plays all cases, or stops when the device cannot be reached any more. Returns 0, or -1 and an
 * error if out of memory or if a recording cannot be written. */
int drill_suite_run(struct drill_suite *suite, const struct drill_suite_options *options,
                    struct error *error);
void drill_suite_free(struct drill_suite *suite);

#endif

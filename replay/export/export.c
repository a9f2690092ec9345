/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "export/csv.h"
#include "export/events.h"
#include "export/perfetto.h"
#include "export/psn_graph.h"
#include "util/outfile.h"

struct export
{
    struct export_paths paths;
    FILE *perfetto_file;
    struct events events;
    struct csv csv;
    struct perfetto perfetto;
    struct psn_graph xplot, gnuplot;
};

static FILE *open_file(const char *path, struct error *error)
{
    FILE *out = outfile_is_stdout(path) ? stdout : fopen(path, "wb");

    if (!out)
        error_set(error, "%s: %s", path, strerror(errno));
    return out;
}

/* Creates a folder unless it exists. */
static int make_folder(const char *path, struct error *error)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    return error_set(error, "%s: %s", path, strerror(errno));
}

static int open_outputs(struct export *export, struct error *error)
{
    const struct export_paths *paths = &export->paths;

    if (paths->events && !(export->events.out = open_file(paths->events, error)))
        return -1;
    if (paths->csv &&
        (make_folder(paths->csv, error) != 0 || csv_open(&export->csv, paths->csv, error) != 0))
        return -1;
    if (paths->perfetto && (!(export->perfetto_file = open_file(paths->perfetto, error)) ||
                            perfetto_open(&export->perfetto, export->perfetto_file, error) != 0))
        return -1;
    if (paths->xplot && (make_folder(paths->xplot, error) != 0 ||
                         psn_graph_open(&export->xplot, PSN_XPLOT, paths->xplot, error) != 0))
        return -1;
    if (paths->gnuplot &&
        (make_folder(paths->gnuplot, error) != 0 ||
         psn_graph_open(&export->gnuplot, PSN_GNUPLOT, paths->gnuplot, error) != 0))
        return -1;
    return 0;
}

struct export *export_open(const struct export_paths *paths, struct error *error)
{
    struct export *export = calloc(1, sizeof(*export));
    struct error same;

    if (!export) {
        error_set(error, "no memory");
        return NULL;
    }
    export->paths = *paths;
    if (open_outputs(export, error) != 0) {
        export_close(export, &same);
        return NULL;
    }
    return export;
}

void export_begin(struct export *export, const char *name)
{
    if (export->paths.events)
        events_begin(&export->events, name);
    if (export->paths.csv)
        csv_begin(&export->csv, name);
}

unsigned export_watches(struct export *export, struct check_watch out[EXPORT_WATCHES])
{
    unsigned cnt = 0;

    if (export->paths.events)
        out[cnt++] = events_watch(&export->events);
    if (export->paths.csv)
        out[cnt++] = csv_watch(&export->csv);
    if (export->paths.perfetto)
        out[cnt++] = perfetto_watch(&export->perfetto);
    if (export->paths.xplot)
        out[cnt++] = psn_graph_watch(&export->xplot);
    if (export->paths.gnuplot)
        out[cnt++] = psn_graph_watch(&export->gnuplot);
    return cnt;
}

void export_end(struct export *export, const struct check_report *report)
{
    if (export->paths.events)
        events_end(&export->events, report);
}

/* Closes a file; standard output stays open. Returns 0, or -1 if a write failed. */
static int close_file(FILE *file)
{
    bool failed = outfile_failed(file);

    if (file == stdout)
        return fflush(stdout) != 0 || failed ? -1 : 0;
    return file && fclose(file) != 0 ? -1 : failed ? -1 : 0;
}

int export_close(struct export *export, struct error *error)
{
    const struct export_paths *paths;
    int rc = 0;

    if (!export)
        return 0;
    paths = &export->paths;
    if (export->events.conns.failed || export->events.acked.failed)
        export->events.failed = true;
    if ((close_file(export->events.out) != 0 || export->events.failed) && paths->events)
        rc = error_set(error, "%s: cannot be written", paths->events);
    events_free(&export->events);
    if (csv_close(&export->csv) != 0)
        rc = error_set(error, "%s: cannot be written", paths->csv);
    if (paths->perfetto) {
        int trace = perfetto_close(&export->perfetto), file = close_file(export->perfetto_file);

        if (trace != 0 || file != 0)
            rc = error_set(error, "%s: cannot be written", paths->perfetto);
    }
    if (psn_graph_close(&export->xplot, error) != 0)
        rc = -1;
    if (psn_graph_close(&export->gnuplot, error) != 0)
        rc = -1;
    free(export);
    return rc;
}

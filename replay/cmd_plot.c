/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_plot.h"

#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "capture/narrow.h"
#include "page/page.h"
#include "page/psn_svg.h"
#include "util/cli_opts.h"
#include "util/outfile.h"

#define CONNS_MAX 64u

enum { OPT_CONNECTION = CLI_LONG, OPT_HTML, OPT_SVG, OPT_OPEN };

static const struct cli_option rows[] = {
    {"connection", OPT_CONNECTION, "N", "draw this connection; the option may be repeated"},
    NARROW_OTHER_OPTIONS,
    {"svg", OPT_SVG, "OUT", "write the packets of one connection as an SVG; - is stdout"},
#ifdef HAVE_PAGE
    {"html", OPT_HTML, "OUT", "write a page with all graphs, for a browser; - is stdout"},
    {"open", OPT_OPEN, NULL, "open the page in a browser (xdg-open)"},
#endif
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"plot", rows, sizeof(rows) / sizeof(rows[0])};

struct plot_args {
    const char *svg_path, *html_path;
    bool open;
    struct narrow narrow;
    uint32_t conn[CONNS_MAX];
    uint32_t conn_cnt;
    /* Path of a temporary file for the page, if the user names no output; otherwise "". */
    char temporary[64];
};

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill plot [options] CAPTURE   (- reads standard input)\n"
                 "Draws the packets of a capture, as check --html does.\noptions:\n");
    cli_print_options(out, &table);
    fprintf(out, "exit status: 0 = drawn, 2 = unusable input or wrong use\n");
}

static int add_connection(struct plot_args *args, const char *text)
{
    char *end;
    unsigned long v;

    errno = 0;
    v = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || v >= UINT32_MAX)
        return cli_error("plot: --connection %s: not a number", text);
    if (args->conn_cnt == CONNS_MAX)
        return cli_error("plot: --connection is given more than %u times", CONNS_MAX);
    args->conn[args->conn_cnt++] = (uint32_t)v;
    return -1;
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct plot_args *args)
{
    int c, status;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case OPT_CONNECTION:
            status = add_connection(args, optarg);
            if (status >= 0)
                return status;
            break;
        case OPT_SVG: args->svg_path = optarg; break;
        case OPT_HTML: args->html_path = optarg; break;
        case OPT_OPEN: args->open = true; break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        case NARROW_HOST:
        case NARROW_FROM:
        case NARROW_TO:
        case NARROW_FIRST:
            if (narrow_option(&args->narrow, table.command, c, optarg) != 0)
                return EXIT_UNUSABLE;
            break;
        default: return EXIT_UNUSABLE;
        }
    }
    if (argc - optind != 1)
        return cli_error("plot: one capture required, not %d (see --help)", argc - optind);
    if (!args->svg_path && !args->html_path && !args->open)
        return cli_error("plot: no output given (--svg%s)",
                         table.cnt > 3 ? ", --html, --open" : "");
    if (args->svg_path && args->conn_cnt != 1)
        return cli_error("plot: --svg draws one connection: select it with --connection N "
                         "(rocedrill check lists them)");
    if (args->open && outfile_is_stdout(args->html_path))
        return cli_error("plot: --open cannot open standard output");
    return -1;
}

/* Checks that no output file is the capture or the other output. Returns 0, or the exit status
 * after an error. */
static int check_outputs(const struct plot_args *args, const char *capture)
{
    const char *const out[] = {args->svg_path, args->html_path};

    for (unsigned i = 0; i < 2; i++)
        if (outfile_is_no_input(out[i], capture) != 0)
            return EXIT_UNUSABLE;
    return outfiles_differ(table.command, out, 2);
}

/* ---- writing the outputs -----------------------------------------------------------------------
 */

static bool has_conn(const struct page_capture *capture, uint32_t conn_index)
{
    for (uint32_t i = 0; i < capture->conn_cnt; i++)
        if (capture->conn[i].conn_index == conn_index)
            return true;
    return false;
}

/* Writes the SVG drawing to its file, if requested. Returns 0, or the exit status after an
 * error. */
static int write_svg(const struct plot_args *args, const struct page_capture *capture,
                     const struct check_report *report)
{
    FILE *out = NULL;
    struct error error;
    int status = outfile_open(args->svg_path, &out);

    if (status != 0 || !out)
        return status;
    if (psn_svg_write(out, capture, report, args->conn[0], &error) != 0)
        status = cli_error("%s", error.text);
    return outfile_close(out, args->svg_path) != 0 ? EXIT_UNUSABLE : status;
}

static int write_page(const struct plot_args *args, const struct page_capture *capture,
                      const struct check_report *report)
{
    const struct page_selection selection = {.conn = args->conn_cnt ? args->conn : NULL,
                                             .cnt = args->conn_cnt};
    FILE *out = NULL;
    struct page page;
    int status = outfile_open(args->html_path, &out);

    if (status != 0 || !out)
        return status;
    page_begin(&page, out, capture->name);
    if (page_add(&page, capture, report, 0, &selection) != 0)
        status = cli_error("%s: out of memory while writing the HTML page", capture->name);
    page_end(&page);
    return outfile_close(out, args->html_path) != 0 ? EXIT_UNUSABLE : status;
}

/* Opens the page in the user's browser with xdg-open. Returns 0, or the exit status after an
 * error. */
static int open_page(const char *path)
{
    extern char **environ;
    char program[] = "xdg-open", copy[4096];
    char *const argv[] = {program, copy, NULL};
    pid_t pid;
    int status = 0, rc;

    snprintf(copy, sizeof(copy), "%s%s", *path == '-' ? "./" : "", path);
    rc = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
    if (rc != 0)
        return cli_error("%s: %s", program, strerror(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        return cli_error("%s: cannot open %s", program, path);
    return 0;
}

static int name_temporary(struct plot_args *args)
{
    int fd;

    snprintf(args->temporary, sizeof(args->temporary), "/tmp/rocedrill-XXXXXX.html");
    fd = mkstemps(args->temporary, 5);
    if (fd < 0)
        return cli_error("%s: %s", args->temporary, strerror(errno));
    close(fd);
    args->html_path = args->temporary;
    return 0;
}

static int plot_capture(const char *path, struct plot_args *args)
{
    struct page_capture *capture =
        page_capture_new(strcmp(path, "-") == 0 ? "standard input" : path);
    struct check_watch watch = page_capture_watch(capture);
    const struct check_options options = {.conn_max = PAGE_CONNS,
                                          .progress = true,
                                          .narrow = &args->narrow,
                                          .watch = &watch,
                                          .watch_cnt = 1};
    struct check_report report;
    struct error error;
    int status = 0;

    if (!capture)
        return cli_error("%s: no memory", path);
    if (check_capture(path, &options, &report, &error) != 0)
        status = cli_error("%s", error.text);
    for (uint32_t i = 0; i < args->conn_cnt && status == 0; i++)
        if (!has_conn(capture, args->conn[i]))
            status = cli_error("%s: no connection %u (rocedrill check -v lists them)",
                               capture->name, args->conn[i]);
    if (status == 0 && args->open && !args->html_path)
        status = name_temporary(args);
    if (status == 0)
        status = write_svg(args, capture, &report);
    if (status == 0)
        status = write_page(args, capture, &report);
    if (status == 0 && args->open)
        status = open_page(args->html_path);
    check_report_free(&report);
    page_capture_del(capture);
    return status;
}

int cmd_plot(int argc, char **argv)
{
    struct plot_args args = {.narrow = NARROW_NONE};
    int status = read_options(argc, argv, &args);

    if (status >= 0)
        return status;
    status = check_outputs(&args, argv[optind]);
    return status != 0 ? status : plot_capture(argv[optind], &args);
}

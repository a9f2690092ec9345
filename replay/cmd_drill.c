/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_drill.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#ifdef HAVE_LIVE
#include "drill/device/device_live.h"
#endif
#include "drill/device/device_pipe.h"
#include "drill/device/device_rnic.h"
#include "drill/device/rnic_api.h"
#include "drill/drill_page.h"
#include "drill/drill_report.h"
#include "drill/from/drill_from.h"
#include "drill/matrix.h"
#include "drill/parser.h"
#include "util/cli_opts.h"
#include "util/colour.h"
#include "util/outfile.h"
#include "util/shard.h"
#include "util/strbuf.h"

#define PIPE_TIMEOUT 10 /* default of --timeout, s */

enum {
    KEY_GRAMMAR = CLI_LONG,
    KEY_WORDS,
    KEY_CHECK,
    KEY_TAP,
    KEY_JUNIT,
    KEY_HTML,
    KEY_RECORD,
    KEY_LACKS,
    KEY_ONLY,
    KEY_DEVICE,
    KEY_STRICT,
    KEY_MATRIX,
    KEY_PIPE,
    KEY_FROM,
    KEY_CONNECTION,
    KEY_STREAM,
    KEY_EXCHANGE,
    KEY_ROLE,
    KEY_TIMEOUT,
    KEY_SO,
    KEY_LIVE,
    KEY_TARGET,
    KEY_ADDRESS,
    KEY_AGENT,
    KEY_PATIENCE,
    KEY_ACK_TIMEOUT,
    KEY_REALLY,
    KEY_RESUME,
    KEY_LIST,
};

static const struct cli_option rows[] = {
    {"grammar", KEY_GRAMMAR, NULL, "print the grammar of the drills"},
    {"words", KEY_WORDS, NULL, "print the verbs, opcodes, fields and other words of the drills"},
    {"check", KEY_CHECK, NULL, "parse the drills with all their variants, and run none"},
    {"list", KEY_LIST, NULL, "print the purpose and the rules of each drill, and run none"},
    {"only", KEY_ONLY, "VARIANT",
     "run only the variants with these values, for example 'mtu=1024 ip=4'"},
    {"resume", KEY_RESUME, "REPORT.json",
     "continue a run that stopped: play only the drills that this report lists as not run"},
    {"pipe", KEY_PIPE, "COMMAND",
     "the device is a program that reads and writes JSON lines (drill.md), for example a hardware "
     "simulation"},
    {"from", KEY_FROM, "CAPTURE",
     "play nothing; write a drill of a connection, UC or UD stream or CM exchange of this capture"},
    {"connection", KEY_CONNECTION, "N",
     "with --from: number of the connection (default: the first that can be replayed)"},
    {"stream", KEY_STREAM, "N",
     "with --from: number of a UC or UD stream in the report of rocedrill replay"},
    {"exchange", KEY_EXCHANGE, "N",
     "with --from: number of a CM exchange in the report of rocedrill replay"},
    {"role", KEY_ROLE, "ROLE",
     "with --from: role of the device in the written drill, responder (default) or requester"},
    {"timeout", KEY_TIMEOUT, "S",
     "with --pipe: maximum time for a reply of the program (default: 10)"},
    {"so", KEY_SO, "LIBRARY",
     "the device is a shared library with the functions of rnic/device/rnic.h"},
    {"live", KEY_LIVE, "IFACE",
     "interface that leads to the device; the drills then run in real time"},
    {"target", KEY_TARGET, "ADDRESS",
     "with --live: address of the device; repeat the option for the other IP version"},
    {"agent", KEY_AGENT, "HOST:PORT",
     "with --live: address of rocedrill agent on the device's host"},
    {"address", KEY_ADDRESS, "ADDRESS",
     "with --live: source address of our packets, which no interface needs to have (default: "
     "address of IFACE)"},
    {"patience", KEY_PATIENCE, "MS",
     "with --live: maximum delay of an event after its time in the drill, ms (default: 2000)"},
    {"ack-timeout", KEY_ACK_TIMEOUT, "CODE",
     "with --live: timeout code of the QPs without a timeout in the drill (default: 18)"},
    {"really", KEY_REALLY, NULL,
     "with --live: transmit although a default route leads through IFACE"},
    {"lacks", KEY_LACKS, "WORD,...",
     "capabilities that the device lacks; a drill that needs one of them is unsupported"},
    {"strict", KEY_STRICT, NULL, "exit status 1 also for known deviations and inconclusive drills"},
    {"tap", KEY_TAP, "FILE", "write KTAP, the test format of the Linux kernel; - is stdout"},
    {"junit", KEY_JUNIT, "FILE", "write JUnit; - is stdout"},
    {"json", 'j', "FILE", "write JSON (drill.schema.json); - is stdout"},
#ifdef HAVE_PAGE
    {"html", KEY_HTML, "OUT", "write a page with the differences, for a browser; - is stdout"},
#endif
    {"record", KEY_RECORD, "FOLDER",
     "write a pcapng of each drill; the comment of a packet is FILE:LINE of the drill"},
    {"device", KEY_DEVICE, "NAME",
     "name of the device in JSON reports, matrices and pages (default: the command of --pipe, the "
     "library of --so or the target of --live)"},
    {"matrix", KEY_MATRIX, "FILE",
     "play nothing; write a table of the results in the JSON reports, as HTML or Markdown"},
    {"jobs", 'J', "N", "number of drills played in parallel (default: number of processors)"},
    {"verbose", 'v', NULL, "print the ladders of all variants, also of those that passed"},
    {"quiet", 'q', NULL, "print only the drills that did not pass, and the table of results"},
    SHARD_OPTION("drills"),
    COLOUR_OPTION,
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"drill", rows, sizeof(rows) / sizeof(rows[0])};

/* Options for a device under test that is reachable through a network interface (--live). */
struct drill_live_args {
    bool any;
#ifdef HAVE_LIVE
    struct device_live_config config;
#endif
};

struct drill_args {
    bool quiet, strict, list;
    struct shard shard;
    const char *tap_path, *junit_path, *json_path, *html_path, *device, *matrix_path;
    enum colour_mode colour;
    const char *from; /* path of the capture that --from converts to a drill, or NULL */
    struct drill_from_options from_options;
    bool from_any;       /* at least one option that belongs to --from was given */
    const char *library; /* path of the library that --so names, or NULL */
    struct device_pipe_config pipe;
    struct rnic_api api; /* functions of `library` */
    struct drill_suite_options options;
    struct drill_live_args live;
    char *device_options; /* command line options that select the device, quoted for a shell */
};

static void print_usage(FILE *out)
{
    fprintf(
        out,
        "usage: rocedrill drill [options] DRILL|FOLDER...\n"
        "       rocedrill drill --matrix FILE REPORT.json...\n"
        "Plays drills: scripts that test whether an RDMA device follows the specification.\n"
        "Without options, the device is the software RNIC. --so, --pipe and --live choose another\n"
        "device. Only the drills of --live run in real time, the others in virtual time.\n"
        "options:\n");
    cli_print_options(out, &table);
    fprintf(out, "exit status: 0 = no drill failed, 1 = a drill failed,\n"
                 "  2 = a drill that cannot be parsed, or wrong use\n");
}

/* Parses an integer from `low` to `high`. Returns true and sets *out, or false for any other
 * text. */
static bool parse_whole(const char *text, unsigned long low, unsigned long high, unsigned long *out)
{
    char *end;

    *out = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *out >= low && *out <= high;
}

#ifdef HAVE_LIVE
/* Reads one option for a live device. Returns -1 if the command shall continue, otherwise the exit
 * status. */
static int read_live_option(int key, const char *value, struct drill_args *args)
{
    struct device_live_config *config = &args->live.config;
    struct error error = {""};
    unsigned long number;

    args->live.any = true;
    switch (key) {
    case KEY_LIVE: config->iface = value; return -1;
    case KEY_AGENT: config->agent = value; return -1;
    case KEY_REALLY: config->really = true; return -1;
    case KEY_PATIENCE:
        if (!parse_whole(value, 1, 3600000, &number))
            return cli_error("drill: --patience %s: not a number of ms from 1 to 3600000", value);
        config->patience_ns = (uint64_t)number * 1000000u;
        return -1;
    case KEY_ACK_TIMEOUT:
        if (!parse_whole(value, 0, 31, &number))
            return cli_error("drill: --ack-timeout %s: not a code from 0 to 31", value);
        config->timeout = (unsigned)number;
        return -1;
    default:
        if (device_live_address(config, value, key == KEY_ADDRESS, &error) == 0)
            return -1;
        return cli_error("drill: --%s %s", key == KEY_ADDRESS ? "address" : "target", error.text);
    }
}

/* Checks the options for a live device and selects this device. Returns -1 if the command shall
 * continue, otherwise the exit status. */
static int check_live(struct drill_args *args)
{
    const struct device_live_config *config = &args->live.config;

    if (!args->live.any)
        return -1;
    if (!config->iface)
        return cli_error("drill: options for live devices require --live IFACE (see --help)");
    if (!config->target4 && !config->target6)
        return cli_error("drill: --live requires --target ADDRESS");
    if (!config->agent)
        return cli_error("drill: --live requires --agent HOST:PORT");
    args->options.ops = &device_live_ops;
    args->options.config = config;
    args->options.threads = 1; /* the agent serves one session at a time */
    return -1;
}

/* If the drills will be played against a live device, checks that the device can be reached, and
 * prints that packets will be transmitted. Returns 0, or -1 and an error. */
static int begin_live(const struct drill_args *args, const struct drill_suite *suite,
                      struct error *error)
{
    struct device_live_drills drills;

    if (!args->live.any || args->options.check_only)
        return 0;
    drills.ip4 = drill_suite_count(suite, 4);
    drills.ip6 = drill_suite_count(suite, 6);
    return device_live_check(&args->live.config, &drills, error);
}
#else
static int begin_live(const struct drill_args *args, const struct drill_suite *suite,
                      struct error *error)
{
    (void)args;
    (void)suite;
    (void)error;
    return 0;
}

static int read_live_option(int key, const char *value, struct drill_args *args)
{
    (void)key;
    (void)value;
    (void)args;
    return cli_error("drill: this program was built without libpcap: no live devices");
}

static int check_live(struct drill_args *args)
{
    (void)args;
    return -1;
}
#endif

/* Converts a capture to a drill and prints it (--from). Returns the exit status. */
static int write_from(const struct drill_args *args)
{
#ifdef HAVE_LIVE
    struct error error = {""};

    if (drill_from_capture(args->from, &args->from_options, stdout, &error) != 0)
        return cli_error("drill: %s", error.text);
    return EXIT_HOLDS;
#else
    return cli_error("drill: --from %s: this program was built without libpcap", args->from);
#endif
}

/* Selects the device under test that the options name. Returns -1 if the command shall continue,
 * otherwise the exit status. */
static int choose_device(struct drill_args *args)
{
    struct error error = {""};

    if ((args->library != NULL) + (args->pipe.command != NULL) + args->live.any > 1)
        return cli_error("drill: use only one of --live, --pipe and --so");
    if (!args->pipe.command && args->pipe.timeout)
        return cli_error("drill: --timeout requires --pipe");
    if (args->options.check_only) { /* the drills are only parsed, so no device is used */
        int status = check_live(args);

        args->options.ops = &device_rnic_ops;
        return status;
    }
    if (args->pipe.command) {
        if (!args->pipe.timeout)
            args->pipe.timeout = PIPE_TIMEOUT;
        args->options.ops = &device_pipe_ops;
        args->options.config = &args->pipe;
    }
    if (args->library) {
        if (rnic_api_load(&args->api, args->library, &error) != 0)
            return cli_error("drill: --so: %s", error.text);
        args->options.config = &args->api;
    }
    return check_live(args);
}

/* Reads one option that belongs to --from. Returns -1 if the command shall continue, otherwise the
 * exit status. */
static int read_from_option(int key, const char *value, struct drill_args *args)
{
    struct drill_from_options *o = &args->from_options;
    unsigned long number;

    args->from_any = true;
    if (key == KEY_ROLE) {
        o->requester = strcmp(value, "requester") == 0;
        return o->requester || strcmp(value, "responder") == 0
                   ? -1
                   : cli_error("drill: --role %s: neither responder nor requester", value);
    }
    if (!parse_whole(value, key == KEY_CONNECTION ? 0 : 1, UINT32_MAX - 1, &number))
        return cli_error("drill: --%s %s: not a number; rocedrill replay prints the numbers",
                         key == KEY_CONNECTION ? "connection"
                         : key == KEY_STREAM   ? "stream"
                                               : "exchange",
                         value);
    if (o->connection != DRILL_FROM_NONE || o->stream != DRILL_FROM_NONE ||
        o->exchange != DRILL_FROM_NONE)
        return cli_error("drill: use only one of --connection, --stream and --exchange");
    *(key == KEY_CONNECTION ? &o->connection
      : key == KEY_STREAM   ? &o->stream
                            : &o->exchange) = (uint32_t)number;
    return -1;
}

/* If an option selects the device, appends the option to args->device_options. */
static void keep_device_option(struct drill_args *args, int key, const char *value)
{
    static const int keys[] = {KEY_PIPE,    KEY_TIMEOUT, KEY_SO,       KEY_LIVE,        KEY_TARGET,
                               KEY_ADDRESS, KEY_AGENT,   KEY_PATIENCE, KEY_ACK_TIMEOUT, KEY_REALLY};
    char *before = args->device_options, *text = NULL;
    size_t row = 0, at = 0, len;
    FILE *out;

    while (at < sizeof(keys) / sizeof(keys[0]) && keys[at] != key)
        at++;
    if (at == sizeof(keys) / sizeof(keys[0]) || !(out = open_memstream(&text, &len)))
        return;
    while (rows[row].key != key)
        row++;
    fprintf(out, "%s--%s ", before ? before : "", rows[row].name);
    if (rows[row].arg) {
        put_shell_word(out, value);
        fputc(' ', out);
    }
    fclose(out);
    free(before);
    args->device_options = text;
    args->options.device_options = text;
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct drill_args *args)
{
    unsigned long number;
    int c;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        keep_device_option(args, c, optarg);
        switch (c) {
        case KEY_GRAMMAR:
            printf("%s\n", script_grammar);
            script_print_options(stdout);
            return EXIT_HOLDS;
        case KEY_WORDS: script_print_words(stdout); return EXIT_HOLDS;
        case KEY_LIST: args->list = true; __attribute__((fallthrough));
        case KEY_CHECK: args->options.check_only = true; break;
        case KEY_TAP: args->tap_path = optarg; break;
        case KEY_JUNIT: args->junit_path = optarg; break;
        case KEY_HTML: args->html_path = optarg; break;
        case KEY_RECORD: args->options.record_dir = optarg; break;
        case KEY_LACKS: args->options.lacking = optarg; break;
        case KEY_ONLY:
            if (args->options.only)
                return cli_error("drill: --only twice; use one, for example --only 'mtu=256 ip=6'");
            args->options.only = optarg;
            break;
        case KEY_RESUME: args->options.resume = optarg; break;
        case KEY_DEVICE: args->device = optarg; break;
        case KEY_STRICT: args->strict = true; break;
        case KEY_PIPE: args->pipe.command = optarg; break;
        case KEY_TIMEOUT:
            if (!parse_whole(optarg, 1, 86400, &number))
                return cli_error("drill: --timeout %s: not a number of seconds from 1 to 86400",
                                 optarg);
            args->pipe.timeout = (unsigned)number;
            break;
        case KEY_MATRIX: args->matrix_path = optarg; break;
        case KEY_FROM: args->from = optarg; break;
        case KEY_CONNECTION:
        case KEY_STREAM:
        case KEY_EXCHANGE:
        case KEY_ROLE:
            c = read_from_option(c, optarg, args);
            if (c >= 0)
                return c;
            break;
        case KEY_SO: args->library = optarg; break;
        case KEY_LIVE:
        case KEY_TARGET:
        case KEY_ADDRESS:
        case KEY_AGENT:
        case KEY_PATIENCE:
        case KEY_ACK_TIMEOUT:
        case KEY_REALLY:
            c = read_live_option(c, optarg, args);
            if (c >= 0)
                return c;
            break;
        case 'j': args->json_path = optarg; break;
        case 'J':
            if (cli_jobs(table.command, optarg, &args->options.threads) != 0)
                return EXIT_UNUSABLE;
            break;
        case 'v': args->options.keep_log = true; break;
        case 'q': args->quiet = true; break;
        case COLOUR_KEY:
            if (colour_option(table.command, optarg, &args->colour) != 0)
                return EXIT_UNUSABLE;
            break;
        case SHARD_KEY:
            if (shard_option(&args->shard, table.command, optarg) != 0)
                return EXIT_UNUSABLE;
            break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        default: return EXIT_UNUSABLE;
        }
    }
    if (args->from_any && !args->from)
        return cli_error("drill: --connection, --stream, --exchange and --role require --from");
    if (args->from)
        return optind < argc
                   ? cli_error("drill: --from writes a drill and plays none: %s", argv[optind])
                   : write_from(args);
    if (args->shard.count &&
        (args->tap_path || args->html_path || args->live.any || args->options.resume))
        return cli_error("drill: --shard cannot be used with --%s",
                         args->live.any         ? "live"
                         : args->options.resume ? "resume; run the whole shard again"
                         : args->tap_path       ? "tap; rocedrill merge writes this file"
                                                : "html; rocedrill merge writes the page");
    if (optind >= argc)
        return cli_error("drill: no drill given (see --help)");
    return choose_device(args);
}

/* Prints "PATH: PURPOSE [RULES]". */
static void print_drill(const struct drill_case *c)
{
    printf("%s: %s [", c->path, c->script.purpose);
    for (unsigned i = 0; i < c->script.rule_cnt; i++)
        printf("%s%s", i ? " " : "", c->script.rule[i]);
    printf("]\n");
}

/* Prints an error for each drill that cannot be parsed. If `list` is true, prints a line for each
 * other drill, otherwise their number. Returns the exit status. */
static int report_check(const struct drill_suite *suite, bool list)
{
    size_t drills = 0, variants = 0;
    int status = EXIT_HOLDS;

    for (size_t i = 0; i < suite->cnt; i++) {
        bool first = i == 0 || suite->at[i].path != suite->at[i - 1].path;

        if (suite->at[i].unusable && first)
            status = cli_error("drill: %s", suite->at[i].error.text);
        if (list && first && !suite->at[i].unusable)
            print_drill(&suite->at[i]);
        drills += first && !suite->at[i].unusable;
        variants += !suite->at[i].unusable;
    }
    if (drills && !list)
        printf("%zu drill%s with %zu variant%s: no error\n", drills, drills == 1 ? "" : "s",
               variants, variants == 1 ? "" : "s");
    return status;
}

/* Returns the name of the device in the reports. */
static const char *name_of_device(const struct drill_args *args)
{
    if (args->device)
        return args->device;
    if (args->pipe.command)
        return args->pipe.command;
    if (args->library)
        return args->library;
#ifdef HAVE_LIVE
    if (args->live.any)
        return args->live.config.target4 ? args->live.config.target4 : args->live.config.target6;
#endif
    return "RoCEdrill software RNIC";
}

static int write_reports(const struct drill_suite *suite, const struct drill_args *args)
{
    FILE *tap = NULL, *junit = NULL, *json = NULL, *html = NULL;
    const char *const paths[] = {args->tap_path, args->junit_path, args->json_path,
                                 args->html_path};
    const char *device = name_of_device(args);
    int status = outfiles_differ("drill", paths, 4), rc;
    struct error error = {""};
    json_t *object;

    if (status != 0 || (status = outfile_open(args->tap_path, &tap)) != 0 ||
        (status = outfile_open(args->junit_path, &junit)) != 0 ||
        (status = outfile_open(args->json_path, &json)) != 0 ||
        (status = outfile_open(args->html_path, &html)) != 0)
        return status;
    if (tap != stdout && junit != stdout && json != stdout && html != stdout) {
        FILE *text = colour_open(args->colour, true);

        drill_text(text, suite, device,
                   args->quiet              ? DRILL_QUIET
                   : args->options.keep_log ? DRILL_VERBOSE
                                            : DRILL_NORMAL);
        colour_close(text);
    }
    if (tap)
        drill_tap(tap, suite, args->strict);
    if (junit)
        drill_junit(junit, suite, args->strict);
    if (html && drill_page_write(html, suite, device, args->strict, &error) != 0)
        status = cli_error("drill: %s", error.text);
    if (json) {
        object = drill_json(suite, device);
        if (object && args->shard.count)
            drill_json_shard(
                object, &args->shard, suite,
                (struct drill_report_style){.quiet = args->quiet, .strict = args->strict},
                drill_page_section);
        if (!object || json_dumpf(object, json, JSON_INDENT(2)) != 0)
            status = cli_error("drill: %s: cannot be written", args->json_path);
        fputc('\n', json);
        json_decref(object);
    }
    if ((rc = outfile_close(tap, args->tap_path)) != 0 ||
        (rc = outfile_close(junit, args->junit_path)) != 0 ||
        (rc = outfile_close(json, args->json_path)) != 0 ||
        (rc = outfile_close(html, args->html_path)) != 0)
        status = rc;
    return status;
}

static int write_matrix(const char *path, char **reports, unsigned cnt)
{
    size_t len = strlen(path);
    bool html = len > 5 && strcmp(path + len - 5, ".html") == 0;
    struct error error = {""};
    FILE *out = NULL;
    int status;

    for (unsigned i = 0; i < cnt; i++)
        if (outfile_is_no_input(path, reports[i]) != 0)
            return EXIT_UNUSABLE;
    status = outfile_open(path, &out);
    if (status != 0)
        return status;
    if (matrix_print(out, reports, cnt, html, &error) != 0)
        status = cli_error("drill: %s", error.text);
    return outfile_close(out, path) != 0 ? EXIT_UNUSABLE : status;
}

/* Plays the drills that the operands name, and writes the reports. Returns the exit status. */
static int play_drills(struct drill_args *args, int argc, char **argv)
{
    struct drill_suite suite = {0};
    struct error error = {""};
    int status;

    for (int i = optind; i < argc; i++) {
        char found[4096];

        if (drill_suite_add(&suite,
                            drill_suite_find(argv[i], found, sizeof(found)) ? found : argv[i],
                            &error) != 0) {
            drill_suite_free(&suite);
            return cli_error("drill: %s", error.text);
        }
    }
    if (drill_suite_shard(&suite, &args->shard, &error) != 0)
        status = cli_error("drill: %s", error.text);
    else if (drill_suite_choose(&suite, &args->options, &error) != 0 ||
             begin_live(args, &suite, &error) != 0 ||
             drill_suite_run(&suite, &args->options, &error) != 0)
        status = cli_error("drill: %s", error.text);
    else if (args->options.check_only)
        status = report_check(&suite, args->list);
    else if ((status = write_reports(&suite, args)) == 0)
        status = drill_suite_status(&suite, args->strict);
    if (suite.left && suite.cnt == 0)
        cli_error("drill: %s", suite.stopped.text);
    else if (suite.left)
        cli_error("drill: the run stopped: %s; %zu of %zu cases were not played",
                  suite.stopped.text, suite.left, suite.cnt + suite.left);
    drill_suite_free(&suite);
    return status;
}

int cmd_drill(int argc, char **argv)
{
    struct drill_args args = {.options = {.ops = &device_rnic_ops},
                              .from_options = {.connection = DRILL_FROM_NONE,
                                               .stream = DRILL_FROM_NONE,
                                               .exchange = DRILL_FROM_NONE}};
#ifdef HAVE_LIVE
    args.live.config.patience_ns = DEVICE_LIVE_PATIENCE;
    args.live.config.timeout = DEVICE_LIVE_TIMEOUT;
#endif
    int status = read_options(argc, argv, &args);

    if (status < 0)
        status = args.matrix_path
                     ? write_matrix(args.matrix_path, argv + optind, (unsigned)(argc - optind))
                     : play_drills(&args, argc, argv);
    free(args.device_options);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_opts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "engine/replay.h"
#include "util/cli_opts.h"

static const struct cli_option names[] = {LIVE_OPTION_ROWS(0)};

/* Returns the number in `text`, which must be positive. Otherwise prints an error message and
 * returns -1. */
static double parse_positive(int which, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end != text && *end == '\0' && isfinite(value) && value > 0 && value <= 1e12)
        return value;
    cli_error("replay: --%s %s: not a number greater than 0", names[which].name, text);
    return -1;
}

static int parse_count(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0'
               ? 0
               : -cli_error("replay: --loop %s: not a whole number", text);
}

static int read_cm_end(const char *text, enum live_cm_end *out)
{
    if (strcmp(text, "connect") == 0)
        *out = LIVE_CM_CONNECT;
    else if (strcmp(text, "listen") == 0)
        *out = LIVE_CM_LISTEN;
    else
        return -cli_error("replay: --cm %s: must be connect or listen", text);
    return 0;
}

static int parse_port(const char *text, uint16_t *out)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    *out = (uint16_t)value;
    return *text >= '0' && *text <= '9' && *end == '\0' && value >= 1 && value <= UINT16_MAX
               ? 0
               : -cli_error("replay: --port %s: not a number from 1 to 65535", text);
}

int live_option(struct live_args *args, int which, const char *value)
{
    double number = 0;

    switch (which) {
    case 0: args->options.iface = value; return 0;
    case 1: args->options.target = value; return 0;
    case 2: args->options.agent = value; return 0;
    case 3: args->options.address = value; return 0;
    case 6: args->topspeed = true; return 0;
    case 9: args->looped = true; return parse_count(value, &args->loop);
    case 12: args->options.any_payload = true; return 0;
    case 13: args->load = true; return 0;
    case 14: args->options.really = true; return 0;
    case 10: return read_cm_end(value, &args->options.cm);
    case 11: return parse_port(value, &args->options.port);
    default: number = parse_positive(which, value);
    }
    switch (which) {
    case 4: args->options.tolerance_ns = number < 1e9 ? (uint64_t)(number * 1e6) : 0; break;
    case 5: args->multiplier = number; break;
    case 7: args->pps = number; break;
    default: args->mbps = number;
    }
    return number > 0 ? 0 : -1;
}

int live_options_check(struct live_args *args, unsigned sides)
{
    struct live_options *o = &args->options;
    unsigned rates = (args->pps > 0) + (args->mbps > 0) + args->topspeed + (args->multiplier > 0);
    bool any = o->target || o->agent || o->address || o->tolerance_ns || rates || args->looped ||
               args->load || o->cm || o->port || o->any_payload || o->really;

    if (!o->iface)
        return any ? -cli_error(
                         "replay: options for live targets require --live IFACE (see --help)")
                   : 0;
    if (!o->target)
        return -cli_error("replay: --live requires --target ADDRESS");
    if (args->load + (o->agent != NULL) + (o->cm != LIVE_CM_NONE) != 1)
        return -cli_error("replay: --live requires one of --agent HOST:PORT, --cm END and --load");
    if (rates > 1)
        return -cli_error("replay: use only one of --multiplier, --topspeed, --pps and --mbps");
    if ((rates || args->looped) && !args->load)
        return -cli_error("replay: --multiplier, --topspeed, --pps, --mbps and --loop require "
                          "--load, which compares no packets");
    if (args->load && (o->tolerance_ns || sides))
        return -cli_error("replay: --tolerance and --side cannot be used with --load, because it "
                          "compares no packets");
    if (o->cm && sides)
        return -cli_error("replay: --side cannot be used with --cm, which selects our end");
    if ((o->port || o->any_payload) && !o->cm)
        return -cli_error("replay: --port and --any-payload require --cm");
    if (!args->looped)
        args->loop = 1;
    if (!o->tolerance_ns)
        o->tolerance_ns = UINT64_C(1000000000);
    if (!(args->multiplier > 0))
        args->multiplier = 1;
    return 0;
}

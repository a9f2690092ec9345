/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live_main.h"

#include <math.h>
#include <stdlib.h>
#include "options.h"
#include "replay.h"

static const struct option_row names[] = {LIVE_OPTION_ROWS(0)};

/* A number above 0, or -1 after a complaint. */
static double positive(int which, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end != text && *end == '\0' && isfinite(value) && value > 0 && value <= 1e12)
        return value;
    options_complain("replay: --%s %s: not a number above 0", names[which].name, text);
    return -1;
}

static int count(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0'
               ? 0
               : -options_complain("replay: --loop %s: not a whole number", text);
}

int live_option(struct live_arguments *args, int which, const char *value)
{
    double number = 0;

    switch (which) {
    case 0: args->options.iface = value; return 0;
    case 1: args->options.target = value; return 0;
    case 2: args->options.agent = value; return 0;
    case 3: args->options.address = value; return 0;
    case 6: args->topspeed = true; return 0;
    case 9: args->looped = true; return count(value, &args->loop);
    default: number = positive(which, value);
    }
    switch (which) {
    case 4: args->options.tolerance_ns = number < 1e9 ? (uint64_t)(number * 1e6) : 0; break;
    case 5: args->options.speed = number; break;
    case 7: args->pps = number; break;
    default: args->mbps = number;
    }
    return number > 0 ? 0 : -1;
}

int live_options_check(struct live_arguments *args, unsigned sides)
{
    struct live_options *o = &args->options;
    bool load = args->pps > 0 || args->mbps > 0 || args->looped;
    bool any = o->target || o->agent || o->address || o->tolerance_ns || o->speed > 0 ||
               args->topspeed || load;

    if (!o->iface)
        return any ? -options_complain("replay: this needs --live IFACE (see --help)") : 0;
    if (!o->target)
        return -options_complain("replay: --live needs --target ADDRESS");
    if ((args->pps > 0) + (args->mbps > 0) + args->topspeed + (o->speed > 0) > 1)
        return -options_complain("replay: only one of --multiplier, --topspeed, --pps and --mbps");
    if (load && o->agent)
        return -options_complain("replay: --pps, --mbps and --loop are for load, which is not "
                                 "judged: leave --agent out");
    if (!o->agent && (o->tolerance_ns || sides))
        return -options_complain("replay: without --agent HOST:PORT nothing is judged: leave "
                                 "--tolerance and --side out");
    if (!args->looped)
        args->loop = 1;
    if (!o->tolerance_ns)
        o->tolerance_ns = UINT64_C(1000000000);
    if (!(o->speed > 0) && !args->topspeed)
        o->speed = 1;
    return 0;
}

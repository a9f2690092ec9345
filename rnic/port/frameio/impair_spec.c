/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "port/frameio/impair.h"

#define DELAY_MAX_NS 3600e9 /* one hour */

/* Reads digits with at most one point; false if there are none. No locale, no exponents. */
static bool number(const char **at, double *out)
{
    const char *p = *at;
    double value = 0;
    double place = 1;
    bool any = false;
    bool point = false;

    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point && p[1] >= '0' && p[1] <= '9'); p++) {
        if (*p == '.') {
            point = true;
        } else {
            if (point)
                place /= 10;
            value = point ? value + place * (*p - '0') : value * 10 + (*p - '0');
            any = true;
        }
    }
    *at = p;
    *out = value;
    return any;
}

static bool probability(const char **at, uint32_t *out)
{
    double value;

    if (!number(at, &value))
        return false;
    if (**at == '%') {
        value /= 100;
        (*at)++;
    }
    if (value > 1)
        return false;
    *out = (uint32_t)(value * RNIC_IMPAIR_ONE);
    return true;
}

static bool span(const char **at, uint64_t *out)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double value;

    if (!number(at, &value))
        return false;
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t len = strlen(units[i].name);

        if (strncmp(*at, units[i].name, len) == 0) {
            *at += len;
            if (value * units[i].ns > DELAY_MAX_NS)
                return false;
            *out = (uint64_t)(value * units[i].ns);
            return true;
        }
    }
    return false;
}

static bool range(const char **at, struct rnic_impair_spec *out)
{
    if (!span(at, &out->delay_min))
        return false;
    out->delay_max = out->delay_min;
    if (strncmp(*at, "..", 2) == 0) {
        *at += 2;
        if (!span(at, &out->delay_max))
            return false;
    }
    return out->delay_min <= out->delay_max;
}

static bool direction(const char **at, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned dirs;
    } names[] = {{"out", RNIC_IMPAIR_OUT},
                 {"in", RNIC_IMPAIR_IN},
                 {"both", RNIC_IMPAIR_OUT | RNIC_IMPAIR_IN}};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(*at, names[i].name, strlen(names[i].name)) == 0) {
            *at += strlen(names[i].name);
            *out = names[i].dirs;
            return true;
        }
    return false;
}

/* The keys with a probability, and where it goes. */
static const struct {
    const char *key;
    size_t at;
} chances[] = {
    {"loss=", offsetof(struct rnic_impair_spec, loss)},
    {"dup=", offsetof(struct rnic_impair_spec, dup)},
    {"corrupt=", offsetof(struct rnic_impair_spec, corrupt)},
    {"ecn=", offsetof(struct rnic_impair_spec, ecn)},
    {"reorder=", offsetof(struct rnic_impair_spec, reorder)},
};

/* One item. NULL if it is fine, else what was wanted. */
static const char *item(const char **at, struct rnic_impair_spec *out)
{
    for (unsigned i = 0; i < sizeof(chances) / sizeof(chances[0]); i++)
        if (strncmp(*at, chances[i].key, strlen(chances[i].key)) == 0) {
            *at += strlen(chances[i].key);
            return probability(at, (uint32_t *)((char *)out + chances[i].at))
                       ? NULL
                       : "a percentage of 0% to 100% or a fraction of 0 to 1";
        }
    if (strncmp(*at, "delay=", 6) == 0) {
        *at += 6;
        return range(at, out) ? NULL : "a time or a range as 10us..50us, of at most an hour";
    }
    if (strncmp(*at, "dir=", 4) == 0) {
        *at += 4;
        return direction(at, &out->dirs) ? NULL : "out, in or both";
    }
    return "loss=, dup=, corrupt=, ecn=, reorder=, delay= or dir=";
}

int rnic_impair_parse(const char *text, struct rnic_impair_spec *out, struct error *why)
{
    const char *at = text;

    memset(out, 0, sizeof(*out));
    out->dirs = RNIC_IMPAIR_OUT;
    while (*at) {
        const char *begin = at;
        const char *want = item(&at, out);

        if (!want && *at != ',' && *at != 0) {
            want = "a comma or the end";
            begin = at;
        }
        if (!want && *at == ',' && *++at == 0)
            want = "something after the comma";
        if (want) {
            error_set(why, "impairments \"%s\": at \"%s\": wanted %s", text, begin, want);
            return -EINVAL;
        }
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/points/two_points_data.h"

#include <inttypes.h>
#include "check/check_text.h"
#include "util/json_util.h"
#include "util/strbuf.h"

#define DIRECTIONS_LISTED 64u /* maximum number of directions in the text */
#define LINE_LEN          512

/* If `cnt` is not 0, prints this number of packets that were not compared: the capture at `point`
 * began after them or ended before them. */
static void print_outside(FILE *out, uint64_t cnt, char point)
{
    if (cnt)
        fprintf(out,
                "     not compared: %" PRIu64
                " packet%s captured before the first or after the last frame of capture %c\n",
                cnt, cnt == 1 ? "" : "s", point);
}

static void print_direction(FILE *out, const struct two_points *all, uint32_t dir)
{
    const struct point_result r = all->dir[dir].result;
    const bool from_b = all->dir[dir].from_b;
    const char first = from_b ? 'b' : 'a', second = from_b ? 'a' : 'b';
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, all->dir[dir].addrs.src);
    strbuf_addf(&t, " → ");
    strbuf_add_addr(&t, all->dir[dir].addrs.dst);
    fprintf(out, "  %s: %" PRIu64 " packet%s at %c, %" PRIu64 " at %c\n", buf, r.packets[0],
            r.packets[0] == 1 ? "" : "s", first, r.packets[1], second);
    t = strbuf_of(buf, sizeof(buf));
    strbuf_addf(&t,
                "%" PRIu64 " lost, %" PRIu64 " damaged, %" PRIu64 " reordered between %c and %c",
                r.lost, r.damaged, r.reordered, first, second);
    if (r.timed) {
        strbuf_addf(&t, "; delay min ");
        strbuf_add_duration(&t, r.delay.min);
        strbuf_addf(&t, ", median ");
        strbuf_add_duration(&t, r.delay.median);
        strbuf_addf(&t, ", max ");
        strbuf_add_duration(&t, r.delay.max);
    }
    fprintf(out, "     %s\n", buf);
    fprintf(out, "     %" PRIu64 " lost before %c, %" PRIu64 " lost or late after %c\n",
            all->dir[dir].losses[from_b].before, first, r.behind, second);
    if (r.lost + r.missed) {
        const uint64_t cnt = r.lost + r.missed;

        fprintf(out, "     %s: frame%s",
                !r.missed ? "lost between"
                : r.lost  ? "lost or not captured"
                          : "not captured",
                cnt == 1 ? "" : "s");
        for (uint64_t i = 0; i < cnt && i < FRAMES_LISTED; i++)
            fprintf(out, "%s%u", i ? ", " : " ", r.frame[i]);
        fprintf(out, "%s of %c\n", cnt > FRAMES_LISTED ? ", ..." : "", first);
    }
    if (r.packets[0] == 0 || (r.packets[1] == 0 && r.lost == 0))
        fprintf(out, "     the capture at %c lacks this direction\n",
                r.packets[0] == 0 ? first : second);
    else if (r.missed)
        fprintf(out,
                "     not captured at %c: %" PRIu64 " packet%s, which the receiver acknowledged\n",
                second, r.missed, r.missed == 1 ? "" : "s");
    if (r.only_second)
        fprintf(out, "     only at %c: %" PRIu64 " packet%s, which %c did not capture\n", second,
                r.only_second, r.only_second == 1 ? "" : "s", first);
    print_outside(out, r.outside, second);
    print_outside(out, r.outside_first, first);
}

static void print_clocks(FILE *out, const struct two_points *all)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const bool later = all->ahead >= 0;

    strbuf_addf(&t, "the clock of b is ");
    strbuf_add_duration(&t, (uint64_t)(later ? all->ahead : -all->ahead));
    strbuf_addf(&t, later ? " ahead of a" : " behind a");
    if (!all->both_ways) {
        strbuf_addf(&t, ", if the fastest packet had no delay: only one direction is in both "
                        "captures, so each delay is relative to that of the fastest packet");
    } else if (all->spread >= 0) {
        strbuf_addf(&t, ", accuracy ± ");
        strbuf_add_duration(&t, (uint64_t)all->spread);
    } else {
        strbuf_addf(&t, ", accuracy ± ");
        strbuf_add_duration(&t, (uint64_t)-all->spread);
        strbuf_addf(&t, ": packets seem to arrive up to this much before they were sent, so the "
                        "clocks drift or a capture has late time stamps");
    }
    fprintf(out, "  %s\n", buf);
}

/* Returns whether the comparison found nothing in a direction: all packets are in both captures,
 * undamaged and in the same order. */
static bool is_quiet(const struct point_result *r)
{
    return r->lost + r->missed + r->damaged + r->reordered + r->only_second == 0;
}

void two_points_print(FILE *out, const struct two_points *all, const char *const name[2])
{
    uint32_t shown = 0, cnt = 0;

    for (uint32_t i = 0; i < all->index.cnt; i++)
        cnt += !all->dir[i].emptied;
    fprintf(out, "\ncomparison of a = ");
    put_escaped(out, name[0]);
    fprintf(out, " and b = ");
    put_escaped(out, name[1]);
    fprintf(out, ":\n");
    print_clocks(out, all);
    for (unsigned quiet = 0; quiet < 2; quiet++)
        for (uint32_t i = 0; i < all->index.cnt && shown < DIRECTIONS_LISTED; i++)
            if (is_quiet(&all->dir[i].result) == quiet && !all->dir[i].emptied) {
                print_direction(out, all, i);
                shown++;
            }
    if (shown < cnt)
        fprintf(out, "  ... and %u more directions (--json lists all)\n", cnt - shown);
}

/* ---- the JSON report ---------------------------------------------------------------------------
 */

static json_t *delay_json(const struct point_result *r)
{
    json_t *o;

    if (!r->timed)
        return json_null();
    o = json_object();
    json_object_set_new(o, "min", json_integer((json_int_t)r->delay.min));
    json_object_set_new(o, "median", json_integer((json_int_t)r->delay.median));
    json_object_set_new(o, "max", json_integer((json_int_t)r->delay.max));
    return o;
}

static json_t *direction_json(const struct two_points *all, uint32_t dir)
{
    const struct point_result r = all->dir[dir].result;
    const bool from_b = all->dir[dir].from_b;
    const struct {
        const char *key;
        uint64_t v;
    } counts[] = {
        {"packets_first", r.packets[0]},
        {"packets_second", r.packets[1]},
        {"lost", r.lost},
        {"damaged", r.damaged},
        {"reordered", r.reordered},
        {"lost_before", all->dir[dir].losses[from_b].before},
        {"lost_behind", r.behind},
        {"only_second", r.only_second},
        {"not_captured", r.missed},
        {"not_compared", r.outside + r.outside_first},
    };
    json_t *o = json_object(), *frames = json_array();

    json_object_set_new(o, "from", json_addr(all->dir[dir].addrs.src));
    json_object_set_new(o, "to", json_addr(all->dir[dir].addrs.dst));
    json_object_set_new(o, "first", json_string(from_b ? "b" : "a"));
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_object_set_new(o, counts[i].key, json_integer((json_int_t)counts[i].v));
    json_object_set_new(o, "delay_ns", delay_json(&r));
    for (uint64_t i = 0; i < r.lost + r.missed && i < FRAMES_LISTED; i++)
        json_array_append_new(frames, json_integer(r.frame[i]));
    json_object_set_new(o, "lost_frames", frames);
    return o;
}

int two_points_json(FILE *out, const struct two_points *all, const char *const name[2])
{
    const int64_t accuracy = all->spread < 0 ? -all->spread : all->spread;
    json_t *o = json_object(), *dirs = json_array();
    int rc;

    json_object_set_new(o, "type", json_string("comparison"));
    json_object_set_new(o, "a", json_lossy_string(name[0]));
    json_object_set_new(o, "b", json_lossy_string(name[1]));
    json_object_set_new(o, "clock_ahead_ns", json_integer((json_int_t)all->ahead));
    json_object_set_new(o, "clock_accuracy_ns",
                        all->both_ways ? json_integer((json_int_t)accuracy) : json_null());
    json_object_set_new(o, "clocks_contradict", json_boolean(all->spread < 0));
    for (uint32_t i = 0; i < all->index.cnt; i++)
        if (!all->dir[i].emptied)
            json_array_append_new(dirs, direction_json(all, i));
    json_object_set_new(o, "directions", dirs);
    rc = json_dumpf(o, out, JSON_COMPACT);
    json_decref(o);
    return rc == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/from_drill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "device/rnic.h"
#include "drill/device/device_rnic.h"
#include "drill/parser.h"

#define STEP_NS 1000u /* time between two lines of the drill, ns */
#define WAIT_S  60u   /* longest wait for a timer of the device, s */

int from_fail(struct from_drill *d, const char *reason)
{
    return error_set(d->error, "%s: %s%scannot become a drill: %s", d->capture, d->what,
                     *d->what ? " " : "", reason);
}

/* ---- adding lines ---------------------------------------------------------------------------- */

FILE *from_head(struct from_drill *d)
{
    d->out = open_memstream(&d->head, &d->head_len);
    return d->out;
}

void from_head_end(struct from_drill *d)
{
    fclose(d->out);
    d->out = NULL;
}

FILE *from_line(struct from_drill *d)
{
    d->text = NULL;
    d->out = open_memstream(&d->text, &d->text_len);
    return d->out;
}

static struct from_step *add_step(struct from_drill *d)
{
    if (!VEC_GROW(d->step, d->step_cnt, d->step_cap)) {
        from_fail(d, "no memory");
        return NULL;
    }
    d->step[d->step_cnt] = (struct from_step){.text = NULL};
    return &d->step[d->step_cnt++];
}

int from_line_end(struct from_drill *d, uint32_t frame, struct from_meaning meaning)
{
    struct from_step *step = add_step(d);

    fclose(d->out);
    d->out = NULL;
    if (!step) {
        free(d->text);
        return -1;
    }
    step->text = d->text;
    step->frame = frame;
    step->meaning = meaning;
    step->meaning.verb = *d->text != '<';
    d->text = NULL;
    return 0;
}

int from_wait(struct from_drill *d, char unit, uint64_t least_ns)
{
    struct from_step *step = add_step(d);

    if (!step)
        return -1;
    step->unit = unit;
    step->least_ns = least_ns;
    return 0;
}

char from_qp_name(unsigned qp)
{
    return (char)('A' + qp);
}

int from_region_of(const struct from_drill *d, uint32_t host, uint32_t rkey)
{
    for (unsigned i = 0; i < d->region_cnt; i++)
        if (d->region[i].host == host && d->region[i].rkey == rkey)
            return (int)i;
    return -1;
}

int from_region_add(struct from_drill *d, uint32_t rkey, uint64_t va, uint64_t len)
{
    int at = from_region_of(d, 0, rkey);
    struct from_region *r;
    uint64_t low, high;

    if (len > UINT64_MAX - va)
        return 0;
    if (at < 0) {
        if (d->region_cnt == FROM_REGIONS_MAX)
            return from_fail(d, "the requests use too many memory keys");
        d->region[d->region_cnt++] = (struct from_region){.rkey = rkey, .low = va, .span = len};
        return 0;
    }
    r = &d->region[at];
    low = va < r->low ? va : r->low;
    high = va + len > r->low + r->span ? va + len : r->low + r->span;
    if (high - low <= FROM_REGION_MAX) {
        r->low = low;
        r->span = high - low;
    }
    return 0;
}

void from_print_opcode(FILE *out, const struct roce_opcode *op)
{
    if (op->kind == ROCE_KIND_RESERVED)
        fprintf(out, "opcode 0x%02x", op->value);
    else
        fputs(packet_text_opcode(op->value), out);
}

void from_print_access(FILE *out, unsigned access)
{
    static const struct {
        unsigned bit;
        const char *word;
    } words[] = {{RNIC_ACCESS_REMOTE_WRITE, "write"},
                 {RNIC_ACCESS_REMOTE_READ, "read"},
                 {RNIC_ACCESS_REMOTE_ATOMIC, "atomic"},
                 {RNIC_ACCESS_FLUSH_GLOBAL, "flush-global"},
                 {RNIC_ACCESS_FLUSH_PERSISTENT, "flush-persistent"}};
    const char *mark = " access ";

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (access & words[i].bit) {
            fprintf(out, "%s%s", mark, words[i].word);
            mark = ",";
        }
    if (*mark == ' ')
        fputs(" access none", out);
}

void from_print_place(const struct from_drill *d, FILE *out, const char *word, char prefix,
                      uint32_t host, uint64_t va, uint32_t rkey, const char *key_word)
{
    int at = from_region_of(d, host, rkey);

    if (at < 0)
        fprintf(out, " %s 0x%" PRIx64 " %s 0x%x", word, va, key_word, rkey);
    else if (va >= d->region[at].low)
        fprintf(out, " %s %c%d+%" PRIu64, word, prefix, at, va - d->region[at].low);
    else
        fprintf(out, " %s 0x%" PRIx64 " %s %c%d", word, va, key_word, prefix, at);
}

/* ---- playing the lines ----------------------------------------------------------------------- */

/* State of from_drill_write(). */
struct writer {
    struct from_drill *d;
    FILE *out; /* memory stream that collects the text of the drill */
    char *text;
    size_t len;
    size_t rows;   /* number of rows of the drill's log that were already written as lines */
    uint64_t time; /* time of the latest line, ns since the start of the drill */
};

/* Plays the text of a drill. Returns 0, or -1 and an error if the text cannot be parsed. */
static int play_text(struct from_drill *d, const char *text, struct script *script,
                     struct drill_result *result)
{
    struct error problem = {""};

    memset(result, 0, sizeof(*result));
    if (script_parse(script, "drill", text, strlen(text), 0, &problem) != 0)
        return from_fail(d, problem.text);
    drill_run(script, &device_rnic_ops, NULL, NULL, result);
    return 0;
}

static void print_step(const struct from_step *step, FILE *out)
{
    fprintf(out, "%-*s %s", step->meaning.verb ? 11 : 9, "+1us", step->text);
    expected_lines_end(out, step->frame);
}

/* Prints a duration in the largest unit that shows it exactly, as "+10240us". */
static void print_duration(char *buf, size_t cap, uint64_t ns)
{
    if (ns % 1000000 == 0)
        snprintf(buf, cap, "+%" PRIu64 "ms", ns / 1000000);
    else if (ns % 1000 == 0)
        snprintf(buf, cap, "+%" PRIu64 "us", ns / 1000);
    else
        snprintf(buf, cap, "+%" PRIu64 "ns", ns);
}

/* Writes a line for each row of the log before time `end`. If a row is STEP_NS or more after the
 * previous line, a timer of the device caused the row. `wait`: step that waits for this timer;
 * NULL: no step waits for a timer. */
static void write_rows(struct writer *w, const struct drill_result *result, uint64_t end,
                       const struct from_step *wait)
{
    for (; w->rows < result->log_cnt && result->log[w->rows].time < end; w->rows++) {
        const struct drill_log_row *row = &result->log[w->rows];
        uint64_t after = row->time > w->time ? row->time - w->time : 0;
        char time[80] = "+0~+50ms", low[32], high[32];

        if (after >= STEP_NS && wait && wait->unit && after >= wait->least_ns) {
            snprintf(time, sizeof(time), "+%c~+4%c", wait->unit, wait->unit);
        } else if (after >= STEP_NS) {
            print_duration(low, sizeof(low), after);
            print_duration(high, sizeof(high), 4 * (after / STEP_NS) * STEP_NS);
            snprintf(time, sizeof(time), "%s~%s", low, high);
        }
        if (expected_lines_add(&w->d->lines, row, time, w->out))
            w->time += after >= STEP_NS ? after : 0;
    }
}

/* Removes the rows without a frame or event, which show that a line such as "check" was fulfilled.
 * Lines that are written later would add further rows of this kind and change the number of earlier
 * rows. */
static void remove_held_rows(struct drill_result *result)
{
    size_t cnt = 0;

    for (size_t i = 0; i < result->log_cnt; i++)
        if (result->log[i].held)
            free(result->log[i].text);
        else
            result->log[cnt++] = result->log[i];
    result->log_cnt = cnt;
}

/* Plays the text written so far, followed by `line`. Returns 0, or -1 and an error. */
static int play_so_far(struct writer *w, const char *line, struct script *script,
                       struct drill_result *result)
{
    size_t line_len = strlen(line);
    char *text;
    int rc;

    fflush(w->out);
    text = malloc(w->len + line_len + 1);
    if (!text)
        return from_fail(w->d, "no memory");
    memcpy(text, w->text, w->len);
    memcpy(text + w->len, line, line_len + 1);
    rc = play_text(w->d, text, script, result);
    if (rc == 0)
        remove_held_rows(result);
    w->d->lines.script = script;
    free(text);
    return rc;
}

/* Plays the drill until the device sends a frame, at most WAIT_S more. Writes a line for each new
 * row of the log. Returns 0, or -1 and an error. */
static int write_wait(struct writer *w, const struct from_step *step)
{
    struct drill_result result;
    struct script script = {0};
    char line[40];
    int rc;

    snprintf(line, sizeof(line), "+%us > nothing\n", WAIT_S);
    rc = play_so_far(w, line, &script, &result);
    if (rc == 0)
        write_rows(w, &result, UINT64_MAX, step);
    /* Do not count the last row if it only explains why this run of the drill ended: a run with
     * further lines does not log this row. */
    if (rc == 0 && w->rows && result.log[w->rows - 1].line != 0 && !result.log[w->rows - 1].frame)
        w->rows--;
    drill_result_free(&result);
    script_free(&script);
    return rc;
}

/* Writes the steps `first` to `end` - 1, none of which is a wait. After each step, writes the lines
 * that expect its effects. Returns 0, or -1 and an error. */
static int write_segment(struct writer *w, size_t first, size_t end)
{
    struct drill_result result;
    struct script script = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    uint64_t start = w->time;
    int rc;

    if (!out)
        return from_fail(w->d, "no memory");
    for (size_t i = first; i < end; i++)
        print_step(&w->d->step[i], out);
    fclose(out);
    rc = play_so_far(w, text, &script, &result);
    for (size_t i = first; rc == 0 && i < end; i++) {
        print_step(&w->d->step[i], w->out);
        w->d->lines.meaning = &w->d->step[i].meaning;
        w->time = start + (i - first + 1) * STEP_NS;
        write_rows(w, &result, i + 1 < end ? w->time + STEP_NS : UINT64_MAX, NULL);
    }
    drill_result_free(&result);
    script_free(&script);
    free(text);
    return rc;
}

/* Plays the finished drill, which must pass. Returns 0, or -1 and an error. */
static int check_text(struct from_drill *d, const char *text)
{
    struct drill_result result;
    struct script script = {0};
    int rc = play_text(d, text, &script, &result);

    if (rc == 0 && result.verdict != DRILL_PASS) {
        struct error problem = {""};

        error_set(&problem, "line %u: %s", result.line, result.problem);
        rc = from_fail(d, problem.text);
    }
    drill_result_free(&result);
    script_free(&script);
    return rc;
}

int from_drill_write(struct from_drill *d, FILE *out)
{
    struct writer w = {.d = d};
    size_t first = 0;
    int rc = 0;

    w.out = open_memstream(&w.text, &w.len);
    if (!w.out)
        return from_fail(d, "no memory");
    fprintf(w.out, "%s\n", d->head);
    while (rc == 0 && first < d->step_cnt) {
        size_t end = first;

        while (end < d->step_cnt && d->step[end].text)
            end++;
        if (end > first)
            rc = write_segment(&w, first, end);
        if (rc == 0 && end < d->step_cnt)
            rc = write_wait(&w, &d->step[end++]);
        first = end;
    }
    fclose(w.out);
    if (rc == 0)
        rc = check_text(d, w.text);
    if (rc == 0)
        fputs(w.text, out);
    free(w.text);
    return rc;
}

void from_drill_free(struct from_drill *d)
{
    for (size_t i = 0; i < d->step_cnt; i++)
        free(d->step[i].text);
    free(d->step);
    free(d->head);
    free(d->lines.recorded);
    free(d->lines.posted);
    memset(d, 0, sizeof(*d));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flow/base/summary.h"
#include "wire/codes.h"
#include "wire/opcode.h"

/* Appends a string. A hostile capture can have findings for all packets, and vsnprintf() of
 * add_text() costs ten times as much. */
static void add_string(char *buf, size_t cap, size_t *len, const char *text)
{
    size_t room = *len < cap ? cap - *len : 0, cnt = strlen(text);

    if (room < 2)
        return;
    if (cnt > room - 1)
        cnt = room - 1;
    memcpy(buf + *len, text, cnt);
    *len += cnt;
    buf[*len] = 0;
}

static void add_text(char *buf, size_t cap, size_t *len, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void add_text(char *buf, size_t cap, size_t *len, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (*len + 1 >= cap)
        return;
    va_start(ap, fmt);
    n = vsnprintf(buf + *len, cap - *len, fmt, ap);
    va_end(ap);
    if (n > 0)
        *len = *len + (size_t)n < cap ? *len + (size_t)n : cap - 1;
}

static void add_value(char *buf, size_t cap, size_t *len, enum roce_value value, uint64_t v)
{
    char text[96];

    switch (value) {
    case ROCE_VALUE_HEX: add_text(buf, cap, len, "0x%llx", (unsigned long long)v); break;
    case ROCE_VALUE_OPCODE: add_string(buf, cap, len, roce_opcode((uint8_t)v)->name); break;
    case ROCE_VALUE_SERVICE: add_string(buf, cap, len, roce_svc_name((enum roce_svc)v)); break;
    case ROCE_VALUE_SYNDROME:
        add_text(buf, cap, len, "0x%02llx (%s)", (unsigned long long)v,
                 roce_syndrome_text((uint8_t)v, text, sizeof(text)));
        break;
    case ROCE_VALUE_NS:
        if (v < 1000000)
            add_text(buf, cap, len, "%.3f us", (double)v / 1e3);
        else
            add_text(buf, cap, len, "%.3f ms", (double)v / 1e6);
        break;
    case ROCE_VALUE_DEC:
    case ROCE_VALUE_NONE: add_text(buf, cap, len, "%llu", (unsigned long long)v); break;
    }
}

/* Texts about the loss before a timeout. */
static const char *const losses[] = {
    [ROCE_LOSS_UNKNOWN] = "",
    [ROCE_LOSS_ACKED] = "; its response was captured, so it was lost or late after the capture "
                        "point",
    [ROCE_LOSS_MISSING] = "; the packet was lost before the capture point, and no sequence NAK for "
                          "it reached the requester",
    [ROCE_LOSS_RELOST] = "; the retransmission after the sequence NAK, or the response to it, was "
                         "lost too, so only the timeout repeats it",
    [ROCE_LOSS_UNANSWERED] = "; the request or its response was lost after the capture point, or "
                             "the responder was slow",
    [ROCE_LOSS_UNFINISHED] = "; the end of the message was lost before the capture point, or the "
                             "requester first waited for an ACK",
    [ROCE_LOSS_UNASKED] = "; no outstanding request asked for an acknowledgement (AckReq), so the "
                          "responder need not respond",
    [ROCE_LOSS_UNHEEDED] = "; a sequence NAK for it was captured, but was lost after the capture "
                           "point, or ignored",
};

const char *roce_finding_text(const struct roce_finding *f, char *buf, size_t cap)
{
    static const char *const relations[] = {"", "not ", "at least ", "at most "};
    size_t len = 0;

    if (cap == 0)
        return buf;
    buf[0] = 0;
    if (f->value != ROCE_VALUE_NONE) {
        add_string(buf, cap, &len, f->field);
        add_string(buf, cap, &len, ": expected ");
        add_string(buf, cap, &len, relations[f->relation]);
        add_value(buf, cap, &len, f->value, f->expected);
        add_string(buf, cap, &len, ", found ");
        add_value(buf, cap, &len, f->value, f->actual);
        add_string(buf, cap, &len, "; ");
    } else {
        if (f->field[0]) {
            add_string(buf, cap, &len, f->field);
            add_string(buf, cap, &len, ": ");
        }
        /* A finding without values prints "rule violated" before the text of the rule. The text
         * alone would read as if the packet met the requirement. */
        if (roce_rule_is_norm(roce_rule_info(f->rule)))
            add_string(buf, cap, &len, "rule violated: ");
    }
    add_string(buf, cap, &len, roce_rule_info(f->rule)->text);
    if (f->loss < sizeof(losses) / sizeof(losses[0]))
        add_string(buf, cap, &len, losses[f->loss]);
    if (f->other_frame)
        add_text(buf, cap, &len, " (see frame %u)", f->other_frame);
    if (f->known)
        add_text(buf, cap, &len, " [known deviation %s]", f->known);
    return buf;
}

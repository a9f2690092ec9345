/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Field diff: compares a recorded response with a response of our RNIC, field by field. Only
 * fields that the specification prescribes are compared.
 */
#ifndef REPLAY_ENGINE_BASE_FIELD_DIFF_H
#define REPLAY_ENGINE_BASE_FIELD_DIFF_H

#include "engine/base/diff.h"
#include "infer/session.h"

#define FIELD_DIFFS_MAX 12 /* maximum number of differences of a packet */

#define FIELD_DIFF_FORM "form"

/* Form in which the two values of a difference are stored. */
enum field_form { FIELD_TEXT, FIELD_NUMBER, FIELD_HEX, FIELD_OPCODE, FIELD_SYNDROME, FIELD_BYTE };

/* One difference: the recorded value, and the value of our RNIC. Numbers are converted to text only
 * for a report, because most differences are never printed: a recorded response is compared with
 * several responses of our RNIC to find the most similar one. */
struct field_diff {
    const char *field; /* name of the field, such as "aeth.msn" */
    enum field_form form;
    union {
        uint64_t number[2]; /* the two values, for any form except FIELD_TEXT. FIELD_BYTE: offset
                             * of the byte << 8 | value of the byte */
        char text[2][96];   /* the two values, for form FIELD_TEXT */
    };
};

struct field_diffs {
    struct field_diff at[FIELD_DIFFS_MAX];
    unsigned cnt;
    bool payload;         /* true if the payloads differ */
    uint32_t payload_off; /* offset of the first differing payload byte */
};

/* Removes all differences. Leaves the array `at` unset: a comparison seldom finds a difference, and
 * clearing all 2.5 KB of *d would slow every comparison. */
static inline void field_diffs_clear(struct field_diffs *d)
{
    d->cnt = 0;
    d->payload = false;
    d->payload_off = 0;
}

/* Copies the differences of *from to *to. */
void field_diffs_copy(struct field_diffs *to, const struct field_diffs *from);

/* Sets *d to all differences between two responses. `read_first_msn` shows whether the
 * recorded responder counts a READ before or after its response First (infer/packet_log.h). */
void field_diff_compare(const struct trace_packet *p, const struct tx_response *ours,
                        int8_t read_first_msn, struct field_diffs *d);

/* Returns the difference in `field`, or NULL if the values of the field are equal. */
const struct field_diff *field_diff_find(const struct field_diffs *d, const char *field);

/* Sets the members field, recorded, replayed, number and reason of *out. */
void field_diff_report(const struct field_diff *at, const char *reason, struct diff *out);

/* Adds a difference in `field` to *d, with both values as text. */
void field_diff_add(struct field_diffs *d, const char *field, const char *recorded,
                    const char *replayed);
/* Adds the difference "form": the headers or the payload are malformed, although the ICRC is
 * correct. */
void field_diff_add_form(struct field_diffs *d, const struct trace_packet *p);
/* Add a difference to *d, unless both values are equal. `form` is not FIELD_TEXT. */
void field_diff_add_opcode(struct field_diffs *d, uint8_t recorded, uint8_t replayed);
void field_diff_add_num(struct field_diffs *d, const char *field, enum field_form form,
                        uint64_t recorded, uint64_t replayed);

#endif

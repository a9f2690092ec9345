/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Field diff: compares a recorded response with a response of our RNIC, field by field. Only
 * fields that the specification prescribes are compared.
 */
#ifndef REPLAY_ENGINE_FIELD_DIFF_H
#define REPLAY_ENGINE_FIELD_DIFF_H

#include "engine/rc_responder.h"

#define FIELD_DIFFS_MAX 12

#define FIELD_DIFF_FORM "form"

struct field_diff {
    const char *field; /* name of the field, such as "aeth.msn" */
    char recorded[96];
    char replayed[96];
};

struct field_diffs {
    struct field_diff at[FIELD_DIFFS_MAX];
    unsigned cnt;
    bool payload;         /* true if the payloads differ */
    uint32_t payload_off; /* offset of the first differing payload byte */
};

/* Sets *d to all differences between two responses. `read_first_msn` is the member of struct
 * inferred_setup. */
void field_diff_compare(const struct trace_packet *p, const struct tx_response *ours,
                        int8_t read_first_msn, struct field_diffs *d);

/* Returns the difference in `field`, or NULL if the field has none. */
const struct field_diff *field_diff_find(const struct field_diffs *d, const char *field);

/* Adds a difference to *d. */
void field_diff_add(struct field_diffs *d, const char *field, const char *recorded,
                    const char *replayed);
/* Adds the difference "form": the packet's form is invalid although its ICRC is correct. */
void field_diff_add_form(struct field_diffs *d, const struct trace_packet *p);
/* Add a difference to *d, unless both values are equal. `fmt` contains "%x" or "%u". */
void field_diff_add_opcode(struct field_diffs *d, uint8_t recorded, uint8_t replayed);
void field_diff_add_num(struct field_diffs *d, const char *field, const char *fmt,
                        uint64_t recorded, uint64_t replayed);

#endif

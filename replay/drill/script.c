/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "util/strbuf.h"

const struct script_field *script_packet_field(const struct script_packet *packet,
                                               enum roce_hdr hdr, const char *name)
{
    for (unsigned i = 0; i < packet->field_cnt; i++)
        if (packet->field[i].hdr == hdr && strcmp(packet->field[i].field->name, name) == 0)
            return &packet->field[i];
    return NULL;
}

static void options_free(struct script_options *options)
{
    free(options->fill.data);
}

void script_free(struct script *script)
{
    for (int i = 0; i < script->object_cnt; i++)
        options_free(&script->object[i].options);
    for (size_t i = 0; i < script->event_cnt; i++) {
        struct script_event *event = &script->event[i];

        options_free(&event->options);
        if (event->packet)
            free(event->packet->fill.data);
        free(event->packet);
    }
    free(script->event);
    free(script->step);
    free(script->purpose);
    free(script->line);
    free(script->text);
    free(script->path);
    memset(script, 0, sizeof(*script));
}

unsigned script_combinations(const struct script *script)
{
    unsigned cnt = 1;

    for (unsigned i = 0; i < script->variant_cnt; i++)
        cnt *= script->variant[i].cnt;
    return cnt;
}

uint64_t script_variant_value(const struct script *script, const char *name, uint64_t fallback)
{
    for (unsigned i = 0; i < script->variant_cnt; i++)
        if (strcmp(script->variant[i].name, name) == 0)
            return script->variant[i].value[script->variant[i].chosen];
    return fallback;
}

void script_variant_text(const struct script *script, char *buf, size_t cap)
{
    struct strbuf t = strbuf_of(buf, cap);

    for (unsigned i = 0; i < script->variant_cnt; i++)
        strbuf_addf(&t, "%s%s=%" PRIu64, i ? " " : "", script->variant[i].name,
                    script->variant[i].value[script->variant[i].chosen]);
}

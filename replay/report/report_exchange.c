/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report_exchange.h"

#include <inttypes.h>
#include <string.h>
#include "engine/diff_rule.h"
#include "report/report_requester.h"
#include "util/json_util.h"
#include "util/strbuf.h"

static const char *const role_names[] = {[CM_ACTIVE] = "active", [CM_PASSIVE] = "passive"};

static void print_end(FILE *out, const struct cm_exchange_end *end, unsigned role)
{
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    if (!report_exchange_is_played(end))
        return;
    if (end->verdict == VERDICT_SKIPPED) {
        fprintf(out, "  %-9s SKIPPED: %s\n", role_names[role], end->skip);
        return;
    }
    fprintf(out, "  %-9s %s: %u message%s compared", role_names[role], verdict_name(end->verdict),
            end->compared, end->compared == 1 ? "" : "s");
    if (end->diff_cnt)
        fprintf(out, ", %u differ%s", end->diff_cnt, end->diff_cnt == 1 ? "s" : "");
    report_count(&t, &sep, end->lost, "that the endpoint cannot have received");
    report_count(&t, &sep, end->only_ours, "that only our CM sent");
    report_count(&t, &sep, end->optional, "optional, not compared");
    if (t.len)
        fprintf(out, " (ignored: %s)", buf);
    if (end->stopped)
        fprintf(out, "; ended early: %s", end->stopped);
    fputc('\n', out);
}

bool report_exchange_is_played(const struct cm_exchange_end *end)
{
    return end->verdict != VERDICT_SKIPPED || end->skip;
}

void report_exchange_text(FILE *out, const struct cm_exchanges *xs, uint32_t idx)
{
    const struct cm_exchange *x = &xs->at[idx];
    char buf[160];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, x->addr[CM_ACTIVE]);
    strbuf_addf(&t, " → ");
    strbuf_add_addr(&t, x->addr[CM_PASSIVE]);
    fprintf(out, "exchange %u: %s, %s, service 0x%016" PRIx64 ", frames %u..%u\n", idx + 1, buf,
            x->sidr ? "SIDR" : "connection", x->service_id, xs->trace->pkt[x->pkt[0]].frame,
            xs->trace->pkt[x->pkt[x->cnt - 1]].frame);
    for (unsigned role = 0; role < 2; role++)
        print_end(out, &x->end[role], role);
    for (size_t i = 0; i < xs->diff_cnt; i++) {
        const struct diff *d = &xs->diff[i];

        if (d->dir == idx)
            report_diff(out, xs->trace, d, diff_rule_exchange(xs, d),
                        d->request == CM_ACTIVE ? " (active end)" : " (passive end)");
    }
}

static json_t *end_json(const struct cm_exchanges *xs, const struct cm_exchange *x, unsigned role)
{
    const struct cm_exchange_end *end = &x->end[role];
    json_t *out = json_pack(
        "{s:s, s:s, s:o, s:o, s:i, s:I, s:i, s:i, s:i, s:s}", "as", role_names[role], "service",
        x->sidr ? "SIDR" : "CM", "address", json_addr(x->addr[role]), "peer",
        json_addr(x->addr[!role]), "qpn", 1, "service_id", (json_int_t)x->service_id, "messages",
        (int)x->cnt, "first_frame", (int)xs->trace->pkt[x->pkt[0]].frame, "last_frame",
        (int)xs->trace->pkt[x->pkt[x->cnt - 1]].frame, "verdict", verdict_name(end->verdict));

    if (!out)
        return NULL;
    if (end->verdict == VERDICT_SKIPPED) {
        json_object_set_new(out, "reason", json_string(end->skip));
        return out;
    }
    json_object_set_new(out, "counts",
                        json_pack("{s:i, s:i, s:i, s:i, s:i}", "compared", (int)end->compared,
                                  "differing_messages", (int)end->diff_cnt, "lost", (int)end->lost,
                                  "only_ours", (int)end->only_ours, "not_compared",
                                  (int)end->optional));
    if (end->stopped)
        json_object_set_new(out, "stopped", json_string(end->stopped));
    return out;
}

void report_exchange_json(json_t *out, json_t *diffs, const struct cm_exchanges *xs)
{
    for (uint32_t i = 0; i < xs->cnt; i++)
        for (unsigned role = 0; role < 2; role++) {
            if (!report_exchange_is_played(&xs->at[i].end[role]))
                continue;
            json_array_append_new(out, end_json(xs, &xs->at[i], role));
            for (size_t k = 0; k < xs->diff_cnt; k++) {
                const struct diff *d = &xs->diff[k];

                if (d->dir == i && d->request == role)
                    json_array_append_new(
                        diffs, json_pack("{s:i, s:s, s:i, s:s, s:s, s:s, s:s, s:s*}", "exchange",
                                         (int)json_array_size(out), "as", role_names[role], "frame",
                                         (int)xs->trace->pkt[d->pkt].frame, "field", d->field,
                                         "recorded", d->recorded, "replayed", d->replayed, "reason",
                                         d->reason, "rule", diff_rule_exchange(xs, d)));
            }
        }
}

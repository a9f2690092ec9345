/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "drill/suite_run.h"
#include "sim/sim_pcap.h"

/* Converts the name of a case to a file name without slashes, blanks and "=". */
static void file_name(const struct drill_case *c, char *buf, size_t cap)
{
    snprintf(buf, cap, "%.*s%s%s.pcapng", (int)c->name_len, c->name, *c->variant ? "-" : "",
             c->variant);
    for (char *at = buf; *at; at++)
        if (*at == '/' || *at == ' ')
            *at = '-';
}

int drill_record(struct drill_case *c, const char *folder, struct error *error)
{
    char name[400], path[4500], note[600];
    struct sim_pcap pcap;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_set(error, "%s: %s", folder, strerror(errno));
    file_name(c, name, sizeof(name));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (sim_pcap_open(&pcap, path, error) != 0)
        return -1;
    for (size_t i = 0; i < c->result.log_cnt; i++) {
        const struct drill_log_row *row = &c->result.log[i];

        if (!row->frame)
            continue;
        if (row->mark == DRILL_MARK_DIFF && row->line)
            snprintf(note, sizeof(note), "%.*s.drill:%u: %s", (int)c->name_len, c->name, row->line,
                     c->result.problem);
        else if (row->mark == DRILL_MARK_DIFF)
            snprintf(note, sizeof(note), "%.*s.drill: %s", (int)c->name_len, c->name,
                     c->result.problem);
        else if (row->line)
            snprintf(note, sizeof(note), "%.*s.drill:%u", (int)c->name_len, c->name, row->line);
        else
            note[0] = '\0';
        sim_pcap_write(&pcap, row->time, row->bytes, row->len, note);
    }
    c->recorded = strdup(path);
    return sim_pcap_close(&pcap, error);
}

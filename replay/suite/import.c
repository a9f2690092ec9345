/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "engine/reasons/peer_quirks.h"
#include "report/report.h"
#include "report/verdict.h"
#include "suite/anonymize.h"
#include "suite/suite_writer.h"
#include "util/strbuf.h"
#include "wire/tunnel.h"

static const enum outcome outcomes[] = {[VERDICT_PASS] = OUTCOME_PASS,
                                        [VERDICT_FAIL] = OUTCOME_FAIL,
                                        [VERDICT_SKIPPED] = OUTCOME_SKIPPED};

/* Sets the name of the new capture: the file name in the path without endings such as .pcap and
 * .gz. */
static int name_of(const char *path, struct import_result *added, struct error *error)
{
    static const char *const endings[] = {".gz", ".zst", ".pcap", ".pcapng", ".cap", ".erf"};
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    size_t len = strlen(last);

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t end = strlen(endings[i]);

        if (len > end && strncmp(last + len - end, endings[i], end) == 0)
            len -= end;
    }
    if (len == 0 || len >= sizeof(added->name))
        return error_set(error,
                         "%s: the file name is empty or too long for the name of a test: choose a "
                         "name with --name",
                         path);
    memcpy(added->name, last, len);
    added->name[len] = '\0';
    return 0;
}

static int check_name(const char *name, struct error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    if (*name && *name != '.' && *name != '-' && name[strspn(name, allowed)] == '\0')
        return 0;
    return error_set(error,
                     "--name %s: must contain only letters, digits, \"-\", \"_\" and \".\", and "
                     "begin with a letter or digit",
                     name);
}

/* ---- the part of the capture -------------------------------------------------------------------
 */

struct import_copy {
    const struct replay *replay;
    const struct selection *selection;
    struct anonymizer anonymizer;
    bool anonymous;
    struct import_result *added;
    struct suite_file *file;
};

static int copy_frame(struct import_copy *c, uint32_t idx, const struct captured_frame *frame,
                      struct error *error)
{
    struct suite_frame out = {.time = frame->time};
    struct roce_pkt pkt;
    uint8_t *data;
    int rc = roce_tunnel_parse(&pkt, frame->link, frame->data, frame->cap_len, frame->wire_len);

    if (c->anonymous && (rc != 0 || !anonymize_knows(&pkt))) {
        c->added->unknown++;
        return 0;
    }
    rc = 0;
    /* Remove the tunnel headers of a packet in a tunnel. */
    out.cap_len = pkt.cap_len;
    out.wire_len = pkt.wire_len;
    data = malloc(out.cap_len + 1);
    if (!data)
        return error_set(error, "%s: no memory", c->replay->trace.name);
    memcpy(data, pkt.frame, out.cap_len);
    if (c->anonymous &&
        anonymize(&c->anonymizer, idx, pkt.link, data, out.cap_len, out.wire_len) != 0)
        rc = error_set(error, "%s: frame %u: no memory, or too many addresses to anonymize",
                       c->replay->trace.name, frame->number);
    if (rc == 0)
        rc = suite_file_write(c->file, pkt.link, &out, data, error);
    c->added->frames += rc == 0;
    free(data);
    return rc;
}

/* Copies the selected frames. Reads the capture a second time, because the trace does not contain
 * complete frames. */
static int copy_frames(struct import_copy *c, const char *path, struct error *error)
{
    const struct trace *trace = &c->replay->trace;
    struct capture_reader *source = reader_open(path, error);
    struct captured_frame frame;
    uint32_t at = 0;
    int rc = source ? 0 : -1;

    while (rc == 0 && at < trace->cnt && (rc = reader_next(source, &frame, error)) == 1) {
        rc = 0;
        if (frame.number != trace->pkt[at].frame)
            continue;
        if (c->selection->keep[at])
            rc = copy_frame(c, at, &frame, error);
        at++;
    }
    if (source)
        reader_close(source);
    return rc < 0 ? -1 : 0;
}

static int write_part(struct import_copy *c, const char *path, const char *to,
                      const struct import_options *options, struct error *error)
{
    struct payload_masks masks = {0};
    struct suite_file file;
    int rc = 0;

    c->anonymous = options->addresses || options->payload;
    if (options->payload && payload_masks_make(&masks, &c->replay->session) != 0)
        rc = error_set(error, "%s: no memory, or the system returned no random bytes", path);
    anonymizer_init(&c->anonymizer, &c->replay->trace, options->addresses,
                    options->payload ? &masks : NULL);
    c->file = &file;
    if (rc == 0 && (rc = suite_file_open(&file, to, error)) == 0) {
        rc = copy_frames(c, path, error);
        if (suite_file_close(&file, rc == 0 ? error : NULL) != 0)
            rc = -1;
    }
    c->added->payloads = c->anonymizer.payloads;
    c->added->macs = c->anonymizer.mac.cnt;
    c->added->ips = c->anonymizer.ip4.cnt + c->anonymizer.ip6.cnt;
    anonymizer_free(&c->anonymizer);
    if (options->payload)
        payload_masks_free(&masks);
    return rc;
}

/* ---- describing the copy -----------------------------------------------------------------------
 */

static void describe_selection(const struct replay *replay, const struct selection *selection,
                               struct import_result *added)
{
    struct strbuf t = strbuf_of(added->text, sizeof(added->text));

    added->all = selection->all;
    for (uint32_t i = 0; i < replay->session.dir_cnt && !selection->all; i++) {
        uint32_t conn = replay->session.dir[i].setup.recorded->conn_index;
        bool listed = false;

        for (uint32_t k = 0; k < i; k++)
            listed |=
                selection->run[k] && replay->session.dir[k].setup.recorded->conn_index == conn;
        if (selection->run[i] && !listed)
            strbuf_addf(&t, "%s#%u", t.len ? ", " : "connection ", conn);
    }
}

/* Replays the new capture in the folder. Returns -1 and an error if its verdict is not
 * `expected`. */
static int judge_capture(const char *path, const char *peer, enum verdict expected,
                         struct import_result *added, struct error *error)
{
    const struct replay_options options = {.quirks = peer_quirks_named(peer)};
    struct replay replay;
    int rc = replay_run(&replay, path, &options, error);

    if (rc == 0) {
        added->verdict = report_verdict(&replay);
        added->cut = replay.trace.cut_payloads;
        if (added->verdict != expected)
            rc = error_set(
                error,
                "%s: the verdict of these packets alone is %s, but in the whole capture it "
                "is %s. If they depend on other connections, import those too, with "
                "--connection; otherwise --anonymize changed the verdict",
                added->name, outcome_name(outcomes[added->verdict]),
                outcome_name(outcomes[expected]));
    }
    replay_free(&replay);
    return rc;
}

/* Replays the original capture, selects the packets to import, and writes the new capture. Then
 * checks that the new capture has the verdict that the same packets had in the original capture. */
static int import_packets(const char *path, const struct import_options *options,
                          struct suite_folder *folder, struct import_result *added,
                          struct error *error)
{
    const struct replay_options as_it_is = {.quirks = peer_quirks_named(options->peer)};
    struct selection selection = {.want_cnt = options->want_cnt};
    struct replay replay;
    struct import_copy copy = {.replay = &replay, .selection = &selection, .added = added};
    int rc;

    memcpy(selection.want, options->want, sizeof(selection.want));
    rc = replay_run(&replay, path, &as_it_is, error);
    if (rc == 0)
        rc = selection_make(&selection, &replay, error);
    if (rc == 0 && selection.cnt == 0)
        rc = error_set(error,
                       "%s: the capture contains no RoCE packet that can be imported (rocedrill "
                       "check names a likely reason)",
                       path);
    if (rc == 0) {
        added->of = replay.trace.frames;
        describe_selection(&replay, &selection, added);
        rc = write_part(&copy, path, folder->capture, options, error);
    }
    if (rc == 0)
        rc = judge_capture(folder->capture, options->peer, selection.expect, added, error);
    selection_free(&selection);
    replay_free(&replay);
    return rc;
}

int import_capture(const char *path, const struct import_options *wanted,
                   struct import_result *added, struct error *error)
{
    struct import_options with = *wanted, *options = &with;
    struct suite_folder folder;
    struct suite_row row = {.shows = options->shows};
    int rc;

    memset(added, 0, sizeof(*added));
    if (strcmp(path, "-") == 0)
        return error_set(error, "import: standard input cannot be read twice: a file is required");
    if (!options->name && name_of(path, added, error) != 0)
        return -1;
    if (options->name)
        snprintf(added->name, sizeof(added->name), "%s", options->name);
    if (check_name(added->name, error) != 0)
        return -1;
    rc = suite_folder_open(&folder, options->folder, added->name, options->replace, error);
    if (!options->peer && folder.row)
        options->peer = folder.row->peer;
    row.peer = options->peer;
    if (rc == 0)
        rc = import_packets(path, options, &folder, added, error);
    row.frames = added->frames;
    row.expected = outcomes[added->verdict];
    if (rc == 0)
        rc = suite_folder_keep(&folder, &row, error);
    suite_folder_close(&folder);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cmd_edit.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "capture/capture_reader.h"
#include "capture/pcapng_writer.h"
#include "impair/delay_line.h"
#include "impair/impair.h"
#include "util/cli_opts.h"
#include "util/outfile.h"
#include "util/strbuf.h"
#include "wire/bytes.h"
#include "wire/crc32.h"
#include "wire/tunnel.h"

enum { OPT_IMPAIR = CLI_LONG, OPT_SEED };

static const struct cli_option rows[] = {
    {"impair", OPT_IMPAIR, "RULES",
     "alter, drop, copy, delay or reorder frames; \"--impair help\" describes the rules; may be "
     "repeated"},
    {"seed", OPT_SEED, "N", "seed of random rules (default 1)"},
    {"quiet", 'q', NULL, "do not print text on standard output"},
    {"help", 'h', NULL, "print this"},
};
static const struct cli_opts table = {"edit", rows, sizeof(rows) / sizeof(rows[0])};

struct edit_args {
    struct impair_rules rules;
    uint64_t seed;
    bool quiet;
};

/* A copy of a frame that waits in the delay line until it is written. */
struct edited_frame {
    /* Must be the first member: delay_line_take() returns a pointer to it. */
    struct delay_entry entry;
    /* Time of the delay line's clock minus the capture time of the frame, ns. */
    uint64_t ahead;
    uint32_t iface; /* number of the interface in the new file */
    uint32_t cap_len, wire_len;
    char note[IMPAIR_NOTE_MAX];
    uint8_t data[];
};

struct edit {
    struct impair impair;
    struct impair_result result;
    char why[IMPAIR_RULES_MAX][96]; /* why a rule cannot change the frame that it names, or "" */
    struct delay_line line;
    struct pcapng_writer out;
    /* Interfaces of the new file: one for each link layer, in the order of their first frames. */
    enum roce_link iface[ROCE_LINK_BTH];
    uint32_t iface_cnt, snaplen;
    uint64_t clock;       /* latest capture time of all frames read so far, ns */
    uint64_t frames, cut; /* number of frames read, and how many of them the snaplen cut */
    uint64_t written;
};

static void print_usage(FILE *out)
{
    fprintf(
        out,
        "usage: rocedrill edit --impair RULES [options] IN OUT   (- is standard input or output)\n"
        "Writes a copy of a capture with altered, lost, copied or delayed frames, as pcapng. A "
        "comment at each\n"
        "altered frame names the rule. The ICRC of an altered packet is recomputed, unless the "
        "rule has icrc=keep.\n"
        "options:\n");
    cli_print_options(out, &table);
    fprintf(out, "exit status: 0 = written, 2 = unusable input, wrong use, or a rule that changed "
                 "no frame\n");
}

/* ---- editing frames ----------------------------------------------------------------------------
 */

/* Writes the frames in the delay line that are due at `now` (ns). */
static int write_due(struct edit *edit, uint64_t now)
{
    for (;;) {
        const uint64_t at = delay_line_due(&edit->line);
        struct edited_frame *copy = (struct edited_frame *)delay_line_take(&edit->line, now);
        const char *note = copy ? copy->note : "";
        struct pcapng_frame frame;
        int rc;

        if (!copy)
            return 0;
        frame = (struct pcapng_frame){.iface = copy->iface,
                                      .time = at - copy->ahead,
                                      .data = copy->data,
                                      .cap_len = copy->cap_len,
                                      .wire_len = copy->wire_len,
                                      .comment = &note,
                                      .comment_cnt = note[0] != '\0'};
        rc = pcapng_writer_frame(&edit->out, &frame);
        free(copy);
        edit->written++;
        if (rc != 0)
            return -1;
    }
}

/* Returns the number of the pcapng interface for a link layer. Before the first frame of a link
 * layer, writes its interface description. Before the first interface, also writes the section
 * header. Returns -1 if the file cannot be written. */
static int64_t iface_of(struct edit *edit, enum roce_link link)
{
    const uint32_t linktype = capture_linktype(link);

    for (uint32_t i = 0; i < edit->iface_cnt; i++)
        if (edit->iface[i] == link)
            return i;
    if (edit->iface_cnt == 0 ? pcapng_writer_begin(&edit->out, edit->out.file, linktype,
                                                   edit->snaplen, "RoCEdrill") != 0
                             : pcapng_writer_interface(&edit->out, linktype, edit->snaplen) != 0)
        return -1;
    edit->iface[edit->iface_cnt] = link;
    return edit->iface_cnt++;
}

/* Replaces the packet at offset `off` of the frame by the impaired packet. If the frame had a
 * correct FCS, computes the FCS again. */
static void change_frame(uint8_t *data, uint32_t len, enum roce_link link, size_t off,
                         const struct impair_result *result)
{
    bool fcs = link == ROCE_LINK_ETHERNET && roce_has_fcs(data, len);

    memcpy(data + off, result->data, result->len);
    if (fcs)
        roce_le32_put(data + len - ROCE_FCS_LEN, roce_crc32(0, data, len - ROCE_FCS_LEN));
}

/* Puts a copy of the frame into the delay line. `result` is the impaired packet, which replaces the
 * packet at offset `off` of the frame. If `result` is NULL, the copy is unchanged. */
static bool put_copy(struct edit *edit, const struct captured_frame *frame, size_t off,
                     const struct impair_result *result)
{
    struct edited_frame *copy = malloc(sizeof(*copy) + frame->cap_len);
    int64_t iface = iface_of(edit, frame->link);

    if (!copy || iface < 0) {
        free(copy);
        return false;
    }
    copy->ahead = edit->clock - frame->time;
    copy->iface = (uint32_t)iface;
    copy->cap_len = frame->cap_len;
    copy->wire_len = frame->wire_len;
    strcpy(copy->note, result ? result->note : "");
    memcpy(copy->data, frame->data, frame->cap_len);
    if (result && result->changed)
        change_frame(copy->data, copy->cap_len, frame->link, off, result);
    if (!delay_line_put(&edit->line, &copy->entry, edit->clock + (result ? result->delay : 0),
                        result ? result->hold : 0, 0)) {
        free(copy);
        return false;
    }
    return true;
}

/* A rule can name a frame by its number. For each rule that names this frame, sets edit->why to the
 * reason why the rule cannot change the frame. `pkt` is NULL if the frame is not a RoCE packet. */
static void note_unchanged(struct edit *edit, const struct captured_frame *frame,
                           const struct roce_pkt *pkt)
{
    for (size_t i = 0; i < edit->impair.rules->cnt; i++) {
        const struct impair_rule *rule = &edit->impair.rules->rule[i];
        struct strbuf t;

        if (edit->why[i][0] || frame->number < rule->frame_from || frame->number > rule->frame_to)
            continue;
        t = strbuf_of(edit->why[i], sizeof(edit->why[i]));
        if (frame->cap_len < frame->wire_len)
            strbuf_addf(&t, "; frame %u is cut by the snaplen", frame->number);
        else if (!pkt)
            strbuf_addf(&t, "; frame %u is not a RoCE packet", frame->number);
        else if (rule->action == IMPAIR_SET && !roce_pkt_has(pkt, rule->hdr))
            strbuf_addf(&t, "; frame %u (%s) has no %s", frame->number, pkt->op->name,
                        roce_hdr_info(rule->hdr)->name);
        else if (rule->action == IMPAIR_CORRUPT && rule->part == IMPAIR_PAYLOAD &&
                 pkt->payload_len == 0)
            strbuf_addf(&t, "; frame %u (%s) has no payload", frame->number, pkt->op->name);
    }
}

/* Applies the impairment rules to one frame. If the frame contains a tunnel, applies them to the
 * packet in the tunnel. If the snaplen cut the frame, or the frame is longer than any RoCE packet,
 * copies the frame unchanged. */
static int edit_frame(struct edit *edit, const struct captured_frame *frame)
{
    const bool whole = frame->cap_len == frame->wire_len && frame->cap_len <= ROCE_FRAME_MAX;
    struct impair_frame in = {
        .data = frame->data, .len = frame->cap_len, .link = frame->link, .number = frame->number};
    struct roce_pkt pkt;
    bool roce;

    edit->frames++;
    edit->cut += frame->cap_len < frame->wire_len;
    if (frame->time > edit->clock)
        edit->clock = frame->time;
    if (edit->clock > 0 && write_due(edit, edit->clock - 1) != 0)
        return -1;
    roce = roce_tunnel_parse(&pkt, frame->link, frame->data, frame->cap_len, frame->wire_len) == 0;
    note_unchanged(edit, frame, roce ? &pkt : NULL);
    if (!whole)
        return put_copy(edit, frame, 0, NULL) ? 0 : -1;
    if (roce) {
        in.data = pkt.frame;
        in.len -= (size_t)(pkt.frame - frame->data);
        in.link = pkt.link;
    }
    if (impair_apply(&edit->impair, &in, &edit->result) != 0)
        return -1;
    for (unsigned i = 0; i < edit->result.copies; i++)
        if (!put_copy(edit, frame, (size_t)(in.data - frame->data), &edit->result))
            return -1;
    return 0;
}

static int edit_frames(struct edit *edit, struct capture_reader *reader, const char *out_path,
                       struct error *error)
{
    struct captured_frame frame;
    int rc;

    while ((rc = reader_next(reader, &frame, error)) > 0) {
        if (edit_frame(edit, &frame) != 0)
            return error_set(error, "%s: cannot be written, or no memory", out_path);
    }
    if (rc == 0 && edit->iface_cnt == 0 && iface_of(edit, ROCE_LINK_ETHERNET) < 0)
        return error_set(error, "%s: cannot be written", out_path);
    if (rc == 0 && write_due(edit, UINT64_MAX - 1) != 0)
        return error_set(error, "%s: cannot be written", out_path);
    return rc;
}

static void edit_free(struct edit *edit)
{
    struct delay_entry *entry;

    while ((entry = delay_line_take(&edit->line, UINT64_MAX)) != NULL)
        free(entry);
    delay_line_free(&edit->line);
    impair_free(&edit->impair);
    pcapng_writer_free(&edit->out);
}

/* ---- running the command -----------------------------------------------------------------------
 */

/* Prints the effect of each rule. Returns the exit status. It is an error if a rule impaired no
 * frame, unless the rule has a probability. */
static int report_rules(const struct edit *edit, const struct edit_args *args, FILE *out,
                        const char *name)
{
    const struct impair_rules *rules = &args->rules;

    for (size_t i = 0; i < rules->cnt; i++)
        if (edit->impair.applied[i] == 0 && rules->rule[i].chance == IMPAIR_ALWAYS)
            return cli_error("edit: --impair %s: changes none of the %" PRIu64 " frames of %s%s",
                             rules->rule[i].text, edit->frames, name, edit->why[i]);
    if (out) {
        fprintf(out, "%" PRIu64 " frames read, %" PRIu64 " written\n", edit->frames, edit->written);
        for (size_t i = 0; i < rules->cnt; i++)
            fprintf(out, "impairment %s: %" PRIu64 " frame%s\n", rules->rule[i].text,
                    edit->impair.applied[i], edit->impair.applied[i] == 1 ? "" : "s");
        if (edit->cut)
            fprintf(out, "not altered: %" PRIu64 " frame%s cut by the snaplen\n", edit->cut,
                    edit->cut == 1 ? "" : "s");
    }
    return EXIT_HOLDS;
}

static int run_edit(const char *in, const char *out, const struct edit_args *args)
{
    struct error error = {""};
    struct edit *edit = calloc(1, sizeof(*edit));
    struct capture_reader *reader = edit ? reader_open(in, &error) : NULL;
    FILE *file = NULL;
    char *temp;
    int status;

    if (!reader) {
        free(edit);
        return cli_error("%s", error.text[0] ? error.text : "edit: no memory");
    }
    status = outfile_open_temp(out, &file, &temp);
    if (status == 0) {
        impair_init(&edit->impair, &args->rules, args->seed);
        edit->out.file = file;
        edit->snaplen = reader_snaplen(reader);
        if (edit_frames(edit, reader, out, &error) != 0)
            status = cli_error("%s", error.text);
        else
            status = report_rules(edit, args, args->quiet || file == stdout ? NULL : stdout,
                                  reader_name(reader));
        edit_free(edit);
        status = outfile_close_temp(file, out, temp, status);
    }
    reader_close(reader);
    free(edit);
    return status;
}

static int add_rules(struct edit_args *args, const char *text)
{
    struct error error = {""};

    if (strcmp(text, "help") == 0) {
        impair_print_help(stdout);
        return EXIT_HOLDS;
    }
    return impair_rules_add(&args->rules, text, IMPAIR_CAPTURE, &error) == 0
               ? -1
               : cli_error("edit: --impair %s", error.text);
}

/* Reads the options. Returns -1 if the command shall continue, otherwise the exit status. */
static int read_options(int argc, char **argv, struct edit_args *args)
{
    int c, status;
    char *end;

    cli_begin(&table, argv);
    while ((c = cli_next(&table, argc, argv)) != -1) {
        switch (c) {
        case OPT_IMPAIR:
            status = add_rules(args, optarg);
            if (status >= 0)
                return status;
            break;
        case OPT_SEED:
            errno = 0;
            args->seed = strtoull(optarg, &end, 10);
            if (*optarg < '0' || *optarg > '9' || *end || errno)
                return cli_error("edit: --seed %s: not a number below 2^64", optarg);
            break;
        case 'q': args->quiet = true; break;
        case 'h': print_usage(stdout); return EXIT_HOLDS;
        default: return EXIT_UNUSABLE;
        }
    }
    return -1;
}

int cmd_edit(int argc, char **argv)
{
    struct edit_args args = {.seed = 1};
    int status = read_options(argc, argv, &args);

    if (status >= 0)
        return status;
    if (args.rules.cnt == 0 && argc - optind >= 2)
        return cli_error("edit: no rule given: expected --impair RULES (see --impair help)");
    if (argc - optind != 2)
        return cli_error("edit: give the capture and the file to write (see --help)");
    status = outfile_is_no_input(argv[optind + 1], argv[optind]);
    return status != 0 ? status : run_edit(argv[optind], argv[optind + 1], &args);
}

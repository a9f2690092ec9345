/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: whole captures through replay. capture.h describes the input.
 *
 * Invariants: a replay ends with a verdict or an error, in bounded memory (libFuzzer sets a limit).
 * The setup that --dump-setup writes is valid JSON. A simulation of the capture with our RNIC at
 * both ends (closed loop) ends.
 *
 * A frame whose addresses and payload are anonymized keeps its length and headers. Its ICRC is
 * right if the ICRC of the original frame is right.
 */
#define _GNU_SOURCE
#include "capture.h"
#include "infer/setup_dump.h"
#include "report/report.h"
#include "report/report_loop.h"
#include "suite/anonymize.h"

/* Writes the inferred setup and checks that it is valid JSON. */
static void check_setup(const struct replay *replay)
{
    struct error error = {""};
    char setup[64];
    int fd = fuzz_memfile("setup", setup);
    json_t *json;

    FUZZ_CHECK(setup_dump_write(&replay->session, &replay->memory_log, setup, &error) == 0);
    json = json_load_file(setup, 0, NULL);
    FUZZ_CHECK(json != NULL);
    json_decref(json);
    close(fd);
}

static void check_closed(const struct replay *replay, uint64_t seed)
{
    struct loop_options options = {.seed = seed, .repeat = 1};
    struct loop_summary sum;
    struct error error;

    /* Skip captures that request READs of megabytes, which even a small capture can do: their
     * simulation takes too long. */
    for (size_t i = 0; i < replay->session.dir_cnt; i++)
        if (replay->session.dir[i].setup.bytes_out > 1u << 20)
            return;
    FUZZ_CHECK(impair_rules_add(&options.impair, "drop@p=0.05", IMPAIR_OFFLINE, &error) == 0);
    FUZZ_CHECK(impair_rules_add(&options.impair, "dup@p=0.05", IMPAIR_OFFLINE, &error) == 0);
    options.exchanges = &replay->cm_exchanges;
    options.sides = (unsigned)(seed % 3) + 1;
    FUZZ_CHECK(closed_sum_run(&sum, &replay->session, &options, &error) == 0);
    loop_summary_free(&sum);
}

static void check_anonymous(const struct replay *replay)
{
    struct anonymizer anonymizer;
    struct payload_masks masks;

    FUZZ_CHECK(payload_masks_make(&masks, &replay->session) == 0);
    anonymizer_init(&anonymizer, &replay->trace, true, &masks);
    for (uint32_t i = 0; i < replay->trace.cnt; i++) {
        const struct trace_packet *p = &replay->trace.pkt[i];
        uint8_t *copy = malloc(p->cap_len);
        struct roce_pkt was, is;

        FUZZ_CHECK(copy != NULL);
        memcpy(copy, p->data, p->cap_len);
        trace_parse(p, &was);
        FUZZ_CHECK(
            anonymize(&anonymizer, i, (enum roce_link)p->link, copy, p->cap_len, p->wire_len) == 0);
        FUZZ_CHECK(roce_pkt_parse(&is, (enum roce_link)p->link, copy, p->cap_len, p->wire_len) ==
                   0);
        FUZZ_CHECK(is.bth.opcode == was.bth.opcode && is.bth.psn == was.bth.psn &&
                   is.payload_len == was.payload_len && is.icrc_off == was.icrc_off);
        if (!p->icrc_fixed)
            FUZZ_CHECK(roce_pkt_icrc_check(&is, NULL) == roce_pkt_icrc_check(&was, NULL));
        free(copy);
    }
    anonymizer_free(&anonymizer);
    payload_masks_free(&masks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct replay_options options = {.memory_log = true,
                                           .quirks = size & 1 ? "linux-rxe-6.1" : NULL};
    struct replay replay;
    struct error error = {""};
    char path[64];
    int fd;

    if (size < FUZZ_CAPTURE_HEAD + FUZZ_CAPTURE_RECORD)
        return 0;
    fd = fuzz_capture(data, size, ROCE_FRAME_MAX, path);
    if (replay_run(&replay, path, &options, &error) == 0) {
        FILE *null = fopen("/dev/null", "w");
        const struct report_options report = {.ladder = true, .verbose = true};

        FUZZ_CHECK(null != NULL);
        report_text(null, &replay, &report);
        fclose(null);
        check_setup(&replay);
        check_closed(&replay, size);
        check_anonymous(&replay);
    } else {
        FUZZ_CHECK(error.text[0] != '\0');
    }
    replay_free(&replay);
    close(fd);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Prints tables of the cases that the random scenarios covered, and reports each case that no
 * scenario covered. */
#include <stdarg.h>
#include <stdio.h>
#include "scenario.h"
#include "support/suite.h"

struct scenario_seen scenario_seen;

static const char *const services[] = {"RC", "UC", "UD", "XRC"};

/* Faults that the network can apply to a packet. */
static const struct {
    enum simnet_fate fate;
    const char *name;
} faults[] = {{SIMNET_LOST, "lost"},     {SIMNET_OVERFLOWED, "overflow"},
              {SIMNET_PARTED, "parted"}, {SIMNET_DUPLICATED, "repeated"},
              {SIMNET_HELD, "held"},     {SIMNET_CORRUPTED, "corrupt"},
              {SIMNET_MARKED, "marked"}};

/* Operations and the services that support them (R162, R168). */
static const struct {
    enum rnic_wr_opcode opcode;
    const char *name;
    const char *services; /* four characters: RC, UC, UD, XRC; '1' if the service supports the
                           * operation */
} ops[] = {{RNIC_WR_SEND, "SEND", "1111"},
           {RNIC_WR_SEND_IMM, "SEND_IMM", "1111"},
           {RNIC_WR_SEND_INV, "SEND_INV", "1..1"},
           {RNIC_WR_WRITE, "WRITE", "11.1"},
           {RNIC_WR_WRITE_IMM, "WRITE_IMM", "11.1"},
           {RNIC_WR_READ, "READ", "1..1"},
           {RNIC_WR_CMP_SWAP, "CMP_SWAP", "1..1"},
           {RNIC_WR_FETCH_ADD, "FETCH_ADD", "1..1"},
           {RNIC_WR_ATOMIC_WRITE, "ATOMIC_WRITE", "1..1"},
           {RNIC_WR_FLUSH, "FLUSH", "1..1"},
           {RNIC_WR_LOCAL_INV, "LOCAL_INV", "11.1"},
           {RNIC_WR_BIND_MW, "BIND_MW", "11.1"}};

/* Responses and the services that send them. */
static const struct {
    enum simnet_class cls;
    const char *services;
} answers[] = {{SIMNET_READ_RESP, "1..1"}, {SIMNET_ATOMIC_ACK, "1..1"}, {SIMNET_ACK, "1..1"},
               {SIMNET_NAK_SEQ, "1..1"},   {SIMNET_NAK_RNR, "1..1"},    {SIMNET_NAK_FATAL, "1..1"},
               {SIMNET_CNP, "1..."}};

#define CNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned cells;
static unsigned gaps;
static bool silent;

static void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!silent)
        vprintf(format, args);
    va_end(args);
}

static void cell(uint64_t n, const char *service, const char *row, const char *column)
{
    cells++;
    say(" %8llu", (unsigned long long)n);
    if (n == 0) {
        gaps++;
        if (!silent)
            suite_fail(__FILE__, __LINE__, "never reached: %s %s, %s", service, row, column);
    }
}

static void row_of(const char *service, const char *name)
{
    say("\n    %-4s%-13s", service, name);
}

static void header(const char *what)
{
    say("\n\n    %-17s", what);
}

static void operations(void)
{
    static const char *const mtus[SCN_MTUS] = {"256", "512", "1024", "2048", "4096"};
    static const char *const encaps[SCN_ENCAPS] = {"RoCEv1", "v2/IPv4", "v2/IPv6"};

    header("completed");
    for (unsigned i = 0; i < SCN_MTUS; i++)
        say(" %8s", mtus[i]);
    for (unsigned i = 0; i < SCN_ENCAPS; i++)
        say(" %8s", encaps[i]);
    for (unsigned s = 0; s < 4; s++) {
        for (unsigned i = 0; i < CNT(ops); i++) {
            if (ops[i].services[s] != '1')
                continue;
            row_of(services[s], ops[i].name);
            for (unsigned k = 0; k < SCN_MTUS; k++)
                cell(scenario_seen.mtus[s][ops[i].opcode][k], services[s], ops[i].name, mtus[k]);
            for (unsigned k = 0; k < SCN_ENCAPS; k++)
                cell(scenario_seen.encaps[s][ops[i].opcode][k], services[s], ops[i].name,
                     encaps[k]);
        }
    }
}

static void struck(void)
{
    header("packets");
    for (unsigned f = 0; f < CNT(faults); f++)
        say(" %8s", faults[f].name);
    for (unsigned s = 0; s < 4; s++) {
        for (unsigned i = 0; i < CNT(ops); i++) {
            if (ops[i].services[s] != '1' || rnic_wr_is_local(ops[i].opcode))
                continue;
            row_of(services[s], ops[i].name);
            for (unsigned f = 0; f < CNT(faults); f++)
                cell(scenario_seen.struck[s][ops[i].opcode][faults[f].fate], services[s],
                     ops[i].name, faults[f].name);
        }
        for (unsigned i = 0; i < CNT(answers); i++) {
            const char *name = simnet_class_name(answers[i].cls);

            if (answers[i].services[s] != '1')
                continue;
            row_of(services[s], name);
            for (unsigned f = 0; f < CNT(faults); f++)
                cell(scenario_seen.answers[s][answers[i].cls][faults[f].fate], services[s], name,
                     faults[f].name);
        }
    }
}

static void accidents(void)
{
    static const char *const windows[SCN_WINDOWS] = {"", "1", "2B", "2A"};
    static const char *const sizes[SCN_SIZES] = {"2", "3..8", "9..32", "33..64"};

    header("accidents");
    for (unsigned s = 0; s < 4; s++)
        say(" %8s", services[s]);
    for (unsigned i = 1; i < SCN_ACCIDENT_CNT; i++) {
        const char *name = scenario_accident_name((enum scn_accident)i);

        row_of("", name);
        for (unsigned s = 0; s < 4; s++) {
            if (scenario_can(s, (enum scn_accident)i))
                cell(scenario_seen.accidents[s][i], services[s], "accident", name);
            else
                say(" %8s", ".");
        }
    }
    header("links, of devices");
    for (unsigned i = 0; i < SCN_SIZES; i++)
        say(" %8s", sizes[i]);
    for (unsigned s = 0; s < 4; s++) {
        row_of(services[s], "");
        for (unsigned i = 0; i < SCN_SIZES; i++)
            cell(scenario_seen.sizes[s][i], services[s], "devices", sizes[i]);
    }
    row_of("", "untroubled");
    cell(scenario_seen.untroubled, "links", "of", "which no packet was struck");
    row_of("", "short queues");
    cell(scenario_seen.short_queues, "scenarios", "with", "queues of a packet or two");
    header("windows");
    say(" %8s %8s %8s", "bound", "used", "refused");
    for (unsigned s = 0; s < 4; s += s == 1 ? 2 : 1) {
        for (unsigned k = 1; k < SCN_WINDOWS; k++) {
            row_of(services[s], windows[k]);
            cell(scenario_seen.bound[s][k], services[s], "window bound", windows[k]);
            /* An XRC target refuses every type 2 window, because it is bound to an initiator's QP.
             */
            if (s != 3 || k == 1)
                cell(scenario_seen.through_window[s][k], services[s], "window used", windows[k]);
            else
                say(" %8s", ".");
            if (k > 1)
                cell(scenario_seen.refused_window[s][k], services[s], "window refused", windows[k]);
        }
    }
    row_of("", "QPs kept by 2A");
    cell(scenario_seen.held, "QPs", "kept by", "2A windows");
}

unsigned scenario_seen_check(bool quietly)
{
    static const enum rnic_wc_status statuses[] = {
        RNIC_WC_SUCCESS,     RNIC_WC_LOC_PROT_ERR,    RNIC_WC_WR_FLUSH_ERR,
        RNIC_WC_MW_BIND_ERR, RNIC_WC_REM_INV_REQ_ERR, RNIC_WC_REM_ACCESS_ERR,
        RNIC_WC_REM_OP_ERR,  RNIC_WC_RETRY_EXC_ERR,   RNIC_WC_RNR_RETRY_EXC_ERR};

    cells = gaps = 0;
    silent = quietly;
    operations();
    struck();
    accidents();
    header("completions");
    for (unsigned i = 0; i < CNT(statuses); i++) {
        row_of("", rnic_wc_status_name(statuses[i]));
        cell(scenario_seen.status[statuses[i]], "status", "", rnic_wc_status_name(statuses[i]));
    }
    header("counters: devices for which the packets determine the value, and do not");
    for (unsigned k = 0; k < ORACLE_COUNT_CNT; k++)
        say("\n        %-22s %8llu %8llu", oracle_count_name((enum oracle_count)k),
            (unsigned long long)scenario_seen.told[k], (unsigned long long)scenario_seen.hidden[k]);
    say("\n\n    %u of %u cells of these tables are covered ", cells - gaps, cells);
    return gaps;
}

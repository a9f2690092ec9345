/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/summary.h"

#include <assert.h>

const char *roce_cause_name(enum roce_cause cause)
{
    static const char *const names[ROCE_CAUSE_CNT] = {
        "none",        "sequence NAK",          "RNR NAK", "timeout",
        "implied NAK", "READ response missing", "unknown", "spurious timeout"};

    assert(cause < ROCE_CAUSE_CNT);
    return names[cause];
}

const char *roce_oper_name(enum roce_oper oper)
{
    static const char *const names[ROCE_OPER_CNT] = {"SEND", "WRITE", "READ", "ATOMIC", "other"};

    assert(oper < ROCE_OPER_CNT);
    return names[oper];
}

const char *roce_pairing_name(enum roce_pairing pairing)
{
    static const char *const names[ROCE_PAIRED_CNT] = {
        "", "CM", "QPNs", "source ports", "itself", "PSNs", "MSNs", "one source port", "hosts"};

    assert(pairing < ROCE_PAIRED_CNT);
    return names[pairing];
}

const char *roce_end_name(enum roce_end end)
{
    switch (end) {
    case ROCE_END_OPEN: return "open";
    case ROCE_END_DISCONNECTED: return "disconnected";
    case ROCE_END_REJECTED: return "rejected";
    case ROCE_END_NAK: return "stopped by a NAK";
    case ROCE_END_RNR_EXHAUSTED: return "gave up after RNR NAKs";
    case ROCE_END_RETRY_EXHAUSTED: return "gave up: no response";
    case ROCE_END_UNANSWERED: return "no response until the capture ended";
    case ROCE_END_RNR_WAITING: return "waits for a receive";
    case ROCE_END_GONE: return "a program was killed or crashed";
    }
    return "";
}

const char *roce_cnp_end_name(enum roce_cnp_end end)
{
    switch (end) {
    case ROCE_CNP_OPEN: return "open";
    case ROCE_CNP_RECOVERED: return "recovered";
    case ROCE_CNP_QUIET: return "quiet";
    case ROCE_CNP_IDLE: return "idle";
    }
    return "";
}

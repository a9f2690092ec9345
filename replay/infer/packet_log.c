/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/packet_log.h"

bool event_is_syndrome(const struct inferred_setup *s, uint32_t event, enum roce_syndrome_kind kind)
{
    return s->event[event].response && event_opcode(s, event)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(event_packet(s, event)->syndrome) == kind;
}

bool event_is_nak_code(const struct inferred_setup *s, uint32_t event, enum roce_nak code)
{
    return event_is_syndrome(s, event, ROCE_SYN_NAK) &&
           roce_syndrome_code(event_packet(s, event)->syndrome) == code;
}

bool event_is_fatal_nak(const struct inferred_setup *s, uint32_t event)
{
    return event_is_syndrome(s, event, ROCE_SYN_NAK) &&
           !event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ);
}

bool event_is_nak(const struct inferred_setup *s, uint32_t event)
{
    return event_is_syndrome(s, event, ROCE_SYN_NAK) || event_is_syndrome(s, event, ROCE_SYN_RNR);
}

int64_t event_executed_to(const struct inferred_setup *s, uint32_t event)
{
    return s->event[event].rel - (event_is_nak(s, event) ? 1 : 0);
}

bool event_in_time(const struct inferred_setup *s, uint32_t answer, uint32_t request)
{
    return event_time(s, answer) - event_time(s, request) >= s->min_response_ns;
}

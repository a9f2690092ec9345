/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/wait_bands.h"

#include "page/psn_axis.h"
#include "wire/codes.h"

static enum wait_band_kind kind_of(const struct packet_run *run)
{
    if (!packet_run_is_request(run))
        return WAIT_BAND_SLOW;
    switch (run->cause) {
    case ROCE_CAUSE_RNR_NAK: return WAIT_BAND_RNR;
    case ROCE_CAUSE_SEQ_NAK: return WAIT_BAND_NAK;
    case ROCE_CAUSE_TIMEOUT: return WAIT_BAND_TIMEOUT;
    case ROCE_CAUSE_SPURIOUS: return WAIT_BAND_SPURIOUS;
    case ROCE_CAUSE_IMPLIED_NAK:
    case ROCE_CAUSE_READ_GAP: return WAIT_BAND_READ;
    default: return WAIT_BAND_OTHER;
    }
}

void wait_bands_find(const struct packet_runs *runs, unsigned direction,
                     void (*on_band)(void *user, const struct wait_band *band), void *user)
{
    struct psn_axis axis = psn_axis_begin(runs, direction);

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];
        struct wait_band band;

        if (!packet_run_is_in(run, direction))
            continue;
        band = (struct wait_band){kind_of(run), run, run->waited, psn_axis_next(&axis, run)};
        if (run->waited)
            on_band(user, &band);
    }
}

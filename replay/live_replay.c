/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live_replay.h"

#ifdef HAVE_LIVE
#include "live.h"

int live_replay(struct replay *replay, const struct replay_options *options, struct fault *fault)
{
    struct live live = {0};
    const struct drive_watch watch = live_script_watch(&live.script);
    int rc = -1;

    if (drive_watched(&replay->drive, &replay->trace, &replay->conns, &watch, fault) == 0 &&
        live_play(&live, options->live, &replay->drive, fault) == 0) {
        rc = compare_all(&replay->comparison, &replay->drive, &replay->conns, options->peer);
        if (rc != 0)
            fault_set(fault, "%s: no memory", replay->trace.name);
        else
            rc = live_judge(&live, &replay->comparison, fault);
    }
    replay->drive.watch = NULL;
    live_close(&live);
    return rc;
}
#else
int live_replay(struct replay *replay, const struct replay_options *options, struct fault *fault)
{
    (void)options;
    return fault_set(fault, "%s: this program was built without live targets", replay->trace.name);
}
#endif

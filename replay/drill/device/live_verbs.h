/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Live verbs: the verbs of a drill as requests to the agent. device_live.c calls live_verb(). */
#ifndef REPLAY_DRILL_DEVICE_LIVE_VERBS_H
#define REPLAY_DRILL_DEVICE_LIVE_VERBS_H

#include "drill/device/live_agent.h"

/* Runs a verb. Returns 0, an enum rnic_error, or DRILL_VERB_UNSUPPORTED. */
int live_verb(struct live_agent *agent, const struct script_event *event);

#endif

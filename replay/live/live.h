/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live replay: the recorded connections against a device that is not ours (the target). An agent
 * (docs/agent.md) on the target's host acts as the program that used the recorded device.
 *
 * If the target is the responder, live_replay.c calls:
 *
 *   1. rc_responder_play() against our own RNIC with the watch of live_script.h. This shows what
 * the responder's program does and when.
 *   2. live_open() opens the interface and the agent.
 *   3. live_play() sets the target up, sends the recorded requests with live numbers (rewrite.h),
 * and replaces the responses of our RNIC by those of the target.
 *   4. rc_compare_responses() judges them, live_compare() the rest: late responses, completions and
 *      memory of the target.
 *   5. live_close()
 *
 * If the target is the requester, live_requester_play() takes the place of step 3.
 *
 * Frames keep the distances of the capture. If the capture has a response here that the responder
 * must send, the next request waits for it, up to the tolerance. A response that comes later is a
 * difference.
 */
#ifndef REPLAY_LIVE_LIVE_H
#define REPLAY_LIVE_LIVE_H

#include "base/error.h"
#include "engine/rc_compare_responses.h"
#include "live/agent_client.h"
#include "live/live_script.h"
#include "live/live_port.h"
#include "engine/rc_requester.h"
#include "live/rewrite.h"

/* Our endpoint of the CM exchanges: --cm. */
enum live_cm_end { LIVE_CM_NONE, LIVE_CM_CONNECT, LIVE_CM_LISTEN };

struct live_options {
    const char *iface;
    const char *target;  /* address of the target */
    const char *address; /* our address; NULL: the interface's */
    const char *agent;   /* HOST:PORT; NULL with `cm` */
    enum live_cm_end cm; /* not with `agent` */
    uint16_t
        port; /* port of the target's program, or of ours that it connects to; 0: as recorded */
    bool any_payload; /* with `cm`: data that the target's program sends is not compared */
    uint64_t tolerance_ns;
    double speed; /* multiple of the capture's speed; 0: without its pauses */
};

/* The live options of one command line. */
struct live_args {
    struct live_options options; /* .iface is NULL without --live */
    bool load;                   /* --load: transmit the requests, judge nothing */
    double pps, mbps;            /* load: packets or million bits a second; 0: not given */
    bool topspeed, looped;       /* --topspeed and --loop are given */
    uint64_t loop;               /* load: rounds; 0: until interrupted */
};

/* A recorded direction that is played against the target. */
struct live_run {
    struct rewrite rewrite;
    bool made;
    uint32_t qp;       /* number of the QP at the agent */
    uint32_t last;     /* last event sent */
    uint64_t *sent_at; /* time at which each event was sent, ns */
    int64_t acked;     /* highest PSN acknowledged */
    int64_t owed;      /* highest PSN whose request asks for a response */
    int64_t executed;  /* ePSN of our RNIC at the end of its play */
    unsigned misses;   /* responses that did not come in time */
    uint32_t recv_cnt;
};

/* A memory region of the target. */
struct live_region {
    uint32_t mr; /* number of the region at the agent */
    bool made;
};

/* A response that did not come within the tolerance. */
struct live_late {
    uint32_t run, step;
};

struct live {
    const struct live_options *options;
    struct session *drive;
    struct live_script script;
    struct live_port port;
    struct agent_client agent;
    struct rewrite_path path;
    struct live_run *run;            /* for each direction of the session */
    struct live_region **region;     /* for each host and region */
    struct rewrite_region **rewrite; /* for each host and region */
    struct live_late *late;
    size_t late_cnt, late_cap;
    rnic_frame_fn *take; /* handler of received frames, called with take_ctx */
    void *take_ctx;
    uint64_t (*tick)(
        void *take_ctx); /* runs due timers and returns when the next one is due; or NULL */
    bool no_memory;
    uint64_t sent, received;
    uint64_t damaged,
        foreign; /* received frames that were not used: wrong ICRC or form; not for our QPNs */
};

/* Opens the interface and the agent. Returns 0, or -1 and an error; live_close() is needed in
 * both cases. */
int live_open(struct live *live, const struct live_options *options, struct session *session,
              struct error *error);

/* Replays the capture to a responder, after live_open(). Returns 0, or -1 and an error. */
int live_play(struct live *live, struct error *error);

/* Adds the differences that the responses do not show: late responses, completions, memory. */
int live_compare(struct live *live, struct response_comparison *all, struct error *error);
void live_close(struct live *live);

/* Replays the capture to a requester, after rc_requester_play() with our RNIC and live_open().
 * rc_compare_requests() comes next. Returns 0, or -1 and an error. */
int live_requester_play(struct live *live, struct rc_requester *requester, struct error *error);

/* Helpers of all live plays, in live_responder.c. Parses a received frame; *idx is the distance
 * of its DestQP from the first of our QPNs. */
bool live_parse(struct live *live, const struct rnic_frame *frame, struct roce_pkt *pkt,
                uint32_t *idx);
/* Counts a received packet. Returns false if it is damaged. */
bool live_check_icrc(struct live *live, const struct roce_pkt *pkt);
/* Records a response of the target to direction `idx`. */
void live_take_response(struct live *live, uint32_t idx, struct roce_pkt *pkt);
/* Waits until `until` or until frames have arrived. Returns 0, or -1 and an error. */
int live_poll(struct live *live, uint64_t until, struct error *error);
int live_wait_until(struct live *live, uint64_t until, struct error *error);
/* Waits for the live response at the place of a recorded one that is due. Sets *waited if it had
 * to. Returns 0, or -1 and an error. */
int live_wait_response(struct live *live, const struct live_event *e, bool *waited,
                       struct error *error);
/* Sends the rewritten frame of packet `p`: `len` bytes; a `len` below 0 means that it could not
 * be rewritten. */
int live_send(struct live *live, const struct trace_packet *p, uint8_t *buf, int len,
              struct error *error);
/* Sends the frame of a script event. */
int live_send_frame(struct live *live, const struct live_event *e, struct error *error);
/* Drops the responses of our RNIC, so that the target's take their place. Returns false if there
 * is no memory. */
bool live_drop_simulated(struct live *live);

/* Returns whether a response is of the same kind as the recorded one. */
bool live_same_kind(const struct trace_packet *recorded, const struct tx_response *answer);

/* Returns whether the target has sent the responses that the recorded one had sent up to
 * `event`. */
bool live_has_responded(const struct live *live, uint32_t dir, uint32_t event);

#endif

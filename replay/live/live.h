/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live replay: repeats the recorded connections with a device that is not ours (the target). An
 * agent (docs/agent.md) on the target's host acts as the program that used the recorded device.
 *
 * If the target is the responder, live_replay.c calls:
 *
 *   1. rc_responder_play() with our own RNIC and the callbacks of live_script.h, to find the
 *      actions of the responder's program.
 *   2. live_open() opens the interface and connects to the agent.
 *   3. live_play() sets the target up, sends the recorded requests with the QPNs, PSNs and R_Keys
 *      of this run (rewrite.h), and replaces the responses that our RNIC sent in step 1 by those of
 *      the target.
 *   4. rc_compare_responses() compares the responses; live_compare() finds late responses, and
 *      compares completions and memory of the target.
 *   5. live_close()
 *
 * If the target is the requester, live_requester_play() replaces step 3.
 *
 * We send frames with the delays of the capture. If the capture has a response between two
 * requests, we wait for the target's response before we send the second request, at most the
 * tolerance. A response after the tolerance is a difference.
 */
#ifndef REPLAY_LIVE_LIVE_H
#define REPLAY_LIVE_LIVE_H

#include "base/error.h"
#include "engine/compare/rc_compare_responses.h"
#include "engine/play/rc_requester.h"
#include "live/agent_client.h"
#include "live/live_port.h"
#include "live/live_script.h"
#include "live/rewrite.h"

/* Recorded endpoint that our RNIC replaces (option --cm): the one that connected, or the one that
 * listened. */
enum live_cm_end { LIVE_CM_NONE, LIVE_CM_CONNECT, LIVE_CM_LISTEN };

struct live_options {
    const char *iface;
    const char *target;  /* address of the target */
    const char *address; /* our address, or NULL for an address of the interface */
    const char *agent;   /* HOST:PORT of the agent; NULL if `cm` is set */
    enum live_cm_end cm; /* LIVE_CM_NONE if `agent` is set */
    /* Port number of the RDMA CM service that the connecting end names. The target's program
     * listens on it, or our CM if the target connects to us. 0: the recorded port. */
    uint16_t port;
    bool any_payload; /* do not compare the data that the target's program sends; only with `cm` */
    bool really;      /* transmit although a default route leads through the interface */
    uint64_t tolerance_ns;
};

/* Live options of the command line. */
struct live_args {
    struct live_options options; /* options of a live replay; .iface is NULL without --live */
    bool load;                   /* --load: only transmit the requests, without a verdict */
    double pps, mbps;            /* --load: rate in packets/s or in Mbit/s; 0: not set */
    double multiplier;           /* --load: multiple of the capture's speed */
    bool topspeed, looped;       /* options --topspeed and --loop were set */
    uint64_t loop;               /* --load: number of rounds; 0 to transmit until interrupted */
};

/* A recorded direction that is played against the target. */
struct live_run {
    struct rewrite rewrite;
    bool made;
    uint32_t qp;       /* number by which the agent knows the target's QP */
    uint32_t last;     /* index in setup.event of the event at which the latest frame was due
                        * (live_event.when) */
    uint64_t *sent_at; /* sent_at[i]: time (live_now()) at which the frame of event i was sent */
    int64_t acked;     /* highest relative PSN that the target acknowledged */
    int64_t owed;      /* highest relative PSN of the sent requests that demand a response */
    int64_t executed;  /* relative ePSN of our RNIC after it played all recorded requests
                        * (rc_responder_play()) */
    unsigned misses;   /* number of responses that did not arrive in time */
    uint32_t recv_cnt;
};

/* Memory region of the target. */
struct live_region {
    uint32_t mr; /* number by which the agent knows the region */
    bool made;
};

/* A recorded response to which no live response arrived within the time of option --tolerance.
 * `run` is the index of its direction, and `step` its index in setup.event. */
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
    struct live_run *run;            /* one element for each direction of the session */
    struct live_region **region;     /* region[host][i]: region of the target */
    struct rewrite_region **rewrite; /* rewrite[host][i]: live address and R_Key of the region */
    struct live_late *late;
    size_t late_cnt, late_cap;
    rnic_frame_fn *take; /* handler of received frames; its first argument is take_ctx */
    void *take_ctx;
    /* Runs due timers and returns the time of the next timer, ns. NULL: no timers. */
    uint64_t (*tick)(void *take_ctx);
    bool no_memory;
    uint64_t sent, received;
    /* Numbers of received frames that were ignored. `damaged`: frames with a wrong ICRC or
     * malformed. `foreign`: frames that were not for our QPNs. */
    uint64_t damaged, foreign;
};

/* Opens the interface and connects to the agent. Returns 0, or -1 and an error. Call
 * live_close() in both cases. */
int live_open(struct live *live, const struct live_options *options, struct session *session,
              struct error *error);

/* Replays the capture to a target that is the responder. Call after live_open(). Returns 0, or
 * -1 and an error. */
int live_play(struct live *live, struct error *error);

/* Adds differences that rc_compare_responses() cannot find: late responses, completions, memory
 * of the target. Returns 0, or -1 and an error. */
int live_compare(struct live *live, struct response_comparison *all, struct error *error);
void live_close(struct live *live);

/* Replays the capture to a target that is the requester. Call after rc_requester_play(), which
 * plays our RNIC, and after live_open(). Call rc_compare_requests() next. Returns 0, or -1 and an
 * error. */
int live_requester_play(struct live *live, struct rc_requester *requester, struct error *error);

/* Parses a received frame. Sets *idx to its DestQP minus the first of our QPNs. Returns true, or
 * false if the frame is not a valid RoCE packet. */
bool live_parse(struct live *live, const struct rnic_frame *frame, struct roce_pkt *pkt,
                uint32_t *idx);
/* Counts a received packet as received or damaged. Returns true if its ICRC and form are right,
 * otherwise false. */
bool live_check_icrc(struct live *live, const struct roce_pkt *pkt);
/* Records a response of the target to the requests of direction `idx`. */
void live_take_response(struct live *live, uint32_t idx, struct roce_pkt *pkt);
/* Wait until time `until` (ns, as from live_now()) and handle received frames. live_poll() returns
 * earlier if frames have arrived. Both return 0, or -1 and an error. */
int live_poll(struct live *live, uint64_t until, struct error *error);
int live_wait_until(struct live *live, uint64_t until, struct error *error);

/* The latest event of the capture that was played. The time from this event to the next one is the
 * same live as in the capture. */
struct live_pace {
    uint64_t recorded; /* time in the capture, ns; 0 before the first event */
    uint64_t at;       /* live time, ns */
};
/* Returns the live time at which an event is due. `time` is the time of the event in the
 * capture. */
uint64_t live_pace_due(const struct live_pace *pace, uint64_t time);
/* Waits until the time that live_pace_due() returns, and handles received frames. Returns 0, or -1
 * and an error. */
int live_pace_wait(struct live *live, const struct live_pace *pace, uint64_t time,
                   struct error *error);
/* Stores that an event was played now. `time` is the time of the event in the capture. */
void live_pace_set(struct live_pace *pace, uint64_t time);
/* Waits for the live response that corresponds to the recorded response of event `e`, at most the
 * time of option --tolerance. Does not wait if no sent request demands a response, or if too many
 * earlier responses did not arrive in this time. Sets *waited to whether it waited. Returns 0, or
 * -1 and an error. */
int live_wait_response(struct live *live, const struct live_event *e, bool *waited,
                       struct error *error);
/* Sends the frame in `buf` (`len` bytes), which was made from recorded packet `p` (rewrite.h). A
 * negative `len` means that the packet could not be rewritten. Returns 0, or -1 and an error. */
int live_send(struct live *live, const struct trace_packet *p, uint8_t *buf, int len,
              struct error *error);
/* Sends the frame of a script event. Returns 0, or -1 and an error. */
int live_send_frame(struct live *live, const struct live_event *e, struct error *error);
/* Removes the responses of our RNIC from the session, because the target's responses replace them.
 * Returns false if out of memory. */
bool live_drop_simulated(struct live *live);

/* Returns whether live response `answer` is of the same kind (ACK, NAK, READ response, atomic
 * response) as a recorded response. */
bool live_same_kind(const struct trace_packet *recorded, const struct tx_response *answer);

/* Returns whether the target has sent the response that corresponds to the recorded response
 * `event`, or has acknowledged its PSN. */
bool live_has_responded(const struct live *live, uint32_t dir, uint32_t event);

#endif

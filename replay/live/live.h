/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live: a capture's connections against a device we do not own, at whose end an agent (agent.md)
 * acts as the program that used the recorded one.
 *
 * The target as the responder: the capture is first played against our own RNIC, which shows what
 * the responder's user does and when. Then the agent sets the far device up like this and acts as
 * that user, the recorded requests go out with live numbers (rewrite.h), and what is answered takes
 * the place of our RNIC's answers, so that compare.h judges it by the same obligations. What the
 * requests left in the far memory and what the receive WQEs completed with is compared as well. The
 * target as the requester: live_requester.c.
 *
 * Time is that of the capture: a frame follows what was before it in the capture at the recorded
 * distance. Where the capture has an answer that the responder owes, the next request waits for it,
 * up to the tolerance; one that comes later is a difference.
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

/* Which end of the connection manager's exchanges we are: --cm. */
enum live_cm_end { LIVE_CM_NONE, LIVE_CM_CONNECT, LIVE_CM_LISTEN };

struct live_options {
    const char *iface;
    const char *target;  /* address */
    const char *address; /* ours, or NULL: the interface's */
    const char *agent;   /* HOST:PORT */
    enum live_cm_end cm; /* not with `agent` */
    uint16_t port;       /* of the far program, or of ours it connects to; 0: as recorded */
    bool any_payload;    /* with `cm`: bytes that the far program sends are not compared */
    uint64_t tolerance_ns;
    double speed; /* how many times as fast as the capture; 0: without its pauses */
};

/* The live options of one command line. */
struct live_args {
    struct live_options options; /* .iface is NULL without --live */
    bool load;                   /* --load: transmit the requests, judge nothing */
    double pps, mbps;            /* load: packets or million bits a second; 0: not given */
    bool topspeed, looped;       /* --topspeed and --loop are given */
    uint64_t loop;               /* load: rounds; 0: until interrupted */
};

/* A connection of the target. */
struct live_run {
    struct rewrite rewrite;
    bool made;
    uint32_t qp;       /* the agent's number */
    uint32_t last;     /* step sent last */
    uint64_t *sent_at; /* for each step */
    int64_t acked;     /* highest PSN acknowledged */
    int64_t owed;      /* highest PSN whose request asks for an answer */
    int64_t executed;  /* PSN that our RNIC expected when all was played */
    unsigned misses;   /* answers that did not come in time */
    uint32_t recv_cnt;
};

/* A region of the target. */
struct live_region {
    uint32_t mr; /* the agent's number */
    bool made;
};

/* An answer that had not come within the tolerance. */
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
    struct live_run *run;            /* of drive.run */
    struct live_region **region;     /* of drive.device, memory.region */
    struct rewrite_region **rewrite; /* the same */
    struct live_late *late;
    size_t late_cnt, late_cap;
    rnic_frame_fn *take; /* gets what comes in, with take_ctx */
    void *take_ctx;
    uint64_t (*tick)(
        void *take_ctx); /* does what is due, and says when it is wanted again; or NULL */
    bool no_memory;
    uint64_t sent, received;
    uint64_t damaged, foreign; /* received, not taken: wrong ICRC or form; not for our QPNs */
};

/* Opens interface and agent, and makes room for the drive's runs. 0, or -1 and an error.
 * live_close() is wanted in both cases. */
int live_open(struct live *live, const struct live_options *options, struct session *session,
              struct error *error);

/* Judged replay of a capture that rc_responder_play() played with the script's watch.
 * rc_compare_responses() comes next, then live_compare(). After live_open(). 0, or -1 and an error.
 */
int live_play(struct live *live, struct error *error);

/* The rest: late answers, completions, memory. */
int live_compare(struct live *live, struct response_comparison *all, struct error *error);
void live_close(struct live *live);

/* The other way round, see live_requester.c: after rc_requester_play() with our RNIC and
 * live_open(); rc_compare_requests() comes next. 0, or -1 and an error. */
int live_requester_play(struct live *live, struct rc_requester *requester, struct error *error);

/* live_responder.c, for those who play: reads a frame that came in; *idx is how far its DestQP is
 * above the first of our QPNs. */
bool live_parse(struct live *live, const struct rnic_frame *frame, struct roce_pkt *pkt,
                uint32_t *idx);
/* Counts it; false if it is damaged. */
bool live_check_icrc(struct live *live, const struct roce_pkt *pkt);
/* An answer of the target to what run `idx` asked. */
void live_take_response(struct live *live, uint32_t idx, struct roce_pkt *pkt);
/* Waits for frames until `until`, or until one came. 0, or -1 and an error. */
int live_poll(struct live *live, uint64_t until, struct error *error);
int live_wait_until(struct live *live, uint64_t until, struct error *error);
/* Where the capture has an answer that is owed: waits for the live one. *waited if it did, so that
 * time goes on from here. */
int live_wait_response(struct live *live, const struct live_event *e, bool *waited,
                       struct error *error);
/* Sends packet `p` of the capture as it was rebound: `len` bytes, or less than 0 if it could not
 * be.
 */
int live_send(struct live *live, const struct trace_packet *p, uint8_t *buf, int len,
              struct error *error);
/* Sends the frame of a script's event. */
int live_send_frame(struct live *live, const struct live_event *e, struct error *error);
/* Our RNIC's answers make room for the target's. False without memory. */
bool live_drop_simulated(struct live *live);

/* Whether an answer is of the kind of the recorded one. */
bool live_same_kind(const struct trace_packet *recorded, const struct tx_response *answer);

/* Whether the responder has answered what the recorded one has by `step`, an answer. */
bool live_has_responded(const struct live *live, uint32_t dir, uint32_t event);

#endif

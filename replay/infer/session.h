/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Session: everything inferred from one capture about its RC directions and the hosts of their
 * responders, and the responses of our RNIC in place of these responders.
 *
 *   1. session_infer()       infers each direction's setup and each host's memory
 *   2. rc_responder_play()   adds the responses of our RNIC (engine/play/rc_responder.h)
 *   3. session_free()
 *
 * Step 2 does not change the members that step 1 inferred, so another thread may play the
 * requesters at the same time (engine/play/rc_requester.h). The trace and the connections must
 * outlive the session.
 */
#ifndef REPLAY_INFER_SESSION_H
#define REPLAY_INFER_SESSION_H

#include "base/error.h"
#include "infer/infer_setup.h"
#include "infer/memory_log.h"
#include "infer/shadow_memory.h"

/* Response that our RNIC sent. */
struct tx_response {
    uint32_t event; /* index into setup.event of the request that our RNIC answered */
    uint64_t time;
    int64_t rel;
    uint32_t psn;
    uint32_t msn;
    uint32_t dest_qp;
    uint16_t pkey;
    uint8_t opcode;
    uint8_t syndrome;
    bool se;
    bool ackreq;
    bool matched; /* the comparison paired this response with a recorded response */
    bool differs; /* the comparison reported that a recorded response differs from this one */
    uint64_t orig;
    uint32_t payload_len;
    uint64_t hash;          /* result of payload_hash() for the payload */
    const uint8_t *payload; /* payload bytes; NULL if they were not kept (session->kept_len is
                             * limited) */
};

/* State of our responder after a packet that advanced its ePSN. */
struct epsn_advance {
    uint32_t event;
    int64_t epsn; /* relative PSN that our responder expects next */
    uint32_t msn;
};

/* RC direction that is played: a whole recorded direction, or a part of one without a gap in the
 * captured requests. */
struct rc_direction {
    struct inferred_setup setup;        /* for the replay of the responder */
    struct inferred_setup *other_setup; /* for the replay of the requester; NULL: `setup`, because
                                         * the packets were captured in the order sent */
    struct recorded_direction *stretch; /* part of a recorded direction (split_at_gap.h), owned by
                                         * this struct; NULL if the whole recorded direction is
                                         * played */
    const char *failed;                 /* reason why our RNIC could not be set up as inferred, or
                                         * NULL */
    uint32_t host;                      /* index into session.host of the responder's host */
    uint32_t next_of_host;              /* index into session.dir of the next direction with the
                                         * same host, or KEYMAP_NONE */
    struct tx_response *response;       /* responses in the order sent */
    size_t response_cnt;
    size_t response_cap;
    struct epsn_advance *advance;
    size_t advance_cnt;
    size_t advance_cap;
    uint32_t error_event; /* index into setup.event of the packet at which our QP entered the error
                           * state, or EVENT_NONE */
    uint32_t recv_posted; /* number of receive WQEs posted */
};

/* Returns the setup for the replay of the requester. */
static inline const struct inferred_setup *requester_setup(const struct rc_direction *dir)
{
    return dir->other_setup ? dir->other_setup : &dir->setup;
}

/* Returns whether two directions have the same responder QP, and direction `a` ended before
 * direction `b` began: they belong to two uses of the QP, or to two parts of one use. */
bool rc_direction_precedes(const struct rc_direction *a, const struct rc_direction *b);

/* Recorded host with responders. Its QPs share memory. */
struct responder_host {
    uint8_t addr[16];
    enum roce_encap encap;
    struct shadow_memory memory;
    uint32_t first_dir; /* index into session.dir of the host's first direction, or KEYMAP_NONE */
    bool unordered;     /* the search for an order of the writes gave up (shared_memory.h) */
    const char *failed; /* reason why our RNIC could not be set up as inferred, or NULL */
};

/* Callbacks for each action of a recorded program and for each packet played, in order. A caller
 * can use them to repeat the actions on another device. Each callback returns 0, or -1 if out of
 * memory. recv(), store(), key() and frame() are called while the responders are played; post(),
 * response() and timer() are called while the requesters are played. Set either all or none of the
 * callbacks of one role. */
struct session_watch {
    void *ctx;
    int (*recv)(void *ctx, uint32_t dir, uint32_t len);
    /* Called for each byte stored. `initial` is true if the byte is part of the initial memory
     * contents. */
    int (*store)(void *ctx, uint32_t host, uint32_t rkey, uint64_t va, uint8_t byte, bool initial);
    int (*key)(void *ctx, uint32_t host, uint32_t rkey, bool valid);
    /* Called when the request that is event `event` is played. It is played in the place of event
     * `when`, at the capture time of packet `pkt` of the trace. */
    int (*frame)(void *ctx, uint32_t dir, uint32_t event, uint32_t when, uint32_t pkt);
    /* Called before the requester's program posts work request `wr` (infer_work_requests.h). */
    int (*post)(void *ctx, uint32_t dir, uint32_t wr);
    /* Called before the requester receives a response `pkt`. `recorded` is the same packet in the
     * trace, or NULL if the capture lacks it. */
    int (*response)(void *ctx, uint32_t dir, const struct roce_pkt *pkt,
                    const struct trace_packet *recorded);
    /* Called before a timer of the requester fires. */
    int (*timer)(void *ctx, uint32_t dir);
};

struct session {
    const struct trace *trace;
    const struct session_watch *watch; /* callbacks for another device, or NULL */
    struct memory_log *memory_log;     /* log of all bytes stored in the responders' memory, or
                                        * NULL */
    struct rc_direction *dir;          /* played directions; a recorded direction with gaps in its
                                        * requests has several elements */
    size_t dir_cnt;
    size_t dir_cap;
    uint64_t read_bytes; /* bytes that the READs of the played directions request */
    struct responder_host *host;
    size_t host_cnt;
    size_t host_cap;
    uint64_t order_effort; /* session_options.order_effort */
    uint8_t **kept;        /* payloads of our responses that differ from all recorded payloads */
    size_t kept_cnt;
    size_t kept_cap;
    uint64_t kept_len;
};

struct session_options {
    uint64_t order_effort;             /* maximum number of search steps for the order of the
                                        * writes to one word (shared_memory.h); 0: default */
    const struct session_watch *watch; /* callbacks, or NULL */
    struct memory_log *memory_log;     /* log that receives each byte stored in memory, or NULL */
};

/* Infers the setup of all directions. Returns 0, or -1 and an error. Call session_free() in both
 * cases. */
int session_infer(struct session *session, const struct trace *trace,
                  const struct connections *connections, const struct session_options *options,
                  struct error *error);
void session_free(struct session *session);

/* Adds a response that our RNIC sent, without its payload. Returns NULL if out of memory. */
struct tx_response *session_add_response(struct rc_direction *dir, const struct roce_pkt *pkt,
                                         uint32_t event, uint64_t time, int64_t rel);

/* Returns a hash of a payload, to compare payloads that were not kept. */
uint64_t payload_hash(const uint8_t *p, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM: the communication manager of one port (IBTA vol. 1 ch. 12): sets up and ends connections and
 * finds UD services by exchanging MADs between the QPs 1 of two ports. Sans-I/O: MADs go in with
 * rnic_cm_input() and come out of rnic_cm_output(), time is the caller's, rnic_cm_deadline() says
 * when rnic_cm_expire() is next wanted. An engine and its ids belong to one thread at a time.
 *
 * Messages are those of wire/cm_msg.h: a call takes the message that it sends, and the engine fills
 * in what belongs to the exchange (communication ids, transaction ids); an event has the message
 * that arrived. What a program usually says (port spaces, addresses, QP attributes) is made into
 * messages by conn.h.
 *
 * Several engines, each in a process of its own, may share a port: every one sees every MAD. An
 * engine takes what names its communication ids, told apart by a prefix, and the services it
 * listens for; rnic_cm_attr.speaks_for says whether it answers what is nobody's.
 *
 * Errors are negative enum rnic_error. What a peer does wrong is never one: it is answered with a
 * REJ, or not at all (R246). Rules are those of rnic/rules.md.
 */
#ifndef RNIC_CM_H
#define RNIC_CM_H

#include "device/rnic.h"
#include "wire/cm_msg.h"

struct rnic_cm;
struct rnic_cm_id;

/* Both ends of an exchange: GIDs in network order. */
struct rnic_cm_addr {
    uint8_t local[16];
    uint8_t remote[16];
};

enum rnic_cm_unknown {
    RNIC_CM_UNKNOWN_SERVICE, /* a REQ or SIDR_REQ for this service id */
    RNIC_CM_UNKNOWN_COMM_ID, /* a DREQ for this communication id, which is not of our prefix */
};

struct rnic_cm_attr {
    uint64_t ca_guid; /* host order */
    /* The upper bits of the communication ids made here; 0 bits: all are ours. */
    uint32_t id_prefix;      /* its low `id_prefix_bits` bits count */
    unsigned id_prefix_bits; /* 0..12 */
    uint32_t seed[2];        /* unpredictable: blurs communication and transaction ids */
    /* Whether this engine answers for what it does not know (R232, R233). NULL: always. */
    bool (*answers_unknown)(void *user, enum rnic_cm_unknown what, uint64_t number);
    /* How long a REQ or SIDR_REQ for a service that nobody has waits for a program here that is
     * about to listen, in ns, and at most half of what the REQ says the asker waits: a rejection is
     * final, and programs ask as soon as they believe the other to listen. 0: no time. */
    uint64_t listen_wait;
    /* Whether another engine of the port has this service: then nothing waits. NULL: never. */
    bool (*served_elsewhere)(void *user, uint64_t service_id);
    void *user;
};

/* NULL without memory or with too many prefix bits. */
struct rnic_cm *rnic_cm_new(const struct rnic_cm_attr *attr);

/* Frees the engine and all its ids; nothing is sent. NULL is fine. */
void rnic_cm_del(struct rnic_cm *cm);

/* ---- MADs in and out, time ------------------------------------------------------------------- */

/* The payload of a UD packet from QP 1 to QP 1. True if this engine took it as meant for it. */
bool rnic_cm_input(struct rnic_cm *cm, const uint8_t *mad, size_t len,
                   const struct rnic_cm_addr *addr, rnic_time now);

/* Takes the next MAD to send: 256 bytes. False if there is none. Up to 4096 wait; further ones are
 * dropped as the network drops them. */
bool rnic_cm_output(struct rnic_cm *cm, uint8_t mad[ROCE_MAD_SIZE], struct rnic_cm_addr *addr);

/* How many MADs wait to be taken. */
unsigned rnic_cm_pending(const struct rnic_cm *cm);

/* RNIC_NEVER if nothing waits. */
rnic_time rnic_cm_deadline(const struct rnic_cm *cm);
void rnic_cm_expire(struct rnic_cm *cm, rnic_time now);

/* How many exchanges wait for the answer to a DREQ: who ends may give them a moment. */
unsigned rnic_cm_disconnecting(const struct rnic_cm *cm);

/* ---- events ---------------------------------------------------------------------------------- */

enum rnic_cm_event_type {
    RNIC_CM_REQUEST,     /* msg.req came for `listener`; `id` is new and the receiver's to answer */
    RNIC_CM_RESPONSE,    /* msg.rep came: rnic_cm_establish() or _reject() */
    RNIC_CM_ESTABLISHED, /* passive side: msg.rtu came, or nothing if rnic_cm_comm_est() was told */
    RNIC_CM_REJECTED,    /* msg.rej came; for a connection that was established too: the peer gave
                            up waiting for the RTU */
    RNIC_CM_UNREACHABLE, /* a REQ, REP or SIDR_REQ found no answer */
    RNIC_CM_DISCONNECTED,  /* msg.dreq came (answer it with rnic_cm_disconnect()), or msg.drep or
                              .rej, or nothing: then no DREP came (msg.kind is ROCE_CM_MSG_CNT) */
    RNIC_CM_TIMEWAIT_EXIT, /* the QPN may be used again (R234) */
    RNIC_CM_SIDR_REQUEST,  /* msg.sidr_req came for `listener`, as RNIC_CM_REQUEST */
    RNIC_CM_SIDR_RESPONSE, /* msg.sidr_rep came */
};

struct rnic_cm_event {
    enum rnic_cm_event_type type;
    struct rnic_cm_id *id;
    struct rnic_cm_id *listener; /* of a request; else NULL */
    struct roce_cm_msg msg;      /* .kind is ROCE_CM_MSG_CNT without one */
};

/* Takes the oldest event; false if there is none. */
bool rnic_cm_event(struct rnic_cm *cm, struct rnic_cm_event *out);

/* ---- communication ids ----------------------------------------------------------------------- */

enum rnic_cm_state {
    RNIC_CM_IDLE,
    RNIC_CM_LISTEN,
    RNIC_CM_REQ_SENT,
    RNIC_CM_MRA_REQ_RCVD, /* the peer asked for patience */
    RNIC_CM_REQ_RCVD,
    RNIC_CM_REP_SENT,
    RNIC_CM_MRA_REP_RCVD,
    RNIC_CM_REP_RCVD,
    RNIC_CM_CONNECTED,
    RNIC_CM_DREQ_SENT,
    RNIC_CM_DREQ_RCVD,
    RNIC_CM_TIMEWAIT,
    RNIC_CM_SIDR_SENT,
    RNIC_CM_SIDR_RCVD,
    RNIC_CM_SIDR_DONE,
};

#define RNIC_CM_IDS_MAX 65536u

/* NULL without memory, or with RNIC_CM_IDS_MAX ids. */
struct rnic_cm_id *rnic_cm_id_new(struct rnic_cm *cm, void *user);

/*
 * Ends whatever the id is in and gives it up: a request is rejected, a connection gets its DREQ,
 * which is repeated until it is answered, a DREQ its DREP. That of an XRC target gets none: the QP
 * may outlive the id (as Linux has it: core/cm.c, cm_destroy_id()). Its events are forgotten;
 * requests for a listener that nobody took are rejected. What has to be remembered of it (timewait)
 * the engine keeps to itself. NULL is fine.
 */
void rnic_cm_id_del(struct rnic_cm_id *id, rnic_time now);

void *rnic_cm_id_user(const struct rnic_cm_id *id);
void rnic_cm_id_set_user(struct rnic_cm_id *id, void *user);
enum rnic_cm_state rnic_cm_id_state(const struct rnic_cm_id *id);
uint32_t rnic_cm_id_local(const struct rnic_cm_id *id);  /* its communication id */
uint32_t rnic_cm_id_remote(const struct rnic_cm_id *id); /* the peer's, 0 if unknown */
void rnic_cm_id_addr(const struct rnic_cm_id *id, struct rnic_cm_addr *out);

/* The REQ of the exchange, sent or received, and the REP; of an id that saw none all zero. */
const struct roce_cm_req *rnic_cm_id_req(const struct rnic_cm_id *id);
const struct roce_cm_rep *rnic_cm_id_rep(const struct rnic_cm_id *id);
bool rnic_cm_id_active(const struct rnic_cm_id *id); /* it sent the REQ */

/* The QPN that the id's own messages named, as a DREQ of the peer does; 0 before they did. */
uint32_t rnic_cm_id_qpn(const struct rnic_cm_id *id);

/* Every call below gives RNIC_ERR_STATE where the exchange is not at that point. */

/* Takes requests for `service_id`, at one local GID or at all (NULL). RNIC_ERR_EXISTS if another id
 * listens for just the same. */
int rnic_cm_listen(struct rnic_cm_id *id, uint64_t service_id, const uint8_t gid[16]);

/* Sends a REQ. local_comm_id is filled in. Repeated until it is answered (R237). */
int rnic_cm_connect(struct rnic_cm_id *id, const struct roce_cm_req *req,
                    const struct rnic_cm_addr *addr, rnic_time now);

/* Answers a REQ with a REP. Communication ids are filled in, and what is more than the REQ offered
 * of responder resources and initiator depth is cut (R238). */
int rnic_cm_accept(struct rnic_cm_id *id, const struct roce_cm_rep *rep, rnic_time now);

/* Answers a REP with an RTU; private data may be NULL. */
int rnic_cm_establish(struct rnic_cm_id *id, const void *private_data, size_t len, rnic_time now);

/* Answers a REQ or REP with a REJ. */
int rnic_cm_reject(struct rnic_cm_id *id, enum roce_cm_rej_reason reason, const void *private_data,
                   size_t len, rnic_time now);

/* Ends a connection with a DREQ, or answers one with a DREP. */
int rnic_cm_disconnect(struct rnic_cm_id *id, const void *private_data, size_t len, rnic_time now);

/* The first packet of the peer came before its RTU (R055): as if the RTU had come. */
int rnic_cm_comm_est(struct rnic_cm_id *id, rnic_time now);

/* Asks for a UD service; request_id is filled in. `timeout` (code, 4.096 us * 2^n) and `retries` as
 * a REQ has them. */
int rnic_cm_sidr_request(struct rnic_cm_id *id, const struct roce_cm_sidr_req *req, uint8_t timeout,
                         uint8_t retries, const struct rnic_cm_addr *addr, rnic_time now);

/* Answers a SIDR_REQ, the same again if it comes again; request_id is filled in. */
int rnic_cm_sidr_reply(struct rnic_cm_id *id, const struct roce_cm_sidr_rep *rep, rnic_time now);

#endif

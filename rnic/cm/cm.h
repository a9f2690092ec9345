/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM: the communication manager of one port (IBTA vol. 1 ch. 12). It sets up and ends connections,
 * and resolves UD services, by MADs between QP 1 of two ports. It does no I/O and has no clock.
 *
 * How to use it (ucma/port.c, replay/live):
 *   1. rnic_cm_new() for a port; rnic_cm_id_new() for each connection, listener or UD service.
 *   2. Calls on an id (rnic_cm_connect(), rnic_cm_listen(), ...) queue MADs and start timers.
 *   3. rnic_cm_input() for each MAD received on QP 1.
 *   4. rnic_cm_output() until it returns false: MADs to send.
 *   5. rnic_cm_event() until it returns false: events for the program.
 *   6. rnic_cm_expire() at the time of rnic_cm_deadline().
 *   7. rnic_cm_id_del(), rnic_cm_del() at the end.
 *
 * A struct rnic_cm, called engine, owns its ids. Only one thread at a time may use an engine.
 * Errors are negative enum rnic_error. A wrong message of a peer is never an error: the engine
 * answers it with a REJ, or drops it (R246).
 *
 * Messages are those of wire/cm_msg.h. The caller of a function supplies the message to send, and
 * the engine fills in communication ids and transaction ids. An event contains the received
 * message. conn.h builds messages from a program's parameters (port spaces, addresses, QP
 * attributes).
 *
 * Several engines, each in its own process, may share a port; then each receives every MAD. An
 * engine processes the MADs with its communication ids (recognised by their prefix) and the
 * requests for its services. rnic_cm_attr.answers_unknown decides whether the engine also answers
 * requests for unknown services and ids. R001 and so on are the rules of rnic/rules.md.
 */
#ifndef RNIC_CM_H
#define RNIC_CM_H

#include "device/rnic.h"
#include "wire/cm_msg.h"

struct rnic_cm;
struct rnic_cm_id;

/* GIDs of both ends of an exchange, in network order. */
struct rnic_cm_addr {
    uint8_t local[16];
    uint8_t remote[16];
};

enum rnic_cm_unknown {
    RNIC_CM_UNKNOWN_SERVICE, /* a REQ or SIDR_REQ for a service id for which this engine has no
                              * listener */
    RNIC_CM_UNKNOWN_COMM_ID, /* a DREQ for a communication id with the prefix of another engine */
};

struct rnic_cm_attr {
    uint64_t ca_guid; /* GUID of the CA, host byte order */
    /* Prefix of the communication ids of this engine, in their upper bits. id_prefix_bits is 0 if
     * no other engine shares the port. */
    uint32_t id_prefix;      /* prefix; only its low `id_prefix_bits` bits are used */
    unsigned id_prefix_bits; /* number of bits of the prefix, 0..12 */
    uint32_t seed[2];        /* random start values: seed[0] for the communication ids, seed[1] for
                              * the transaction ids */
    /* Returns whether this engine answers requests to `gid` for the unknown service id or
     * communication id `number` (R232, R233). If the callback is NULL, the engine always
     * answers. */
    bool (*answers_unknown)(void *user, enum rnic_cm_unknown what, uint64_t number,
                            const uint8_t gid[16]);
    /* Time that a REQ or SIDR_REQ for an unknown service waits for a listener, ns; 0: no wait,
     * reject at once. The wait is useful because a rejection is final, and a peer may connect
     * shortly before the program here listens. The wait is at most half of the response timeout in
     * the REQ. */
    uint64_t listen_wait;
    /* Returns whether another engine of the port listens for this service at `gid`. If so, a
     * request for the service does not wait in this engine. If the callback is NULL, no other
     * engine listens. */
    bool (*served_elsewhere)(void *user, uint64_t service_id, const uint8_t gid[16]);
    void *user;
};

/* Creates an engine. Returns NULL if out of memory, or if id_prefix_bits is too large. */
struct rnic_cm *rnic_cm_new(const struct rnic_cm_attr *attr);

/* Frees the engine and all its ids without sending any message. `cm` may be NULL. */
void rnic_cm_del(struct rnic_cm *cm);

/* ---- MADs in and out, time ------------------------------------------------------------------- */

/* Processes the payload of a UD packet from QP 1 to QP 1. Returns true if the MAD is for this
 * engine, false if it is for another engine of the port. */
bool rnic_cm_input(struct rnic_cm *cm, const uint8_t *mad, size_t len,
                   const struct rnic_cm_addr *addr, rnic_time now);

/* Removes the next MAD to send (256 bytes) from the queue. Returns true, or false if there is none.
 * The queue has at most 4096 MADs; further ones are dropped, as if lost on the network. */
bool rnic_cm_output(struct rnic_cm *cm, uint8_t mad[ROCE_MAD_SIZE], struct rnic_cm_addr *addr);

/* Returns the number of queued MADs. */
unsigned rnic_cm_pending(const struct rnic_cm *cm);

/* Returns the expiry time of the next timer, or RNIC_NEVER. */
rnic_time rnic_cm_deadline(const struct rnic_cm *cm);
void rnic_cm_expire(struct rnic_cm *cm, rnic_time now);

/* Returns the number of connections for which a DREQ was sent and no DREP has arrived. Before a
 * process exits, it should wait until the number is 0, or for a limited time. */
unsigned rnic_cm_disconnecting(const struct rnic_cm *cm);

/* ---- events for the program ------------------------------------------------------------------ */

enum rnic_cm_event_type {
    RNIC_CM_REQUEST,       /* msg.req arrived for `listener`; the program accepts or rejects the
                            * request with the new id `id` */
    RNIC_CM_RESPONSE,      /* msg.rep arrived: call rnic_cm_establish() or rnic_cm_reject() */
    RNIC_CM_ESTABLISHED,   /* passive side: msg.rtu arrived, or rnic_cm_comm_est() was called */
    RNIC_CM_REJECTED,      /* msg.rej arrived. An established connection can be rejected, too: its
                            * peer did not receive the RTU */
    RNIC_CM_UNREACHABLE,   /* the peer did not answer a REQ, REP or SIDR_REQ */
    RNIC_CM_DISCONNECTED,  /* The connection ends. msg.dreq: sent by the peer; call
                            * rnic_cm_disconnect() to answer it. msg.drep or msg.rej: the peer's
                            * answer to our DREQ. No message (ROCE_CM_MSG_CNT): our DREQ was not
                            * answered */
    RNIC_CM_TIMEWAIT_EXIT, /* TIMEWAIT has ended: the QPN may be reused (R234) */
    RNIC_CM_SIDR_REQUEST,  /* msg.sidr_req arrived for `listener`; the program answers the request
                            * with the new id `id` */
    RNIC_CM_SIDR_RESPONSE, /* msg.sidr_rep arrived */
};

struct rnic_cm_event {
    enum rnic_cm_event_type type;
    struct rnic_cm_id *id;
    struct rnic_cm_id *listener; /* id of the listener for which the request arrived; NULL for other
                                  * events */
    struct roce_cm_msg msg; /* received message; msg.kind is ROCE_CM_MSG_CNT if no message caused
                             * the event */
};

/* Removes the oldest event and stores it in *out. Returns true, or false if there is no event. */
bool rnic_cm_event(struct rnic_cm *cm, struct rnic_cm_event *out);

/* ---- communication ids ----------------------------------------------------------------------- */

enum rnic_cm_state {
    RNIC_CM_IDLE,
    RNIC_CM_LISTEN,
    RNIC_CM_REQ_SENT,
    RNIC_CM_MRA_REQ_RCVD, /* the peer asked for more time to answer the REQ (MRA) */
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

#define RNIC_CM_IDS_MAX 65536u /* maximum number of ids of an engine */

/* Creates an id. Returns NULL if out of memory, or if RNIC_CM_IDS_MAX ids exist. */
struct rnic_cm_id *rnic_cm_id_new(struct rnic_cm *cm, void *user);

/* Ends the exchange of an id and deletes the id. A REQ that was received but not answered is
 * rejected. If a connection exists, a DREQ is sent, and retransmitted up to max_cm_retries times
 * until the peer answers. A DREQ of the peer is answered by a DREP. An XRC target sends no DREQ,
 * because its QP may outlive the id (as in Linux: core/cm.c, cm_destroy_id()). Events of the id are
 * discarded. If the id is a listener, requests that the program has not fetched are rejected. The
 * engine keeps the state that TIMEWAIT needs. `id` may be NULL. */
void rnic_cm_id_del(struct rnic_cm_id *id, rnic_time now);

void *rnic_cm_id_user(const struct rnic_cm_id *id);
void rnic_cm_id_set_user(struct rnic_cm_id *id, void *user);
enum rnic_cm_state rnic_cm_id_state(const struct rnic_cm_id *id);
uint32_t rnic_cm_id_local(const struct rnic_cm_id *id);  /* Returns the communication id of this
                                                          * end. */
uint32_t rnic_cm_id_remote(const struct rnic_cm_id *id); /* Returns the peer's communication id, or
                                                          * 0 if it is unknown. */
void rnic_cm_id_addr(const struct rnic_cm_id *id, struct rnic_cm_addr *out);

/* Return the REQ or the REP of the exchange, whether sent or received. All members are zero if
 * there is none. */
const struct roce_cm_req *rnic_cm_id_req(const struct rnic_cm_id *id);
const struct roce_cm_rep *rnic_cm_id_rep(const struct rnic_cm_id *id);
bool rnic_cm_id_active(const struct rnic_cm_id *id); /* Returns whether this id sent the REQ (active
                                                      * side). */

/* Returns the QPN that this end sent in its REQ or REP. The peer's DREQ contains this QPN. Returns
 * 0 if no such message was sent. */
uint32_t rnic_cm_id_qpn(const struct rnic_cm_id *id);

/* Each function below returns RNIC_ERR_STATE if the state of the id does not allow the call. */

/* Listens for `service_id` at the local GID `gid`, or at all GIDs if `gid` is NULL. Returns
 * RNIC_ERR_EXISTS if another id already listens for this service at this GID. */
int rnic_cm_listen(struct rnic_cm_id *id, uint64_t service_id, const uint8_t gid[16]);

/* Listens for `service_id` at all GIDs that are IPv4 addresses (`ip4` true) or at all other GIDs
 * (`ip4` false). Returns RNIC_ERR_EXISTS if another id already listens for this service at all GIDs
 * of this kind. */
int rnic_cm_listen_family(struct rnic_cm_id *id, uint64_t service_id, bool ip4);

/* Sends a REQ, and retransmits it up to max_cm_retries times until an answer arrives (R237). The
 * engine sets local_comm_id of the REQ. */
int rnic_cm_connect(struct rnic_cm_id *id, const struct roce_cm_req *req,
                    const struct rnic_cm_addr *addr, rnic_time now);

/* Answers a REQ with a REP. The engine sets the communication ids of the REP. The engine reduces
 * responder resources and initiator depth to what the REQ allows (R238). */
int rnic_cm_accept(struct rnic_cm_id *id, const struct roce_cm_rep *rep, rnic_time now);

/* Answers a REP with an RTU. `private_data` may be NULL. */
int rnic_cm_establish(struct rnic_cm_id *id, const void *private_data, size_t len, rnic_time now);

/* Answers a REQ or REP with a REJ. Also ends an exchange after the REP was sent, if no RTU has
 * arrived. */
int rnic_cm_reject(struct rnic_cm_id *id, enum roce_cm_rej_reason reason, const void *private_data,
                   size_t len, rnic_time now);

/* Sends a DREQ to end a connection, or answers the peer's DREQ with a DREP. */
int rnic_cm_disconnect(struct rnic_cm_id *id, const void *private_data, size_t len, rnic_time now);

/* Treats the connection as established although the RTU has not arrived. The program calls this
 * when the first packet of the peer arrives before the RTU (R055). Returns RNIC_ERR_EXISTS if the
 * connection is already established, and RNIC_ERR_STATE in other states. */
int rnic_cm_comm_est(struct rnic_cm_id *id, rnic_time now);

/* Sends a SIDR_REQ to resolve a UD service. The engine sets req->request_id. Until the SIDR_REP
 * arrives, it retransmits the SIDR_REQ every 4.096 us * 2^`timeout`, at most `retries` times. */
int rnic_cm_sidr_request(struct rnic_cm_id *id, const struct roce_cm_sidr_req *req, uint8_t timeout,
                         uint8_t retries, const struct rnic_cm_addr *addr, rnic_time now);

/* Answers a SIDR_REQ with a SIDR_REP. The engine sets the request_id of the SIDR_REP. If the peer
 * repeats the SIDR_REQ, the engine repeats this SIDR_REP. */
int rnic_cm_sidr_reply(struct rnic_cm_id *id, const struct roce_cm_sidr_rep *rep, rnic_time now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill device: the interface between the drill engine and the device under test (DUT). A drill is
 * a test script: it plays packets to the DUT and checks the packets of the DUT. The drill itself
 * acts as the peer of the DUT; comments call this peer "the drill's own end". One DUT is the
 * software RNIC in this process (device_rnic.h).
 *
 *   1. open() creates the device and all objects of a script.
 *   2. The engine calls input(), output(), expire() and verb() for the lines of the script. After
 *      each call, the engine calls poll(), async() and notified() until they return false.
 *   3. close()
 *
 * Objects are named by their index in the script. Times are in ns; a drill starts at
 * DRILL_TIME_BASE. A device in virtual time acts only when the engine calls it, at the time that
 * the engine passes. A device in real time, for example behind a network interface, has the
 * functions wait(), clock(), arrived() and patience().
 */
#ifndef REPLAY_DRILL_DEVICE_H
#define REPLAY_DRILL_DEVICE_H

#include "base/error.h"
#include "drill/script.h"
#include "wire/opcode.h"
#include "wire/pkt.h"

/* Time at which each drill starts, ns. */
#define DRILL_TIME_BASE UINT64_C(1000000000)

/* IP and MAC addresses of the DUT (`dut_`) and of its peer, the drill's own end (`own_`). */
struct drill_net {
    enum roce_encap encap;
    uint8_t dut_addr[16], own_addr[16];
    uint8_t dut_mac[6], own_mac[6];
    /* QPN at the drill's own end for the peer of object 0 of the script. The peer of object N has
     * the QPN own_qpn + N. */
    uint32_t own_qpn;
};

/* Returns the addresses for IP version 4 or 6. The DUT has address 192.0.2.2 or 2001:db8::2. */
struct drill_net drill_net_of(unsigned ip);

/* Computes the address of multicast group `group` (1..255) in the IP version of `net`. */
void drill_net_group(const struct drill_net *net, uint64_t group, uint8_t addr[16]);

/* The drill's own end has, for each object of the script, a QP and a memory region. Return the QPN,
 * the R_Key and the start address for an object. */
uint32_t drill_own_qpn(const struct drill_net *net, int object);
uint32_t drill_own_key(int object);
uint64_t drill_own_address(int object);

/* First QPN, and number of QPNs, of the drill's own end in the text of a drill. With a device in
 * real time, these QPs have other QPNs on the wire (drill_net.own_qpn). */
#define DRILL_OWN_QPN  0x100u
#define DRILL_OWN_QPNS 4096u

/* Converts a QPN in the text of a drill to the QPN on the wire. Returns a QPN that does not belong
 * to the drill's own end unchanged. */
uint32_t drill_qpn(const struct drill_net *net, uint64_t qpn);

/* Return a starting PSN: drill_dut_psn() for the requests that the DUT sends on this QP,
 * drill_own_psn() for the requests that the drill sends to this QP. */
uint32_t drill_dut_psn(const struct script_object *qp);
uint32_t drill_own_psn(const struct script_object *qp);

struct drill_comp {
    int object; /* index of the QP in the script */
    bool recv;
    uint64_t id;
    unsigned status; /* status of the completion, enum rnic_wc_status */
    uint32_t len;
    bool has_imm, has_invalidated, solicited;
    uint32_t imm, invalidated;
    uint32_t src_qp;
    uint64_t header; /* length of the GRH area before the data in the receive buffer, bytes; 0:
                      * no area */
};

struct drill_async {
    unsigned type; /* enum rnic_event_type */
    int object;
};

struct drill_device;

#define DRILL_UNSUPPORTED_TEXT "the device has no "
#define DRILL_VERB_UNSUPPORTED (-1000) /* error of a verb that the device lacks */

/* Returns whether an error text begins with DRILL_UNSUPPORTED_TEXT. Such an error reports that the
 * device lacks a capability. */
bool device_is_unsupported(const char *text);

struct drill_device_ops {
    /* Returns whether the device has a capability that a script needs. */
    bool (*supports)(const char *need);
    /* Creates the device. `config` is the configuration of this kind of device, for example struct
     * device_pipe_config. Returns NULL and an error if the device cannot be created. An error that
     * begins with DRILL_UNSUPPORTED_TEXT names what the device lacks. Sets *unreachable to true if
     * no script can be played. A device in real time replaces the addresses and QPNs of `net` by
     * its own. */
    struct drill_device *(*open)(const void *config, const struct script *script,
                                 struct drill_net *net, bool *unreachable, struct error *error);
    void (*close)(struct drill_device *dev);

    void (*input)(struct drill_device *dev, const uint8_t *frame, size_t len, uint64_t now);
    size_t (*output)(struct drill_device *dev, uint8_t *buf, size_t cap, uint64_t now);
    uint64_t (*deadline)(const struct drill_device *dev);
    void (*expire)(struct drill_device *dev, uint64_t now);

    /* Executes a verb. Returns 0, an enum rnic_error, or DRILL_VERB_UNSUPPORTED. */
    int (*verb)(struct drill_device *dev, const struct script_event *event, uint64_t now);
    bool (*poll)(struct drill_device *dev, struct drill_comp *out);
    bool (*async)(struct drill_device *dev, struct drill_async *out);
    /* Get the next CQ notification or CM event. Return false if there is none. If the device does
     * not report such events, the pointer is NULL. */
    bool (*notified)(struct drill_device *dev, int *cq);
    bool (*cm_event)(struct drill_device *dev, unsigned *type);

    /* Return the current address, key, number or state of an object. */
    uint64_t (*address)(const struct drill_device *dev, int object);
    uint32_t (*key)(const struct drill_device *dev, int object);
    uint32_t (*number)(const struct drill_device *dev, int object); /* QPN or SRQ number */
    unsigned (*state)(const struct drill_device *dev, int object);  /* state of a QP */

    /* Copy bytes of an MR, or of the buffer of a completed receive. Return false if the MR or the
     * buffer does not contain the whole range. */
    bool (*read)(const struct drill_device *dev, int object, uint64_t off, void *buf, size_t len);
    bool (*read_recv)(const struct drill_device *dev, const struct drill_comp *comp, void *buf,
                      size_t len);
    /* Sets *out to the value of a counter. Returns false if the device has no such counter. The
     * function pointer is NULL if the device has no counters at all. */
    bool (*counter)(const struct drill_device *dev, const char *name, uint64_t *out);
    /* Functions of a device in real time; NULL in virtual time. wait() waits until the device acts,
     * at most until time `until` and at most some milliseconds. It returns the current time.
     * clock() returns the current time. arrived() returns the arrival time of the frame that
     * output() returned last. patience() returns how late after its time window an event may be,
     * ns. */
    uint64_t (*wait)(struct drill_device *dev, uint64_t until);
    uint64_t (*clock)(const struct drill_device *dev);
    uint64_t (*arrived)(const struct drill_device *dev);
    uint64_t (*patience)(const struct drill_device *dev);
    /* Returns the sum of the times for which the device did not run since the start of the drill,
     * ns. Only for devices in real time; the pointer may be NULL. */
    uint64_t (*stalled)(const struct drill_device *dev);
    /* Returns NULL while the drill can continue. Otherwise returns the reason: the error that ended
     * the connection to the device, or DRILL_UNSUPPORTED_TEXT and an operation that the device
     * lacks. The pointer may be NULL. */
    const char *(*failure)(const struct drill_device *dev);
    /* Tests whether the device can still be reached. Returns 0, or -1 and an error. Called after a
     * drill during which the connection to the device failed. The pointer may be NULL. */
    int (*reach)(const void *config, struct error *error);
    /* Returns whether the guard bytes before and after each memory region are unchanged. The
     * pointer is NULL if the regions have no guard bytes. */
    bool (*guards_intact)(const struct drill_device *dev);
};

#endif

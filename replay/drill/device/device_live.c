/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_live.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "drill/device/live_verbs.h"
#include "util/keymap.h"
#include "wire/gid.h"

#define POLL_NS     UINT64_C(3000000)     /* maximum time between two polls of the agent, ns */
#define STAMP_LIMIT UINT64_C(10000000000) /* age above which a time stamp is ignored, ns */

/* Received frame that the engine has not fetched. */
struct live_frame {
    uint8_t *bytes;
    size_t len;
    uint64_t time; /* time of arrival, in the time of the drill, ns */
};

struct drill_device {
    struct live_agent agent;
    struct live_port port;
    struct live_frame *frame;
    size_t frame_at, frame_cnt, frame_cap;
    uint64_t start; /* monotonic time at which the drill started, ns */
    uint64_t arrived;
    uint64_t patience;
    bool lost; /* the interface failed, or memory is exhausted */
};

int device_live_address(struct device_live_config *config, const char *text, bool own,
                        struct error *error)
{
    uint8_t addr[16];

    if (!live_address(text, addr))
        return error_set(error, "%s: not an IP address", text);
    if (roce_gid_is_ip4(addr))
        *(own ? &config->address4 : &config->target4) = text;
    else
        *(own ? &config->address6 : &config->target6) = text;
    return 0;
}

static bool device_supports(const char *need)
{
    return live_agent_supports(need);
}

/* ---- time and frames ------------------------------------------------------------------------- */

static uint64_t drill_time(const struct drill_device *dev, uint64_t monotonic)
{
    return monotonic > dev->start ? monotonic - dev->start + DRILL_TIME_BASE : DRILL_TIME_BASE;
}

static uint64_t device_clock(const struct drill_device *dev)
{
    return drill_time(dev, live_now());
}

/* Converts a time stamp in UTC to the monotonic clock. Returns `now` if the stamp is 0, in the
 * future, or older than STAMP_LIMIT. */
static uint64_t monotonic_of(uint64_t stamp, uint64_t now)
{
    uint64_t utc = rnic_clock_ns(CLOCK_REALTIME);

    return stamp == 0 || stamp > utc || utc - stamp > STAMP_LIMIT || utc - stamp > now
               ? now
               : now - (utc - stamp);
}

static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct drill_device *dev = user;
    struct live_frame *to;
    struct roce_pkt pkt;

    if (frame->flags & RNIC_FRAME_LOCAL)
        return;
    /* ignore packets to other QPs than the drill's, for example to QP 1 of the host's CM */
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) == 0 &&
        (pkt.bth.dest_qp < dev->port.qpn || pkt.bth.dest_qp >= dev->port.qpn + LIVE_QPNS))
        return;
    if (!VEC_GROW(dev->frame, dev->frame_cnt, dev->frame_cap) ||
        !(dev->frame[dev->frame_cnt].bytes = malloc(frame->len + 1u))) {
        dev->lost = true;
        return;
    }
    to = &dev->frame[dev->frame_cnt++];
    memcpy(to->bytes, frame->data, frame->len);
    to->len = frame->len;
    to->time = drill_time(dev, monotonic_of(frame->stamp, live_now()));
}

static void receive_frames(struct drill_device *dev, uint64_t until)
{
    int cnt = live_port_wait(&dev->port, until, take_frame, dev);

    while (cnt > 0)
        cnt = live_port_wait(&dev->port, 0, take_frame, dev);
    dev->lost |= cnt < 0;
}

/* Receives frames while the agent client waits for a reply. */
static void receive_idle(void *user)
{
    receive_frames(user, 0);
}

/* Receives frames, then polls the agent. Returns a time. The queue contains all frames that arrived
 * before this time. */
static uint64_t device_wait(struct drill_device *dev, uint64_t until)
{
    uint64_t now = device_clock(dev), end = now + POLL_NS < until ? now + POLL_NS : until;

    receive_frames(dev, end > now ? end - DRILL_TIME_BASE + dev->start : 0);
    now = device_clock(dev);
    receive_frames(dev, 0);
    live_agent_poll(&dev->agent);
    return now;
}

/* Drops the frames that arrived before the drill began. Some of them may have arrived before the
 * kernel filter was installed. */
static void drop_frames(struct drill_device *dev)
{
    receive_frames(dev, 0);
    while (dev->frame_cnt > 0)
        free(dev->frame[--dev->frame_cnt].bytes);
    dev->frame_at = 0;
}

static uint64_t device_arrived(const struct drill_device *dev)
{
    return dev->arrived;
}

static uint64_t device_patience(const struct drill_device *dev)
{
    return dev->patience;
}

static uint64_t device_stalled(const struct drill_device *dev)
{
    return dev->agent.stalled;
}

static const char *device_failure(const struct drill_device *dev)
{
    return dev->agent.failed ? dev->agent.error.text
           : dev->lost       ? "the interface failed, or no memory"
                             : NULL;
}

static void device_input(struct drill_device *dev, const uint8_t *frame, size_t len, uint64_t now)
{
    struct rnic_frame out = {.data = frame, .len = (uint32_t)len};

    (void)now;
    live_agent_forget(&dev->agent);
    if (live_port_send(&dev->port, &out, 1, &dev->agent.error) != 0)
        dev->agent.failed = true;
}

static size_t device_output(struct drill_device *dev, uint8_t *buf, size_t cap, uint64_t now)
{
    (void)now;
    while (dev->frame_at < dev->frame_cnt) {
        struct live_frame *from = &dev->frame[dev->frame_at++];
        size_t len = from->len < cap ? from->len : cap;

        memcpy(buf, from->bytes, len);
        free(from->bytes);
        from->bytes = NULL;
        dev->arrived = from->time;
        if (len)
            return len;
    }
    dev->frame_at = dev->frame_cnt = 0;
    return 0;
}

static uint64_t device_deadline(const struct drill_device *dev)
{
    (void)dev;
    return UINT64_MAX;
}

static void device_expire(struct drill_device *dev, uint64_t now)
{
    (void)dev;
    (void)now;
}

/* ---- opening the device ---------------------------------------------------------------------- */

static void device_close(struct drill_device *dev)
{
    live_agent_close(&dev->agent);
    live_port_close(&dev->port);
    while (dev->frame_at < dev->frame_cnt)
        free(dev->frame[dev->frame_at++].bytes);
    free(dev->frame);
    free(dev);
}

static int open_port(struct drill_device *dev, const struct device_live_config *config,
                     const struct drill_net *net, struct error *error)
{
    bool ip6 = net->encap == ROCE_ENCAP_V2_IP6;
    const char *target = ip6 ? config->target6 : config->target4;
    const char *own = ip6 ? config->address6 : config->address4;
    uint8_t to[16], from[16];

    if (!target)
        return error_set(error, DRILL_UNSUPPORTED_TEXT "IPv%d address (--target)", ip6 ? 6 : 4);
    if (!live_address(target, to) || (own && !live_address(own, from)))
        return error_set(error, "%s: not an IP address", own ? own : target);
    return live_port_open(&dev->port, config->iface, to, own ? from : NULL, config->really, error);
}

/* Tests that the device and its agent can be reached, for each IP version with a target. If
 * `drills` is not NULL, tests only the IP versions of the drills, and announces to the user that
 * their packets will be transmitted. */
static int try_device(const struct device_live_config *config,
                      const struct device_live_drills *drills, struct error *error)
{
    for (unsigned ip = 4; ip <= 6; ip += 2) {
        struct drill_device dev = {.agent = {.client.fd = -1}};
        struct drill_net net = drill_net_of(ip);
        size_t cnt = !drills ? 0 : ip == 4 ? drills->ip4 : drills->ip6;
        int rc;

        if (!(ip == 4 ? config->target4 : config->target6) || (drills && cnt == 0))
            continue;
        rc = open_port(&dev, config, &net, error);
        if (rc == 0 && drills)
            live_port_announce(&dev.port, "the packets of %zu drill%s", cnt, cnt == 1 ? "" : "s");
        if (rc == 0)
            rc = live_port_resolve(&dev.port, error);
        if (rc == 0)
            rc = agent_client_open(&dev.agent.client, config->agent, dev.port.target, error);
        agent_client_close(&dev.agent.client);
        live_port_close(&dev.port);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int device_live_check(const struct device_live_config *config,
                      const struct device_live_drills *drills, struct error *error)
{
    return try_device(config, drills, error);
}

static int device_reach(const void *config, struct error *error)
{
    return try_device(config, NULL, error);
}

static struct drill_device *device_open(const void *config, const struct script *script,
                                        struct drill_net *net, bool *unreachable,
                                        struct error *error)
{
    const struct device_live_config *c = config;
    struct drill_device *dev = calloc(1, sizeof(*dev));

    if (!dev) {
        error_set(error, "no memory");
        return NULL;
    }
    dev->agent.client.fd = -1;
    dev->patience = c->patience_ns;
    if (live_agent_check(script, error) != 0 || open_port(dev, c, net, error) != 0 ||
        live_port_resolve(&dev->port, error) != 0)
        goto failed;
    memcpy(net->dut_addr, dev->port.target, 16);
    memcpy(net->own_addr, dev->port.addr, 16);
    memcpy(net->dut_mac, dev->port.dmac, 6);
    memcpy(net->own_mac, dev->port.mac, 6);
    net->own_qpn = dev->port.qpn;
    /* The device may ask for our MAC address while the agent connects its QP. */
    dev->agent.client.idle = receive_idle;
    dev->agent.client.idle_ctx = dev;
    if (live_agent_open(&dev->agent, c->agent, c->timeout, dev->port.iface.path_mtu, script, net,
                        error) != 0)
        goto failed;
    drop_frames(dev);
    dev->start = live_now();
    dev->agent.stalled = 0;
    return dev;
failed:
    /* device_reach() finds the other reasons why a device is unreachable. */
    *unreachable = dev->agent.no_route;
    device_close(dev);
    return NULL;
}

/* ---- functions of the agent ------------------------------------------------------------------ */

static int device_verb(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    (void)now;
    return live_verb(&dev->agent, event);
}

static bool device_poll(struct drill_device *dev, struct drill_comp *out)
{
    return live_agent_comp(&dev->agent, out);
}

static bool device_async(struct drill_device *dev, struct drill_async *out)
{
    return live_agent_event(&dev->agent, out);
}

static bool device_notified(struct drill_device *dev, int *cq)
{
    return live_agent_notified(&dev->agent, cq);
}

static uint64_t device_address(const struct drill_device *dev, int object)
{
    return dev->agent.at[object].address;
}

static uint32_t device_key(const struct drill_device *dev, int object)
{
    return dev->agent.at[object].rkey;
}

static uint32_t device_number(const struct drill_device *dev, int object)
{
    return dev->agent.at[object].qpn;
}

/* Casts away `const`, for a query. A query changes the connection to the agent, but not the state
 * of the device. */
static struct live_agent *agent_of(const struct drill_device *dev)
{
    return (struct live_agent *)(uintptr_t)&dev->agent;
}

static unsigned device_state(const struct drill_device *dev, int object)
{
    return live_agent_state(agent_of(dev), object);
}

static bool device_read(const struct drill_device *dev, int object, uint64_t off, void *buf,
                        size_t len)
{
    return live_agent_read(agent_of(dev), object, off, buf, len);
}

static bool device_read_recv(const struct drill_device *dev, const struct drill_comp *comp,
                             void *buf, size_t len)
{
    return live_agent_read_recv(agent_of(dev), comp, buf, len);
}

const struct drill_device_ops device_live_ops = {
    .supports = device_supports,
    .open = device_open,
    .close = device_close,
    .input = device_input,
    .output = device_output,
    .deadline = device_deadline,
    .expire = device_expire,
    .verb = device_verb,
    .poll = device_poll,
    .async = device_async,
    .notified = device_notified,
    .address = device_address,
    .key = device_key,
    .number = device_number,
    .state = device_state,
    .read = device_read,
    .read_recv = device_read_recv,
    .wait = device_wait,
    .clock = device_clock,
    .arrived = device_arrived,
    .patience = device_patience,
    .stalled = device_stalled,
    .failure = device_failure,
    .reach = device_reach,
};

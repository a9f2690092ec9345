/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Engine of drills in real time: the software RNIC behind a simulated slow network and a slow
 * agent. The clock is simulated, so each test has the same result on every machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "drill/device/device_rnic.h"
#include "drill/engine.h"
#include "drill/parser.h"
#include "support/suite.h"

#define HEAD                                                                                       \
    "purpose p\nrules RC-RSP-099\nrole both\n"                                                     \
    "mr M len 4096 access read,write fill 1\nqp Q rc timeout 18\n"
/* A WRITE that the device acknowledges. It is line 6 of the drill. */
#define WRITE_ACKED "+0 < WRITE Only PSN +0 va M+0 payload 8 fill 3 AckReq\n"
#define MS(n)       ((uint64_t)(n)*1000000u)
#define QUEUE_MAX   64u

/* Delays of the network and of the agent, ns. */
struct delays {
    uint64_t to_device, from_device;
    uint64_t agent; /* duration of one poll of the agent, ns */
    bool stalls;    /* each poll of the agent also stops the device while it lasts */
    uint64_t patience;
    unsigned polls;  /* completions become visible after this number of polls */
    bool port_event; /* the port raises an event that no line of the drill expects */
};

struct queued {
    uint8_t bytes[ROCE_FRAME_MAX];
    size_t len;
    uint64_t time;
};

/* A device in real time that wraps the software RNIC, which has virtual time. */
struct drill_device {
    struct drill_device *inner;
    struct delays delays;
    uint64_t clock, arrived;
    struct queued in[QUEUE_MAX], out[QUEUE_MAX];
    unsigned in_cnt, out_cnt;
    unsigned polls;  /* number of polls by the engine up to now */
    bool port_event; /* the port has raised its event */
};

static const struct drill_device_ops *const inner = &device_rnic_ops;

static void collect(struct drill_device *dev, uint64_t now)
{
    struct queued *to = &dev->out[dev->out_cnt];

    while (dev->out_cnt < QUEUE_MAX &&
           (to->len = inner->output(dev->inner, to->bytes, sizeof(to->bytes), now)) != 0) {
        to->time = now + dev->delays.from_device;
        to = &dev->out[++dev->out_cnt];
    }
}

/* Advances the device to time `end`, with all packets that arrive and all timers that fire until
 * then. */
static void advance(struct drill_device *dev, uint64_t end)
{
    for (;;) {
        uint64_t timer = inner->deadline(dev->inner);
        uint64_t packet = dev->in_cnt ? dev->in[0].time : UINT64_MAX;

        if (timer > end && packet > end)
            break;
        if (packet <= timer) {
            inner->input(dev->inner, dev->in[0].bytes, dev->in[0].len, packet);
            memmove(&dev->in[0], &dev->in[1], --dev->in_cnt * sizeof(dev->in[0]));
            collect(dev, packet);
        } else {
            inner->expire(dev->inner, timer);
            collect(dev, timer);
        }
    }
    dev->clock = end;
}

static struct drill_device *slow_open(const void *config, const struct script *script,
                                      struct drill_net *net, bool *unreachable, struct error *error)
{
    struct drill_device *dev = calloc(1, sizeof(*dev));

    dev->delays = *(const struct delays *)config;
    dev->clock = DRILL_TIME_BASE;
    dev->inner = inner->open(NULL, script, net, unreachable, error);
    return dev;
}

static void slow_close(struct drill_device *dev)
{
    inner->close(dev->inner);
    free(dev);
}

static void slow_input(struct drill_device *dev, const uint8_t *frame, size_t len, uint64_t now)
{
    struct queued *to = &dev->in[dev->in_cnt++];

    (void)now;
    memcpy(to->bytes, frame, len);
    to->len = len;
    to->time = dev->clock + dev->delays.to_device;
    advance(dev, dev->clock);
}

static size_t slow_output(struct drill_device *dev, uint8_t *buf, size_t cap, uint64_t now)
{
    size_t len = dev->out[0].len;

    (void)now;
    if (dev->out_cnt == 0 || dev->out[0].time > dev->clock || len > cap)
        return 0;
    memcpy(buf, dev->out[0].bytes, len);
    dev->arrived = dev->out[0].time;
    memmove(&dev->out[0], &dev->out[1], --dev->out_cnt * sizeof(dev->out[0]));
    return len;
}

static uint64_t slow_wait(struct drill_device *dev, uint64_t until)
{
    uint64_t end = dev->clock + MS(3) < until ? dev->clock + MS(3) : until, now;

    advance(dev, end > dev->clock ? end : dev->clock);
    now = dev->clock;
    advance(dev, dev->clock + dev->delays.agent);
    dev->polls++;
    return now;
}

static uint64_t slow_clock(const struct drill_device *dev)
{
    return dev->clock;
}

static uint64_t slow_arrived(const struct drill_device *dev)
{
    return dev->arrived;
}

static uint64_t slow_patience(const struct drill_device *dev)
{
    return dev->delays.patience;
}

static uint64_t slow_stalled(const struct drill_device *dev)
{
    return dev->delays.stalls ? dev->polls * dev->delays.agent : 0;
}

static int slow_verb(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    int rc = inner->verb(dev->inner, event, dev->clock);

    (void)now;
    collect(dev, dev->clock);
    return rc;
}

static bool slow_poll(struct drill_device *dev, struct drill_comp *out)
{
    return dev->polls >= dev->delays.polls && inner->poll(dev->inner, out);
}

static bool slow_async(struct drill_device *dev, struct drill_async *out)
{
    if (dev->delays.port_event && dev->polls == 1 && !dev->port_event) {
        dev->port_event = true;
        *out = (struct drill_async){.type = 18, .object = SCRIPT_NO_OBJECT}; /* the GID changed */
        return true;
    }
    return inner->async(dev->inner, out);
}

static bool slow_notified(struct drill_device *dev, int *cq)
{
    return inner->notified(dev->inner, cq);
}

static bool slow_cm_event(struct drill_device *dev, unsigned *type)
{
    return inner->cm_event(dev->inner, type);
}

static uint64_t slow_deadline(const struct drill_device *dev)
{
    (void)dev;
    return UINT64_MAX;
}

static uint64_t slow_address(const struct drill_device *dev, int object)
{
    return inner->address(dev->inner, object);
}

static uint32_t slow_key(const struct drill_device *dev, int object)
{
    return inner->key(dev->inner, object);
}

static uint32_t slow_number(const struct drill_device *dev, int object)
{
    return inner->number(dev->inner, object);
}

static unsigned slow_state(const struct drill_device *dev, int object)
{
    return inner->state(dev->inner, object);
}

static bool slow_read(const struct drill_device *dev, int object, uint64_t off, void *buf,
                      size_t len)
{
    return inner->read(dev->inner, object, off, buf, len);
}

static bool slow_guards(const struct drill_device *dev)
{
    return inner->guards_intact(dev->inner);
}

/* Plays a drill and expects a verdict, and a part of the problem's text. */
static void expect(const char *events, const struct delays *delays, enum drill_verdict verdict,
                   const char *problem)
{
    struct drill_device_ops ops = {.supports = inner->supports,
                                   .open = slow_open,
                                   .close = slow_close,
                                   .input = slow_input,
                                   .output = slow_output,
                                   .deadline = slow_deadline,
                                   .verb = slow_verb,
                                   .poll = slow_poll,
                                   .async = slow_async,
                                   .notified = slow_notified,
                                   .cm_event = slow_cm_event,
                                   .address = slow_address,
                                   .key = slow_key,
                                   .number = slow_number,
                                   .state = slow_state,
                                   .read = slow_read,
                                   .wait = slow_wait,
                                   .clock = slow_clock,
                                   .arrived = slow_arrived,
                                   .patience = slow_patience,
                                   .stalled = slow_stalled,
                                   .guards_intact = slow_guards};
    struct drill_result r = {.verdict = DRILL_VERDICT_CNT};
    struct error error = {""};
    struct script script;
    char text[2048];

    snprintf(text, sizeof(text), HEAD "%s", events);
    if (script_parse(&script, "t.drill", text, strlen(text), 0, &error) == 0)
        drill_run(&script, &ops, delays, NULL, &r);
    if (r.verdict != verdict || !strstr(r.problem, problem))
        suite_fail(__FILE__, __LINE__, "expected %s '%s', actual %s line %u '%s' %s with:\n%s",
                   drill_verdict_name(verdict), problem,
                   r.verdict < DRILL_VERDICT_CNT ? drill_verdict_name(r.verdict) : "?", r.line,
                   r.problem, error.text, events);
    drill_result_free(&r);
    script_free(&script);
}

/* The line expects silence for 10 ms. The packet arrives after 5 ms, while the engine waits 20 ms
 * for the agent. So the engine sees it late, but the line must fail. */
static void packet_within_a_silence_that_is_seen_after_it_fails(void)
{
    const struct delays slow = {.from_device = MS(5), .agent = MS(20), .patience = MS(1000)};

    expect(WRITE_ACKED "+0~+10ms > nothing\n+0 > Acknowledge PSN +0 ACK\n", &slow, DRILL_FAIL,
           "expected none");
}

static void packet_after_a_silence_belongs_to_the_next_line(void)
{
    const struct delays slow = {.from_device = MS(15), .agent = MS(20), .patience = MS(1000)};

    expect(WRITE_ACKED "+0~+10ms > nothing\n+0 > Acknowledge PSN +0 ACK\n", &slow, DRILL_PASS, "");
}

/* The line expects no packet for 10 ms. The device does not run for 20 ms, and then sends its
 * packet at once. The engine prolongs the 10 ms by the time in which the device did not run, so the
 * line must fail. */
static void silence_is_longer_by_the_time_in_which_the_device_did_not_run(void)
{
    const struct delays slow = {
        .from_device = MS(15), .agent = MS(20), .stalls = true, .patience = MS(1000)};

    expect(WRITE_ACKED "+0~+10ms > nothing\n+0 > Acknowledge PSN +0 ACK\n", &slow, DRILL_FAIL,
           "expected none");
}

/* The packet arrives after 50 ms: too late for its line, which allows 1 ms, but within the patience
 * (--patience) of 100 ms. The alternative "> nothing" is met only if no packet arrives within the
 * patience. So it is not met. If the packet arrives after 500 ms, the alternative is met. */
static void late_packet_is_not_the_alternative_nothing(void)
{
    struct delays slow = {.from_device = MS(50), .patience = MS(100)};
    static const char events[] =
        WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK\n else > nothing known S1\n";

    expect(events, &slow, DRILL_PASS, "");
    slow.from_device = MS(500);
    expect(events, &slow, DRILL_KNOWN, "");
}

/* A GID of the host becomes valid while the drill runs. This event of the port is not caused by the
 * drill, so the line "no event" must pass. */
static void event_of_the_port_is_not_one_of_the_drill(void)
{
    const struct delays slow = {.port_event = true, .patience = MS(100)};

    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK\n+0~+10ms no event\n", &slow, DRILL_PASS,
           "");
}

/* The line expects silence for 20 ms, and its alternative expects a packet. The packet arrives
 * after 100 ms. The engine prolongs a silence that has alternatives, so a slow device meets the
 * alternative as well. */
static void late_packet_is_the_alternative_of_a_silence(void)
{
    struct delays slow = {.from_device = MS(100), .patience = MS(1000)};
    static const char events[] =
        WRITE_ACKED "+0~+20ms > nothing\n else > Acknowledge PSN +0 ACK known S1\n";

    expect(events, &slow, DRILL_KNOWN, "");
    slow.from_device = MS(400); /* after the prolonged silence, so `> nothing` passes */
    expect(events, &slow, DRILL_PASS, "");
    expect(WRITE_ACKED "+0~+20ms > nothing\n+0 > Acknowledge PSN +0 ACK\n", &slow, DRILL_PASS, "");
}

/* The packet arrives after the time window of the second line, but within the patience
 * (--patience). The packet is also within the time window of the line's alternative, a known
 * deviation. The alternative must be met. */
static void packet_in_the_window_of_a_later_alternative_is_that_alternative(void)
{
    const struct delays slow = {.agent = MS(1), .patience = MS(5000)};

    expect("+0 post send Q id 1 from M+0 len 8\n"
           "+0~+1ms > SEND Only PSN +0\n"
           "+0~+1ms > SEND Only PSN +0\n else +1s~+4s known S1\n",
           &slow, DRILL_KNOWN, "");
}

/* The drill acknowledges the SEND only after 700 ms, more than half of the QP's timeout of 1.07 s.
 * So the failure is inconclusive. */
static void failure_of_a_slow_drill_is_inconclusive(void)
{
    const struct delays slow = {.agent = MS(700), .patience = MS(5000)};

    expect("+0 post send Q id 1 from M+0 len 8\n"
           "+0~+1ms > SEND Only PSN +0\n"
           "+0 < Acknowledge PSN +0 ACK\n"
           "+0~+1ms comp Q id 1 flushed\n",
           &slow, DRILL_INCONCLUSIVE, "the packets of the drill were 700 ms too slow");
}

static void late_packet_passes_within_the_patience(void)
{
    struct delays slow = {.from_device = MS(50), .patience = MS(100)};

    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK\n", &slow, DRILL_PASS, "");
    slow.patience = MS(10);
    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK\n", &slow, DRILL_FAIL,
           "no packet within 11 ms");
}

static void memory_is_checked_until_the_patience_ends(void)
{
    struct delays slow = {.to_device = MS(30), .patience = MS(100)};
    static const char events[] =
        WRITE_ACKED "+0 check M+0 len 8 is fill 3\n+0 > Acknowledge PSN +0 ACK\n";

    expect(events, &slow, DRILL_PASS, "");
    slow.patience = MS(10);
    expect(events, &slow, DRILL_FAIL, "byte 0 of 8");
}

/* The agent reports the completion of the receive after the RNR wait of 10.24 ms has ended. The
 * lower bound of the next packet must not count from this late completion. */
static void late_completion_does_not_move_a_lower_bound(void)
{
    const struct delays slow = {.agent = MS(2), .patience = MS(1000), .polls = 7};

    expect("let W = rnr(20)\n"
           "+0 recv Q id 1 len 8\n"
           "+0 post send Q id 2 from M+0 len 8\n"
           "+0~+1ms > SEND Only PSN +0\n"
           "+0 < Acknowledge PSN +0 RNR NAK timer 20\n"
           "+0 < SEND Only PSN +0 payload 8 fill 1 AckReq\n"
           "+0~+1ms > Acknowledge PSN +0 ACK\n"
           "+0~+1ms comp recv Q id 1 success\n"
           "+W~+2W > SEND Only PSN +0\n"
           "+0 < Acknowledge PSN +0 ACK\n"
           "+0~+1ms comp Q id 2 success\n",
           &slow, DRILL_PASS, "");
}

/* The line allows the retransmission from 2 s on, but the timeout is 1.07 s. The early packet must
 * fail the line. */
static void early_packet_fails(void)
{
    const struct delays slow = {.agent = MS(1), .patience = MS(5000)};

    expect("+0 post send Q id 1 from M+0 len 8\n"
           "+0~+1ms > SEND Only PSN +0\n"
           "+2s~+3s > SEND Only PSN +0\n",
           &slow, DRILL_FAIL, "too early");
}

SUITE("replay.drill_real_time", TEST(packet_within_a_silence_that_is_seen_after_it_fails),
      TEST(packet_after_a_silence_belongs_to_the_next_line),
      TEST(silence_is_longer_by_the_time_in_which_the_device_did_not_run),
      TEST(late_packet_is_not_the_alternative_nothing),
      TEST(late_packet_is_the_alternative_of_a_silence),
      TEST(event_of_the_port_is_not_one_of_the_drill),
      TEST(failure_of_a_slow_drill_is_inconclusive),
      TEST(packet_in_the_window_of_a_later_alternative_is_that_alternative),
      TEST(late_packet_passes_within_the_patience), TEST(memory_is_checked_until_the_patience_ends),
      TEST(late_completion_does_not_move_a_lower_bound), TEST(early_packet_fails))

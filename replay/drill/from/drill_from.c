/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/drill_from.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "drill/device/device_rnic.h"
#include "drill/engine.h"
#include "drill/from/expected_lines.h"
#include "drill/parser.h"
#include "drill/words.h"
#include "engine/replay.h"
#include "engine/rc_responder.h"
#include "live/live_script.h"
#include "wire/gid.h"

#define SHORT_PAYLOAD 32u                 /* longest payload that the drill has as bytes */
#define REGION_MAX    (UINT64_C(1) << 26) /* longest region, bytes */
#define PATTERNS      200u                /* number of byte patterns for messages */
#define STEP_NS       1000u               /* time between two lines of the first script */

/* Connection that the drill is written from. */
struct source {
    struct replay replay;
    struct live_script script;
    uint32_t connection;
    uint32_t qp[DRILL_FROM_QPS_MAX]; /* direction of each QP */
    unsigned qp_cnt;
    struct drill_region region[DRILL_FROM_REGIONS_MAX];
    unsigned region_cnt;
    unsigned recv_id;
    uint32_t start[DRILL_FROM_QPS_MAX]; /* PSN of the first packet of the latest message */
    FILE *out;
    struct error *error;
};

static const struct inferred_setup *setup_of(const struct source *s, unsigned qp)
{
    return &s->replay.session.dir[s->qp[qp]].setup;
}

static int fail(struct source *s, const char *why)
{
    if (s->connection == DRILL_FROM_FIRST)
        return error_set(s->error, "%s: %s", s->replay.trace.name, why);
    return error_set(s->error, "%s: connection #%u cannot become a drill: %s", s->replay.trace.name,
                     s->connection, why);
}

/* Returns the QP of a direction, or -1 if the direction belongs to another connection. */
static int qp_of(const struct source *s, uint32_t dir)
{
    for (unsigned i = 0; i < s->qp_cnt; i++)
        if (s->qp[i] == dir)
            return (int)i;
    return -1;
}

/* Returns the region of a key at this host, or -1. */
static int region_of(const struct source *s, uint32_t host, uint32_t rkey)
{
    for (unsigned i = 0; i < s->region_cnt; i++)
        if (s->region[i].host == host && s->region[i].rkey == rkey)
            return (int)i;
    return -1;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void print_access(FILE *out, unsigned access)
{
    static const struct {
        unsigned bit;
        const char *word;
    } words[] = {{RNIC_ACCESS_REMOTE_WRITE, "write"},
                 {RNIC_ACCESS_REMOTE_READ, "read"},
                 {RNIC_ACCESS_REMOTE_ATOMIC, "atomic"},
                 {RNIC_ACCESS_FLUSH_GLOBAL, "flush-global"},
                 {RNIC_ACCESS_FLUSH_PERSISTENT, "flush-persistent"}};
    const char *mark = " access ";

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (access & words[i].bit) {
            fprintf(out, "%s%s", mark, words[i].word);
            mark = ",";
        }
    if (*mark == ' ')
        fputs(" access none", out);
}

/* Chooses the directions and the regions of the connection. Returns 0, or -1 and an error. */
static int choose_objects(struct source *s)
{
    const struct session *session = &s->replay.session;

    for (uint32_t i = 0; i < session->dir_cnt; i++) {
        const struct rc_direction *dir = &session->dir[i];

        if (dir->setup.skip || dir->failed || session->host[dir->host].failed)
            continue;
        if (s->connection == DRILL_FROM_FIRST)
            s->connection = dir->setup.recorded->conn_index;
        if (dir->setup.recorded->conn_index != s->connection)
            continue;
        if (inferred_setup_svc(&dir->setup) != ROCE_SVC_RC)
            return fail(s, "it is an XRC connection");
        if (s->qp_cnt == DRILL_FROM_QPS_MAX)
            return fail(s, "too many gaps in the capture");
        s->qp[s->qp_cnt++] = i;
    }
    if (s->qp_cnt == 0)
        return fail(s, "no requests that can be replayed");
    for (unsigned i = 0; i < s->qp_cnt; i++) {
        uint32_t host = session->dir[s->qp[i]].host;
        const struct shadow_memory *memory = &session->host[host].memory;

        for (uint32_t k = 0; k < memory->keys.cnt; k++) {
            const struct shadow_region *r = &memory->region[k];

            if (r->span == 0 || region_of(s, host, r->rkey) >= 0)
                continue;
            if (r->span > REGION_MAX || s->region_cnt == DRILL_FROM_REGIONS_MAX)
                return fail(s, "too much memory");
            s->region[s->region_cnt++] = (struct drill_region){
                .host = host, .rkey = r->rkey, .low = r->low, .span = r->span};
        }
    }
    return 0;
}

static void print_objects(const struct source *s)
{
    const struct session *session = &s->replay.session;

    fprintf(s->out, "\n");
    for (unsigned i = 0; i < s->region_cnt; i++) {
        const struct drill_region *r = &s->region[i];
        const struct shadow_region *from = shadow_find(&session->host[r->host].memory, r->rkey);

        fprintf(s->out, "mr %s len %" PRIu64, drill_region_name(i), r->span);
        print_access(s->out, from->access);
        fprintf(s->out, "%s\n", from->invalidate ? " invalidates" : "");
    }
    for (unsigned i = 0; i < s->qp_cnt; i++) {
        const struct inferred_setup *setup = setup_of(s, i);

        fprintf(s->out, "qp %s rc mtu %u peer-psn %u rnr-timer %u resources %u", drill_qp_name(i),
                setup->mtu, setup->rq_psn, setup->rnr_code, setup->resources);
        print_access(s->out, setup->access);
        if (setup->pkey != 0xFFFF)
            fprintf(s->out, " pkey 0x%x", setup->pkey);
        fputc('\n', s->out);
    }
    fputc('\n', s->out);
}

static void print_head(const struct source *s)
{
    const struct session *session = &s->replay.session;
    const char *slash = strrchr(s->replay.trace.name, '/');
    bool flush = false, atomic_write = false;

    for (unsigned i = 0; i < s->qp_cnt; i++)
        for (size_t k = 0; k < setup_of(s, i)->event_cnt; k++) {
            const struct roce_opcode *op = event_opcode(setup_of(s, i), (uint32_t)k);

            flush |= op && op->kind == ROCE_KIND_FLUSH;
            atomic_write |= op && op->kind == ROCE_KIND_ATOMIC_WRITE;
        }
    fprintf(s->out,
            "purpose  the responder answers connection #%u of %s as the software RNIC does\n",
            s->connection, slash ? slash + 1 : s->replay.trace.name);
    fprintf(s->out, "rules    RC-RSP-102\nrole     responder\n");
    if (flush || atomic_write)
        fprintf(s->out, "needs   %s%s\n", flush ? " flush" : "",
                atomic_write ? " atomic-write" : "");
    if (session->host[session->dir[s->qp[0]].host].encap == ROCE_ENCAP_V2_IP6)
        fprintf(s->out, "ip       = 6\n");
}

/* ---- packets and actions --------------------------------------------------------------------- */

static void print_hex(FILE *out, const uint8_t *bytes, size_t len)
{
    fputs(" data ", out);
    for (size_t i = 0; i < len; i++)
        fprintf(out, "%02x", bytes[i]);
}

/* Prints an address of the responder's memory with its key. */
static void print_place(const struct source *s, uint32_t host, uint64_t va, uint32_t rkey)
{
    int at = region_of(s, host, rkey);

    if (at < 0)
        fprintf(s->out, " va 0x%" PRIx64 " rkey 0x%x", va, rkey);
    else if (va >= s->region[at].low)
        fprintf(s->out, " va %s+%" PRIu64, drill_region_name((unsigned)at), va - s->region[at].low);
    else
        fprintf(s->out, " va 0x%" PRIx64 " rkey %s", va, drill_region_name((unsigned)at));
}

/* Prints the payload. A retransmission has the same byte pattern, because its number depends on the
 * PSN of the message. */
static void print_payload(struct source *s, unsigned qp, const struct roce_pkt *pkt)
{
    if (roce_opcode_starts(pkt->op))
        s->start[qp] = pkt->bth.psn;
    if (pkt->payload_len == 0 && pkt->op->kind == ROCE_KIND_READ)
        return;
    if (pkt->payload_len == 0)
        fputs(" payload 0", s->out);
    else if (pkt->payload_len <= SHORT_PAYLOAD)
        print_hex(s->out, pkt->payload, pkt->payload_len);
    else
        fprintf(s->out, " payload %u fill %u", (unsigned)pkt->payload_len,
                s->start[qp] % PATTERNS + 1);
}

/* Prints the line of a request. Returns 0, or -1 and an error. */
static int print_request(struct source *s, unsigned qp, const struct trace_packet *p)
{
    const struct inferred_setup *setup = setup_of(s, qp);
    uint32_t host = s->replay.session.dir[s->qp[qp]].host;
    struct roce_pkt pkt;
    int at;

    if (p->cut || p->malformed)
        return error_set(s->error, "%s: frame %u cannot become a line of a drill: it is %s",
                         s->replay.trace.name, p->frame, p->cut ? "truncated" : "malformed");
    trace_parse(p, &pkt);
    if (!pkt.op)
        return error_set(s->error, "%s: frame %u cannot become a line of a drill: unknown opcode",
                         s->replay.trace.name, p->frame);
    fprintf(s->out, "< ");
    if (s->qp_cnt > 1)
        fprintf(s->out, "%s: ", drill_qp_name(qp));
    fprintf(s->out, "%s PSN %+d", packet_text_opcode(p->opcode),
            drill_psn_distance(pkt.bth.psn, setup->rq_psn));
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
        print_place(s, host, pkt.reth.va, pkt.reth.rkey);
        fprintf(s->out, " len %u", pkt.reth.dma_len);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH)) {
        print_place(s, host, pkt.atomiceth.va, pkt.atomiceth.rkey);
        if (pkt.op->kind == ROCE_KIND_FETCH_ADD)
            fprintf(s->out, " add 0x%" PRIx64, pkt.atomiceth.swap_add);
        else
            fprintf(s->out, " compare 0x%" PRIx64 " swap 0x%" PRIx64, pkt.atomiceth.compare,
                    pkt.atomiceth.swap_add);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_FETH))
        fprintf(s->out, " flush type %u level %u", pkt.feth.plt, pkt.feth.sel);
    if (roce_pkt_has(&pkt, ROCE_HDR_IMMDT))
        fprintf(s->out, " imm 0x%x", pkt.immdt.imm);
    if (roce_pkt_has(&pkt, ROCE_HDR_IETH)) {
        at = region_of(s, host, pkt.ieth.rkey);
        if (at < 0)
            fprintf(s->out, " invalidate 0x%x", pkt.ieth.rkey);
        else
            fprintf(s->out, " invalidate %s", drill_region_name((unsigned)at));
    }
    if (pkt.op->payload != ROCE_PAYLOAD_NONE || pkt.payload_len)
        print_payload(s, qp, &pkt);
    fprintf(s->out, "%s%s%s\n", pkt.bth.se ? " solicited" : "", pkt.bth.ackreq ? " AckReq" : "",
            p->dropped ? " bad ICRC" : "");
    return 0;
}

static int print_store(struct source *s, const struct live_event *e)
{
    int at = region_of(s, e->device, e->rkey);

    if (at < 0)
        return 0; /* memory of another connection */
    fprintf(s->out, "store %s+%" PRIu64, drill_region_name((unsigned)at),
            e->va - s->region[at].low);
    if (e->len <= SHORT_PAYLOAD)
        print_hex(s->out, s->script.byte + e->byte, e->len);
    else
        fprintf(s->out, " len %u fill %u", e->len, PATTERNS + 1 + (unsigned)at);
    fputc('\n', s->out);
    return 0;
}

/* Prints the line of an event; nothing for an event of another connection. Returns 0, or -1 and an
 * error. */
static int print_event(struct source *s, const struct live_event *e)
{
    int qp = e->kind == LIVE_RECV || e->kind == LIVE_FRAME ? qp_of(s, e->run) : -1, at;

    switch (e->kind) {
    case LIVE_RECV:
        if (qp >= 0)
            fprintf(s->out, "+1us recv %s id %u len %u\n", drill_qp_name((unsigned)qp),
                    ++s->recv_id, e->len);
        return 0;
    case LIVE_STORE:
        if (region_of(s, e->device, e->rkey) >= 0)
            fputs("+1us ", s->out);
        return print_store(s, e);
    case LIVE_WITHDRAW:
        at = region_of(s, e->device, e->rkey);
        if (at >= 0)
            fprintf(s->out, "+1us destroy %s\n", drill_region_name((unsigned)at));
        return 0;
    case LIVE_REGISTER:
        return region_of(s, e->device, e->rkey) < 0 ? 0
                                                    : fail(s, "its program registered a key again");
    case LIVE_FRAME:
        if (qp < 0)
            return 0;
        fputs("+1us ", s->out);
        return print_request(s, (unsigned)qp, event_packet(setup_of(s, (unsigned)qp), e->step));
    case LIVE_ANSWER: return 0;
    }
    return 0;
}

/* ---- the drill ------------------------------------------------------------------------------- */

/* Plays a text. Returns 0, or -1 and an error if it cannot be parsed. */
static int play(struct source *s, const char *text, struct script *script,
                struct drill_result *result)
{
    struct error problem = {""};

    if (script_parse(script, "drill", text, strlen(text), 0, &problem) != 0)
        return fail(s, problem.text);
    drill_run(script, &device_rnic_ops, NULL, NULL, result);
    return 0;
}

/* Writes the first script, without expectations, as text. Returns memory for free(), or NULL and an
 * error. */
static char *write_stimulus(struct source *s)
{
    char *text = NULL;
    size_t len = 0;
    int rc = 0;

    s->out = open_memstream(&text, &len);
    if (!s->out) {
        fail(s, "no memory");
        return NULL;
    }
    print_head(s);
    print_objects(s);
    for (size_t i = 0; rc == 0 && i < s->script.cnt; i++)
        rc = print_event(s, &s->script.event[i]);
    fclose(s->out);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

/* Writes the drill: the lines of the first script, and after each the lines for what the software
 * RNIC did at its time. */
static char *write_drill(struct source *s, const char *stimulus, const struct script *script,
                         const struct drill_result *result)
{
    struct expected_lines lines = {.script = script, .qp_cnt = s->qp_cnt};
    uint64_t time = 0;
    char *text = NULL;
    size_t len = 0, row = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out) {
        fail(s, "no memory");
        return NULL;
    }
    for (unsigned i = 0; i < s->qp_cnt; i++)
        lines.psn[i] = setup_of(s, i)->rq_psn;
    for (const char *line = stimulus; *line;) {
        size_t cnt = strcspn(line, "\n");

        fprintf(out, "%.*s\n", (int)cnt, line);
        if (*line == '+') {
            lines.after_verb = strncmp(line, "+1us <", 6) != 0;
            time += STEP_NS;
            for (; row < result->log_cnt && result->log[row].time < time + STEP_NS; row++)
                expected_lines_add(&lines, &result->log[row], out);
        }
        line += cnt + (line[cnt] == '\n');
    }
    for (; row < result->log_cnt; row++)
        expected_lines_add(&lines, &result->log[row], out);
    fclose(out);
    return text;
}

static int write_checked(struct source *s, FILE *out)
{
    struct drill_result first = {0}, second = {0};
    struct script script = {0}, again = {0};
    char *stimulus = write_stimulus(s), *text = NULL;
    int rc = stimulus ? play(s, stimulus, &script, &first) : -1;

    if (rc == 0)
        text = write_drill(s, stimulus, &script, &first);
    rc = text ? play(s, text, &again, &second) : -1;
    if (rc == 0 && second.verdict != DRILL_PASS)
        rc = fail(s, second.problem);
    if (rc == 0)
        fputs(text, out);
    drill_result_free(&first);
    drill_result_free(&second);
    script_free(&script);
    script_free(&again);
    free(stimulus);
    free(text);
    return rc;
}

int drill_from_capture(const char *path, uint32_t connection, FILE *out, struct error *error)
{
    struct source *s = calloc(1, sizeof(*s));
    struct session_watch watch;
    int rc;

    if (!s)
        return error_set(error, "%s: no memory", path);
    s->connection = connection;
    s->error = error;
    watch = live_script_watch(&s->script);
    rc = replay_open(&s->replay, path, &(struct replay_options){0}, error);
    if (rc == 0)
        rc = session_infer(&s->replay.session, &s->replay.trace, &s->replay.connections,
                           &(struct session_options){.watch = &watch}, error);
    if (rc == 0)
        rc = rc_responder_play(&s->replay.session, error);
    s->replay.session.watch = NULL;
    if (rc == 0 && live_script_finish(&s->script, &s->replay.session) != 0)
        rc = error_set(error, "%s: no memory", path);
    if (rc == 0)
        rc = choose_objects(s);
    if (rc == 0)
        rc = write_checked(s, out);
    live_script_free(&s->script);
    replay_free(&s->replay);
    free(s);
    return rc;
}

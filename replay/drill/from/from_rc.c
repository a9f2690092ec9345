/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/from_rc.h"

#include <string.h>

int from_rc_qp(const struct from_directions *q, uint32_t dir)
{
    for (unsigned i = 0; i < q->cnt; i++)
        if (q->dir[i] == dir)
            return (int)i;
    return -1;
}

int from_rc_choose(struct from_drill *d, const struct session *session, uint32_t *connection,
                   struct from_directions *out)
{
    enum roce_svc svc = ROCE_SVC_RC;

    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < session->dir_cnt; i++) {
        const struct rc_direction *dir = &session->dir[i];

        if (dir->setup.skip || dir->failed || session->host[dir->host].failed)
            continue;
        if (*connection == FROM_RC_FIRST)
            *connection = dir->setup.recorded->conn_index;
        if (dir->setup.recorded->conn_index != *connection)
            continue;
        if (out->cnt == FROM_QPS_MAX)
            return from_fail(d, "too many gaps in the capture");
        if (out->cnt && inferred_setup_svc(&dir->setup) != svc)
            return from_fail(
                d, "the two directions of the connection use different transport services");
        svc = inferred_setup_svc(&dir->setup);
        out->dir[out->cnt++] = i;
    }
    snprintf(d->what, sizeof(d->what), "connection #%u", *connection);
    d->lines.many_qps = out->cnt > 1;
    return out->cnt == 0;
}

void from_rc_head(FILE *out, const struct session *session, const struct from_directions *q,
                  const char *role, const char *rule)
{
    bool flush = false, atomic_write = false;

    for (unsigned i = 0; i < q->cnt; i++) {
        const struct inferred_setup *setup = &session->dir[q->dir[i]].setup;

        for (size_t k = 0; k < setup->event_cnt; k++) {
            const struct roce_opcode *op = event_opcode(setup, (uint32_t)k);

            flush |= op && op->kind == ROCE_KIND_FLUSH;
            atomic_write |= op && op->kind == ROCE_KIND_ATOMIC_WRITE;
        }
    }
    fprintf(out, "rules    %s\nrole     %s\n", rule, role);
    if (flush || atomic_write || inferred_setup_svc(&session->dir[q->dir[0]].setup) == ROCE_SVC_XRC)
        fprintf(out, "needs   %s%s%s\n", flush ? " flush" : "", atomic_write ? " atomic-write" : "",
                inferred_setup_svc(&session->dir[q->dir[0]].setup) == ROCE_SVC_XRC ? " xrc srq"
                                                                                   : "");
    if (session->host[session->dir[q->dir[0]].host].encap == ROCE_ENCAP_V2_IP6)
        fprintf(out, "ip       = 6\n");
    fputc('\n', out);
}

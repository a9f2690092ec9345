/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "recording.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/suite.h"

static struct qp_pair pair;

/* Returns a random opcode. UC supports the first four only. */
static enum rnic_wr_opcode random_opcode(struct rng *rng, bool uc)
{
    static const enum rnic_wr_opcode opcodes[] = {
        RNIC_WR_WRITE, RNIC_WR_WRITE_IMM, RNIC_WR_SEND,     RNIC_WR_SEND_IMM,
        RNIC_WR_READ,  RNIC_WR_CMP_SWAP,  RNIC_WR_FETCH_ADD};

    return opcodes[rng_below(rng, uc ? 4 : sizeof(opcodes) / sizeof(opcodes[0]))];
}

bool recording_make(struct capture *out, uint64_t seed, const struct qp_pair_opts *opts,
                    uint32_t loss_ppm)
{
    char *path = capture_temp("", 0);
    const struct simnet_path like = {.delay_ns = 5000, .loss_ppm = loss_ppm};
    struct rng rng = rng_of(seed);
    bool ok;

    memset(out, 0, sizeof(*out));
    qp_pair_init_as(&pair, seed, (seed & 1) ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6, 2, 64, opts);
    qp_pair_connect(&pair);
    simnet_paths(&pair.net, &like);
    ok = simnet_record(&pair.net, path);
    for (unsigned i = 0; i < 32; i++)
        for (unsigned side = 0; side < 2; side++)
            for (unsigned qp = 0; qp < 2; qp++)
                qp_pair_recv(&pair, side, qp, i, 500000 + i * 8192, 8192);
    for (unsigned i = 0; i < 24; i++) {
        enum rnic_wr_opcode opcode = random_opcode(&rng, opts->type == RNIC_QPT_UC);
        bool atomic = opcode == RNIC_WR_CMP_SWAP || opcode == RNIC_WR_FETCH_ADD;
        uint32_t len = atomic ? 8 : rng_below(&rng, 6000);
        unsigned qp = rng_below(&rng, 2);
        /* Each QP has its own range of remote memory, because with shared memory, the results would
         * depend on the order of the packets. */
        uint32_t roff = 8 * rng_below(&rng, 1000) + 20000 * qp;
        /* Results of READs and atomics are stored outside of the range from which requests read
         * their data, because requests may be retransmitted. */
        uint32_t off = atomic || opcode == RNIC_WR_READ ? 200000 : 100000;

        qp_pair_send(&pair, rng_below(&rng, 2), qp, i, opcode, off, len, roff);
        if (rng_below(&rng, 3) == 0)
            qp_pair_run(&pair, UINT64_C(1000000000));
    }
    qp_pair_run(&pair, UINT64_C(10000000000));
    qp_pair_free(&pair);
    ok = ok && capture_load(out, path);
    unlink(path);
    free(path);
    if (!ok)
        suite_fail(__FILE__, __LINE__, "no recording");
    return ok;
}

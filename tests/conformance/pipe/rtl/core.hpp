// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// Core: the Verilog core under Verilator, its clock, its memory and its registers. driver.cpp knows
// nothing else of the core: a harness for another core replaces this file.
#ifndef ROCE_RTL_CORE_HPP
#define ROCE_RTL_CORE_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>
#include <vector>
#include "Vroce_core.h"

using Bytes = std::vector<uint8_t>;

enum QpState { RESET, INIT, RTR, RTS, SQD, SQE, ERR };
enum CompStatus { SUCCESS, LOCAL_LENGTH, LOCAL_QP_OPERATION, LOCAL_PROTECTION, FLUSHED };
enum EventCode { ESTABLISHED, REQUEST_ERROR, ACCESS_ERROR, UNSUPPORTED };
enum Access {
    LOCAL_WRITE = 1,
    REMOTE_WRITE = 2,
    REMOTE_READ = 4,
    REMOTE_ATOMIC = 8
}; // as in libibverbs

struct QpValues {
    uint64_t access, pkey, tclass, hop_limit, peer_qpn, peer_psn, rnr_timer, mtu;
    Bytes peer_mac, peer_addr; // 6 and 16 bytes; an IPv4 address is ::ffff:a.b.c.d
};

struct Completion {
    unsigned qp, receive; // receive: its number since RESET
    CompStatus status;
    uint32_t len, imm;
    bool has_imm;
};

struct Event {
    unsigned qp;
    EventCode code;
};

class Core
{
  public:
    static const unsigned QPS = 8, MRS = 16, RQ_DEPTH = 64;

    // What the core did; the driver takes these away.
    std::vector<Bytes> frames;
    std::vector<Completion> completions;
    std::vector<Event> events;

    Core(const Bytes &mac, const Bytes &addr)
    {
        top.rst = 1;
        clock();
        clock();
        top.rst = 0;
        write(0, 0, 0, (uint32_t)(mac[0] << 8 | mac[1]));
        write(0, 0, 1, word_of(mac, 2));
        for (unsigned i = 0; i < 4; i++)
            write(0, 0, 2 + i, word_of(addr, 4 * i));
    }

    ~Core()
    {
        top.final();
    }

    static unsigned qpn(unsigned qp)
    {
        return 0x40 + qp;
    }
    static unsigned key(unsigned mr)
    {
        return 0x1000 + mr * 0x101;
    }

    // Sets the values of a QP, which is in RESET.
    void set_qp(unsigned qp, const QpValues &v)
    {
        access[qp] = (v.access & REMOTE_WRITE ? 4 : 0) | (v.access & REMOTE_READ ? 2 : 0) |
                     (v.access & REMOTE_ATOMIC ? 1 : 0);
        psn[qp] = (uint32_t)v.peer_psn;
        write(1, qp, 1, (uint32_t)(v.hop_limit << 24 | v.tclass << 16 | v.pkey));
        write(1, qp, 2, (uint32_t)(v.rnr_timer << 24 | v.peer_qpn));
        write(1, qp, 4, (uint32_t)((0xC000u | qpn(qp)) << 16 | v.mtu));
        write(1, qp, 5, (uint32_t)(v.peer_mac[0] << 8 | v.peer_mac[1]));
        write(1, qp, 6, word_of(v.peer_mac, 2));
        for (unsigned i = 0; i < 4; i++)
            write(1, qp, 7 + i, word_of(v.peer_addr, 4 * i));
    }

    void set_state(unsigned qp, QpState state)
    {
        if (state == RESET)
            posted[qp] = taken[qp] = 0;
        if (state == RTR)
            write(1, qp, 3, psn[qp]);
        write(1, qp, 0, access[qp] << 4 | state);
    }

    QpState state(unsigned qp)
    {
        top.cfg_addr = 1 << 10 | qp << 4;
        top.eval();
        return (QpState)top.cfg_state;
    }

    // Registers a region with its contents. Its key is key(mr).
    void set_region(unsigned mr, uint64_t address, uint64_t rights, Bytes bytes)
    {
        write(2, mr, 1, key(mr));
        write(2, mr, 2, (uint32_t)(address >> 32));
        write(2, mr, 3, (uint32_t)address);
        write(2, mr, 4, (uint32_t)bytes.size());
        write(2, mr, 5, next_local);
        write(2, mr, 0, 4 | (rights & REMOTE_WRITE ? 2 : 0) | (rights & LOCAL_WRITE ? 1 : 0));
        local[mr] = next_local;
        next_local += (uint32_t)bytes.size() + 64; // 64 bytes that are no memory
        memory[local[mr]] = std::move(bytes);
    }

    void remove_region(unsigned mr)
    {
        write(2, mr, 0, 0);
    }

    Bytes &region(unsigned mr)
    {
        return memory[local[mr]];
    }

    // Posts a receive. Returns its number since RESET.
    unsigned post_receive(unsigned qp, unsigned mr, uint64_t address, uint32_t len)
    {
        write(1, qp, 11, key(mr));
        write(1, qp, 12, (uint32_t)(address >> 32));
        write(1, qp, 13, (uint32_t)address);
        write(1, qp, 14, len);
        return posted[qp]++;
    }

    // Sends a frame without FCS to the core.
    void frame(const Bytes &bytes)
    {
        in.insert(in.end(), bytes.begin(), bytes.end());
        ends.push_back(bytes.size());
    }

    // Runs the clock until the core is idle.
    void run()
    {
        do
            clock();
        while (!ends.empty() || !top.idle);
    }

  private:
    Vroce_core top;
    uint64_t cycle = 0;
    std::deque<uint8_t> in;
    std::deque<size_t> ends; // number of bytes left of each frame in `in`
    Bytes out;
    std::map<uint32_t, Bytes> memory; // regions by local address
    uint32_t next_local = 0x1000, local[MRS] = {};
    uint32_t access[QPS] = {}, psn[QPS] = {};
    unsigned posted[QPS] = {}, taken[QPS] = {};

    // Writes a register of block 0 (core), 1 (QPs) or 2 (regions).
    void write(unsigned block, unsigned index, unsigned reg, uint32_t value)
    {
        top.cfg_addr = (uint16_t)(block << 10 | index << 4 | reg);
        top.cfg_data = value;
        top.cfg_write = 1;
        while (!clock())
            ;
        top.cfg_write = 0;
    }

    // Runs one cycle. Returns whether the core took the register write of this cycle. The ports
    // have wait states, so that the drills test the handshakes too.
    bool clock()
    {
        top.clk = 0;
        top.s_valid = !ends.empty() && cycle % 7 != 0;
        top.s_data = ends.empty() ? 0 : in.front();
        top.s_last = !ends.empty() && ends.front() == 1;
        top.m_ready = cycle % 5 != 0;
        top.mem_ready = cycle % 3 != 0;
        top.cq_ready = cycle % 2 != 0;
        top.eval();
        bool took = top.cfg_write && top.cfg_ready;

        if (top.s_valid && top.s_ready) {
            in.pop_front();
            if (--ends.front() == 0)
                ends.pop_front();
        }
        if (top.m_valid && top.m_ready)
            out.push_back(top.m_data);
        if (top.m_valid && top.m_ready && top.m_last) {
            frames.push_back(out);
            out.clear();
        }
        if (top.mem_valid && top.mem_ready)
            store(top.mem_addr, top.mem_data);
        if (top.cq_valid && top.cq_ready)
            complete();
        if (top.ev_valid)
            events.push_back({top.ev_qp, (EventCode)top.ev_code});
        top.clk = 1;
        top.eval();
        if (++cycle > 100000000)
            fail("the core does not become idle");
        return took;
    }

    void complete()
    {
        unsigned &number = taken[top.cq_qp]; // receives complete in order

        if (number % RQ_DEPTH != top.cq_slot)
            fail("the core completed another receive than the oldest");
        completions.push_back({top.cq_qp, number++, (CompStatus)top.cq_status, top.cq_len,
                               top.cq_imm, top.cq_has_imm != 0});
    }

    void store(uint32_t addr, uint8_t value)
    {
        auto found = memory.upper_bound(addr);

        if (found == memory.begin() || addr - (--found)->first >= found->second.size())
            fail("the core wrote outside of its regions");
        found->second[addr - found->first] = value;
    }

    static uint32_t word_of(const Bytes &bytes, size_t at)
    {
        return (uint32_t)bytes[at] << 24 | (uint32_t)bytes[at + 1] << 16 |
               (uint32_t)bytes[at + 2] << 8 | bytes[at + 3];
    }

    [[noreturn]] static void fail(const char *problem)
    {
        fprintf(stderr, "roce_rtl: %s\n", problem);
        exit(1);
    }
};

#endif

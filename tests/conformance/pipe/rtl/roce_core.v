// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// A RoCEv2 responder: Ethernet frames in and out, a register bus for the driver, a memory port, and
// completions. README.md describes the registers.
module roce_core #(parameter QPS = 8, parameter MRS = 16, parameter RQ_DEPTH = 64) (
    input         clk,
    input         rst,
    input         cfg_write,     // taken if cfg_ready
    input  [11:0] cfg_addr,      // block, index, register
    input  [31:0] cfg_data,
    output        cfg_ready,
    output [2:0]  cfg_state,     // state of the QP that cfg_addr names
    output        idle,          // nothing is under way, except a frame that arrives
    input  [7:0]  s_data,
    input         s_valid,
    input         s_last,
    output        s_ready,
    output [7:0]  m_data,
    output        m_valid,
    output        m_last,
    input         m_ready,
    output        mem_valid,
    output [31:0] mem_addr,
    output [7:0]  mem_data,
    input         mem_ready,
    output        cq_valid,
    output [5:0]  cq_qp,
    output [5:0]  cq_slot,
    output [2:0]  cq_status,
    output [31:0] cq_len,
    output        cq_has_imm,
    output [31:0] cq_imm,
    input         cq_ready,
    output        ev_valid,
    output [5:0]  ev_qp,
    output [1:0]  ev_code
);
    reg [47:0]  own_mac;
    reg [127:0] own_addr;
    wire        take = cfg_write && cfg_ready;

    always @(posedge clk)
        if (take && cfg_addr[11:10] == 0) begin
            if (cfg_addr[3:0] < 2) own_mac <= {own_mac[15:0], cfg_data};
            else own_addr <= {own_addr[95:0], cfg_data};
        end

    wire         pkt_valid, pkt_done, pkt_ackreq, buf_read;
    wire [127:0] pkt_src;
    wire [7:0]   pkt_opcode, buf_data;
    wire [1:0]   pkt_pad;
    wire [15:0]  pkt_pkey;
    wire [23:0]  pkt_dest_qp, pkt_psn;
    wire [12:0]  pkt_len, buf_addr;
    wire [159:0] pkt_ext;

    roce_rx rx (
        .clk(clk), .rst(rst), .own_mac(own_mac), .own_addr(own_addr),
        .s_data(s_data), .s_valid(s_valid), .s_last(s_last), .s_ready(s_ready),
        .pkt_valid(pkt_valid), .pkt_done(pkt_done), .pkt_src(pkt_src), .pkt_opcode(pkt_opcode),
        .pkt_pad(pkt_pad), .pkt_pkey(pkt_pkey), .pkt_dest_qp(pkt_dest_qp), .pkt_ackreq(pkt_ackreq),
        .pkt_psn(pkt_psn), .pkt_len(pkt_len), .pkt_ext(pkt_ext),
        .buf_addr(buf_addr), .buf_read(buf_read), .buf_data(buf_data));

    wire         mr_start, mr_remote, mr_done, mr_hit;
    wire [31:0]  mr_key, mr_len, mr_local;
    wire [63:0]  mr_va;

    roce_mr #(.MRS(MRS)) mr (
        .clk(clk), .rst(rst), .set(take && cfg_addr[11:10] == 2), .set_mr(cfg_addr[9:4]),
        .set_reg(cfg_addr[2:0]), .set_data(cfg_data), .start(mr_start), .key(mr_key), .va(mr_va),
        .len(mr_len), .remote(mr_remote), .done(mr_done), .hit(mr_hit), .local_addr(mr_local));

    wire         tx_start, tx_busy;
    wire [47:0]  tx_peer_mac;
    wire [127:0] tx_peer_addr;
    wire [7:0]   tx_tclass, tx_hop_limit, tx_syndrome;
    wire [15:0]  tx_sport, tx_pkey;
    wire [23:0]  tx_dest_qp, tx_psn, tx_msn;

    roce_responder #(.QPS(QPS), .RQ_DEPTH(RQ_DEPTH)) responder (
        .clk(clk), .rst(rst),
        .cfg_write(cfg_write && cfg_addr[11:10] == 1 && cfg_addr[9:4] < QPS),
        .cfg_qp(cfg_addr[4 +: $clog2(QPS)]), .cfg_reg(cfg_addr[3:0]),
        .cfg_data(cfg_data), .cfg_ready(cfg_ready), .cfg_state(cfg_state), .idle(idle),
        .pkt_valid(pkt_valid), .pkt_done(pkt_done), .pkt_src(pkt_src), .pkt_opcode(pkt_opcode),
        .pkt_pad(pkt_pad), .pkt_pkey(pkt_pkey), .pkt_dest_qp(pkt_dest_qp), .pkt_ackreq(pkt_ackreq),
        .pkt_psn(pkt_psn), .pkt_len(pkt_len), .pkt_ext(pkt_ext),
        .buf_addr(buf_addr), .buf_read(buf_read), .buf_data(buf_data),
        .mr_start(mr_start), .mr_key(mr_key), .mr_va(mr_va), .mr_len(mr_len), .mr_remote(mr_remote),
        .mr_done(mr_done), .mr_hit(mr_hit), .mr_local(mr_local),
        .mem_valid(mem_valid), .mem_addr(mem_addr), .mem_data(mem_data), .mem_ready(mem_ready),
        .cq_valid(cq_valid), .cq_qp(cq_qp), .cq_slot(cq_slot), .cq_status(cq_status), .cq_len(cq_len),
        .cq_has_imm(cq_has_imm), .cq_imm(cq_imm), .cq_ready(cq_ready),
        .ev_valid(ev_valid), .ev_qp(ev_qp), .ev_code(ev_code),
        .tx_start(tx_start), .tx_peer_mac(tx_peer_mac), .tx_peer_addr(tx_peer_addr), .tx_tclass(tx_tclass),
        .tx_hop_limit(tx_hop_limit), .tx_sport(tx_sport), .tx_pkey(tx_pkey), .tx_dest_qp(tx_dest_qp),
        .tx_psn(tx_psn), .tx_syndrome(tx_syndrome), .tx_msn(tx_msn), .tx_busy(tx_busy));

    roce_tx tx (
        .clk(clk), .rst(rst), .own_mac(own_mac), .own_addr(own_addr), .start(tx_start),
        .peer_mac(tx_peer_mac), .peer_addr(tx_peer_addr), .tclass(tx_tclass), .hop_limit(tx_hop_limit),
        .sport(tx_sport), .pkey(tx_pkey), .dest_qp(tx_dest_qp), .psn(tx_psn), .syndrome(tx_syndrome),
        .msn(tx_msn), .busy(tx_busy), .m_data(m_data), .m_valid(m_valid), .m_last(m_last), .m_ready(m_ready));
endmodule

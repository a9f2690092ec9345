// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// The responder of RC QPs for SEND and WRITE: checks a packet in the order of IBTA vol. 1, 9.7.4 (PSN, opcode
// sequence, operation, resources, R_Key), writes its payload to memory, completes receives, and answers
// with ACK, RNR NAK or NAK. Other requests are invalid requests.
module roce_responder #(parameter QPS = 8, parameter RQ_DEPTH = 64, parameter [23:0] QPN_BASE = 24'h40) (
    input              clk,
    input              rst,
    // registers of the QPs: cfg_reg of QP cfg_qp, taken if cfg_ready
    input              cfg_write,
    input      [$clog2(QPS)-1:0] cfg_qp,
    input      [3:0]   cfg_reg,
    input      [31:0]  cfg_data,
    output             cfg_ready,
    output     [2:0]   cfg_state,    // state of QP cfg_qp
    output             idle,
    // a packet, from roce_rx
    input              pkt_valid,
    output             pkt_done,
    input      [127:0] pkt_src,
    input      [7:0]   pkt_opcode,
    input      [1:0]   pkt_pad,
    input      [15:0]  pkt_pkey,
    input      [23:0]  pkt_dest_qp,
    input              pkt_ackreq,
    input      [23:0]  pkt_psn,
    input      [12:0]  pkt_len,
    input      [159:0] pkt_ext,
    output     [12:0]  buf_addr,
    output             buf_read,
    input      [7:0]   buf_data,
    // lookup of a key, in roce_mr
    output             mr_start,
    output     [31:0]  mr_key,
    output     [63:0]  mr_va,
    output     [31:0]  mr_len,
    output             mr_remote,
    input              mr_done,
    input              mr_hit,
    input      [31:0]  mr_local,
    // writes to local memory
    output reg         mem_valid,
    output reg [31:0]  mem_addr,
    output     [7:0]   mem_data,
    input              mem_ready,
    // completions of receives: cq_slot is the number of the receive modulo RQ_DEPTH
    output             cq_valid,
    output     [5:0]   cq_qp,
    output     [5:0]   cq_slot,
    output     [2:0]   cq_status,
    output     [31:0]  cq_len,
    output             cq_has_imm,
    output     [31:0]  cq_imm,
    input              cq_ready,
    // asynchronous events, and requests for an operation that the core does not have
    output reg         ev_valid,
    output reg [5:0]   ev_qp,
    output reg [1:0]   ev_code,
    // an acknowledgement, to roce_tx
    output             tx_start,
    output     [47:0]  tx_peer_mac,
    output     [127:0] tx_peer_addr,
    output     [7:0]   tx_tclass,
    output     [7:0]   tx_hop_limit,
    output     [15:0]  tx_sport,
    output     [15:0]  tx_pkey,
    output     [23:0]  tx_dest_qp,
    output     [23:0]  tx_psn,
    output     [7:0]   tx_syndrome,
    output     [23:0]  tx_msn,
    input              tx_busy
);
    `include "roce_faults.vh"

    localparam QB = $clog2(QPS), RB = $clog2(RQ_DEPTH);
    localparam [2:0] RTR = 2, RTS = 3, SQD = 4, ERR = 6;                       // states of a QP
    localparam [1:0] SEND = 0, WRITE = 1, READ = 2, ATOMIC = 3;                // operations
    localparam [2:0] OK = 0, LOCAL_LEN = 1, QP_OP = 2, PROTECTION = 3, FLUSHED = 4; // cq_status
    localparam [1:0] EV_ESTABLISHED = 0, EV_REQUEST = 1, EV_ACCESS = 2, EV_UNSUPPORTED = 3;
    localparam [7:0] NAK_SEQUENCE = 8'h60, NAK_INVALID = 8'h61, NAK_ACCESS = 8'h62, NAK_OPERATION = 8'h63;

    // ---- QPs -----------------------------------------------------------------------------------------

    reg [2:0]   qp_state [0:QPS-1];
    reg [2:0]   qp_access [0:QPS-1];  // remote write, read, atomic
    reg [15:0]  qp_pkey [0:QPS-1];
    reg [7:0]   qp_tclass [0:QPS-1];
    reg [7:0]   qp_hop_limit [0:QPS-1];
    reg [23:0]  qp_peer_qpn [0:QPS-1];
    reg [4:0]   qp_rnr_timer [0:QPS-1];
    reg [12:0]  qp_mtu [0:QPS-1];
    reg [15:0]  qp_sport [0:QPS-1];
    reg [47:0]  qp_peer_mac [0:QPS-1];
    reg [127:0] qp_peer_addr [0:QPS-1];
    reg [23:0]  qp_epsn [0:QPS-1];
    reg [23:0]  qp_msn [0:QPS-1];
    reg         qp_quiet [0:QPS-1];   // a NAK was sent for the expected PSN
    reg         qp_seen [0:QPS-1];    // a valid packet arrived
    reg         qp_inside [0:QPS-1];  // inside a message
    reg [1:0]   qp_kind [0:QPS-1];    // the message: operation,
    reg [31:0]  qp_off [0:QPS-1];     // bytes so far,
    reg [31:0]  qp_key [0:QPS-1];     // RETH of a WRITE,
    reg [63:0]  qp_va [0:QPS-1];
    reg [31:0]  qp_len [0:QPS-1];
    reg         qp_used [0:QPS-1];    // it has a receive,
    reg [RB-1:0] qp_slot [0:QPS-1];   // in this slot
    reg [RB-1:0] rq_head [0:QPS-1];
    reg [RB:0]  rq_cnt [0:QPS-1];
    reg [127:0] rq [0:QPS*RQ_DEPTH-1]; // key, address, length of a receive
    reg [95:0]  rq_new;                // key and address of the receive that the driver posts

    // ---- the packet ----------------------------------------------------------------------------------

    reg [QB-1:0] q;
    reg [2:0]   op;       // first, last, immediate
    reg [1:0]   kind;
    reg         known;
    always @* begin
        known = 1; kind = SEND; op = 3'b000;
        case (pkt_opcode)
            8'h00: op = 3'b100;                        // SEND First
            8'h01: op = 3'b000;                        // Middle
            8'h02: op = 3'b010;                        // Last
            8'h03: op = 3'b011;                        // Last with Immediate
            8'h04: op = 3'b110;                        // Only
            8'h05: op = 3'b111;                        // Only with Immediate
            8'h06: begin kind = WRITE; op = 3'b100; end
            8'h07: begin kind = WRITE; op = 3'b000; end
            8'h08: begin kind = WRITE; op = 3'b010; end
            8'h09: begin kind = WRITE; op = 3'b011; end
            8'h0A: begin kind = WRITE; op = 3'b110; end
            8'h0B: begin kind = WRITE; op = 3'b111; end
            8'h0C: begin kind = READ; op = 3'b110; end
            8'h13, 8'h14: begin kind = ATOMIC; op = 3'b110; end
            default: begin known = 0; op = 3'b110; end
        endcase
    end
    wire        first = op[2], last = op[1], has_imm = op[0];
    wire        has_reth = known && first && (kind == WRITE || kind == READ);
    wire [12:0] head_len = (has_reth ? 13'd16 : 13'd0) + (has_imm ? 13'd4 : 13'd0)
                           + (kind == ATOMIC ? 13'd28 : 13'd0);
    wire [12:0] data_len = pkt_len - head_len - {11'd0, pkt_pad};
    wire [31:0] imm = has_reth ? pkt_ext[31:0] : pkt_ext[159:128];
    wire [23:0] ahead = pkt_psn - qp_epsn[q];
    wire        key_match = pkt_pkey[14:0] == qp_pkey[q][14:0] && pkt_pkey[14:0] != 0
                            && (pkt_pkey[15] || qp_pkey[q][15]);
    wire        is_request = pkt_opcode[7:5] == 0 && !(pkt_opcode >= 8'h0D && pkt_opcode <= 8'h12);
    wire        serves = qp_state[q] == RTR || qp_state[q] == RTS || qp_state[q] == SQD;
    wire        whole = pkt_len >= head_len + {11'd0, pkt_pad}
                        && ((kind != READ && kind != ATOMIC) || pkt_len == head_len);
    wire        is_here = pkt_dest_qp[23:QB] == QPN_BASE[23:QB];

    // The message to which the packet belongs.
    wire [63:0] va     = first ? pkt_ext[159:96] : qp_va[q];
    wire [31:0] key    = first ? pkt_ext[95:64] : qp_key[q];
    wire [31:0] total  = first ? pkt_ext[63:32] : qp_len[q];
    wire [31:0] off    = first ? 32'd0 : qp_off[q];
    wire [31:0] end_at = off + {19'd0, data_len};
    wire        needs_recv = (kind == SEND && first) || (kind == WRITE && has_imm);
    wire        wrong_sequence = !known || first == qp_inside[q] || (!first && kind != qp_kind[q]);
    wire        refused = (kind == WRITE && !qp_access[q][2]) || (kind == READ && !qp_access[q][1])
                          || (kind == ATOMIC && !qp_access[q][0]);
    wire        wrong_len = data_len > qp_mtu[q] || (!last && data_len != qp_mtu[q])
                            || (last && !first && data_len == 0)
                            || (kind == WRITE && total > 32'h80000000);
    wire        wrong_total = kind == WRITE && (end_at > total || (last && end_at != total));
    wire [127:0] recv = rq[{q, qp_slot[q]}];
    wire        too_long = kind == SEND && end_at > recv[31:0];

    // The largest code whose number of credits is not above the number of posted receives.
    reg [4:0]   credits;
    always @* begin
        casez (rq_cnt[q])
            0, 1, 2, 3, 4:      credits = rq_cnt[q][4:0];
            5:                  credits = 4;
            6, 7:               credits = 5;
            8, 9, 10, 11:       credits = 6;
            12, 13, 14, 15:     credits = 7;
            default: credits = rq_cnt[q] >= 64 ? 5'd12 : rq_cnt[q] >= 48 ? 5'd11 : rq_cnt[q] >= 32 ? 5'd10
                               : rq_cnt[q] >= 24 ? 5'd9 : 5'd8;
        endcase
    end

    // ---- steps ---------------------------------------------------------------------------------------

    localparam [3:0] S_IDLE = 0, S_ACCEPT = 1, S_PSN = 2, S_OPERATION = 3, S_KEY = 4, S_RECV = 5, S_LOCAL_KEY = 6,
                     S_COPY = 7, S_END = 8, S_COMPLETE = 9, S_ANSWER = 10, S_STOP = 11, S_FLUSH = 12, S_DONE = 13;
    reg [3:0]   step, after;      // after: the step after S_ANSWER
    reg [7:0]   syndrome;
    reg [23:0]  psn;              // of the answer
    reg [31:0]  place;            // local address of the message's first byte, for this packet
    reg [12:0]  at;               // payload bytes that were read from the buffer
    reg [2:0]   status;
    reg [QB-1:0] scan;            // looks for QPs in ERR with receives to flush

    wire        dead = qp_state[scan] == ERR && (qp_used[scan] || rq_cnt[scan] != 0);
    reg         any_dead;
    integer     k;
    always @* begin
        any_dead = 0;
        for (k = 0; k < QPS; k = k + 1)
            if (qp_state[k] == ERR && (qp_used[k] || rq_cnt[k] != 0)) any_dead = 1;
    end

    assign cfg_ready = step == S_IDLE;
    assign cfg_state = qp_state[cfg_qp];
    assign idle      = step == S_IDLE && !pkt_valid && !any_dead && !tx_busy && !ev_valid;
    assign pkt_done  = step == S_DONE;

    assign mr_start  = step == S_KEY || (step == S_LOCAL_KEY && !too_long);
    assign mr_remote = step == S_KEY;
    assign mr_key    = step == S_KEY ? key : recv[127:96];
    assign mr_va     = step == S_KEY ? va : recv[95:32] + {32'd0, off};
    assign mr_len    = step == S_KEY ? total : {19'd0, data_len};

    wire   advance   = !mem_valid || mem_ready;
    assign buf_read  = step == S_COPY && advance;
    assign buf_addr  = head_len + at;
    assign mem_data  = buf_data;

    assign cq_valid   = step == S_COMPLETE || step == S_FLUSH;
    assign cq_qp      = {{(6-QB){1'b0}}, q};
    assign cq_slot    = {{(6-RB){1'b0}}, step == S_FLUSH && !qp_used[q] ? rq_head[q] : qp_slot[q]};
    assign cq_status  = step == S_FLUSH ? FLUSHED : status;
    assign cq_len     = qp_off[q]; // S_END added this packet
    assign cq_has_imm = has_imm;
    assign cq_imm     = imm;

    assign tx_start     = step == S_ANSWER;
    assign tx_peer_mac  = qp_peer_mac[q];
    assign tx_peer_addr = qp_peer_addr[q];
    assign tx_tclass    = qp_tclass[q];
    assign tx_hop_limit = qp_hop_limit[q];
    assign tx_sport     = qp_sport[q];
    assign tx_pkey      = qp_pkey[q];
    assign tx_dest_qp   = qp_peer_qpn[q];
    assign tx_psn       = psn;
    assign tx_syndrome  = syndrome;
    assign tx_msn       = qp_msn[q];

    task answer(input [7:0] with_syndrome, input [23:0] with_psn, input [3:0] then);
        begin
            syndrome <= with_syndrome; psn <= with_psn; after <= then; step <= S_ANSWER;
        end
    endtask

    task report(input [1:0] code);
        begin
            ev_valid <= 1; ev_qp <= {{(6-QB){1'b0}}, q}; ev_code <= code;
        end
    endtask

    integer i;
    always @(posedge clk) begin
        ev_valid <= 0;
        case (step)
        S_IDLE: begin
            scan <= scan + 1;
            if (cfg_write) ; // below
            else if (dead) begin
                q <= scan; step <= S_FLUSH;
            end else if (pkt_valid) begin
                q <= pkt_dest_qp[QB-1:0]; step <= S_ACCEPT;
            end
        end
        S_ACCEPT:
            if (!is_here || !serves || !key_match || pkt_src != qp_peer_addr[q] || !is_request || !whole)
                step <= S_DONE;
            else begin
                if (qp_state[q] == RTR && !qp_seen[q]) report(EV_ESTABLISHED);
                qp_seen[q] <= 1;
                step <= S_PSN;
            end
        S_PSN:
            if (ahead == 0) step <= S_OPERATION;
            else if (ahead[23]) begin // a duplicate: an ACK of the newest request, if it asks for one
                if (known && (kind == SEND || kind == WRITE) && pkt_ackreq)
                    answer({3'd0, credits}, qp_epsn[q] - 24'd1, S_DONE);
                else step <= S_DONE;
            end else if (qp_quiet[q] && !`FAULT(4)) step <= S_DONE;
            else begin
                qp_quiet[q] <= 1;
                answer(NAK_SEQUENCE, qp_epsn[q], S_DONE);
            end
        S_OPERATION:
            if (wrong_sequence || refused) answer(NAK_INVALID, pkt_psn, S_STOP);
            else if (kind == READ || kind == ATOMIC) begin
                report(EV_UNSUPPORTED);
                answer(NAK_INVALID, pkt_psn, S_STOP);
            end else if (wrong_len) answer(NAK_INVALID, pkt_psn, S_STOP);
            else step <= kind == WRITE && total != 0 ? S_KEY : S_RECV;
        S_KEY: // for each packet: the region may be gone
            if (mr_done) begin
                place <= mr_local;
                if (mr_hit) step <= S_RECV;
                else answer(NAK_ACCESS, pkt_psn, S_STOP);
            end
        S_RECV:
            if (needs_recv && rq_cnt[q] == 0) begin
                qp_quiet[q] <= 1;
                answer({3'b001, qp_rnr_timer[q]}, pkt_psn, S_DONE);
            end else if (wrong_total) answer(NAK_INVALID, pkt_psn, S_STOP);
            else begin
                if (needs_recv) begin
                    qp_used[q] <= 1;
                    qp_slot[q] <= rq_head[q];
                    rq_head[q] <= rq_head[q] + 1;
                    rq_cnt[q]  <= rq_cnt[q] - 1;
                end
                qp_quiet[q] <= 0;
                at <= 0;
                step <= kind == SEND && data_len != 0 ? S_LOCAL_KEY : S_COPY;
            end
        S_LOCAL_KEY:
            if (too_long) answer(NAK_INVALID, pkt_psn, S_STOP);
            else if (mr_done) begin
                place <= mr_local - off;
                if (mr_hit) step <= S_COPY;
                else answer(NAK_OPERATION, pkt_psn, S_STOP);
            end
        S_COPY:
            if (advance) begin
                mem_valid <= at != data_len;
                mem_addr  <= place + off + {19'd0, at};
                at        <= at + 1;
                if (at == data_len) step <= S_END;
            end
        S_END: begin
            qp_epsn[q]   <= pkt_psn + 1;
            qp_inside[q] <= !last;
            qp_kind[q]   <= kind;
            qp_off[q]    <= end_at;
            qp_key[q]    <= key;
            qp_va[q]     <= va;
            qp_len[q]    <= total;
            if (last || `FAULT(2)) qp_msn[q] <= qp_msn[q] + 1;
            status <= OK;
            after  <= S_DONE;
            psn    <= pkt_psn;
            syndrome <= {3'd0, credits};
            step <= last && qp_used[q] ? S_COMPLETE : pkt_ackreq ? S_ANSWER : S_DONE;
        end
        S_COMPLETE:
            if (cq_ready) begin
                qp_used[q] <= 0;
                step <= status == OK && pkt_ackreq ? S_ANSWER : S_DONE;
            end
        S_ANSWER:
            if (!tx_busy) step <= after;
        S_STOP: begin // the QP stops: a receive of the message completes in error; otherwise an event
            qp_state[q]  <= ERR;
            qp_inside[q] <= 0;
            status <= syndrome == NAK_OPERATION ? PROTECTION : too_long && !wrong_sequence ? LOCAL_LEN : QP_OP;
            if (qp_used[q]) step <= S_COMPLETE;
            else begin
                report(syndrome == NAK_ACCESS ? EV_ACCESS : EV_REQUEST);
                step <= S_DONE;
            end
        end
        S_FLUSH:
            if (cq_ready) begin
                qp_used[q] <= 0;
                if (!qp_used[q]) begin
                    rq_head[q] <= rq_head[q] + 1;
                    rq_cnt[q]  <= rq_cnt[q] - 1;
                end
                step <= S_IDLE;
            end
        default: step <= S_IDLE; // S_DONE
        endcase

        if (cfg_write && cfg_ready) case (cfg_reg)
            0: begin
                qp_state[cfg_qp]  <= cfg_data[2:0];
                qp_access[cfg_qp] <= cfg_data[6:4];
                if (cfg_data[2:0] == 0) begin
                    qp_msn[cfg_qp]    <= 0;
                    qp_quiet[cfg_qp]  <= 0;
                    qp_seen[cfg_qp]   <= 0;
                    qp_inside[cfg_qp] <= 0;
                    qp_used[cfg_qp]   <= 0;
                    rq_head[cfg_qp]   <= 0;
                    rq_cnt[cfg_qp]    <= 0;
                end
            end
            1: {qp_hop_limit[cfg_qp], qp_tclass[cfg_qp], qp_pkey[cfg_qp]} <= cfg_data;
            2: {qp_rnr_timer[cfg_qp], qp_peer_qpn[cfg_qp]} <= cfg_data[28:0];
            3: qp_epsn[cfg_qp] <= cfg_data[23:0];
            4: {qp_sport[cfg_qp], qp_mtu[cfg_qp]} <= {cfg_data[31:16], cfg_data[12:0]};
            5: qp_peer_mac[cfg_qp][47:32] <= cfg_data[15:0];
            6: qp_peer_mac[cfg_qp][31:0] <= cfg_data;
            7, 8, 9, 10: qp_peer_addr[cfg_qp] <= {qp_peer_addr[cfg_qp][95:0], cfg_data};
            11: rq_new[95:64] <= cfg_data;
            12: rq_new[63:32] <= cfg_data;
            13: rq_new[31:0] <= cfg_data;
            14: if (rq_cnt[cfg_qp] < RQ_DEPTH) begin // posts the receive
                rq[{cfg_qp, rq_head[cfg_qp] + rq_cnt[cfg_qp][RB-1:0]}] <= {rq_new, cfg_data};
                rq_cnt[cfg_qp] <= rq_cnt[cfg_qp] + 1;
            end
            default: ;
        endcase

        if (rst) begin
            step <= S_IDLE; scan <= 0; mem_valid <= 0; ev_valid <= 0;
            for (i = 0; i < QPS; i = i + 1) begin
                qp_state[i] <= 0; qp_used[i] <= 0; rq_cnt[i] <= 0;
            end
        end
    end
endmodule

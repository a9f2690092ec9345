# RC WRITE with immediate without a posted receive: the last packet gets RNR NAKs until a receive is posted
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --min-rnr 20 write=100 write=3000,imm=5,nowait sleep=60 recv=0 wait

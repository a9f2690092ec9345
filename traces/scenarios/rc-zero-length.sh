# Requests of no bytes: SEND, WRITE (also with a wrong R_Key, which is not checked), READ, immediate data alone
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive recv=0 send=0 write=0 write=0,key=wrong read=0 read=0,key=wrong recv=0 send=0,imm=1 recv=0 write=0,imm=2

# A WRITE with the fence flag waits for the READ before it
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive write=8192 read=8192,nowait write=100,off=0,fence,nowait wait read=100

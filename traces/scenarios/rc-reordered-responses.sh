# Every fifth response packet overtakes others
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
netem right delay 5ms reorder 100% gap 5 && drive --timeout 14 write=16384 read=16384 read=4096

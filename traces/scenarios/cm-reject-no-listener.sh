# rdma_cm: no listener: REJ with reason 8 (invalid service ID)
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
on left "rping -c -a 192.0.2.2 -p 7777 -C 1; [ \$? != 0 ]"

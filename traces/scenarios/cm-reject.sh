# rdma_cm: the listening program rejects the connection: REJ with reason 28 and private data
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
drive --cm-reject

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Queries of a device, its port, GIDs and P_Keys. The port has the properties of a RoCE port: link
 * layer Ethernet, no LIDs, one P_Key. */
#include "verbs/device.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "verbs/abi.h"

/* Copies our structure to the structure of the program. If the program's structure is shorter, the
 * copy is truncated; if it is longer, its rest is zeroed. */
static void copy_out(void *to, size_t to_len, const void *from, size_t from_len)
{
    memcpy(to, from, to_len < from_len ? to_len : from_len);
    if (to_len > from_len)
        memset((char *)to + from_len, 0, to_len - from_len);
}

static void get_iface(struct ibv_context *context, struct rnic_iface *iface)
{
    rnic_live_iface(vctx_of(context)->hca->live, iface);
}

/* ---- queries of the device ------------------------------------------------------------------- */

/* Converts an unsigned count of the device to an int, limited to INT_MAX. */
static int clamp_int(uint64_t cnt)
{
    return cnt > INT_MAX ? INT_MAX : (int)cnt;
}

static void fill_device_attr(struct ibv_context *context, struct ibv_device_attr *attr)
{
    struct rnic_limits max;
    struct rnic *rnic = vctx_lock(context);
    rnic_limits_get(rnic, &max);
    bool mw_2a = rnic_mw_2a(rnic);
    vctx_unlock(context);
    *attr = (struct ibv_device_attr){
        .fw_ver = VERBS_VERSION,
        .node_guid = vctx_of(context)->device->guid,
        .sys_image_guid = vctx_of(context)->device->guid,
        .vendor_id = 0xffffff, /* no vendor's OUI, as in Linux Soft-RoCE */
        .max_mr_size = max.max_mr_size,
        .page_size_cap = 0xfffffffffffff000,
        .max_qp = clamp_int(max.max_qp),
        .max_qp_wr = clamp_int(max.max_qp_wr),
        .device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD |
                            IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                            IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                            IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW |
                            IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC |
                            (vctx_of(context)->hca->shm ? 0 : IBV_DEVICE_MANAGED_FLOW_STEERING) |
                            (mw_2a ? IBV_DEVICE_MEM_WINDOW_TYPE_2A : IBV_DEVICE_MEM_WINDOW_TYPE_2B),
        .max_sge = clamp_int(max.max_sge),
        .max_sge_rd = clamp_int(max.max_sge_rd),
        .max_cq = clamp_int(max.max_cq),
        .max_cqe = clamp_int(max.max_cqe),
        .max_mr = clamp_int(max.max_mr),
        .max_pd = clamp_int(max.max_pd),
        .max_qp_rd_atom = clamp_int(max.max_qp_rd_atom),
        .max_res_rd_atom = clamp_int((uint64_t)max.max_qp_rd_atom * max.max_qp),
        .max_qp_init_rd_atom = clamp_int(max.max_qp_init_rd_atom),
        .atomic_cap = IBV_ATOMIC_HCA,
        .max_mw = clamp_int(max.max_mw),
        .max_mcast_grp = clamp_int(max.max_mcast_grp),
        .max_mcast_qp_attach = clamp_int(max.max_mcast_qp_attach),
        .max_total_mcast_qp_attach =
            clamp_int((uint64_t)max.max_mcast_grp * max.max_mcast_qp_attach),
        .max_ah = clamp_int(max.max_ah),
        .max_srq = clamp_int(max.max_srq),
        .max_srq_wr = clamp_int(max.max_srq_wr),
        .max_srq_sge = clamp_int(max.max_srq_sge),
        .max_pkeys = 1,
        .local_ca_ack_delay = 15, /* local ACK delay code: 4.096 us * 2^15 = 134 ms, because a
                                   * process may have to wait for a CPU */
        .phys_port_cnt = 1,
    };
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    fill_device_attr(context, attr);
    return 0;
}

int vctx_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                         struct ibv_device_attr_ex *attr, size_t len)
{
    if (input && input->comp_mask)
        return EINVAL;
    if (len < sizeof attr->orig_attr)
        return EINVAL;
    /* On-demand paging works for all operations, because the device accesses memory through the
     * mappings of the process. */
    const uint32_t odp_ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
    const uint32_t odp_uc = odp_ud | IBV_ODP_SUPPORT_WRITE;
    /* IBV_ODP_SUPPORT_FLUSH and _ATOMIC_WRITE, which older verbs headers lack */
    const uint32_t odp_a19 = 1u << 6 | 1u << 7;
    const uint32_t odp_rc = odp_uc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | odp_a19;
    struct ibv_device_attr_ex all = {
        .completion_timestamp_mask = UINT64_MAX,
        .hca_core_clock = 1000000, /* clock in kHz: timestamps are nanoseconds */
        .phys_port_cnt_ex = 1,
        .odp_caps = {.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
                     .per_transport_caps = {.rc_odp_caps = odp_rc,
                                            .uc_odp_caps = odp_uc,
                                            .ud_odp_caps = odp_ud}},
        .xrc_odp_caps = odp_rc,
        .max_dm_size = VERBS_DM_MAX,
        /* max_cq_period is in us */
        .cq_mod_caps = {.max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX},
    };
    fill_device_attr(context, &all.orig_attr);
    /* Capability flags for FLUSH and ATOMIC WRITE (A19), with the numbers of Linux 6.2:
     * IB_UVERBS_DEVICE_FLUSH_GLOBAL, _FLUSH_PERSISTENT and _ATOMIC_WRITE. The verbs header has no
     * names for them. */
    all.device_cap_flags_ex = all.orig_attr.device_cap_flags | 7ull << 38;
    copy_out(attr, len, &all, sizeof all);
    return 0;
}

int vctx_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    (void)context;
    uint32_t mask = values->comp_mask;
    if (mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
        return EINVAL;
    if (mask & IBV_VALUES_MASK_RAW_CLOCK) /* the whole counter is in tv_nsec, as in mlx4 and mlx5 */
        values->raw_clock = (struct timespec){.tv_nsec = (long)rnic_live_now()};
    return 0;
}

/* ---- queries of the port --------------------------------------------------------------------- */

static enum ibv_mtu mtu_code(uint32_t bytes)
{
    return bytes >= 4096   ? IBV_MTU_4096
           : bytes >= 2048 ? IBV_MTU_2048
           : bytes >= 1024 ? IBV_MTU_1024
           : bytes >= 512  ? IBV_MTU_512
                           : IBV_MTU_256;
}

/* Returns the link speed in Mb/s, or 0 if the kernel does not know it. */
static long link_mbps(const char *iface)
{
    char path[64 + IF_NAMESIZE];
    long mbps = 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", iface);
    FILE *in = fopen(path, "re");
    if (in) {
        if (fscanf(in, "%ld", &mbps) != 1 || mbps < 0)
            mbps = 0;
        fclose(in);
    }
    return mbps;
}

/* Returns link width and speed as in InfiniBand (PortInfo, IBTA 14.2.5.6). As Linux does for RoCE
 * (ib_get_eth_speed), chooses the lowest combination that is not below the actual speed. */
static void link_speed(const char *iface, uint8_t *width, uint8_t *speed)
{
    enum { WIDTH_1X = 1, WIDTH_4X = 2 };
    enum { SDR = 1, DDR = 2, FDR10 = 8, EDR = 32 };
    long mbps = link_mbps(iface);
    *width = mbps <= 10000 || (mbps > 20000 && mbps <= 25000) ? WIDTH_1X : WIDTH_4X;
    *speed = mbps <= 1000    ? SDR
             : mbps <= 10000 ? FDR10
             : mbps <= 20000 ? DDR
             : mbps <= 25000 ? EDR
             : mbps <= 40000 ? FDR10
                             : EDR;
}

int vctx_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
                    size_t len)
{
    enum {
        PHYS_DISABLED = 3,
        PHYS_LINK_UP = 5
    }; /* values of PortInfo.PortPhysicalState (14.2.5.6) */
    struct rnic_iface iface;
    if (port != 1)
        return EINVAL;
    get_iface(context, &iface);
    struct ibv_port_attr all = {
        .state = iface.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = mtu_code(iface.path_mtu),
        .gid_tbl_len = RNIC_GID_MAX,
        .port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
        .max_msg_sz = RNIC_MESSAGE_MAX,
        .pkey_tbl_len = 1,
        .max_vl_num = 1,
        .phys_state = iface.up ? PHYS_LINK_UP : PHYS_DISABLED,
        .link_layer = IBV_LINK_LAYER_ETHERNET,
        .flags = IBV_QPF_GRH_REQUIRED,
    };
    struct rnic_counters counters;
    rnic_counters_get(vctx_lock(context), &counters);
    vctx_unlock(context);
    all.bad_pkey_cntr = (uint32_t)counters.rx_bad_pkey;
    all.qkey_viol_cntr = (uint32_t)counters.qkey_viol_cntr;
    link_speed(iface.name, &all.active_width, &all.active_speed);
    copy_out(attr, len, &all, sizeof all);
    return 0;
}

/* Returns the port speed in units of 100 Mb/s. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
    struct rnic_iface iface;
    if (port != 1)
        return EINVAL;
    get_iface(context, &iface);
    long mbps = link_mbps(iface.name);
    if (mbps == 0)
        return EOPNOTSUPP;
    *speed = (uint64_t)mbps / 100;
    return 0;
}

/* Entry point for programs older than port_cap_flags2: their structure ends before that member. */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    return vctx_query_port(context, port, (struct ibv_port_attr *)(void *)attr,
                           offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* ---- queries of GIDs ------------------------------------------------------------------------- */

/* Finds a GID entry. Returns 0, ENODATA for an empty index, or EINVAL for an invalid one. */
static int gid_entry(struct ibv_context *context, uint32_t port, uint32_t idx,
                     struct ibv_gid_entry *entry)
{
    struct rnic_iface iface;
    struct rnic_gid gid;
    if (port != 1 || idx >= RNIC_GID_MAX)
        return EINVAL;
    /* Reads the GID table of the software RNIC, in which a GID keeps its index when other addresses
     * are removed. */
    bool there = rnic_gid_get(vctx_lock(context), idx, &gid);
    vctx_unlock(context);
    if (!there)
        return ENODATA;
    get_iface(context, &iface);
    *entry = (struct ibv_gid_entry){
        .gid_index = idx,
        .port_num = port,
        .gid_type = gid.type == RNIC_GID_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1,
        .ndev_ifindex = iface.index,
    };
    memcpy(entry->gid.raw, gid.gid, sizeof entry->gid.raw);
    return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int idx, union ibv_gid *gid)
{
    struct ibv_gid_entry entry = {.gid_index = 0};
    int result = idx < 0 ? EINVAL : gid_entry(context, port, (uint32_t)idx, &entry);
    if (result != 0 && result != ENODATA) {
        errno = result;
        return -1;
    }
    *gid = entry.gid;
    return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t idx,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    struct ibv_gid_entry all;
    if (flags)
        return EOPNOTSUPP;
    int result = gid_entry(context, port, idx, &all);
    if (result == 0)
        copy_out(entry, entry_size, &all, sizeof all);
    return result;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t max_entries, uint32_t flags, size_t entry_size)
{
    size_t cnt = 0;
    if (flags)
        return -EOPNOTSUPP;
    for (uint32_t i = 0; i < RNIC_GID_MAX; i++) {
        struct ibv_gid_entry entry;
        if (gid_entry(context, 1, i, &entry) != 0)
            continue;
        if (cnt == max_entries)
            return -EINVAL;
        copy_out((char *)entries + cnt++ * entry_size, entry_size, &entry, sizeof entry);
    }
    return (ssize_t)cnt;
}

/* Returns the GID type. Its values differ from the values in ibv_gid_entry: 0 is IB or RoCEv1, 1 is
 * RoCEv2. */
int rnic_query_gid_type(struct ibv_context *context, uint8_t port, unsigned idx, int *type)
{
    struct ibv_gid_entry entry = {.gid_type = IBV_GID_TYPE_ROCE_V1};
    int result = gid_entry(context, port, idx, &entry);
    if (result != 0 && result != ENODATA) {
        errno = result;
        return -1;
    }
    *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    return 0;
}

SYMVER_PRIVATE(rnic_query_gid_type, ibv_query_gid_type);

/* ---- queries of P_Keys ----------------------------------------------------------------------- */

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int idx, __be16 *pkey)
{
    (void)context;
    if (port != 1 || idx != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(0xffff); /* the default P_Key (A17.4.7) */
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
    __be16 own;
    if (ibv_query_pkey(context, port, 0, &own) == 0 && own == pkey)
        return 0;
    errno = EINVAL;
    return -1;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/service.h"

/* clang-format off */
static const struct { enum rnic_qp_type type; struct rnic_service service; } services[] = {
    /*                     packets        connected  sqe    sends  receives receive_queue */
    { RNIC_QPT_RC,       { ROCE_SVC_RC,   true,      false, true,  true,    true  } },
    { RNIC_QPT_UC,       { ROCE_SVC_UC,   true,      true,  true,  true,    true  } },
    { RNIC_QPT_UD,       { ROCE_SVC_UD,   false,     true,  true,  true,    true  } },
    { RNIC_QPT_GSI,      { ROCE_SVC_UD,   false,     true,  true,  true,    true  } },
    { RNIC_QPT_RAW_PACKET, { ROCE_SVC_MANUF7, false,   true,  true,  false,   true  } }, /* sends no packets of IBTA services */
    { RNIC_QPT_XRC_SEND, { ROCE_SVC_XRC,  true,      false, true,  false,   false } },
    { RNIC_QPT_XRC_RECV, { ROCE_SVC_XRC,  true,      false, false, true,    false } },
};
/* clang-format on */

const struct rnic_service *rnic_service_of(enum rnic_qp_type type)
{
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        if (services[i].type == type)
            return &services[i].service;
    return NULL;
}

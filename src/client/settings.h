/* SPDX-License-Identifier: Apache-2.0 */
/* settings - the checked copy of an aero_config that a client keeps. */
#ifndef AERO_SRC_CLIENT_SETTINGS_H
#define AERO_SRC_CLIENT_SETTINGS_H

#include <aeroloop/config.h>

#include "cluster/cluster.h"

aero_status aeroi_settings_init(aeroi_settings *settings,
                                const aero_allocator *allocator,
                                const aero_config *config, aero_error *error);
void aeroi_settings_deinit(aeroi_settings *settings, const aero_allocator *allocator);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/settings.h"

void
aero_config_init(aero_config *config)
{
    *config = (aero_config){
        .struct_size = sizeof *config,
        .connect_timeout_ms = 1000,
        .login_timeout_ms = 30000,
        .tend_interval_ms = 1000,
        .max_conns_per_node = 256,
        .idle_timeout_ms = 55000,
        .max_error_rate = 100,
    };
}

static aero_status
check_text(const char *text, size_t max, const char *what, aero_error *error)
{
    if (text != NULL && strlen(text) > max) {
        return aeroi_error_set(error, AERO_ERR_RANGE,
                               "%s has %zu bytes, the limit is %zu", what, strlen(text),
                               max);
    }
    return AERO_OK;
}

static aero_status
check_hosts(const aero_config *config, aero_error *error)
{
    if (config->host_count < 1 || config->host_count > AERO_SEEDS_MAX) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "host_count is %zu, must be 1..%d", config->host_count,
                               AERO_SEEDS_MAX);
    }
    if (config->hosts == NULL) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT, "hosts is NULL");
    }
    for (size_t i = 0; i < config->host_count; i++) {
        const aero_host *host = &config->hosts[i];
        if (host->name == NULL || host->name[0] == '\0') {
            return aeroi_error_set(error, AERO_ERR_ARGUMENT, "hosts[%zu] has no name",
                                   i);
        }
        if (host->port == 0) {
            return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                                   "hosts[%zu] has port 0, must be 1..65535", i);
        }
        aero_status status =
            check_text(host->name, AERO_HOST_NAME_MAX, "a host name", error);
        if (status != AERO_OK) {
            return status;
        }
    }
    return AERO_OK;
}

static aero_status
check_numbers(const aero_config *config, aero_error *error)
{
    if (config->connect_timeout_ms == 0) {
        return aeroi_error_set(error, AERO_ERR_RANGE,
                               "connect_timeout_ms must not be 0");
    }
    if (config->login_timeout_ms == 0) {
        return aeroi_error_set(error, AERO_ERR_RANGE, "login_timeout_ms must not be 0");
    }
    if (config->tend_interval_ms < 10) {
        return aeroi_error_set(error, AERO_ERR_RANGE,
                               "tend_interval_ms is %u, must be at least 10",
                               config->tend_interval_ms);
    }
    if (config->max_conns_per_node == 0) {
        return aeroi_error_set(error, AERO_ERR_RANGE,
                               "max_conns_per_node must not be 0");
    }
    if (config->min_conns_per_node > config->max_conns_per_node) {
        return aeroi_error_set(
            error, AERO_ERR_RANGE,
            "min_conns_per_node (%u) is larger than max_conns_per_node (%u)",
            config->min_conns_per_node, config->max_conns_per_node);
    }
    return AERO_OK;
}

aero_status
aero_config_check(const aero_config *config, aero_error *error)
{
    if (config->struct_size != sizeof *config) {
        return aeroi_error_set(error, AERO_ERR_ARGUMENT,
                               "config was not made by aero_config_init");
    }
    aero_status status = check_hosts(config, error);
    if (status == AERO_OK) {
        status = check_numbers(config, error);
    }
    if (status == AERO_OK) {
        status = check_text(config->cluster_name, AERO_CLUSTER_NAME_MAX, "cluster_name",
                            error);
    }
    if (status == AERO_OK) {
        /* The server takes 64 bytes of "1,<agent>,not-set". */
        status = check_text(config->user_agent, 48, "user_agent", error);
    }
    return status;
}

aero_status
aeroi_settings_init(aeroi_settings *settings, const aero_allocator *allocator,
                    const aero_config *config, aero_error *error)
{
    aero_status status = aero_config_check(config, error);
    if (status != AERO_OK) {
        return status;
    }
    memset(settings, 0, sizeof *settings);
    settings->seeds =
        aeroi_calloc(allocator, config->host_count, sizeof *settings->seeds);
    if (settings->seeds == NULL) {
        return aeroi_error_set(error, AERO_ERR_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < config->host_count; i++) {
        strncpy(settings->seeds[i].name, config->hosts[i].name, AERO_HOST_NAME_MAX);
        settings->seeds[i].port = config->hosts[i].port;
    }
    settings->seed_count = config->host_count;
    if (config->cluster_name != NULL) {
        strncpy(settings->cluster_name, config->cluster_name, AERO_CLUSTER_NAME_MAX);
    }
    if (config->user_agent != NULL) {
        strncpy(settings->user_agent, config->user_agent, AERO_CLUSTER_NAME_MAX);
    }
    settings->connect_timeout_ns = config->connect_timeout_ms * AEROI_NS_PER_MS;
    settings->login_timeout_ns = config->login_timeout_ms * AEROI_NS_PER_MS;
    settings->tend_interval_ns = config->tend_interval_ms * AEROI_NS_PER_MS;
    settings->idle_ns = config->idle_timeout_ms * AEROI_NS_PER_MS;
    settings->max_conns_per_node = config->max_conns_per_node;
    settings->min_conns_per_node = config->min_conns_per_node;
    settings->max_error_rate = config->max_error_rate;
    settings->use_services_alternate = config->use_services_alternate;
    return AERO_OK;
}

void
aeroi_settings_deinit(aeroi_settings *settings, const aero_allocator *allocator)
{
    aeroi_free(allocator, settings->seeds);
    settings->seeds = NULL;
}

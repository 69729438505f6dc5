/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devserver/document.h"

#define DEFAULT_PORT 3000
#define PROTO_FD_MAX 15000 /* of a real server */

static const char usage[] =
    "usage: aeroloop-devserver [options]\n"
    "An in-memory server for tests and development; it speaks Aerospike's protocol.\n"
    "\n"
    "  --port P                first port, one more for each node (3000; 0: free "
    "ones)\n"
    "  --nodes N               nodes of the cluster, 1 to 8 (1)\n"
    "  --namespace NS[,NS]     namespaces, at most two (test,bar)\n"
    "  --replication-factor R  copies of a record (2, at most the number of nodes)\n"
    "  --cluster-name NAME     (aeroloop)\n"
    "  --address ADDR          numeric address to listen on (127.0.0.1)\n"
    "  --config FILE           settings (YAML); the command line wins\n"
    "  --load FILE             records (YAML or JSON) to begin with; may be repeated\n"
    "  --log LEVEL             log to standard error: error, warn, info or debug\n"
    "  --exit-with-parent      exit when standard input is closed\n"
    "  --help\n"
    "\n"
    "Prints one line of JSON when it is ready, and exits on SIGINT or SIGTERM.\n";

static const struct option known[] = {
    {"port", required_argument, NULL, 'p'},
    {"nodes", required_argument, NULL, 'n'},
    {"namespace", required_argument, NULL, 's'},
    {"replication-factor", required_argument, NULL, 'r'},
    {"cluster-name", required_argument, NULL, 'c'},
    {"address", required_argument, NULL, 'a'},
    {"config", required_argument, NULL, 'f'},
    {"load", required_argument, NULL, 'l'},
    {"log", required_argument, NULL, 'v'},
    {"exit-with-parent", no_argument, NULL, 'e'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void
aeros_options_init(aeros_options *options)
{
    memset(options, 0, sizeof *options);
    (void)aeros_options_address(options, "127.0.0.1");
    (void)aeros_options_cluster_name(options, "aeroloop");
    (void)aeros_options_namespace(options, "test");
    (void)aeros_options_namespace(options, "bar");
    options->config.node_count = 1;
    options->config.replication_factor = 2;
    options->config.port = DEFAULT_PORT;
    options->config.proto_fd_max = PROTO_FD_MAX;
    options->log_level = AERO_LOG_OFF;
}

bool
aeros_options_address(aeros_options *options, const char *text)
{
    aeroi_address address;
    size_t len = strlen(text);
    if (len > AEROS_ADDRESS_MAX || !aeroi_address_parse(text, len, 0, &address)) {
        return false;
    }
    memcpy(options->address, text, len + 1);
    options->config.address = options->address;
    return true;
}

bool
aeros_options_cluster_name(aeros_options *options, const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > AERO_CLUSTER_NAME_MAX || strpbrk(text, "\"\\\n\t;") != NULL) {
        return false;
    }
    memcpy(options->cluster_name, text, len + 1);
    options->config.cluster_name = options->cluster_name;
    return true;
}

bool
aeros_options_namespace(aeros_options *options, const char *name)
{
    aeros_config *config = &options->config;
    size_t len = strlen(name);
    if (config->namespace_count == AEROS_NAMESPACES_MAX || len == 0 ||
        len > AERO_NAMESPACE_MAX || strpbrk(name, ",;:/= \t\n") != NULL) {
        return false;
    }
    for (uint32_t i = 0; i < config->namespace_count; i++) {
        if (strcmp(config->namespaces[i], name) == 0) {
            return false;
        }
    }
    uint32_t i = config->namespace_count++;
    memcpy(options->namespaces[i], name, len + 1);
    config->namespaces[i] = options->namespaces[i];
    config->settings[i] = aeros_settings_default;
    return true;
}

static bool
number_parse(const char *text, unsigned long min, unsigned long max, unsigned long *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoul(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *out >= min &&
           *out <= max;
}

/* "NS,NS" in place of all namespaces; those that were known keep their settings. */
static bool
namespaces_parse(aeros_options *options, const char *text)
{
    aeros_options before = *options;
    options->config.namespace_count = 0;
    while (*text != '\0') {
        char name[AERO_NAMESPACE_MAX + 1];
        size_t len = strcspn(text, ",");
        if (len > AERO_NAMESPACE_MAX) {
            return false;
        }
        memcpy(name, text, len);
        name[len] = '\0';
        text += len;
        text += *text == ',';
        if (len == 0) {
            continue;
        }
        if (!aeros_options_namespace(options, name)) {
            return false;
        }
        for (uint32_t i = 0; i < before.config.namespace_count; i++) {
            if (strcmp(before.namespaces[i], name) == 0) {
                options->config.settings[options->config.namespace_count - 1] =
                    before.config.settings[i];
            }
        }
    }
    return options->config.namespace_count > 0;
}

static bool
level_parse(const char *text, aero_log_level *out)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (aero_log_level)i;
            return true;
        }
    }
    return false;
}

static bool
option_apply(aeros_options *options, int option, const char *value)
{
    aeros_config *config = &options->config;
    unsigned long number = 0;
    bool good = true;
    switch (option) {
    case 'p':
        good = number_parse(value, 0, 65535, &number);
        config->port = (uint16_t)number;
        return good;
    case 'n':
        good = number_parse(value, 1, AEROS_NODES_MAX, &number);
        config->node_count = (uint32_t)number;
        return good;
    case 'r':
        good = number_parse(value, 1, AEROS_NODES_MAX, &number);
        config->replication_factor = (uint32_t)number;
        return good;
    case 's':
        return namespaces_parse(options, value);
    case 'c':
        return aeros_options_cluster_name(options, value);
    case 'a':
        return aeros_options_address(options, value);
    case 'l':
        if (options->load_count == AEROS_LOAD_FILES_MAX) {
            return false;
        }
        options->load_files[options->load_count++] = value;
        return true;
    case 'v':
        return level_parse(value, &options->log_level);
    case 'e':
        options->exit_with_parent = true;
        return true;
    default: /* --config was read before */
        return true;
    }
}

static const char *
option_name(int option)
{
    const struct option *at = known;
    while (at->val != option) {
        at++;
    }
    return at->name;
}

static bool
fail_usage(const char *option, const char *value, int *out_status)
{
    fprintf(stderr, "aeroloop-devserver: bad value for %s: %s\n", option, value);
    *out_status = EXIT_FAILURE;
    return false;
}

/* The command line's --config and --help; it is read as a whole later. */
static bool
first_pass(aeros_options *options, int argc, char **argv, int *out_status)
{
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            *out_status = EXIT_SUCCESS;
            return false;
        }
        if (option == '?') {
            fputs(usage, stderr);
            *out_status = EXIT_FAILURE;
            return false;
        }
        if (option == 'f') {
            if (options->config_file != NULL) {
                return fail_usage("--config", "it is given twice", out_status);
            }
            options->config_file = optarg;
        }
    }
    if (optind < argc) {
        return fail_usage("the command line", argv[optind], out_status);
    }
    return true;
}

bool
aeros_options_parse(aeros_options *options, int argc, char **argv, int *out_status)
{
    if (!first_pass(options, argc, argv, out_status)) {
        return false;
    }
    if (options->config_file != NULL &&
        !aeros_config_file_read(options, options->config_file)) {
        *out_status = AEROS_EXIT_BAD_FILE;
        return false;
    }
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (!option_apply(options, option, optarg)) {
            char name[40];
            (void)snprintf(name, sizeof name, "--%s", option_name(option));
            return fail_usage(name, optarg, out_status);
        }
    }
    const aeros_config *config = &options->config;
    if (config->port != 0 && config->port + config->node_count > 65536u) {
        return fail_usage("--port", "there are no ports behind it for all nodes",
                          out_status);
    }
    return true;
}

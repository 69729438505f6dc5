/* SPDX-License-Identifier: Apache-2.0 */
/* options - what the program is told: by its command line, and by a file where the
 * command line is silent. */
#ifndef AERO_SRC_DEVSERVER_OPTIONS_H
#define AERO_SRC_DEVSERVER_OPTIONS_H

#include "devserver/server.h"

#define AEROS_LOAD_FILES_MAX 64
#define AEROS_ADDRESS_MAX 63

/* `config` points into the struct itself, which does not move. */
typedef struct aeros_options {
    aeros_config config;
    char address[AEROS_ADDRESS_MAX + 1];
    char cluster_name[AERO_CLUSTER_NAME_MAX + 1];
    char namespaces[AEROS_NAMESPACES_MAX][AERO_NAMESPACE_MAX + 1];
    const char *config_file;                      /* of argv, or NULL */
    const char *load_files[AEROS_LOAD_FILES_MAX]; /* of argv */
    size_t load_count;
    aero_log_level log_level;
    bool exit_with_parent;
} aeros_options;

/* What holds when nothing is told. */
void aeros_options_init(aeros_options *options);
/* Reads the file that --config names, then the rest of the command line. False: the
 * program ends with *out_status, and has said why. */
bool aeros_options_parse(aeros_options *options, int argc, char **argv,
                         int *out_status);

/* Setters of both sources: false for a value that is not allowed. */
bool aeros_options_address(aeros_options *options, const char *text);
bool aeros_options_cluster_name(aeros_options *options, const char *text);
/* Adds a namespace with default settings; false too when there are enough, or it is
 * there. */
bool aeros_options_namespace(aeros_options *options, const char *name);

/* Reads a file of settings into the options. False: the reason was written to stderr.
 */
bool aeros_config_file_read(aeros_options *options, const char *file);

#endif

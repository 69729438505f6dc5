/* SPDX-License-Identifier: Apache-2.0 */
/* main - the program aeroloop-devserver. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "devserver/server.h"
#include "loop/stream.h"

#define DEFAULT_PORT 3000
#define DESCRIPTORS 15100u

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
    "  --exit-with-parent      exit when standard input is closed\n"
    "  --help\n"
    "\n"
    "Prints one line of JSON when it is ready, and exits on SIGINT or SIGTERM.\n";

typedef struct options {
    aeros_config config;
    char *namespaces; /* owned; cut into config.namespaces */
    bool exit_with_parent;
} options;

static bool
number_parse(const char *text, unsigned long min, unsigned long max, unsigned long *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoul(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *out >= min &&
           *out <= max;
}

static bool
namespaces_parse(options *opts, const char *text)
{
    free(opts->namespaces);
    opts->namespaces = strdup(text);
    opts->config.namespace_count = 0;
    char *save = NULL;
    char *name =
        opts->namespaces == NULL ? NULL : strtok_r(opts->namespaces, ",", &save);
    for (; name != NULL; name = strtok_r(NULL, ",", &save)) {
        if (opts->config.namespace_count == AEROS_NAMESPACES_MAX ||
            strlen(name) > AERO_NAMESPACE_MAX) {
            return false;
        }
        opts->config.namespaces[opts->config.namespace_count++] = name;
    }
    return opts->config.namespace_count > 0;
}

static int
fail_usage(const char *option, const char *value)
{
    fprintf(stderr, "aeroloop-devserver: bad value for %s: %s\n", option, value);
    return EXIT_FAILURE;
}

/* EXIT_SUCCESS to go on, otherwise -1 (help was shown) or EXIT_FAILURE. */
static int
options_parse(int argc, char **argv, options *opts)
{
    static const struct option known[] = {
        {"port", required_argument, NULL, 'p'},
        {"nodes", required_argument, NULL, 'n'},
        {"namespace", required_argument, NULL, 's'},
        {"replication-factor", required_argument, NULL, 'r'},
        {"cluster-name", required_argument, NULL, 'c'},
        {"address", required_argument, NULL, 'a'},
        {"exit-with-parent", no_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        unsigned long number = 0;
        switch (option) {
        case 'p':
            if (!number_parse(optarg, 0, 65535, &number)) {
                return fail_usage("--port", optarg);
            }
            opts->config.port = (uint16_t)number;
            break;
        case 'n':
            if (!number_parse(optarg, 1, AEROS_NODES_MAX, &number)) {
                return fail_usage("--nodes", optarg);
            }
            opts->config.node_count = (uint32_t)number;
            break;
        case 's':
            if (!namespaces_parse(opts, optarg)) {
                return fail_usage("--namespace", optarg);
            }
            break;
        case 'r':
            if (!number_parse(optarg, 1, AEROS_NODES_MAX, &number)) {
                return fail_usage("--replication-factor", optarg);
            }
            opts->config.replication_factor = (uint32_t)number;
            break;
        case 'c':
            if (optarg[0] == '\0' || strlen(optarg) > AERO_CLUSTER_NAME_MAX ||
                strpbrk(optarg, "\"\\\n\t;") != NULL) {
                return fail_usage("--cluster-name", optarg);
            }
            opts->config.cluster_name = optarg;
            break;
        case 'a':
            opts->config.address = optarg;
            break;
        case 'e':
            opts->exit_with_parent = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        default:
            fputs(usage, stderr);
            return EXIT_FAILURE;
        }
    }
    if (optind < argc) {
        return fail_usage("the command line", argv[optind]);
    }
    if (opts->config.port != 0 &&
        opts->config.port + opts->config.node_count > 65536u) {
        return fail_usage("--port", "there are no ports behind it for all nodes");
    }
    return EXIT_SUCCESS;
}

/* As many connections as a real server takes by default (proto-fd-max), where the
 * system allows it. */
static void
descriptors_allow(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS) {
        limit.rlim_cur =
            limit.rlim_max < DESCRIPTORS ? limit.rlim_max : (rlim_t)DESCRIPTORS;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void
on_signal(void *owner)
{
    aeros_server *server = owner;
    aeros_server_stop(server);
    aeroi_loop_stop(server->loop);
}

/* A parent that dies closes the pipe; SIGTERM then does the rest. */
static void *
parent_watch(void *unused)
{
    (void)unused;
    char byte;
    ssize_t got;
    do {
        got = read(STDIN_FILENO, &byte, 1);
    } while (got > 0 || (got < 0 && errno == EINTR));
    (void)kill(getpid(), SIGTERM);
    return NULL;
}

static bool
parent_watch_start(void)
{
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, parent_watch, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) {
        (void)pthread_detach(thread);
    }
    return started;
}

static void
ready_print(const aeros_server *server)
{
    printf("{\"hosts\":[");
    for (uint32_t i = 0; i < server->config.node_count; i++) {
        printf("%s[\"%s\",%u]", i == 0 ? "" : ",", server->config.address,
               (unsigned)aeroi_address_port(&server->nodes[i].address));
    }
    printf("],\"pid\":%ld,\"cluster_name\":\"%s\"}\n", (long)getpid(),
           server->config.cluster_name);
    (void)fflush(stdout);
}

static int
serve(options *opts, aeros_server *server)
{
    aeroi_loop *loop = NULL;
    aero_error error = {0};
    aero_status status = aeroi_loop_new(NULL, &loop);
    if (status == AERO_OK) {
        status = aeroi_loop_on_signals(loop, on_signal, server);
    }
    if (status != AERO_OK) {
        fprintf(stderr, "aeroloop-devserver: %s\n", aero_status_text(status));
        aeroi_loop_free(loop, false);
        return EXIT_FAILURE;
    }
    status = aeros_server_start(server, NULL, loop, &opts->config, &error);
    if (status == AERO_OK) {
        ready_print(server);
        if (opts->exit_with_parent && !parent_watch_start()) {
            fprintf(stderr, "aeroloop-devserver: cannot watch standard input\n");
        }
    }
    else {
        fprintf(stderr, "aeroloop-devserver: %s\n", error.message);
        aeros_server_stop(server);
        aeroi_loop_stop(loop);
    }
    aeroi_loop_run(loop);
    aeros_server_free(server);
    aeroi_loop_free(loop, false);
    return status == AERO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    static aeros_server server;
    options opts = {
        .config =
            {
                .address = "127.0.0.1",
                .cluster_name = "aeroloop",
                .namespaces = {"test", "bar"},
                .namespace_count = 2,
                .node_count = 1,
                .replication_factor = 2,
                .port = DEFAULT_PORT,
            },
    };
    int result = options_parse(argc, argv, &opts);
    if (result == EXIT_SUCCESS) {
        descriptors_allow();
        result = serve(&opts, &server);
    }
    else if (result < 0) {
        result = EXIT_SUCCESS;
    }
    free(opts.namespaces);
    return result;
}

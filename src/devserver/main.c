/* SPDX-License-Identifier: Apache-2.0 */
/* main - the program aeroloop-devserver. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "devserver/document.h"
#include "devserver/load.h"
#include "devserver/options.h"
#include "devserver/server.h"
#include "loop/stream.h"

#define DESCRIPTORS_SPARE 100u

/* As many connections as the settings allow, where the system does too. */
static void
descriptors_allow(uint32_t proto_fd_max)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)proto_fd_max + DESCRIPTORS_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
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

/* "2026-11-30T16:00:00.123Z info  text" */
static void
on_log(aero_log_level level, const char *text, void *user_data)
{
    static const char *const names[] = {"error", "warn ", "info ", "debug", "trace"};
    (void)user_data;
    struct timespec now;
    struct tm parts;
    char stamp[32] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts) != NULL) {
        (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);
    }
    fprintf(stderr, "%s.%03ldZ %s %s\n", stamp, now.tv_nsec / 1000000, names[level],
            text);
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

/* Listens and loads. No client is served before the loop runs. */
static int
server_begin(const aeros_options *options, aeros_server *server, aeroi_loop *loop)
{
    aero_error error = {0};
    if (aeros_server_start(server, NULL, loop, &options->config, &error) != AERO_OK) {
        fprintf(stderr, "aeroloop-devserver: %s\n", error.message);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < options->load_count; i++) {
        if (!aeros_load_file(server, options->load_files[i])) {
            return AEROS_EXIT_BAD_FILE;
        }
    }
    return EXIT_SUCCESS;
}

static int
serve(const aeros_options *options, aeros_server *server)
{
    aeroi_loop *loop = NULL;
    aero_status status = aeroi_loop_new(NULL, &loop);
    if (status == AERO_OK) {
        status = aeroi_loop_on_signals(loop, on_signal, server);
    }
    if (status != AERO_OK) {
        fprintf(stderr, "aeroloop-devserver: %s\n", aero_status_text(status));
        aeroi_loop_free(loop, false);
        return EXIT_FAILURE;
    }
    int result = server_begin(options, server, loop);
    if (result == EXIT_SUCCESS) {
        ready_print(server);
        if (options->exit_with_parent && !parent_watch_start()) {
            fprintf(stderr, "aeroloop-devserver: cannot watch standard input\n");
        }
    }
    else {
        aeros_server_stop(server);
        aeroi_loop_stop(loop);
    }
    aeroi_loop_run(loop);
    aeros_server_free(server);
    aeroi_loop_free(loop, false);
    return result;
}

int
main(int argc, char **argv)
{
    static aeros_server server;
    static aeros_options options;
    int result = EXIT_SUCCESS;
    aeros_options_init(&options);
    if (!aeros_options_parse(&options, argc, argv, &result)) {
        return result;
    }
    if (options.log_level != AERO_LOG_OFF) {
        server.log = (aeroi_log){.level = options.log_level, .callback = on_log};
    }
    descriptors_allow(options.config.proto_fd_max);
    return serve(&options, &server);
}

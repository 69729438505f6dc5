/* SPDX-License-Identifier: Apache-2.0 */
/* names - the strings that are compared with argument names and dict keys. They are
 * interned once, when the module is made. */
#ifndef AEROPY_NAMES_H
#define AEROPY_NAMES_H

/* Arguments of methods. */
#define AEROPY_ARGUMENT_NAMES(X) \
    X(_dtype)                    \
    X(bin)                       \
    X(bin_names)                 \
    X(bins)                      \
    X(command)                   \
    X(config)                    \
    X(context)                   \
    X(data)                      \
    X(default)                   \
    X(dtype)                     \
    X(key)                       \
    X(key_field)                 \
    X(keys)                      \
    X(meta)                      \
    X(msg)                       \
    X(namespace)                 \
    X(offset)                    \
    X(ops)                       \
    X(overflow)                  \
    X(policy)                    \
    X(records)                   \
    X(retry)                     \
    X(set_name)                  \
    X(strict)                    \
    X(val)                       \
    X(validity)

/* Keys of policies and meta that are not arguments too. */
#define AEROPY_POLICY_NAMES(X) \
    X(allow_all_bins)          \
    X(allow_inline)            \
    X(allow_inline_ssd)        \
    X(allow_split)             \
    X(commit_level)            \
    X(concurrency)             \
    X(durable_delete)          \
    X(exists)                  \
    X(filter_expression)       \
    X(gen)                     \
    X(max_retries)             \
    X(read_mode_ap)            \
    X(read_touch_ttl_percent)  \
    X(replica)                 \
    X(respond_all_keys)        \
    X(sleep_between_retries)   \
    X(socket_timeout)          \
    X(timeout_delay)           \
    X(total_timeout)           \
    X(ttl)

/* Keys of the configuration; `timeout` and `auto_batch` are keys of policies
 * too. */
#define AEROPY_CONFIG_NAMES(X)    \
    X(auth_mode)                  \
    X(auto_batch)                 \
    X(cluster_name)               \
    X(conn_pools_per_node)        \
    X(hosts)                      \
    X(idle_timeout)               \
    X(idle_timeout_ms)            \
    X(key_bytes_as)               \
    X(max_concurrent_operations)  \
    X(max_conns_per_node)         \
    X(min_conns_per_node)         \
    X(operation_queue_timeout_ms) \
    X(password)                   \
    X(tend_interval)              \
    X(timeout)                    \
    X(use_services_alternate)     \
    X(user)                       \
    X(username)

/* Attributes and methods of other people's objects. */
#define AEROPY_OTHER_NAMES(X) \
    X(add_reader)             \
    X(attempts)               \
    X(call_exception_handler) \
    X(call_soon)              \
    X(in_doubt)               \
    X(is_closed)              \
    X(items)                  \
    X(node)                   \
    X(op)                     \
    X(remove_reader)          \
    X(result_code)            \
    X(values)

#define AEROPY_NAMES(X)      \
    AEROPY_ARGUMENT_NAMES(X) \
    AEROPY_POLICY_NAMES(X)   \
    AEROPY_CONFIG_NAMES(X)   \
    AEROPY_OTHER_NAMES(X)

#define AEROPY_NAME_ENUM_(name) AEROPY_NAME_##name,
typedef enum aeropy_name {
    AEROPY_NAMES(AEROPY_NAME_ENUM_) AEROPY_NAME_COUNT
} aeropy_name;
#undef AEROPY_NAME_ENUM_

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* config - the configuration dict (section 2 of the API), read strictly. */
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define HOST_SHAPES \
    "a host must be (\"name\", port), (\"name\",), \"name\" or \"name:port\""
#define DEFAULT_PORT 3000

static int
hold(aeropy_config *config, PyObject *object)
{
    return PyList_Append(config->held, object);
}

static int
port_in(PyObject *object, uint16_t *out)
{
    if (!PyLong_Check(object) || PyBool_Check(object)) {
        PyErr_Format(PyExc_TypeError, "port must be an int, got %.200s; " HOST_SHAPES,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    int overflow;
    long long port = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0 || port < 0 || port > UINT16_MAX) {
        PyErr_Format(PyExc_OverflowError, "port %R is not in 1..65535", object);
        return -1;
    }
    if (port == 0) {
        PyErr_SetString(PyExc_ValueError, "port 0 is not in 1..65535");
        return -1;
    }
    *out = (uint16_t)port;
    return 0;
}

static int
name_in(aeropy_config *config, PyObject *object, const char **out)
{
    aeropy_place place = {"host name", NULL};
    size_t len;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "Host must be a (host, port) tuple or a string; the name is "
                     "a %.200s; " HOST_SHAPES,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    *out = aeropy_utf8_no_nul(object, &place, &len);
    if (*out == NULL) {
        return -1;
    }
    if (len == 0 || len > AERO_HOST_NAME_MAX) {
        PyErr_Format(PyExc_ValueError, "host name must have 1..%d bytes; " HOST_SHAPES,
                     AERO_HOST_NAME_MAX);
        return -1;
    }
    return hold(config, object);
}

static int
bad_port_text(PyObject *object)
{
    PyErr_Format(PyExc_ValueError, "bad port in host %R; " HOST_SHAPES, object);
    return -1;
}

/* The digits after the colon: 1..65535. */
static int
port_from_text(PyObject *whole, const char *text, uint16_t *out)
{
    unsigned long port = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0') {
        return bad_port_text(whole);
    }
    for (size_t i = 0; i < digits; i++) {
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    if (port == 0 || port > UINT16_MAX) {
        return bad_port_text(whole);
    }
    *out = (uint16_t)port;
    return 0;
}

/* "name", "name:port", "[v6]", "[v6]:port"; with more than one colon and no bracket it
 * is an IPv6 address. */
static int
host_from_text(aeropy_config *config, PyObject *object, aero_host *out)
{
    const char *text;
    const char *port = NULL;
    const char *start;
    size_t len;

    if (name_in(config, object, &text) < 0) {
        return -1;
    }
    start = text;
    len = strlen(text);
    const char *colon = strchr(text, ':');
    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (close == NULL || (close[1] != '\0' && close[1] != ':')) {
            PyErr_Format(PyExc_ValueError, "bad address in host %R; " HOST_SHAPES,
                         object);
            return -1;
        }
        start = text + 1;
        len = (size_t)(close - start);
        port = close[1] == ':' ? close + 2 : NULL;
    }
    else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        len = (size_t)(colon - text);
        port = colon + 1;
    }
    if (len == 0) {
        PyErr_Format(PyExc_ValueError, "no name in host %R; " HOST_SHAPES, object);
        return -1;
    }
    out->port = DEFAULT_PORT;
    if (port != NULL && port_from_text(object, port, &out->port) < 0) {
        return -1;
    }
    PyObject *name = PyUnicode_DecodeUTF8(start, (Py_ssize_t)len, NULL);
    if (name == NULL) {
        return -1;
    }
    int result = name_in(config, name, &out->name);
    Py_DECREF(name);
    return result;
}

static int
host_in(aeropy_config *config, PyObject *object, aero_host *out)
{
    if (PyUnicode_Check(object)) {
        return host_from_text(config, object, out);
    }
    if (!PyTuple_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "Host must be a (host, port) tuple or a string, got %.200s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(object);
    if (count < 1 || count > 2) {
        PyErr_Format(PyExc_ValueError,
                     "Host tuple must have 1 or 2 elements, got %zd; " HOST_SHAPES,
                     count);
        return -1;
    }
    out->port = DEFAULT_PORT;
    if (name_in(config, PyTuple_GET_ITEM(object, 0), &out->name) < 0) {
        return -1;
    }
    return count == 1 ? 0 : port_in(PyTuple_GET_ITEM(object, 1), &out->port);
}

static int
hosts_in(aeropy_config *config, PyObject *object)
{
    if (!PyList_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "'hosts' must be a list, got %.200s; " HOST_SHAPES,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    PyObject *hosts = PyList_AsTuple(object);
    if (hosts == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(hosts);
    int result = hold(config, hosts);
    if (result == 0 && count == 0) {
        PyErr_SetString(PyExc_ValueError, "hosts list must not be empty");
        result = -1;
    }
    if (result == 0) {
        config->hosts = PyMem_Calloc((size_t)count, sizeof(aero_host));
        if (config->hosts == NULL) {
            PyErr_NoMemory();
            result = -1;
        }
    }
    for (Py_ssize_t i = 0; result == 0 && i < count; i++) {
        result = host_in(config, PyTuple_GET_ITEM(hosts, i), &config->hosts[i]);
    }
    Py_DECREF(hosts);
    config->native.hosts = config->hosts;
    config->native.host_count = (size_t)count;
    return result;
}

static int
uint32_in(PyObject *value, const char *name, uint32_t *out)
{
    uint64_t number;
    if (aeropy_uint(value, name, UINT32_MAX, &number) < 0) {
        return -1;
    }
    *out = (uint32_t)number;
    return 0;
}

/* Seconds; a number that can only mean milliseconds is taken as these. */
static int
idle_timeout_in(PyObject *value, uint32_t *out)
{
    uint32_t number;
    if (uint32_in(value, "idle_timeout", &number) < 0) {
        return -1;
    }
    if (number < 1000) {
        *out = number * 1000;
        return 0;
    }
    *out = number;
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "idle_timeout is in seconds; %u is taken as milliseconds. "
                            "Use idle_timeout_ms to be exact",
                            (unsigned)number);
}

static int
key_bytes_as_in(PyObject *value, bool *out)
{
    if (PyUnicode_Check(value)) {
        if (PyUnicode_CompareWithASCIIString(value, "string") == 0) {
            *out = true;
            return 0;
        }
        if (PyUnicode_CompareWithASCIIString(value, "blob") == 0) {
            *out = false;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "'key_bytes_as' must be 'blob' or 'string', got %R",
                 value);
    return -1;
}

static int
not_available(aeropy_state *state, const char *what)
{
    aeropy_raise_client_error(state, "%s is not available in this release", what);
    return -1;
}

static int
cluster_name_in(aeropy_config *config, PyObject *value)
{
    if (value == Py_None) {
        return 0;
    }
    aeropy_place place = {"'cluster_name'", NULL};
    size_t len;
    config->native.cluster_name = aeropy_utf8_no_nul(value, &place, &len);
    return config->native.cluster_name == NULL ? -1 : hold(config, value);
}

static int
timeout_in(PyObject *value, aero_config *native)
{
    uint32_t timeout;
    if (uint32_in(value, "timeout", &timeout) < 0) {
        return -1;
    }
    native->login_timeout_ms = timeout;
    if (timeout != 0 && timeout < native->connect_timeout_ms) {
        native->connect_timeout_ms = timeout;
    }
    return 0;
}

static int
entry_in(aeropy_state *state, aeropy_config *config, aeropy_name name, PyObject *value)
{
    aero_config *native = &config->native;

    switch (name) {
    case AEROPY_NAME_hosts:
        return hosts_in(config, value);
    case AEROPY_NAME_cluster_name:
        return cluster_name_in(config, value);
    case AEROPY_NAME_timeout:
        return timeout_in(value, native);
    case AEROPY_NAME_idle_timeout:
        return idle_timeout_in(value, &native->idle_timeout_ms);
    case AEROPY_NAME_idle_timeout_ms:
        return uint32_in(value, "idle_timeout_ms", &native->idle_timeout_ms);
    case AEROPY_NAME_max_conns_per_node:
        return uint32_in(value, "max_conns_per_node", &native->max_conns_per_node);
    case AEROPY_NAME_min_conns_per_node:
        return uint32_in(value, "min_conns_per_node", &native->min_conns_per_node);
    case AEROPY_NAME_conn_pools_per_node: {
        /* Our pool has no lock to spread: the number is checked and has no effect. */
        uint64_t pools;
        return aeropy_uint(value, "conn_pools_per_node", UINT8_MAX, &pools);
    }
    case AEROPY_NAME_tend_interval:
        return uint32_in(value, "tend_interval", &native->tend_interval_ms);
    case AEROPY_NAME_use_services_alternate:
        return aeropy_bool(value, "use_services_alternate",
                           &native->use_services_alternate);
    case AEROPY_NAME_auto_batch:
        return aeropy_bool(value, "auto_batch", &config->auto_batch);
    case AEROPY_NAME_key_bytes_as:
        return key_bytes_as_in(value, &config->key_bytes_as_string);
    case AEROPY_NAME_max_concurrent_operations:
        return uint32_in(value, "max_concurrent_operations",
                         &native->max_concurrent_operations);
    case AEROPY_NAME_operation_queue_timeout_ms:
        return uint32_in(value, "operation_queue_timeout_ms",
                         &native->operation_queue_timeout_ms);
    case AEROPY_NAME_user:
        return value == Py_None ? 0 : not_available(state, "user");
    default:
        /* password and auth_mode count with a user alone. */
        return 0;
    }
}

static const uint8_t config_names[] = {
#define CONFIG_NAME(name) AEROPY_NAME_##name,
    AEROPY_CONFIG_NAMES(CONFIG_NAME)
#undef CONFIG_NAME
};

static int
item_in(aeropy_state *state, aeropy_config *config, PyObject *key, PyObject *value)
{
    const size_t count = sizeof(config_names);
    for (size_t i = 0; PyUnicode_Check(key) && i < count; i++) {
        if (config_names[i] != AEROPY_NAME_username &&
            PyUnicode_Compare(state->names[config_names[i]], key) == 0) {
            return entry_in(state, config, (aeropy_name)config_names[i], value);
        }
    }
    return aeropy_unknown_key(state, "config", key, config_names, count);
}

static int
check(aeropy_state *state, const aero_config *native)
{
    if (native->hosts == NULL) {
        PyErr_SetString(PyExc_ValueError, "Config must contain 'hosts' key");
        return -1;
    }
    if (native->min_conns_per_node > native->max_conns_per_node) {
        aeropy_raise_client_error(
            state,
            "minimum number of connections specified (%u) is bigger than total "
            "connection pool size (%u)",
            (unsigned)native->min_conns_per_node, (unsigned)native->max_conns_per_node);
        return -1;
    }
    aero_error error;
    memset(&error, 0, sizeof(error));
    aero_status status = aero_config_check(native, &error);
    if (status != AERO_OK) {
        aeropy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

int
aeropy_config_parse(aeropy_state *state, PyObject *object, aeropy_config *out)
{
    PyObject *copy = NULL;

    memset(out, 0, sizeof(*out));
    aero_config_init(&out->native);
    out->native.user_agent = "python-" AERO_VERSION;
    if (!PyDict_Check(object)) {
        PyErr_Format(PyExc_TypeError, "config must be a dict, got %.200s",
                     Py_TYPE(object)->tp_name);
        goto fail;
    }
    out->held = PyList_New(0);
    copy = PyDict_Copy(object); /* warnings and errors may run code that changes it */
    if (out->held == NULL || copy == NULL) {
        goto fail;
    }
    Py_ssize_t position = 0;
    PyObject *key;
    PyObject *value;
    while (PyDict_Next(copy, &position, &key, &value)) {
        if (item_in(state, out, key, value) < 0) {
            goto fail;
        }
    }
    if (check(state, &out->native) < 0) {
        goto fail;
    }
    Py_DECREF(copy);
    return 0;

fail:
    Py_XDECREF(copy);
    aeropy_config_deinit(out);
    return -1;
}

void
aeropy_config_deinit(aeropy_config *config)
{
    Py_CLEAR(config->held);
    PyMem_Free(config->hosts);
    config->hosts = NULL;
}

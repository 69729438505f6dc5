/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static bool
parse_v6(const char *text, uint16_t port, aeroi_address *out)
{
    char address[INET6_ADDRSTRLEN];
    const char *scope = strchr(text, '%');
    size_t len = scope != NULL ? (size_t)(scope - text) : strlen(text);
    if (len >= sizeof address) {
        return false;
    }
    memcpy(address, text, len);
    address[len] = '\0';
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, address, &v6.sin6_addr) != 1) {
        return false;
    }
    if (scope != NULL) {
        v6.sin6_scope_id = if_nametoindex(scope + 1);
        if (v6.sin6_scope_id == 0) {
            return false;
        }
    }
    memcpy(&out->storage, &v6, sizeof v6);
    out->len = sizeof v6;
    return true;
}

bool
aeroi_address_parse(const char *text, size_t len, uint16_t port, aeroi_address *out)
{
    char copy[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
    if (len == 0 || len >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strlen(copy) != len) {
        return false;
    }
    memset(out, 0, sizeof *out);
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, copy, &v4.sin_addr) == 1) {
        memcpy(&out->storage, &v4, sizeof v4);
        out->len = sizeof v4;
        return true;
    }
    return parse_v6(copy, port, out);
}

void
aeroi_address_format(const aeroi_address *address, char out[AEROI_ADDRESS_TEXT_SIZE])
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address->storage, sizeof v6);
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
        (void)snprintf(out, AEROI_ADDRESS_TEXT_SIZE, "[%s]:%u", text,
                       (unsigned)ntohs(v6.sin6_port));
        return;
    }
    struct sockaddr_in v4;
    memcpy(&v4, &address->storage, sizeof v4);
    (void)inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    (void)snprintf(out, AEROI_ADDRESS_TEXT_SIZE, "%s:%u", text,
                   (unsigned)ntohs(v4.sin_port));
}

bool
aeroi_address_equal(const aeroi_address *a, const aeroi_address *b)
{
    if (a->storage.ss_family != b->storage.ss_family) {
        return false;
    }
    if (a->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 x;
        struct sockaddr_in6 y;
        memcpy(&x, &a->storage, sizeof x);
        memcpy(&y, &b->storage, sizeof y);
        return x.sin6_port == y.sin6_port && x.sin6_scope_id == y.sin6_scope_id &&
               memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0;
    }
    struct sockaddr_in x;
    struct sockaddr_in y;
    memcpy(&x, &a->storage, sizeof x);
    memcpy(&y, &b->storage, sizeof y);
    return x.sin_port == y.sin_port && x.sin_addr.s_addr == y.sin_addr.s_addr;
}

bool
aeroi_address_is_loopback(const aeroi_address *address)
{
    if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address->storage, sizeof v6);
        return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
    }
    struct sockaddr_in v4;
    memcpy(&v4, &address->storage, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
}

uint16_t
aeroi_address_port(const aeroi_address *address)
{
    if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &address->storage, sizeof v6);
        return ntohs(v6.sin6_port);
    }
    struct sockaddr_in v4;
    memcpy(&v4, &address->storage, sizeof v4);
    return ntohs(v4.sin_port);
}

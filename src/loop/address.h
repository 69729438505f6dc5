/* SPDX-License-Identifier: Apache-2.0 */
/* address - a socket address with its text. Pure functions, any thread. */
#ifndef AERO_SRC_LOOP_ADDRESS_H
#define AERO_SRC_LOOP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct aeroi_address {
    struct sockaddr_storage storage;
    socklen_t len;
} aeroi_address;

/* "10.0.0.5:3000", "[::1]:3000" and its NUL. */
#define AEROI_ADDRESS_TEXT_SIZE 64

/* A numeric IPv4 or IPv6 address (without brackets, a scope allowed); false for a name.
 */
bool aeroi_address_parse(const char *text, size_t len, uint16_t port,
                         aeroi_address *out);
void aeroi_address_format(const aeroi_address *address,
                          char out[AEROI_ADDRESS_TEXT_SIZE]);
bool aeroi_address_equal(const aeroi_address *a, const aeroi_address *b);
bool aeroi_address_is_loopback(const aeroi_address *address);
uint16_t aeroi_address_port(const aeroi_address *address);

#endif

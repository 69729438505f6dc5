/* SPDX-License-Identifier: Apache-2.0 */
/* ripemd160 - what the scalar and the vector form of the hash have in common. */
#ifndef AERO_SRC_WIRE_RIPEMD160_H
#define AERO_SRC_WIRE_RIPEMD160_H

#include <stdint.h>

#define AEROI_RIPEMD160_BLOCK 64
#define AEROI_RIPEMD160_WORDS 16 /* of a block */
/* The padding's 0x80 byte and the 64-bit length need 9 bytes of the last block. */
#define AEROI_RIPEMD160_LENGTH_OFFSET 56

#define AEROI_RIPEMD160_INIT \
    {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}

#endif

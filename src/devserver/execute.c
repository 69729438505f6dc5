/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/execute.h"

#define KEY_INTEGER_SIZE 9u /* type byte and 8 bytes */

void
aeros_exec_init(aeros_exec *exec, const aero_allocator *allocator)
{
    memset(exec, 0, sizeof *exec);
    exec->allocator = aeroi_allocator_or_default(allocator);
    aeros_arena_init(&exec->arena, exec->allocator);
}

void
aeros_exec_deinit(aeros_exec *exec)
{
    aeros_arena_deinit(&exec->arena);
    aeroi_free(exec->allocator, exec->bins);
    aeroi_free(exec->allocator, exec->cursor.offsets);
    exec->bins = NULL;
    exec->bin_cap = 0;
    exec->cursor = (aeros_cursor){0};
}

void
aeros_answer_store(uint8_t *p, aero_status result, uint32_t generation,
                   uint32_t void_time, uint32_t index, uint16_t n_ops)
{
    p[0] = AEROI_MSG_SIZE;
    memset(p + 1, 0, 4);
    /* Our own trouble (no memory) is the server's unknown error. */
    p[5] = (uint8_t)(result < 0 ? AERO_SERVER_UNKNOWN : result);
    aeroi_store_be32(p + 6, generation);
    aeroi_store_be32(p + 10, void_time);
    aeroi_store_be32(p + 14, index);
    aeroi_store_be16(p + 18, 0);
    aeroi_store_be16(p + 20, n_ops);
}

void
aeros_answer_put(aeroi_buf *out, aero_status result, uint32_t generation,
                 uint32_t void_time, uint32_t index)
{
    uint8_t *p = aeroi_buf_grow(out, AEROI_MSG_SIZE);
    if (p != NULL) {
        aeros_answer_store(p, result, generation, void_time, index, 0);
    }
}

aero_status
aeros_record_admit(const aeros_record *record, const aeros_request *request)
{
    /* This server evaluates no expressions yet: to it none is valid, and an invalid
     * filter is answered with 4 once the record was found. */
    if (record != NULL && request->filter != NULL) {
        return AERO_SERVER_PARAM;
    }
    if (request->key == NULL) {
        return AERO_OK;
    }
    if (request->key_len == 0 || (request->key[0] == AERO_PARTICLE_INTEGER &&
                                  request->key_len != KEY_INTEGER_SIZE)) {
        return AERO_UNSUPPORTED_FEATURE;
    }
    if (record != NULL && record->key_len > 0 &&
        (record->key_len != request->key_len ||
         memcmp(aeros_record_key(record), request->key, request->key_len) != 0)) {
        return AERO_KEY_MISMATCH;
    }
    return AERO_OK;
}

aero_status
aeros_request_judge(const aeros_request *request)
{
    if (request->has_mrt || (request->msg.info4 & AEROS_INFO4_MRT) != 0) {
        return AERO_ENTERPRISE_ONLY;
    }
    if (request->has_udf) {
        return AERO_FORBIDDEN;
    }
    if ((request->msg.info2 & AEROI_INFO2_WRITE) == 0 &&
        (request->msg.info1 & AEROI_INFO1_READ) == 0) {
        return AERO_SERVER_PARAM;
    }
    return AERO_OK;
}

aero_status
aeros_execute(aeros_exec *exec, aeros_store *store, const aeros_request *request,
              aeros_read_plan *plan, uint32_t index, aeroi_buf *out,
              aeros_change *out_change)
{
    *out_change = AEROS_CHANGE_NONE;
    aero_status status = aeros_request_judge(request);
    if (status == AERO_OK && (request->msg.info2 & AEROI_INFO2_WRITE) != 0) {
        if ((request->msg.info2 & AEROI_INFO2_DELETE) != 0) {
            return aeros_delete(exec, store, request, index, out, out_change);
        }
        return aeros_write(exec, store, request, index, out, out_change);
    }
    if (status == AERO_OK) {
        status = aeros_read_plan_make(exec, store, request, plan);
    }
    if (status == AERO_OK) {
        return aeros_read(exec, store, request, plan, index, out, out_change);
    }
    aeros_answer_put(out, status, 0, 0, index);
    return status;
}

/*
 * libpq.h: the functions of libpq that a log on a server needs, loaded when one is opened. If libpq were linked,
 * every `lineage best` on a directory would load it with its TLS and Kerberos libraries, which takes longer than the
 * answer.
 */
#pragma once

#include <libpq-fe.h>

#include "../fail.h"

/* clang-format off */
#define LIBPQ_FUNCTIONS(X)                                                                                   \
    X(connectdbParams) X(pingParams) X(reset) X(setErrorVerbosity) X(serverVersion) X(status) X(errorMessage) \
    X(finish) X(setnonblocking) X(setNoticeProcessor)                                                        \
    X(socket) X(sendQuery) X(sendQueryParams) X(flush) X(consumeInput) X(isBusy) X(getResult)                \
    X(resultStatus) X(resultErrorField) X(resultErrorMessage) X(clear) X(ntuples) X(getvalue) X(getlength)   \
    X(getisnull) X(transactionStatus) X(notifies) X(freemem) X(enterPipelineMode) X(exitPipelineMode)        \
    X(pipelineSync) X(sendPrepare) X(sendQueryPrepared) X(libVersion)
/* clang-format on */

/* pq.status is PQstatus. */
struct libpq {
#define LIBPQ_MEMBER(name) __typeof__(&PQ##name) name;
    LIBPQ_FUNCTIONS(LIBPQ_MEMBER)
#undef LIBPQ_MEMBER
    void *library;
};

/* Returns LINEAGE_EIO with a message that names the missing package. */
enum lineage_status libpq_load(struct libpq *pq, struct lineage_error *err);
void libpq_unload(struct libpq *pq);

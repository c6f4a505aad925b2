/*
 * approval.h: proposals that wait until a person has accepted, edited or refused them (`night --approve`, `lineage approve`).
 *
 * telemetry/approvals.jsonl has one JSON object a line: a question {id, time, sweep, proposal}, and a decision {id, time, by, decision:
 * accepted, edited or refused, proposal of an edited one, reason of a refused one}. The latest decision on a question counts. A proposal
 * that says the same as an earlier one, but for its hypothesis and what it expects, is that question again: so a refused one is not
 * asked again, and a night that was killed goes on waiting for the same answer.
 */
#pragma once

#include <jansson.h>
#include <lineage/store.h>

enum { APPROVAL_REASON_MAX = 400, APPROVAL_ID_BYTES = 9 };

enum approval_state { APPROVAL_NEW, APPROVAL_WAITING, APPROVAL_ACCEPTED, APPROVAL_EDITED, APPROVAL_REFUSED };

/* All questions, oldest first: [{id, time, sweep, proposal, decision, by, reason, edited}]; the members after proposal are absent while
 * it waits. A new reference; NULL after printing why. */
json_t *approval_read(struct lineage_store *store);

/* The question with this id; NULL if there is none. Borrowed. */
json_t *approval_find(const json_t *questions, const char *id);

/* What was decided on a proposal of the sweep. id, and *edited (a new reference) or reason, are set where the state has them. */
enum approval_state approval_of(struct lineage_store *store, const char *sweep, const json_t *proposal,
                                char id[APPROVAL_ID_BYTES], json_t **edited, char reason[APPROVAL_REASON_MAX]);

/* Asks about a proposal, and writes the id of the question. Returns false after printing why it cannot be written. */
bool approval_ask(struct lineage_store *store, const char *sweep, const json_t *proposal, char id[APPROVAL_ID_BYTES]);

/* Records a decision: edited with a proposal, refused with a reason, else accepted. */
bool approval_decide(struct lineage_store *store, const char *id, const json_t *edited, const char *reason);

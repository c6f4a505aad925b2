#include "propose/propose_answer.h"

/* Appends proposals to the list; sets *exhausted if no more exist. */
static enum lineage_status propose(json_t *list, bool *exhausted, const struct propose_question *question,
                                   struct propose_past *past, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < question->n && status == LINEAGE_OK; i++) {
        double x[PROPOSE_RANGES_MAX];
        status = propose_past_next(x, exhausted, past, question->method, question->seed, err);
        if (status == LINEAGE_OK && *exhausted)
            return LINEAGE_OK;
        if (status == LINEAGE_OK && (!propose_past_add(past, x, question->space.n, PROPOSE_RUNNING) ||
                                     json_array_append_new(list, propose_setting_json(&question->space, x)) != 0))
            status = cli_no_memory_error(err);
    }
    return status;
}

enum lineage_status propose_answer_make(json_t **out, const struct propose_question *question, struct lineage_store *store,
                                        struct lineage_error *err)
{
    struct propose_past past;
    bool exhausted = false;
    json_t *list = json_array();
    *out = NULL;
    const struct propose_from from = {.store = store, .space = &question->space};
    enum lineage_status status = propose_past_read(&past, &from, false, err);
    size_t running = past.running;
    if (status == LINEAGE_OK)
        status = propose(list, &exhausted, question, &past, err);
    if (status == LINEAGE_OK)
        *out = json_pack("{s:s, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:O, s:b}", "method", propose_method_name(question->method),
                         "seed", (json_int_t)question->seed, "trials", "measured", (json_int_t)past.measured, "failed",
                         (json_int_t)past.failed, "running", (json_int_t)running, "elsewhere", (json_int_t)past.elsewhere,
                         "unread", (json_int_t)past.unread, "suggestions", list, "exhausted", exhausted);
    if (*out && past.source)
        json_object_set(*out, "source", past.source);
    propose_past_release(&past);
    json_decref(list);
    if (status == LINEAGE_OK && !*out)
        status = cli_no_memory_error(err);
    return status;
}

/* propose_answer.c: see propose_answer.h. */
#include "propose/propose_answer.h"

/* Appends proposals to the list; sets *exhausted if no more exist. Returns false when out of memory. */
static bool propose(json_t *list, bool *exhausted, const struct propose_question *question, struct propose_past *past,
                    const struct lineage_store *store)
{
    for (size_t i = 0; i < question->n; i++) {
        double x[PROPOSE_RANGES_MAX];
        const struct propose_problem problem = propose_problem_of(past, &question->space, store, question->seed);
        enum propose_answer answer = propose_next(x, &problem, question->method);
        *exhausted = answer == PROPOSE_EXHAUSTED;
        if (answer == PROPOSE_EXHAUSTED)
            return true;
        if (answer != PROPOSE_OK || !propose_past_add(past, x, question->space.n, PROPOSE_RUNNING) ||
            json_array_append_new(list, propose_setting_json(&question->space, x)) != 0)
            return false;
    }
    return true;
}

enum lineage_status propose_answer_make(json_t **out, const struct propose_question *question,
                                        struct lineage_store *store, struct lineage_error *err)
{
    struct propose_past past;
    bool exhausted = false;
    json_t *list = json_array();
    *out = NULL;
    enum lineage_status status = propose_past_read(&past, store, &question->space, NULL, NULL, NULL, err);
    size_t running = past.running;
    if (status == LINEAGE_OK && !propose(list, &exhausted, question, &past, store))
        status = cli_no_memory_error(err);
    if (status == LINEAGE_OK)
        *out = json_pack("{s:s, s:I, s:{s:I, s:I, s:I, s:I}, s:O, s:b}", "method", propose_method_name(question->method),
                         "seed", (json_int_t)question->seed, "trials", "measured", (json_int_t)past.measured, "failed",
                         (json_int_t)past.failed, "running", (json_int_t)running, "elsewhere", (json_int_t)past.elsewhere,
                         "suggestions", list, "exhausted", exhausted);
    if (*out && past.source)
        json_object_set(*out, "source", past.source);
    propose_past_release(&past);
    json_decref(list);
    if (status == LINEAGE_OK && !*out)
        status = cli_no_memory_error(err);
    return status;
}

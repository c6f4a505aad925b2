/*
 * case.c: run a kernel by name on a case; see rlcase/case.h.
 *
 * This file checks that the input is JSON and names a kernel, and turns every error into a status
 * with a text. The adapters case_*.c know one kernel each.
 */
#include <rlcase/case.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_call.h"
#include "case_describe.h"

struct rl_case {
    struct case_call call;
    json_t *inputs;
    char *text;
};

static enum rl_status refuse(struct rl_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum rl_status refuse(struct rl_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (err) {
        err->status = RL_EINVAL;
        vsnprintf(err->text, sizeof err->text, format, args);
    }
    va_end(args);
    return RL_EINVAL;
}

void rl_case_release(struct rl_case *done)
{
    if (!done)
        return;
    case_call_release(&done->call);
    json_decref(done->inputs);
    free(done->text);
    free(done);
}

/* 17 digits reproduce every double. */
static bool write_text(struct rl_case *done, const json_t *values)
{
    done->text = json_dumps(values, JSON_REAL_PRECISION(17) | JSON_COMPACT);
    return done->text != NULL;
}

/* A family without a single-precision form gets a different message than an unknown family. */
static const struct case_kernel *find(const char *family, bool single, struct rl_error *err)
{
    const struct case_kernel *kernel = case_find(family, single);
    if (!kernel && single && case_find(family, false))
        refuse(err, "kernel '%.60s' has no single-precision form", family);
    else if (!kernel)
        refuse(err, "no kernel '%.60s'", family);
    return kernel;
}

static enum rl_status run(struct rl_case *done, const struct case_kernel *kernel, struct rl_error *err)
{
    struct case_call *call = &done->call;
    case_check_names(call, kernel);
    if (!call->failed)
        kernel->run(call);
    if (!call->failed && !write_text(done, call->outputs))
        case_fail(call, "out of memory");
    if (!call->failed)
        return RL_OK;
    case_name_error(call);
    if (err)
        *err = call->err;
    return call->err.status;
}

static enum rl_status start(struct rl_case **done, const char *family, bool single, const char *values,
                            const struct rl_case_array *arrays, size_t n, bool keeps_arrays, struct rl_error *err)
{
    json_error_t error;
    if (!done)
        return refuse(err, "done is NULL");
    *done = NULL;
    if (!family || !values || (!arrays && n))
        return refuse(err, "%s is NULL", !family ? "family" : !values ? "values" : "arrays");
    const struct case_kernel *kernel = find(family, single, err);
    if (!kernel)
        return RL_EINVAL;
    struct rl_case *made = calloc(1, sizeof *made);
    if (!made)
        return refuse(err, "out of memory");
    /*
     * The arrays belong to the caller, and the case only points to them. The JSON is parsed into a
     * copy that lives as long as the case, because adapters borrow texts from it.
     */
    made->inputs = json_loads(values, 0, &error);
    case_call_init(&made->call, made->inputs);
    made->call.arrays = arrays;
    made->call.n_arrays = n;
    made->call.keeps_arrays = keeps_arrays;
    made->call.lays_out = kernel->layouts;
    case_find_stride(&made->call);
    enum rl_status status = json_is_object(made->inputs) ? run(made, kernel, err)
                            : made->inputs               ? refuse(err, "values is not a JSON object")
                                                         : refuse(err, "values is not JSON: %.120s", error.text);
    if (status == RL_OK)
        *done = made;
    else
        rl_case_release(made);
    return status;
}

/*
 * Results are arrays for programs and JSON for people and files. With arrays a batch of megabytes
 * is not converted to text and back.
 */
enum rl_status rl_case_run(struct rl_case **done, const char *family, bool single, const char *values,
                           const struct rl_case_array *arrays, size_t n, struct rl_error *err)
{
    return start(done, family, single, values, arrays, n, true, err);
}

enum rl_status rl_case_run_json(struct rl_case **done, const char *family, bool single, const char *values, struct rl_error *err)
{
    return start(done, family, single, values, NULL, 0, false, err);
}

enum rl_status rl_case_describe(struct rl_case **done, struct rl_error *err)
{
    json_t *list = case_describe();
    struct rl_case *made = calloc(1, sizeof *made);
    *done = NULL;
    if (made && list && write_text(made, list))
        *done = made;
    else
        free(made);
    json_decref(list);
    return *done ? RL_OK : refuse(err, "out of memory");
}

const char *rl_case_values(const struct rl_case *done)
{
    return done->text;
}

const struct rl_case_array *rl_case_arrays(const struct rl_case *done, size_t *n)
{
    *n = done->call.n_results;
    return done->call.results;
}

/*
 * Callers that declare the struct themselves (Python's ctypes) compare this size, so that a wrong
 * layout is noticed before the struct is read.
 */
size_t rl_case_array_size(void)
{
    return sizeof(struct rl_case_array);
}

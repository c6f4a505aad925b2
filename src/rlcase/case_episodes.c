/* case_episodes.c: `lineage core episode_starts`. */
#include <rlcore/process.h>

#include "case_call.h"

void case_marginal_utility(struct case_call *call)
{
    struct case_dim n = {0};
    const double *values = case_numbers(call, "prefix_values", &n);
    double *utilities = case_alloc(call, n.n, sizeof *utilities);
    CASE_RUN(call, rl_marginal_utility(n.n, values, utilities, &call->err));
    case_put_numbers(call, "utilities", utilities, n.n - 1);
}

static const char *const *read_markers(struct case_call *call, size_t *n)
{
    const json_t *list = case_input(call, "markers");
    const char **markers = NULL;
    *n = json_array_size(list);
    if (!json_is_array(list))
        case_fail(call, "inputs.markers is not a list of texts");
    else
        markers = case_alloc(call, *n, sizeof *markers);
    for (size_t i = 0; markers && i < *n; i++) {
        markers[i] = json_string_value(json_array_get(list, i));
        if (!markers[i] || !*markers[i])
            case_fail(call, "inputs.markers[%zu] is not a text, or is empty", i);
    }
    return markers;
}

/* Offsets are checked here because the core reads the text up to the last of them. */
static size_t *read_offsets(struct case_call *call, size_t length, struct case_dim *n)
{
    const int64_t *given = case_integers(call, "token_offsets", n);
    size_t *token = given ? case_alloc(call, n->n, sizeof *token) : NULL;
    if (token && !n->n)
        case_fail(call, "inputs.token_offsets is empty; its last entry is the end of the text");
    for (size_t i = 0; token && !call->failed && i < n->n; i++) {
        if (given[i] < 0 || (uint64_t)given[i] > length || (i && given[i] < given[i - 1]))
            case_fail(call, "inputs.token_offsets[%zu] is %lld; offsets ascend from 0 to the %zu bytes of the text", i,
                      (long long)given[i], length);
        token[i] = (size_t)given[i];
    }
    return token;
}

void case_episode_starts(struct case_call *call)
{
    struct rl_episode_options options;
    struct case_dim n = {0};
    rl_episode_options_init(&options);
    const char *text = case_string(call, "text");
    size_t *token = read_offsets(call, text ? strlen(text) : 0, &n), n_episodes = 0;
    if (case_present(call, "markers"))
        options.markers = read_markers(call, &options.n_markers);
    int64_t most = case_integer_or(call, "max_tokens", (int64_t)options.max_tokens);
    if (most < 0)
        case_fail(call, "inputs.max_tokens is negative; 0 means no limit");
    options.max_tokens = (size_t)most;
    size_t *starts = case_alloc(call, n.n, sizeof *starts);
    if (call->failed)
        return;
    CASE_RUN(call, rl_episode_starts(text, n.n - 1, token, &options, starts, &n_episodes, &call->err));
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n_episodes; i++)
        json_array_append_new(list, json_integer((json_int_t)starts[i]));
    case_put(call, "episode_starts", list);
}

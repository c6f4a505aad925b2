/*
 * answer.c: parses a model's answer, which may be any text. It checks first whether the answer is complete, and only
 * then its content, because a truncated list can look like a shorter list.
 */
#include "judge/answer.h"

#include "cli.h"

static void give_up(struct answer *answer, enum answer_verdict verdict, const char *why)
{
    answer->verdict = verdict;
    snprintf(answer->why, sizeof answer->why, "%s", why);
}

/*
 * Which indices from 0 to n occurred in the answer. The range has n + 1 values because some models count steps from 0
 * and others from 1.
 */
struct seen {
    uint8_t *times, *flag; /* [n_steps + 1] */
    const json_t **text;   /* [n_steps + 1] the analysis of each, borrowed; NULL if there is none */
    size_t n_steps;
};

/* Some models write 1.0 or "1". Returns -1 for anything that is not the number of a step. */
static json_int_t index_of(const json_t *index)
{
    const char *text = json_string_value(index);
    double value = json_is_real(index) ? json_real_value(index) : -1;
    if (json_is_integer(index))
        return json_integer_value(index);
    if (text && *text && strlen(text) < 10 && strspn(text, "0123456789") == strlen(text))
        return (json_int_t)strtol(text, NULL, 10);
    return value >= 0 && value < 1e9 && value == (double)(json_int_t)value ? (json_int_t)value : -1;
}

static bool take_step(struct seen *seen, const json_t *step, struct answer *answer)
{
    const json_int_t index = index_of(json_object_get(step, "index"));
    const char *flag = cli_json_string(step, "flag");
    bool good = flag && strcmp(flag, "GOOD") == 0;
    if (index < 0 || (uint64_t)index > seen->n_steps) {
        give_up(answer, ANSWER_UNUSABLE, "an entry has no index of a step");
        return false;
    }
    if (!good && (!flag || strcmp(flag, "BAD") != 0)) {
        give_up(answer, ANSWER_UNUSABLE, "a flag is neither GOOD nor BAD");
        return false;
    }
    size_t i = (size_t)index;
    seen->times[i] = (uint8_t)(seen->times[i] < 2 ? seen->times[i] + 1 : 2);
    seen->flag[i] = good ? 1 : 0;
    seen->text[i] = json_object_get(step, "analysis");
    return true;
}

/* Whether each of the n indices that start at `first` occurred exactly once, and the remaining index not at all. */
static bool is_numbered_from(const struct seen *seen, size_t first)
{
    bool all = seen->times[first == 0 ? seen->n_steps : 0] == 0;
    for (size_t i = 0; i < seen->n_steps; i++)
        all = all && seen->times[first + i] == 1;
    return all;
}

/* A long text is cut between characters, because JSON has no half character. */
static json_t *cut_analysis(const json_t *text)
{
    const char *from = json_is_string(text) ? json_string_value(text) : "";
    size_t n = strlen(from);
    if (n > ANSWER_ANALYSIS_MAX)
        for (n = ANSWER_ANALYSIS_MAX; n > 0 && ((unsigned char)from[n] & 0xC0) == 0x80;)
            n--;
    return json_stringn(from, n);
}

static json_t *analysis_of(const struct seen *seen, size_t first)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < seen->n_steps; i++)
        json_array_append_new(list, cut_analysis(seen->text[first + i]));
    return list;
}

static void settle(const struct seen *seen, uint8_t *flags, struct answer *answer)
{
    bool from_0 = is_numbered_from(seen, 0), from_1 = !from_0 && is_numbered_from(seen, 1);
    char why[ANSWER_WHY_MAX];
    if (from_0 || from_1) {
        memcpy(flags, seen->flag + from_1, seen->n_steps);
        answer->verdict = ANSWER_COMPLETE;
        answer->analysis = analysis_of(seen, from_1);
        return;
    }
    for (size_t i = 0; i < seen->n_steps; i++)
        if (seen->times[i] != 1) {
            snprintf(why, sizeof why, "step %zu is %s", i, seen->times[i] ? "there more than once" : "missing");
            give_up(answer, ANSWER_UNUSABLE, why);
            return;
        }
    give_up(answer, ANSWER_UNUSABLE, "there are more entries than steps");
}

static void read_steps(struct answer *answer, const json_t *steps, uint8_t *flags, size_t n_steps)
{
    struct seen seen = {calloc(2 * (n_steps + 1), 1), NULL, calloc(n_steps + 1, sizeof *seen.text), n_steps};
    bool good = seen.times != NULL && seen.text != NULL;
    seen.flag = seen.times + (good ? n_steps + 1 : 0);
    if (!good)
        give_up(answer, ANSWER_UNUSABLE, "out of memory");
    for (size_t i = 0; good && i < json_array_size(steps); i++)
        good = take_step(&seen, json_array_get(steps, i), answer);
    if (good)
        settle(&seen, flags, answer);
    free(seen.times);
    free(seen.text);
}

enum { OBJECT_TRIES = 1000 }; /* braces in prose at which an object may begin */

/* An end tag in a text that begins with an object belongs to that object. */
const char *answer_after_thinking(const char *text)
{
    static const char begin[] = "<think>", end[] = "</think>";
    text += strspn(text, " \t\r\n");
    const char *found = *text != '{' ? strstr(text, end) : NULL;
    if (found)
        return found + sizeof end - 1;
    return strncmp(text, begin, sizeof begin - 1) == 0 ? text + strlen(text) : text;
}

/*
 * Finds the JSON object with a list of steps in the text, which may have prose or a Markdown fence around it. Returns NULL with
 * the reason in *why if there is none, or if there are two that differ: the answer may follow an example.
 */
static json_t *find_object(const char *from, const char *to, const char **why)
{
    json_t *found = NULL;
    bool any = false, differ = false;
    for (int tries = 0; tries < OBJECT_TRIES && (from = memchr(from, '{', (size_t)(to - from))); tries++) {
        json_error_t error;
        json_t *object = json_loadb(from, (size_t)(to - from), JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
        any = any || object;
        from += object ? error.position : 1;
        bool has_steps = json_is_array(json_object_get(object, "steps"));
        differ = differ || (has_steps && found && !json_equal(object, found));
        if (has_steps && !found)
            found = json_incref(object);
        json_decref(object);
    }
    *why = differ ? "the content has several answers" : any ? "the list \"steps\" is missing" : "the content has no JSON object";
    if (differ) {
        json_decref(found);
        found = NULL;
    }
    return found;
}

static void read_content(struct answer *answer, uint8_t *flags, size_t n_steps)
{
    const char *from = answer_after_thinking(answer->content), *why;
    json_t *object = find_object(from, from + strlen(from), &why);
    if (object)
        read_steps(answer, json_object_get(object, "steps"), flags, n_steps);
    else
        give_up(answer, ANSWER_UNUSABLE, why);
    json_decref(object);
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (size_t i = 0; word && words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Reads why the model stopped. A reason that is not known to mean a complete answer counts as incomplete. */
static bool is_whole(struct answer *answer, const json_t *choice)
{
    /* "eos" and its variants are what servers of Hugging Face and Mistral say for "stop". */
    static const char *const complete[] = {"stop", "eos", "eos_token", "end_turn", "stop_sequence", NULL};
    static const char *const cut[] = {"length", "max_tokens", "model_length", NULL};
    static const char *const filtered[] = {"content_filter", "safety", "refusal", NULL};
    const char *reason = cli_json_string(choice, "finish_reason");
    char why[ANSWER_WHY_MAX];
    if (is_one_of(reason, complete))
        return true;
    if (is_one_of(reason, cut))
        give_up(answer, ANSWER_TRUNCATED, "the answer was cut off (finish_reason length)");
    else if (is_one_of(reason, filtered))
        give_up(answer, ANSWER_REFUSED, "the answer was filtered");
    else {
        snprintf(why, sizeof why, "finish_reason is %.40s, not stop", reason ? reason : "missing");
        give_up(answer, ANSWER_UNUSABLE, why);
    }
    return false;
}

static bool is_text(const json_t *message, const char *name)
{
    return json_string_length(json_object_get(message, name)) > 0;
}

char *answer_text(const json_t *content)
{
    char *text = NULL;
    size_t length = 0, i;
    const json_t *part;
    if (json_is_string(content))
        return strdup(json_string_value(content));
    FILE *out = json_array_size(content) ? open_memstream(&text, &length) : NULL;
    if (!out)
        return NULL;
    json_array_foreach(content, i, part) {
        const char *type = cli_json_string(part, "type");
        const char *piece = cli_json_string(part, "text");
        if (piece && (!type || strcmp(type, "text") == 0 || strcmp(type, "output_text") == 0))
            fputs(piece, out);
    }
    if (fclose(out) == 0 && length)
        return text;
    free(text);
    return NULL;
}

static void read_message(struct answer *answer, const json_t *message, uint8_t *flags, size_t n_steps)
{
    const json_t *content = json_object_get(message, "content");
    if (is_text(message, "refusal")) {
        give_up(answer, ANSWER_REFUSED, "the model refused");
    } else if (!(answer->content = answer_text(content))) {
        bool thought = is_text(message, "reasoning_content") || is_text(message, "reasoning");
        give_up(answer, ANSWER_UNUSABLE, thought ? "the message has reasoning, but no content" : "the message has no content");
    } else {
        read_content(answer, flags, n_steps);
    }
}

void answer_read(struct answer *answer, const char *body, size_t length, uint8_t *flags, size_t n_steps)
{
    json_t *response = json_loadb(body, length, 0, NULL);
    const json_t *choices = json_object_get(response, "choices"), *choice = json_array_get(choices, 0);
    const json_t *usage = json_object_get(response, "usage");
    *answer = (struct answer){.prompt_tokens = cli_json_count(usage, "prompt_tokens"),
                              .completion_tokens = cli_json_count(usage, "completion_tokens")};
    if (!response)
        give_up(answer, ANSWER_UNUSABLE, "the response is not JSON in UTF-8");
    else if (!json_is_object(choice))
        give_up(answer, ANSWER_UNUSABLE, "the response has no choice");
    else if (is_whole(answer, choice))
        read_message(answer, json_object_get(choice, "message"), flags, n_steps);
    json_decref(response);
}

void answer_release(struct answer *answer)
{
    free(answer->content);
    json_decref(answer->analysis);
    answer->content = NULL;
    answer->analysis = NULL;
}

static void copy_word(char *out, size_t size, const json_t *value)
{
    if (json_is_string(value))
        snprintf(out, size, "%s", json_string_value(value));
}

/*
 * Servers use four forms: {"error": {"code", "type", "message"}}, {"error": ".."}, {"code", "message"} and {"detail":
 * ".."}. A code that is a number repeats the status, as llama-server's and vLLM's do; then the type says more.
 */
void answer_error_read(struct answer_error *error, const char *body, size_t length)
{
    json_t *response = json_loadb(body, length, 0, NULL);
    const json_t *about = json_object_get(response, "error");
    *error = (struct answer_error){.code = ""};
    copy_word(error->message, sizeof error->message, about ? about : json_object_get(response, "detail"));
    about = json_is_object(about) ? about : response;
    copy_word(error->code, sizeof error->code, json_object_get(about, "type"));
    copy_word(error->code, sizeof error->code, json_object_get(about, "code"));
    copy_word(error->param, sizeof error->param, json_object_get(about, "param"));
    copy_word(error->message, sizeof error->message, json_object_get(about, "message"));
    json_decref(response);
    for (char *c = error->message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
}

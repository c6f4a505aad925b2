/* Tests the parts of the judge: its answers, kinds of failures, waiting times, wordings and the cache. */
#include "support/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/answer.h"
#include "judge/cache.h"
#include "judge/retry.h"
#include "judge/score_cache.h"
#include "judge/trajectory.h"
#include "judge/wording.h"
#include "support/files.h"

/* ---- answers ---- */

/* An endpoint's response with this content, which is already JSON. */
static char *response(const char *content, const char *reason)
{
    json_t *value = json_pack("{s:[{s:s, s:{s:s}}], s:{s:i, s:i}}", "choices", "finish_reason", reason, "message", "content",
                              content, "usage", "prompt_tokens", 12, "completion_tokens", 5);
    char *text = json_dumps(value, JSON_COMPACT);
    assert_non_null(text);
    json_decref(value);
    return text;
}

static struct answer read_answer(const char *body, uint8_t *flags, size_t n)
{
    struct answer answer;
    answer_read(&answer, body, strlen(body), flags, n);
    answer_release(&answer);
    return answer;
}

static struct answer read_content(const char *content, uint8_t *flags, size_t n)
{
    char *body = response(content, "stop");
    struct answer answer = read_answer(body, flags, n);
    free(body);
    return answer;
}

#define ENTRY(index, flag) "{\"index\": " #index ", \"analysis\": \"x\", \"flag\": \"" #flag "\"}"

/* The texts come in the order of the steps; a text that is long is cut before a character that it would split. */
static void the_analysis_is_kept(void **state)
{
    (void)state;
    uint8_t flags[3];
    struct answer answer;
    char content[3 * ANSWER_ANALYSIS_MAX], *body;
    int at = snprintf(content, sizeof content,
                      "{\"steps\": [{\"index\": 2, \"analysis\": \"second\", \"flag\": \"BAD\"}, "
                      "{\"index\": 3, \"flag\": \"BAD\"}, {\"index\": 1, \"flag\": \"GOOD\", \"analysis\": \"");
    memset(content + at, 'a', ANSWER_ANALYSIS_MAX - 1);
    snprintf(content + at + ANSWER_ANALYSIS_MAX - 1, 20, "\xc3\xa9 end\"}]}");
    body = response(content, "stop");
    answer_read(&answer, body, strlen(body), flags, 3);
    assert_int_equal(answer.verdict, ANSWER_COMPLETE);
    assert_int_equal(json_array_size(answer.analysis), 3);
    assert_int_equal(json_string_length(json_array_get(answer.analysis, 0)), ANSWER_ANALYSIS_MAX - 1);
    assert_string_equal(json_string_value(json_array_get(answer.analysis, 1)), "second");
    assert_string_equal(json_string_value(json_array_get(answer.analysis, 2)), "");
    answer_release(&answer);
    free(body);
}

static void a_whole_answer_is_taken(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]}",
        "{\"steps\": [" ENTRY(2, GOOD) "," ENTRY(0, GOOD) "," ENTRY(1, BAD) "]}",
        "{\"steps\": [" ENTRY(1, GOOD) "," ENTRY(2, BAD) "," ENTRY(3, GOOD) "]}", /* from 1 */
        " \n```json\n{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]}\n```\n",
        "<think>\"steps\": 3</think>{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]}",
        "<think>{\"steps\": []}</think>{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]}",
        /* the chat template began the reasoning (vllm-project/vllm issue 13125) */
        "Perhaps {\"steps\": []}.\n</think>\n\n{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]}",
        "{\"steps\": [{\"index\": 0, \"analysis\": \"ends with </think>\", \"flag\": \"GOOD\"}," ENTRY(1, BAD) "," ENTRY(
            2, GOOD) "]}",
        "Sure {here}: {\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]} That is all.",
        "{\"note\": 1} {\"steps\": [" ENTRY(0.0, GOOD) "," ENTRY(1.0, BAD) "," ENTRY("2", GOOD) "]}",
        /* said twice, in the same words */
        "{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, GOOD) "]}\n```json\n"
                                                                            "{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(
                                                                                1, BAD) "," ENTRY(2, GOOD) "]}\n```"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        uint8_t flags[3] = {9, 9, 9};
        struct answer answer = read_content(contents[i], flags, 3);
        if (answer.verdict != ANSWER_COMPLETE)
            fail_msg("%s: %s", contents[i], answer.why);
        assert_true(flags[0] == 1 && flags[1] == 0 && flags[2] == 1);
        assert_int_equal(answer.prompt_tokens, 12);
        assert_int_equal(answer.completion_tokens, 5);
    }
}

static void anything_else_is_not(void **state)
{
    (void)state;
    static const char *const contents[][2] = {
        {"", "no JSON object"},
        {"Step 0 is GOOD, step 1 is BAD.", "no JSON object"},
        {"GOOD\nBAD", "no JSON object"},
        {"{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "]", "is missing"},
        {"{\"steps\": [], \"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "]}", "is missing"},
        {"[" ENTRY(0, GOOD) "," ENTRY(1, BAD) "]", "is missing"},
        {"```\n{\"steps\": []}", "step 0 is missing"},
        {"``````", "no JSON object"},
        {"<think>{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "]}", "no JSON object"},
        {"For example {\"steps\": [" ENTRY(0, BAD) "," ENTRY(1, BAD) "]}, here {\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1,
                                                                                                                       BAD) "]}",
         "several answers"},
        {"{\"first\": {\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "]}}", "is missing"},
        {"{\"flags\": []}", "is missing"},
        {"{\"steps\": {\"0\": \"GOOD\", \"1\": \"BAD\"}}", "is missing"},
        {"{\"steps\": []}", "step 0 is missing"},
        {"{\"steps\": [" ENTRY(0, GOOD) "]}", "step 1 is missing"},
        {"{\"steps\": [" ENTRY(1, GOOD) "]}", "step 0 is missing"},
        {"{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(0, GOOD) "," ENTRY(1, BAD) "]}", "step 0 is there more than once"},
        {"{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(1, BAD) "," ENTRY(2, BAD) "]}", "more entries than steps"},
        {"{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(2, BAD) "]}", "step 1 is missing"},
        {"{\"steps\": [" ENTRY(0, GOOD) "," ENTRY(3, BAD) "]}", "no index of a step"},
        {"{\"steps\": [" ENTRY(-1, GOOD) "," ENTRY(1, BAD) "]}", "no index of a step"},
        {"{\"steps\": [" ENTRY("0x", GOOD) "," ENTRY(1, BAD) "]}", "no index of a step"},
        {"{\"steps\": [" ENTRY("", GOOD) "," ENTRY(1, BAD) "]}", "no index of a step"},
        {"{\"steps\": [" ENTRY(0.5, GOOD) "," ENTRY(1, BAD) "]}", "no index of a step"},
        {"{\"steps\": [" ENTRY(1e300, GOOD) "," ENTRY(1, BAD) "]}", "no index of a step"},
        {"{\"steps\": [\"GOOD\", \"BAD\"]}", "no index of a step"},
        {"{\"steps\": [" ENTRY(0, good) "," ENTRY(1, BAD) "]}", "neither GOOD nor BAD"},
        {"{\"steps\": [" ENTRY(0, GOOD BAD) "," ENTRY(1, BAD) "]}", "neither GOOD nor BAD"},
        {"{\"steps\": [{\"index\": 0}, {\"index\": 1}]}", "neither GOOD nor BAD"}};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        uint8_t flags[2];
        struct answer answer = read_content(contents[i][0], flags, 2);
        if (answer.verdict != ANSWER_UNUSABLE || !strstr(answer.why, contents[i][1]))
            fail_msg("%s: %s", contents[i][0], answer.why);
    }
}

/* A list that looks complete is rejected if the model was cut off, because finish_reason is checked first. */
static void why_it_ended_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        enum answer_verdict verdict;
    } ends[] = {{"length", ANSWER_TRUNCATED},
                {"max_tokens", ANSWER_TRUNCATED},
                {"content_filter", ANSWER_REFUSED},
                {"tool_calls", ANSWER_UNUSABLE},
                {"", ANSWER_UNUSABLE},
                {"eos", ANSWER_COMPLETE},
                {"eos_token", ANSWER_COMPLETE},
                {"stop_sequence", ANSWER_COMPLETE}};
    uint8_t flags[1];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *body = response("{\"steps\": [" ENTRY(0, GOOD) "]}", ends[i].reason);
        assert_int_equal(read_answer(body, flags, 1).verdict, ends[i].verdict);
        free(body);
    }
    static const struct {
        const char *body, *why;
        enum answer_verdict verdict;
    } odd[] = {
        {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": [{\"type\": \"thinking\", \"text\": \"{\"}, "
         "{\"type\": \"text\", \"text\": \"{\\\"steps\\\": [{\\\"index\\\": 0,\"}, {\"type\": \"text\", \"text\": "
         "\"\\\"flag\\\": "
         "\\\"GOOD\\\"}]}\"}]}}]}",
         "", ANSWER_COMPLETE},
        {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": []}}]}", "no content", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": [{\"type\": \"image\"}, 3]}}]}", "no content",
         ANSWER_UNUSABLE},
        {"", "not JSON", ANSWER_UNUSABLE},
        {"<html>", "not JSON", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": \"\xff\"}}]}", "UTF-8", ANSWER_UNUSABLE},
        {"{}", "no choice", ANSWER_UNUSABLE},
        {"[]", "no choice", ANSWER_UNUSABLE},
        {"{\"choices\": [3]}", "no choice", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"message\": {\"content\": \"{}\"}}]}", "finish_reason is missing", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"finish_reason\": null}]}", "finish_reason is missing", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"finish_reason\": \"stop\"}]}", "no content", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": null, \"reasoning_content\":"
         " \"step 0 is GOOD\"}}]}",
         "reasoning, but no content", ANSWER_UNUSABLE},
        {"{\"choices\": [{\"finish_reason\": \"length\", \"message\": {\"content\": null}}]}", "cut off", ANSWER_TRUNCATED},
        {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": \"{}\", \"refusal\": \"no\"}}]}", "refused",
         ANSWER_REFUSED}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct answer answer = read_answer(odd[i].body, flags, 1);
        if (answer.verdict != odd[i].verdict || !strstr(answer.why, odd[i].why))
            fail_msg("%s: %s", odd[i].body, answer.why);
    }
}

/* ---- failures ---- */

static enum retry_kind kind_without(long status, const char *body, struct judge_dialect sent)
{
    struct answer_error error;
    answer_error_read(&error, body, strlen(body));
    return retry_kind_of(status, &error, &sent);
}

static enum retry_kind kind(long status, const char *body, bool plain)
{
    return kind_without(status, body, (struct judge_dialect){.plain = plain});
}

/* The bodies are those that servers of models which reason send; each is obeyed once. */
static void what_a_server_refuses_is_left_out(void **state)
{
    (void)state;
    static const char limit[] =
        "{\"error\": {\"message\": \"Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.\", \"param\": \"max_tokens\", \"code\": \"unsupported_parameter\"}}";
    static const char cool[] =
        "{\"error\": {\"message\": \"Only the default (1) value is supported.\", \"param\": \"temperature\"}}";
    static const char strict[] = "{\"detail\": \"temperature: extra fields not permitted\"}";
    assert_int_equal(kind(400, limit, false), RETRY_LIMIT);
    assert_int_equal(kind(400, limit, true), RETRY_LIMIT);
    assert_int_equal(kind(401, limit, true), RETRY_STOP);
    assert_int_equal(kind(400, cool, true), RETRY_COOL);
    assert_int_equal(kind(422, strict, true), RETRY_COOL);
    assert_int_equal(kind_without(400, limit, (struct judge_dialect){.plain = true, .newer_limit = true}), RETRY_STOP);
    assert_int_equal(kind_without(400, cool, (struct judge_dialect){.plain = true, .no_temperature = true}), RETRY_STOP);
    /* DeepSeek, as in can1357/oh-my-pi issue 7315 */
    static const char choice[] = "{\"error\": {\"message\": \"Thinking mode does not support this tool_choice\", \"type\": "
                                 "\"invalid_request_error\"}}";
    assert_int_equal(kind(400, choice, true), RETRY_CHOICE);
    assert_int_equal(kind_without(400, choice, (struct judge_dialect){.plain = true, .free_choice = true}), RETRY_STOP);
    assert_int_equal(kind(400, "{\"error\": {\"code\": \"context_length_exceeded\", \"message\": \"max_tokens\"}}", false),
                     RETRY_ROW);
}

static void failures_are_told_apart(void **state)
{
    (void)state;
    static const long later[] = {408, 409, 429, 500, 502, 503, 504, 529};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        assert_int_equal(kind(later[i], "", false), RETRY_LATER);
    assert_int_equal(kind(200, "", false), RETRY_ANSWERED);
    assert_int_equal(kind(400, "", false), RETRY_PLAIN);
    assert_int_equal(kind(400, "", true), RETRY_STOP);
    assert_int_equal(kind(422, "", false), RETRY_PLAIN);
    assert_int_equal(kind(401, "", false), RETRY_STOP);
    assert_int_equal(kind(403, "", false), RETRY_STOP);
    assert_int_equal(kind(302, "", false), RETRY_STOP);
    assert_int_equal(kind(413, "", false), RETRY_ROW);
    assert_int_equal(kind(400, "{\"error\": {\"code\": \"context_length_exceeded\"}}", false), RETRY_ROW);
    assert_int_equal(kind(400, "{\"error\": {\"code\": \"content_filter\"}}", true), RETRY_ROW);
    assert_int_equal(kind(429, "{\"error\": {\"type\": \"insufficient_quota\"}}", false), RETRY_STOP);
    assert_int_equal(kind(429, "{\"error\": {\"message\": \"You exceeded your current quota, ..\"}}", false), RETRY_STOP);
    assert_int_equal(kind(429, "{\"error\": {\"code\": 429, \"message\": \"slow down\"}}", false), RETRY_LATER);
}

/*
 * What servers send for a text that is longer than their context, and for a request that they will never accept. llama-server's
 * are in its sources (tools/server, 3f545bec), vLLM's in OpenBMB/MiniCPM-V issue 1048 and vllm-project/vllm issue 20409, LM
 * Studio's in the decoder cases of the crate svir.
 */
static void bodies_of_servers_are_understood(void **state)
{
    (void)state;
    static const struct {
        long status;
        const char *body;
        enum retry_kind kind;
    } cases[] = {
        {400,
         "{\"error\": {\"code\": 400, \"message\": \"request (5120 tokens) exceeds the available context size (4096 tokens), try "
         "increasing it\", \"type\": \"exceed_context_size_error\", \"n_prompt_tokens\": 5120, \"n_ctx\": 4096}}",
         RETRY_ROW},
        {500, "{\"error\": {\"code\": 500, \"message\": \"Context size has been exceeded.\", \"type\": \"server_error\"}}",
         RETRY_ROW},
        {500,
         "{\"error\":{\"code\":500,\"message\":\"The model produced output that does not match the expected peg-native format\","
         "\"type\":\"server_error\"}}",
         RETRY_ROW},
        {400,
         "{\"error\": {\"message\": \"The decoder prompt (length 5016) is longer than the maximum model length of 4096.\", "
         "\"type\": "
         "\"BadRequestError\", \"param\": null, \"code\": 400}}",
         RETRY_ROW},
        {400,
         "{\"error\": {\"message\": \"This model's maximum context length is 4096 tokens. However, you requested 5016 tokens "
         "(3016 in "
         "the messages, 2000 in the completion).\", \"type\": \"BadRequestError\", \"code\": 400}}",
         RETRY_ROW},
        {400, "{\"error\": \"The number of tokens to keep from the initial prompt is greater than the context length.\"}",
         RETRY_ROW},
        {503, "{\"error\": {\"code\": 503, \"message\": \"Loading model\", \"type\": \"unavailable_error\"}}", RETRY_LATER},
        {500, "{\"error\": {\"code\": 500, \"message\": \"Only no echo is supported\", \"type\": \"server_error\"}}", RETRY_STOP},
        {500, "{\"error\": {\"code\": 500, \"message\": \"tools param requires --jinja flag\", \"type\": \"server_error\"}}",
         RETRY_STOP},
        {500, "{\"error\": {\"code\": 500, \"message\": \"Compute error.\", \"type\": \"server_error\"}}", RETRY_LATER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (kind(cases[i].status, cases[i].body, true) != cases[i].kind)
            fail_msg("%ld %s: %d", cases[i].status, cases[i].body, (int)kind(cases[i].status, cases[i].body, true));
    struct answer_error error;
    answer_error_read(&error, cases[0].body, strlen(cases[0].body));
    assert_string_equal(error.code, "exceed_context_size_error"); /* not the number */
}

static void waiting_doubles_with_chance_and_keeps_what_was_asked(void **state)
{
    (void)state;
    double sum = 0;
    for (unsigned failed = 1; failed < 20; failed++) {
        double middle = fmin(60, 0.5 * exp2(failed - 1.0)), wait = retry_wait(0.5, failed, 0, 7, 3);
        assert_true(wait >= 0.5 * middle && wait < 1.5 * middle);
        assert_true(wait == retry_wait(0.5, failed, 0, 7, 3));
        assert_true(retry_wait(0.5, failed, 100, 7, 3) == 100);
    }
    for (uint64_t item = 0; item < 1000; item++)
        sum += retry_wait(1, 1, 0, 7, item) / 1000;
    assert_true(fabs(sum - 1) < 0.05); /* the waits are spread around their mean of 1 s */
    assert_true(retry_wait(1, 1, 0, 7, 1) != retry_wait(1, 1, 0, 8, 1));
    assert_true(retry_wait(0, 9, 0, 7, 1) == 0);
}

/* ---- wording ---- */

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    assert_non_null(value);
    return value;
}

static const char *content(const json_t *messages, size_t i)
{
    return json_string_value(json_object_get(json_array_get(messages, i), "content"));
}

static void rules_differ_by_the_outcome(void **state)
{
    (void)state;
    char why[WORDING_WHY_MAX];
    json_t *wording = wording_open(NULL, why),
           *right = parse("{\"task\": \"t\", \"reward\": 1, \"steps\": [{\"action\": \"a\"}]}");
    json_t *wrong = parse("{\"task\": \"t\", \"reward\": 0.5, \"steps\": [{\"action\": \"a\", \"observation\": \"}]} BAD\"}]}");
    json_t *a = wording_messages(wording, right), *b = wording_messages(wording, wrong);
    assert_int_equal(json_array_size(a), 2);
    assert_non_null(strstr(content(a, 0), "SUCCEEDED"));
    assert_non_null(strstr(content(b, 0), "FAILED"));
    assert_null(strstr(content(b, 0), "SUCCEEDED"));
    assert_string_equal(content(a, 1),
                        "{\"task\":\"t\",\"outcome\":\"success\",\"reward\":1.0,\"steps\":[{\"index\":0,\"action\":\"a\"}]}");
    json_t *shown = parse(content(b, 1)); /* text of a tool cannot end the JSON */
    assert_string_equal(json_string_value(json_object_get(shown, "outcome")), "failure");
    json_t *repair = wording_repair(wording, a, "nonsense", "step 0 is missing");
    assert_int_equal(json_array_size(repair), 4);
    assert_string_equal(content(repair, 2), "nonsense");
    assert_non_null(strstr(content(repair, 3), "step 0 is missing"));
    assert_int_equal(json_array_size(a), 2);
    json_t *no_answer = wording_repair(wording, a, "", "there is no content");
    assert_int_equal(json_array_size(no_answer), 3);
    json_t *all[] = {wording, right, wrong, a, b, shown, repair, no_answer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_decref(all[i]);
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    enum { N = 2500 };
    char why[WORDING_WHY_MAX], *text = malloc(2 * N + 1);
    for (size_t i = 0; i < N; i++)
        memcpy(text + 2 * i, "\xc3\xa4", 2);
    text[2 * N] = '\0';
    json_t *wording = wording_open("", why);
    json_t *trajectory = json_pack("{s:s, s:i, s:[{s:s}]}", "task", "t", "reward", 1, "steps", "action", text);
    json_t *messages = wording_messages(wording, trajectory), *shown = parse(content(messages, 1));
    const char *action = json_string_value(json_object_get(json_array_get(json_object_get(shown, "steps"), 0), "action"));
    assert_int_equal(strlen(action), 2 * WORDING_CUT + strlen(" [cut]"));
    json_decref(wording);
    json_decref(trajectory);
    json_decref(messages);
    json_decref(shown);
    free(text);
}

static void a_file_has_its_own_words(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = join(dir, "words.json"), why[WORDING_WHY_MAX];
    static const char *const refused[][2] = {{"{", "words.json:1"},
                                             {"[]", "a JSON object with a \"version\""},
                                             {"{\"success\": \"x\"}", "a JSON object with a \"version\""},
                                             {"{\"version\": \"m\", \"sucess\": \"x\"}", "sucess"},
                                             {"{\"version\": \"m\", \"success\": 3}", "success"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        write_file(path, refused[i][0], strlen(refused[i][0]));
        assert_null(wording_open(path, why));
        if (!strstr(why, refused[i][1]))
            fail_msg("%s", why);
    }
    static const char mine[] = "{\"version\": \"mine\", \"success\": \"Be kind.\"}";
    write_file(path, mine, sizeof mine - 1);
    json_t *wording = wording_open(path, why), *built_in = wording_open(NULL, why);
    assert_string_equal(json_string_value(json_object_get(wording, "success")), "Be kind.");
    assert_true(json_equal(json_object_get(wording, "failure"), json_object_get(built_in, "failure")));
    json_decref(wording);
    json_decref(built_in);
    remove_dir(dir);
    free(path);
}

static void trajectories_are_checked(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"[]", "a JSON object"},
        {"{\"reward\": 1, \"steps\": [{\"action\": \"a\"}]}", "task"},
        {"{\"task\": \"t\", \"steps\": [{\"action\": \"a\"}]}", "reward"},
        {"{\"task\": \"t\", \"reward\": \"1\", \"steps\": [{\"action\": \"a\"}]}", "reward"},
        {"{\"task\": \"t\", \"reward\": 1, \"success\": 1, \"steps\": [{\"action\": \"a\"}]}", "success"},
        {"{\"task\": \"t\", \"reward\": 1, \"id\": {}, \"steps\": [{\"action\": \"a\"}]}", "id"},
        {"{\"task\": \"t\", \"reward\": 1}", "steps"},
        {"{\"task\": \"t\", \"reward\": 1, \"steps\": []}", "steps"},
        {"{\"task\": \"t\", \"reward\": 1, \"steps\": [{}]}", "steps[0]"},
        {"{\"task\": \"t\", \"reward\": 1, \"steps\": [{\"action\": \"a\"}, {\"action\": \"b\", \"observation\": 3}]}",
         "steps[1]"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char why[TRAJECTORY_WHY_MAX];
        json_t *value = parse(texts[i][0]);
        assert_false(trajectory_check(value, why));
        if (!strstr(why, texts[i][1]))
            fail_msg("%s: %s", texts[i][0], why);
        json_decref(value);
    }
    char why[TRAJECTORY_WHY_MAX];
    json_t *good = parse("{\"id\": 3, \"task\": \"t\", \"reward\": 0, \"success\": true, \"steps\": [{\"action\": \"a\"}]}");
    assert_true(trajectory_check(good, why) && trajectory_succeeded(good) && trajectory_steps(good) == 1);
    json_decref(good);
}

/* ---- cache ---- */

static void digest_of(char digest[CACHE_DIGEST_MAX], unsigned i)
{
    snprintf(digest, CACHE_DIGEST_MAX, "%032x", i);
}

static struct cache *must_open(const char *path)
{
    char why[CACHE_WHY_MAX];
    struct cache *cache = cache_open(path, why);
    if (!cache)
        fail_msg("%s", why);
    return cache;
}

static void answers_are_found_again(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = join(dir, "cache.jsonl"), digest[CACHE_DIGEST_MAX], why[CACHE_WHY_MAX];
    struct cache *one = must_open(path), *two = must_open(path);
    const uint8_t flags[] = {1, 0, 1};
    uint8_t found[3];
    json_t *analysis, *texts = json_pack("{s:[s, s, s]}", "analysis", "first", "", "third");
    digest_of(digest, 1);
    assert_false(cache_find(one, digest, found, 3, &analysis));
    assert_true(cache_add(one, digest, flags, 3, "m", "w", texts));
    assert_true(cache_find(one, digest, found, 3, &analysis));
    assert_non_null(analysis);
    json_decref(analysis);
    assert_memory_equal(found, flags, 3);
    assert_false(cache_find(one, digest, found, 2, &analysis)); /* the answer was for 3 steps, not 2 */
    assert_false(cache_find(two, digest, found, 3, &analysis));
    json_decref(analysis);
    assert_true(cache_refresh(two) && cache_find(two, digest, found, 3, &analysis));
    assert_true(json_equal(analysis, json_object_get(texts, "analysis")));
    json_decref(analysis);
    json_decref(texts);
    cache_close(one);
    cache_close(two);
    assert_null(cache_open(dir, why));
    assert_non_null(strstr(why, dir));
    remove_dir(dir);
    free(path);
}

static void append_raw(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void a_torn_line_spoils_nothing_else(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = join(dir, "cache.jsonl"), digest[CACHE_DIGEST_MAX];
    const uint8_t flags[] = {1};
    uint8_t found[2];
    json_t *analysis;
    struct cache *cache = must_open(path);
    digest_of(digest, 1);
    assert_true(cache_add(cache, digest, flags, 1, "m", "w", NULL));
    append_raw(path, "not JSON\n{\"request\": \"short\", \"flags\": \"G\"}\n{}\n"
                     "{\"request\":\"00000000000000000000000000000005\",\"flags\":\"GX\"}\n"
                     "{\"request\":\"00000000000000000000000000000002\",\"fl");
    digest_of(digest, 3);
    assert_true(cache_add(cache, digest, flags, 1, "m", "w", NULL));
    cache_close(cache);
    cache = must_open(path);
    for (unsigned i = 1; i <= 5; i++) {
        digest_of(digest, i);
        assert_int_equal(cache_find(cache, digest, found, 1, &analysis), i == 1 || i == 3);
        assert_false(cache_find(cache, digest, found, 2, &analysis));
    }
    append_raw(path, "{\"request\":\"00000000000000000000000000000004\",\"flags\":");
    assert_true(cache_refresh(cache));
    append_raw(path, "\"B\"}\n"); /* a slow writer completes the line */
    assert_true(cache_refresh(cache));
    digest_of(digest, 4);
    assert_true(cache_find(cache, digest, found, 1, &analysis) && found[0] == 0);
    cache_close(cache);
    remove_dir(dir);
    free(path);
}

/* ---- log-probs of a teacher ---- */

static struct score_cache *must_open_scores(const char *path, size_t limit)
{
    char why[SCORE_CACHE_WHY_MAX];
    struct score_cache *cache = score_cache_open(path, limit, why);
    if (!cache)
        fail_msg("%s", why);
    return cache;
}

static off_t bytes_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? file.st_size : 0;
}

static void log_probs_are_found_again(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = join(dir, "scores.jsonl"), digest[JUDGE_DIGEST_MAX], why[SCORE_CACHE_WHY_MAX];
    struct score_cache *cache = must_open_scores(path, 1 << 20);
    const float values[] = {-0.1f, -1.17549435e-38f, 0, -103.97208f};
    float found[4];
    digest_of(digest, 1);
    assert_false(score_cache_find(cache, digest, found, 4));
    assert_true(score_cache_add(cache, digest, values, 4));
    assert_true(score_cache_find(cache, digest, found, 4));
    assert_memory_equal(found, values, sizeof values);
    assert_false(score_cache_find(cache, digest, found, 3));
    score_cache_close(cache);
    append_raw(path, "not JSON\n{\"request\":\"00000000000000000000000000000001\",\"log_probs\":[-1,-1]}\n"
                     "{\"request\":\"00000000000000000000000000000003\",\"log_probs\":[-1,\"-1\",-1,-1]}\n"
                     "{\"request\":\"00000000000000000000000000000002\",\"log_pr");
    cache = must_open_scores(path, 1 << 20);
    assert_false(score_cache_find(cache, digest, found, 4)); /* the last line counts */
    assert_true(score_cache_add(cache, digest, values, 4));
    for (unsigned i = 1; i <= 4; i++) {
        digest_of(digest, i);
        assert_int_equal(score_cache_find(cache, digest, found, 4), i == 1);
    }
    score_cache_close(cache);
    cache = must_open_scores(path, 1 << 20);
    digest_of(digest, 1);
    assert_true(score_cache_find(cache, digest, found, 4));
    assert_memory_equal(found, values, sizeof values);
    score_cache_close(cache);
    assert_null(score_cache_open(dir, 1, why));
    assert_non_null(strstr(why, dir));
    remove_dir(dir);
    free(path);
}

/* Two writers share the files, which stay below the limit and a line. The newest half of the answers at least is kept. */
static void log_probs_are_bounded(void **state)
{
    (void)state;
    enum { LIMIT = 20000, LINES = 1000, LINE_MAX_BYTES = 100 };
    char *dir = make_dir(), *path = join(dir, "scores.jsonl"), *old = join(dir, "scores.jsonl.old"), digest[JUDGE_DIGEST_MAX];
    struct score_cache *writers[] = {must_open_scores(path, LIMIT), must_open_scores(path, LIMIT)};
    float value, found = 1;
    unsigned kept = 0;
    for (unsigned i = 0; i < LINES; i++) {
        value = -(float)i;
        digest_of(digest, i);
        assert_true(score_cache_add(writers[i / 7 % 2], digest, &value, 1));
        assert_true(bytes_of(path) + bytes_of(old) < LIMIT + 2 * LINE_MAX_BYTES);
    }
    struct score_cache *reader = must_open_scores(path, LIMIT);
    for (unsigned i = LINES; i-- > 0; kept++) {
        digest_of(digest, i);
        if (!score_cache_find(reader, digest, &found, 1))
            break;
        assert_true(found == -(float)i);
    }
    assert_in_range(kept, LIMIT / 2 / LINE_MAX_BYTES, LINES - 1);
    score_cache_close(writers[0]);
    score_cache_close(writers[1]);
    score_cache_close(reader);
    remove_dir(dir);
    free(path);
    free(old);
}

enum { WRITERS = 4, ANSWERS = 200 };

static void add_many(const char *path, unsigned writer)
{
    char digest[CACHE_DIGEST_MAX];
    const uint8_t flags[] = {1, (uint8_t)(writer % 2)};
    struct cache *cache = must_open(path);
    for (unsigned i = 0; i < ANSWERS; i++) {
        digest_of(digest, writer * ANSWERS + i);
        if (!cache_add(cache, digest, flags, 2, "m", "w", NULL))
            _exit(1);
    }
    _exit(0);
}

static void many_processes_share_a_file(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = join(dir, "cache.jsonl"), digest[CACHE_DIGEST_MAX];
    uint8_t found[2];
    json_t *analysis;
    for (unsigned w = 0; w < WRITERS; w++)
        if (fork() == 0)
            add_many(path, w);
    for (unsigned w = 0; w < WRITERS; w++) {
        int left;
        assert_true(wait(&left) > 0);
        assert_true(WIFEXITED(left) && WEXITSTATUS(left) == 0);
    }
    struct cache *cache = must_open(path);
    for (unsigned i = 0; i < WRITERS * ANSWERS; i++) {
        digest_of(digest, i);
        assert_true(cache_find(cache, digest, found, 2, &analysis));
        assert_int_equal(found[1], i / ANSWERS % 2);
    }
    cache_close(cache);
    remove_dir(dir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_answer_is_taken),
        cmocka_unit_test(the_analysis_is_kept),
        cmocka_unit_test(anything_else_is_not),
        cmocka_unit_test(why_it_ended_comes_first),
        cmocka_unit_test(bodies_of_servers_are_understood),
        cmocka_unit_test(failures_are_told_apart),
        cmocka_unit_test(what_a_server_refuses_is_left_out),
        cmocka_unit_test(waiting_doubles_with_chance_and_keeps_what_was_asked),
        cmocka_unit_test(rules_differ_by_the_outcome),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(a_file_has_its_own_words),
        cmocka_unit_test(trajectories_are_checked),
        cmocka_unit_test(answers_are_found_again),
        cmocka_unit_test(a_torn_line_spoils_nothing_else),
        cmocka_unit_test(many_processes_share_a_file),
        cmocka_unit_test(log_probs_are_found_again),
        cmocka_unit_test(log_probs_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

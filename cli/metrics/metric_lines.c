/*
 * metric_lines.c: turns the numbers of a line into the event of a step.
 *
 * A program may print gigabytes without a metric, and hundreds of thousands of lines with one: reading a line therefore
 * allocates no memory, and the JSON object of the event is reused.
 */
#include "metrics/metric_lines.h"

#include <strings.h>

#include "cli.h"

/* How close a line came to printing the score: it contains a digit, the name of the score, or a number that cannot be
 * read. */
enum { NEAR_DIGIT = 1, NEAR_NAME, NEAR_NUMBER };

/* The nearest line is looked for only in this many bytes at the end of each read. */
enum { NEAR_WINDOW = 2048 };

static bool has_pattern(const struct metric_query *query, const char *name)
{
    for (size_t i = 0; i < query->n_patterns; i++)
        if (strcmp(metric_pattern_name(query->patterns[i]), name) == 0)
            return true;
    return false;
}

static bool is_score(const struct metric_lines *lines, const char *name)
{
    return strcmp(name, lines->score ? lines->score : "score") == 0;
}

/* Whether only a pattern reads the name: always if it has one, except for the score of an evaluation until the pattern matches. */
static bool is_by_pattern(const struct metric_lines *lines, const char *name)
{
    return has_pattern(&lines->query, name) && !(lines->query.any_form && !lines->pattern_matched && is_score(lines, name));
}

void metric_lines_init(struct metric_lines *lines, const struct metric_query *query, const char *score)
{
    *lines = (struct metric_lines){.query = *query, .score = score, .line = json_object()};
    size_t n = 0;
    for (size_t i = 0; i < query->n_names && n < METRIC_NAMES_MAX; i++) {
        if (has_pattern(query, query->names[i]) && !(query->any_form && is_score(lines, query->names[i])))
            continue;
        lines->step_asked = lines->step_asked || strcmp(query->names[i], "step") == 0;
        lines->names[n++] = query->names[i];
    }
    if ((n || query->n_patterns) && !lines->step_asked)
        lines->names[n++] = "step";
    lines->query.names = lines->names;
    lines->query.n_names = n;
}

void metric_lines_release(struct metric_lines *lines)
{
    json_decref(lines->line);
    lines->line = NULL;
    free(lines->stripped);
    lines->stripped = NULL;
}

struct reading {
    struct metric_lines *lines;
    struct trial_event *event;
    size_t n; /* metrics of this line */
    bool steps; /* this pass reads only the step */
    const char *text;
    size_t length; /* of the line */
    enum metric_problem problem; /* why the score of this line cannot be read */
};

/*
 * Reuses the previous line's object if it holds only this name, as it does for a program that prints one metric per
 * line, because setting a number is cheaper than creating a member.
 */
static void set_number(struct reading *r, const char *name, double value)
{
    json_t *line = r->lines->line, *member = json_object_get(line, name);
    if (r->n == 0 && (!json_is_real(member) || json_object_size(line) != 2)) { /* the name and the step */
        json_object_clear(line);
        member = NULL;
    }
    if (member)
        json_real_set(member, value);
    else
        json_object_set_new(line, name, json_real(value));
}

/* The place of the name in the table, or the first free place. */
static size_t find_seen(const struct metric_lines *lines, const char *name)
{
    size_t i = 0;
    while (i < lines->n_seen && strcmp(lines->seen[i].name, name) != 0)
        i++;
    return i;
}

/*
 * Whether the number has the unit of the name's first number. 91% after 0.95, or 1.2 s after 900 ms, cannot be compared, and
 * which one counts must not be guessed.
 */
static bool has_same_unit(struct metric_lines *lines, const char *name, const char *unit)
{
    size_t i = find_seen(lines, name);
    if (i == lines->n_seen)
        return true;
    if (!lines->seen[i].unit)
        lines->seen[i].unit = unit;
    return strcmp(lines->seen[i].unit, unit) == 0;
}

/*
 * Whether the last of several numbers is the one that was read before, perhaps rounded: programs print their history at the end, as
 * Keras does by history.history. The list is reported, but does not undo what was read.
 */
static bool is_history(const struct metric_lines *lines, const char *name, double last)
{
    const size_t i = find_seen(lines, name);
    return i < lines->n_seen && lines->seen[i].unit && metric_values_rounds_to(last, lines->seen[i].value);
}

static void copy_line(char out[METRIC_NEAREST_BYTES], const char *line, size_t length)
{
    size_t n = length < METRIC_NEAREST_BYTES - 1 ? length : METRIC_NEAREST_BYTES - 1;
    memcpy(out, line, n);
    out[n] = '\0';
}

/* Counts the line for the remark. Only the first line of each is shown; remarks beyond METRIC_REMARKS_MAX are dropped. */
static void note(struct reading *r, const char *name, enum metric_doubt doubt, enum metric_problem problem)
{
    struct metric_lines *lines = r->lines;
    size_t i = 0;
    while (i < lines->n_remarks && (strcmp(lines->remarks[i].name, name) != 0 || lines->remarks[i].doubt != doubt))
        i++;
    if (i == METRIC_REMARKS_MAX || lines->remarks[i].lines++)
        return;
    lines->n_remarks += i == lines->n_remarks;
    strcpy(lines->remarks[i].name, name);
    lines->remarks[i].doubt = doubt;
    lines->remarks[i].problem = problem;
    copy_line(lines->remarks[i].line, r->text, r->length);
}

/* The number that an earlier place of this line has for the name, or NULL. */
static const json_t *in_this_line(const struct reading *r, const char *name)
{
    return r->n > 0 ? json_object_get(r->lines->line, name) : NULL;
}

static void note_doubts(struct reading *r, const struct metric_found *found, const char *name)
{
    const json_t *before = in_this_line(r, name);
    if (found->doubtful)
        note(r, name, METRIC_TWO_NUMBERS, METRIC_READ);
    if (found->cut)
        note(r, name, METRIC_CUT, METRIC_READ);
    if (found->number_first)
        note(r, name, METRIC_NUMBER_FIRST, METRIC_READ);
    if (found->by_phrase)
        note(r, name, METRIC_OF_SOMETHING, METRIC_READ);
    if (found->source == METRIC_BY_NAME && before && r->event->channel != TRIAL_CHANNEL_METRIC &&
        json_number_value(before) != found->value)
        note(r, name, METRIC_TWO_PLACES, METRIC_READ);
}

/*
 * Whether the word in front makes it another name than the one that was asked for, because the program prints that one alone, too:
 * `Adj. R-squared` where it prints `R-squared`. Notes that, and words that differ.
 */
static bool is_of_longer_name(struct reading *r, const struct metric_found *found, const char *name)
{
    const size_t i = find_seen(r->lines, name), all = found->before_length;
    if (found->source != METRIC_BY_NAME || found->problem || i == METRIC_NAMES_MAX)
        return false;
    char *word = r->lines->seen[i].before;
    const size_t n = all < METRIC_BEFORE_BYTES ? all : METRIC_BEFORE_BYTES - 1;
    const bool known = i < r->lines->n_seen, bare = known && r->lines->seen[i].bare;
    if (n && bare && !in_this_line(r, name))
        note(r, name, METRIC_LONGER_NAME, METRIC_READ);
    else if (n && known && !in_this_line(r, name) && *word && (strlen(word) != n || strncasecmp(word, found->before, n) != 0))
        note(r, name, METRIC_OTHER_WORDS, METRIC_READ);
    if (n && !*word)
        snprintf(word, METRIC_BEFORE_BYTES, "%.*s", (int)n, found->before);
    r->lines->seen[i].bare = bare || !n;
    for (size_t k = 0; !n && k < r->lines->n_remarks; k++) /* what was not read is of no interest until it is printed last */
        if (r->lines->remarks[k].doubt == METRIC_LONGER_NAME && strcmp(r->lines->remarks[k].name, name) == 0)
            r->lines->remarks[k].lines = 0;
    return n && bare;
}

/* Whether both are plain integers in brackets, `(1)` and `(2)`, and the second is greater, as those of steps. */
static bool counts_on(const char *before, const char *after)
{
    const size_t from = strspn(before + 1, "0123456789"), to = strspn(after + 1, "0123456789");
    return strcmp(before + 1 + from, ")") == 0 && strcmp(after + 1 + to, ")") == 0 &&
           strtod(after + 1, NULL) > strtod(before + 1, NULL);
}

/*
 * Whether another condition than that of the name's first number is in the line. COCO's tools print twelve lines of one name, of which
 * the first is what everybody means; its digits do not count, because a condition may hold a step. Of `loss(1)` and `loss(2)` in
 * several lines the last counts, and which of `NDCG(10)` and `NDCG(5)` is meant, nothing says: *problem.
 */
static bool is_of_other_condition(struct reading *r, const struct metric_found *found, const char *name,
                                  enum metric_problem *problem)
{
    const size_t i = find_seen(r->lines, name);
    char condition[METRIC_CONDITION_BYTES];
    const bool brackets = found->condition_length && found->condition[0] == '(',
               coco = found->condition_length && found->condition[0] == '@';
    size_t n = 0;
    for (size_t k = 0; k < found->condition_length && n < sizeof condition - 1; k++)
        if (!strchr(coco ? " \t0123456789" : " \t", found->condition[k]))
            condition[n++] = found->condition[k];
    condition[n] = '\0';
    if (!n || i == METRIC_NAMES_MAX)
        return false;
    char *first = r->lines->seen[i].condition;
    if (!*first)
        strcpy(first, condition);
    if (strcmp(first, condition) == 0)
        return false;
    if (!brackets)
        return true;
    if (counts_on(first, condition) && !in_this_line(r, name)) {
        note(r, name, METRIC_LATER_ROW, METRIC_READ);
        strcpy(first, condition);
    } else {
        *problem = *problem ? *problem : METRIC_SEVERAL;
        strcpy(first, "?"); /* no line has that: none counts from now on */
    }
    return false;
}

/* How sure it is that the number is the name's: 2 plainly, 1 by a verb, 0 by words that say what it is of. */
static int sureness(const struct metric_found *found)
{
    return found->by_phrase ? 0 : found->by_verb ? 1 : 2;
}

/* Whether the number is from a sentence and another one is not, or is from a plainer sentence, which counts. */
static bool is_in_sentence(struct reading *r, const struct metric_found *found, const char *name)
{
    const size_t i = find_seen(r->lines, name);
    if (i == r->lines->n_seen || sureness(found) >= r->lines->seen[i].sureness)
        return false;
    if (found->problem || found->value != r->lines->seen[i].value)
        note(r, name, METRIC_IN_SENTENCE, METRIC_READ);
    return true;
}

/*
 * Whether the word at text[at] says what the line is about: it begins the line, or ends a title as in `| valid | epoch 1`, `[train] ` and
 * `validation: `. That of `valid_loss`, `test.py`, `x/test` or `the test step` does not.
 */
static bool is_title(const char *text, size_t at, size_t n, size_t length)
{
    size_t begin = 0, end = at + n;
    while (begin < at && strchr(" \t*#=>-", text[begin]))
        begin++;
    const bool apart = at == 0 || strchr(" \t|[(*#'\"", text[at - 1]), blank = end < length && strchr(" \t", text[end]);
    while (end < length && strchr(" \t", text[end]))
        end++;
    return apart && end < length && (strchr(":|])", text[end]) || (begin == at && blank));
}

/* What the line, up to the number, is about, as the last of such words in it says that is not in the name. */
static unsigned part_of(const struct reading *r, const struct metric_found *found, const char *name)
{
    static const struct {
        const char *word;
        unsigned part;
    } words[] = {{"train", METRIC_PART_TRAIN},
                 {"training", METRIC_PART_TRAIN},
                 {"valid", METRIC_PART_EVAL},
                 {"validation", METRIC_PART_EVAL},
                 {"validation set", METRIC_PART_EVAL},
                 {"val", METRIC_PART_EVAL},
                 {"eval", METRIC_PART_EVAL},
                 {"evaluation", METRIC_PART_EVAL},
                 {"test", METRIC_PART_TEST},
                 {"test set", METRIC_PART_TEST},
                 {"dev", METRIC_PART_EVAL}};
    const size_t length = found->at < r->length ? found->at : r->length;
    const char *path = r->lines->page.objects.path, *inner = strrchr(path, '/');
    unsigned part = METRIC_PART_ANY;
    for (size_t i = 0, last = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        for (size_t at = last; at + n <= length; at++)
            if (strncasecmp(r->text + at, words[i].word, n) == 0 && is_title(r->text, at, n, length) &&
                !strcasestr(name, words[i].word) && !(at > 3 && strncmp(r->text + at - 4, "std ", 4) == 0)) {
                part = words[i].part;
                last = at;
            }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        if (strncasecmp(inner ? inner + 1 : path, words[i].word, n) == 0 || strncasecmp(path, words[i].word, n) == 0)
            part = words[i].part;
    }
    return part;
}

/* Notes that lines about an evaluation and others have the score: `| train | loss 5.9` and `| valid | loss 4.1` of fairseq. */
static void note_part(struct reading *r, const struct metric_found *found, const char *name)
{
    const size_t i = find_seen(r->lines, name);
    if (found->source != METRIC_BY_NAME || i >= r->lines->n_seen || in_this_line(r, name) || !is_score(r->lines, name))
        return;
    const unsigned part = part_of(r, found, name), parts = r->lines->seen[i].parts;
    if (parts && !(parts & part) && ((parts | part) & (METRIC_PART_EVAL | METRIC_PART_TEST)) && !found->before_length)
        note(r, name, METRIC_OTHER_PART, METRIC_READ);
    r->lines->seen[i].parts |= part;
}

/*
 * Records the name. Counts a new step if an earlier line of this step had the same name. Names that do not fit into the
 * table count no steps.
 */
static void count_step(struct reading *r, const char *name, bool by_keyword, int sure)
{
    struct metric_lines *lines = r->lines;
    size_t i = find_seen(lines, name);
    if (i == METRIC_NAMES_MAX)
        return;
    if (i < lines->n_seen && lines->seen[i].step == lines->step && !in_this_line(r, name))
        lines->step++;
    strcpy(lines->seen[i].name, name);
    lines->seen[i].step = lines->step;
    lines->seen[i].by_keyword = lines->seen[i].by_keyword || by_keyword;
    lines->seen[i].sureness = sure > lines->seen[i].sureness ? sure : lines->seen[i].sureness;
    lines->n_seen += i == lines->n_seen;
}

/* Returns how far a value with this name is trusted as the score; TRIAL_CHANNEL_NONE if it is another metric. */
static enum trial_channel score_channel(const struct metric_lines *lines, const char *name, enum trial_channel channel)
{
    if (is_score(lines, name))
        return channel;
    if (lines->score || channel != TRIAL_CHANNEL_METRIC) /* with patterns, the caller always names the score */
        return TRIAL_CHANNEL_NONE;
    for (size_t i = 0; i < lines->n_seen; i++)
        if (lines->seen[i].by_keyword && strcmp(lines->seen[i].name, name) != 0)
            return TRIAL_CHANNEL_NONE;
    return TRIAL_CHANNEL_ONLY;
}

static void keep_nearest(struct metric_lines *lines, const char *line, size_t length, int nearness, enum metric_problem problem)
{
    if (nearness < lines->nearness)
        return;
    copy_line(lines->nearest, line, length);
    lines->nearness = nearness;
    lines->problem = problem;
}

/* If several metrics of a line are not finite, the first is reported. */
static void take(void *context, const struct metric_found *found)
{
    struct reading *r = context;
    struct trial_event *event = r->event;
    char name[METRIC_NAME_BYTES];
    if (found->name_length == 0 || found->name_length >= sizeof name)
        return;
    memcpy(name, found->name, found->name_length);
    name[found->name_length] = '\0';
    bool is_step = strcmp(name, "step") == 0;
    if (is_step != r->steps || (found->source != METRIC_BY_PATTERN && is_by_pattern(r->lines, name)))
        return;
    if (is_step) {
        event->names_step =
            (found->problem == METRIC_READ || found->problem == METRIC_FRACTION) && found->value >= 0 && found->value <= 9e15;
        if (event->names_step)
            r->lines->step = (int64_t)found->value;
        return;
    }
    static const enum trial_channel channels[] = {[METRIC_BY_NAME] = TRIAL_CHANNEL_NAMED,
                                                  [METRIC_BY_KEYWORD] = TRIAL_CHANNEL_METRIC,
                                                  [METRIC_BY_PATTERN] = TRIAL_CHANNEL_PATTERN};
    enum trial_channel channel = channels[found->source];
    if (r->lines->footer && found->source == METRIC_BY_NAME && find_seen(r->lines, name) < r->lines->n_seen)
        return; /* W&B rounds to five decimals: 1.13e-06 is 0.0 there; Comet writes `loss [4] : (0.25, 1.0)`, least and greatest */
    enum metric_problem problem = found->problem;
    if (is_in_sentence(r, found, name) || is_of_longer_name(r, found, name))
        return;
    if (found->other_row || is_of_other_condition(r, found, name, &problem)) {
        note(r, name, METRIC_FIRST_ROW, METRIC_READ);
        return;
    }
    if (found->later_row)
        note(r, name, METRIC_LATER_ROW, METRIC_READ);
    enum trial_channel as_score = score_channel(r->lines, name, channel);
    r->lines->pattern_matched = r->lines->pattern_matched || (as_score && found->source == METRIC_BY_PATTERN);
    if (as_score)
        event->channel = as_score;
    else
        event->several = event->several || (channel == TRIAL_CHANNEL_METRIC && !r->lines->score);
    count_step(r, name, channel == TRIAL_CHANNEL_METRIC, sureness(found));
    if (!problem && !has_same_unit(r->lines, name, found->unit))
        problem = METRIC_CHANGED;
    if (problem) {
        note(r, name, METRIC_REFUSED, problem);
        if (!found->problem && problem == METRIC_SEVERAL && in_this_line(r, name)) { /* nor does the first of them count */
            json_object_del(r->lines->line, name);
            r->n--;
            event->has_score = event->has_score && !as_score;
        }
        if (as_score && !(found->problem == METRIC_SEVERAL && is_history(r->lines, name, found->value))) {
            event->unreadable = true;
            r->problem = problem;
        }
    } else if (!isfinite(found->value)) {
        if (!event->not_finite)
            event->not_finite = strcpy(r->lines->lost, name);
        event->lost_score = event->lost_score || as_score;
    } else {
        const size_t seen = find_seen(r->lines, name);
        if (seen < r->lines->n_seen)
            r->lines->seen[seen].value = found->value;
        note_doubts(r, found, name);
        note_part(r, found, name);
        set_number(r, name, found->value);
        r->n++;
        if (as_score) {
            event->has_score = true;
            event->score = found->value;
        }
    }
}

/* `step` is a metric of its line, too, if it was asked for, and may be the score. */
static void take_step(struct reading *r)
{
    if (!r->lines->step_asked || !r->event->names_step)
        return;
    if (r->n++ == 0)
        json_object_clear(r->lines->line);
    if (!score_channel(r->lines, "step", TRIAL_CHANNEL_NAMED))
        return;
    r->event->channel = TRIAL_CHANNEL_NAMED;
    r->event->has_score = true;
    r->event->score = (double)r->lines->step;
}

static bool finish(struct reading *r)
{
    json_t *line = r->lines->line;
    take_step(r);
    if (r->event->several && r->event->channel == TRIAL_CHANNEL_ONLY) { /* nobody said which is the score */
        r->event->channel = TRIAL_CHANNEL_NONE;
        r->event->has_score = r->event->lost_score = r->event->unreadable = false;
    }
    if (r->n == 0)
        json_object_clear(line);
    json_t *step = json_object_get(line, "step");
    if (step)
        json_integer_set(step, (json_int_t)r->lines->step);
    else
        json_object_set_new(line, "step", json_integer((json_int_t)r->lines->step));
    r->event->line = line;
    r->event->has_step = r->n > 0;
    r->event->step = r->lines->step;
    return r->n > 0 || r->event->not_finite || r->event->unreadable;
}

/*
 * Returns the line without colour sequences, which may be between a name and its number. When out of memory, returns
 * the line unchanged.
 */
static const char *strip(struct metric_lines *lines, const char *text, size_t *length)
{
    if (!memchr(text, '\033', *length) && !memchr(text, '\b', *length))
        return text;
    if (lines->capacity < *length) {
        char *grown = realloc(lines->stripped, *length);
        if (!grown)
            return text;
        lines->stripped = grown;
        lines->capacity = *length;
    }
    *length = metric_scan_strip(lines->stripped, text, *length);
    return lines->stripped;
}

bool metric_lines_read(struct metric_lines *lines, struct trial_event *event, const char *text, size_t length)
{
    *event = (struct trial_event){.train_s = -1, .eval_s = -1};
    text = strip(lines, text, &length);
    struct reading r = {.lines = lines, .event = event, .steps = true, .text = text, .length = length};
    if (printed_page_is_source(&lines->page, text, length))
        return finish(&r);
    lines->footer = (length > 7 && memcmp(text, "wandb: ", 7) == 0) || (length > 12 && memcmp(text, "COMET INFO: ", 12) == 0);
    /* The step that a line names applies to all metrics of the line, even to those before it. */
    struct metric_query steps = lines->query;
    bool by_pattern = has_pattern(&lines->query, "step");
    steps.n_patterns = by_pattern ? steps.n_patterns : 0;
    if (by_pattern || memmem(text, length, "step", 4) || memmem(text, length, "Step", 4))
        metric_scan_line(&steps, text, length, take, &r);
    r.steps = false;
    printed_page_scan(&lines->page, &lines->query, text, length, take, &r);
    if (event->unreadable)
        keep_nearest(lines, text, length, NEAR_NUMBER, r.problem);
    return finish(&r);
}

/* Whether the line contains the name anywhere, even inside a longer name. */
static bool mentions(const char *line, size_t length, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i + n <= length; i++)
        if (strncasecmp(line + i, name, n) == 0)
            return true;
    return false;
}

/*
 * Remembers the last line of the text that came close to printing the score; it is shown if the program prints no
 * score.
 */
static void look_for_nearest(struct metric_lines *lines, const char *text, size_t length)
{
    const char *end = text + length;
    const char *from = length > NEAR_WINDOW ? end - NEAR_WINDOW : text;
    const char *score = lines->score ? lines->score : "score";
    int best = lines->nearness > NEAR_DIGIT ? lines->nearness : NEAR_DIGIT;
    while (end > from) {
        const char *line = memrchr(from, '\n', (size_t)(end - from));
        line = line ? line + 1 : from;
        size_t n = (size_t)(end - line);
        int nearness = n && mentions(line, n, score) ? NEAR_NAME : 0;
        for (size_t i = 0; !nearness && i < n; i++)
            nearness = line[i] >= '0' && line[i] <= '9' ? NEAR_DIGIT : 0;
        if (nearness >= best) {
            size_t shown = n;
            const char *stripped = strip(lines, line, &shown);
            keep_nearest(lines, stripped, shown, nearness, METRIC_READ);
            if (nearness >= NEAR_NAME)
                return;
            best = nearness + 1;
        }
        end = line > from ? line - 1 : from;
    }
}

bool metric_lines_may_be_in(struct metric_lines *lines, const char *text, size_t length)
{
    if (lines->n_seen == 0)
        look_for_nearest(lines, text, length);
    return printed_page_expects(&lines->page) || metric_scan_may_find(&lines->query, text, length);
}

static const char *const problems[] = {
    [METRIC_COMMA] = "the number has a comma inside",
    [METRIC_GROUPED] = "the number has a blank or a mark between its digits",
    [METRIC_FRACTION] = "the number is a fraction",
    [METRIC_SEVERAL] = "several numbers may be meant",
    [METRIC_CHANGED] = "the number has another unit than before",
    [METRIC_NOT_A_NUMBER] = "the text that the pattern matched is not a number",
    [METRIC_TOO_HARD] = "the pattern gave up, because it backtracked too often",
};

void metric_lines_describe(const struct metric_lines *lines, char *text, size_t size)
{
    size_t at = 0;
    const char *separator = "saw";
#define ADD(...) at += at < size ? (size_t)snprintf(text + at, size - at, __VA_ARGS__) : 0
    if (lines->score)
        ADD("looked for `%s`%s", lines->score, has_pattern(&lines->query, lines->score) ? " by its pattern" : "");
    else
        ADD("looked for `METRIC score=NUMBER`");
    for (size_t i = 0; lines->nearness < NEAR_NUMBER && i < lines->n_seen && i < 6; i++, separator = ",")
        ADD("%s%s `%s%s`", i ? "" : ", ", separator, lines->seen[i].by_keyword ? "METRIC " : "", lines->seen[i].name);
    if (lines->nearness == NEAR_NUMBER)
        ADD(", but %s: %s (print one plain number, or say with --metric-regex which digits count)", problems[lines->problem],
            lines->nearest);
    else if (lines->nearest[0])
        ADD(", nearest line: %s", lines->nearest);
#undef ADD
}

/* What a remark says, and what the row says about its score. */
static const struct {
    const char *remark, *of_score;
} doubts[] = {
    [METRIC_REFUSED] = {"", ""},
    [METRIC_TWO_NUMBERS] = {"a line has two numbers, of which the first counts", ", the first of two numbers in its line"},
    [METRIC_TWO_PLACES] = {"a line has the name twice, and the last number counts", ", the last of two places in its line"},
    [METRIC_OTHER_WORDS] = {"other lines have another word in front of the name, and the last number counts",
                            ", the last of several with other words in front"},
    [METRIC_LONGER_NAME] = {"lines with the name alone count; if others are meant, name the word in front, too", ""},
    [METRIC_FIRST_ROW] = {"rows with different labels have it, and the first counts, not", ", in the first of several rows"},
    [METRIC_LATER_ROW] = {"rows or lines whose labels count up, or their mean, have it, and the last counts",
                          ", in the last of rows whose labels count up, or in their mean"},
    [METRIC_IN_SENTENCE] = {"a sentence has another number, which does not count", ""},
    [METRIC_OTHER_PART] = {"lines about other data (training, validation, test) have it, and the last number counts",
                           ", the last of lines about training, validation or test"},
    [METRIC_CUT] = {"the program has cut the name off", ", by a name that was cut off"},
    [METRIC_NUMBER_FIRST] = {"the number is in front of the name", ", in front of its name"},
    [METRIC_OF_SOMETHING] = {"words between the name and the number say what it is of",
                             ", in a sentence that says what it is of"},
};

/*
 * Writes the i-th remark on how metrics were read, for a person. Returns false after the last one. A refused number of a score
 * that was never read is left out, because metric_lines_describe names it.
 */
static bool metric_lines_remark(const struct metric_lines *lines, size_t i, char *text, size_t size)
{
    if (i >= lines->n_remarks)
        return false;
    const char *name = lines->remarks[i].name, *line = lines->remarks[i].line;
    const size_t k = find_seen(lines, name);
    const unsigned long long n = lines->remarks[i].lines;
    text[0] = '\0';
    if (!n)
        return true;
    if (lines->remarks[i].problem == METRIC_TOO_HARD)
        snprintf(text, size,
                 "--metric-regex for %s gave up on %llu lines, because it backtracked too often; make the pattern simpler", name,
                 n);
    else if (lines->remarks[i].doubt != METRIC_REFUSED)
        snprintf(text, size, "%s: %s: %s (--metric-regex says which digits count)", name, doubts[lines->remarks[i].doubt].remark,
                 line);
    else if (!is_score(lines, name) || (k < lines->n_seen && lines->seen[k].unit))
        snprintf(text, size, "%s: %llu lines are not read, because %s: %s", name, n, problems[lines->remarks[i].problem], line);
    return true;
}

void metric_lines_say(const struct metric_lines *lines)
{
    char remark[512];
    for (size_t i = 0; metric_lines_remark(lines, i, remark, sizeof remark); i++)
        if (remark[0])
            cli_say(remark);
}

const char *metric_lines_doubt(const struct metric_lines *lines)
{
    const char *doubt = "";
    for (size_t i = 0; i < lines->n_remarks && !*doubt; i++)
        if (is_score(lines, lines->remarks[i].name))
            doubt = doubts[lines->remarks[i].doubt].of_score;
    return doubt;
}

/* ---- the texts of --metric-regex and --metric-take ---- */

bool metric_rules_make(struct metric_rules *rules, const char *const *regexes, const char *const *takes, char *error, size_t size)
{
    size_t n_patterns = cli_texts_length(regexes), n_takes = cli_texts_length(takes);
    char why[512];
    *rules = (struct metric_rules){.patterns = calloc(n_patterns + 1, sizeof *rules->patterns),
                                   .takes = calloc(n_takes + 1, sizeof *rules->takes)};
    if (!rules->patterns || !rules->takes) {
        snprintf(error, size, "out of memory");
        goto failed;
    }
    for (; rules->n_patterns < n_patterns; rules->n_patterns++)
        if (!(rules->patterns[rules->n_patterns] = metric_pattern_new(regexes[rules->n_patterns], why, sizeof why))) {
            snprintf(error, size, "--metric-regex: %s", why);
            goto failed;
        }
    for (; rules->n_takes < n_takes; rules->n_takes++)
        if (!metric_rule_parse(&rules->takes[rules->n_takes], takes[rules->n_takes], why, sizeof why)) {
            snprintf(error, size, "--metric-take: %s", why);
            goto failed;
        }
    return true;

failed:
    metric_rules_release(rules);
    return false;
}

void metric_rules_release(struct metric_rules *rules)
{
    for (size_t i = 0; i < rules->n_patterns; i++)
        metric_pattern_free(rules->patterns[i]);
    free(rules->patterns);
    free(rules->takes);
    *rules = (struct metric_rules){0};
}

bool metric_rules_check(const char *const *regexes, const char *const *takes, char *error, size_t size)
{
    struct metric_rules rules;
    bool good = metric_rules_make(&rules, regexes, takes, error, size);
    if (good)
        metric_rules_release(&rules);
    return good;
}

#include "propose/propose_ranges.h"

#include <lineage/notes.h>
#include <lineage/text.h>

#include "propose/propose_space.h"

/* Every whole number up to 2^53 is exactly representable as a double. */
static const double whole_max = 9007199254740992.0;

static bool __attribute__((format(printf, 2, 3))) refuse(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, PROPOSE_WHY_MAX, format, args);
    va_end(args);
    return false;
}

static const char *keep_text(struct propose_space *space, const char *text)
{
    size_t size = strlen(text) + 1;
    if (size > sizeof space->bytes - space->used)
        return NULL;
    char *copy = memcpy(space->bytes + space->used, text, size);
    space->used += size;
    return copy;
}

/* ---- choices ---- */

static bool is_same(const struct propose_choice *a, const struct propose_choice *b)
{
    return a->text && b->text ? strcmp(a->text, b->text) == 0 : !a->text && !b->text && a->value == b->value;
}

static bool add_choice(struct propose_space *space, struct propose_range *range, struct propose_choice choice, char *why)
{
    if (choice.text && (!lineage_param_text_ok(choice.text) || !(choice.text = keep_text(space, choice.text))))
        return refuse(why, "%.80s: a text to choose has 1 to %d bytes, no semicolon and no control character", range->name,
                      LINEAGE_PARAM_TEXT_MAX);
    if (!choice.text && !isfinite(choice.value))
        return refuse(why, "%.80s: a number to choose is finite", range->name);
    if (space->n_choices == PROPOSE_CHOICES_MAX)
        return refuse(why, "%.80s: more than %d values to choose from in all", range->name, PROPOSE_CHOICES_MAX);
    for (size_t i = 0; i < range->n_choices; i++)
        if (is_same(&range->choices[i], &choice))
            return refuse(why, "%.80s: value %zu is there twice", range->name, range->n_choices + 1);
    space->choices[space->n_choices++] = choice;
    range->high = (double)range->n_choices++;
    return true;
}

static bool read_choices(struct propose_space *space, struct propose_range *range, const char *text, char *why)
{
    const char *rest = text;
    while (*rest) {
        char word[LINEAGE_PARAM_TEXT_MAX + 1];
        struct propose_choice choice = {.value = NAN};
        size_t n = strcspn(rest, ",");
        if (!lineage_param_is_text(rest) && lineage_number_parse(&choice.value, rest, n))
            rest += n + (rest[n] == ',');
        else if (lineage_param_text_next(word, &rest))
            choice.text = word;
        else
            return refuse(why,
                          "%.80s: '%.80s' is neither LOW:HIGH nor values to choose from; what holds commas or quotes belongs "
                          "into single quotes",
                          range->name, text);
        if (!add_choice(space, range, choice, why))
            return false;
    }
    return range->n_choices > 0 || refuse(why, "%.80s: nothing to choose from", range->name);
}

/* ---- numbers ---- */

static const char *const scales[] = {"linear", "log", "integer", "log-integer"};

static bool read_scale(struct propose_range *range, const char *text, size_t length, char *why)
{
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strlen(scales[i]) == length && strncmp(scales[i], text, length) == 0) {
            range->scale = (enum propose_scale)i;
            return true;
        }
    return refuse(why, "%.80s: the scale '%.*s' is none of linear, log, integer, log-integer", range->name,
                  (int)(length < 40 ? length : 40), text);
}

static bool read_steps(struct propose_range *range, const char *text, char *why)
{
    double steps;
    if (!lineage_number_parse(&steps, text, strlen(text)) || steps != floor(steps) || steps < 1 || steps > 1000)
        return refuse(why, "%.80s: '%.40s' points of a grid, but they must be 1 to 1000", range->name, text);
    range->steps = (size_t)steps;
    return true;
}

static bool check_ends(const struct propose_range *range, char *why)
{
    bool whole = range->scale == PROPOSE_INTEGER || range->scale == PROPOSE_LOG_INTEGER;
    if (!isfinite(range->low) || !isfinite(range->high) || !isfinite(range->high - range->low))
        return refuse(why, "%.80s: both ends must be finite", range->name);
    if (range->low >= range->high)
        return refuse(why, "%.80s: the lower end comes first and is less than the higher", range->name);
    if (range->scale == PROPOSE_LOG && range->low < 1e-300)
        return refuse(why, "%.80s: a log range begins above 0", range->name);
    if (range->scale == PROPOSE_LOG_INTEGER && range->low < 1)
        return refuse(why, "%.80s: a log-integer range begins at 1 or above", range->name);
    if (whole && (range->low != floor(range->low) || range->high != floor(range->high)))
        return refuse(why, "%.80s: both ends must be whole numbers", range->name);
    if (whole && fmax(-range->low, range->high) > whole_max)
        return refuse(why, "%.80s: whole numbers of a range end at 2^53; list wider ones, VALUE,VALUE", range->name);
    return true;
}

static bool read_ends(struct propose_range *range, const char *text, char *why)
{
    const char *high = strchr(text, ':') + 1;
    size_t length = strcspn(high, ":");
    if (!lineage_number_parse(&range->low, text, (size_t)(high - 1 - text)) || !lineage_number_parse(&range->high, high, length))
        return refuse(why, "%.80s: '%.80s' is not LOW:HIGH, two numbers", range->name, text);
    const char *scale = high + length;
    if (*scale) {
        length = strcspn(++scale, ":");
        if (!read_scale(range, scale, length, why) || (scale[length] && !read_steps(range, scale + length + 1, why)))
            return false;
    }
    return check_ends(range, why);
}

/* ---- ranges ---- */

static struct propose_range *begin(struct propose_space *space, const char *name, char *why)
{
    const char *canonical = lineage_param_canonical(name);
    struct propose_range *range = &space->ranges[space->n];
    if (space->n == PROPOSE_RANGES_MAX)
        return refuse(why, "more than %d ranges", PROPOSE_RANGES_MAX), NULL;
    if (!lineage_param_name_ok(canonical))
        return refuse(why, "'%.80s' is not a name of a parameter", name), NULL;
    for (size_t i = 0; i < space->n; i++)
        if (strcmp(space->ranges[i].name, canonical) == 0)
            return refuse(why, "%.80s: there are two ranges of that name", canonical), NULL;
    *range = (struct propose_range){
        .name = keep_text(space, canonical), .scale = PROPOSE_CHOICE, .choices = space->choices + space->n_choices};
    if (!range->name)
        return refuse(why, "the names of the ranges are too long"), NULL;
    return range;
}

/* Returns the " if " of "RANGE if NAME=VALUES", or NULL. Between single quotes it belongs to a choice. */
static const char *find_if(const char *text)
{
    bool quoted = false;
    for (; *text; text++) {
        quoted = quoted != (*text == '\'');
        if (!quoted && strncmp(text, " if ", 4) == 0)
            return text;
    }
    return NULL;
}

/* A choice may also contain a colon, so LOW:HIGH is recognized by the number before the colon. */
static bool is_pair(const char *text)
{
    double low;
    const char *colon = strchr(text, ':');
    return colon && lineage_number_parse(&low, text, (size_t)(colon - text));
}

static bool read_range(struct propose_space *space, struct propose_range *range, const char *text, char *why)
{
    if (!is_pair(text))
        return read_choices(space, range, text, why);
    range->scale = PROPOSE_LINEAR;
    return read_ends(range, text, why);
}

static bool read_condition(struct propose_space *space, struct propose_range *range, const char *text, char *why)
{
    size_t name = strcspn(text, "=");
    if (!text[name] || name == 0 || !text[name + 1])
        return refuse(why, "%.80s: the condition '%.80s' is not NAME=VALUES, such as optimizer=sgd", range->name, text);
    space->conditions[space->n] = keep_text(space, text);
    return space->conditions[space->n] || refuse(why, "the names of the ranges are too long");
}

static bool read_text(struct propose_space *space, struct propose_range *range, const char *text, char *why)
{
    char before[4096];
    const char *at = find_if(text);
    size_t length = at ? (size_t)(at - text) : 0;
    if (!at)
        return read_range(space, range, text, why);
    if (length >= sizeof before)
        return refuse(why, "%.80s: the range is longer than %zu bytes", range->name, sizeof before - 1);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    memcpy(before, text, length);
    before[length] = '\0';
    return read_range(space, range, before, why) && read_condition(space, range, at + 4 + strspn(at + 4, " "), why);
}

bool propose_space_add(struct propose_space *space, const char *name, const char *text, char why[PROPOSE_WHY_MAX])
{
    struct propose_range *range = begin(space, name, why);
    if (!range || !read_text(space, range, text, why))
        return false;
    space->n++;
    return true;
}

static bool add_json(struct propose_space *space, struct propose_range *range, const json_t *value, char *why)
{
    json_t *wide = cli_json_is_wide(value) ? cli_json_spelled(value) : NULL;
    const struct propose_choice choice = {json_number_value(value), json_string_value(wide ? wide : value)};
    bool added = add_choice(space, range, choice, why);
    json_decref(wide);
    return added;
}

/* A single number is a list with one value: the parameter is fixed. */
static bool read_list(struct propose_space *space, struct propose_range *range, const json_t *list, char *why)
{
    if (json_is_number(list))
        return add_json(space, range, list, why);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value) && !json_is_string(value))
            return refuse(why, "%.80s: value %zu is neither a number nor a text", range->name, i + 1);
        if (!add_json(space, range, value, why))
            return false;
    }
    return range->n_choices > 0 || refuse(why, "%.80s: nothing to choose from", range->name);
}

static bool read_json(struct propose_space *space, struct propose_range *range, const json_t *json, char *why)
{
    if (json_is_string(json))
        return read_text(space, range, json_string_value(json), why);
    if (json_is_array(json) || json_is_number(json))
        return read_list(space, range, json, why);
    return refuse(
        why,
        "%.80s: a range is a text (\"1e-5:1e-2:log\"), a list to choose from, or {\"range\": RANGE, \"if\": \"NAME=VALUES\"}",
        range->name);
}

static bool read_object(struct propose_space *space, struct propose_range *range, const json_t *object, char *why)
{
    const char *key;
    json_t *value;
    const json_t *own = json_object_get(object, "range"), *condition = json_object_get(object, "if");
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        if (strcmp(key, "range") != 0 && strcmp(key, "if") != 0)
            return refuse(why, "%.80s: unknown key '%.40s'; known are range, if", range->name, key);
    if (!own || json_is_object(own))
        return refuse(why, "%.80s: \"range\" is missing: {\"range\": \"0:0.99\", \"if\": \"optimizer=sgd\"}", range->name);
    if (!read_json(space, range, own, why))
        return false;
    if (condition && !json_is_string(condition))
        return refuse(why, "%.80s: \"if\" must be a text, such as \"optimizer=sgd\"", range->name);
    if (condition && space->conditions[space->n])
        return refuse(why, "%.80s: there are two conditions", range->name);
    return !condition || read_condition(space, range, json_string_value(condition), why);
}

static bool propose_space_add_json(struct propose_space *space, const char *name, const json_t *json, char why[PROPOSE_WHY_MAX])
{
    struct propose_range *range = begin(space, name, why);
    if (!range || !(json_is_object(json) ? read_object : read_json)(space, range, json, why))
        return false;
    space->n++;
    return true;
}

bool propose_space_read(struct propose_space *space, const json_t *ranges, char why[PROPOSE_WHY_MAX])
{
    const char *name;
    json_t *range;
    json_object_foreach((json_t *)(uintptr_t)ranges, name, range)
        if (!propose_space_add_json(space, name, range, why))
            return false;
    if (space->n > 0)
        return propose_space_link(space, why);
    return refuse(why, "ranges: {\"NAME\": \"LOW:HIGH\", ..}, one at least");
}

/* ---- conditions ---- */

static bool find_range(size_t *index, const struct propose_space *space, const char *name, size_t length)
{
    char copy[LINEAGE_NAME_MAX];
    if (length >= sizeof copy)
        return false;
    memcpy(copy, name, length);
    copy[length] = '\0';
    for (*index = 0; *index < space->n; ++*index)
        if (strcmp(space->ranges[*index].name, lineage_param_canonical(copy)) == 0)
            return true;
    return false;
}

static bool add_value(struct propose_space *space, struct propose_condition *condition, double value)
{
    if (space->n_values == PROPOSE_CHOICES_MAX)
        return false;
    space->values[space->n_values++] = value;
    condition->n++;
    return true;
}

/* Reads VALUES with the grammar of choices: of numbers, or texts of the range that the condition names. */
static bool link_values(struct propose_space *space, struct propose_condition *condition, const char *text)
{
    const struct propose_range *of = &space->ranges[condition->of];
    condition->values = space->values + space->n_values;
    while (*text) {
        char word[LINEAGE_PARAM_TEXT_MAX + 1];
        struct lineage_param param = {.value = NAN};
        double value;
        size_t n = strcspn(text, ",");
        if (!lineage_param_is_text(text) && lineage_number_parse(&param.value, text, n))
            text += n + (text[n] == ',');
        else if (lineage_param_text_next(word, &text))
            param.text = word;
        else
            return false;
        if (!propose_value_of(&value, of, &param) || !add_value(space, condition, value))
            return false;
    }
    return condition->n > 0;
}

/* Reads LOW:HIGH of a range of numbers; the two must have a value in common. */
static bool link_interval(struct propose_condition *condition, const struct propose_range *of, const char *text)
{
    const char *high = strchr(text, ':') + 1;
    return of->scale != PROPOSE_CHOICE && lineage_number_parse(&condition->low, text, (size_t)(high - 1 - text)) &&
           lineage_number_parse(&condition->high, high, strlen(high)) && condition->low <= condition->high &&
           condition->low <= of->high && condition->high >= of->low;
}

static bool link_condition(struct propose_space *space, size_t i, char *why)
{
    struct propose_condition *condition = &space->ranges[i].condition;
    const char *name = space->ranges[i].name, *text = space->conditions[i];
    size_t length = strcspn(text, "=");
    if (!find_range(&condition->of, space, text, length))
        return refuse(why, "%.80s: the condition '%.80s' names none of the ranges", name, text);
    const char *values = text + length + 1;
    if (!(is_pair(values) ? link_interval(condition, &space->ranges[condition->of], values)
                          : link_values(space, condition, values)))
        return refuse(why, "%.80s: the condition '%.80s' must name values of %.80s: VALUE,.. or, of numbers, LOW:HIGH", name,
                      text, space->ranges[condition->of].name);
    condition->given = true;
    return true;
}

bool propose_space_link(struct propose_space *space, char why[PROPOSE_WHY_MAX])
{
    for (size_t i = 0; i < space->n; i++)
        if (space->conditions[i] && !space->ranges[i].condition.given && !link_condition(space, i, why))
            return false;
    for (size_t i = 0; i < space->n; i++) {
        size_t steps = 0;
        for (size_t at = i; space->ranges[at].condition.given && steps <= space->n; at = space->ranges[at].condition.of)
            steps++;
        if (steps > space->n)
            return refuse(why, "%.80s: its condition depends on itself", space->ranges[i].name);
    }
    return true;
}

/* ---- values ---- */

json_t *propose_value_json(const struct propose_range *range, double value)
{
    if (range->scale != PROPOSE_CHOICE)
        return cli_json_setting(value);
    const struct propose_choice *choice = &range->choices[(size_t)value];
    return choice->text ? cli_json_text(choice->text) : cli_json_setting(choice->value);
}

json_t *propose_setting_json(const struct propose_space *space, const double *x)
{
    json_t *setting = json_object();
    for (size_t i = 0; i < space->n; i++)
        if (propose_is_active(space->ranges, x, i))
            json_object_set_new(setting, space->ranges[i].name, propose_value_json(&space->ranges[i], x[i]));
    return setting;
}

bool propose_value_of(double *value, const struct propose_range *range, const struct lineage_param *param)
{
    const struct propose_choice wanted = {param->value, param->text};
    if (range->scale != PROPOSE_CHOICE) {
        *value = param->value;
        return !param->text && propose_holds(range, param->value);
    }
    for (size_t i = 0; i < range->n_choices; i++)
        if (is_same(&range->choices[i], &wanted)) {
            *value = (double)i;
            return true;
        }
    return false;
}

bool propose_value_of_json(double *value, const struct propose_range *range, const json_t *json)
{
    json_t *wide = cli_json_is_wide(json) ? cli_json_spelled(json) : NULL;
    const struct lineage_param param = {NULL, json_is_number(json) ? json_number_value(json) : NAN,
                                        json_string_value(wide ? wide : json)};
    bool found = propose_value_of(value, range, &param);
    json_decref(wide);
    return found;
}

bool propose_complete(const struct propose_space *space, double *x, const bool *has)
{
    const struct propose_problem problem = {.ranges = space->ranges, .n_ranges = space->n};
    for (size_t i = 0; i < space->n; i++)
        if (!has[i])
            x[i] = space->ranges[i].low;
    for (size_t i = 0; i < space->n; i++)
        if (!has[i] && propose_is_active(space->ranges, x, i))
            return false;
    propose_settle(&problem, x);
    return true;
}

/* ---- plan ---- */

static bool read_count(uint64_t *count, const char *key, const json_t *value, char *why)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse(why, "propose.%s must be a whole number from 0 on", key);
    *count = (uint64_t)json_integer_value(value);
    return true;
}

bool propose_plan_read(struct propose_plan *plan, const json_t *json, char why[PROPOSE_WHY_MAX])
{
    const char *key;
    json_t *value;
    uint64_t trials = 0;
    *plan = (struct propose_plan){.given = json != NULL, .method = PROPOSE_AUTO};
    if (json && !json_is_object(json))
        return refuse(why, "propose must be an object: {\"method\": \"auto\", \"trials\": 40, \"seed\": 1}");
    json_object_foreach((json_t *)(uintptr_t)json, key, value) {
        bool ok = false;
        if (strcmp(key, "method") == 0)
            ok = (json_is_string(value) && propose_method_parse(&plan->method, json_string_value(value))) ||
                 refuse(why, "propose.method must be " PROPOSE_METHOD_NAMES);
        else if (strcmp(key, "trials") == 0)
            ok = read_count(&trials, key, value, why);
        else if (strcmp(key, "seed") == 0)
            ok = read_count(&plan->seed, key, value, why);
        else
            refuse(why, "propose: unknown key '%.40s'; known are method, trials, seed", key);
        if (!ok)
            return false;
    }
    plan->trials = (size_t)trials;
    return true;
}

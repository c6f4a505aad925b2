/*
 * recipe_value.c: the value of one field. All numbers of a recipe are exact in a double, and are printed with the
 * fewest digits that give the same number when they are parsed: the text of a recipe is its identity (a trial's key is
 * a digest of it), so 0.1 must not become 0.10000000000000001.
 */
#include "recipe/recipe_foreign.h"
#include "recipe/recipe_value.h"

#include <ctype.h>

#include "support/error.h"

/*
 * The member's size distinguishes bool from enum: bool is the type of true-false settings and of choices between two
 * words (correction.level).
 */
static void set_number(const struct recipe_field *field, void *base, double number)
{
    char *member = (char *)base + field->offset;
    if (field->kind == RECIPE_REAL)
        *(double *)(void *)member = number;
    else if (field->kind == RECIPE_SEED)
        *(uint64_t *)(void *)member = (uint64_t)number;
    else if (field->size == sizeof(bool))
        *(bool *)(void *)member = number > 0;
    else
        *(int32_t *)(void *)member = (int32_t)number;
}

double recipe_number(const struct recipe_field *field, const void *base)
{
    const char *member = (const char *)base + field->offset;
    if (field->kind == RECIPE_REAL)
        return *(const double *)(const void *)member;
    if (field->kind == RECIPE_SEED)
        return (double)*(const uint64_t *)(const void *)member;
    if (field->size == sizeof(bool))
        return *(const bool *)(const void *)member;
    return *(const int32_t *)(const void *)member;
}

static char *text_of(const struct recipe_field *field, void *base)
{
    return (char *)base + field->offset;
}

void recipe_value_init(const struct recipe_table *table, void *base)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct recipe_field *field = &table->fields[i];
        if (field->kind == RECIPE_TEXT)
            strcpy(text_of(field, base), field->text);
        else if (field->size > 0)
            set_number(field, base, field->initial);
    }
}

/*
 * 15 digits are always exact in decimal and 17 in binary; the first of 15, 16 and 17 digits that gives the same number
 * when it is parsed is the shortest. Whole numbers are written without an exponent, as people write them; above 2^53
 * doubles are no longer exact as whole numbers.
 */
void recipe_number_text(char text[32], double number)
{
    char shortest[32];
    bool whole = fabs(number) < 0x1p53 && number == floor(number);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(shortest, sizeof shortest, whole ? "%.*f" : "%.*g", whole ? 0 : digits, number);
        if (strtod(shortest, NULL) == number)
            break;
    }
    char *comma = strchr(shortest, ','); /* the decimal comma of the process's locale */
    if (comma)
        *comma = '.';
    strcpy(text, shortest);
}

/*
 * Writes ASCII only, because a message may go to a terminal of any encoding and the value may contain any characters.
 */
void recipe_shown(char text[64], const json_t *value)
{
    char json[1024] = ""; /* text that does not fit is dropped */
    size_t length = json_dumpb(value, json, sizeof json - 1, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    snprintf(text, 64, "%.60s%s", length > 0 ? json : "?", length > 60 ? ".." : "");
}

/* ---- what is allowed ---- */

/* Infinity is not shown as a bound: "from 0 to inf" reads as if inf were allowed. */
static void describe_range(char *text, size_t size, const struct recipe_field *field)
{
    const struct recipe_bound *low = &field->low, *high = &field->high;
    char from[32], to[32];
    recipe_number_text(from, low->value);
    recipe_number_text(to, high->value);
    const char *noun = field->kind == RECIPE_REAL ? "a number" : "a whole number";
    const char *side = low->open ? "above" : "from";
    if (isinf(high->value))
        snprintf(text, size, "%s %s %s%s", noun, side, from, low->open ? "" : " on");
    else
        snprintf(text, size, "%s %s %s %s %s", noun, side, from, high->open ? "and below" : low->open ? "and at most" : "to", to);
}

static void describe_choices(char *text, size_t size, const struct recipe_field *field)
{
    const char *name, *comma = "";
    size_t used = (size_t)snprintf(text, size, "one of");
    for (size_t i = 0; (name = recipe_choice(field, i)) && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s %s", comma, name);
        comma = ",";
    }
}

static void describe(char *text, size_t size, const struct recipe_field *field)
{
    if (recipe_is_number(field))
        describe_range(text, size, field);
    else if (recipe_is_choice(field))
        describe_choices(text, size, field);
    else if (field->kind == RECIPE_TEXT)
        snprintf(text, size, "one line of UTF-8 of at most %zu bytes", field->size - 1);
    else
        snprintf(text, size, "true or false");
}

static enum trainer_status refuse(const struct recipe_field *field, const char *path, const char *shown,
                                  struct trainer_error *err)
{
    char allowed[320];
    describe(allowed, sizeof allowed, field);
    return trainer_fail(err, TRAINER_EINVAL, "%s is %s, but must be %s%s", path, shown, allowed,
                        recipe_foreign_namesake(field->path));
}

/*
 * NaN and infinity are refused even without an upper limit, because JSON cannot express them, so such a recipe could
 * not be printed.
 */
static bool within(const struct recipe_field *field, double number)
{
    const struct recipe_bound *low = &field->low, *high = &field->high;
    bool whole = field->kind == RECIPE_REAL || number == floor(number);
    return isfinite(number) && whole && number >= low->value && number <= high->value && !(low->open && number == low->value) &&
           !(high->open && number == high->value);
}

/* A line break or control character in a name would break the row. */
static bool is_line(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

/* ---- reading ---- */

/*
 * Returns NaN for a wrong type. within() refuses NaN, so wrong types and wrong values are refused in the same place,
 * with a message that names the range.
 */
static double read_number(const struct recipe_field *field, const json_t *value)
{
    if (recipe_is_number(field))
        return json_is_number(value) ? json_number_value(value) : NAN;
    if (field->kind == RECIPE_BOOL)
        return json_is_boolean(value) ? json_is_true(value) : NAN;
    const char *name;
    for (size_t i = 0; json_is_string(value) && (name = recipe_choice(field, i)); i++)
        if (strcmp(name, json_string_value(value)) == 0)
            return (double)i;
    return NAN;
}

static const char *nearest_choice(const struct recipe_field *field, const char *text)
{
    const char *name, *nearest = recipe_choice(field, 0);
    for (size_t i = 1; (name = recipe_choice(field, i)); i++)
        if (rl_name_distance(text, name) < rl_name_distance(text, nearest))
            nearest = name;
    return nearest;
}

enum trainer_status recipe_value_read(const struct recipe_field *field, const char *path, void *base, const json_t *value,
                                      struct trainer_error *err)
{
    const char *text = json_string_value(value);
    bool is_text = field->kind == RECIPE_TEXT;
    double number = is_text ? 0 : read_number(field, value);
    if (is_text ? text && strlen(text) < field->size && is_line(text) : within(field, number)) {
        if (is_text)
            strcpy(text_of(field, base), text);
        else
            set_number(field, base, number);
        return TRAINER_OK;
    }
    char shown[64], near[RECIPE_FOREIGN_SIZE + 80], said[RECIPE_FOREIGN_SIZE], named[256];
    recipe_shown(shown, value);
    if (!recipe_is_choice(field) || !json_is_string(value))
        return refuse(field, path, shown, err);
    snprintf(named, sizeof named, "%s.%s", field->path, json_string_value(value));
    if (recipe_foreign_say(said, named)) /* also "IcePop", "flash-reinforce" */
        snprintf(near, sizeof near, "%s (%s)", shown, said);
    else
        snprintf(near, sizeof near, "%s (the nearest known one is %s)", shown, nearest_choice(field, json_string_value(value)));
    return refuse(field, path, near, err);
}

static enum trainer_status check_text(const struct recipe_field *field, const char *path, const char *text,
                                      struct trainer_error *err)
{
    if (!memchr(text, 0, field->size))
        return refuse(field, path, "not terminated", err);
    json_t *string = json_string(text); /* refuses text that is not UTF-8 */
    json_decref(string);
    return string && is_line(text) ? TRAINER_OK : refuse(field, path, "something else", err);
}

/* Structs that a program filled in follow the same rules as files, with the same table and the same messages. */
enum trainer_status recipe_value_check(const struct recipe_field *field, const char *path, const void *base,
                                       struct trainer_error *err)
{
    char shown[32];
    if (field->kind == RECIPE_TEXT)
        return check_text(field, path, (const char *)base + field->offset, err);
    double number = recipe_number(field, base);
    if (within(field, number))
        return TRAINER_OK;
    recipe_number_text(shown, number);
    return refuse(field, path, shown, err);
}

/* ---- printing ---- */

void recipe_string_print(FILE *out, const char *text)
{
    json_t *string = json_string(text);
    if (string)
        json_dumpf(string, out, JSON_ENCODE_ANY);
    else
        fputs("null", out);
    json_decref(string);
}

void recipe_value_words(char words[64], const struct recipe_field *field, const void *base)
{
    char number[32];
    if (field->kind == RECIPE_TEXT) {
        snprintf(words, 64, "'%.61s'", (const char *)base + field->offset);
        return;
    }
    recipe_number_text(number, recipe_number(field, base));
    if (field->kind == RECIPE_BOOL)
        snprintf(number, sizeof number, "%s", recipe_number(field, base) > 0 ? "true" : "false");
    snprintf(words, 64, "%s", recipe_is_choice(field) ? recipe_choice(field, (size_t)recipe_number(field, base)) : number);
}

/* null is never a valid value, so the printed text of an unchecked struct cannot be parsed as another recipe. */
void recipe_value_print(FILE *out, const struct recipe_field *field, const void *base)
{
    char text[32];
    if (field->kind == RECIPE_TEXT) {
        recipe_string_print(out, (const char *)base + field->offset);
        return;
    }
    double number = recipe_number(field, base);
    recipe_number_text(text, number);
    if (!within(field, number))
        fputs("null", out); /* the recipe was not checked */
    else if (field->kind == RECIPE_BOOL)
        fputs(number > 0 ? "true" : "false", out);
    else if (recipe_is_choice(field))
        fprintf(out, "\"%s\"", recipe_choice(field, (size_t)number));
    else
        fputs(text, out);
}

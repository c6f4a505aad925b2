#include "forms.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/redact.h>
#include <lineage/text.h>

#include "../fail.h"

/* Spellings beside the secret itself. Each may also be in a cell; so there are twice as many texts, and two of the secret. */
enum form { FORM_JSON, FORM_JSON_ASCII, FORM_JSON_LOWER, FORM_QUOTED, FORM_URL, FORM_URL_LOWER, FORM_HTML, N_FORMS };
_Static_assert(2 * (N_FORMS + 1) <= FORMS_MAX, "struct forms has room for all");

/* Adds a text unless it is there already. */
static void add(struct forms *forms, const struct buf *text)
{
    for (size_t i = 0; i < forms->n; i++)
        if (forms->at[i].length == text->length && memcmp(forms->at[i].data, text->data, text->length) == 0)
            return;
    if (forms->n < FORMS_MAX && text->length)
        buf_add(&forms->at[forms->n++], text->data, text->length);
}

static void put_doubled(struct buf *out, const struct buf *text, char quote)
{
    for (size_t i = 0; i < text->length; i++) {
        buf_put(out, text->data[i]);
        if (text->data[i] == quote)
            buf_put(out, quote);
    }
}

/* Jansson writes \\u00E9; Python and JavaScript write \\u00e9. */
static void lower_escapes(char *text)
{
    for (char *at = text; (at = strchr(at, '\\')) && at[1]; at += 2)
        for (size_t i = 2; at[1] == 'u' && i < 6 && at[i]; i++)
            if (at[i] >= 'A' && at[i] <= 'F')
                at[i] = (char)(at[i] - 'A' + 'a');
}

static void put_json(struct buf *out, const struct buf *text, size_t flags, bool lower)
{
    json_t *string = json_stringn(text->data, text->length);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY | flags) : NULL;
    if (quoted && lower)
        lower_escapes(quoted);
    if (quoted)
        buf_add(out, quoted + 1, strlen(quoted) - 2);
    else
        out->failed = true;
    free(quoted);
    json_decref(string);
}

static void put_percent(struct buf *out, const struct buf *text, const char *digits)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if (c && strchr(plain, c)) {
            buf_put(out, (char)c);
        } else {
            buf_put(out, '%');
            buf_put(out, digits[c >> 4]);
            buf_put(out, digits[c & 15]);
        }
    }
}

static void put_html(struct buf *out, const struct buf *text)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < text->length; i++) {
        const char *entity = NULL;
        for (size_t k = 0; k < sizeof entities / sizeof *entities; k++)
            if (entities[k].c == text->data[i])
                entity = entities[k].entity;
        if (entity)
            buf_puts(out, entity);
        else
            buf_put(out, text->data[i]);
    }
}

/* Adds a spelling and how it is written into a cell of results.tsv. */
static void add_with_cell(struct forms *forms, struct buf *text)
{
    struct buf cell = {0};
    add(forms, text);
    put_doubled(&cell, text, '"');
    add(forms, &cell);
    if (cell.failed)
        text->failed = true;
    buf_release(&cell);
}

static int longest_first(const void *a, const void *b)
{
    const struct buf *x = a, *y = b;
    return (x->length < y->length) - (x->length > y->length);
}

enum lineage_status forms_make(struct forms *forms, const char *secret, size_t length, struct lineage_error *err)
{
    static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";
    struct buf raw = {0}, made = {0};
    bool failed = false;
    *forms = (struct forms){.n = 0};
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)secret[i] < 0x20 || secret[i] == 0x7f)
            return store_fail(err, LINEAGE_EINVAL, "the secret contains a control character");
    if (length < LINEAGE_SECRET_MIN || length > LINEAGE_SECRET_MAX || !lineage_text_is_utf8(secret, length))
        return store_fail(err, LINEAGE_EINVAL, "a secret has %d to %d bytes of UTF-8; shorter texts are found in other words",
                          LINEAGE_SECRET_MIN, LINEAGE_SECRET_MAX);
    buf_add(&raw, secret, length);
    add_with_cell(forms, &raw);
    for (enum form way = 0; way < N_FORMS; way++) {
        buf_reset(&made);
        switch (way) {
        case FORM_JSON: put_json(&made, &raw, 0, false); break;
        case FORM_JSON_ASCII: put_json(&made, &raw, JSON_ENSURE_ASCII, false); break;
        case FORM_JSON_LOWER: put_json(&made, &raw, JSON_ENSURE_ASCII, true); break;
        case FORM_QUOTED: put_doubled(&made, &raw, '\''); break;
        case FORM_URL: put_percent(&made, &raw, upper); break;
        case FORM_URL_LOWER: put_percent(&made, &raw, lower); break;
        case FORM_HTML: put_html(&made, &raw); break;
        case N_FORMS: break;
        }
        failed = failed || made.failed;
        add_with_cell(forms, &made);
        failed = failed || made.failed;
    }
    for (size_t i = 0; i < forms->n; i++)
        failed = failed || forms->at[i].failed;
    qsort(forms->at, forms->n, sizeof *forms->at, longest_first);
    forms->longest = forms->n ? forms->at[0].length : 0;
    failed = failed || raw.failed;
    buf_release(&raw);
    buf_release(&made);
    if (failed)
        forms_release(forms);
    return failed ? store_no_memory(err) : LINEAGE_OK;
}

void forms_release(struct forms *forms)
{
    for (size_t i = 0; i < forms->n; i++)
        buf_release(&forms->at[i]);
    *forms = (struct forms){.n = 0};
}

size_t forms_match(const struct forms *forms, const char *text, size_t length)
{
    for (size_t i = 0; i < forms->n; i++)
        if (forms->at[i].length <= length && memcmp(forms->at[i].data, text, forms->at[i].length) == 0)
            return forms->at[i].length;
    return 0;
}

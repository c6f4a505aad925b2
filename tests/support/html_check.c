/*
 * html_check.c: checks that a report is well-formed, self-contained and inert.
 *
 *     html_check FILE...        an .svg, or a report
 *
 * The checks: elements are opened and closed in order. Attributes are quoted, and none is an event handler. No
 * attribute or style contains an address, and no element loads anything. Ids are unique and references to them resolve.
 * The content security policy of a report contains digests. Prints one line per problem; exit status 0 without any.
 *
 * The program reads only the language in which reports are written, which is deliberately much smaller than HTML.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 256, NAME = 64, IDS = 200000 };

struct check {
    const char *file, *text;
    size_t length, at;
    char open[DEPTH][NAME];
    size_t depth;
    char **ids, **wanted;
    size_t n_ids, n_wanted;
    size_t elements;
    int wrong;
};

static void wrong(struct check *c, const char *what, const char *detail)
{
    size_t line = 1;
    for (size_t i = 0; i < c->at && i < c->length; i++)
        line += c->text[i] == '\n';
    if (c->wrong++ < 20)
        printf("%s:%zu: %s %.80s\n", c->file, line, what, detail);
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void remember(struct check *c, char **list, size_t *n, const char *text, size_t length)
{
    if (*n == IDS) {
        wrong(c, "too many ids", "");
        return;
    }
    list[*n] = malloc(length + 1);
    if (!list[*n])
        exit(3);
    memcpy(list[*n], text, length);
    list[(*n)++][length] = '\0';
}

static void check_attribute(struct check *c, const char *element, const char *name, const char *value, size_t length)
{
    static const char *const forbidden[] = {"src", "srcset", "action", "formaction", "xlink:href", "style", "data", "ping", NULL};
    if (strncmp(name, "on", 2) == 0 || is_one_of(name, forbidden))
        wrong(c, "attribute", name);
    if (memchr(value, '<', length))
        wrong(c, "< in attribute", name);
    if (strcmp(name, "id") == 0)
        remember(c, c->ids, &c->n_ids, value, length);
    if (strcmp(name, "href") == 0) {
        if (length && value[0] == '#')
            remember(c, c->wanted, &c->n_wanted, value + 1, length - 1);
        else if (!(strcmp(element, "link") == 0 && length == 6 && strncmp(value, "data:,", 6) == 0))
            wrong(c, "address in", element);
    }
}

/* Reads from the end of a tag's name to its '>'. Returns true if the tag ends in "/>". */
static bool read_attributes(struct check *c, const char *element)
{
    while (c->at < c->length) {
        while (c->at < c->length && isspace((unsigned char)c->text[c->at]))
            c->at++;
        if (c->text[c->at] == '>')
            return c->at++, false;
        if (strncmp(c->text + c->at, "/>", 2) == 0)
            return c->at += 2, true;
        char name[NAME];
        size_t n = strcspn(c->text + c->at, "= \t\n/><\"'");
        if (!n || n >= NAME) {
            wrong(c, "no attribute in", element);
            c->at++;
            continue;
        }
        memcpy(name, c->text + c->at, n);
        name[n] = '\0';
        c->at += n;
        if (c->text[c->at] != '=') {
            check_attribute(c, element, name, "", 0);
            continue;
        }
        if (c->text[++c->at] != '"') {
            wrong(c, "no quotes around", name);
            continue;
        }
        const char *value = c->text + ++c->at;
        size_t length = strcspn(value, "\"");
        check_attribute(c, element, name, value, length);
        c->at += length + 1;
    }
    return false;
}

static void close_element(struct check *c, const char *name)
{
    if (!c->depth || strcmp(c->open[c->depth - 1], name) != 0)
        wrong(c, "closed out of order:", name);
    else
        c->depth--;
}

/* Skips the raw text of a script or style element up to its end tag. */
static void skip_raw(struct check *c, const char *name)
{
    char end[NAME + 4];
    snprintf(end, sizeof end, "</%s>", name);
    const char *found = strstr(c->text + c->at, end);
    if (strcmp(name, "style") == 0 && found)
        for (const char *at = c->text + c->at; at < found; at++)
            if (strncmp(at, "url(", 4) == 0 || strncmp(at, "@import", 7) == 0)
                wrong(c, "address in style", "");
    c->at = found ? (size_t)(found - c->text) : c->length;
}

static void read_tag(struct check *c)
{
    static const char *const empty[] = {"meta", "link", "br", "hr", "input", NULL};
    static const char *const loads[] = {"img", "image",         "iframe", "object", "embed",   "base", "form",
                                        "use", "foreignObject", "audio",  "video",  "animate", "set",  NULL};
    char name[NAME];
    bool closes = c->text[c->at + 1] == '/';
    c->at += closes ? 2 : 1;
    size_t n = strcspn(c->text + c->at, " \t\n/>");
    if (!n || n >= NAME || !isalpha((unsigned char)c->text[c->at])) {
        wrong(c, "stray <", "");
        return;
    }
    memcpy(name, c->text + c->at, n);
    name[n] = '\0';
    c->at += n;
    if (closes) {
        close_element(c, name);
        c->at += strcspn(c->text + c->at, ">") + 1;
        return;
    }
    c->elements++;
    if (is_one_of(name, loads))
        wrong(c, "element", name);
    bool single = read_attributes(c, name);
    if (single || is_one_of(name, empty))
        return;
    if (c->depth == DEPTH) {
        wrong(c, "too deep:", name);
        return;
    }
    memcpy(c->open[c->depth++], name, n + 1);
    if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)
        skip_raw(c, name);
}

/* Checks an entity: only &name; and &#number; are allowed. */
static void check_entity(struct check *c)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#96;", NULL};
    for (size_t i = 0; known[i]; i++)
        if (strncmp(c->text + c->at, known[i], strlen(known[i])) == 0)
            return;
    wrong(c, "entity", "");
}

/*
 * Rejects control characters (C0 and C1) and invisible characters: U+202A-E, U+2066-9, U+200E/F (bidirectional text).
 */
static void check_byte(struct check *c)
{
    const unsigned char *b = (const unsigned char *)c->text + c->at;
    if ((b[0] < 0x20 && b[0] != '\n') || b[0] == 0x7f || (b[0] == 0xc2 && b[1] >= 0x80 && b[1] < 0xa0))
        wrong(c, "control character", "");
    if (b[0] == 0xe2 && b[1] == 0x80 && ((b[2] >= 0xaa && b[2] <= 0xae) || b[2] == 0x8e || b[2] == 0x8f))
        wrong(c, "bidirectional control", "");
    if (b[0] == 0xe2 && b[1] == 0x81 && b[2] >= 0xa6 && b[2] <= 0xa9)
        wrong(c, "bidirectional isolate", "");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_references(struct check *c)
{
    qsort(c->ids, c->n_ids, sizeof *c->ids, by_text);
    for (size_t i = 1; i < c->n_ids; i++)
        if (strcmp(c->ids[i - 1], c->ids[i]) == 0)
            wrong(c, "id twice:", c->ids[i]);
    for (size_t i = 0; i < c->n_wanted; i++)
        if (!bsearch(&c->wanted[i], c->ids, c->n_ids, sizeof *c->ids, by_text))
            wrong(c, "no such id:", c->wanted[i]);
}

static void check_all(struct check *c)
{
    bool page = strncmp(c->text, "<!DOCTYPE html>", 15) == 0;
    c->at = page ? 15 : 0;
    while (c->at < c->length)
        if (c->text[c->at] == '<')
            read_tag(c);
        else {
            if (c->text[c->at] == '&')
                check_entity(c);
            check_byte(c);
            c->at++;
        }
    if (c->depth)
        wrong(c, "never closed:", c->open[c->depth - 1]);
    check_references(c);
    if (page &&
        (!strstr(c->text, "default-src 'none'") || !strstr(c->text, "script-src 'sha256-") || strstr(c->text, "unsafe-inline")))
        wrong(c, "content-security policy", "");
    if (c->elements < 3)
        wrong(c, "nearly nothing in it", "");
}

static char *read_file(const char *name, size_t *length)
{
    FILE *file = fopen(name, "rb");
    char *text = NULL;
    size_t room = 0;
    *length = 0;
    while (file && !feof(file)) {
        if (room - *length < 65536) {
            room += 1 << 20;
            text = realloc(text, room + 1);
            if (!text)
                exit(3);
        }
        *length += fread(text + *length, 1, room - *length, file);
    }
    if (!file || ferror(file)) {
        perror(name);
        exit(3);
    }
    fclose(file);
    text[*length] = '\0';
    return text;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;
    for (int i = 1; i < argc; i++) {
        struct check *c = calloc(1, sizeof *c);
        if (!c || !(c->ids = calloc(IDS, sizeof *c->ids)) || !(c->wanted = calloc(IDS, sizeof *c->wanted)))
            return 3;
        c->file = argv[i];
        char *text = read_file(argv[i], &c->length);
        c->text = text;
        if (strlen(text) != c->length)
            wrong(c, "NUL byte", "");
        check_all(c);
        bad |= c->wrong > 0;
        for (size_t k = 0; k < c->n_ids; k++)
            free(c->ids[k]);
        for (size_t k = 0; k < c->n_wanted; k++)
            free(c->wanted[k]);
        free(c->ids);
        free(c->wanted);
        free(text);
        free(c);
    }
    return bad;
}

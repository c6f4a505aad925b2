/* native_text.c: cells, names and numbers as the native style prints them. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>

#include <lineage/notes.h>
#include <lineage/text.h>

#include "../format/ascii.h"
#include "../format/mean_note.h"
#include "native.h"

/* Uses lineage_text_safe, because only that function knows which characters affect a page. */
void add_safe(struct buf *out, const char *text, size_t n)
{
    SCOPED_FREE char *safe = lineage_text_safe(text, strlen(text), n);
    if (safe)
        buf_puts(out, safe);
    else
        out->failed = true;
}

/* One backtick on each side is enough, because none is left inside. An empty quotation would be two backticks, which
 * open a longer fence in Markdown. */
void add_quoted(struct buf *out, const char *text, size_t n)
{
    if (!text || !*text)
        return;
    buf_puts(out, "`");
    add_safe(out, text, n);
    buf_puts(out, "`");
}

size_t code_points(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Whether the name contains nothing that a viewer interprets: even `www.` makes a link, and underscores at an end make
 * emphasis. */
static bool is_plain(const char *text)
{
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-:+";
    size_t length = strspn(text, rest);
    return length && length <= 60 && !text[length] && strchr(rest, text[0]) < rest + 62 && text[length - 1] != '_' &&
           !ascii_begins_same(text, "www.", 4);
}

/* Most names are plain, and quoting each would cost two bytes of the budget per cell. */
void add_name(struct buf *out, const char *text)
{
    if (is_plain(text))
        buf_puts(out, text);
    else
        add_quoted(out, text, 60);
}

/* An id that is not a plain name is quoted without the prefix, because `exp_` in front of a quotation would not be
 * part of it. */
void add_id(struct buf *out, const char *id)
{
    if (!is_plain(id) && *id) {
        add_quoted(out, id, 60);
        return;
    }
    if (strncmp(id, "exp_", 4) != 0)
        buf_puts(out, "exp_");
    buf_puts(out, id);
}

/* Undoes the locale of printf: a decimal point, and no zeros at the end of the decimals. The process may have set a
 * locale with a decimal comma. */
static void add_spelled(struct buf *out, char *text)
{
    char *point = strpbrk(text, ".,");
    if (point)
        *point = '.';
    if (point && !strpbrk(text, "eE")) {
        size_t length = strlen(text);
        while (text[length - 1] == '0')
            text[--length] = '\0';
        if (text[length - 1] == '.')
            text[--length] = '\0';
    }
    buf_puts(out, text);
}

/* Scores are compared to six decimals; trailing zeros would cost a byte each and carry no information. */
static void add_decimals(struct buf *out, double value, int decimals, bool sign)
{
    char text[NUMBER_TEXT_MAX];
    snprintf(text, sizeof text, sign ? "%+.*f" : "%.*f", decimals, value);
    add_spelled(out, text);
}

/* Prints significant digits if decimals would show only zeros, or hundreds of digits. */
static void add_digits(struct buf *out, double value, int digits, bool sign)
{
    char text[NUMBER_TEXT_MAX];
    snprintf(text, sizeof text, sign ? "%+.*g" : "%.*g", digits, value);
    add_spelled(out, text);
}

/* Below 1e-4, six decimals lose too many digits; from 1e12 on, decimals are too long. */
static void add_number(struct buf *out, struct lineage_number number, bool sign)
{
    double size = fabs(number.value);
    if (!number.present)
        buf_puts(out, "—");
    else if (isnan(number.value))
        buf_puts(out, "nan");
    else if (size > 0 && (size < 1e-4 || size >= 1e12))
        add_digits(out, number.value, 6, sign);
    else
        add_decimals(out, number.value, 6, sign);
}

void add_score(struct buf *out, struct lineage_number score)
{
    add_number(out, score, false);
}

void add_delta(struct buf *out, struct lineage_number delta)
{
    add_number(out, delta, true);
}

/* A double holds integers exactly up to 2^53; up to 1e15 they read better without exponent or point. -0 is printed as
 * 0. */
void add_value(struct buf *out, double value)
{
    char number[LINEAGE_NUMBER_MAX];
    if (value == floor(value) && fabs(value) < 1e15)
        buf_printf(out, "%.0f", value == 0 ? 0.0 : value);
    else
        buf_puts(out, lineage_number_format(number, value));
}

void add_setting(struct buf *out, double value, const char *text)
{
    if (text)
        add_name(out, text);
    else
        add_value(out, value);
}

/* Three digits are enough, because the threshold itself comes from noise. */
void add_about(struct buf *out, double value, bool sign)
{
    if (fabs(value) >= 100 && fabs(value) < 1e9)
        add_decimals(out, value, 1, sign);
    else
        add_digits(out, value, 3, sign);
}

void add_bare_id(struct buf *out, const char *id)
{
    add_name(out, strncmp(id, "exp_", 4) == 0 && id[4] ? id + 4 : id);
}

/* A plus for a score that rose, and no sign for one that did not change. */
static void add_difference(struct buf *out, struct lineage_number delta)
{
    if (delta.present && delta.value > 0)
        buf_puts(out, "+");
    add_score(out, delta);
}

void add_shape(struct buf *out, const char *shape, ...)
{
    va_list args;
    va_start(args, shape);
    for (const char *next; (next = strchr(shape, '%')); shape = next + 2) {
        const char *text;
        double value;
        buf_add(out, shape, (size_t)(next - shape));
        switch (next[1]) {
        case 'N': add_name(out, va_arg(args, const char *)); break;
        case 'I': add_id(out, va_arg(args, const char *)); break;
        case 'B': add_bare_id(out, va_arg(args, const char *)); break;
        case 'T': buf_puts(out, va_arg(args, const char *)); break;
        case 'Q':
            text = va_arg(args, const char *);
            add_quoted(out, text, va_arg(args, size_t));
            break;
        case 'P':
            value = va_arg(args, double);
            add_setting(out, value, va_arg(args, const char *));
            break;
        case 'S': add_score(out, va_arg(args, struct lineage_number)); break;
        case 'D': add_delta(out, va_arg(args, struct lineage_number)); break;
        case 'G': add_difference(out, va_arg(args, struct lineage_number)); break;
        case 'A': add_about(out, va_arg(args, double), false); break;
        case 'R': add_result(out, va_arg(args, const struct lineage_idea *)); break;
        case 'Z': buf_printf(out, "%zu", va_arg(args, size_t)); break;
        case 'L': buf_printf(out, "%llu", va_arg(args, unsigned long long)); break;
        case 'U': buf_printf(out, "%u", va_arg(args, unsigned)); break;
        default:
            assert(next[1] == '%');
            buf_put(out, '%');
            break;
        }
    }
    buf_puts(out, shape);
    va_end(args);
}

double needed_for(const struct lineage_report *report, const char *notes)
{
    const size_t runs = lineage_score_runs(notes);
    return runs > 1 && report->needed > report->min_delta
               ? fmax(report->min_delta, report->needed * sqrt((double)report->noise_seeds / (double)runs))
               : report->needed;
}

/* A delta is positive if the score rose, an improvement is positive if the score got better. The same number can be a
 * gain or a loss, so both it and the threshold are printed. A discard that beat the threshold was somebody's decision,
 * which a planner should ask about. */
static void add_shortfall(struct buf *out, const struct lineage_report *report, const struct lineage_trial *trial)
{
    bool higher = report->direction == LINEAGE_HIGHER;
    struct lineage_replicate again;
    double delta = trial->delta_vs_best.value;
    const double gain = higher ? delta : -delta, needed = needed_for(report, trial->notes);
    buf_puts(out, " (");
    add_about(out, delta, true);
    if (gain < 0)
        buf_puts(out, ", worse");
    else if (gain == 0)
        buf_puts(out, ", no better");
    else if (trial->notes && strstr(trial->notes, LINEAGE_SAME_SETTING))
        buf_puts(out, ", another run of the best trial then");
    else if (lineage_replicate_parse(&again, trial->notes))
        add_shape(out, ", another run of %B", again.exp_id);
    else if (gain <= needed) {
        buf_puts(out, higher ? ", needs more than " : ", needs less than ");
        add_about(out, higher ? needed : -needed, false);
    } else
        buf_puts(out, trial->notes && strstr(trial->notes, LINEAGE_UNCONFIRMED) ? ", better, but not confirmed by another run"
                      : shortfall_is_noted(trial->notes)                        ? ", not enough when it was judged"
                                                                                : ", though better: not decided by the score");
}

/* The difference to the parent is printed without a sign, because the word says the direction. Rounding must not make two
 * differences of the same two scores look different, hence the tolerance. */
static void add_against_parent(struct buf *out, const struct native *n, const struct lineage_trial *trial, double delta)
{
    const char *id =
        strncmp(trial->parent_exp, "exp_", 4) == 0 && trial->parent_exp[4] ? trial->parent_exp + 4 : trial->parent_exp;
    double gain = n->report->direction == LINEAGE_HIGHER ? delta : -delta;
    if (fabs(delta - trial->delta_vs_best.value) <= 1e-9 * (fabs(trial->score.value) + fabs(delta)))
        return;
    buf_puts(out, "; ");
    if (gain == 0) {
        buf_puts(out, "equal to ");
    } else {
        add_about(out, fabs(gain), false);
        buf_puts(out, gain > 0 ? " better than " : " worse than ");
    }
    add_name(out, id);
    if (gain != 0 && n->report->noise_std > 0 && fabs(gain) <= needed_for(n->report, trial->notes))
        buf_puts(out, ", within the noise");
}

bool names_specialist(const struct native *n, const struct lineage_trial *trial)
{
    return trial->specialist[0] && !n->by;
}

/* Only a discard needs a reason here: a keep has its delta, and a failure has its label and, further down, its
 * notes. */
void add_outcome(struct buf *out, const struct native *n, const struct lineage_trial *trial, struct lineage_number vs_parent)
{
    buf_puts(out, lineage_label_name(trial->status));
    if (trial->status != LINEAGE_DISCARD)
        return;
    const char *reason = lineage_notes_reason(trial->notes);
    if (!trial->score.present && strncmp(reason, "pruned at step ", 15) == 0)
        buf_printf(out, " (%.*s)", (int)strcspn(reason, ":;"), reason);
    else if (!trial->score.present)
        buf_puts(out, " (no score)");
    else if (trial->delta_vs_best.present && isfinite(trial->delta_vs_best.value)) {
        add_shortfall(out, n->report, trial);
        if (vs_parent.present)
            add_against_parent(out, n, trial, vs_parent.value);
        buf_puts(out, ")");
    }
}

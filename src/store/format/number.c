/*
 * number.c: doubles as text. Digits come from the C library's correctly rounded conversions; this file finds how many
 * digits are needed and formats them. The C library only reads and writes numbers without a decimal point here, so the
 * locale of the process does not matter.
 *
 * The text must equal CPython's repr byte for byte: a tool that rewrites the file through Python then leaves every
 * row's bytes unchanged. Otherwise the mirror's digests would show such rows as edited although no value changed.
 * printf's %.17g is not a substitute, because it writes 0.1 as 0.10000000000000001.
 */
#include <float.h>
#include <math.h>

#include <lineage/query.h>
#include <lineage/text.h>

#include "number.h"
#include "../fail.h"

/* 17 digits tell any two doubles apart (DBL_DECIMAL_DIG). */
#define MAX_DIGITS 17

/* value = 0.d1d2...dn * 10^point, without sign */
struct decimal {
    char digits[MAX_DIGITS + 1];
    int n, point;
};

/* Digits of `%.*e`. Whatever is between two digits is the locale's decimal point, so only digits are taken. */
static struct decimal round_to(double value, int n)
{
    char text[64];
    struct decimal d = {.n = 0};
    snprintf(text, sizeof text, "%.*e", n - 1, value);
    char *exponent = strchr(text, 'e');
    for (char *c = text; c < exponent; c++)
        if (*c >= '0' && *c <= '9')
            d.digits[d.n++] = *c;
    d.point = atoi(exponent + 1) + 1;
    return d;
}

/* Passes a whole number with an exponent to strtod, because strtod expects the locale's decimal point. */
static double value_of(const struct decimal *d)
{
    char text[64];
    snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->point - d->n);
    return strtod(text, NULL);
}

/* The next larger decimal of the same length. All nines roll over to 1000..., one place further
 * left. */
static void step_up(struct decimal *d)
{
    int i = d->n - 1;
    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    memmove(d->digits + 1, d->digits, (size_t)d->n - 1);
    d->digits[0] = '1';
    d->point++;
}

/* Finds the fewest digits that parse to the same double. If a normal double has a decimal form of up to 15 digits,
 * printing 15 digits shows it; a subnormal may have a shorter form. At a power of two the gap below is half the gap
 * above, so the nearest decimal with a given number of digits may be just too low, while the next larger one parses to
 * the same double. */
static struct decimal shortest(double value)
{
    struct decimal d = {.n = 0};
    /* 15 is DBL_DIG: any decimal of up to 15 digits survives conversion to a double and back. So the digits that %.15
     * prints, without trailing zeros, are already the shortest form. */
    for (int n = value < DBL_MIN ? 1 : 15; n <= MAX_DIGITS; n++) {
        d = round_to(value, n);
        double back = value_of(&d);
        if (back == value)
            break;
        if (back < value && n > 14) {
            struct decimal up = d;
            step_up(&up);
            if (value_of(&up) == value)
                return up;
        }
    }
    return d;
}

static char *put(char *out, const char *text, int n)
{
    memcpy(out, text, (size_t)n);
    return out + n;
}

/* Writes -5 as e-05 and 16 as e+16. */
static char *put_exponent(char *out, int exponent)
{
    unsigned size = (unsigned)abs(exponent);
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (size > 99)
        *out++ = (char)('0' + size / 100);
    *out++ = (char)('0' + size / 10 % 10);
    *out++ = (char)('0' + size % 10);
    return out;
}

/* Python's thresholds: an exponent from 1e16 up and below 1e-4, at least two digits in it, and
 * `.0` on whole numbers so that they read back as floats. Returns the end. */
static char *lay_out(char *out, const struct decimal *d)
{
    int n = d->n;
    while (n > 1 && d->digits[n - 1] == '0')
        n--;
    if (d->point > 16 || d->point <= -4) {
        *out++ = d->digits[0];
        if (n > 1)
            *out++ = '.';
        out = put(out, d->digits + 1, n - 1);
        return put_exponent(out, d->point - 1);
    }
    if (d->point <= 0) {
        out = put(out, "0.0000", 2 - d->point);
        return put(out, d->digits, n);
    }
    if (n <= d->point) {
        out = put(out, d->digits, n);
        out = put(out, "0000000000000000", d->point - n);
        return put(out, ".0", 2);
    }
    out = put(out, d->digits, d->point);
    *out++ = '.';
    return put(out, d->digits + d->point, n - d->point);
}

/*
 * Finds value as n / 10^places with n of at most 15 digits, if there is such an n. n / 10^places is correctly rounded,
 * so if it equals the value, the digits of n are its shortest form: no other decimal of 15 digits or fewer reads back
 * as the same double. The bounds keep n below 1e15 and places at most 22, so that n and the power of ten are exact
 * doubles; only then is the quotient the nearest double. value * 10^places is off by less than n / 2^52, a quarter, so
 * adding a half and truncating finds n. This form is tried first, because printf and strtod handle numbers of any
 * length, and most numbers in a store are such decimals.
 */
static bool short_decimal(uint64_t *n, int *places, double value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (size_t k = 0; k < sizeof powers / sizeof *powers; k++) {
        double scaled = value * powers[k] + 0.5;
        if (scaled >= 1e15)
            return false;
        int64_t whole = (int64_t)scaled;
        if ((double)whole / powers[k] == value) {
            *n = (uint64_t)whole;
            *places = (int)k;
            return true;
        }
    }
    return false;
}

#ifdef __SIZEOF_INT128__

__extension__ typedef unsigned __int128 wide;

static wide power_of_ten(int k)
{
    wide power = 1;
    while (k-- > 0)
        power *= 10;
    return power;
}

/* value = m / 2^s and has the multiple `scaled` = m * power. Whether n / power reads back as the value: it must not be further away
 * than the middle between the value and its neighbour, and m, if even, wins a tie. Below a power of two the neighbour is half as far
 * away. */
static bool reads_back(wide n, uint64_t m, wide scaled, wide power, int s)
{
    const wide there = n << s;
    const bool below = there < scaled;
    const wide apart = (below ? scaled - there : there - scaled) * (below && m == UINT64_C(1) << (DBL_MANT_DIG - 1) ? 4 : 2);
    return apart < power || (apart == power && m % 2 == 0);
}

/*
 * What `shortest` finds, in whole numbers of 128 bits: scores of 17 digits are written by every list, report and export, and printf and
 * strtod took a fifth of their time. The bounds keep each product below 2^127. The value is not a whole number, because short_decimal
 * has found those.
 */
static bool exact_decimal(uint64_t *n, int *places, double value)
{
    int exponent, k = MAX_DIGITS;
    if (!(value >= 1e-5 && value < 1e15))
        return false;
    const uint64_t m = (uint64_t)ldexp(frexp(value, &exponent), DBL_MANT_DIG);
    const int s = DBL_MANT_DIG - exponent;
    for (double edge = 1; edge <= value; edge *= 10)
        k--;
    wide power = power_of_ten(k);
    while (m * power >> s < power_of_ten(MAX_DIGITS - 1)) {
        k++;
        power *= 10;
    }
    for (int digits = 15; digits <= MAX_DIGITS; digits++) {
        const int p = k - (MAX_DIGITS - digits);
        const wide unit = power_of_ten(p), scaled = m * unit, half = (wide)1 << (s - 1);
        wide whole = scaled >> s;
        const wide rest = scaled - (whole << s);
        whole += rest > half || (rest == half && whole % 2);
        const bool below = whole << s < scaled;
        bool found = reads_back(whole, m, scaled, unit, s);
        if (!found && below)
            found = reads_back(++whole, m, scaled, unit, s);
        if (!found)
            continue;
        *n = (uint64_t)whole;
        for (*places = p; *places && *n % 10 == 0; --*places)
            *n /= 10;
        return true;
    }
    return false;
}

#else

static bool exact_decimal(uint64_t *n, int *places, double value)
{
    (void)n, (void)places, (void)value;
    return false;
}

#endif

static struct decimal decimal_of(uint64_t n, int places)
{
    struct decimal d = {.n = 0};
    uint64_t unit = 1;
    while (n / unit > 9)
        unit *= 10;
    for (; unit; unit /= 10)
        d.digits[d.n++] = (char)('0' + n / unit % 10);
    d.point = d.n - places;
    return d;
}

/* Writes n / 10^places without an exponent, beginning with the last digit. Returns the end of the text. */
static char *write_plain(char *out, uint64_t n, int places)
{
    char text[LINEAGE_NUMBER_MAX], *at = text + sizeof text;
    if (!places)
        *--at = '0';
    for (int i = 0; i < places; i++, n /= 10)
        *--at = (char)('0' + n % 10);
    *--at = '.';
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    size_t length = (size_t)(text + sizeof text - at);
    memcpy(out, at, length);
    return out + length;
}

/* Writes a finite number above 0. Below 1e-4 an exponent is needed; from 1e16 up no number is a short decimal. */
static char *write_positive(char *out, double value)
{
    uint64_t n;
    int places;
    bool is_short = short_decimal(&n, &places, value) || exact_decimal(&n, &places, value);
    if (is_short && value >= 1e-4)
        return write_plain(out, n, places);
    struct decimal d = is_short ? decimal_of(n, places) : shortest(value);
    return lay_out(out, &d);
}

size_t number_write(char out[LINEAGE_NUMBER_MAX], double value)
{
    char *end = out;
    if (!isnan(value) && signbit(value))
        *end++ = '-';
    if (isnan(value))
        end = put(end, "nan", 3);
    else if (isinf(value))
        end = put(end, "inf", 3);
    else if (value == 0)
        end = put(end, "0.0", 3);
    else
        end = write_positive(end, fabs(value));
    *end = '\0';
    return (size_t)(end - out);
}

const char *lineage_number_format(char out[LINEAGE_NUMBER_MAX], double value)
{
    number_write(out, value);
    return out;
}

/* Does not use isspace, because isspace depends on the locale: in some locales a byte of UTF-8 counts as a blank. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t digits(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    size_t i = 0;
    for (; i < length && word[i]; i++)
        if ((text[i] | 0x20) != word[i])
            return false;
    return i == length && !word[i];
}

/* Accepts what Python's float() accepts, except underscores. strtod would also accept hexadecimal, `nan(...)` and, in
 * some locales, a comma: such a cell would then be a number here and text in every other tool. */
size_t number_length(const char *text, size_t length)
{
    size_t i = length && (text[0] == '+' || text[0] == '-');
    size_t whole = digits(text + i, length - i), fraction = 0;
    i += whole;
    if (i < length && text[i] == '.') {
        fraction = digits(text + i + 1, length - i - 1);
        if (whole || fraction)
            i += 1 + fraction;
    }
    if (!whole && !fraction)
        return 0;
    if (i < length && (text[i] | 0x20) == 'e') {
        size_t sign = i + 1 < length && (text[i + 1] == '+' || text[i + 1] == '-');
        size_t exponent = digits(text + i + 1 + sign, length - i - 1 - sign);
        if (exponent)
            i += 1 + sign + exponent;
    }
    return i;
}

/* The exponent of `e+12`, 0 if there is none. The result stops growing far beyond the range of a double, so that
 * `1e99999999999` is infinite instead of an overflow, which C leaves undefined. */
static long written_exponent(const char *text, size_t length)
{
    long exponent = 0;
    bool negative = length > 1 && text[1] == '-';
    for (size_t i = 1; i < length; i++)
        if (text[i] >= '0' && text[i] <= '9' && exponent < 100000000)
            exponent = exponent * 10 + (text[i] - '0');
    return negative ? -exponent : exponent;
}

/*
 * text is a checked decimal. strtod gets its digits as a whole number with the matching exponent, because a cell may
 * have any number of digits, and rounding twice could give the neighbour of the nearest double. The midpoint of two
 * doubles has at most 767 digits, so after the 800th digit it only matters whether any digit is not 0; a final 1 states
 * that. 24 bytes hold a sign, that 1, the exponent of any length and its NUL.
 */
static double convert(const char *text, size_t length)
{
    enum { DIGITS = 800 };
    char copy[DIGITS + 32];
    size_t n = 0, n_digits = 0, i = 0;
    long exponent = 0;
    bool fraction = false, more = false;
    if (text[0] == '-' || text[0] == '+')
        copy[n++] = text[i++];
    for (; i < length && (text[i] | 0x20) != 'e'; i++) {
        if (text[i] == '.') {
            fraction = true;
            continue;
        }
        if (n_digits == DIGITS) {
            more = more || text[i] != '0';
            exponent += !fraction;
            continue;
        }
        exponent -= fraction;
        if (n_digits || text[i] != '0') {
            copy[n++] = text[i];
            n_digits++;
        }
    }
    exponent += written_exponent(text + i, length - i) - more;
    snprintf(copy + n, 26, "%se%ld", more ? "1" : n_digits ? "" : "0", exponent);
    return strtod(copy, NULL);
}

/* Up to 15 digits are exact in a double, and so are powers of ten up to 1e22: one multiplication or division rounds once.
 * Nearly all cells are such numbers, and reading a large log is mostly reading numbers. */
static bool convert_short(double *value, const char *text, size_t length)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { LARGEST = sizeof powers / sizeof *powers - 1 };
    long long whole = 0;
    long exponent = 0;
    bool fraction = false;
    size_t at = text[0] == '+' || text[0] == '-';
    for (const size_t end = at + 16; at < length && (text[at] | 0x20) != 'e'; at++) {
        if (at == end)
            return false;
        if (text[at] == '.') {
            fraction = true;
            continue;
        }
        if (text[at] < '0' || text[at] > '9')
            return false;
        whole = whole * 10 + (text[at] - '0');
        exponent -= fraction;
    }
    exponent += written_exponent(text + at, length - at);
    if (whole > 999999999999999 || exponent < -LARGEST || exponent > LARGEST)
        return false;
    const double magnitude = exponent < 0 ? (double)whole / powers[-exponent] : (double)whole * powers[exponent];
    *value = text[0] == '-' ? -magnitude : magnitude;
    return true;
}

#ifdef __SIZEOF_INT128__

/* Up to 19 digits without exponent are a whole number divided by a power of ten, both below 2^64. Their quotient has at least 64 bits
 * here, of which 53 are kept, and its remainder says on which side of the middle the rest is: so it is rounded once. */
static bool convert_exact(double *value, const char *text, size_t length)
{
    enum { MOST = 19, BITS = 128 };
    uint64_t whole = 0;
    size_t n = 0, point = length;
    for (size_t at = text[0] == '+' || text[0] == '-'; at < length; at++) {
        if (text[at] == '.') {
            point = at;
            continue;
        }
        n += n || text[at] != '0';
        if (n > MOST || text[at] < '0' || text[at] > '9')
            return false;
        whole = whole * 10 + (uint64_t)(text[at] - '0');
    }
    const size_t places = point == length ? 0 : length - point - 1;
    if (!whole || places > MOST)
        return false;
    const int shift = BITS / 2 + __builtin_clzll(whole);
    const wide scaled = (wide)whole << shift, power = power_of_ten((int)places), quotient = scaled / power;
    const uint64_t top = (uint64_t)(quotient >> BITS / 2);
    const int bits = top ? BITS - __builtin_clzll(top) : BITS / 2, drop = bits - DBL_MANT_DIG;
    const wide half = (wide)1 << (drop - 1), rest = quotient & (2 * half - 1);
    uint64_t m = (uint64_t)(quotient >> drop);
    m += rest > half || (rest == half && (m % 2 || quotient * power != scaled));
    *value = ldexp((double)m, drop - shift);
    if (text[0] == '-')
        *value = -*value;
    return true;
}

#else

static bool convert_exact(double *value, const char *text, size_t length)
{
    (void)value, (void)text, (void)length;
    return false;
}

#endif

/* Words that other tools write (Python prints `nan`, C `-nan`) must be read, otherwise the row would be reported
 * although its writer meant a number. */
static bool parse_word(double *value, const char *text, size_t length)
{
    size_t i = length && (text[0] == '+' || text[0] == '-');
    bool negative = i && text[0] == '-';
    if (is_word(text + i, length - i, "nan")) {
        *value = (double)NAN;
        return true;
    }
    if (is_word(text + i, length - i, "inf") || is_word(text + i, length - i, "infinity")) {
        *value = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    return false;
}

bool lineage_number_parse(double *value, const char *text, size_t length)
{
    /* Python's float() ignores blanks around a number; so must every reader of the same cell. */
    while (length && is_blank(text[length - 1]))
        length--;
    while (length && is_blank(text[0])) {
        text++;
        length--;
    }
    if (!length)
        return false;
    if (number_length(text, length) != length)
        return parse_word(value, text, length);
    if (!convert_short(value, text, length) && !convert_exact(value, text, length))
        *value = convert(text, length);
    return true;
}

const char *lineage_setting_format(char out[LINEAGE_NUMBER_MAX], double value)
{
    size_t length = strlen(lineage_number_format(out, value));
    if (length > 2 && strcmp(out + length - 2, ".0") == 0 && fabs(value) < 0x1p53) /* else it would be read as a text */
        out[length - 2] = '\0';
    return out;
}

/* ---- reads a range as people type it: `0.1:0.5`, `:1.0`, `1e-4:`, `0.3`. It is closed at both ends. nan is
 * refused, because it would match nothing and look like an answer.
 */

/* A bound that is left out means no limit, so that ":1.0" also finds values below any expected bound, including
 * -inf. */
static bool parse_end(struct lineage_number *end, const char *text, size_t length)
{
    *end = (struct lineage_number){0};
    if (!length)
        return true;
    end->present = lineage_number_parse(&end->value, text, length);
    return end->present && !isnan(end->value);
}

enum lineage_status lineage_range_parse(struct lineage_range *range, const char *text, struct lineage_error *err)
{
    const char *colon = strchr(text, ':');
    size_t length = strlen(text), low = colon ? (size_t)(colon - text) : length;
    *range = (struct lineage_range){0};
    bool ok = length && parse_end(&range->low, text, low);
    if (ok && colon)
        ok = parse_end(&range->high, colon + 1, length - low - 1);
    else
        range->high = range->low;
    if (!ok)
        return store_fail(err, LINEAGE_EINVAL, "'%.60s' is not a range: write LOW:HIGH, LOW:, :HIGH or one number", text);
    if (range->low.present && range->high.present && range->low.value > range->high.value)
        return store_fail(err, LINEAGE_EINVAL, "range '%.60s' is empty: its low end is above its high end", text);
    return LINEAGE_OK;
}

/* ---- reads expected_delta, which is prose that, by custom, begins with a signed number.
 *
 * Agents write `≥0.01`, `-0.02 (two seeds)` or a sentence. Only a number at the very beginning counts: a number from
 * the middle of a sentence would distort the calibration of that specialist.
 */

bool expected_number(double *value, const char *text)
{
    static const char at_least[] = "≥";
    if (!text)
        return false;
    if (strncmp(text, at_least, sizeof at_least - 1) == 0)
        text += sizeof at_least - 1;
    text += strspn(text, " ");
    size_t length = number_length(text, strlen(text));
    return length && lineage_number_parse(value, text, length);
}

/* Tests numbers and text: the vectors of fixtures/cases/tables, and cases that the vectors do not cover. */
#include "support/unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "render/render.h"
#include "support/files.h"

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double from_bits(const char *hex)
{
    uint64_t bits = strtoull(hex, NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void floats_are_written_as_the_table_says(void **state)
{
    json_t *table = read_json(FIXTURES_DIR "/cases/tables/floats.json");
    char text[LINEAGE_NUMBER_MAX], form[NUMBER_TEXT_MAX];
    (void)state;
    assert_true(json_array_size(table) > 20);
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *item = json_array_get(table, i);
        struct lineage_number number = {true, from_bits(string_of(item, "bits"))};
        assert_string_equal(lineage_number_format(text, number.value), string_of(item, "disk"));
        assert_string_equal(metric_text(form, number), string_of(item, "metric"));
        assert_string_equal(delta_text(form, number), string_of(item, "delta"));
    }
    json_decref(table);
}

static void numbers_are_read_as_the_table_says(void **state)
{
    json_t *table = read_json(FIXTURES_DIR "/cases/tables/parse.json");
    char text[LINEAGE_NUMBER_MAX];
    (void)state;
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *item = json_array_get(table, i);
        const char *written = string_of(item, "text"), *disk = string_of(item, "disk");
        double value = 0;
        bool ok = lineage_number_parse(&value, written, strlen(written));
        assert_int_equal(ok, disk != NULL);
        if (disk)
            assert_string_equal(lineage_number_format(text, value), disk);
    }
    json_decref(table);
}

static void any_double_reads_back(void **state)
{
    uint64_t x = 88172645463325252u;
    char text[LINEAGE_NUMBER_MAX];
    (void)state;
    for (int i = 0; i < 200000; i++) {
        double value, back;
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memcpy(&value, &x, sizeof value);
        if (!isfinite(value))
            continue;
        lineage_number_format(text, value);
        assert_true(lineage_number_parse(&back, text, strlen(text)));
        assert_memory_equal(&back, &value, sizeof value);
    }
}

/* Writes the digits that printf gives with this number of significant digits, in the layout of CPython's repr. */
static void reference(char *out, double value, int places)
{
    char text[64], digits[32];
    int n = 0, exponent;
    snprintf(text, sizeof text, "%.*e", places - 1, fabs(value));
    for (const char *c = text; *c != 'e'; c++)
        if (*c != '.')
            digits[n++] = *c;
    exponent = atoi(strchr(text, 'e') + 1);
    if (signbit(value))
        *out++ = '-';
    if (exponent >= 16 || exponent < -4)
        sprintf(out, "%c%s%.*se%+03d", digits[0], n > 1 ? "." : "", n - 1, digits + 1, exponent);
    else if (exponent < 0)
        sprintf(out, "0.%.*s%.*s", -exponent - 1, "000", n, digits);
    else if (n <= exponent + 1)
        sprintf(out, "%.*s%.*s.0", n, digits, exponent + 1 - n, "0000000000000000");
    else
        sprintf(out, "%.*s.%.*s", exponent + 1, digits, n - exponent - 1, digits + exponent + 1);
}

/* Counts the digits from the first to the last that is not 0. */
static int count_digits(const char *text)
{
    int n = 0, last = 0;
    for (; *text && *text != 'e'; text++) {
        n += *text >= '0' && *text <= '9' && (n || *text != '0');
        last = *text >= '1' && *text <= '9' ? n : last;
    }
    return last;
}

/* The text reads back as the same value, no shorter decimal does, and the text is the nearest decimal of its length. */
static void assert_shortest(double value)
{
    char text[LINEAGE_NUMBER_MAX], want[64], shorter[64];
    lineage_number_format(text, value);
    int places = count_digits(text);
    assert_in_range(places, 1, 17);
    assert_true(strtod(text, NULL) == value);
    reference(want, value, places);
    assert_string_equal(text, want);
    snprintf(shorter, sizeof shorter, "%.*e", places > 1 ? places - 2 : 0, value);
    assert_true(places == 1 || strtod(shorter, NULL) != value);
}

/* Tests decimals of up to 17 digits and up to 24 places, and their neighbouring doubles, whose texts have the maximal
 * length. */
static void short_decimals_are_what_printf_finds(void **state)
{
    uint64_t x = 362436069362436069u;
    double powers[25] = {1};
    (void)state;
    for (int i = 1; i < 25; i++)
        powers[i] = powers[i - 1] * 10;
    for (int i = 0; i < 700000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double whole = (double)(x % (uint64_t)powers[1 + x / 64 % 17] + 1);
        double value = (x & 32 ? -whole : whole) / powers[(x >> 40) % (i % 2 ? 7 : 25)];
        assert_shortest(value);
        if (frexp(value, &(int){0}) == 0.5 || i % 4)
            continue;
        assert_shortest(nextafter(value, INFINITY));
        assert_shortest(nextafter(value, -INFINITY));
    }
}

/* Scores of models have 16 or 17 digits, which are found and read without printf and strtod: those must say the same, also next to and
 * in the middle between two doubles, where a tie goes to the even one. */
static void scores_are_what_printf_and_strtod_find(void **state)
{
    uint64_t x = 88172645463325252u;
    char text[64];
    double back;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const double value = ldexp((double)(x >> 11), (int)(x % 72) - 71);
        assert_shortest(value);
        snprintf(text, sizeof text, "%.*f", (int)(x >> 8) % 20, value);
        assert_true(lineage_number_parse(&back, text, strlen(text)));
        assert_true(back == strtod(text, NULL));
    }
    for (int i = -16; i < 50; i++) {
        assert_shortest(ldexp(1, i));
        assert_shortest(nextafter(ldexp(1, i), 0));
    }
    static const char *const ties[] = {"9007199254740993",         "9007199254740993.0", "9007199254740993.001",
                                       "4503599627370496.5",       "4503599627370497.5", "-4503599627370497.50",
                                       "0000.1000000000000000055", "0.0000000"};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) {
        assert_true(lineage_number_parse(&back, ties[i], strlen(ties[i])));
        assert_true(back == strtod(ties[i], NULL));
    }
    /* Around the ends of what one exact power of ten can scale: 10^22, and 10^15 for the digits. */
    static const char *const scaled[] = {"1e22",
                                         "1e23",
                                         "8.5e22",
                                         "123456789012345e22",
                                         "999999999999999e-22",
                                         "1234567890123456e-3",
                                         "1e-22",
                                         "1e-23",
                                         "3e-7",
                                         "-7.25E+03",
                                         "5.e1",
                                         ".5e1",
                                         "1.7e-8",
                                         "0e5",
                                         "1.000000000000001e23",
                                         "17e00022",
                                         "1e-0005"};
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        assert_true(lineage_number_parse(&back, scaled[i], strlen(scaled[i])));
        assert_true(back == strtod(scaled[i], NULL));
    }
}

static void powers_of_two_are_shortest(void **state)
{
    char text[LINEAGE_NUMBER_MAX];
    (void)state;
    assert_string_equal(lineage_number_format(text, ldexp(1, -44)), "5.684341886080802e-14");
    assert_string_equal(lineage_number_format(text, 5e-324), "5e-324");
    assert_string_equal(lineage_number_format(text, 2.2250738585072014e-308), "2.2250738585072014e-308");
    assert_string_equal(lineage_number_format(text, 9007199254740993.0), "9007199254740992.0");
}

static void the_locale_does_not_matter(void **state)
{
    char text[LINEAGE_NUMBER_MAX];
    double value;
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        print_message("SKIP: no de_DE locale, the C locale is tested\n");
    assert_string_equal(lineage_number_format(text, 0.5), "0.5");
    assert_true(lineage_number_parse(&value, "1.25e2", 6));
    assert_true(value == 125);
    setlocale(LC_NUMERIC, "C");
}

static void text_is_cut_as_the_table_says(void **state)
{
    json_t *table = read_json(FIXTURES_DIR "/cases/tables/truncate.json");
    (void)state;
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *item = json_array_get(table, i);
        struct buf out = {0};
        buf_puts(&out, "");
        add_cut(&out, string_of(item, "text"), (size_t)json_integer_value(json_object_get(item, "n")));
        assert_string_equal(out.data, string_of(item, "out"));
        buf_release(&out);
    }
    json_decref(table);
}

static void only_valid_utf8_passes(void **state)
{
    static const char *const bad[] = {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff", "a\xe9 b",  "\xe2\x82"};
    (void)state;
    assert_true(lineage_text_is_utf8("Δα漢🙂", strlen("Δα漢🙂")));
    assert_true(lineage_text_is_utf8("", 0));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t before = 0; before < 20; before++) {
            char text[64];
            int length = snprintf(text, sizeof text, "%.*s%s and more", (int)before, "letters before what is bad", bad[i]);
            assert_false(lineage_text_is_utf8(bad[i], strlen(bad[i])));
            assert_false(lineage_text_is_utf8(text, (size_t)length));
            assert_true(lineage_text_is_utf8(text, before));
        }
}

static void assert_safe(const char *text, size_t n, const char *want)
{
    char *safe = lineage_text_safe(text, strlen(text), n);
    assert_string_equal(safe, want);
    lineage_free(safe);
}

static void hostile_text_is_made_harmless(void **state)
{
    (void)state;
    assert_safe("a\nb\r\nc\td", 0, "a⏎b␍⏎c⇥d");
    assert_safe("```| x |", 0, "ˋˋˋ∣ x ∣");
    assert_safe("\x1b[31mred\x1b[0m\x07", 0, "␛[31mred␛[0m␇");
    assert_safe("a\u202eb\u2066c\u200fd\ufeff", 0, "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩d⟨U+FEFF⟩");
    assert_safe("a\xc2\x85"
                "b\u2028c\u2029d\xc2\x9b"
                "e",
                0, "a⏎b⏎c¶d⟨U+009B⟩e");
    assert_safe("bad \xe9 byte", 0, "bad \xef\xbf\xbd byte");
    assert_safe("nul \xc0\x80", 0, "nul ␀");
    assert_safe("Δα漢🙂 stays, so does 👩‍🔬", 0, "Δα漢🙂 stays, so does 👩‍🔬");
}

static void cutting_keeps_characters_whole(void **state)
{
    (void)state;
    assert_safe("abcdef", 6, "abcdef");
    assert_safe("abcdefg", 6, "abcde…");
    assert_safe("ab\u0301cd", 3, "a…"); /* b and its accent are not separated */
    assert_safe("漢字漢字", 3, "漢字…");
}

static void messages_show_what_hides_and_leave_the_rest(void **state)
{
    (void)state;
    static const struct {
        const char *text, *visible;
    } cases[] = {{"`lineage` a|b é 日本 \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9", NULL},
                 {"a\xc2\x9b"
                  "b",
                  "a⟨U+009B⟩b"},
                 {"\xe2\x80\xaex", "⟨U+202E⟩x"},
                 {"\xef\xbb\xbf\xff", "⟨U+FEFF⟩\xef\xbf\xbd"},
                 {"\033[1m", "␛[1m"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *visible = lineage_text_visible(cases[i].text, strlen(cases[i].text), 0);
        assert_string_equal(visible, cases[i].visible ? cases[i].visible : cases[i].text);
        lineage_free(visible);
    }
}

/* The first fifteen digits are all nines and too low, so the shortest decimal needs one more digit. */
static void nines_roll_over(void **state)
{
    char text[LINEAGE_NUMBER_MAX];
    (void)state;
    assert_string_equal(lineage_number_format(text, 0.9999999999999994), "0.9999999999999994");
    assert_string_equal(lineage_number_format(text, 9.999999999999994e22), "9.999999999999994e+22");
    assert_string_equal(lineage_number_format(text, 1e23), "1e+23");
}

/* 2^-1074 * 3/2 has 751 digits and lies exactly between two doubles. Any later digit that is not 0 decides, however
 * far to the right it is. */
static void numbers_of_any_length_are_rounded_once(void **state)
{
    char digits[2000], *text = malloc(200000);
    double value;
    (void)state;
    /* 2^-1074 exactly; 3/2 of this number is built below. */
    int n = snprintf(digits, sizeof digits, "%.1074f", 4.9406564584124654e-324);
    assert_int_equal(n, 1076);
    int carry = 0;
    /* 3/2 of the number is 15 times it, shifted by one place. */
    for (int i = n - 1; i > 1; i--) {
        int d = (digits[i] - '0') * 15 + carry;
        digits[i] = (char)('0' + d % 10);
        carry = d / 10;
    }
    assert_int_equal(carry, 0);
    /* digits is now 15 * 2^-1074, and with the suffix e-1 it is 3/2 * 2^-1074. */
    n = sprintf(text, "%se-1", digits);
    assert_true(lineage_number_parse(&value, text, (size_t)n));
    assert_true(value == 2 * 4.9406564584124654e-324); /* rounded to even */
    n = sprintf(text, "%s%0*d1e-1", digits, 100000, 0);
    assert_true(lineage_number_parse(&value, text, (size_t)n));
    assert_true(value == 2 * 4.9406564584124654e-324);
    n = sprintf(text, "%0*d%s", 1000, 0, "1.5");
    assert_true(lineage_number_parse(&value, text, (size_t)n) && value == 1.5);
    n = sprintf(text, "-0.%0*de5", 900, 0);
    assert_true(lineage_number_parse(&value, text, (size_t)n) && value == 0 && signbit(value));
    n = sprintf(text, "1%0*d", 1000, 0);
    assert_true(lineage_number_parse(&value, text, (size_t)n) && isinf(value));
    n = sprintf(text, "+1%0*de-1000", 1000, 0);
    assert_true(lineage_number_parse(&value, text, (size_t)n) && value == 1);
    /* 2^53 + 1 lies half way between two doubles. It is rounded to the even one, unless a digit other than 0
     * follows. */
    n = sprintf(text, "9007199254740993.%0*d", 900, 0);
    assert_true(lineage_number_parse(&value, text, (size_t)n) && value == 9007199254740992.0);
    n = sprintf(text, "9007199254740993.%0*d1", 900, 0);
    assert_true(lineage_number_parse(&value, text, (size_t)n) && value == 9007199254740994.0);
    free(text);
}

static void what_looks_like_a_number_is_none(void **state)
{
    static const char *const none[] = {"",    " ",      "+",  ".",       "e5",        "1e",  "1e+", "1.2.3",
                                       "0x1", "nan(1)", "na", "infinit", "infinityx", "1 2", "-"};
    double value;
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(lineage_number_parse(&value, none[i], strlen(none[i])));
    assert_true(lineage_number_parse(&value, "\v\f1e99999999999\r\n", 17) && isinf(value));
    assert_true(lineage_number_parse(&value, "1e-99999999999", 14) && value == 0);
    assert_true(lineage_number_parse(&value, "-INFINITY", 9) && value < 0 && isinf(value));
}

/* No character is cut in two: a letter with accents, a hand with a skin colour, or an emoji of a family. */
static void marks_stay_with_what_they_mark(void **state)
{
    static const struct {
        const char *text, *cut; /* cut: at most three code points, with the cut mark */
    } cases[] = {{"xa\u0301\u0302b", "x…"}, {"xक\u093Fख", "x…"},           {"x1\u20DDy", "x…"},          {"x👋🏽y", "x…"},
                 {"xa\u200Dby", "x…"},      {"a\u0301\u0302\u0303b", "…"}, {"\u0301\u0302\u0303b", "…"}, {"xy🏽", "x…"},
                 {"xyz👋a", "xy…"},         {"xy\u2026z", "xy…"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *cut = lineage_text_safe(cases[i].text, strlen(cases[i].text), 3);
        if (strcmp(cut, cases[i].cut) != 0 && strcmp(cut, cases[i].text) != 0)
            fail_msg("'%s' becomes '%s', not '%s'", cases[i].text, cut, cases[i].cut);
        lineage_free(cut);
    }
}

/* If a text cannot be formatted, the result must not look complete. */
static void a_text_that_cannot_be_made_fails(void **state)
{
    struct buf out = {0};
    struct arena arena = {0};
    (void)state;
    buf_printf(&out, "%lc", (wint_t)0xd800);
    assert_true(out.failed);
    buf_puts(&out, "more");
    assert_true(out.failed);
    buf_release(&out);
    assert_false(buf_reserve(&out, SIZE_MAX / 2));
    assert_true(out.failed);
    buf_release(&out);
    assert_null(arena_alloc(&arena, SIZE_MAX / 2, 4)); /* n * size would overflow */
    /* The sum would be too large. */
    assert_null(arena_alloc(&arena, SIZE_MAX / 4, 3));
    arena_release(&arena);
}

static void a_word_is_quoted_only_where_a_shell_needs_it(void **state)
{
    static const char *const words[][2] = {{"runs/a-b.1", "runs/a-b.1"},   {"a b", "'a b'"},
                                           {"d 2 it's", "'d 2 it'\\''s'"}, {"", "''"},
                                           {"$HOME", "'$HOME'"},           {"d{1,2}", "'d{1,2}'"}};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *word = lineage_text_word(words[i][0]);
        assert_string_equal(word, words[i][1]);
        lineage_free(word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_show_what_hides_and_leave_the_rest),
                                       cmocka_unit_test(floats_are_written_as_the_table_says),
                                       cmocka_unit_test(numbers_are_read_as_the_table_says),
                                       cmocka_unit_test(any_double_reads_back),
                                       cmocka_unit_test(short_decimals_are_what_printf_finds),
                                       cmocka_unit_test(scores_are_what_printf_and_strtod_find),
                                       cmocka_unit_test(powers_of_two_are_shortest),
                                       cmocka_unit_test(the_locale_does_not_matter),
                                       cmocka_unit_test(text_is_cut_as_the_table_says),
                                       cmocka_unit_test(only_valid_utf8_passes),
                                       cmocka_unit_test(hostile_text_is_made_harmless),
                                       cmocka_unit_test(a_word_is_quoted_only_where_a_shell_needs_it),
                                       cmocka_unit_test(cutting_keeps_characters_whole),
                                       cmocka_unit_test(nines_roll_over),
                                       cmocka_unit_test(numbers_of_any_length_are_rounded_once),
                                       cmocka_unit_test(what_looks_like_a_number_is_none),
                                       cmocka_unit_test(marks_stay_with_what_they_mark),
                                       cmocka_unit_test(a_text_that_cannot_be_made_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

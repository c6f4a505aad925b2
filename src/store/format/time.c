/*
 * time.c: dates in ISO 8601 and in words.
 *
 * libc's strptime accepts too much, stops without an error, and depends on the locale; timegm is not standard. The
 * calendar itself is two formulas, over years that begin in March so that the leap day comes last.
 *
 * Everything is UTC, as are the timestamps that append writes: a range over days must select the same rows on every
 * machine. An ambiguous date is refused: a wrong guess answers another question, and an empty list looks like an
 * answer.
 */
#include <lineage/time.h>

#include <ctype.h>

#include "../fail.h"
#include "ascii.h"

enum { DAY = 86400, LAST_YEAR = 9999 };

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/*
 * Days since 1970-01-01; 719468 of them lie between 0000-03-01 and that day. With March as the
 * first month the lengths 31 30 31 30 31 repeat, 153 days for five months, and (153 m + 2) / 5
 * counts the days before month m without a table.
 */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), m = (month + 9) % 12;
    int64_t leaps = y / 4 - y / 100 + y / 400 - (y < 0); /* y is at least -1 */
    return 365 * y + leaps + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* The inverse, within an era of 400 years (146097 days): the three divisions remove the leap days of each 4, 100 and
 * 400 years from the day number, so that the rest can be divided by 365. */
static void civil_of(int64_t days, int *year, int *month, int *day)
{
    int64_t n = days + 719468, era = n / 146097, in_era = n % 146097;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * y + y / 4 - y / 100), m = (5 * in_year + 2) / 153;
    *day = (int)(in_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int)(y + era * 400 + (*month <= 2));
}

/* Rounds down to a whole day. C's division rounds towards zero, which would put the evening of 31 December 1969 into
 * 1970. */
static int64_t floor_day(int64_t seconds)
{
    return (seconds - (seconds % DAY + DAY) % DAY) / DAY;
}

/* 0 is Monday. 1970-01-01 was a Thursday. */
static int weekday_of(int64_t days)
{
    return (int)(((days + 3) % 7 + 7) % 7);
}

/* The Monday of week 1, the week that contains January 4th (ISO 8601). */
static int64_t first_monday(int year)
{
    int64_t fourth = days_of(year, 1, 4);
    return fourth - weekday_of(fourth);
}

/* Reads exactly n digits and moves on. */
static bool take_digits(const char **text, int n, int *value)
{
    *value = 0;
    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)(*text)[i]))
            return false;
        *value = *value * 10 + ((*text)[i] - '0');
    }
    *text += n;
    return true;
}

static bool take_char(const char **text, char c)
{
    bool there = **text == c;
    *text += there;
    return there;
}

/* A week 53 in a year that has 52 is a typing error, not the first week of the next year. */
static bool take_week(const char **text, int year, int64_t *days)
{
    int week, day = 1;
    if (!take_digits(text, 2, &week) || week < 1)
        return false;
    bool has_day = take_char(text, '-') || isdigit((unsigned char)**text);
    if (has_day && (!take_digits(text, 1, &day) || day < 1 || day > 7))
        return false;
    *days = first_monday(year) + (week - 1) * 7;
    bool exists = *days < first_monday(year + 1); /* a year has 52 weeks or 53 */
    *days += day - 1;
    return exists;
}

/* What follows the year depends on the number of digits: 4 month and day, 3 day of the year, 2 month. */
static bool take_day(const char **text, int year, int64_t *days)
{
    int month = 1, day = 1;
    bool dash = take_char(text, '-');
    if (take_char(text, 'W') || take_char(text, 'w'))
        return take_week(text, year, days);
    size_t n = strspn(*text, "0123456789");
    if (n == 3) {
        bool read = take_digits(text, 3, &day) && day >= 1 && day <= 365 + is_leap(year);
        *days = days_of(year, 1, 1) + day - 1;
        return read;
    }
    if (n == 4 ? dash : n == 2 ? !dash : n != 0 || dash) /* 202605 would be May 2026 or the 26th of May 2020 */
        return false;
    if (n >= 2 && (!take_digits(text, 2, &month) || month < 1 || month > 12))
        return false;
    if ((n == 4 || (n == 2 && take_char(text, '-'))) &&
        (!take_digits(text, 2, &day) || day < 1 || day > days_in_month(year, month)))
        return false;
    *days = days_of(year, month, day);
    return true;
}

static bool take_date(const char **text, int64_t *days)
{
    int year;
    return take_digits(text, 4, &year) && take_day(text, year, days);
}

/* HH, HH:MM, HHMM, optionally with seconds; 24:00:00 is the end of the day, and second 60 a leap second. ISO 8601
 * allows both, and some tools write them. Fractions are read and dropped, because timestamps in the store are whole
 * seconds. */
static bool take_clock(const char **text, int64_t *seconds)
{
    int hour, minute = 0, second = 0;
    if (!take_digits(text, 2, &hour))
        return false;
    bool colon = take_char(text, ':');
    if ((colon || isdigit((unsigned char)**text)) && !take_digits(text, 2, &minute))
        return false;
    bool more = colon ? take_char(text, ':') : isdigit((unsigned char)**text) != 0;
    if (more && !take_digits(text, 2, &second))
        return false;
    if (more && (take_char(text, '.') || take_char(text, ','))) {
        size_t n = strspn(*text, "0123456789");
        *text += n;
        if (!n)
            return false;
    }
    *seconds = hour * 3600 + minute * 60 + second;
    return minute < 60 && second <= 60 && (hour < 24 || *seconds == DAY);
}

static bool take_word(const char **text, const char *word)
{
    size_t n = strlen(word);
    bool there = ascii_begins_same(*text, word, n) && !ascii_is_word((*text)[n]);
    *text += there ? n : 0;
    return there;
}

/* Seconds to subtract for UTC. No zone means UTC, because append writes UTC and other tools leave the zone out. Some tools
 * write a blank before the zone, or its name. */
static bool take_zone(const char **text, int64_t *offset)
{
    int hour, minute = 0;
    *offset = 0;
    *text += **text == ' ';
    if (take_word(text, "z") || take_word(text, "utc") || take_word(text, "gmt") || (**text != '+' && **text != '-'))
        return true;
    int sign = *(*text)++ == '-' ? -1 : 1;
    if (!take_digits(text, 2, &hour))
        return false;
    bool more = take_char(text, ':') || isdigit((unsigned char)**text);
    if (more && !take_digits(text, 2, &minute))
        return false;
    *offset = sign * (hour * 3600 + minute * 60);
    return hour < 24 && minute < 60;
}

/* After a day: the end of the text, or a time with its zone. Nothing else may follow: `2026-05-07 noon` read as
 * midnight would be wrong by half a day. */
static bool take_time_of_day(const char *text, int64_t days, int64_t *seconds)
{
    int64_t clock = 0, offset = 0;
    if (*text && (*text == 'T' || *text == 't' || *text == ' ')) {
        text++;
        if (!take_clock(&text, &clock) || !take_zone(&text, &offset))
            return false;
    }
    *seconds = days * DAY + clock - offset;
    return *text == '\0';
}

/* A weekday means the most recent one, today included: --since monday asks about the past, and no trial is in the
 * future. */
static bool take_named_day(const char **text, int64_t today, int64_t *days)
{
    static const char *const names[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
    static const char *const short_names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    static const char *const near[] = {"yesterday", "today", "tomorrow"};
    for (int i = 0; i < 3; i++)
        if (take_word(text, near[i]))
            return *days = today + i - 1, true;
    for (int i = 0; i < 7; i++)
        if (take_word(text, names[i]) || take_word(text, short_names[i]))
            return *days = today - (weekday_of(today) - i + 7) % 7, true;
    return false;
}

/* The same day that many months earlier, or the last day of that month. One month before 31 March is the last day of
 * February, as in calendars; carrying the extra days over would end in March again. */
static bool months_before(int64_t now, int64_t months, int64_t *seconds)
{
    int year, month, day;
    civil_of(floor_day(now), &year, &month, &day);
    int64_t index = (int64_t)year * 12 + month - 1 - months;
    if (index < 0)
        return false;
    year = (int)(index / 12);
    month = (int)(index % 12) + 1;
    day = day < days_in_month(year, month) ? day : days_in_month(year, month);
    *seconds = days_of(year, month, day) * DAY + (now - floor_day(now) * DAY);
    return true;
}

/* Seconds of a unit, or months as a negative number, because months and years have no fixed length and follow the
 * calendar. Returns 0 for any other word, including the ambiguous `m`. */
static int64_t unit_of(const char *word, size_t n)
{
    static const struct {
        const char *name;
        int64_t size;
    } units[] = {{"s", 1},   {"sec", 1},   {"second", 1},  {"min", 60},       {"minute", 60}, {"h", 3600}, {"hour", 3600},
                 {"d", DAY}, {"day", DAY}, {"w", 7 * DAY}, {"week", 7 * DAY}, {"month", -1},  {"y", -12},  {"year", -12}};
    bool plural = n > 2 && (word[n - 1] == 's' || word[n - 1] == 'S');
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(units[i].name);
        if ((length == n || (plural && length == n - 1)) && ascii_begins_same(units[i].name, word, length))
            return units[i].size;
    }
    return 0;
}

/* Reads digits, of which a number has at most 18 so that it cannot overflow, and returns how many there are. */
static size_t take_number(const char *text, int64_t *value)
{
    size_t digits = strspn(text, "0123456789");
    *value = 0;
    for (size_t i = 0; i < digits && digits <= 18; i++)
        *value = *value * 10 + (text[i] - '0');
    return digits;
}

/* "3 days ago": a duration before now. At most nine digits are accepted, so the product cannot overflow for any
 * unit. */
static bool take_distance(const char *text, int64_t now, int64_t *seconds)
{
    int64_t count;
    size_t digits = take_number(text, &count);
    if (digits < 1 || digits > 9)
        return false;
    text += digits;
    text += strspn(text, " ");
    size_t letters = 0;
    while (ascii_is_letter(text[letters]))
        letters++;
    int64_t unit = unit_of(text, letters);
    text += letters;
    text += strspn(text, " ");
    if (!unit || (*text && !(take_word(&text, "ago") && !*text)))
        return false;
    if (unit < 0)
        return months_before(now, -unit * count, seconds);
    *seconds = now - unit * count;
    return true;
}

/* Twelve digits reach beyond the year 9999, the last that can be written. */
static bool take_epoch(const char *text, int64_t *seconds)
{
    int64_t value;
    size_t digits = text[0] == '@' ? take_number(text + 1, &value) : 0;
    if (digits < 1 || digits > 12 || text[1 + digits])
        return false;
    *seconds = value;
    return true;
}

/* Words are tried first, because dates never begin with a letter. Distances are tried before dates, because both begin
 * with digits and only a distance has a unit. */
static bool parse(int64_t *seconds, const char *text, int64_t now)
{
    int64_t days;
    const char *rest = text;
    if (take_word(&rest, "now") && !*rest)
        return *seconds = now, true;
    rest = text;
    if (take_named_day(&rest, floor_day(now), &days))
        return take_time_of_day(rest, days, seconds);
    if (take_epoch(text, seconds) || take_distance(text, now, seconds))
        return true;
    return take_date(&rest, &days) && take_time_of_day(rest, days, seconds);
}

/* 07.05.2026, 5/7/26, 2026/05/07: numbers that people read in different orders. sscanf only helps with the message;
 * nothing that it reads becomes a date. */
static bool is_ambiguous(const char *text, int numbers[3])
{
    char a, b, end;
    return sscanf(text, "%4d%c%4d%c%4d%c", &numbers[0], &a, &numbers[1], &b, &numbers[2], &end) == 5 && a == b &&
           strchr("./-", a) && numbers[0] > 0 && numbers[1] > 0 && numbers[2] > 0;
}

static enum lineage_status refuse(const char *text, struct lineage_error *err)
{
    int n[3];
    bool year_last = is_ambiguous(text, n) && n[2] > 31;
    if (year_last && n[0] <= 12 && n[1] <= 12 && n[0] != n[1])
        return store_fail(err, LINEAGE_EINVAL, "'%.40s' can be read as %04d-%02d-%02d or %04d-%02d-%02d; write it so", text, n[2],
                          n[1], n[0], n[2], n[0], n[1]);
    if (year_last && n[0] <= 31 && n[1] <= 31 && (n[0] <= 12 || n[1] <= 12))
        return store_fail(err, LINEAGE_EINVAL, "'%.40s' is not a date here; write %04d-%02d-%02d", text, n[2],
                          n[1] <= 12 ? n[1] : n[0], n[1] <= 12 ? n[0] : n[1]);
    return store_fail(err, LINEAGE_EINVAL,
                      "'%.40s' is not a date; write YYYY-MM-DD, YYYY-MM-DDTHH:MM:SSZ, today, yesterday, monday or "
                      "'3 days ago'",
                      text);
}

enum lineage_status lineage_time_parse(int64_t *seconds, const char *text, int64_t now, struct lineage_error *err)
{
    int64_t value;
    if (!text || !parse(&value, text, now))
        return refuse(text ? text : "", err);
    *seconds = value;
    return LINEAGE_OK;
}

/* Seconds since 1970 have ten digits until the year 2286, and milliseconds 13; no date has as many. */
bool lineage_time_read(int64_t *seconds, const char *text)
{
    int64_t days = 0, value;
    const char *rest = text;
    size_t digits = take_number(text, &value);
    bool read;
    if (digits == 10 || digits == 13) {
        size_t fraction = text[digits] == '.' ? strspn(text + digits + 1, "0123456789") : 0;
        read = text[digits + fraction + (fraction > 0)] == '\0';
        value = digits == 13 ? value / 1000 : value;
    } else {
        read = take_date(&rest, &days) && take_time_of_day(rest, days, &value);
    }
    *seconds = read ? value : *seconds;
    return read;
}

/* Years of five digits would sort before 1970 as text, and the mirror selects a span of time by comparing texts, so
 * times outside the range become the nearest end. */
const char *lineage_time_format(char out[LINEAGE_TIME_MAX], int64_t seconds)
{
    int year, month, day;
    const int64_t first = days_of(0, 3, 1) * DAY, last = days_of(LAST_YEAR, 12, 31) * DAY + DAY - 1;
    seconds = seconds < first ? first : seconds > last ? last : seconds;
    int64_t days = floor_day(seconds), clock = seconds - days * DAY;
    civil_of(days, &year, &month, &day);
    snprintf(out, LINEAGE_TIME_MAX, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)year % 10000, (unsigned)month % 100,
             (unsigned)day % 100, (unsigned)(clock / 3600) % 24, (unsigned)(clock / 60) % 60, (unsigned)clock % 60);
    return out;
}

/*
 * lineage/time.h: dates as people write them.
 *
 * Dates are UTC unless a zone is written, as are the timestamps of a store: "today" begins at midnight UTC. These forms
 * are read:
 *     2026-05-07   2026-05   2026   20260507          ISO 8601: day, month, year, basic form
 *     2026-W19-4   2026-W19   2026W194                week date; without a day the Monday
 *     2026-127     2026127                            day of the year
 *     DAYTHH[:MM[:SS[.FRACTION]]]  DAYTHHMM[SS]       with a time, after T or a blank; 24:00 ends the day
 *     ...Z  ...+02  ...+02:00  ...-0530  ... UTC      zone of the time
 *     @1778112000                                     seconds since 1970
 *     now  today  yesterday  tomorrow                 each day also with a time: yesterday 18:00
 *     monday ... sunday, mon ... sun                  the last one that has begun, today included
 *     3 days ago  2w  36 hours                        seconds, minutes, hours, days, weeks, months, years
 * A period means its first instant, and a fraction of a second is dropped. No other form is read: in 07.05.2026 or
 * 05/07/2026 day and month cannot be told apart.
 */
#ifndef LINEAGE_TIME_H
#define LINEAGE_TIME_H

#include <stdbool.h>

#include <lineage/status.h>

/* Bytes that are enough for lineage_time_format, with the terminating NUL. */
#define LINEAGE_TIME_MAX 32

/* Reads a date into seconds since 1970-01-01T00:00:00Z. `now`, in the same unit, is the moment that words such as
 * "today" refer to. Returns LINEAGE_EINVAL, with the accepted forms in the message, if text is not a date; *seconds is
 * then unchanged. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_time_parse(int64_t *seconds, const char *text, int64_t now,
                                                                     struct lineage_error *err);

/* Reads the timestamp of a row, as other tools write it, too: a date of one of the forms above but those in words, or
 * seconds or milliseconds since 1970 (1778112000, 1778112000.25, 1778112000250). false if it is none; *seconds is then
 * unchanged. */
LINEAGE_API bool lineage_time_read(int64_t *seconds, const char *text);

/* Writes "2026-05-07T00:00:00Z" and returns out. Times outside 0000-03-01 to 9999-12-31 become the nearer of the
 * two. */
LINEAGE_API const char *lineage_time_format(char out[LINEAGE_TIME_MAX], int64_t seconds);

#endif

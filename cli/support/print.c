/* print.c: prints with a format whose texts are escaped on the way; see cli.h. */

#include "cli.h"

void cli_print_with(FILE *out, cli_put_fn *put, const char *format, va_list args)
{
    for (const char *at = format, *end; *at; at = end) {
        end = at + strcspn(at, "%");
        fwrite(at, 1, (size_t)(end - at), out);
        if (!*end)
            return;
        const char *point = end + 1 + (end[1] == '.'); /* behind it the precision */
        const int given = point[-1] != '.' ? -1 : *point == '*' ? va_arg(args, int) : atoi(point);
        const char *kind = point + strspn(point, "*0123456789");
        end = kind + strspn(kind, "lz") + 1;
        switch (*kind) {
        case 's': put(out, va_arg(args, const char *), given); break;
        case 'c': putc(va_arg(args, int), out); break;
        case 'd': fprintf(out, "%d", va_arg(args, int)); break;
        case 'u': fprintf(out, "%u", va_arg(args, unsigned)); break;
        case 'z': fprintf(out, "%zu", va_arg(args, size_t)); break;
        case 'l': /* PRIu64 is one of these */
            if (kind[1] == 'l')
                fprintf(out, "%llu", va_arg(args, unsigned long long));
            else
                fprintf(out, "%lu", va_arg(args, unsigned long));
            break;
        case 'f': fprintf(out, "%.*f", given, va_arg(args, double)); break;
        case 'g': fprintf(out, "%.*g", given, va_arg(args, double)); break;
        default: putc(*kind, out); /* a per cent sign; formats are of the program */
        }
    }
}

#include "metrics/npy.h"

#include <stdio.h>
#include <string.h>

uint64_t npy_little_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

/* The header is the text of a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (500,), } */
bool npy_read(struct npy *npy, const char *bytes, size_t length, char *why, size_t size)
{
    enum { MAGIC = 6, HEADER_MAX = 4096 };
    const uint8_t *data = (const uint8_t *)bytes;
    const size_t wide = length > MAGIC && data[MAGIC] > 1 ? 4 : 2, start = 8 + wide;
    const uint64_t n = length >= start ? npy_little_endian(data + 8, wide) : 0;
    char header[HEADER_MAX + 1], order = 0, kind = 0, quote = 0, end = 0;
    unsigned value = 0;
    unsigned long long rows = 0;
    if (length < start || memcmp(data, "\x93NUMPY", MAGIC) != 0 || n > HEADER_MAX || n > length - start)
        return snprintf(why, size, "it is not a complete file of NumPy"), false;
    memcpy(header, data + start, n);
    header[n] = '\0';
    const char *type = strstr(header, "'descr': '"), *shape = strstr(header, "'shape': (");
    if (!type || sscanf(type + 10, "%c%c%1u%c", &order, &kind, &value, &quote) != 4 || quote != '\'' || !strchr("<|", order) ||
        !strchr("fiub", kind) || (value != 1 && value != 2 && value != 4 && value != 8) || (kind == 'f' && value < 4))
        return snprintf(why, size, "its type is none of float32, float64, integers and bool, with the low byte first"), false;
    if (!shape || strstr(header, "'fortran_order': True") || sscanf(shape + 10, "%llu,%c", &rows, &end) < 1 ||
        rows > SIZE_MAX / 8)
        return snprintf(why, size, "its shape is missing, or it is stored column by column"), false;
    *npy = (struct npy){data + start + n, length - start - n, (size_t)rows, value, end == ')', kind};
    return true;
}

double npy_value(const struct npy *npy, size_t i)
{
    const uint64_t bits = npy_little_endian(npy->at + i * npy->size, npy->size);
    const uint32_t low = (uint32_t)bits;
    const unsigned unused = (unsigned)(64 - 8 * npy->size);
    double wide;
    float narrow;
    if (npy->kind == 'f' && npy->size == 8)
        return memcpy(&wide, &bits, sizeof wide), wide;
    if (npy->kind == 'f')
        return memcpy(&narrow, &low, sizeof narrow), (double)narrow;
    return npy->kind == 'i' ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

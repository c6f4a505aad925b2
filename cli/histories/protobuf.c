/* protobuf.c: bytes of protocol buffers and of the logs that hold them; see readers.h. */
#include "histories/readers.h"

uint32_t crc32_of(uint32_t crc, uint32_t polynomial, const uint8_t *bytes, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}

uint64_t little_endian(const uint8_t *bytes, int n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

static bool varint(uint64_t *value, struct bytes *from)
{
    *value = 0;
    for (int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        uint8_t byte = *from->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

bool next_field(struct field *field, struct bytes *from)
{
    uint64_t tag, length;
    if (!varint(&tag, from))
        return false;
    field->id = tag >> 3;
    field->part = (struct bytes){from->at, from->at};
    const size_t left = (size_t)(from->end - from->at);
    switch (tag & 7) {
    case VARINT: field->wire = VARINT; return varint(&field->number, from);
    case FIXED64:
    case FIXED32: {
        const int n = (tag & 7) == FIXED64 ? 8 : 4;
        if (left < (size_t)n)
            return false;
        field->wire = n == 8 ? FIXED64 : FIXED32;
        field->number = little_endian(from->at, n);
        from->at += n;
        return true;
    }
    case PART:
        if (!varint(&length, from) || length > (uint64_t)(from->end - from->at))
            return false;
        field->wire = PART;
        field->part = (struct bytes){from->at, from->at + length};
        from->at += length;
        return true;
    default: return false;
    }
}

struct bytes part_of(struct bytes message, uint64_t id)
{
    struct field field;
    struct bytes part = {NULL, NULL};
    while (next_field(&field, &message))
        part = field.id == id && field.wire == PART ? field.part : part;
    return part;
}

bool varint_of(uint64_t *number, struct bytes message, uint64_t id)
{
    struct field field;
    bool found = false;
    while (next_field(&field, &message))
        if (field.id == id && field.wire == VARINT)
            *number = field.number, found = true;
    return found;
}

double as_double(const struct field *field)
{
    double value;
    float single;
    const uint32_t bits = (uint32_t)field->number;
    if (field->wire == FIXED64) {
        memcpy(&value, &field->number, sizeof value);
        return value;
    }
    memcpy(&single, &bits, sizeof single);
    return field->wire == FIXED32 ? (double)single : (double)NAN;
}

void copy_text(char *out, size_t size, struct bytes from)
{
    size_t n = (size_t)(from.end - from.at);
    n = n < size ? n : size - 1;
    if (n)
        memcpy(out, from.at, n);
    out[n] = '\0';
}

json_t *text_of_bytes(struct bytes from)
{
    char *text = strndup((const char *)from.at, (size_t)(from.end - from.at));
    json_t *value = history_text(text);
    free(text);
    return value;
}

"""Writes two runs as TensorBoard's writers do: tensorboard_events.py DIRECTORY. The records are those of TFRecord, and the messages those
of event.proto; scalars are stored in the old and the new way, settings as the hparams plug-in stores them, and the second run
ends in the middle of a record."""
import os
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def part(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def double(field, x):
    return varint(field << 3 | 1) + struct.pack("<d", x)


def number(field, n):
    return varint(field << 3) + varint(n)


def event(time, step=0, summary=None, version=None):
    data = double(1, time) + (number(2, step) if step else b"")
    data += part(3, version) if version else b""
    return record(data + (part(5, summary) if summary else b""))


def scalar(tag, x):
    return part(1, part(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", x))


def tensor(tag, x):
    value = number(1, 1) + part(2, b"") + part(4, struct.pack("<f", x))
    return part(1, part(1, tag.encode()) + part(8, value) + part(9, part(1, part(1, b"scalars"))))


def hparams(settings):
    entries = b""
    for name, value in settings.items():
        typed = double(2, value) if isinstance(value, float) else part(3, value.encode())
        entries += part(1, part(1, name.encode()) + part(2, typed))
    plugin = part(1, b"hparams") + part(2, number(1, 0) + part(3, entries))
    return part(1, part(1, b"_hparams_/session_start_info") + part(9, part(1, plugin)))


where = sys.argv[1]
for r, (lr, opt) in enumerate([(0.1, "adam"), (0.01, "sgd")]):
    os.makedirs(f"{where}/run{r}", exist_ok=True)
    begin = 1.7e9 + r * 100
    with open(f"{where}/run{r}/events.out.tfevents.17000000{r}0.host.1.0", "wb") as f:
        f.write(event(begin, version=b"brain.Event:2"))
        f.write(event(begin, summary=hparams({"lr": lr, "optimizer": opt})))
        for k in range(5):
            f.write(event(begin + k, k, scalar("train/loss", 2.0 / (k + 1) + lr) + tensor("val/loss", 1.0 / (k + 1) + lr)))
        if r:
            f.write(b"torn")

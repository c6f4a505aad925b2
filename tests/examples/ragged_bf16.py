"""One PPO loss on a packed batch, by ctypes alone: log-probs in bfloat16, masks in int64, rows one behind the other with
cu_seqlens, as a trainer's tensors hold them. Nothing is copied or converted on the way: python3 ragged_bf16.py [LIBRARY]
"""
import ctypes
import ctypes.util
import struct
import sys
from ctypes import (POINTER, byref, c_char, c_double, c_float, c_int, c_int64, c_size_t, c_uint16, c_uint32, c_uint64,
                    c_void_p)


class Batch(ctypes.Structure):
    _fields_ = [("n_rows", c_size_t), ("n_tokens", c_size_t), ("mask", c_void_p), ("turn", c_void_p), ("group", c_void_p)]


class Layout(ctypes.Structure):
    _fields_ = [("batch", Batch), ("size", c_size_t), ("n_tokens", c_size_t), ("stride", c_size_t), ("start", c_void_p),
                ("mask_type", c_int), ("turn_type", c_int), ("bf16", c_uint32)]


class LossInput(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in (
        "log_prob", "old_log_prob", "advantages", "weights", "entropy", "clip_scale")]


class Agg(ctypes.Structure):
    _fields_ = [("mode", c_int)] + [(name, c_double) for name in (
        "dp_size", "batch_num_tokens", "global_batch_size", "loss_scale_factor")]


class LossOptions(ctypes.Structure):
    _fields_ = [("agg", Agg)] + [(name, c_double) for name in (
        "clip_low", "clip_high", "clip_c", "tau_pos", "tau_neg", "dro_beta",
        "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg")]


class LossResult(ctypes.Structure):
    _fields_ = [(name, c_double) for name in (
        "loss", "pg_clipfrac", "pg_clipfrac_lower", "ppo_kl", "ratio_mean", "ratio_min", "ratio_max",
        "entropy_mean", "entropy_min", "entropy_max")] + [("n_tokens", c_uint64), ("n_clamped", c_uint64)]


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", c_char * 192)]


class Workspace(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t), ("needed", c_size_t)]


class AbiSize(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", c_size_t)]


# The sizes of the structs in the loaded library; another size means that the declarations above are of another version.
DECLARED = {b"rl_batch": Batch, b"rl_layout": Layout, b"rl_loss_inputf": LossInput, b"rl_agg": Agg,
            b"rl_loss_options": LossOptions, b"rl_loss_result": LossResult, b"rl_error": Error, b"rl_workspace": Workspace}
RL_LAYOUT = c_size_t(-1).value  # "look at the members behind batch"
RL_INTEGERS_64, RL_EWORKSPACE = 2, -3


def library(path):
    core = ctypes.CDLL(path)
    core.rl_abi_sizes.restype = POINTER(AbiSize)
    n = c_size_t()
    sizes = core.rl_abi_sizes(byref(n))
    there = {sizes[i].name: sizes[i].size for i in range(n.value)}
    for name, declared in DECLARED.items():
        assert there[name] == ctypes.sizeof(declared), f"{name.decode()} has another size in {path}"
    return core


def bfloat16(*numbers):
    """A trainer's tensors are bfloat16 already; here the numbers are made so."""
    return (c_uint16 * len(numbers))(*(struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for x in numbers))


core = library(sys.argv[1] if len(sys.argv) > 1 else ctypes.util.find_library("rlcore"))
cu_seqlens = (c_int64 * 4)(0, 4, 6, 9)  # rows of 4, 2 and 3 tokens
mask = (c_int64 * 9)(1, 1, 0, 1, 1, 1, 1, 1, 0)  # 0: a tool's output
now = bfloat16(-0.5, -1.25, 0, -0.375, -2, -0.125, -1, -0.75, 0)
old = bfloat16(-0.75, -1, 0, -0.375, -1.5, -0.25, -1.625, -0.75, 0)
advantages = (c_float * 9)(1, 1, 0, 1, -0.5, -0.5, 0.25, 0.25, 0)
gradient = (c_float * 9)()


def address(array):  # of a tensor: its data_ptr()
    return ctypes.cast(array, c_void_p)


layout = Layout(batch=Batch(n_rows=3, n_tokens=RL_LAYOUT, mask=address(mask)), size=ctypes.sizeof(Layout),
                start=address(cu_seqlens), mask_type=RL_INTEGERS_64,
                bf16=1 << 0 | 1 << 1)  # log_prob and old_log_prob; the advantages are float
given = LossInput(log_prob=address(now), old_log_prob=address(old), advantages=address(advantages))
options, out, error, scratch = LossOptions(), LossResult(), Error(), Workspace()
core.rl_loss_options_init(byref(options))


def loss():
    return core.rl_ppo_lossf(byref(layout.batch), byref(given), byref(options), gradient, byref(out), byref(scratch),
                             byref(error))


status = loss()
if status == RL_EWORKSPACE:  # needed has the size; the block can be reused for later batches
    block = (c_double * (scratch.needed // 8 + 2))()
    aligned = ctypes.addressof(block) + -ctypes.addressof(block) % 16
    scratch.data, scratch.size = aligned, scratch.needed
    status = loss()
if status:
    sys.exit(error.text.decode())
print(f"{out.loss:.9g} {out.pg_clipfrac:.9g}")
for g in gradient:
    print(f"{g:.9g}")

"""A2TGPO in three PyTorch modules for any GRPO loop with the tensors of verl: what a turn taught, how that compares with
the same turn of the other rollouts, and how far the policy may move at its tokens.

    gain, normalize, clip = InformationGain(), TurnGroupNormalizer(gamma=0.9), AdaptiveTurnClipper(beta=0.3)

    rewards = gain(answer_log_prob, response_mask, turn_id, outcome)
    turns = normalize(rewards, response_mask, turn_id, uid)
    low, high = clip.bounds(clip(turns.z, response_mask, turn_id), 0.2, 0.28)
    loss = -torch.min(ratio * turns.advantages, torch.clamp(ratio, low, high) * turns.advantages)

The modules are independent of each other, have no parameters to train, and compute on the device of their tensors. Inputs
are never modified, and no gradient flows through the results, because gains and clip ranges are constants of a step.

Turns are explicit: ``turn_id`` [B][T] numbers the response tokens of each row 0, 1, .. in ascending order and is -1 where
``response_mask`` [B][T] is 0. The last turn of a row is its outcome turn, every earlier one an information-gain turn.
A turn whose gain is exactly 0 is a turn like any other. ``lineage.core.turns_from_mask`` makes turn ids from the mask if a
trainer has none.

Formulas: A2TGPO (arXiv 2605.06200), as rlcore/a2tgpo.h defines them for the library; sums run in double precision. An
input that breaks these rules raises CoreError, a ValueError that names the argument and the place.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn

from . import core

__all__ = ["AdaptiveTurnClipper", "InformationGain", "NormalizedTurns", "TurnGroupNormalizer"]

_VALUES = ("mean_log_prob", "mean_prob", "prob")


def _refuse(family: str, name: str, wrong: Tensor, why: str) -> None:
    """Raise CoreError with the first place where `wrong` is true."""
    if bool(wrong.any()):
        place = "".join(f"[{int(i)}]" for i in wrong.nonzero()[0])
        raise core.CoreError(family, f"inputs.{name}{place} {why}")


def _number(family: str, name: str, value: float, high: float) -> float:
    if not 0.0 <= value <= high:
        raise core.CoreError(family, f"inputs.{name} is {value}, not a number from 0 to {high:g}")
    return float(value)


class _Turns:
    """The turns of a batch. Arrays of turn values are [B][K], K the largest number of turns of a row."""

    def __init__(self, family: str, response_mask: Tensor, turn_id: Tensor) -> None:
        if response_mask.dim() != 2 or turn_id.shape != response_mask.shape:
            raise core.CoreError(
                family, f"inputs.turn_id has the shape {tuple(turn_id.shape)}, response_mask {tuple(response_mask.shape)}; both are [B][T]"
            )
        self.family, self.mask, turn = family, response_mask != 0, turn_id.long()
        _refuse(family, "turn_id", (turn >= 0) != self.mask, "is not -1 exactly where response_mask is 0")
        highest = turn.cummax(dim=1).values if turn.numel() else turn
        before = nn.functional.pad(highest, (1, 0), value=-1)[:, :-1]
        _refuse(family, "turn_id", self.mask & (turn != before) & (turn != before + 1), "does not ascend by 1 from 0")
        self.token = turn.clamp(min=0)
        self.n = highest[:, -1] + 1 if turn.shape[1] else turn.sum(dim=1)
        width = int(self.n.max()) if self.n.numel() else 0
        index = torch.arange(width, device=turn.device)
        self.exists = index < self.n[:, None]
        self.outcome = index == self.n[:, None] - 1
        self.gains = self.exists & ~self.outcome
        positions = torch.arange(turn.shape[1], device=turn.device).expand_as(turn)
        # A token ends its turn if all response tokens behind it are of later turns.
        ids = torch.where(self.mask, turn, turn.new_full((), width))
        behind = nn.functional.pad(ids.flip(1).cummin(dim=1).values.flip(1) if turn.numel() else ids, (0, 1), value=width)[:, 1:]
        self.ends = self.mask & (behind != turn)
        # Every other token is sent to one more column, which is cut off.
        column = torch.where(self.ends, turn, turn.new_full((), width))
        self.last = turn.new_zeros(len(turn), width + 1).scatter(1, column, positions)[:, :width]

    def values(self, name: str, tokens: Tensor) -> Tensor:
        """The number at the last token of each turn, in double precision."""
        if tokens.shape != self.mask.shape:
            raise core.CoreError(self.family, f"inputs.{name} has the shape {tuple(tokens.shape)}, response_mask {tuple(self.mask.shape)}")
        given = torch.where(self.mask, tokens.detach().double(), torch.zeros((), dtype=torch.float64, device=tokens.device))
        _refuse(self.family, name, ~given.isfinite(), "is not finite")
        out = torch.where(self.exists, given.gather(1, self.last), given.new_zeros(()))
        _refuse(self.family, name, (given != 0) & ~self.ends, "is not 0, but its token is not the last one of a turn")
        return out

    def first_of_each(self, name: str, tokens: Tensor) -> Tensor:
        """The number that all tokens of a turn share."""
        given = tokens.detach().double()
        out = torch.where(self.exists, given.gather(1, self.last), given.new_zeros(()))
        _refuse(self.family, name, self.mask & (given != self.spread(out, 0.0)), "differs from other tokens of its turn")
        return out

    def spread(self, values: Tensor, fill: float) -> Tensor:
        """The value of each turn at its tokens, and `fill` elsewhere."""
        if not values.shape[1]:
            return values.new_full(self.mask.shape, fill)
        return torch.where(self.mask, values.gather(1, self.token), values.new_full((), fill))


class InformationGain(nn.Module):
    """How much closer each turn brought the policy to the true answer: the change of a prefix value over the turn.

    value: the value of a prefix: "mean_log_prob" of the answer's tokens (A2TGPO), "mean_prob", the exponential of that
    mean (IGPO), or "prob", the probability of the whole answer."""

    def __init__(self, value: str = "mean_log_prob") -> None:
        super().__init__()
        if value not in _VALUES:
            raise core.CoreError("information_gain", f"inputs.value is {value!r}, not one of {', '.join(_VALUES)}")
        self.value = value

    def extra_repr(self) -> str:
        return f"value={self.value!r}"

    @torch.no_grad()
    def forward(
        self, answer_log_prob: Tensor, response_mask: Tensor, turn_id: Tensor, outcome: Optional[Tensor] = None,
        answer_mask: Optional[Tensor] = None,
    ) -> Tensor:  # fmt: skip
        """Returns token_level_rewards [B][T]: the gain at the last token of each information-gain turn, and ``outcome`` [B]
        at the last token of each row's last turn (0 without it).

        answer_log_prob [B][K+1][A]: log-probs of the true answer's tokens, in nats, before the first turn and after each
        turn; a row with fewer turns fills only the beginning. answer_mask [B][A]: 1 for tokens of the answer, all without
        it."""
        family = "information_gain"
        turns = _Turns(family, response_mask, turn_id)
        prefixes = int(turns.gains.sum(dim=1).max()) + 1 if turns.gains.numel() else 1
        shape = answer_log_prob.shape
        if len(shape) != 3 or shape[0] != len(response_mask) or shape[1] < prefixes or not shape[2]:
            raise core.CoreError(family, f"inputs.answer_log_prob has the shape {tuple(shape)}; give [B][{prefixes} or more][A]")
        mask = torch.ones_like(answer_log_prob[:, 0]) if answer_mask is None else answer_mask
        if mask.shape != answer_log_prob[:, 0].shape:
            raise core.CoreError(family, f"inputs.answer_mask has the shape {tuple(mask.shape)}, not {(shape[0], shape[2])}")
        gains = self._values(turns, answer_log_prob[:, :prefixes].detach().double(), mask != 0).diff(dim=1)
        values = gains.new_zeros(turns.exists.shape)
        values[:, : gains.shape[1]] = torch.where(turns.gains[:, : gains.shape[1]], gains, gains.new_zeros(()))
        if outcome is not None:
            if outcome.numel() != len(response_mask):
                raise core.CoreError(family, f"inputs.outcome has {outcome.numel()} numbers for {len(response_mask)} rows")
            values = torch.where(turns.outcome, outcome.detach().double().reshape(-1, 1), values)
        at_ends = torch.zeros(response_mask.shape, dtype=torch.float64, device=values.device)
        at_ends = at_ends.scatter_add(1, turns.last, torch.where(turns.exists, values, values.new_zeros(())))
        return at_ends.to(answer_log_prob.dtype)

    def _values(self, turns: _Turns, log_prob: Tensor, mask: Tensor) -> Tensor:
        """The value of each prefix, [B][prefixes]."""
        index = torch.arange(log_prob.shape[1], device=log_prob.device)
        n = turns.gains.sum(dim=1, keepdim=True)
        used = ((index <= n) & (n > 0))[:, :, None] & mask[:, None, :]
        wrong = used & ~((log_prob <= 0) & log_prob.isfinite())
        _refuse(turns.family, "answer_log_prob", wrong, "is not a log-prob: a finite number that is at most 0")
        count = mask.sum(dim=1)
        _refuse(turns.family, "answer_mask", (count == 0) & turns.gains.any(dim=1), "has no token of the answer")
        total = torch.where(used, log_prob, log_prob.new_zeros(())).sum(dim=2)
        if self.value == "prob":
            return total.exp()
        mean = total / count.clamp(min=1)[:, None]
        return mean.exp() if self.value == "mean_prob" else mean


class NormalizedTurns(NamedTuple):
    """z [B][T]: the normalised value of each turn at its tokens; advantages [B][T]. Both are 0 where the mask is 0."""

    z: Tensor
    advantages: Tensor


class TurnGroupNormalizer(nn.Module):
    """Compares each turn with its peers: the turns with the same index in the rollouts of the same prompt, and the outcomes
    with the outcomes.

    z = (x - mean) / (std + epsilon), with std = sqrt(biased variance + 1e-8); without ``norm_adv_by_std``, z = x - mean.
    A turn without peers has z = 0. The advantage of a turn is alpha D + z(outcome), where D is the sum of gamma^j z over
    this and the later information-gain turns of its row, divided by the root of their number, so that early turns do not
    get larger advantages; for the outcome turn it is z(outcome). This is A2TGPO's turn-group-v1d."""

    def __init__(self, gamma: float = 1.0, alpha: float = 0.3, norm_adv_by_std: bool = True, epsilon: float = 1e-6) -> None:
        super().__init__()
        family = "turn_normalize"
        self.gamma, self.epsilon = _number(family, "gamma", gamma, 1e300), _number(family, "epsilon", epsilon, 1e300)
        self.alpha, self.norm_adv_by_std = float(alpha), bool(norm_adv_by_std)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}, alpha={self.alpha}, norm_adv_by_std={self.norm_adv_by_std}, epsilon={self.epsilon}"

    @torch.no_grad()
    def forward(self, token_level_rewards: Tensor, response_mask: Tensor, turn_id: Tensor, group_index: Any) -> NormalizedTurns:
        """token_level_rewards [B][T]: as :class:`InformationGain` returns them. group_index [B]: the prompt of each row, as
        numbers or as texts (verl's uid)."""
        turns = _Turns("turn_normalize", response_mask, turn_id)
        values = turns.values("token_level_rewards", token_level_rewards)
        labels = group_index if isinstance(group_index, Tensor) else torch.tensor(core.group_numbers(group_index))
        if labels.shape != response_mask.shape[:1]:
            raise core.CoreError("turn_normalize", f"inputs.group_index has {labels.numel()} numbers for {len(response_mask)} rows")
        z = self._normalize(turns, values, labels.to(values.device))
        advantages = self._advantages(turns, z)
        return NormalizedTurns(
            turns.spread(z, 0.0).to(token_level_rewards.dtype), turns.spread(advantages, 0.0).to(token_level_rewards.dtype)
        )

    def _normalize(self, turns: _Turns, values: Tensor, labels: Tensor) -> Tensor:
        group = torch.unique(labels, return_inverse=True)[1][:, None]
        width = values.shape[1]
        index = torch.arange(1, width + 1, device=values.device)
        cell = group * (width + 1) + torch.where(turns.outcome, index.new_zeros(()), index)
        _, peers = torch.unique(cell[turns.exists], return_inverse=True)
        x = values[turns.exists]
        count = torch.bincount(peers).double()
        z = x - (torch.zeros_like(count).index_add(0, peers, x) / count)[peers]
        if self.norm_adv_by_std:
            std = (torch.zeros_like(count).index_add(0, peers, z * z) / count + 1e-8).sqrt()
            z = z / (torch.where(count > 1, std, torch.ones_like(std))[peers] + self.epsilon)
        out = torch.zeros_like(values)
        out[turns.exists] = torch.where(count[peers] > 1, z, torch.zeros_like(z))
        return out

    def _advantages(self, turns: _Turns, z: Tensor) -> Tensor:
        outcome = torch.where(turns.outcome, z, torch.zeros_like(z)).sum(dim=1)
        out = torch.where(turns.outcome, z, torch.zeros_like(z))
        total = torch.zeros_like(outcome)
        for k in range(z.shape[1] - 2, -1, -1):
            gains = turns.gains[:, k]
            total = torch.where(gains, z[:, k] + self.gamma * total, total)
            later = (turns.n - 1 - k).clamp(min=1).double()
            out[:, k] = torch.where(gains, self.alpha * total / later.sqrt() + outcome, out[:, k])
        return out


class AdaptiveTurnClipper(nn.Module):
    """Lets the policy move further at turns that taught more than those of their peers, and less at the others: the clip
    range of a turn is multiplied by 1 + beta (2 sigmoid(z) - 1), which lies between 1 - beta and 1 + beta. The factor of
    an outcome turn is 1. beta: from 0 to 1; A2TGPO uses 0.3."""

    def __init__(self, beta: float = 0.3) -> None:
        super().__init__()
        self.beta = _number("turn_clip_scale", "beta", beta, 1.0)

    def extra_repr(self) -> str:
        return f"beta={self.beta}"

    @torch.no_grad()
    def forward(self, z: Tensor, response_mask: Tensor, turn_id: Tensor) -> Tensor:
        """The factor of the clip range at each token, [B][T]; 1 where the mask is 0. z [B][T]: that of
        :class:`NormalizedTurns`. ``lineage.torch.TurnLoss`` takes the result as ``ig_clip_scale``."""
        turns = _Turns("turn_clip_scale", response_mask, turn_id)
        values = turns.first_of_each("z", z)
        scale = torch.where(turns.gains, 1.0 + self.beta * (2.0 * values.sigmoid() - 1.0), torch.ones_like(values))
        return turns.spread(scale, 1.0).to(z.dtype)

    @staticmethod
    def bounds(scale: Tensor, clip_ratio_low: float = 0.2, clip_ratio_high: float = 0.28) -> "tuple[Tensor, Tensor]":
        """The least and the largest ratio of each token, for ``torch.clamp(ratio, low, high)``."""
        return 1.0 - clip_ratio_low * scale, 1.0 + clip_ratio_high * scale

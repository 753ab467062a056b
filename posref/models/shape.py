"""What several families read alike: the width of a head, the layers, and their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from posref._arguments import shown
from posref.models._reading import Block
from posref.models.scalings import MOST_PAIRS

MOST_CHANNELS = 2 * MOST_PAIRS
MOST_LAYERS = 10000
MOST_HEADS = 1024

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
WITHOUT = ("conv", "mamba", "recurrent", "moe", "mlp", LINEAR)  # kinds of layers that do not attend
KINDS = (  # that a file may name: transformers' and the older ones
    *(FULL, SLIDING, *WITHOUT, "hybrid", "hybrid_sliding", "attention", "sparse", "dense"),
    *("chunked_attention", "window_attention", "indexed_attention", "reference_sliding_attention", "minimax_m3_sparse"),
    *("compressed_sparse_attention", "heavily_compressed_attention"),
    *("deepseek_sparse_attention", "qwen_sparse_attention"),
)
MOST_KINDS = 16  # in a model that is not known
OLDER_KINDS = {"mamba": LINEAR, "attention": FULL, "deepseek_sparse_attention": "indexed_attention"}
KindRule = Callable[[Block, int], "Iterable[str] | None"]  # (config, number of layers) -> the kind of each layer


def head_dim(
    config: Block,
    default: int | None = None,
    names: Sequence[Sequence[str]] = (("hidden_size",), ("num_attention_heads",)),
) -> int | None:
    """``head_dim``, or the family's, or the model's width over its heads; None, with a note, where it cannot be told."""
    if default is not None:
        return config.integer_or("head_dim", default, most=MOST_CHANNELS)
    given = config.integer("head_dim", most=MOST_CHANNELS)
    return divided(config, names) if given is None else given


def divided(config: Block, names: Sequence[Sequence[str]] = (("hidden_size",), ("num_attention_heads",))) -> int | None:
    """The model's width over its heads; None, with a note, where it cannot be told."""
    width, heads = (config.either(keys) for keys in names)
    told = " // ".join(config.name(keys[0]) for keys in names)
    if width is None or heads is None:
        config.note("unknown", f"head_dim: neither it nor {told} is given")
        return None
    if width % heads:
        config.note("unusual", f"{told} leaves a remainder: {width} // {heads}")
    channels = width // heads
    if not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"{told} must be from 1 to {MOST_CHANNELS}, got {channels}")
    return channels


def layers(config: Block, names: Sequence[str] = ("num_hidden_layers",)) -> tuple[int, ...] | None:
    """The indices of all layers; None, with a note, where the file does not tell their number."""
    number = config.either(names, most=MOST_LAYERS)
    if number is None:
        config.note("unknown", f"the layers: {config.name(names[0])} is not given")
        return None
    return tuple(range(number))


def layer_kinds(
    config: Block, rule: KindRule, names: Sequence[str] = ("num_hidden_layers",), keys: Sequence[str] = ("layer_types",)
) -> tuple[str, ...] | None:
    """The kind of each layer: ``layer_types``, or the family's rule; None, with a note, where the file does not tell."""
    lists = [(key, words) for key in keys if (words := config.words(key, most=MOST_LAYERS)) is not None]
    key, given = lists[0] if lists else (keys[:1], None)
    number = config.either(names, most=MOST_LAYERS)
    if given is not None:
        told = f"{config.name(keys[0])} has {len(given)} entries, {config.name(names[0])} is {number}"
        if number is not None and number > len(given):
            raise ValueError(f"{told}: it must have one per layer")
        if number is not None and number < len(given):
            config.note("contradictory", f"{told}; the first {number} are used")
        _check_kinds(config, config.name(str(key)), given)
        return tuple(OLDER_KINDS.get(kind, kind) for kind in given[:number])
    if number is None:
        config.note("unknown", f"the layers: {config.name(names[0])} is not given")
        return None
    kinds = rule(config, number)
    return None if kinds is None else tuple(kinds)


def _check_kinds(config: Block, name: str, given: Sequence[str]) -> None:
    """A word that nobody knows is a slip of the pen, unless the model is one that nobody knows."""
    found = set(given)
    if config.family is not None and not found <= set(KINDS):
        i = next(i for i, kind in enumerate(given) if kind not in KINDS)
        known = f"{', '.join(KINDS[:5])} or another of transformers' kinds"
        raise ValueError(f"{name}[{i}] must be {known}, got {shown(given[i])}")
    if len(found) > MOST_KINDS:
        raise ValueError(f"{name} must name at most {MOST_KINDS} kinds of layers, got {len(found)}")


def of_kind(kinds: Sequence[str] | None, *wanted: str) -> tuple[int, ...] | None:
    """The layers of these kinds."""
    return None if kinds is None else tuple(i for i, kind in enumerate(kinds) if kind in wanted)


def note_nope(config: Block, kinds: Sequence[str] | None, rotating: Sequence[str]) -> None:
    """Say which layers attend without any position encoding, and which kinds of layers do not attend."""
    for other in sorted({kind for kind in kinds or () if kind not in rotating}):
        if other not in WITHOUT:
            note_layers(config, of_kind(kinds, other) or (), other)
        else:
            config.note("nope", f"{other} layers have no position encoding")


def note_layers(config: Block, indices: Sequence[int], why: str) -> None:
    """Say of some layers that they have no position encoding, and why."""
    config.note("nope", f"{runs(indices)} {'has' if len(indices) == 1 else 'have'} no position encoding ({why})")


def runs(indices: Sequence[int]) -> str:
    """Runs of layer indices, in words: layers 0-3, 5."""
    found: list[list[int]] = []
    for index in indices:
        if found and index == found[-1][-1] + 1:
            found[-1] = [found[-1][0], index]
        else:
            found.append([index])
    return f"layer{'s' * (len(indices) != 1)} {', '.join('-'.join(map(str, run)) for run in found)}"


def every(key: str | None, default: int, at: str = FULL, other: str = SLIDING, *, first: int | None = None) -> KindRule:
    """Every n-th layer is of one kind, the others of another; n is a key's value, or the default, which is noted.

    The n-th is number n - 1, 2 n - 1, ...; with ``first``, number first, first + n, ...
    """

    def kinds(config: Block, number: int) -> list[str]:
        n = default if key is None else config.integer_or(key, default, most=MOST_LAYERS)
        start = n - 1 if first is None else first
        return [at if i % n == start % n else other for i in range(number)]

    return kinds


def all_of(kind: str) -> KindRule:
    """All layers are of one kind."""
    return lambda config, number: [kind] * number

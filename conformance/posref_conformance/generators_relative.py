"""What the generated checks ask of relative attention. See :mod:`posref_conformance.generators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posref_conformance.case import FLOATS, Call, Inputs
from posref_conformance.drawing import WHOLE, Draw, options_of, sizes, some_positions

Build = Callable[[Inputs], Call]


def _index(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    relative, ends = some_positions(draw, sizes(draw, 2), 300), (draw(st.integers(0, 200)), draw(st.integers(0, 200)))
    options = options_of(draw, outside=["clip", "none"])
    return lambda i: Call((i.typed(relative), *ends), dict(options))


def _shift(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    leading, q, columns = sizes(draw, draw(st.integers(0, 2)), 3), draw(st.integers(0, 5)), draw(st.integers(0, 9))
    options = options_of(draw, rule=["transformer-xl", "xlnet", "gemma-3n"], outside=["next-row", "zero"])
    if options.get("rule") == "xlnet":
        options |= options_of(draw, stride=[1, 2, 3])
    most = {"xlnet": max(0, columns - options.get("stride", 1)), "gemma-3n": 12}.get(options.get("rule", ""), columns)
    keys = draw(st.integers(0, most))
    return lambda i: Call((i.data(*leading, q, columns), keys), dict(options))


def pairs(draw: Draw) -> tuple[int, int, int, Any]:
    """Queries, keys, rows, and a row, or none, for each pair."""
    from hypothesis import strategies as st
    from hypothesis.extra.numpy import arrays

    q, k, rows = draw(st.integers(0, 4)), draw(st.integers(0, 5)), draw(st.integers(1, 6))
    return q, k, rows, draw(arrays("int64", (q, k), elements=st.integers(-1, rows - 1)))


def _bias(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    (q, k, rows, index), d = pairs(draw), draw(st.integers(1, 7))
    heads, options = draw(st.sampled_from([(), (2,)])), options_of(draw, side=["query", "key"])
    n = k if options else q
    return lambda i: Call((i.data(3, 2, n, d), i.data(*heads, rows, d), index.copy()), dict(options))


def _values(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    (q, k, rows, index), e = pairs(draw), draw(st.integers(1, 7))
    heads = draw(st.sampled_from([(), (2,)]))
    return lambda i: Call((i.data(3, 2, q, k), i.data(*heads, rows, e), index.copy()))


def _scores(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    (q, k, rows, index), d = pairs(draw), draw(st.integers(1, 7))
    options = options_of(draw, key_term=[False, True], scale=[None, 1.0, 0.3])
    biased = [name for name in ("content_bias", "position_bias") if draw(st.booleans())]

    def build(i: Inputs) -> Call:
        args = i.data(3, 2, q, d), i.data(3, 1, k, d), i.data(rows, d), index.copy()
        return Call(args, options | {name: i.data(2, d) for name in biased})

    return build


def _bucket(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    relative, buckets = some_positions(draw, sizes(draw, 2), 1500), draw(st.integers(2, 64))
    options: dict[str, Any] = {"num_buckets": buckets, "max_distance": buckets // 2 + draw(st.integers(2, 900))}
    options |= options_of(draw, beyond=["clamp", "grow"])
    return lambda i: Call((i.typed(relative),), {k: v for k, v in options.items() if v not in (256, 512)})


def _disentangled(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    q, k, span, d = (draw(st.integers(*bounds)) for bounds in ((0, 4), (0, 5), (1, 5), (1, 6)))
    relative = some_positions(draw, (q, k), 7)
    tables = [name for name in ("pos_k", "pos_q") if draw(st.booleans())]
    options = options_of(draw, p2c=["code", "paper"], scale=[None, 1.0])
    if len(tables) == 2 and q <= span:
        options |= options_of(draw, p2p=[False, True])

    def build(i: Inputs) -> Call:
        args = i.data(2, 2, q, d), i.data(2, 1, k, d), relative.copy()
        return Call(args, options | {name: i.data(2, 2 * span, d) for name in tables})

    return build


def _untied(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    q, k, d = (draw(st.integers(*bounds)) for bounds in ((0, 4), (0, 5), (1, 7)))
    heads, placed = draw(st.sampled_from([(), (2,), (3, 1), (3, 2)])), draw(st.booleans())
    options = options_of(draw, scale=[None, 1.0, 0.3])

    def build(i: Inputs) -> Call:
        args = i.data(3, 2, q, d), i.data(3, 1, k, d)
        return Call(args, options | ({"pos_q": i.data(*heads, q, d), "pos_k": i.data(*heads, k, d)} if placed else {}))

    return build


def _permuted(draw: Draw, dtype: str) -> Build:
    from hypothesis import strategies as st

    rows = [draw(st.permutations(range(draw(st.integers(1, 9)))))]
    if draw(st.booleans()):
        rows.append(draw(st.permutations(rows[0])))
    positions = some_positions(draw, sizes(draw, 2), 99)
    return lambda i: Call((i.typed(rows if len(rows) > 1 else rows[0]), i.typed(positions)))


GENERATORS: dict[str, tuple[tuple[str, ...], Callable[[Draw, str], Build]]] = {
    "relative_index": (WHOLE, _index),
    "relative_shift": (FLOATS, _shift),
    "relative_bias": (FLOATS, _bias),
    "relative_values": (FLOATS, _values),
    "relative_scores": (FLOATS, _scores),
    "deberta_bucket": (WHOLE, _bucket),
    "disentangled_scores": (FLOATS, _disentangled),
    "untied_scores": (FLOATS, _untied),
    "permuted_channels": (WHOLE, _permuted),
}

"""A model's ``config.json`` -> what it means for positions.

A family of models is a reader ``config -> encodings`` in a ``FAMILIES`` table, under its ``model_type``. To add one
that differs only in a default is one line in such a table; one of another kind is a small file and its name in ``READERS``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from posref._arguments import integer, shown
from posref.models import (
    biases,
    composite,
    conformers,
    dbrx,
    deberta,
    encoders,
    falcon,
    gptj,
    hybrids,
    layered,
    mla,
    multimodal,
    nope,
    offsets,
    own_code,
    own_rules,
    patches,
    per_layer,
    pictures,
    plain_rope,
    remote,
    sound,
    stacks,
    tables,
    vision,
    without,
)
from posref.models._reading import Block, NotKnown, Reader, Reading, Refused, load
from posref.models.frameworks import FRAMEWORKS, checked_framework, looked_at
from posref.models.recognised import by_keys
from posref.models.records import (
    AlibiEncoding,
    Axes,
    Bucket,
    DebertaEncoding,
    Encoding,
    LearnedEncoding,
    ModelPositions,
    QueryScaleEncoding,
    RelativeEncoding,
    RopeEncoding,
    SinusoidalEncoding,
    T5Encoding,
)

__all__ = [
    "AlibiEncoding",
    "Axes",
    "Bucket",
    "DebertaEncoding",
    "Encoding",
    "LearnedEncoding",
    "ModelPositions",
    "QueryScaleEncoding",
    "RelativeEncoding",
    "RopeEncoding",
    "SinusoidalEncoding",
    "T5Encoding",
    "read_config",
]

_FAMILIES: dict[str, Reader] = {
    **plain_rope.FAMILIES,
    **nope.FAMILIES,
    **hybrids.FAMILIES,
    **encoders.FAMILIES,
    **without.FAMILIES,
    **remote.FAMILIES,
    **layered.FAMILIES,
    **multimodal.FAMILIES,
    **patches.FAMILIES,
    **vision.FAMILIES,
    **composite.FAMILIES,
    **conformers.FAMILIES,
    **mla.FAMILIES,
    **biases.FAMILIES,
    **falcon.FAMILIES,
    **gptj.FAMILIES,
    **tables.FAMILIES,
    **deberta.FAMILIES,
    **dbrx.FAMILIES,
    **per_layer.FAMILIES,
    **stacks.FAMILIES,
    **own_code.FAMILIES,
    **own_rules.FAMILIES,
    **sound.FAMILIES,
    **offsets.FAMILIES,
    **pictures.FAMILIES,
}


def _named(family: str, reader: Reader) -> Reader:
    """The reader, which leaves word of whose it is."""

    def read(config: Block) -> Sequence[Encoding]:
        config.family = family
        return reader(config)

    return read


def _note_own_code(config: Block, known: bool) -> None:
    """Say that a model brings its own code where transformers' class is not all that may read it."""
    own = config.raw("auto_map")
    if isinstance(own, Mapping) and known and config.family not in OWN_CODE:
        config.note("unusual", "auto_map: the model brings its own code, which may read the keys otherwise")


OWN_CODE = frozenset((*remote.FAMILIES, *own_code.FAMILIES, *own_rules.FAMILIES))
READERS: dict[str, Reader] = {family: _named(family, reader) for family, reader in _FAMILIES.items()}


def read_config(
    path_or_mapping: str | os.PathLike[str] | Mapping[str, Any],
    *,
    framework: str = "transformers",
    seq_len: int | None = None,
) -> ModelPositions:
    """What a model's config means for positions.

    Parameters
    ----------
    path_or_mapping
        A ``config.json``, or what is in it. It is not modified.
    framework
        Whose reading: where frameworks read the same keys differently, they compute different rotations.
    seq_len
        Current length in tokens, for frequencies that depend on it (dynamic NTK, LongRoPE); None is the original length.

    Returns
    -------
    ModelPositions
        Where the ``model_type`` is not known, what the keys tell, with a note of what was assumed; or no encodings, and a note
        that says so.

    Raises
    ------
    OSError
        There is no such file, or it is a directory.
    ValueError, TypeError
        Not UTF-8, not JSON, no object, a key twice; a value of the wrong type or range, a missing key of a scaling, an
        unknown rope type. One line that names the key, what came and what was expected.

    Notes
    -----
    Source: the code of the frameworks, at the versions that :mod:`posref.models.frameworks` names; of models that bring their
    own code, that code. Defaults are the framework's, and each is noted. Pitfall: where somebody trimmed a copy by hand, an
    absent key is not the default of the model.

    Examples
    --------
    >>> llama = read_config({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 1})
    >>> llama.encodings[0].head_dim, llama.encodings[0].layout
    (128, 'half')
    >>> print(*llama.notes)
    defaulted: rope_theta is absent, transformers' default is 10000
    """
    if seq_len is not None:
        seq_len = integer(seq_len, "seq_len")
    reading = Reading(checked_framework(framework), seq_len, READERS)
    config = Block(load(path_or_mapping), reading)
    model_type = config.word("model_type")
    who = "a file without model_type" if model_type is None else f"model_type {shown(model_type)}"
    reader = READERS.get(model_type or "")
    try:
        encodings = by_keys(config, model_type) if reader is None else reader(config)
    except NotKnown as problem:
        return ModelPositions(model_type, (), (f"not known yet: {who} with {problem}",))
    except Refused as problem:
        told = FRAMEWORKS[framework]
        return ModelPositions(model_type, (), (f"refused: {told.name} {told.version} does not load it: {problem}",))
    if encodings is None:
        return ModelPositions(model_type, (), (f"not known yet: {who}",))
    _note_own_code(config, reader is not None)
    encodings = looked_at(config, encodings)
    config.note_ignored(only_about_positions=True)
    return ModelPositions(model_type, tuple(encodings), tuple(reading.notes))

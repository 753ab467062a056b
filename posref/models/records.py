"""What a config means for positions, as records that print as JSON."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from posref.rotary.scaling import Scaling


@dataclass(frozen=True)
class Encoding:
    """One encoding of one part of a model.

    Parameters
    ----------
    encoding
        Its id in the catalogue: ``rope``, ``rope-yarn``, ``alibi``, ...
    component
        ``"text"``, ``"vision"`` or ``"audio"``.
    part
        None for the plain attention; ``"mla"`` for the part of a head that multi-head latent attention rotates, ``"indexer"`` for
        that of the heads that choose which keys a query sees; in models of several stacks the name of one (``"encoder"``,
        ``"decoder"``, ``"codec"``, ...).
    layers
        Indices of the layers that have it; None where the file does not tell, and for what is added to the embeddings.
    """

    encoding: str
    component: str
    part: str | None
    layers: tuple[int, ...] | None

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


@dataclass(frozen=True)
class Axes:
    """Positions of several axes, and which pair takes which; a token of text has the same position on all that are text's.

    Parameters
    ----------
    names
        Of the axes, in the order of the sections: ``time``, ``height``, ``width``.
    sections
        As the file has them, or the family's.
    rule, ladder
        As in :func:`posref.rope_axis_map` and :func:`posref.rope_axes_inv_freq`; rule ``"channels"``: the sections, doubled,
        split the channels and not the pairs, which is not a rotation.
    map
        The axis of each pair, or with rule ``"channels"`` of each channel.
    positions
        What a position on such an axis is, where it is not a whole number that is counted from 0.
    """

    names: tuple[str, ...]
    sections: tuple[int, ...]
    rule: str
    ladder: str
    map: tuple[int, ...]
    positions: str | None = None


@dataclass(frozen=True)
class RopeEncoding(Encoding):
    """A rotation of channel pairs. What the file does not tell is None.

    Parameters
    ----------
    layout, output_layout
        As in :func:`posref.rope_apply`.
    head_dim, rotary_dim
        Channels of a head, and how many of them rotate; with part ``"mla"``, head_dim is the whole query-key head.
    offset
        First channel of a head that rotates.
    base, scaling
        As in :func:`posref.rope_inv_freq`.
    seq_len
        The length that the frequencies are for, where they depend on it; None is the original length.
    inv_freq
        Radians per position, one per pair.
    attention_factor
        On cos and sin.
    softmax_factor
        That the encoding puts on the whole logit, beside the model's own scale.
    max_position_embeddings
        As the file has it; whether it includes the scaling differs between models.
    inverse
        Whether the model rotates by minus the angle.
    axes
        Where a pair's position comes from one of several axes; None: all from the one position of a token.
    """

    layout: str
    output_layout: str
    head_dim: int | None
    rotary_dim: int | None
    offset: int | None
    base: float
    scaling: Scaling | None
    seq_len: int | None
    inv_freq: tuple[float, ...] | None
    attention_factor: float | None
    softmax_factor: float
    max_position_embeddings: int | None
    inverse: bool = False
    axes: Axes | None = None


@dataclass(frozen=True)
class QueryScaleEncoding(Encoding):
    """A factor on the queries that grows with their position p.

    Parameters
    ----------
    rule
        ``"llama4"``: 1 + beta ln(1 + floor((p + shift) / length)); ``"log-n"``: ln(p + shift) / ln(length), at least 1.
    beta, length, shift
        As in the rule; beta is None where it has none.
    """

    rule: str
    beta: float | None
    length: int
    shift: int


@dataclass(frozen=True)
class AlibiEncoding(Encoding):
    """A bias that is linear in the distance.

    Parameters
    ----------
    num_heads, slopes
        One slope per head of the model.
    form
        As in :func:`posref.alibi_bias`; where softmax sees no difference, the simpler one.
    scale
        Of the bias before it is added to the scaled logits: 1, but 1/sqrt(head_dim) in Falcon.
    """

    num_heads: int | None
    slopes: tuple[float, ...] | None
    form: str
    scale: float | None


@dataclass(frozen=True)
class Bucket:
    """The relative positions k - q, from ``first`` to ``last``, that share a bucket; None is without end."""

    bucket: int
    first: int | None
    last: int | None


@dataclass(frozen=True)
class T5Encoding(Encoding):
    """A learned bias per bucket of relative positions, in the self-attention of one stack.

    Parameters
    ----------
    shared
        Whether all layers look up one table; else each has its own.
    scaled_logits
        Whether the logits that the bias is added to are divided by sqrt(head_dim) first.
    """

    stack: str
    num_heads: int | None
    num_buckets: int
    max_distance: int
    bidirectional: bool
    buckets: tuple[Bucket, ...]
    shared: bool = True
    scaled_logits: bool = False


@dataclass(frozen=True)
class DebertaEncoding(Encoding):
    """DeBERTa's disentangled attention: logits of content with a table of relative positions q - k, beside content with content.

    Parameters
    ----------
    terms
        ``"c2p"``, ``"p2c"`` or both; all logits are divided by sqrt(head_dim (1 + their number)).
    rows, dim
        Of the table, which all layers share; q - k = 0 is row rows / 2.
    max_relative_positions
        Where distances are clipped, or where the buckets end.
    position_buckets
        Logarithmic buckets on each side; None: every distance has its row.
    share_att_key
        Whether a layer's own projections of content serve for the table, too.
    """

    num_heads: int | None
    terms: tuple[str, ...]
    rows: int | None
    dim: int | None
    max_relative_positions: int | None
    position_buckets: int | None
    share_att_key: bool


@dataclass(frozen=True)
class RelativeEncoding(Encoding):
    """Logits that depend on the offset of a key from its query: a bias per head, or scores of queries with a row per offset.

    Parameters
    ----------
    stack
        As in :class:`LearnedEncoding`.
    num_heads
        Of the model, or of a stage of it.
    rows, dim
        Of the learned table, for each axis where there is one per axis: one number per head, or as many as a head has channels.
        None where offsets go through a network or are sinusoids; then ``dim`` is their width.
    window
        Rows and columns of the patches that see each other; None for a sequence.
    offset
        Which offset the rows are for, in rising order: ``"query_minus_key"`` or ``"key_minus_query"``.
    clip
        The first and the last offset that have a row, which stands for all beyond; None: there is no such limit.
    class_token
        Whether the table has three rows more, for a class token.
    shared
        Whether all layers look up one table; else each has its own.
    pretrained_window
        What Swin v2 measures its offsets by, where it is not the window.
    layout
        Of sinusoids, as in :func:`posref.sinusoidal`.
    """

    stack: str | None
    num_heads: int | None
    rows: int | None
    dim: int | None
    window: tuple[int, int] | None = None
    offset: str = "query_minus_key"
    clip: tuple[int, int] | None = None
    class_token: bool = False
    shared: bool = False
    pretrained_window: tuple[int, int] | None = None
    layout: str | None = None


@dataclass(frozen=True)
class LearnedEncoding(Encoding):
    """A learned table that is added to the embeddings.

    Parameters
    ----------
    stack
        ``"encoder"`` or ``"decoder"``; None where there is but one.
    rows, dim
        Of the table.
    offset
        The row of position 0, or of the first patch.
    grid
        Rows and columns of the patches that the table is for, row by row; None for a sequence.
    resampling
        How it is brought to another grid: ``"bilinear"`` or ``"bicubic"``; None: it is not.
    """

    stack: str | None
    rows: int | None
    dim: int | None
    offset: int
    grid: tuple[int, int] | None = None
    resampling: str | None = None


@dataclass(frozen=True)
class SinusoidalEncoding(Encoding):
    """Sinusoids that are added to the embeddings; ``base``, ``endpoint``, ``layout``, ``order`` as in :func:`posref.sinusoidal`.

    ``offset`` is the sinusoids' position for a model's position 0.
    """

    stack: str | None
    rows: int | None
    dim: int | None
    offset: int
    base: float
    endpoint: bool
    layout: str
    order: str


@dataclass(frozen=True)
class ModelPositions:
    """What a model's config means for positions.

    ``encodings`` is empty where the model is not known; ``notes`` has a line for each key that was ignored, defaulted,
    contradictory or unusual, and for what is not known.
    """

    model_type: str | None
    encodings: tuple[Encoding, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {
            "model_type": self.model_type,
            "encodings": [encoding.as_json() for encoding in self.encodings],
            "notes": list(self.notes),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    if isinstance(value, (Bucket, Axes)):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):  # a scaling: its kind is its name
        fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__, **fields}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a number that is not finite has no JSON form, got {value}")
    return value

"""Multi-head latent attention (DeepSeek): a head has channels without position, then channels that rotate.

Where an indexer chooses the keys that a query sees, its heads have their own rotation, of their first channels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from posref.models import shape
from posref.models._reading import Block, Reader
from posref.models.nope import MINISTRAL3_BLOCK, tempered
from posref.models.plain_rope import PlainRope
from posref.models.records import Encoding, RopeEncoding
from posref.models.rope import rope_encoding
from posref.models.rope_keys import OTHER_NAMES, RopeKeys, RopeParameters, read_parameters
from posref.models.shape import FULL, LINEAR, every


@dataclass(frozen=True)
class MLA:
    """Reads one such family; the sizes are the defaults of transformers' class for it.

    Parameters
    ----------
    nope, rope
        Channels without position, and channels that rotate.
    layout, output_layout
        Of the channels as they come out of the projection, and as they are after the rotation.
    switch
        Whether ``rope_interleave``, which transformers added for weights that were saved in the other order, counts.
    indexer
        Layout and output layout of an indexer's rotation; None: there is no indexer.
    kinds
        Which layers there are, where not all rotate.
    tempered
        Whether queries grow with their position, as Ministral 3's.
    """

    nope: int = 128
    rope: int = 64
    keys: RopeKeys = field(default_factory=lambda: RopeKeys(mla=True))
    layout: str = "interleaved"
    output_layout: str = "half"
    switch: bool = True
    indexer: tuple[str, str] | None = None
    kinds: shape.KindRule | None = None
    layer_keys: Sequence[str] = ("num_hidden_layers",)
    tempered: bool = False

    def __call__(self, config: Block) -> list[Encoding]:
        """The rotation of the heads, and that of the indexer's."""
        parameters = read_parameters(config, self.keys)
        nope = config.integer_or("qk_nope_head_dim", self.nope, most=shape.MOST_CHANNELS)
        rope = config.integer_or("qk_rope_head_dim", self.rope, most=shape.MOST_CHANNELS)
        layout, output = self._layouts(config)
        layers = self._layers(config)
        more = tempered(config, parameters, layers) if self.tempered else []
        head = rope_encoding(
            config,
            parameters,
            head_dim=nope + rope,
            rotary_dim=rope,
            offset=nope,
            layers=layers,
            layout=layout,
            output_layout=output,
            part="mla",
            softmax_factor=softmax_factor(parameters),
        )
        if self.indexer is not None:
            more = [self._indexer(config, head, self.indexer)]
        return [head, *more]

    def _indexer(self, config: Block, head: RopeEncoding, layouts: tuple[str, str]) -> RopeEncoding:
        """The rotation of the heads that choose the keys: of their first channels."""
        channels = config.integer_or("index_head_dim", 128, most=shape.MOST_CHANNELS)
        rope = head.rotary_dim or 0
        if rope > channels:
            raise ValueError(f"index_head_dim must be at least qk_rope_head_dim {rope}, got {channels}")
        told = config.boolean("indexer_rope_interleave")
        if told is not None and told != (layouts[0] == "interleaved"):
            text = f"indexer_rope_interleave is {str(told).lower()}, but this model's indexer has {layouts[0]} pairs"
            config.note("contradictory", text)
        indexer = replace(head, part="indexer", head_dim=channels, offset=0, softmax_factor=1.0)
        layers = indexer_layers(config, head.layers)
        return replace(indexer, layout=layouts[0], output_layout=layouts[1], layers=layers)

    def _layouts(self, config: Block) -> tuple[str, str]:
        told = config.boolean("rope_interleave")
        if self.layout == "half" or (self.switch and told is False):
            return "half", "half"
        if told is False:
            config.note("contradictory", "rope_interleave is false, but transformers' class does not look at it")
        return self.layout, self.output_layout

    def _layers(self, config: Block) -> tuple[int, ...] | None:
        if self.kinds is None:
            return shape.layers(config, self.layer_keys)
        kinds = shape.layer_kinds(config, self.kinds)
        shape.note_nope(config, kinds, (FULL,))
        return shape.of_kind(kinds, FULL)


def softmax_factor(rope: RopeParameters) -> float:
    """On the whole logit: g(mscale_all_dim) ** 2, with g(m) = 0.1 m ln s + 1 where the factor s > 1, and 1 otherwise.

    Source: DeepSeek-V2 (2405.04434) and its released code; transformers' DeepseekV3Attention.
    """
    mscale, factor = rope.block.number("mscale_all_dim", least=0), getattr(rope.scaling, "factor", None)
    if rope.block.reading.framework == "vllm" and rope.block.number("attention_factor", least=0) == 1:
        rope.block.note("unusual", "vllm leaves out DeepSeek's factor on the logits where attention_factor is 1")
        return 1.0
    if not mscale or factor is None or factor <= 1:
        return 1.0
    g = 0.1 * mscale * math.log(factor) + 1
    if not math.isfinite(g * g):
        raise ValueError(f"{rope.block.name('mscale_all_dim')} must leave finite logits, got {mscale:g}")
    return g * g


def indexer_layers(config: Block, layers: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The layers with an indexer of their own; the others use that of a layer before."""
    if layers is None:
        return None
    types = config.words("indexer_types", most=shape.MOST_LAYERS)
    if types is None and config.raw("index_topk_pattern") is not None:
        types = tuple({"F": "full"}.get(letter, "shared") for letter in config.word("index_topk_pattern") or "")
    if types is None:
        every_nth = config.integer("index_topk_freq", most=shape.MOST_LAYERS) or 1
        offset = config.integer("index_skip_topk_offset", least=0, most=shape.MOST_LAYERS)
        first = 2 if offset is None else offset
        return tuple(i for i in layers if max(i - first + 1, 0) % every_nth == 0)
    return tuple(i for i in layers if i < len(types) and types[i] == "full")


def deepseek_v2(config: Block) -> list[Encoding]:
    """DeepSeek-V2; where ``use_mla`` is false (DeepSeek-OCR's and the smallest VL2's text), a Llama's attention."""
    if config.boolean("use_mla") is not False:
        return MLA(output_layout="interleaved", switch=False)(config)
    config.note("unusual", f"{config.name('use_mla')} is false: whole heads rotate, as halves, by the model's own code")
    return PlainRope(channels=shape.divided)(config)


MISTRAL4_BLOCK = {**MINISTRAL3_BLOCK, "rope_theta": 10000.0, "factor": 128.0, "original_max_position_embeddings": 8192}
YARN_BY_OTHER_NAME = {**OTHER_NAMES, "deepseek_yarn": "yarn"}

FAMILIES: dict[str, Reader] = {
    "axk1": MLA(),
    "bailing_hybrid": MLA(
        keys=RopeKeys(base=6e6, mla=True), switch=False, kinds=every("layer_group_size", 6, FULL, LINEAR)
    ),
    "deepseek_v2": deepseek_v2,
    "deepseek_v3": MLA(),
    "deepseek_v32": MLA(switch=False, indexer=("half", "half")),
    "glm4_moe_lite": MLA(192, 64),
    "glm_moe_dsa": MLA(192, 64, switch=False, indexer=("interleaved", "half")),
    "longcat_flash": MLA(keys=RopeKeys(base=1e7, mla=True), switch=False, layer_keys=("num_layers",)),
    "minicpm3": MLA(64, 32, layout="half"),
    "mistral4": MLA(64, 64, keys=RopeKeys(block=MISTRAL4_BLOCK, mla=True), tempered=True),
    "sarvam_mla": MLA(keys=RopeKeys(older_types=YARN_BY_OTHER_NAME, mla=True)),
    "youtu": MLA(),
}

"""Whose reading of a config: where frameworks read the same rope keys differently.

transformers' reading is held against its own classes. Of the others, what they do with rope keys was read in their code, both in
what their models share and in the models themselves: only the families whose model hands over the keys as they stand are here.
Sizes, layers and layout are taken to be those of transformers' class, which a note says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from posref._arguments import choice, shown
from posref.models import other_scalings as other
from posref.models._reading import Block, NotKnown, Refused
from posref.models.records import Encoding, QueryScaleEncoding, RopeEncoding
from posref.models.scalings import KINDS, Kind

NEW, OLD = "rope_parameters", "rope_scaling"


@dataclass(frozen=True)
class Family:
    """What was looked at of a family of models in a framework.

    Parameters
    ----------
    kinds
        Its rope types; None is all of the framework's.
    base
        ``rope_theta`` where a file has none: ``"class"`` is that of transformers' class, None that it was not looked at.
    blocks
        Under which names it looks for the rope block.
    keys
        The keys that it takes from there; None is all.
    unscaled
        Whether it takes nothing from the rope block but its ``rope_theta``.
    """

    kinds: Collection[str] | None = None
    base: float | str | None = "class"
    blocks: Collection[str] = (NEW, OLD)
    keys: Collection[str] | None = None
    unscaled: bool = False


@dataclass(frozen=True)
class Framework:
    """What a framework does with rope keys.

    Parameters
    ----------
    version
        The release that was looked at.
    kinds
        Its rope types.
    unread
        Rope types of which it was not looked at what it makes of them; it refuses all others.
    families
        The models that were looked at; None is all.
    class_kinds
        Whether what a rope type means may depend on the family of models, as in transformers.
    older_type_wins
        ``type`` before ``rope_type``.
    one_type
        Whether it refuses a block that has both, and they differ.
    axes
        How it spreads M-RoPE's pairs: ``"class"`` by the family, ``"flag"`` by ``mrope_interleaved``, ``"spare"`` as the family,
        but pairs that are left over turn by a fourth axis, ``"text"`` not at all.
    remark
        What else its reading is to be taken with.
    """

    name: str
    version: str
    kinds: Mapping[str, Kind] = field(default_factory=lambda: KINDS)
    unread: Sequence[str] = ("xdrope",)
    families: Mapping[str, Family] | None = None
    class_kinds: bool = False
    older_type_wins: bool = False
    one_type: bool = False
    axes: str = "class"
    remark: str = "the rest is as in transformers' class"

    def two_types(self, block: Block, new: str, old: str) -> None:
        """Say that a block has both spellings, and that they differ."""
        told = f"{block.where} has rope_type {shown(new)} and type {shown(old)}"
        if self.one_type and (old, new) not in (("su", "longrope"), ("mrope", "default")):
            raise Refused(told)
        used = "latter" if self.older_type_wins else "former"
        block.note("contradictory", f"{told}; the {used} is used")

    def family(self, config: Block) -> Family:
        """What was looked at of a file's model."""
        if self.families is None:
            return ALL
        family = self.families.get(config.family or "")
        if family is None:
            raise NotKnown(f"its model in {self.name}")
        return family

    def check_kind(self, config: Block, block: Block, kind: str, of_class: Collection[str]) -> None:
        """Refuse a rope type that it does not have; it is not known where it was not looked at.

        ``of_class`` are the rope types that the class of the family adds, or that it takes for something else.
        """
        family = self.family(config)
        if kind in self.unread or (family.kinds is not None and kind not in family.kinds):
            raise NotKnown(f"rope type {kind!r} in {self.name}")
        if kind not in self.kinds and not (self.class_kinds and kind in of_class):
            raise Refused(f"rope type {kind!r} is unknown to it")
        dropped = [] if family.keys is None else [key for key in block.values if key not in family.keys]
        if dropped:
            raise NotKnown(f"{dropped[0]} in {self.name}")


ALL = Family()


def _of(names: str, family: Family = ALL) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


TOLD = Family(base=None)  # rope_theta must stand in the file
PLAIN = Family(("default",), None)
VLLM = _of(
    "llama mistral ministral3 mixtral qwen2 qwen2_moe qwen3 qwen3_moe phi3 cohere cohere2 granite olmoe exaone4 exaone_moe"
    " apertus nemotron stablelm falcon_h1 deepseek_v2 deepseek_v3 llama4_text gemma4_text"
    " qwen2_vl_text qwen2_5_vl_text qwen3_vl_text qwen3_vl_moe_text"
    " exaone falcon gemma gemma2 gemma3_text glm4 glm4_moe modernbert qwen3_next"
) | {
    **_of("minicpm internlm2 orion kimi_k2", TOLD),
    "gpt_oss": Family(
        ("yarn",),
        keys=(
            "rope_theta",
            "rope_type",
            "type",
            "factor",
            "original_max_position_embeddings",
            "beta_fast",
            "beta_slow",
            "truncate",
        ),
    ),
}
SGLANG = _of(
    "llama mistral ministral3 phi3 qwen2 qwen2_moe qwen3 qwen3_moe cohere cohere2 granite olmoe olmo2 exaone4 exaone_moe apertus"
    " arcee glm4 glm4_moe falcon_h1 deepseek_v2 deepseek_v3 gpt_oss llama4_text gemma4_text"
    " qwen2_vl_text qwen2_5_vl_text qwen3_vl_text qwen3_vl_moe_text"
) | {
    **_of("minicpm internlm2 orion kimi_k2", TOLD),
    **_of("gemma gemma2 gemma3_text mixtral starcoder2", Family(unscaled=True)),
}
MLX = {
    **_of("llama mistral bitnet olmo2 olmoe seed_oss deepseek_v3 kimi_k2", Family(base=10000.0, blocks=(OLD,))),
    **_of("apertus exaone granite minicpm qwen2 qwen2_vl_text qwen2_5_vl_text", Family(base=None, blocks=(OLD,))),
    **_of("qwen3 qwen3_vl_text", TOLD),
    **_of("ministral3 gemma4_text", Family(base=None, blocks=(NEW,))),
    "gpt_oss": Family(base=None, blocks=(OLD,)),
    "phi3": Family(("default", "longrope"), None, (OLD,)),
    **_of("gemma gemma2", Family(base=10000.0, blocks=(OLD,), unscaled=True)),
    "cohere": Family(base=8e6, blocks=(OLD,), unscaled=True),
    "cohere2": Family(base=50000.0, blocks=(OLD,), unscaled=True),
    "mixtral": Family(base=1e6, blocks=(OLD,), unscaled=True),
    **_of("glm4_moe gpt_neox qwen3_moe", Family(base=None, blocks=(OLD,), unscaled=True)),
    "qwen3_next": Family(base=None, blocks=(OLD,)),
    "starcoder2": Family(base=100000.0, blocks=(OLD,), unscaled=True),
}
EXLLAMA = {
    **_of(
        "llama mistral mixtral arcee apertus seed_oss smollm3 cohere cohere2 dots1 exaone4 phi3 ministral3 ernie4_5 ernie4_5_moe"
        " qwen2 qwen3 qwen3_moe gpt_oss deepseek_v3 gemma2 glm4_moe qwen3_next",
        Family(base=10000.0),
    ),
    **_of("qwen2_5_vl_text qwen3_vl_text qwen3_vl_moe_text gemma4_text", TOLD),
}
GGML = {
    **_of("qwen2_vl_text qwen2_5_vl_text qwen3_vl_text qwen3_vl_moe_text", PLAIN),
    **_of("llama mistral mixtral", Family(("default", "linear", "llama3"), None)),
    "phi3": Family(("default", "longrope"), None),
    **_of("qwen2 qwen3", Family(("default", "yarn"), None)),
    "gpt_oss": Family(("yarn",), None),
}

FRAMEWORKS: Mapping[str, Framework] = {
    framework.name: framework
    for framework in (
        Framework("transformers", "5.24", unread=(), class_kinds=True),
        Framework("vllm", "0.33.0", other.VLLM, families=VLLM, one_type=True, axes="flag"),
        Framework("sglang", "0.5.23", other.SGLANG, families=SGLANG, axes="flag"),
        Framework("mlx", "0.32.2 (mlx-lm)", other.MLX, families=MLX, older_type_wins=True, axes="text"),
        Framework("exllamav3", "1.6.5", other.EXLLAMA, families=EXLLAMA, axes="flag"),
        Framework(
            "ggml",
            "d99724f2",
            other.GGML,
            ("dynamic", "proportional", "gptj", "xdrope"),
            GGML,
            axes="spare",
            remark="the rest is as in transformers' class, the order of channels too, which converters change",
        ),
    )
}


def framework_of(block: Block) -> Framework:
    """The one whose reading is asked for."""
    return FRAMEWORKS[block.reading.framework]


def checked_framework(name: object) -> str:
    """The name of a framework."""
    return choice(name, "framework", tuple(FRAMEWORKS))


def looked_at(config: Block, encodings: Sequence[Encoding]) -> list[Encoding]:
    """What is known of a framework's reading: the rotations of text, and the factors on its queries."""
    framework = framework_of(config)
    if framework.families is None:
        return list(encodings)
    known: list[Encoding] = [
        e for e in encodings if isinstance(e, (RopeEncoding, QueryScaleEncoding)) and e.component == "text"
    ]
    if known:
        config.note(
            "framework", f"{framework.name} {framework.version}: its reading of the rope keys; {framework.remark}"
        )
    for left in sorted({f"{e.component}: {e.encoding}" for e in encodings if e not in known}):
        config.note("not known yet", f"{left} in {framework.name}")
    return known

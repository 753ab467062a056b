"""Faults that were really made and that no wrong function of the contract can show, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unexpressed:
    """A fault that the suite cannot plant.

    Parameters
    ----------
    sentence
        What was wrong.
    reason
        Why no function of the contract can be wrong in this way, and what comes nearest.
    source
        Where it was seen, one or more separated by ``"; "``.
    """

    sentence: str
    reason: str
    source: str


UNEXPRESSED = (
    Unexpressed(
        "Keys in a cache keep the rotation of the frequencies of their time, after the length has changed them.",
        "Each call is right for its length: which frequencies an old key should have is for the cache to say. "
        "posref.RopeHistory gives the tables that a model really used.",
        "huggingface/transformers issue #25104; ggml-org/llama.cpp PR #24875",
    ),
    Unexpressed(
        "A factor in the config is overwritten by max / original.",
        "The functions get the factor that the reader of the config has settled on; posref.models.read_config is tested for it.",
        "huggingface/transformers issue #38224",
    ),
    Unexpressed(
        "A factor is applied in layers that have none, or left out in those that have one; layers without rotation are rotated.",
        "Which layer has which encoding stands in the config: posref show tells it. Nearest: scaling-ignored, not-rotated.",
        "lablup/mlxcel issue #1340; antonellof/ferrox issue #39; huggingface/transformers PR #37344; "
        "NVIDIA/TensorRT-LLM PR #3382",
    ),
    Unexpressed(
        "A bias is used in cross-attention, where none belongs, or the weights are taken for the bias.",
        "It is the model that passes on a bias. Nearest: t5-always-bidirectional, bias-left-out.",
        "huggingface/transformers PR #8518; guillaume-be/rust-bert PR #171; huggingface/transformers PR #4499",
    ),
    Unexpressed(
        "The number of heads without a bias is read from the wrong axis.",
        "alibi_slopes and alibi_bias are for the heads that have one; the rest is the caller's.",
        "lucidrains/x-transformers PR #85",
    ),
    Unexpressed(
        "The difference between positions and tokens is computed from a part of the prompt, and used in decoding later.",
        "Positions are an argument. Nearest: positions-from-1, counts-from-0.",
        "vllm-project/vllm PR #10403",
    ),
    Unexpressed(
        "The grid of one image is overwritten by that of the next.",
        "grid_positions is for one grid. Nearest: grid-sizes-exchanged.",
        "lightseekorg/tokenspeed PR #490",
    ),
    Unexpressed(
        "One row of a batch that is longer than the others changes the frequencies of all.",
        "seq_len is one number for a call. Nearest: longest-length-kept.",
        "InternLM/lmdeploy issue #536",
    ),
    Unexpressed(
        "Queries and keys have strides of their own, and a kernel uses those of one for both.",
        "A rotation gets one array at a time. Nearest: strides-ignored.",
        "sgl-project/sglang issue #20559; sgl-project/sglang PR #20598",
    ),
    Unexpressed(
        "Offsets beyond 2**31 elements wrap around.",
        "An array that long does not fit into a test. Nearest: positions-in-int32, rows-beyond-65535.",
        "microsoft/onnxruntime PR #31995; linkedin/Liger-Kernel PR #1342",
    ),
    Unexpressed(
        "In a decomposed bias of three axes, one of them is contracted with another's table, which cubes hide.",
        "The contract has two axes. Nearest: window-height-and-width-exchanged, height-and-width-exchanged.",
        "Project-MONAI/MONAI PR #8890",
    ),
    Unexpressed(
        "Only the first rank of a context-parallel group is tested.",
        "This is a gap in a test, and no wrong function. Nearest: bias-queries-from-0.",
        "NVIDIA/TransformerEngine PR #3057",
    ),
)

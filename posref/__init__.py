"""The correctness oracle for position encodings: the mathematics, in NumPy, readable as a specification."""

from posref.additive.learned_rows import learned
from posref.additive.sinusoids import sinusoidal
from posref.additive.timesteps import timestep_embedding
from posref.bias.alibi import alibi_bias, alibi_slopes
from posref.bias.t5 import t5_bias, t5_bucket
from posref.judge import attention
from posref.rotary.frequencies import rope_attention_factor, rope_inv_freq
from posref.rotary.rotation import rope, rope_apply
from posref.rotary.scaling import (
    DynamicNTKScaling,
    LinearScaling,
    Llama3Scaling,
    LongRopeScaling,
    NTKScaling,
    Scaling,
    YarnScaling,
)
from posref.rotary.tables import rope_cos_sin, rope_table

__version__ = "0.1.0"

__all__ = [
    "DynamicNTKScaling",
    "LinearScaling",
    "Llama3Scaling",
    "LongRopeScaling",
    "NTKScaling",
    "Scaling",
    "YarnScaling",
    "__version__",
    "alibi_bias",
    "alibi_slopes",
    "attention",
    "learned",
    "rope",
    "rope_apply",
    "rope_attention_factor",
    "rope_cos_sin",
    "rope_inv_freq",
    "rope_table",
    "sinusoidal",
    "t5_bias",
    "t5_bucket",
    "timestep_embedding",
]

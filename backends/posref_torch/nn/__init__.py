"""Modules that encode positions: thin, exact, and safe to cast, copy, compile and start on the meta device."""

from posref_torch.nn.additive import LearnedEncoding, SinusoidalEncoding
from posref_torch.nn.bias import ALiBi, T5Bias
from posref_torch.nn.position_encoding import PositionEncoding
from posref_torch.nn.rotary import RotaryEmbedding

__all__ = ["ALiBi", "LearnedEncoding", "PositionEncoding", "RotaryEmbedding", "SinusoidalEncoding", "T5Bias"]

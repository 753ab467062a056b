"""Sinusoids on several axes and Fourier features, on torch. See posref for the formulas."""

from posref_array import features
from posref_torch._bind import on_torch

sinusoidal_axes = on_torch(features.sinusoidal_axes)
frequency_bands = on_torch(features.frequency_bands)
fourier_features = on_torch(features.fourier_features)

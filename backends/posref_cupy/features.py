"""Sinusoids on several axes and Fourier features, on CuPy. See posref for the formulas."""

from posref_array import features
from posref_cupy._bind import on_cupy

sinusoidal_axes = on_cupy(features.sinusoidal_axes)
frequency_bands = on_cupy(features.frequency_bands)
fourier_features = on_cupy(features.fourier_features)

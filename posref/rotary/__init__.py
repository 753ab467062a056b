"""Encodings that rotate pairs of channels of queries and keys, in three steps: frequencies, cos and sin, rotation."""

"""Encodings that are added to the attention logits and depend on positions alone."""

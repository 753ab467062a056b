"""Encodings that are added to the embeddings."""

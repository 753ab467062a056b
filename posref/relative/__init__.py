"""Terms of the logits that depend on a query, a key or what lies between them, and on how far they are apart."""

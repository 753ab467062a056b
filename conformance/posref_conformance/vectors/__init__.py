"""Checks as files, for programs in any language: inputs and parameters to read, outputs to write and have judged.

A folder of vectors holds

- ``manifest.json``: what is asked, in the shape of ``schemas/vectors.json``;
- ``inputs/FUNCTION/CASE/DTYPE.safetensors``: tensors ``CALL/ARGUMENT``, calls counted from 0;
- ``expected/FUNCTION/CASE/DTYPE.safetensors``: tensors ``CALL/OUTPUT`` in float64, and for each type that the output may have
  ``CALL/OUTPUT/bound/TYPE`` or, with precision profiles, ``CALL/OUTPUT/bound/TYPE/PROFILE``.

A program writes ``FUNCTION/CASE/DTYPE.safetensors`` with tensors ``CALL/OUTPUT`` into a folder of its own.
"""

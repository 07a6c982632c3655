"""The arithmetic: plain functions of floats and of NamedTuples of floats, in the subset of Python that Numba compiles.

The law of this room:

- one formula a function, one subject a file; no strings, no engine names, no hardware names;
- every number is a float in SI units (bytes, seconds, bytes per second, tokens, cores); counts too, since integers
  wrap silently when compiled and floats are exact up to 2^53;
- nothing but ``math`` and ``typing`` is imported, above all not Numba: ``kvplan.compiled`` registers these same
  functions with the compiler, and a test holds both speeds to bit-identical results;
- an uncertain figure enters as three whole plans (optimistic, best, pessimistic), so that a formula is written once
  for one set of numbers and an interval is three calls.
"""

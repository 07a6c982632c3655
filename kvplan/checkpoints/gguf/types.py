"""How ggml stores tensors: elements and bytes of a block of each type, and what the mixes of whole files are called.

Sources: the block structs of ggml-common.h and the numbers of ggml.h and llama.h, as the ``gguf`` package 0.19 lists
them. A number that is missing here was withdrawn (Q4_0_4_4 and its kin are repacked when they are loaded now).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class TensorType(NamedTuple):
    """One ggml type: rows are stored in blocks of so many elements."""

    name: str
    block_elements: int
    block_bytes: int


TENSOR_TYPES: Final[dict[int, TensorType]] = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 40),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
}

FILE_TYPES: Final[dict[int, str]] = {
    0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s",
    12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs",
    20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs", 23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m",
    28: "iq2_s", 29: "iq2_m", 30: "iq4_xs", 31: "iq1_m", 32: "bf16", 36: "tq1_0", 37: "tq2_0", 38: "mxfp4_moe",
    39: "nvfp4_gguf", 40: "q1_0",
}  # fmt: skip
"""``general.file_type`` -> the weight scheme of that mix; 1024 means "guessed" and tells nothing."""

MIX_OF_TYPE: Final[dict[str, str]] = {
    "F32": "fp32", "F64": "fp32", "F16": "fp16", "BF16": "bf16", "Q4_0": "q4_0", "Q4_1": "q4_1", "Q5_0": "q5_0",
    "Q5_1": "q5_1", "Q8_0": "q8_0", "Q8_1": "q8_0", "Q8_K": "q8_0", "I8": "q8_0", "Q2_K": "q2_k", "Q3_K": "q3_k_m",
    "Q4_K": "q4_k_m", "Q5_K": "q5_k_m", "Q6_K": "q6_k", "IQ2_XXS": "iq2_xxs", "IQ2_XS": "iq2_xs", "IQ2_S": "iq2_s",
    "IQ3_XXS": "iq3_xxs", "IQ3_S": "iq3_s", "IQ1_S": "iq1_s", "IQ1_M": "iq1_m", "IQ4_NL": "iq4_nl",
    "IQ4_XS": "iq4_xs", "TQ1_0": "tq1_0", "TQ2_0": "tq2_0", "MXFP4": "mxfp4_moe", "NVFP4": "nvfp4_gguf",
    "Q1_0": "q1_0",
}  # fmt: skip
"""The type that holds most bytes of a file -> the mix that it is nearest to, for files that don't name their mix."""

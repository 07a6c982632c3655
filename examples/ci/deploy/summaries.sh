#!/bin/sh
# Tight: one request of the whole length fits on this card, with less to spare than the estimate is sure of.
exec docker run --gpus '"device=0"' --ipc=host -p 8001:8000 vllm/vllm-openai:v0.10.2 \
  --model Qwen/Qwen3-32B \
  --max-model-len 16384 \
  --gpu-memory-utilization 0.9

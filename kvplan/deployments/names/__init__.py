"""What names stand for: GGUF files, Ollama tags, quantized checkpoints, GPU labels, cloud instances."""

#!/bin/sh
# Three models on three hosts, from the JSON that kvplan prints. Needs kvplan and jq on PATH.
#
#     examples/matrix.sh [CONTEXT [USERS]]
set -eu

context=${1:-32k}
users=${2:-4}

row='%-24s %-12s %-9s %-24s %6s %9s\n'
# shellcheck disable=SC2059
printf "$row" MODEL HOST VERDICT STRATEGY USERS MS/TOKEN

for model in llama3-8b qwen3-32b llama3-70b; do
  # Several hosts give one matrix. Exit code 1 says that nothing fits anywhere, which is an answer too.
  kvplan fit --model "$model" --host rtx4090 --host h100-server --host m3-ultra \
    --context "$context" --users "$users" --format json || [ $? -eq 1 ]
done | jq -r '
  .fits[]
  | .verdict as $verdict
  | ([.strategies[] | select(.id == $verdict.strategy)] | first) as $best
  | [ .model.name,
      .host.name,
      ($verdict.outcome | ascii_upcase),
      ($verdict.strategy // $verdict.bound_by),
      ($best.users_max.best // "-"),
      (if $best.itl_s then ($best.itl_s.best * 10000 | round / 10) else "-" end)
    ]
  | @tsv
' | while IFS='	' read -r model host verdict strategy most ms; do
  # shellcheck disable=SC2059
  printf "$row" "$model" "$host" "$verdict" "$strategy" "$most" "$ms"
done

# Annotations to the log, Markdown to the job's summary, SARIF and the comment's text to files. The exit code of kvplan
# becomes an output, so that the steps behind this one run in any case.
set -euo pipefail
kvplan=${KVPLAN_COMMAND:-$RUNNER_TEMP/kvplan/bin/kvplan}
out=$RUNNER_TEMP/kvplan-out
rm -rf "$out"
mkdir -p "$out"

paths=()
while IFS= read -r path; do
  [[ -z $path ]] || paths+=("$path")
done <<<"$KVPLAN_PATHS"
[[ ${#paths[@]} -gt 0 ]] || paths=(.)

options=(--fail-on "$KVPLAN_FAIL_ON")
[[ -z $KVPLAN_HOST ]] || options+=(--host "$KVPLAN_HOST")
[[ -z $KVPLAN_BASELINE ]] || options+=(--baseline "$KVPLAN_BASELINE")
[[ $KVPLAN_ALLOW_EMPTY != true ]] || options+=(--allow-empty)

code=0
"$kvplan" check "${options[@]}" --format github --output "markdown=$out/check.md" --output "sarif=$out/kvplan.sarif" \
  -- "${paths[@]}" || code=$?

echo '<!-- kvplan action -->' >"$out/comment.md"
if [[ -n $KVPLAN_BASE ]]; then
  # What changes is for the reader; whether the job fails is up to the check.
  "$kvplan" diff "${options[@]}" --exit-zero --allow-empty --format markdown -- "$KVPLAN_BASE" HEAD "${paths[@]}" \
    >"$out/diff.md" || echo "kvplan diff could not compare with the base" >"$out/diff.md"
  cat "$out/diff.md" >>"$out/comment.md"
  echo >>"$out/comment.md"
fi
[[ ! -f $out/check.md ]] || cat "$out/check.md" >>"$out/comment.md"
cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"

echo "exit-code=$code" >>"$GITHUB_OUTPUT"
[[ ! -f $out/kvplan.sarif ]] || echo "sarif-file=$out/kvplan.sarif" >>"$GITHUB_OUTPUT"

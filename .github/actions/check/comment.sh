# One comment, found again by its hidden first line. A pull request from a fork has no right to write: its annotations
# and the job's summary say the same. A comment that can't be written never fails the job.
set -euo pipefail
text=$RUNNER_TEMP/kvplan-out/comment.md
marker='<!-- kvplan action -->'
if [[ -z $KVPLAN_PULL_REQUEST ]]; then
  echo "not a pull request: no comment"
  exit 0
fi
if [[ $KVPLAN_HEAD_REPOSITORY != "$GITHUB_REPOSITORY" ]]; then
  echo "::notice::this pull request comes from a fork: see the job's summary instead of a comment"
  exit 0
fi

# GitHub takes 65,536 characters.
if [[ $(wc -c <"$text") -gt 60000 ]]; then
  head -c 60000 "$text" | iconv -c -f UTF-8 -t UTF-8 | sed '$d' >"$text.short"
  printf '\nThe rest is in the summary of the job.\n' >>"$text.short"
  text=$text.short
fi

comments=repos/$GITHUB_REPOSITORY/issues/$KVPLAN_PULL_REQUEST/comments
mine=".[] | select(.body | startswith(\"$marker\")) | .id"
id=$(gh api --paginate "$comments" --jq "$mine" | sed -n 1p) || id=
if [[ -n $id ]]; then
  request=(--method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id")
else
  request=(--method POST "$comments")
fi
if ! gh api "${request[@]}" --field "body=@$text" --silent; then
  echo "::notice::the comment could not be written (pull-requests: write is needed): see the job's summary"
fi

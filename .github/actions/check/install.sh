# Into an environment of its own: a released version, or the sources that this script is a part of.
set -euo pipefail
python3 -m venv "$RUNNER_TEMP/kvplan"
if [[ -n $KVPLAN_VERSION ]]; then
  what="kvplan==$KVPLAN_VERSION"
else
  what=$(cd "$KVPLAN_ACTION/../../.." && pwd)
fi
"$RUNNER_TEMP/kvplan/bin/python" -m pip install --quiet --disable-pip-version-check -- "$what"

#!/bin/sh
# One would guess: k folds of ml-cross-validation hold each sample once, whether or not their number is a multiple of k.
# In fact folds have the number divided by k and rounded down, those beyond the first k are dropped, and only a rest smaller than one fold is kept: of
# 19 samples in 10 folds 9 are neither trained on nor tested, of 99 in 10 folds 9, of 149 in 50 folds 48. Which ones is drawn anew each time,
# so it looks like noise. With 101 samples and 5 folds all are there.
# Version: ml-cross-validation 1.3.0. Source: ml-cross-validation/src/getFolds.js, folds.slice(0, k).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts ml-cross-validation@1.3.0
cat >probe.cjs <<'END'
const { getFolds } = require("ml-cross-validation");

const seen = [];
for (const [samples, k] of [[10, 5], [101, 5], [19, 10], [99, 10], [149, 50]]) {
    const folds = getFolds(Array(samples).fill(0), k);
    const tested = new Set(folds.flatMap((fold) => fold.testIndex)).size;
    const trained = new Set(folds.flatMap((fold) => fold.trainIndex)).size;
    console.log(samples, "samples,", folds.length, "folds:", tested, "tested,", trained, "trained on");
    seen.push(tested, trained);
}
process.exit(JSON.stringify(seen) === "[10,10,101,101,10,10,90,90,101,101]" ? 0 : 1);
END
echo ml-cross-validation "$(node -p "require('./node_modules/ml-cross-validation/package.json').version")"
node probe.cjs 2>err || { cat err; exit 1; }

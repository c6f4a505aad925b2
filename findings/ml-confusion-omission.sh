#!/bin/sh
# One would guess: getFalseOmissionRate(label) of ml-confusion-matrix is the share of positives among the samples called negative, 1 -
# getNegativePredictiveValue(label), as the page it links to defines it.
# In fact it divides by the positives, and so is the miss rate, getFalseNegativeRate, under another name: a model that finds one of four positives
# among 1000 samples omits 0.003 of those it calls negative, and is reported with 0.75.
# Version: ml-confusion-matrix 2.0.0. Source: ml-confusion-matrix/src/index.ts, getFalseOmissionRate, FN + getTruePositiveCount.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts ml-confusion-matrix@2.0.0
cat >probe.mjs <<'END'
import { ConfusionMatrix } from "ml-confusion-matrix";

const truth = Array.from({ length: 1000 }, (_, i) => (i < 4 ? 1 : 0));
const predicted = truth.map((_, i) => (i < 1 ? 1 : 0));
const matrix = ConfusionMatrix.fromLabels(truth, predicted);
const omission = matrix.getFalseOmissionRate(1);
const usual = 1 - matrix.getNegativePredictiveValue(1);
console.log("false omission rate", omission, "1 - negative predictive value", usual.toFixed(3), "miss rate", matrix.getFalseNegativeRate(1));
process.exit(omission === 0.75 && usual.toFixed(3) === "0.003" && matrix.getFalseNegativeRate(1) === 0.75 ? 0 : 1);
END
echo ml-confusion-matrix "$(node -p "require('./node_modules/ml-confusion-matrix/package.json').version")"
node probe.mjs 2>err || { cat err; exit 1; }

#!/bin/sh
# One would guess: r2 of score(x, y) in ml-regression is the coefficient of determination of the model's predictions, as score() of scikit-learn:
# 1 for right ones, 0 for a model as good as the mean, less than 0 for a worse one.
# In fact it is the square of the correlation between predictions and values, which does not see their scale, offset or sign: a line that was
# fitted in other units and predicts ten times too much has r2 = 1, one that predicts a fall where the values rise has r2 = 1 as well, where the
# coefficient of determination is -485 and -525. On the points of the fit both agree, so only held-out data tell. Its regressions of one variable
# inherit this.
# Version: ml-regression-simple-linear 3.0.1, ml-regression-base 4.0.1. Source: ml-regression-base/src/BaseRegression.ts, score.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts ml-regression-simple-linear@3.0.1 ml-regression-base@4.0.1
cat >probe.mjs <<'END'
import { SimpleLinearRegression } from "ml-regression-simple-linear";

const model = new SimpleLinearRegression([1, 2, 3, 4], [10, 20, 30, 40]);
const round = (value) => Math.round(value * 1000) / 1000;
const seen = [];
for (const values of [[10, 20, 30, 40], [1, 2, 3, 4], [4, 3, 2, 1]]) {
    const mean = values.reduce((sum, value) => sum + value) / values.length;
    const sum = (term) => values.reduce((total, value, i) => total + term(value, i) ** 2, 0);
    const usual = 1 - sum((value, i) => value - model.predict(i + 1)) / sum((value) => value - mean);
    const { r2 } = model.score([1, 2, 3, 4], values);
    console.log("predictions 10, 20, 30, 40, values", values.join(", ") + ": r2", round(r2), "coefficient of determination", round(usual));
    seen.push(round(r2), round(usual));
}
process.exit(JSON.stringify(seen) === "[1,1,1,-485,1,-525]" ? 0 : 1);
END
for package in ml-regression-simple-linear ml-regression-base; do
    echo "$package" "$(node -p "require('./node_modules/$package/package.json').version")"
done
node probe.mjs 2>err || { cat err; exit 1; }

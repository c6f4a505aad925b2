#!/bin/sh
# One would guess: a fit of regression, a library of npm for fitting curves, has the digits of its data in the equation, or at least predicts with all
# of them and rounds only the text that it prints.
# In fact the coefficients are rounded to two decimals (not to two digits) before they are used, by predict(), by points and by r2: a slope of
# 0.003 becomes 0, so a learning curve that rises by 0.003 in each epoch is flat, and its perfect fit has r2 = -0.56; an exponential decay with
# a rate of 0.0021 becomes a constant. The option {precision: 12} helps, and must be chosen by the size of the numbers.
# Version: regression 2.0.1. Source: regression/src/regression.js, DEFAULT_OPTIONS and round.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts regression@2.0.1
cat >probe.mjs <<'END'
import regression from "regression";

const rising = [0, 1, 2, 3].map((epoch) => [epoch, 0.503 + 0.003 * epoch]);
const falling = [0, 1000, 2000, 3000].map((step) => [step, 2.3 * Math.exp(-0.0021 * step)]);
const seen = [];
for (const [name, curve] of [["linear", rising], ["exponential", falling]]) {
    for (const options of [{}, { precision: 12 }]) {
        const fit = regression[name](curve, options);
        console.log(name, JSON.stringify(options), "equation", fit.equation.map(Math.abs).join(", "), "r2", fit.r2);
        seen.push(Math.abs(fit.equation[name === "linear" ? 0 : 1]), fit.r2 > 0.999);
    }
}
process.exit(JSON.stringify(seen) === "[0,false,0.003,true,0,false,0.0021,true]" ? 0 : 1);
END
echo regression "$(node -p "require('./node_modules/regression/package.json').version")"
node probe.mjs 2>err || { cat err; exit 1; }

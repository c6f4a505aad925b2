#!/bin/sh
# One would guess: precision and recall among the metrics of a TensorFlow.js model are those of its predictions at the threshold 0.5, as in Keras,
# and as "accuracy" beside them.
# In fact they count only outputs that are 0 or 1 exactly: a sigmoid of 0.95 is neither positive nor negative. A perfect classifier has accuracy 1,
# precision 0 and recall 0 from the same evaluate(), and of outputs 1, 0.9 and 0.9 for three positives just the first is counted, which
# makes recall 1. Both are then functions of how many outputs were rounded to 0 or 1, so early stopping on them waits for overconfidence.
# Version: @tensorflow/tfjs-layers 4.22.0. Source: tfjs-layers/src/metrics.ts, truePositives, falseNegatives and falsePositives.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --ignore-scripts @tensorflow/tfjs-core@4.22.0 @tensorflow/tfjs-backend-cpu@4.22.0 \
    @tensorflow/tfjs-layers@4.22.0
cat >probe.mjs <<'END'
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import * as layers from "@tensorflow/tfjs-layers";

await tf.setBackend("cpu");
console.log("@tensorflow/tfjs-layers", layers.version_layers);
const { precision, recall } = layers.metrics;
const truth = tf.tensor2d([1, 1, 1, 0, 0, 0], [6, 1]);
const weights = [tf.tensor2d([[8]]), tf.tensor1d([0])];
const model = layers.sequential({ layers: [layers.layers.dense({ units: 1, inputShape: [1], activation: "sigmoid", weights })] });
model.compile({ loss: "binaryCrossentropy", optimizer: "sgd", metrics: ["accuracy", precision, recall] });
const values = model.evaluate(tf.tensor2d([0.3, 0.4, 0.5, -0.3, -0.4, -0.5], [6, 1]), truth).map((value) => value.dataSync()[0]);
model.metricsNames.forEach((name, i) => console.log(name, values[i]));
const seen = values.slice(1);
for (const outputs of [[1, 0.9, 0.9, 0.1, 0.1, 0.1], [1, 1, 1, 0, 0, 0]]) {
    const given = tf.tensor2d(outputs, [6, 1]);
    seen.push(precision(truth, given).dataSync()[0], recall(truth, given).dataSync()[0]);
    console.log("outputs", outputs.join(", "), "precision", ...seen.slice(-2, -1), "recall", ...seen.slice(-1));
}
process.exit(JSON.stringify(seen) === "[1,0,0,1,1,1,1]" ? 0 : 1);
END
node probe.mjs 2>err || { cat err; exit 1; }

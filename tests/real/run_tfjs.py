# pip: pip
# run: npm install --silent --ignore-scripts @tensorflow/tfjs@4.22.0 >/dev/null && python3 -u "$SCRIPT"
"""TensorFlow.js under node: objects over several lines, the history behind them, and a typed array: Float32Array(1) [ 0.25 ]."""
import re
import subprocess

from tiny import right

with open("train.mjs", "w", encoding="utf-8") as out:
    out.write("""import * as tf from '@tensorflow/tfjs';
const model = tf.sequential({layers: [tf.layers.dense({units: 1, inputShape: [2]})]});
model.compile({optimizer: 'sgd', loss: 'meanSquaredError'});
const x = tf.randomNormal([32, 2], 0, 1, 'float32', 1), y = x.sum(1, true);
const {history} = await model.fit(x, y, {epochs: 3, validationSplit: 0.25, callbacks: {onEpochEnd: (epoch, logs) => console.log(epoch, logs)}});
console.log(history);
console.log('mse', model.evaluate(x, y).dataSync());
""")
text = subprocess.run(["node", "train.mjs"], check=True, capture_output=True, text=True).stdout
print(text)
right(("val_loss", "-", re.findall(r"val_loss: ([0-9.]+)", text)[-1]), ("mse", "-", re.findall(r"mse Float32Array\(1\) \[ ([0-9.]+)", text)[-1]))

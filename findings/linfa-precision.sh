#!/bin/sh
# One would guess: precision() of linfa's ConfusionMatrix is the share of the rows called true that are true, and recall() the share of the true
# rows that were found, as in scikit-learn and in smartcore 0.7, Rust's other library of this kind.
# In fact the two are exchanged for two classes: a model that calls one row of ten true, rightly, and overlooks three, has precision 0.25 and
# recall 1.0. The rows of the table are predictions, and precision() divides by the first column. With more classes the means over classes are
# exchanged as well. F1 is not touched, so nothing looks wrong, but a threshold that was tuned for precision is tuned for recall.
# Version: linfa 0.8.1. Source: linfa/src/metrics_classification.rs, confusion_matrix and ConfusionMatrix::precision.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir src
cat >Cargo.toml <<'END'
[package]
name = "probe"
version = "0.1.0"
edition = "2021"

[dependencies]
linfa = "=0.8.1"
ndarray = "=0.16.1"
END
cat >src/main.rs <<'END'
use linfa::prelude::ToConfusionMatrix;
use ndarray::Array1;

fn main() {
    let truth = Array1::from(vec![2, 2, 2, 2, 1, 1, 1, 1, 1, 1]);
    let predicted = Array1::from(vec![2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let is = |class: usize| move |label: &usize| *label == class;
    let two = predicted.map(is(2)).confusion_matrix(&truth.map(is(2))).unwrap();
    print!("one of ten rows was called true, rightly; four are true\n{:?}", two);
    println!("precision {} recall {} F1 {}", two.precision(), two.recall(), two.f1_score());
    let third = |labels: &Array1<usize>| labels.iter().copied().chain([3]).collect::<Array1<usize>>();
    let three = third(&predicted).confusion_matrix(&third(&truth)).unwrap();
    let usual = (1.0 + 6.0 / 9.0 + 1.0) / 3.0;
    println!("three classes: precision {:.3}, usual {:.3}, recall {:.3}, usual 0.750", three.precision(), usual, three.recall());
    let near = |value: f32, other: f32| (value - other).abs() < 1e-3;
    let same = near(two.precision(), 0.25) && near(two.recall(), 1.0) && near(three.precision(), 0.75) && near(three.recall(), usual);
    std::process::exit(if same { 0 } else { 1 });
}
END
export CARGO_TARGET_DIR="$dir/target"
cargo build -q 2>err || { cat err; exit 1; }
sed -n '/^name = "linfa"$/{n;s/version = /linfa /p;}' Cargo.lock
"$dir/target/debug/probe"

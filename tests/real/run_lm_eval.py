# pip: lm_eval==0.4.13 transformers==5.24.0 torch==2.15.0 datasets
# run: python3 "$SCRIPT" && lm_eval run --model hf --model_args pretrained=tiny-lm --tasks tiny --include_path tasks --device cpu --batch_size 4 --output_path out && python3 "$SCRIPT" right
# keep: out/*/results_*.json
"""lm_eval: a table with borders and arrows, and results_TIME.json."""
import glob
import json
import os
import sys
from tiny import language_model, right

if len(sys.argv) > 1:
    path = glob.glob("out/*/results_*.json")[0]
    acc = json.load(open(path))["results"]["tiny"]["acc,none"]
    right(("acc", "-", f"{acc:.4f}"), ("acc,none", path, acc))
    sys.exit()
language_model()
os.mkdir("tasks")
with open("data.jsonl", "w", encoding="utf-8") as out:
    for i in range(30):
        out.write(json.dumps({"question": f"the film is w{i} ?", "answer": i % 2}) + "\n")
with open("tasks/tiny.yaml", "w", encoding="utf-8") as out:
    out.write("task: tiny\ndataset_path: json\ndataset_kwargs: {data_files: {test: data.jsonl}}\noutput_type: multiple_choice\ntest_split: test\n"
              "doc_to_text: '{{question}}'\ndoc_to_choice: ['yes', 'no']\ndoc_to_target: answer\n"
              "metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]\n")

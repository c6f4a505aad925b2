# pip: --no-deps lm_eval==0.4.13 lighteval==0.13.0 pytablewriter DataProperty mbstrdecoder pathvalidate tabledata tcolorpy typepy chardet packaging python-dateutil pytz six numpy pyyaml jinja2 markupsafe more_itertools
"""The tables of lm_eval and lighteval with several tasks and filters, of made-up results: one name in several rows."""
from lighteval.utils.utils import make_results_table
from lm_eval.utils import make_table

from tiny import right

results = {"arc_easy": {"alias": "arc_easy", "acc,none": 0.5872, "acc_stderr,none": 0.0101, "acc_norm,none": 0.5421, "acc_norm_stderr,none": 0.0102},
           "gsm8k": {"alias": "gsm8k", "exact_match,flexible-extract": 0.4101, "exact_match_stderr,flexible-extract": 0.0135,
                     "exact_match,strict-match": 0.3801, "exact_match_stderr,strict-match": 0.0134},
           "hellaswag": {"alias": "hellaswag", "acc,none": 0.2872, "acc_stderr,none": 0.0045, "acc_norm,none": 0.3114, "acc_norm_stderr,none": 0.0046}}
print(make_table({"results": results, "versions": {"arc_easy": 1.0, "gsm8k": 3.0, "hellaswag": 1.0},
                  "n-shot": {"arc_easy": 0, "gsm8k": 5, "hellaswag": 0},
                  "higher_is_better": {"arc_easy": {"acc": True, "acc_norm": True}, "gsm8k": {"exact_match": True}, "hellaswag": {"acc": True, "acc_norm": True}}}))
print(make_results_table({"results": {name: {"extractive_match": value, "extractive_match_stderr": 0.1}
                                      for name, value in (("all", 0.45), ("gsm8k:0", 0.4), ("math_500:0", 0.5))},
                          "versions": {"gsm8k:0": 0, "math_500:0": 1}}))
right(("acc", "-", 0.5872), ("acc_norm", "-", 0.5421), ("exact_match", "-", 0.4101), ("extractive_match", "-", 0.45))

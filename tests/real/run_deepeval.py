# pip: deepeval==4.3.1
"""DeepEval: a box for each test case, then `Pass Rate: 66.67% | Passed: 2 | Failed: 1`; its metric here measures a length."""
import os
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
from deepeval import evaluate
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from tiny import right


class Length(BaseMetric):
    threshold, async_mode, evaluation_model, include_reason, strict_mode, verbose_mode = 0.5, False, None, False, False, False
    __name__ = "Length"

    def measure(self, case, *_, **__):
        self.score, self.reason = len(case.actual_output) / 10, "its length"
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *_, **__):
        return self.measure(case)

    def is_successful(self):
        return self.success


results = evaluate([LLMTestCase(input="a", actual_output="b" * n) for n in (3, 6, 8)], [Length()]).test_results
right(("Pass Rate", "-", round(100 * sum(case.success for case in results) / len(results), 2)))

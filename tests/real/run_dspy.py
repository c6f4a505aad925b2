# pip: dspy==3.4.1
"""DSPy: Evaluate prints a fraction with its quotient in per cent."""
import dspy
from dspy.utils import DummyLM

from tiny import right

dspy.configure(lm=DummyLM([{"answer": answer} for answer in ("1", "2", "x", "4")]))
examples = [dspy.Example(question=f"q{i}", answer=str(i + 1)).with_inputs("question") for i in range(4)]
evaluate = dspy.Evaluate(devset=examples, metric=lambda example, given, trace=None: example.answer == given.answer, num_threads=1,
                         display_progress=True)
right(("Average Metric", "-", evaluate(dspy.Predict("question->answer")).score / 100))  # the score is in per cent, a fraction is read

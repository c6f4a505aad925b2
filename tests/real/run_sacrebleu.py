# pip: sacrebleu==2.6.0
"""sacreBLEU: as JSON, each metric is an object whose name is the value of "name"; as text, a signature follows the name."""
import subprocess

import sacrebleu

from tiny import right

hypotheses, references = ["the cat sat on a mat today", "hello there my big world"], [["the cat sat on the mat today", "hello there my world"]]
for name, lines in (("hyp", hypotheses), ("ref", references[0])):
    with open(name, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
subprocess.run(["sacrebleu", "ref", "-i", "hyp", "-m", "bleu", "chrf", "ter"], check=True)
subprocess.run(["sacrebleu", "ref", "-i", "hyp", "-m", "bleu", "-f", "text"], check=True)
right(("BLEU", "-", f"{sacrebleu.corpus_bleu(hypotheses, references).score:.1f}"),
      ("chrF2", "-", f"{sacrebleu.corpus_chrf(hypotheses, references).score:.1f}"),
      ("TER", "-", f"{sacrebleu.corpus_ter(hypotheses, references).score:.1f}"))

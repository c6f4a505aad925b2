# pip: pip
"""MALLET 2.0.8 by Maven: its topic model and its classifier, whose lines are in a log with dates."""
import os
import pwd
import re
import subprocess

from tiny import right

os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir  # with the settings of Maven
with open("pom.xml", "w", encoding="utf-8") as out:
    out.write("""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId>
<version>1</version><dependencies><dependency><groupId>cc.mallet</groupId><artifactId>mallet</artifactId><version>2.0.8</version></dependency>
</dependencies></project>""")
with open("Train.java", "w", encoding="utf-8") as out:
    out.write("""import cc.mallet.classify.*;
import cc.mallet.pipe.*;
import cc.mallet.topics.ParallelTopicModel;
import cc.mallet.types.*;
import java.util.*;

public class Train {
    static InstanceList read(Random random, Pipe... pipes) {
        var list = new InstanceList(new SerialPipes(pipes));
        String[] words = {"cat", "dog", "fish", "tax", "law", "court"};
        for (int i = 0; i < 60; i++) {
            var text = new StringBuilder();
            for (int k = 0; k < 6; k++)
                text.append(words[(i % 2 * 3 + random.nextInt(4)) % 6]).append(' ');
            list.addThruPipe(new Instance(text.toString(), i % 2 == 0 ? "pet" : "law", "document" + i, null));
        }
        return list;
    }

    public static void main(String[] args) throws Exception {
        var random = new Random(1);
        var topics = new ParallelTopicModel(2, 1.0, 0.01);
        topics.addInstances(read(random, new CharSequence2TokenSequence(), new TokenSequence2FeatureSequence()));
        topics.setRandomSeed(1);
        topics.setNumThreads(1);
        topics.setNumIterations(30);
        topics.estimate();
        var list = read(random, new Target2Label(), new CharSequence2TokenSequence(), new TokenSequence2FeatureSequence(), new FeatureSequence2FeatureVector());
        System.out.println(new cc.mallet.classify.evaluate.ConfusionMatrix(new Trial(new MaxEntTrainer().train(list), list)));
    }
}
""")
subprocess.run("mvn -q -B dependency:build-classpath -Dmdep.outputFile=path >mvn.log 2>&1", shell=True, check=True)
with open("path", encoding="utf-8") as path:
    run = subprocess.run(["java", "-cp", path.read(), "Train.java"], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(run.stdout)
right(*((name, "-", re.findall(rf"{name}( = |: |=)(\S+)", run.stdout)[-1][1]) for name in ("LL/token", "loglikelihood", "accuracy")))

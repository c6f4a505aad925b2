#!/bin/sh
# One would guess: a model of Weka that was trained on one CSV file and is evaluated on another one with the same rows in another order is right for all
# of them, or Weka refuses the second file if it numbers the classes otherwise.
# In fact the values of a column of words are numbered as they first occur in each file, and Evaluation.evaluateModel compares the numbers
# without a look at the names: a test file that begins with "dog", where the training file begins with "cat", makes a perfect model 0 % right.
# With more classes it is some share between, which looks like a bad model. Instances.equalHeaders() tells, if one asks.
# Version: weka-stable 3.8.6. Source: weka/classifiers/evaluation/Evaluation.java, evaluateModelOnceAndRecordPrediction; weka/core/converters/CSVLoader.java.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >pom.xml <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>probe</groupId><artifactId>probe</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>nz.ac.waikato.cms.weka</groupId><artifactId>weka-stable</artifactId><version>3.8.6</version></dependency>
  </dependencies>
</project>
END
mvn -q -B -Dmaven.repo.local="$dir/m2" dependency:copy-dependencies -DoutputDirectory=lib >err 2>&1 || { cat err; exit 1; }
printf 'x,label\n1,cat\n2,dog\n3,cat\n4,dog\n' >train.csv
printf 'x,label\n2,dog\n1,cat\n3,cat\n4,dog\n' >test.csv
cat >Probe.java <<'END'
import weka.classifiers.Evaluation;
import weka.classifiers.lazy.IBk;
import weka.core.Instances;
import weka.core.converters.ConverterUtils.DataSource;

public class Probe {
    static Instances read(String name) throws Exception {
        Instances rows = new DataSource(name).getDataSet();
        rows.setClassIndex(1);
        return rows;
    }

    public static void main(String[] arguments) throws Exception {
        Instances train = read("train.csv"), test = read("test.csv");
        IBk nearest = new IBk();
        nearest.buildClassifier(train);
        Evaluation known = new Evaluation(train), same = new Evaluation(train);
        known.evaluateModel(nearest, train);
        same.evaluateModel(nearest, test);
        System.out.println("the training file: " + known.pctCorrect() + " % right");
        System.out.println("the same rows, dog first: " + same.pctCorrect() + " % right; headers equal: " + train.equalHeaders(test));
        System.exit(known.pctCorrect() == 100 && same.pctCorrect() == 0 && !train.equalHeaders(test) ? 0 : 1);
    }
}
END
ls lib | grep weka
javac -nowarn -cp 'lib/*' Probe.java
java -Djava.awt.headless=true -Duser.home="$dir" -cp 'lib/*:.' Probe 2>err || { cat err; exit 1; }

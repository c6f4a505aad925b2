# pip: pip
"""Tribuo 4.3.2 and Encog 3.4 by Maven: a table with one row a class, and the error beside the error that is wanted."""
import os
import pwd
import re
import subprocess

from tiny import right

os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir  # with the settings of Maven
os.makedirs("src/main/java")
with open("pom.xml", "w", encoding="utf-8") as out:
    out.write("""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId>
<version>1</version><properties><maven.compiler.source>17</maven.compiler.source>
<maven.compiler.target>17</maven.compiler.target></properties><dependencies>
<dependency><groupId>org.tribuo</groupId><artifactId>tribuo-classification-sgd</artifactId><version>4.3.2</version></dependency>
<dependency><groupId>org.encog</groupId><artifactId>encog-core</artifactId><version>3.4</version></dependency></dependencies></project>""")
with open("src/main/java/Train.java", "w", encoding="utf-8") as out:
    out.write("""import java.util.Random;
import org.encog.engine.network.activation.ActivationSigmoid;
import org.encog.ml.data.basic.BasicMLDataSet;
import org.encog.neural.networks.BasicNetwork;
import org.encog.neural.networks.layers.BasicLayer;
import org.encog.neural.networks.training.propagation.resilient.ResilientPropagation;
import org.tribuo.MutableDataset;
import org.tribuo.classification.*;
import org.tribuo.classification.evaluation.LabelEvaluator;
import org.tribuo.classification.sgd.linear.LogisticRegressionTrainer;
import org.tribuo.impl.ArrayExample;
import org.tribuo.provenance.SimpleDataSourceProvenance;

public class Train {
    public static void main(String[] args) {
        var factory = new LabelFactory();
        var from = new SimpleDataSourceProvenance("made up", factory);
        var train = new MutableDataset<Label>(from, factory);
        var test = new MutableDataset<Label>(from, factory);
        var random = new Random(1);
        for (int i = 0; i < 200; i++) {
            double x = random.nextGaussian(), y = random.nextGaussian();
            (i < 150 ? train : test).add(new ArrayExample<Label>(new Label(x + y + random.nextGaussian() / 2 > 0 ? "yes" : "no"),
                    new String[] {"x", "y"}, new double[] {x, y}));
        }
        System.out.println(new LabelEvaluator().evaluate(new LogisticRegressionTrainer().train(train), test));
        var network = new BasicNetwork();
        network.addLayer(new BasicLayer(null, true, 2));
        network.addLayer(new BasicLayer(new ActivationSigmoid(), true, 3));
        network.addLayer(new BasicLayer(new ActivationSigmoid(), false, 1));
        network.getStructure().finalizeStructure();
        network.reset(3);
        var training = new ResilientPropagation(network, new BasicMLDataSet(new double[][] {{0, 0}, {1, 0}, {0, 1}, {1, 1}},
                new double[][] {{0}, {1}, {1}, {0}}));
        training.setThreadCount(1);
        org.encog.util.simple.EncogUtility.trainToError(training, 0.05);
        org.encog.Encog.getInstance().shutdown();
    }
}
""")
subprocess.run("mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=path >mvn.log 2>&1", shell=True, check=True)
with open("path", encoding="utf-8") as path:
    text = subprocess.run(["java", "-cp", "target/classes:" + path.read(), "Train"], check=True, capture_output=True, text=True).stdout
print(text)
right(("Error", "-", re.findall(r"#\d+ Error:([.0-9]+)%", text)[-1]), ("Accuracy", "-", re.findall(r"Accuracy +(\S+)", text)[-1]),
      ("Balanced Error Rate", "-", re.findall(r"Balanced Error Rate +(\S+)", text)[-1]))

#!/bin/sh
# One would guess: a search of JSAT whose target is the coefficient of determination keeps the setting that has the highest one.
# In fact it keeps the worst: lowerIsBetter() of this score is true, as that of the errors beside it. With the ridge's penalties 0.0001, 1, 10^4
# and 10^8, a search by mean squared error keeps 0.0001 and predicts 3.0 for a slope of 3, and one by the coefficient of determination keeps
# 10^8 and predicts 0.0. The search ends without a warning, and the model predicts the mean of everything.
# Version: JSAT 0.0.9. Source: jsat/regression/evaluation/CoefficientOfDetermination.java, lowerIsBetter.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mvn -q -B -Dmaven.repo.local="$dir/m2" dependency:copy -Dartifact=com.edwardraff:JSAT:0.0.9 -DoutputDirectory=lib >err 2>&1 || { cat err; exit 1; }
cat >Probe.java <<'END'
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import jsat.classifiers.DataPoint;
import jsat.linear.DenseVector;
import jsat.parameters.GridSearch;
import jsat.regression.*;
import jsat.regression.evaluation.*;

public class Probe {
    public static void main(String[] arguments) {
        RegressionDataSet rows = new RegressionDataSet(1, new jsat.classifiers.CategoricalData[0]);
        Random random = new Random(0);
        for (int i = 0; i < 200; i++) {
            double x = random.nextGaussian();
            rows.addDataPoint(new DenseVector(new double[] {x}), 3 * x + 0.1 * random.nextGaussian());
        }
        List<Double> kept = new ArrayList<>();
        for (RegressionScore score : new RegressionScore[] {new MeanSquaredError(), new CoefficientOfDetermination()}) {
            GridSearch search = new GridSearch((Regressor) new RidgeRegression(1e-4), 5);
            search.setRegressionTargetScore(score);
            search.addParameter("Lambda", 1e-4, 1.0, 1e4, 1e8);
            search.train(rows);
            RidgeRegression best = (RidgeRegression) search.getTrainedRegressor();
            double predicted = best.regress(new DataPoint(new DenseVector(new double[] {1})));
            System.out.printf("%s: lower is better %b, keeps %g, which predicts %.1f for 3%n", score.getName(), score.lowerIsBetter(),
                              best.getLambda(), predicted);
            kept.add(best.getLambda());
        }
        System.exit(kept.equals(List.of(1e-4, 1e8)) ? 0 : 1);
    }
}
END
ls lib
javac -nowarn -cp 'lib/*' Probe.java
java -cp 'lib/*:.' Probe

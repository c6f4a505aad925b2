#!/bin/sh
# One would guess: median() of a vector of JSAT is the mean of the two middle values if their number is even.
# In fact it takes the two values above the middle: of 1, 2, 3, 4 it is 3.5, and of six seeds' scores 0.70 to 0.73, 0.95 and 0.99 it is 0.84, a
# value that two lucky seeds decide, where 0.725 is right. With an odd number it is right, so five seeds and six seeds are not comparable.
# Version: JSAT 0.0.9. Source: jsat/linear/DenseVector.java, median, copy[copy.length/2+1].
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mvn -q -B -Dmaven.repo.local="$dir/m2" dependency:copy -Dartifact=com.edwardraff:JSAT:0.0.9 -DoutputDirectory=lib >err 2>&1 || { cat err; exit 1; }
cat >Probe.java <<'END'
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import jsat.linear.DenseVector;

public class Probe {
    public static void main(String[] arguments) {
        List<Double> seen = new ArrayList<>();
        for (double[] values : new double[][] {{1, 2, 3}, {1, 2, 3, 4}, {0.70, 0.71, 0.72, 0.73, 0.95}, {0.70, 0.71, 0.72, 0.73, 0.95, 0.99}}) {
            double median = new DenseVector(values).median();
            System.out.println(Arrays.toString(values) + " median " + median);
            seen.add(Math.round(median * 1000) / 1000.0);
        }
        System.exit(seen.equals(List.of(2.0, 3.5, 0.72, 0.84)) ? 0 : 1);
    }
}
END
ls lib
javac -nowarn -cp 'lib/*' Probe.java
java -cp 'lib/*:.' Probe

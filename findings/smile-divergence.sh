#!/bin/sh
# One would guess: the Kullback-Leibler divergence is never negative, 0 only for equal distributions, and infinite where the second one has no mass
# but the first one has, as entropy(p, q) of SciPy returns it.
# In fact MathEx.KullbackLeiblerDivergence of Smile leaves out such terms: from (0.5, 0.5) to (1, 0) it is -0.347, less than from (0.5, 0.5) to
# itself. Whoever picks the policy or the histogram with the least divergence gets one that rules out half of what was seen.
# Version: smile-base 3.1.1. Source: smile/math/MathEx.java, KullbackLeiblerDivergence, where both must be above 0 for a term to count.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for artifact in com.github.haifengl:smile-base:3.1.1 org.slf4j:slf4j-api:2.0.12 org.slf4j:slf4j-nop:2.0.12; do
    mvn -q -B -Dmaven.repo.local="$dir/m2" dependency:copy -Dartifact="$artifact" -DoutputDirectory=lib >err 2>&1 || { cat err; exit 1; }
done
cat >Probe.java <<'END'
import java.util.Arrays;
import smile.math.MathEx;

public class Probe {
    public static void main(String[] arguments) {
        double[] even = {0.5, 0.5};
        double[] seen = new double[3];
        double[][] others = {{0.5, 0.5}, {0.9, 0.1}, {1.0, 0.0}};
        for (int i = 0; i < 3; i++) {
            seen[i] = MathEx.KullbackLeiblerDivergence(even, others[i]);
            System.out.printf("from %s to %s: %.3f%n", Arrays.toString(even), Arrays.toString(others[i]), seen[i]);
        }
        System.exit(seen[0] == 0 && seen[1] > 0.5 && seen[2] < -0.34 ? 0 : 1);
    }
}
END
ls lib
javac -nowarn -cp 'lib/*' Probe.java
java -cp 'lib/*:.' Probe

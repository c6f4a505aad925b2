#!/bin/sh
# One would guess: stat.Kendall of gonum, "the weighted Tau-a", counts a pair of equal values neither for nor against, as Tau-a is defined, and
# does not depend on the order of the rows.
# In fact it compares sign bits, and those of a difference of 0 and of one above 0 are the same. A model that predicts one constant has a
# correlation of 1 with values that rise from row to row, -1 with the same rows from the last to the first, and 0.333 in a mixed order: 0 is right
# for each. Scores with ties, such as ratings from 1 to 5, agree or not depending on how the file is sorted.
# Version: gonum 0.17.0. Source: stat/stat.go, Kendall, math.Signbit(x[j]-x[i]) == math.Signbit(y[j]-y[i]).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"gonum.org/v1/gonum/stat"
)

func main() {
	constant := []float64{3, 3, 3, 3}
	rising := stat.Kendall(constant, []float64{1, 2, 3, 4}, nil)
	falling := stat.Kendall(constant, []float64{4, 3, 2, 1}, nil)
	mixed := stat.Kendall(constant, []float64{1, 4, 2, 3}, nil)
	fmt.Printf("constant predictions, values rising: %.3f falling: %.3f mixed: %.3f\n", rising, falling, mixed)
	if rising != 1 || falling != -1 || mixed <= 0.33 || mixed >= 0.34 {
		os.Exit(1)
	}
}
END
export GOPATH="$dir/go" GOFLAGS=-modcacherw
go mod init probe 2>err || { cat err; exit 1; }
go get gonum.org/v1/gonum@v0.17.0 2>err || { cat err; exit 1; }
go list -m gonum.org/v1/gonum
go run .

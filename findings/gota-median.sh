#!/bin/sh
# One would guess: the row "50%" of Describe in gota, Go's data frames, is the row "median" above it, as in the table that describe() of pandas gives.
# In fact Median() halves the two middle values and Quantile() takes the lower one of them: the scores 1, 2, 3 and 4 have the median 2.5 and the
# 50% 2, in one table, and 25% and 75% are 1 and 3 (pandas: 1.75 and 3.25). gonum, which computes it, has no median, and even its LinInterp,
# which interpolates, gives 2 for the median and 3 for the upper quartile, where NumPy interpolates to 2.5 and 3.25. With a handful
# of seeds a run, a table made in Go and one made in Python rank the runs differently.
# Version: gota 0.12.0, gonum 0.17.0. Source: series/series.go, Median and Quantile; gonum/stat/stat.go, empiricalQuantile and linInterpQuantile.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
	"gonum.org/v1/gonum/stat"
)

func main() {
	scores := []float64{1, 2, 3, 4}
	table := dataframe.New(series.New(scores, series.Float, "score"))
	fmt.Println(table.Describe())
	column := table.Col("score")
	half, quarters := stat.Quantile(0.5, stat.LinInterp, scores, nil), stat.Quantile(0.75, stat.LinInterp, scores, nil)
	fmt.Println("gonum LinInterp: 0.5", half, "0.75", quarters)
	if column.Median() != 2.5 || column.Quantile(0.5) != 2 || column.Quantile(0.25) != 1 || half != 2 || quarters != 3 {
		os.Exit(1)
	}
}
END
export GOPATH="$dir/go" GOFLAGS=-modcacherw
go mod init probe 2>err || { cat err; exit 1; }
go get github.com/go-gota/gota@v0.12.0 gonum.org/v1/gonum@v0.17.0 2>err && go mod tidy 2>err || { cat err; exit 1; }
go run .

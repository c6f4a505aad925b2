#!/bin/sh
# One would guess: the first part that base.InstancesTrainTestSplit(rows, 0.8) of golearn returns, the training set, has 80 % of the rows: its
# comment calls 0.8 "a train-test fraction".
# In fact 0.8 is the share of the second part: of 1000 rows about 190 are for training and 810 for the test, so a model that was meant to see four
# fifths sees less than one, and curves over the size of the training set run backwards. Each row is drawn by
# itself from 101 numbers, so the sizes differ from call to call and 0.0 tests on some rows as well. The table that was passed is shuffled in
# place.
# Version: golearn v0.0.0-20221228163002-74ae077eafb2. Source: base/util_instances.go, InstancesTrainTestSplit and Shuffle.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/sjwhitworth/golearn/base"
)

func main() {
	rows := base.NewDenseInstances()
	number := base.NewFloatAttribute("number")
	column := rows.AddAttribute(number)
	if err := rows.Extend(1000); err != nil {
		panic(err)
	}
	for i := 0; i < 1000; i++ {
		rows.Set(column, i, base.PackFloatToBytes(float64(i)))
	}
	sizes := [2]int{}
	for i, share := range []float64{0.8, 0.2} {
		train, test := base.InstancesTrainTestSplit(rows, share)
		_, trained := train.Size()
		_, tested := test.Size()
		fmt.Println("InstancesTrainTestSplit", share, "training rows", trained, "test rows", tested)
		sizes[i] = trained
	}
	moved := 0
	for i := 0; i < 1000; i++ {
		if base.UnpackBytesToFloat(rows.Get(column, i)) != float64(i) {
			moved++
		}
	}
	fmt.Println("rows of the table that moved:", moved)
	if sizes[0] > 300 || sizes[1] < 700 || moved < 900 {
		os.Exit(1)
	}
}
END
export GOPATH="$dir/go" GOFLAGS=-modcacherw
go mod init probe 2>err || { cat err; exit 1; }
go get github.com/sjwhitworth/golearn@v0.0.0-20221228163002-74ae077eafb2 2>err || { cat err; exit 1; }
go get github.com/sjwhitworth/golearn/base@v0.0.0-20221228163002-74ae077eafb2 2>err || { cat err; exit 1; }
go list -m github.com/sjwhitworth/golearn
go run . 2>err || { cat err; exit 1; }

# pip: pip
# run: apt-get install -qq --no-install-recommends r-base-core r-cran-caret r-cran-glmnet r-cran-gbm r-cran-ranger r-cran-randomforest >/dev/null && python3 -u "$SCRIPT"
"""R 4.2.2 of Debian 12, with caret 6.0-93, glmnet 4.1-6, gbm 2.1.8.1, ranger 0.14.1 and randomForest 4.7-1.1: indices before numbers,
lists, row names, classes as names of columns."""
import subprocess

from tiny import right

with open("train.R", "w", encoding="utf-8") as out:
    out.write("""
suppressMessages({library(caret); library(glmnet); library(gbm); library(ranger); library(randomForest)})
set.seed(1)
d <- data.frame(matrix(rnorm(1500), 300)); d$z <- d$X1 * 2 + rnorm(300) * .3
d$y <- factor(ifelse(d$X1 - d$X2 + rnorm(300) * .7 > 0, "2", "1"))
forest <- randomForest(y ~ X1 + X2 + X3, data = d, ntree = 50, do.trace = 10)
path <- cv.glmnet(as.matrix(d[, 1:5]), d$z); print(path)
boost <- gbm(z ~ X1 + X2 + X3, data = d, distribution = "gaussian", n.trees = 30, train.fraction = .7, verbose = TRUE)
trees <- ranger(z ~ X1 + X2 + X3, data = d, num.trees = 50, seed = 1); print(trees)
tuned <- train(y ~ X1 + X2 + X3, data = d, method = "rf", trControl = trainControl(method = "cv", number = 3), tuneGrid = data.frame(mtry = 2))
print(tuned)
line <- summary(lm(z ~ X1 + X2, data = d)); print(line)
cat("rmse:"); print(0.25)
print(list(val_loss = 0.125))
right <- function(name, value) cat(name, "-", value, sep = "\\t", file = "right.tsv", append = TRUE, fill = TRUE)
right("OOB", sprintf("%.2f", 100 * forest$err.rate[50, 1])); right("Measure", sprintf("%.4g", path$cvm[path$index[1]]))
right("ValidDeviance", sprintf("%.4f", boost$valid.error[30])); right("OOB prediction error (MSE)", sprintf("%.7g", trees$prediction.error))
right("Kappa", sprintf("%.7g", tuned$results$Kappa)); right("Adjusted R-squared", sprintf("%.4g", line$adj.r.squared))
right("rmse", 0.25); right("val_loss", 0.125)
""")
subprocess.run(["Rscript", "train.R"], check=True)
with open("right.tsv", encoding="utf-8") as made:
    right(*(line.rstrip("\n").split("\t") for line in made.readlines()))

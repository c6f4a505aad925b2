# pip: keras==3.15.1 jax==0.10.2
# keep: log.csv
"""fit of Keras with its bar, and the table of CSVLogger."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from tiny import right, rows

keras.utils.set_random_seed(1)
data = rows()
x, y = np.array([r[0] for r in data]), np.array([r[1] for r in data])
model = keras.Sequential([keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, validation_split=0.25, epochs=3, callbacks=[keras.callbacks.CSVLogger("log.csv")]).history
right(("val_loss", "-", f"{history['val_loss'][-1]:.4f}"), ("val_accuracy", "-", f"{history['val_accuracy'][-1]:.4f}"),
      ("val_loss", "log.csv", history["val_loss"][-1]), ("val_accuracy", "log.csv", history["val_accuracy"][-1]))

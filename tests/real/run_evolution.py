# pip: deap==1.4.4 evotorch==0.6.1 torch==2.15.0 numpy==2.4.6 pandas==3.1.1
"""Evolution: DEAP's logbook is a table with tabs, EvoTorch's StdOutLogger a block of names and values for each generation."""
import random

import numpy
import torch
from deap import algorithms, base, creator, tools
from evotorch import Problem
from evotorch.algorithms import SNES
from evotorch.logging import StdOutLogger

from tiny import right

random.seed(1)
creator.create("Fitness", base.Fitness, weights=(1.0,))
creator.create("Individual", list, fitness=creator.Fitness)
box = base.Toolbox()
box.register("bit", random.randint, 0, 1)
box.register("individual", tools.initRepeat, creator.Individual, box.bit, 20)
box.register("population", tools.initRepeat, list, box.individual)
box.register("evaluate", lambda bits: (sum(bits) / 7,))
box.register("mate", tools.cxTwoPoint)
box.register("mutate", tools.mutFlipBit, indpb=0.05)
box.register("select", tools.selTournament, tournsize=3)
stats = tools.Statistics(lambda individual: individual.fitness.values)
stats.register("avg", numpy.mean)
stats.register("max", numpy.max)
_, log = algorithms.eaSimple(box.population(20), box, 0.5, 0.2, 3, stats=stats, verbose=True)
problem = Problem("min", lambda x: torch.sum(x ** 2, -1), solution_length=5, initial_bounds=(-5, 5), vectorized=True, seed=1)
search = SNES(problem, popsize=20, stdev_init=5)
StdOutLogger(search, interval=2)
search.run(6)
right(("max", "-", f"{log[-1]['max']:g}"), ("avg", "-", f"{log[-1]['avg']:g}"), ("best_eval", "-", search.status["best_eval"]),
      ("mean_eval", "-", search.status["mean_eval"]))

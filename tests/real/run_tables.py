# pip: polars==2.1.0 duckdb==2.0.1 pandas==3.1.1 prettytable==3.18.0 tabulate==0.10.0 rich==15.0.0
"""Tables as libraries print them: polars and DuckDB put the types of the columns below their names."""
import duckdb
import pandas
import polars
import prettytable
import tabulate
from rich.console import Console
from rich.table import Table

from tiny import right

rows = [(epoch, round(1 / (3 + epoch), 4), round(0.5 + epoch / 8, 3)) for epoch in range(1, 4)]


def names(kind):
    return ["epoch", f"{kind}_loss", f"{kind}_acc"]


def columns(kind):
    return dict(zip(names(kind), map(list, zip(*rows))))


print(polars.DataFrame(columns("polars")))
duckdb.from_df(pandas.DataFrame(columns("duckdb"))).show()
print(pandas.DataFrame(columns("pandas")))
pretty = prettytable.PrettyTable(names("pretty"))
pretty.add_rows(rows)
print(pretty)
for style in ("grid", "fancy_grid", "github", "rst", "simple", "psql"):
    print(tabulate.tabulate(rows, names(style), tablefmt=style), end="\n\n")
table = Table(*names("rich"))
for row in rows:
    table.add_row(*map(str, row))
Console().print(table)
kinds = ("polars", "duckdb", "pandas", "pretty", "grid", "fancy_grid", "github", "rst", "simple", "psql", "rich")
right(*((name, "-", value) for kind in kinds for name, value in zip(names(kind)[1:], rows[-1][1:])))

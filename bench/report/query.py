"""DuckDB and Polars read the CSV of `bitcost show` as it is, and a query for the median throughput per cell equals ours.

`python query.py BITCOST FOLDER`, with duckdb and polars from PyPI.
"""

import json
import subprocess
import sys
import tempfile

import duckdb
import polars

program, folder = sys.argv[1:3]


def show(*options):
    return subprocess.run([program, "show", folder, *options], check=True, capture_output=True, text=True).stdout


cells = json.loads(show("--json"))["cells"]
factors = list(cells[0]["levels"])
ours = {tuple(c["levels"][f] for f in factors): c["throughput_mbps"]["median"] for c in cells if "throughput_mbps" in c}
with tempfile.NamedTemporaryFile("w", suffix=".csv") as runs, tempfile.NamedTemporaryFile("w", suffix=".csv") as stretches:
    runs.write(show("--format", "csv"))
    stretches.write(show("--format", "csv", "--rows", "intervals"))
    runs.flush(), stretches.flush()
    names = ", ".join(f'"{factor}"' for factor in factors)
    query = f"select {names}, median(throughput_mbps) from '{runs.name}' where status = 'used' group by all"
    by_duckdb = {row[:-1]: row[-1] for row in duckdb.sql(query).fetchall() if row[-1] is not None}
    used = polars.read_csv(runs.name).filter(polars.col("status") == "used")
    medians = used.group_by(factors).agg(polars.col("throughput_mbps").median())
    by_polars = {row[:-1]: row[-1] for row in medians.rows() if row[-1] is not None}
    count = duckdb.sql(f"select count(*) from '{stretches.name}'").fetchall()[0][0]
    assert count == polars.read_csv(stretches.name).height, "both read every stretch"
for name, theirs in [("DuckDB", by_duckdb), ("Polars", by_polars)]:
    assert theirs.keys() == ours.keys(), (name, theirs.keys(), ours.keys())
    for cell, value in ours.items():
        assert abs(theirs[cell] - value) <= 1e-9 * abs(value), (name, cell, theirs[cell], value)
    print(f"{name}: equal medians in {len(ours)} cells")

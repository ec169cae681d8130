"""DuckDB and Polars read the CSV of `bitcost show` as they are, and a query for the median throughput per
cell equals ours.

`python query.py BITCOST FOLDER`, with duckdb and polars from PyPI.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import polars

program, folder = sys.argv[1:3]


def show(*options):
    return subprocess.run([program, "show", folder, *options], check=True, capture_output=True).stdout


def medians_of(path):
    """The median per cell by each of both programs."""
    names = ", ".join(f'"{factor}"' for factor in factors)
    query = f"select {names}, median(throughput_mbps) from '{path}' where status = 'used' group by all"
    used = polars.read_csv(path).filter(polars.col("status") == "used")
    medians = used.group_by(factors).agg(polars.col("throughput_mbps").median())
    rows = [("DuckDB", duckdb.sql(query).fetchall()), ("Polars", medians.rows())]
    return {name: {row[:-1]: row[-1] for row in found if row[-1] is not None} for name, found in rows}


cells = json.loads(show("--json"))["cells"]
factors = list(cells[0]["levels"])
ours = {tuple(c["levels"][f] for f in factors): c["throughput_mbps"]["median"] for c in cells if "throughput_mbps" in c}
counts = set()
with tempfile.TemporaryDirectory() as place:
    runs, stretches = (pathlib.Path(place, f"{rows}.csv") for rows in ("runs", "intervals"))
    runs.write_bytes(show("--format", "csv"))
    stretches.write_bytes(show("--format", "csv", "--rows", "intervals"))
    for name, theirs in medians_of(runs).items():
        assert theirs.keys() == ours.keys(), (name, theirs.keys(), ours.keys())
        for cell, value in ours.items():
            assert abs(theirs[cell] - value) <= 1e-9 * abs(value), (name, cell, theirs[cell], value)
        print(f"{name}: equal medians in {len(ours)} cells")
    counts.add(duckdb.sql(f"select count(*) from '{stretches}'").fetchall()[0][0])
    counts.add(polars.read_csv(stretches).height)
assert len(counts) == 1, f"both read every interval of the file: {counts}"

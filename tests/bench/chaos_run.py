"""A `tailhealth run` for the chaos: time runs a hundred times as fast there, and so does the patience with generators.

`python -m tests.bench.chaos_run CONFIG`
"""

from __future__ import annotations

import sys

from tailhealth import cli
from tailhealth.service import unrest

SCALE = 100

if __name__ == "__main__":
    # The only rule with a time that no key of the configuration sets.
    vars(unrest)["REWRITES_WITHIN"] = unrest.REWRITES_WITHIN / SCALE
    cli.main(["run", "-c", sys.argv[1]])

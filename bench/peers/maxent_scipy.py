"""Maximum entropy by SciPy: L-BFGS-B on the dual, the peer of scumble's inference engine.

    maxent_scipy.py INSTANCE

INSTANCE is what `cargo run --release --example republish -- PEOPLE DISTINCT RELEASES FILE` writes: what is left after
forced values. Facts must be equalities. Prints the seconds inside the optimiser, the largest violation of a fact in
people and the entropy in nats, as JSON.
"""

import json
import sys
import time

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix


def read(path):
    """Counts, people of each kind, first outcome of each kind, and which facts count which outcomes."""
    counts, people, first, rows, columns = [], [], [], [], []
    outcomes = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            what, *numbers = line.split()
            if what == "fact":
                assert numbers[0] == numbers[1], "only equalities"
                counts.append(int(numbers[0]))
            elif what == "kind":
                people.append(int(numbers[0]))
                first.append(outcomes)
            else:
                rows += [outcomes] * len(numbers)
                columns += map(int, numbers)
                outcomes += 1
    counted = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(outcomes, len(counts)))
    return np.array(counts, float), np.array(people, float), np.array(first), counted


def main():
    counts, people, first, counted = read(sys.argv[1])
    if not len(people):
        print(json.dumps({"seconds": {"total": 0.0}, "violation": 0.0, "entropy": 0.0}))
        return
    counting = counted.T.tocsr()
    sizes = np.diff(np.append(first, counted.shape[0]))

    def believe(multipliers):
        """Logarithms of the sums of all kinds, and expected people of all outcomes."""
        logs = counted @ multipliers
        top = np.maximum.reduceat(logs, first)
        masses = np.exp(logs - np.repeat(top, sizes))
        sums = np.add.reduceat(masses, first)
        return top + np.log(sums), masses * np.repeat(people / sums, sizes)

    def dual(multipliers):
        logs, masses = believe(multipliers)
        return people @ logs - counts @ multipliers, counting @ masses - counts

    start = time.perf_counter()
    options = {"maxiter": 100_000, "maxfun": 1_000_000, "maxcor": 20, "ftol": 0.0, "gtol": 1e-9}
    found = minimize(dual, np.zeros(len(counts)), jac=True, method="L-BFGS-B", options=options)
    seconds = time.perf_counter() - start
    _, masses = believe(found.x)
    shares = masses / np.repeat(people, sizes)
    print(json.dumps({
        "seconds": {"total": round(seconds, 3)},
        "violation": float(np.abs(counting @ masses - counts).max()),
        "entropy": float(-(masses * np.log(np.maximum(shares, 1e-300))).sum()),
        "evaluations": int(found.nfev),
    }))


if __name__ == "__main__":
    main()

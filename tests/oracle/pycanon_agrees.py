"""Does `scumble check` measure what pycanon measures?

    pycanon_agrees.py RELEASE.csv QUASI,IDENTIFIERS SENSITIVE CHECK.json

CHECK.json is the answer of `scumble check RELEASE.csv --quasi-identifiers … --sensitive …
--json` (`-` reads it from standard input). Exit status: 0 they agree, 1 they differ,
2 the comparison could not be made.

pycanon is an independent implementation, not the truth. Where its definition is another
one than ours, the conversion stands beside the comparison below; what has no conversion
is printed as not compared, never passed over in silence.
"""

import json
import math
import sys
from fractions import Fraction

import numpy
import pandas
from pycanon import anonymity
from pycanon.anonymity.utils import aux_anonymity

# Both sides end in one division of integers below 2^53 or a short sum of such, so they
# differ by rounding alone.
TOLERANCE = 1e-9


class Oracle:
    """pycanon's measures of one table, each computed when asked for."""

    def __init__(self, path: str, quasi_identifiers: list[str], sensitive: str):
        self.quasi_identifiers, self.sensitive = quasi_identifiers, sensitive
        with open(path, encoding="utf-8-sig") as file:
            header = file.readline()
        separator = ";" if header.count(";") >= header.count(",") else ","
        # Everything as text and nothing as missing. pandas would otherwise make numbers
        # of "01" and "1" alike, and its groupby silently drops rows with a missing
        # quasi-identifier; for us a missing value is a value of its own.
        self.table = pandas.read_csv(path, sep=separator, dtype=str, keep_default_na=False,
                                     encoding="utf-8-sig")
        lacking = [c for c in [*quasi_identifiers, sensitive] if c not in self.table]
        if lacking:
            raise ValueError(f"`{path}` has no column {', '.join(f'`{c}`' for c in lacking)}")

    def classes(self) -> list:
        return aux_anonymity.get_equiv_class(self.table, self.quasi_identifiers)

    def k(self) -> int:
        return anonymity.k_anonymity(self.table, self.quasi_identifiers)

    def distinct_l(self) -> int:
        return anonymity.l_diversity(self.table, self.quasi_identifiers, [self.sensitive])

    def entropy_l(self) -> int:
        return anonymity.entropy_l_diversity(self.table, self.quasi_identifiers, [self.sensitive])

    def entropy_l_before_floor(self) -> float:
        """exp(H) of the least diverse of pycanon's classes, by pycanon's formula."""
        values = self.table[self.sensitive].to_numpy()
        least = math.inf
        for members in self.classes():
            _, counts = numpy.unique(values[members], return_counts=True)
            p = counts / counts.sum()
            least = min(least, -float(numpy.sum(p * numpy.log(p))))
        return math.exp(least)

    def t_equal(self) -> float:
        # The column is text here, so pycanon takes the equal distance.
        return anonymity.t_closeness(self.table, self.quasi_identifiers, [self.sensitive])

    def t_ordered(self) -> float | None:
        # A numeric dtype is pycanon's only sign for the ordered distance; a column that
        # is not all numbers has none. With one distinct value it divides by zero.
        numbers = pandas.to_numeric(self.table[self.sensitive], errors="coerce")
        if numbers.isna().any() or numbers.nunique() < 2:
            return None
        table = self.table.assign(**{self.sensitive: numbers})
        return anonymity.t_closeness(table, self.quasi_identifiers, [self.sensitive])


class Comparison:
    def __init__(self, oracle: Oracle, check: dict):
        self.oracle, self.check = oracle, check
        self.differences = 0

    def equal(self, what: str, ours, theirs) -> None:
        agree = math.isclose(float(ours), float(theirs), rel_tol=0, abs_tol=TOLERANCE)
        self.say(what, agree, f"scumble {ours}, pycanon {theirs}")

    def say(self, what: str, agree: bool, text: str) -> None:
        self.differences += not agree
        print(f"{'agree ' if agree else 'DIFFER'}  {what}: {text}")

    def skip(self, what: str, why: str) -> None:
        print(f"not compared  {what}: {why}")

    def models(self, name: str) -> list[dict]:
        """Our entries of this name, for the whole table or for the sensitive column."""
        found = [m for m in self.check.get("models", []) if m.get("name") == name
                 and m.get("attribute", self.oracle.sensitive) == self.oracle.sensitive]
        if not found:
            self.say(name, False, "pycanon measures it, scumble's answer lacks it")
        return found

    def measured(self, what: str, model: dict):
        """Our value; where there is an exact one, that, once its float agrees with it."""
        value, exact = model["measured"]["value"], model["measured"].get("exact")
        if exact is None:
            return value
        if not math.isclose(value, Fraction(exact), rel_tol=0, abs_tol=TOLERANCE):
            self.say(what, False, f"scumble contradicts itself: value {value}, exact {exact}")
        return Fraction(exact)

    def run(self) -> int:
        self.counts()
        self.k_anonymity()
        self.distinct_l_diversity()
        self.entropy_l_diversity()
        self.recursive_l_diversity()
        self.t_closeness()
        self.others()
        return self.differences

    def counts(self) -> None:
        self.equal("rows", self.check["rows"], len(self.oracle.table))
        self.equal("classes", self.check["classes"], len(self.oracle.classes()))

    # The same definition: the size of the smallest class.
    def k_anonymity(self) -> None:
        theirs = self.oracle.k()
        self.equal("k", self.check["k"], theirs)
        for model in self.models("k-anonymity"):
            self.equal("k-anonymity", self.measured("k-anonymity", model), theirs)

    # The same definition: the fewest distinct sensitive values in a class.
    def distinct_l_diversity(self) -> None:
        for model in self.models("distinct-l-diversity"):
            self.equal("distinct-l-diversity", self.measured("distinct-l-diversity", model),
                       self.oracle.distinct_l())

    # The same quantity, exp of the least entropy (natural logarithm), but pycanon gives
    # only int() of it: 2.71 becomes 2. And its float may fall just below a whole number
    # (three equally frequent values: e ** H = 2.9999999999999996, so 2), hence near a
    # whole number both floors are right. The floor alone would let an error of almost 1
    # pass, so the value before the floor is compared too, over pycanon's classes.
    def entropy_l_diversity(self) -> None:
        name = "entropy-l-diversity"
        for model in self.models(name):
            ours = float(self.measured(name, model))
            floor = self.oracle.entropy_l()
            allowed = {math.floor(ours - TOLERANCE), math.floor(ours + TOLERANCE)}
            self.say(name, floor in allowed, f"scumble {ours}, pycanon {floor} (rounded down)")
            self.equal(f"{name} before pycanon's floor", ours, self.oracle.entropy_l_before_floor())

    # Another definition. The paper (Machanavajjhala et al. 2006) orders a class's counts
    # r1 >= r2 >= … and asks r1 < c (rl + … + rm). pycanon sorts them ascending and takes
    # the first, so its "r1" is the *rarest* value and its tail holds the most frequent;
    # then floor(… + 1), for the l of distinct l-diversity. What results is 1, or 2 where
    # a class has exactly l values, all equally frequent; never more, whatever the skew:
    # counts (98, 1, 1) with l = 3 need c > 98 by the paper, and pycanon says 1. No
    # conversion recovers c.
    def recursive_l_diversity(self) -> None:
        self.skip("recursive-l-diversity", "pycanon divides the rarest count, not the most "
                                           "frequent one, and rounds; its c is another quantity")

    # The same definitions for the equal and the ordered distance, the reference being the
    # distribution in the file. The distance is chosen differently: by us by name, by
    # pycanon by dtype (numeric: ordered; text: equal), so the column is handed over in
    # the type that asks for ours. The ordered distance divides by the distinct values in
    # the file minus one; a taxonomy with more leaves than that would make ours smaller,
    # and `check` without a policy has none. pycanon knows no hierarchical distance.
    def t_closeness(self) -> None:
        for model in self.models("t-closeness"):
            distance = model.get("distance", "equal")
            what = f"t-closeness, {distance} distance"
            if distance == "equal":
                theirs = self.oracle.t_equal()
            elif distance == "ordered":
                theirs = self.oracle.t_ordered()
            else:
                theirs = None
            if theirs is None:
                self.skip(what, "pycanon has no such distance for this column")
            else:
                self.equal(what, self.measured(what, model), theirs)

    def others(self) -> None:
        compared = {"k-anonymity", "distinct-l-diversity", "entropy-l-diversity",
                    "recursive-l-diversity", "t-closeness"}
        for name in sorted({m["name"] for m in self.check.get("models", [])} - compared):
            self.skip(name, "this script has no comparison for it")


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    path, quasi_identifiers, sensitive, answer = sys.argv[1:]
    try:
        with (sys.stdin if answer == "-" else open(answer, encoding="utf-8")) as file:
            check = json.load(file)
        oracle = Oracle(path, quasi_identifiers.split(","), sensitive)
        differences = Comparison(oracle, check).run()
    except (OSError, ValueError, KeyError, TypeError) as problem:
        print(f"pycanon_agrees: could not compare: {type(problem).__name__}: {problem}",
              file=sys.stderr)
        return 2
    if differences:
        print(f"pycanon_agrees: {differences} difference(s) on `{path}`, marked DIFFER above",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

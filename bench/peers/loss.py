"""What a peer's release loses, by scumble's definition: mean over quasi-identifier cells of
(leaves under the lowest node over the class's values − 1) / (leaves − 1); suppressed cells 1."""

import csv


class Tree:
    """An ARX-style hierarchy: one line per leaf, the leaf first."""

    def __init__(self, path):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file, delimiter=";"))
        self.rows = {row[0]: row for row in rows}
        self.levels = len(rows[0])
        self.leaves = len(rows)
        self.size = [{} for _ in range(self.levels)]
        for row in rows:
            for level, label in enumerate(row):
                self.size[level][label] = self.size[level].get(label, 0) + 1

    def cover(self, values):
        """Leaves under the lowest node over the values."""
        for level in range(self.levels):
            labels = {self.rows[v][level] for v in values}
            if len(labels) == 1:
                return self.size[level][labels.pop()]
        return self.leaves

    def of_label(self, label):
        """Leaves under a published label, at the lowest level that has it."""
        return next((size[label] for size in self.size if label in size), self.leaves)

    def loss(self, leaves):
        return (leaves - 1) / (self.leaves - 1)


def of_partitions(table, trees, partitions):
    """GCP if each class (a list of row positions) shows the lowest nodes over its values."""
    columns = {name: table[name].astype(str).to_numpy() for name in trees}
    lost = 0.0
    for rows in partitions:
        for name, tree in trees.items():
            lost += len(rows) * tree.loss(tree.cover(set(columns[name][rows])))
    return lost / (len(table) * len(trees))


def of_labels(released, trees, records):
    """GCP of a released table of labels; records that are missing from it were suppressed."""
    lost = 0.0
    for name, tree in trees.items():
        lost += sum(n * tree.loss(tree.of_label(label))
                    for label, n in released[name].astype(str).value_counts().items())
    suppressed = records - len(released)
    return (lost + suppressed * len(trees)) / (records * len(trees))

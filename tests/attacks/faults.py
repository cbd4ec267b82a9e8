#!/usr/bin/env python3
"""Lets a call that changes the disk fail, once or from then on, with "no space" or "input/output error". Whatever fails is
told, or did no harm; the same holds afterwards as after a kill."""
import sys

import kills

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    kills.main("faults")

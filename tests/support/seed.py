# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Determines the seed of a random test in Python, by the rules of rng.h."""
import os
import random


def seed_of(text):
    """Returns the number in `text`, or a new seed for "random"."""
    return random.SystemRandom().randrange(1 << 32) if text == "random" else int(text, 0)


def add_seed_option(parser):
    """Adds --seed. The default is ROCEDRILL_SEED, or 1, so all runs of ctest are equal."""
    parser.add_argument("--seed", type=seed_of, default=os.environ.get("ROCEDRILL_SEED", "1"))

# SPDX-License-Identifier: Apache-2.0
"""A cell that traces itself: its tracer changes calls on their way to the broker, and after a filter of the cell's own
was asked. What is made of a call is judged anew, wherever it was changed."""

import platform

import pytest
from attempts import all_refused, succeeded

RULES = [{"pattern": "secret/**", "operations": ["read"], "effect": "deny", "priority": 100},
         {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the probe knows the registers of x86-64 only")


def furnish(cell):
    for name in ("public", "secret"):
        cell.write(f"{name}/f", name)


def test_no_call_becomes_one_that_is_not_judged(cell, probe):
    furnish(cell)
    answers = probe("tracer").inside(policy=cell.policy(RULES))
    assert len(answers) == 5
    all_refused(answers, "EACCES")


def test_where_it_is_allowed_they_all_read_it(cell, probe):
    furnish(cell)
    other = [{**RULES[0], "pattern": "another/**"}, RULES[1]]
    for answers in probe("tracer").inside(policy=cell.policy(other)), probe("tracer").outside():
        assert succeeded(answers) == set(answers), answers

# SPDX-License-Identifier: Apache-2.0
"""The checks of tools/lint, by subject. Each takes a Tree and returns (findings, notes)."""

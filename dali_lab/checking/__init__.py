"""Checks a dataset: goes through all samples that a graph's readers have, and reports those that are amiss."""

from dali_lab.checking.check import Check, check
from dali_lab.checking.findings import KINDS, Finding
from dali_lab.checking.report import Report

__all__ = ["KINDS", "Check", "Finding", "Report", "check"]

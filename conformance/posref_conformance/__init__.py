"""The conformance suite: checks, error budgets, runner and reports."""

"""Layouts of the arrays that a pattern accesses, each judged by replaying every access."""

"""Unrolled Python loops become loops again."""

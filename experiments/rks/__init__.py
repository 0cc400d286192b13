"""Rahimi and Recht, *Weighted sums of random kitchen sinks*."""

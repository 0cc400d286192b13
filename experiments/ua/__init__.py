"""Rahimi and Recht, *Uniform approximation of functions with random bases*."""

"""Choosing what the user leaves open: alpha and the number of functions."""

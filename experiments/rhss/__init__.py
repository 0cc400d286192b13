"""Cao and Lan, *A model-agnostic randomized learning framework based on RHSS*."""

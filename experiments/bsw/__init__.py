"""Maillard and Munos, *Brownian motions and scrambled wavelets for least-squares regression*."""

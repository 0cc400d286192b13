"""What several families share.

`rows` are blocks of standardised rows and the questions that functions ask of them. `randomness`
turns seeds into numbers, `sample` gathers the rows that a family reads from, `bandwidth` and `cube`
read from them. `spectra` and `frequencies` are for Fourier features, `pitches` and `hashing` for
grids, `activations` for units and networks, `anchors` and `pivots` for kernels; `grids`, `cascade`,
`scrambling` and `multiresolution` for functions on the unit cube. `cells` are functions that are
indicators of cells. `loops` holds what numba compiles, as `compiling` has it compiled and kept.
"""

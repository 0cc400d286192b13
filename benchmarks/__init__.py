"""How fast, how accurate, how large: randspan beside what else there is.

``python -m benchmarks`` runs everything that is not slow (some minutes on two cores), ``python -m
benchmarks speed adult`` what is named, slow or not, ``--quick`` a tiny form of it that shows that
it runs and nothing else. Tables go to the terminal, and every number behind them to one JSON file a
benchmark, in ``benchmarks/results`` or the folder after ``--out``, with the machine it was measured
on.

The rooms
---------
``speed``       one large regression against RBFSampler + Ridge, and against the bare arithmetic
``growth``      time and memory as rows are added, each size in a process of its own
``startup``     what ``import randspan`` adds to a session that has scikit-learn, and the first fit
``structured``  structured against independent frequencies: from how many columns on it pays
``peers``       error, time and memory beside seven other methods, on six data sets
``messy``       a shop's table as pandas reads it, beside the same one cleaned by hand
``onnx``        exported models: onnxruntime's time for one row and for 1,000, and what differs

Slow, so only when named:

``adult``       stumps under four losses, beside linear machines, an exact kernel and LightGBM
``many``        20,000 functions within 12 GB: passes over the features instead of moments
``forest``      523,000 rows, 5,000 functions, scales learned for the columns; kept, anew, exact
``bins``        random grids on the same rows, on Adult and CPU: error, time, growth; LightGBM
``learned``     learned scales against equal ones on nine tables, and beside xRFM
``memory``      what 41 fits take beside what their plans say, or why they are refused
``hypotheses``  trees beside extra-trees on nine tables, expansions on Crime, networks, Nyström
``copies``      rows that stand twice, for every estimator, loss and family
``determinism`` the same fits on other threads, jobs, processes and orders of rows, bit by bit
``streams``     random walks of fit, partial_fit, forget, merge and files against one fit
``fuzz``        random calls: answers are right, or refused in words of ours

Three stand apart: ``leverage`` prints what cross-validation does not see (``python -m
benchmarks.leverage``), ``checkouts`` times two versions of this library in turns (``python -m
benchmarks.checkouts OLD NEW``), ``errors`` compares their errors on the shared sets.

`harness` runs a race, `resident` and `machine` read the system, `data` makes and finds data,
`tabular` finds nine tables, `report` turns results into text, `scales` learns scales of columns for
``many``. A benchmark is a module with a ``name``, ``run(quick) -> dict`` and ``text(result) ->
str``, and ``slow = True`` if it is; `registry` lists them. ``bins``, ``learned`` and ``hypotheses``
have figures as well: ``python -m benchmarks.bins DIR/bins.json`` draws those of a result, beside
it.

How to read the tables
----------------------
fit, predict
    Seconds on the clock, the best of several runs. Contestants take turns (ours, peer, ours, peer,
    ...), so that a machine that is busy for a while is busy for all of them; the best is the run
    that was disturbed least. The median beside it tells how disturbed the others were; all runs
    are in the JSON file. Who needs more than 20 s runs once.
error
    On test rows: the root of the mean squared error, or the percentage of wrong classes.
peak MB
    The largest resident memory during the fit, beyond what was resident before it (so without the
    data): what the fit needs on top. The largest of all runs. 1 MB is 10⁶ bytes. Where the system
    does not let a process reset its peak, only memory beyond the highest earlier mark is seen, and
    the JSON file says so (``machine.peak_can_be_reset``).
process MB
    The largest resident memory of the whole process during the fit, data and libraries included;
    where a fit has a process of its own.
× ours
    Seconds of this fit divided by seconds of our fit it is set against: 6 means six times slower.
floor
    The arithmetic that no solution of this kind avoids, and nothing else: X·W' in float32, Z'Z of
    the same blocks, one factorisation of a k × k matrix in float64, by the BLAS that numpy ships.
    No cosines, no centring, no checks. Ours divided by the floor says what is left to gain.
bars
    What the project promises, beside what was measured. They are meant for a machine that is
    otherwise idle; a bar missed on a busy one says little, and a quick run says nothing.
"""

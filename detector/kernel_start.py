"""A quicker start of numba: its look for SciPy's linear algebra, which no kernel here needs, imports half of SciPy (a quarter of a second)."""

from __future__ import annotations

import sys


def without_linear_algebra() -> None:
    """Load the part of numba that would look for BLAS, with the look left out; kernels that do use linear algebra still look when they are compiled.

    Leans on numba's inside: where that has changed, or was loaded already, nothing happens and the start is slower.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    try:
        from numba.np import linalg

        look = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
    except (ImportError, AttributeError):
        return
    try:
        import numba.np.arraymath
    except ImportError:
        return
    else:
        numba.np.arraymath.ensure_blas = look  # type: ignore[attr-defined]
    finally:
        linalg.ensure_blas = look

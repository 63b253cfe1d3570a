"""How kernels are compiled, and a quicker start of numba: its look for SciPy's linear algebra, which no kernel here needs, imports half of SciPy (a quarter
of a second).
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import Any


def compiled(kernel: Any) -> Any:
    """The kernel, compiled at its first call; the code is kept beside the package or in the user's cache folder, where one of them can be written."""
    from numba import njit

    try:
        return njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # numba's "no locator available": a service user without a home, a read-only file system
        _tell_once()
        return njit(nogil=True)(kernel)


@cache
def _tell_once() -> None:
    text = "detector: compiled code can't be kept, so every start takes some seconds longer: set NUMBA_CACHE_DIR to a folder that can be written"
    logging.getLogger(__name__).warning(text)


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

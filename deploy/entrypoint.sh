#!/bin/sh
# The kernels that were compiled with the image, copied to where more can be added: the image itself may be read-only.
set -eu
if [ -d /opt/detector/numba ] && [ ! -d "$NUMBA_CACHE_DIR" ]; then
    cp -Rp /opt/detector/numba "$NUMBA_CACHE_DIR" 2>/dev/null || echo "detector: $NUMBA_CACHE_DIR can't be written: mount a tmpfs at /tmp" >&2
fi
exec detector "$@"

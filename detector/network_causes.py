"""Why a request never got an answer, in a few words of our own: from the chain of exceptions that clients wrap around what the system said.

Only exceptions of our own side (sockets, name look-up, TLS) are put into words. Nothing that a server sent is repeated.
"""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
from collections.abc import Iterator

NOT_TLS = "no TLS is spoken there"  # `https://` for a port that answers in plain text
CLOSED = "closed without an answer"
EXPIRED = "the certificate has expired"
OTHER_NAME = "the certificate is for another name"
NO_CONNECT = "connecting took too long"
REFUSED = "connection refused"
NAME_UNKNOWN, NAME_LATER = "the host name is not known", "the host name can't be resolved just now"
NEVER_SENT = frozenset({REFUSED, NAME_UNKNOWN, NAME_LATER})  # nothing of the request can have arrived
_NUMBERS = {
    errno.ECONNREFUSED: REFUSED,
    errno.ECONNRESET: "connection reset",
    errno.EPIPE: "connection reset",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "the network can't be reached",
    errno.ETIMEDOUT: NO_CONNECT,
}
_VERIFY = {  # OpenSSL's X509_V_ERR_* (x509_vfy.h)
    9: "the certificate is not valid yet",
    10: EXPIRED,
    18: "self-signed certificate",
    19: "signed by an authority that this machine does not know",
    20: "signed by an authority that this machine does not know",
    21: "signed by an authority that this machine does not know",
    62: OTHER_NAME,
    64: OTHER_NAME,
}
_NOT_TLS_REASONS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
_DEPTH = 12


def cause(error: BaseException) -> str:
    """The first cause that can be named, innermost first; else a time-out, else the innermost exception's class."""
    chain = list(_chain(error))
    for inner in reversed(chain):
        named = _named(inner)
        if named:
            return named
    return "timed out" if any(isinstance(inner, TimeoutError) for inner in chain) else type(chain[-1]).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what lies behind it, however the client keeps it."""
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting and len(seen) < _DEPTH:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or one in seen:
            continue
        seen.append(one)
        waiting += [*(getattr(one, "errors", None) or ()), getattr(one, "info", None), *one.args, one.__cause__, one.__context__]
    yield from seen


def _named(error: BaseException) -> str | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFY.get(error.verify_code, "it can't be verified")
    if isinstance(error, ssl.SSLError):
        return NOT_TLS if error.reason in _NOT_TLS_REASONS else f"TLS: {str(error.reason or 'failed').lower().replace('_', ' ')}"
    if isinstance(error, socket.gaierror):
        return NAME_LATER if error.errno == socket.EAI_AGAIN else NAME_UNKNOWN
    if isinstance(error, http.client.RemoteDisconnected):
        return CLOSED
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return _NUMBERS[error.errno]
    name = type(error).__name__  # classes of urllib3 and requests, which only their clients need
    if name == "ConnectTimeoutError" or name == "ConnectTimeout":
        return NO_CONNECT
    if name in ("ProxyError", "ProxySchemeUnknown"):
        return "the proxy can't be used"
    if "Fingerprints did not match" in str(error):
        return "another certificate than that of the fingerprint"
    return None

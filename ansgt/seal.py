"""A user's own seal: what lies in a cache counts only if this user wrote it.

A checksum beside the data says that they are whole, not whose they are: whoever changes the data changes it as well. The
seal is keyed (HMAC-SHA256) with 32 random bytes that lie outside of every cache, in `$XDG_STATE_HOME/ansgt/cache.key` or
`~/.local/state/ansgt/cache.key`. Where they cannot be stored they live as long as the process: then its caches count for
itself alone.
"""

import hmac
import os
import stat
import tempfile
from functools import cache
from pathlib import Path

LENGTH = 32


def seal(digest: str) -> str:
    """The seal of some content, by its hash."""
    return hmac.new(_key(_place()), digest.encode(), "sha256").hexdigest()


def is_sealed(digest: str, claimed: object) -> bool:
    """Whether this user sealed the content with this hash."""
    return isinstance(claimed, str) and hmac.compare_digest(seal(digest).encode(), claimed.encode())


def _place() -> str:
    folder = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return os.path.join(os.path.expanduser(folder), "ansgt", "cache.key")


@cache
def _key(place: str) -> bytes:
    path = Path(place)
    try:
        if not path.exists():
            _create(path)
        facts = path.stat()
        own = stat.S_ISREG(facts.st_mode) and facts.st_uid == getattr(os, "geteuid", lambda: facts.st_uid)()
        key = path.read_bytes() if own and facts.st_size == LENGTH else b""
    except OSError:
        key = b""
    return key if len(key) == LENGTH else os.urandom(LENGTH)


def _create(path: Path) -> None:
    """Of several processes that come at once, the first decides."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)  # readable by its owner alone
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(os.urandom(LENGTH))
        os.link(name, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(name)

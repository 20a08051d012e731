"""Progress of long operations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, Optional, Union

#: Called as ``progress(stage, done, total)``, about twenty times a second, on the calling thread.
#: ``stage`` is a word such as ``"merging"``; ``total`` is ``None`` if it is unknown. ``True`` shows a
#: progress bar of tqdm.
Progress = Union[None, bool, Callable[[str, int, Optional[int]], Any]]
Listener = Optional[Callable[[str, int, Optional[int]], Any]]


class _Bar:
    """A progress bar of tqdm for each stage."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: Optional[int]) -> None:
        if stage != self._stage or self._bar is None:
            self.close()
            self._stage, self._bar = stage, self._tqdm(desc=stage, total=total, unit_scale=True)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar() -> Optional[_Bar]:
    """A progress bar, if tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warnings.warn("progress=True shows a bar of tqdm, which is not installed", UserWarning, stacklevel=4)
        return None
    return _Bar(tqdm)


@contextmanager
def listening(progress: Progress) -> Iterator[Listener]:
    """The callable for the native module. A progress bar is closed at the end."""
    check_progress(progress)
    if progress is True:
        bar = _bar()
        try:
            yield bar
        finally:
            if bar is not None:
                bar.close()
    else:
        yield progress or None


def check_progress(progress: Progress) -> None:
    """Refuses a value that is not a valid ``progress`` argument."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress: a callable, True or None is wanted, not {type(progress).__name__}")


def listener_of(progress: Progress) -> Listener:
    """The callable for an iterator. A progress bar stays open until the next stage or the end."""
    if progress is True:
        return _bar()
    with listening(progress) as listener:
        return listener

"""The text that stands in HTML, for documents that are stored without their markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Optional

#: Elements whose content nobody reads as text.
_UNREAD = frozenset("iframe noembed noframes noscript object script style template".split())

#: Elements that stand inside words and sentences. All others keep words apart.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q s samp small span strike strong "
    "sub sup time tt u var wbr".split()
)

_MARKUP = re.compile(r"<[A-Za-z/!?]|&[#A-Za-z]")
_SPACE = re.compile(r"\s+")


def text_of_html(html: str) -> str:
    """What readers see: entities decoded, no markup, comments, scripts or styles; one line for each paragraph.

    A text without markup is given back as it is. Malformed HTML is no error. Takes time in proportion to the length.
    """
    if _MARKUP.search(html) is None:
        return html
    reader = _Reader()
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, NotImplementedError):
        # The parser of older Pythons gives up on unknown declarations such as "<![if".
        return text_of_html(html.replace("<!", "<"))
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    """Gathers text, with a line break wherever an element begins or ends that is not part of a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        #: The element without text that we are in, and how many of its kind are open.
        self._unread: Optional[str] = None
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        self._separate(tag)
        if self._unread is None and tag in _UNREAD:
            self._unread = tag
        if tag == self._unread:
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        self._separate(tag)
        if tag == self._unread:
            self._depth -= 1
            if self._depth == 0:
                self._unread = None

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        self._separate(tag)

    def handle_data(self, data: str) -> None:
        if self._unread is None:
            self.pieces.append(_SPACE.sub(" ", data))

    def _separate(self, tag: str) -> None:
        if tag not in _INLINE:
            self.pieces.append("\n")

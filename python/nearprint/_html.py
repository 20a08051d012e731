"""The text of HTML documents."""

from __future__ import annotations

import re

from . import _nearprint

_MARKUP = re.compile(r"<[A-Za-z/!?]|&[#A-Za-z]")


def text_of_html(html: str) -> str:
    """The visible text of a document, one line for each paragraph.

    Entities are decoded; markup, comments, scripts and styles are removed. A text without markup is
    returned unchanged. Malformed HTML is not an error. The time is linear in the length.
    """
    if _MARKUP.search(html) is None:
        return html
    return _nearprint.html_text(html)

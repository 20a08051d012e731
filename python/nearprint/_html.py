"""The text that stands in HTML, for documents that are stored without their markup."""

from __future__ import annotations

import re

from . import _nearprint

_MARKUP = re.compile(r"<[A-Za-z/!?]|&[#A-Za-z]")


def text_of_html(html: str) -> str:
    """What readers see: entities decoded, no markup, comments, scripts or styles; one line for each paragraph.

    A text without markup is given back as it is. Malformed HTML is no error. Takes time in proportion to the length.
    """
    if _MARKUP.search(html) is None:
        return html
    return _nearprint.html_text(html)

"""The bullets and numbers that models put before a call on its line.

1. a()    1、a()    ① a()    （1）a()    一、a()    [1] a()    * [ ] a()    a. a()    Call 1: a()
"""

from __future__ import annotations

BULLET = (
    r"(?:(?:(?:[-*•·+>–—→▪◦●■🔹🔸]|\d{1,2} ?[.):：\-]|\[[ xX\d]{0,2}\]"
    r"|[a-hA-H][.)]|(?:call|first|second|third|then|next|finally)[ \t]?\d{0,2}[ \t]?[:：,])[ \t]+"
    r"|(?:[①-⑳🔹🔸→]|\d{1,2} ?[、．]|[(（]\d{1,2}[)）]|\[\d{1,2}\]"
    r"|\d{1,2}[)）]|[一二三四五六七八九十]{1,2}、)[ \t]*)){1,2}"
)
"""One of them, or two: ``* [ ]``; without any, it does not match."""

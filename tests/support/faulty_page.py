"""A real loop whose page of all apps fails: ``python -m tests.support.faulty_page``."""

from __future__ import annotations

import sys

from loop.__main__ import main
from loop.ui import home
from loop.ui.frame import PageView

WHY = "the words of an error, with somebody's name in them"


async def _fail(_: PageView) -> None:
    raise RuntimeError(WHY)


if __name__ == "__main__":
    home.show_home = _fail
    sys.exit(main())

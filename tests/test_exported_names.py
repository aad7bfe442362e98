"""What `import reactext` gives, and what it does not load."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import reactext


def test_all_is_sorted_and_complete() -> None:
    public = {
        name
        for name, value in vars(reactext).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    assert set(reactext.__all__) == public | {"__version__"}
    assert reactext.__all__ == sorted(reactext.__all__)


def test_no_optional_package_is_loaded() -> None:
    code = (
        "import sys, reactext; "
        "print(sorted({'click', 'rich', 'xllamacpp', 'llguidance', 'pytest', 'hypothesis'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

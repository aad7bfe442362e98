"""Check that a wheel holds the package, exactly the checkout's data files, and nothing outside.

python .ci/check_wheel.py dist/reactext-0.1.0-py3-none-any.whl
"""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def wanted() -> set[str]:
    """The files of the checkout that belong into a wheel."""
    files = {f"reactext/{each}" for each in _below(ROOT / "reactext", "*.py")} | {
        "reactext/py.typed",
        "reactext/trace/page.css",
    }
    files |= {f"reactext/grammars/{each}" for each in _below(ROOT / "grammars", "*.lark")}
    return files | {f"reactext/prompts/{each}" for each in _below(ROOT / "prompts", "*.jinja")}


def _below(directory: Path, pattern: str) -> list[str]:
    return [path.relative_to(directory).as_posix() for path in directory.rglob(pattern)]


with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
missing, extra = sorted(wanted() - names), sorted(names - wanted())
if missing or extra:
    sys.exit(f"the wheel lacks {missing} and holds besides {extra}")
print(f"the wheel holds {len(names)} files, all as in the checkout")

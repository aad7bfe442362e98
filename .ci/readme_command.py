"""Print the commands of the README's shell block that is marked with a name.

    python .ci/readme_command.py test

A block is marked by the comment ``<!-- name -->`` on the line before it.
"""

import re
import sys
from pathlib import Path

name = sys.argv[1]
text = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
found = re.search(rf"<!-- {re.escape(name)} -->\n```(?:sh|console|bash)\n(.*?)```", text, re.DOTALL)
if found is None:
    sys.exit(f"README.md has no shell block marked <!-- {name} -->")
print(found[1].rstrip())

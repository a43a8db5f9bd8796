"""What goes out: one JSON object a line."""

import json
import sys


def tell(**what):
    sys.stdout.write(json.dumps(what, ensure_ascii=False) + "\n")
    sys.stdout.flush()

"""Answer a customer from an order book and a parcel tracker.

python examples/orders.py                      # the embedded model
python examples/orders.py ollama:qwen2.5:7b    # a model of yours
"""

from __future__ import annotations

import sys

import reactext
from reactext import Engine, tool

TASK = "Where is my order A1001, and when does it arrive?"

ORDERS = {
    "A1001": "keyboard, shipped, parcel SF778",
    "A1002": "monitor, paid, not shipped yet",
    "A1003": "headset, shipped, parcel YT312",
}
PARCELS = {
    "SF778": "in Hangzhou, arrives 14 March",
    "YT312": "delivered on 9 March",
}


@tool(idempotent=True)
def get_order(order_id: str) -> str:
    """The item, the state and the parcel number of an order."""
    return ORDERS.get(order_id.upper(), f"no order {order_id}; the orders are {', '.join(ORDERS)}")


@tool(idempotent=True)
def track_parcel(parcel: str) -> str:
    """Where a parcel is, by its parcel number."""
    return PARCELS.get(parcel.upper(), f"no parcel {parcel}")


TOOLS = [get_order, track_parcel]


def main() -> None:
    """Answer the customer, and print the steps and the answer."""
    context = Engine(reactext.model(*sys.argv[1:2]), tools=TOOLS).run(TASK)
    for step in context.steps:
        for action, observation in zip(step.turn.actions, step.observations, strict=True):
            print(f"{action.text}  →  {observation.text}")
    print(context.answer)


if __name__ == "__main__":
    main()

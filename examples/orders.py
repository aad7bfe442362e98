"""Answer a customer from an order book and the logistics behind it.

python examples/orders.py                      # the embedded model
python examples/orders.py ollama:qwen2.5:7b    # a model of yours
"""

from __future__ import annotations

import sys

import reactext
from reactext import Engine, tool

TASK = "Where is my order A1001, and when does it arrive?"

ORDERS = {
    "A1001": "keyboard, 320 yuan, shipped",
    "A1002": "monitor, 1480 yuan, paid, not shipped yet",
    "A1003": "headset, 260 yuan, shipped",
}
PARCELS = {
    "A1001": "in Hangzhou, arrives on 14 March",
    "A1003": "delivered on 9 March",
}


@tool(idempotent=True)
def get_order(order_id: str) -> str:
    """What was ordered, its price, and whether it is paid and shipped."""
    return ORDERS.get(order_id.upper(), f"no order {order_id}; the orders are {', '.join(ORDERS)}")


@tool(idempotent=True)
def track_order(order_id: str) -> str:
    """Where the parcel of an order is, and when it arrives."""
    return PARCELS.get(order_id.upper(), f"nothing was shipped for {order_id}")


TOOLS = [get_order, track_order]


def main() -> None:
    """Answer the customer, and print the steps and the answer."""
    context = Engine(reactext.model(*sys.argv[1:2]), tools=TOOLS).run(TASK)
    for step in context.steps:
        for action, observation in zip(step.turn.actions, step.observations, strict=True):
            print(f"{action.text}  →  {observation.text}")
    print(context.answer)


if __name__ == "__main__":
    main()

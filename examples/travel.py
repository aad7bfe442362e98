"""Plan a trip with four tools over local data: flights, then hotels and weather side by side.

python examples/travel.py                      # the embedded model
python examples/travel.py ollama:qwen2.5:7b    # a model of yours
"""

from __future__ import annotations

import sys
from typing import Annotated

from pydantic import Field

import reactext
from reactext import Engine, tool

TASK = "帮我规划3月12日从北京去上海的出行，住两晚，机票预算1000元以内"

CITIES = {
    "beijing": "北京",
    "shanghai": "上海",
    "guangzhou": "广州",
    "hangzhou": "杭州",
    "chengdu": "成都",
}
FLIGHTS = {
    ("北京", "上海"): [
        ("MU5102", "08:00", 780),
        ("CA1515", "10:30", 960),
        ("HO1252", "13:05", 1120),
    ],
    ("上海", "北京"): [("MU5103", "09:00", 810), ("CA1520", "17:30", 990)],
    ("北京", "广州"): [("CZ3102", "09:20", 1180), ("CA1321", "12:00", 1350)],
    ("广州", "成都"): [("3U8736", "07:50", 690), ("CZ3403", "15:10", 880)],
}
HOTELS = {
    "上海": [("如家外滩店", 329), ("全季人民广场店", 458), ("和平饭店", 2180)],
    "杭州": [("汉庭西湖店", 279), ("西湖国宾馆", 1680)],
    "成都": [("春熙路亚朵", 412), ("锦江宾馆", 880)],
}
WEATHER = {
    "北京": "晴，2至12°C",
    "上海": "小雨，9至14°C",
    "广州": "多云，17至24°C",
    "杭州": "阴，8至15°C",
    "成都": "多云，10至17°C",
}

City = Annotated[str, Field(description="a city, such as Shanghai or 上海")]


def city_name(text: str) -> str:
    """Return the name under which the data know a city."""
    name = text.strip().removesuffix("市")
    return CITIES.get(name.lower(), name)


@tool(idempotent=True)
def search_flights(
    origin: City,
    destination: City,
    date: Annotated[str, Field(description="like 03-12")],
    max_price: int | None = None,
) -> str:
    """Flights on a day, the cheapest first, with prices in yuan."""
    rows = FLIGHTS.get((city_name(origin), city_name(destination)), [])
    fitting = [row for row in rows if max_price is None or row[2] <= max_price]
    if not fitting:
        return f"no flight from {origin} to {destination} on {date} within that price"
    return "; ".join(f"{number} {time} {price}元" for number, time, price in fitting)


@tool(idempotent=True)
def search_hotels(city: City, nights: int, max_price: int | None = None) -> str:
    """Hotels in a city, the cheapest first, with prices in yuan a night."""
    rows = HOTELS.get(city_name(city), [])
    fitting = [row for row in rows if max_price is None or row[1] <= max_price]
    if not fitting:
        return f"no hotel in {city} within that price"
    return "; ".join(
        f"{name} {price}元/晚, {nights}晚共{price * nights}元" for name, price in fitting
    )


@tool(idempotent=True)
def get_weather(city: City) -> str:
    """Weather forecast for a city."""
    return WEATHER.get(city_name(city), f"no forecast for {city}")


@tool(idempotent=True)
def make_itinerary(city: City, days: int, flight: str, hotel: str) -> str:
    """Write the plan of a trip, once the flight and the hotel are chosen."""
    lines = [f"第1天：乘 {flight} 抵达{city_name(city)}，入住{hotel}"]
    lines += [f"第{day}天：游览{city_name(city)}" for day in range(2, days)]
    lines += [f"第{days}天：返程"]
    return "\n".join(lines)


TOOLS = [search_flights, search_hotels, get_weather, make_itinerary]


def main() -> None:
    """Plan the trip, and print each thing as it happens."""
    engine = Engine(reactext.model(*sys.argv[1:2]), tools=TOOLS)
    with engine.stream(TASK) as run:
        for event in run:
            match event:
                case reactext.Action(text=text):
                    print(f"→ {text}", flush=True)
                case reactext.Observation(text=text, seconds=seconds):
                    print(f"← {text}  ({seconds:.2f} s)", flush=True)
                case reactext.TextDelta(kind="answer", text=text):
                    print(text, end="", flush=True)
    print(f"\n{run.context.status}, {len(run.context.steps)} steps")


if __name__ == "__main__":
    main()

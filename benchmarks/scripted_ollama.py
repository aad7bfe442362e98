"""A server that speaks Ollama's API and writes a fixed text: what is left is the client's time.

    python benchmarks/scripted_ollama.py

It prints its address and runs until its standard input ends. The task in the prompt says what to
write: "[[steps=20 wait=50]]" asks for twenty calls and then an answer, each after 50 milliseconds.
Nothing is remembered between requests: the step is told from the observations in the prompt.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

_TASK = re.compile(r"\[\[steps=(\d+) wait=(\d+)\]\]")
_TOKEN = re.compile(r" ?\w{1,6}|\s|[^\w\s]")


def text_for(prompt: str) -> tuple[str, float]:
    """Return what comes next in a prompt, and the seconds before it."""
    found = _TASK.search(prompt)
    steps, wait = (int(found[1]), int(found[2])) if found else (0, 0)
    done = prompt.count("\nObservation:", found.end() if found else 0)
    if done < steps:
        text = (
            f" the list is not complete yet, so the next thing to find out is item k{done}.\n"
            f'Action: lookup(key="k{done}")\n'
        )
    else:
        text = " I know the answer.\nFinal Answer: all items were looked up\n"
    return text, wait / 1000


def reply(text: str) -> bytes:
    """Return a streamed reply, one token a chunk, as the server sends it."""
    lines = [{"model": "fake", "response": token, "done": False} for token in _TOKEN.findall(text)]
    last = {"model": "fake", "response": "", "done": True, "done_reason": "stop"}
    chunks = [json.dumps(line).encode() + b"\n" for line in [*lines, last]]
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"
    )


def answer(path: str) -> bytes:
    """Return what is told of the model."""
    known = {"/api/show": {"model_info": {"fake.context_length": 8192}}, "/api/ps": {"models": []}}
    body = json.dumps(known.get(path, {})).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1]) if length else 0)
            path = head.split(" ", 2)[1]
            if path == "/api/generate":
                text, wait = text_for(json.loads(body)["prompt"])
                if wait:
                    await asyncio.sleep(wait)
                writer.write(reply(text))
            else:
                writer.write(answer(path))
            await writer.drain()
    except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve until the standard input ends."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26, backlog=256)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())

"""A server that speaks OpenAI's chat API and pretends to be a model: `python pretend_model.py`.

Asked for a plan, it gives PLAN. Asked with tools, it calls `convert_time` or `send_letter` once and
says what it read; asked without, it writes a note around what the step before has found, or adds
two numbers. Of papers it lists what stands in a document, judges it, accepts what others made of
it, and says how many there are. Of the example jobs it does what each asks for. Of files with bugs
it reads the one that it is to mend, and changes it.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ADDRESS = ("127.0.0.1", 8765)
NAMES = ("pretend", "pretend-large")
CALL = {"source_timezone": "Europe/Berlin", "time": "09:00", "target_timezone": "Asia/Tokyo"}
CODE = "```python\ndef add(a, b):\n    return a + b\n```"
DOCUMENT = re.compile(r"^# ([^\n]+)\n\s*(.+?)\s*^</", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"\d[\d.]* (?:degrees|per cent|minutes)")
STRENGTHS = ("strong", "fair", "weak")
PLAN: dict[str, list[dict[str, Any]]] = {
    "create_subagent": [
        {"name": "Clerk", "system_prompt": "You answer with times that a tool has given you."},
        {"name": "Writer", "system_prompt": "You write short, friendly notes."},
    ],
    "assign_task": [
        {"agent": "Clerk", "prompt": "What time is it in Tokyo when it is 09:00 in Berlin?"},
        {
            "agent": "Writer",
            "prompt": "Write a note of one sentence to the caller.",
            "depends_on": [1],
        },
    ],
}


FIXES = {
    "prices[1:]": "prices",
    "stored - wanted": "max(0, wanted - stored)",
    "name[1:]": "name",
    "weekday < 5": "weekday < 6",
}
MISTAKES = (
    {"where": "monday.md", "what": "No hour."},
    {"where": "tuesday.md", "what": "No berth."},
)


def message(messages: list[dict[str, Any]], tools: dict[str, Any]) -> dict[str, Any]:
    """Return what the model answers in a conversation, where it may call these tools."""
    last = messages[-1]
    prompt, pictures = parts(last["content"])
    if "edit" in tools:
        return mend(messages, prompt)
    if last["role"] == "tool":
        return {"role": "assistant", "content": read(prompt)}
    if "write_plan" in tools:
        has_time = "time" in json.dumps(tools["write_plan"])
        return call("write_plan", job_plan(prompt) or plan(has_time))
    if "convert_time" in tools:
        return call("convert_time", CALL)
    if "send_letter" in tools:
        return call("send_letter", {"to": "Ada"})
    return {"role": "assistant", "content": on_job(prompt, pictures) or note(prompt)}


def parts(content: str | list[dict[str, Any]]) -> tuple[str, int]:
    """Return the text of a message, and how many pictures it has."""
    if isinstance(content, str):
        return content, 0
    texts = [part["text"] for part in content if part["type"] == "text"]
    return "\n".join(texts), len(content) - len(texts)


def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the call of a tool."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def plan(with_time: bool) -> dict[str, Any]:
    """Return PLAN, in which the clerk has the toolset `time` if that may be given."""
    clerk, writer = PLAN["create_subagent"]
    return {**PLAN, "create_subagent": [{**clerk, "tools": ["time"] * with_time}, writer]}


def mend(messages: list[dict[str, Any]], last: str) -> dict[str, Any]:
    """Read the file that is to be mended, then change it, then say so."""
    asked = "\n".join(parts(each["content"] or "")[0] for each in messages)
    path = re.search(r"Mend (\S+\.py)", asked)
    name = path[1] if path else ""
    done = sum(each["role"] == "tool" for each in messages)
    if done == 0:
        return call("read", {"path": name})
    if done == 1:
        wrong = next((text for text in FIXES if text in last), "")
        return call("edit", {"path": name, "old": wrong, "new": FIXES.get(wrong, "")})
    return {"role": "assistant", "content": f"{name} is mended."}


def job_plan(prompt: str) -> dict[str, Any] | None:
    """Return a plan of one step for an example job; None for anything else."""
    if "four bugs" in prompt:
        engineer = {"name": "Engineer", "system_prompt": "You mend one file, and no more."}
        paths = [f"shop/{name}.py" for name in ("dates", "mail", "prices", "stock")]
        return {
            "create_subagent": [engineer],
            "assign_task": [
                {
                    "agent": "Engineer",
                    "prompt": f"Mend {path}, so that its tests pass.",
                    "output": {"kind": "patch", "only": [path]},
                }
                for path in paths
            ],
        }
    if not (
        found := re.search(r"What does the sign say|Describe the port|the reports ask", prompt)
    ):
        return None
    step = {"agent": "Writer", "prompt": f"{found[0]}: answer in a sentence.", "depends_on": []}
    return {"create_subagent": PLAN["create_subagent"][1:], "assign_task": [step]}


def on_job(prompt: str, pictures: int) -> str:
    """Return what an example job asks for; "" for anything else."""
    if invoice := re.search(r"(.+)\nInvoice (\d+)\nDate: (\S+)[\s\S]*Total: EUR (\S+)", prompt):
        seller, number, date, total = invoice.groups()
        row = {"number": number, "date": date, "seller": seller, "total": float(total)}
        return json.dumps(row)
    if "Correct the bug" in prompt:
        return fixed(prompt)
    if "mistakes" in prompt:
        known = [each for each in MISTAKES if each["what"] in prompt]
        return json.dumps({"mistakes": [each for each in MISTAKES if each not in known][:1]})
    if "the sign" in prompt:
        return (
            f"There {'is a sign' if pictures else 'is no sign'}, and the memo names the same hours."
        )
    if "the port" in prompt:
        return "It is a small port with a lock, a fish market and two cranes."
    if "the reports ask" in prompt:
        return "Change the rope of the south crane, and free a berth for gravel."
    return ""


def fixed(prompt: str) -> str:
    """Return a file without its bug."""
    code = prompt[prompt.index('"""') : prompt.index("\n</")]
    for wrong, right in FIXES.items():
        code = code.replace(wrong, right)
    return f"```python\n{code}\n```"


def read(result: str) -> str:
    """Return a sentence on what the tool gave."""
    if "letter" in result:
        return "Ada has a letter of thanks."
    try:
        # What a tool gives stands between marks.
        target = json.loads(result[result.index("{") : result.rindex("}") + 1])["target"]
    except (ValueError, KeyError):
        return f"No time was found: {result}"
    return (
        f"it is {target['datetime'][11:16]} in {target['timezone']} when we open at {CALL['time']}."
    )


def note(prompt: str) -> str:
    """Return a note around what the step before has found; else what there is to find."""
    if "Python function" in prompt:
        return CODE
    if "paper" in prompt:
        return on_papers(prompt)
    _, result, rest = prompt.partition("Result of ")
    if not result:
        return "it is 17:00 in Tokyo, as far as I remember."
    greeting = "Dear Sir or Madam," if "formal" in rest else "Dear caller,"
    return f"{greeting} {rest.splitlines()[2]} Call us then."


def on_papers(prompt: str) -> str:
    """Return what is asked about papers: those in a document, a judgement, or what all come to."""
    if '"verdict"' in prompt:
        return json.dumps({"reasons": [], "verdict": "accept"})
    if "List the papers" in prompt:
        return json.dumps({"papers": [paper(*DOCUMENT.findall(prompt)[0])]})
    if "Judge" in prompt:
        return json.dumps(judged(json.loads(prompt[prompt.index("{") : prompt.index("}") + 1])))
    strong, fair, weak = (prompt.count(f",{word}\n") for word in STRENGTHS)
    return (
        f"There are {strong + fair + weak} papers on the topic. The evidence is strong in "
        f"{strong} of them, fair in {fair} and weak in {weak}."
    )


def paper(title: str, text: str) -> dict[str, Any]:
    """Return what a document says: a sentence with a figure, and how that was found."""
    first, *others = re.split(r"(?<=\.)\s+", " ".join(text.split()))
    claim = next((sentence for sentence in others if FIGURE.search(sentence)), first)
    on_topic = bool(re.search(r"\bheat|degrees", text))
    evidence = f"{first} {others[-1] if others else ''}"
    return {"title": title, "on_topic": on_topic, "claim": claim, "evidence": evidence}


def judged(found: dict[str, Any]) -> dict[str, str]:
    """Return a row of a table about a paper."""
    claim, evidence = found["claim"], found["evidence"]
    figure = FIGURE.search(claim)
    is_weak = re.search("model|single", evidence)
    is_strong = re.search("by lot|sensors|stations|volunteers", evidence)
    return {
        "title": found["title"],
        "claim": claim,
        "effect": figure[0] if figure else "none",
        "evidence": STRENGTHS[2 if is_weak else 0 if is_strong else 1],
    }


def completion(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, as a server sends it whole."""
    tools = {tool["function"]["name"]: tool for tool in asked.get("tools") or []}
    answer = message(asked["messages"], tools)
    ended = "tool_calls" if "tool_calls" in answer else "stop"
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "message": answer, "finish_reason": ended}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def streamed(whole: dict[str, Any]) -> str:
    """Return an answer as a server streams it; here it comes in a single piece."""
    [choice] = whole["choices"]
    delta = choice["message"]
    for index, called in enumerate(delta.get("tool_calls", [])):
        called["index"] = index
    piece = {"index": 0, "delta": delta, "finish_reason": choice["finish_reason"]}
    chunk = {**whole, "object": "chat.completion.chunk", "choices": [piece]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"


class Model(BaseHTTPRequestHandler):
    """Answers `POST /v1/chat/completions`, and `GET /v1/models`."""

    def do_GET(self) -> None:
        models = {name: {"id": name, "object": "model"} for name in NAMES}
        *_, name = self.path.split("/")
        if name == "models":
            self._send(json.dumps({"object": "list", "data": [*models.values()]}))
        elif name in models:
            self._send(json.dumps(models[name]))
        else:
            self._refuse(name)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["model"] not in NAMES:
            self._refuse(asked["model"])
        elif asked.get("stream"):
            self._send(streamed(completion(asked)), "text/event-stream")
        else:
            self._send(json.dumps(completion(asked)))

    def _refuse(self, name: str) -> None:
        self._send(json.dumps({"error": {"message": f"There is no model {name!r}."}}), status=404)

    def _send(self, content: str, kind: str = "application/json", status: int = 200) -> None:
        body = content.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


if __name__ == "__main__":
    with ThreadingHTTPServer(ADDRESS, Model) as server:
        sys.stdout.write(f"openai:{NAMES[0]}@http://{ADDRESS[0]}:{ADDRESS[1]}/v1\n")
        sys.stdout.flush()
        server.serve_forever()

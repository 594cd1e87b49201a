"""A server on this machine that takes what W&B's client sends, and notes it.

It answers the questions that the client of wandb 0.31 asks for a run without artifacts.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, final

from typing_extensions import override

ENTITY = "somebody"
KEY = "0123456789abcdef" * 2 + "01234567"
"""The one key of the account."""


_AUTHORIZATION = f"Basic {b64encode(f'api:{KEY}'.encode()).decode()}"


@final
@dataclass
class Arrived:
    """What has arrived of one run."""

    about: dict[str, Any] = field(default_factory=dict[str, Any])
    """Its name, group, tags and the like, under the names of the mutation that brings them."""
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    history: list[str] = field(default_factory=list[str])
    """Rows as JSON, at the places that the client gave them."""
    summary: dict[str, Any] = field(default_factory=dict[str, Any])
    exit_codes: list[int] = field(default_factory=list[int])
    """How it ended, each time."""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def rows(self) -> list[dict[str, Any]]:
        """The rows in the order of the run."""
        return [json.loads(line) for line in self.history]

    def upsert(self, told: dict[str, Any]) -> None:
        """Take what is said about the run; what is empty stays as it was."""
        self.about |= {name: value for name, value in told.items() if value}
        for key, entry in json.loads(told["config"] or "{}").items():
            self.config[key] = entry["value"]

    def stream(self, told: dict[str, Any]) -> None:
        """Take a piece of the stream of rows."""
        for name, part in told.get("files", {}).items():
            if name == "wandb-history.jsonl":
                self.history[part["offset"] :] = part["content"]
            elif name == "wandb-summary.json":
                self.summary = json.loads(part["content"][-1])
        if told.get("complete"):
            self.exit_codes.append(told["exitcode"])

    def bucket(self, name: str) -> dict[str, Any]:
        """The run as the client asks for it."""
        return {
            "id": name,
            "name": name,
            "displayName": self.about.get("displayName"),
            "project": {
                "id": "p",
                "name": self.about.get("project"),
                "entity": {"id": "e", "name": ENTITY},
            },
            "config": json.dumps({key: {"value": value} for key, value in self.config.items()}),
            "summaryMetrics": json.dumps(self.summary),
            "historyLineCount": len(self.history),
            "historyTail": json.dumps(self.history[-1:]),
            "eventsLineCount": 0,
            "eventsTail": "[]",
            "logLineCount": 0,
            "tags": self.about.get("tags"),
            "wandbConfig": "{}",
        }


@final
class WandbServer(ThreadingHTTPServer):
    """The server, and what has arrived by the run's identity."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.runs: dict[str, Arrived] = {}
        self.begun = Event()
        """Set when the first run has arrived."""

    def die(self) -> None:
        """Answer no call any more."""
        self.shutdown()
        self.server_close()

    def answer(self, operation: str, told: dict[str, Any]) -> dict[str, Any]:
        """The data that a GraphQL operation asks for."""
        answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "Viewer": _viewer,
            "ServerFeaturesQuery": lambda _: {"serverInfo": {"features": []}},
            "UpsertBucket": self._upsert,
            "RunResumeStatus": self._resume_status,
            "CreateRunFiles": self._create_files,
        }
        return answers[operation](told)

    def _upsert(self, told: dict[str, Any]) -> dict[str, Any]:
        inserted = told["name"] not in self.runs
        run = self.runs.setdefault(told["name"], Arrived())
        run.upsert(told)
        self.begun.set()
        return {"upsertBucket": {"bucket": run.bucket(told["name"]), "inserted": inserted}}

    def _resume_status(self, told: dict[str, Any]) -> dict[str, Any]:
        run = self.runs.get(told["name"])
        model = {"id": "p", "name": told["project"], "entity": {"id": "e", "name": ENTITY}}
        return {"model": {**model, "bucket": run and run.bucket(told["name"])}}

    def _create_files(self, told: dict[str, Any]) -> dict[str, Any]:
        folder = f"{self.url}/upload/{told['run']}"
        files = [{"name": name, "uploadUrl": f"{folder}/{name}"} for name in told["files"]]
        return {"createRunFiles": {"runID": told["run"], "uploadHeaders": [], "files": files}}


@contextmanager
def serving() -> Generator[WandbServer]:
    """A server for the length of the block."""
    with WandbServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _viewer(_: dict[str, Any]) -> dict[str, Any]:
    teams = {"edges": [{"node": {"name": ENTITY}}]}
    who = {"id": "u", "entity": ENTITY, "username": ENTITY, "email": "", "flags": "{}"}
    return {"viewer": {**who, "teams": teams}}


@final
class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self._body()
        if self.headers["Authorization"] != _AUTHORIZATION:
            self.send_error(401)
        elif self.path == "/graphql":
            asked = json.loads(body)
            data = self._known.answer(asked["operationName"], asked.get("variables", {}))
            self._reply({"data": data})
        elif self.path.endswith("/file_stream"):
            self._known.runs[self.path.split("/")[-2]].stream(json.loads(body))
            self._reply({})
        else:
            self.send_error(404)

    def do_PUT(self) -> None:
        _, _, run, name = self.path.split("/", 3)
        self._known.runs[run].files[name] = self._body()
        self._reply({})

    @property
    def _known(self) -> WandbServer:
        assert isinstance(self.server, WandbServer)
        return self.server

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def _reply(self, content: dict[str, Any]) -> None:
        text = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    @override
    def log_message(self, format: str, *args: object) -> None:
        return

"""A conversation in Open WebUI, with a tool of its own that really runs: the requests of its page, to its server. In the environment as for library_turns.py."""
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import uuid

URL, KEY, MODEL, WORK = (os.environ[name] for name in ("URL", "KEY", "MODEL", "WORK"))
with open(os.environ["TEXTS"]) as file:
    TEXTS = json.load(file)
WAIT_SECONDS = 150
TOOL = '''
class Tools:
    def write_file(self, path: str, content: str) -> str:
        """Writes a file."""
        with open(path, "w") as file:
            file.write(content)
        return "written"
'''

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]
token = None


def ask(method, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", method=method)
    request.add_header("content-type", "application/json")
    if token is not None:
        request.add_header("authorization", f"Bearer {token}")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=60) as answer:
        return json.load(answer)


def until(what, look):
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            found = look()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.2)
    raise TimeoutError(what)


def turn(text, chat, parent):
    asked, answered = str(uuid.uuid4()), str(uuid.uuid4())
    message = {
        "id": asked,
        "parentId": parent,
        "childrenIds": [],
        "role": "user",
        "content": text,
        "timestamp": int(time.time()),
        "models": [MODEL],
    }
    begun = ask(
        "POST",
        "/api/chat/completions",
        {
            "stream": True,
            "model": MODEL,
            "messages": [*history, {"role": "user", "content": text}],
            "parent_id": parent,
            "user_message": message,
            "id": answered,
            "session_id": "page",
            "tool_ids": ["writes"],
            "params": {"function_calling": "native"},
            **({} if chat is None else {"chat_id": chat}),
        },
    )
    chat = chat or begun["chat_id"]

    def ended():
        messages = ask("GET", f"/api/v1/chats/{chat}")["chat"]["history"]["messages"]
        found = messages.get(answered, {})
        return found if found.get("done") or found.get("error") else None

    found = until("the turn ends", ended)
    history.extend([{"role": "user", "content": text}, {"role": "assistant", "content": found["content"]}])
    print(json.dumps(found))
    return chat, answered


history = []
server = subprocess.Popen(
    [os.path.join(os.path.dirname(sys.executable), "open-webui"), "serve", "--host", "127.0.0.1", "--port", str(PORT)],
    cwd=WORK,
    env={
        **os.environ,
        "DATA_DIR": os.path.join(os.environ["HOME"], "data"),
        "WEBUI_SECRET_KEY": uuid.uuid4().hex,
        "WEBUI_AUTH": "False",
        "ENABLE_OLLAMA_API": "False",
        "OPENAI_API_BASE_URL": f"{URL}/v1",
        "OPENAI_API_KEY": KEY,
        "RAG_EMBEDDING_ENGINE": "openai",
        "ANONYMIZED_TELEMETRY": "False",
        "SCARF_NO_ANALYTICS": "true",
        "OFFLINE_MODE": "True",
        "HF_HUB_OFFLINE": "1",
        "ENABLE_VERSION_UPDATE_CHECK": "False",
    },
)
try:
    until("it is ready", lambda: ask("GET", "/health"))
    token = ask("POST", "/api/v1/auths/signin", {"email": "", "password": ""})["token"]
    listed = [model["id"] for model in ask("GET", "/api/models")["data"]]
    assert MODEL in listed, listed
    ask("POST", "/api/v1/tools/create", {"id": "writes", "name": "Writes", "content": TOOL, "meta": {"description": "Writes files."}})
    chat, parent = None, None
    for text in TEXTS:
        chat, parent = turn(text, chat, parent)
finally:
    server.terminate()
    server.wait()

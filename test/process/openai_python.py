"""Contract checks of the official Python client against a running server: BASE_URL and API_KEY in the environment."""
import base64
import os
import urllib.request

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
HELLO = [{"role": "user", "content": "Hello"}]
passed = 0


def check(name, holds):
    global passed
    assert holds, name
    passed += 1


check("models.list", "sandbox/chat" in [model.id for model in client.models.list()])
check("models.retrieve", client.models.retrieve("sandbox/chat").owned_by == "sandbox")

answer = client.chat.completions.create(model="sandbox/chat", messages=HELLO)
check("chat text", answer.choices[0].message.content == "Hello from the sandbox. You said: Hello")
check("chat cost", answer.usage.model_dump()["cost"] == 0.00051)

text, usage = "", None
for chunk in client.chat.completions.create(model="sandbox/chat", messages=HELLO, stream=True, stream_options={"include_usage": True}):
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
    usage = chunk.usage or usage
check("stream text", text == "Hello from the sandbox. You said: Hello")
check("stream usage", usage.completion_tokens == 7)

tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
called = client.chat.completions.create(model="sandbox/chat", messages=HELLO, tools=tools, tool_choice="required")
check("tool call", called.choices[0].message.tool_calls[0].function.name == "weather")


def raises(kind, **changes):
    try:
        client.with_options(**changes.pop("options", {})).chat.completions.create(**{"model": "sandbox/chat", "messages": HELLO, **changes})
    except kind as error:
        return error
    return None


check("401", raises(openai.AuthenticationError, options={"api_key": "sk-tg-wrong"}) is not None)
check("400", raises(openai.BadRequestError, model="no/such") is not None)
failed = raises(openai.InternalServerError, messages=[{"role": "user", "content": "sandbox: status=500"}])
check("502", failed is not None and failed.status_code == 502)

refused = raises(openai.BadRequestError, messages=[{"role": "user", "content": "sandbox: status=422"}])
check("a refused request is the client's", refused is not None and refused.body["metadata"]["provider_name"] == "Sandbox")
poor = raises(openai.APIStatusError, options={"api_key": os.environ["POOR_KEY"]})
check("402", poor is not None and poor.status_code == 402 and poor.body["metadata"]["error_type"] == "insufficient_balance")
limited = raises(openai.RateLimitError, options={"api_key": os.environ["LIMITED_KEY"], "max_retries": 2})
check("429, asked once", limited is not None and limited.response.headers["x-should-retry"] == "false")

moderated = client.moderations.create(model="sandbox/moderation", input=["peace", "violence"])
check("moderations", [result.flagged for result in moderated.results] == [False, True])

plain = client.chat.completions.create(model="sandbox/chat", messages=HELLO, stream=True)
last = list(plain)[-1]
check("usage on the finish chunk", last.choices[0].finish_reason == "stop" and last.usage.completion_tokens == 7)

try:
    client.models.retrieve("no/such")
    check("404 is raised", False)
except openai.NotFoundError:
    check("404 is raised", True)

try:
    list(client.chat.completions.create(model="sandbox/chat", messages=[{"role": "user", "content": "sandbox: error=2 words=5"}], stream=True))
    check("mid-stream error is raised", False)
except openai.APIError:
    check("mid-stream error is raised", True)

drawn = client.images.generate(model="sandbox/image", prompt="a cat", n=2, size="1536x1024")
with urllib.request.urlopen(drawn.data[1].url) as picture:
    check("images by url", picture.status == 200 and picture.headers["content-type"] == "image/png" and picture.read(4) == b"\x89PNG")
written = client.images.generate(model="sandbox/image", prompt="a cat", size="1536x1024", response_format="b64_json")
check("images in the answer", base64.b64decode(written.data[0].b64_json)[16:24] == bytes([0, 0, 6, 0, 0, 0, 4, 0]))
check("images cost", drawn.usage.output_tokens == 0 and drawn.usage.model_dump()["cost"] == 1)

completed = client.completions.create(model="sandbox/chat", prompt="Hello")
check("completions text", completed.choices[0].text == "Hello from the sandbox. You said: Hello")
parts = [chunk.choices[0].text for chunk in client.completions.create(model="sandbox/chat", prompt=["Hello", "Bye"], stream=True)]
check("completions stream", "Bye" in "".join(parts))

response = client.responses.create(model="sandbox/chat", input="Hello")
check("responses text", response.output_text == "Hello from the sandbox. You said: Hello")
check("responses usage", response.usage.output_tokens == 7 and response.usage.model_dump()["cost"] == 0.00051)
kinds = [event.type for event in client.responses.create(model="sandbox/chat", input="Hello", stream=True)]
check("responses raw stream", kinds[0] == "response.created" and kinds[-1] == "response.completed")


def streamed(**request):
    with client.responses.stream(model="sandbox/chat", **request) as stream:
        for _event in stream:
            pass
        return stream.get_final_response()


check("responses.stream text", streamed(input="Hello").output_text == "Hello from the sandbox. You said: Hello")
flat = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]
check("responses.stream tool", streamed(input="Moscow", tools=flat, tool_choice="required").output[0].arguments == '{"input":"Moscow"}')
check("responses.stream reasoning", streamed(input="Hello", reasoning={"effort": "low"}).output[0].summary[0].text.startswith("The sandbox thinks"))
kinds = [event.type for event in client.responses.create(model="sandbox/chat", input="sandbox: error=2 words=5", stream=True)]
check("responses failure in the stream", kinds[-1] == "response.failed")
kinds = [event.type for event in client.responses.create(model="sandbox/chat", input="Hello", max_output_tokens=3, stream=True)]
check("responses incomplete", kinds[-1] == "response.incomplete")

events = list(client.responses.create(model="sandbox/chat", input="Hello", stream=True, extra_headers={"X-Request-Id": "python-resume"}))
response_id = events[0].response.id
check("responses.retrieve", client.responses.retrieve(response_id).output_text == "Hello from the sandbox. You said: Hello")
resumed = [event.sequence_number for event in client.responses.retrieve(response_id, stream=True, starting_after=4)]
check("responses resumed", resumed == [event.sequence_number for event in events[5:]])
check("responses.cancel", client.responses.cancel(response_id).status == "completed")

kept = client.responses.create(model="sandbox/chat", input="Hello", store=True)
again = client.responses.create(model="sandbox/chat", input="Again", previous_response_id=kept.id, store=True)
check("responses kept", client.responses.retrieve(again.id).output_text == "Hello from the sandbox. You said: Again")
listed = [item.role for item in client.responses.input_items.list(again.id, order="asc", limit=2)]
check("responses.input_items.list", listed == ["user", "assistant", "user"])
client.responses.delete(kept.id)
try:
    client.responses.create(model="sandbox/chat", input="x", previous_response_id=again.id)
    check("responses after a removed turn", False)
except openai.BadRequestError as error:
    check("responses after a removed turn", error.code == "previous_response_not_found")
job = client.responses.create(model="sandbox/chat", input="Hello", background=True)
check("responses in the background", job.status == "queued")
while job.status in ("queued", "in_progress"):
    job = client.responses.retrieve(job.id)
check("responses polled", job.output_text == "Hello from the sandbox. You said: Hello")

SOUND = b"RIFF" + (32036).to_bytes(4, "little") + b"WAVEfmt " + bytes([16, 0, 0, 0, 1, 0, 1, 0]) + (16000).to_bytes(4, "little") + (32000).to_bytes(4, "little") + bytes([2, 0, 16, 0]) + b"data" + (32000).to_bytes(4, "little") + bytes(32000)
SAID = "Hello from the sandbox. You sent 1 seconds of wav."


def hear(**changes):
    return client.audio.transcriptions.create(model="sandbox/transcription", file=("sound.wav", SOUND), **changes)


check("speech", client.audio.speech.create(model="sandbox/tts", input="Hello", voice="nova", response_format="pcm").content.__len__() == 5 * 576 * 2)
with client.audio.speech.with_streaming_response.create(model="sandbox/tts", input="Hello", voice="nova") as speech:
    check("speech as it arrives", speech.headers["content-type"] == "audio/mpeg" and b"".join(speech.iter_bytes())[:2] == b"\xff\xf3")
heard = hear()
check("transcription", heard.text == SAID and heard.usage.model_dump() == {"type": "duration", "seconds": 1.0, "cost": 0.01, "currency": "RUB"})
verbose = hear(response_format="verbose_json", timestamp_granularities=["word", "segment"])
check("verbose transcription", verbose.duration == 1 and len(verbose.segments) == 2 and len(verbose.words) == 10)
check("transcription as text", hear(response_format="text") == SAID and hear(response_format="srt").startswith("1\n00:00:00,000 --> "))
check("translation", "in English" in client.audio.translations.create(model="sandbox/transcription", file=("sound.wav", SOUND)).text)
try:
    client.audio.speech.create(model="sandbox/tts", input="", voice="nova")
    check("no input is refused", False)
except openai.BadRequestError as error:
    check("no input is refused", error.body["metadata"]["error_type"] == "missing_input")
vectors = client.embeddings.create(model="sandbox/embeddings", input=["Hello", "you"])
check("embeddings, asked for in base64", [len(item.embedding) for item in vectors.data] == [64, 64])
as_numbers = client.embeddings.create(model="sandbox/embeddings", input="Hello", encoding_format="float")
check("embeddings as numbers are the same", as_numbers.data[0].embedding == vectors.data[0].embedding)
check("embeddings cost", vectors.usage.prompt_tokens == 3 and vectors.usage.model_dump()["cost"] == 0.000006)

print(f"all {passed} checks passed")

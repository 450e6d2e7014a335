import type { AnswerEvent } from '../../kinds/answer/event.ts'
import {
  hasImage,
  textsOf,
  type ModerationRequest,
  type ModerationAnswer,
  type ModerationResult,
} from '../../kinds/moderations.ts'
import type { Clock } from '../../base/clock.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import type { AnswerSink, ChatCall, ResultSink, RunningCall } from '../ports/call.ts'
import { imagesOverChat } from '../answers/images-over-chat.ts'
import { OPENAI_PARAMETERS } from '../openai/provider/openai.ts'
import { VIDEO_PARAMETERS } from '../upstream/videos.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { sandboxAnswer, type SandboxAnswer } from './answer.ts'
import { sandboxEmbeddings } from './embeddings.ts'
import { plainFailure } from './failure.ts'
import { sandboxImages } from './images.ts'
import { lastUserText, plainText, readScript, scriptedText, type SandboxScript } from './script.ts'
import { ScriptedCall } from './scripted-call.ts'
import { sandboxRanking } from './ranking.ts'
import { sandboxSpeech } from './speech.ts'
import { sandboxTranscription } from './transcription.ts'
import { sandboxVideos } from './videos.ts'

/** OpenAI's. */
const CATEGORIES = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
]
/** Only the beginning of a text is judged. */
const JUDGED_CHARS_MAX = 2_000

/** The provider that needs no network: deterministic answers, and on request slow ones and failures. */
export function createSandbox({ clock, files }: Pick<AdapterPorts, 'clock' | 'files'>): Adapter {
  const chat: NonNullable<Adapter['chat']> = (call, sink) =>
    call.request.stream ? answerStreamed(call, sink, clock) : answerWhole(call, sink, clock)
  return {
    name: 'sandbox',
    chat,
    chatImages: imagesOverChat(chat, files),
    parameters: {
      ...NO_PARAMETERS,
      chat: OPENAI_PARAMETERS,
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: ['n', 'size', 'aspect_ratio', 'image_size', 'image', 'seed', 'user'],
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'prompt', 'response_format', 'timestamp_granularities'],
      video: VIDEO_PARAMETERS,
    },
    embeddings: (call, sink) => {
      const { input } = call.request
      const script = readScript(input.type === 'texts' ? scriptedText(input.texts) : '')
      return answerAtOnce(script, sink, clock, () => sandboxEmbeddings(call.request, script))
    },
    rerank: (call, sink) => {
      const script = readScript(call.request.query)
      return answerAtOnce(script, sink, clock, () => sandboxRanking(call.request, script))
    },
    moderations: (call, sink) => {
      const script = readScript(scriptedText(textsOf(call.request)))
      return answerAtOnce(script, sink, clock, () => sandboxModeration(call.request, script))
    },
    images: sandboxImages(clock),
    imageEdits: { masks: () => true, varies: () => true },
    speech: sandboxSpeech(clock),
    transcription: sandboxTranscription(clock),
    videos: sandboxVideos(clock),
  }
}

function answerWhole(call: ChatCall, sink: AnswerSink, clock: Clock): RunningCall {
  const script = readScript(lastUserText(call.request))
  const stop = clock.after(script.delayMs, () => {
    const failure = plainFailure(script)
    if (failure?.reason === 'status') return sink.fail(failure)
    sink.headers()
    if (failure !== null) return sink.fail(failure)
    const answer = sandboxAnswer(call.request, script, call.sendMaxTokens)
    sink.push([...deltasOf(answer, call.request.n).flat(), ...endOf(answer, call.request.n)])
    sink.end()
  })
  return { cancel: () => stop(), resume: () => undefined }
}

/** The content, one batch for each event that the script counts; the first batch opens the answer. */
function deltasOf(
  { reasoning, words, toolCall, finish }: SandboxAnswer,
  n: number,
): readonly (readonly AnswerEvent[])[] {
  const batches: AnswerEvent[][] = []
  for (let choice = 0; choice < n; choice += 1) {
    // A tool call needs no text, and neither does an answer that is to be empty.
    batches.push(toolCall === null && finish !== null ? [{ type: 'text', choice, text: '' }] : [])
    if (reasoning !== '') batches.push([{ type: 'reasoning', choice, text: reasoning }])
    for (const text of words) batches.push([{ type: 'text', choice, text }])
    if (toolCall === null) continue
    batches.push([{ type: 'tool_call', choice, index: 0, id: toolCall.id, name: toolCall.name }])
    batches.push([{ type: 'tool_arguments', choice, index: 0, text: toolCall.arguments }])
  }
  return batches
}

function endOf(answer: SandboxAnswer, n: number): readonly AnswerEvent[] {
  const events: AnswerEvent[] = Array.from({ length: n }, (_value, choice) => ({
    type: 'finish' as const,
    choice,
    native: answer.native === '' ? null : answer.native,
    ...(answer.finish === null ? {} : { finish: answer.finish }),
  }))
  return [...events, { type: 'usage', usage: answer.usage }]
}

function answerStreamed(call: ChatCall, sink: AnswerSink, clock: Clock): RunningCall {
  const { request, sendMaxTokens } = call
  const script = readScript(lastUserText(request))
  let answer: SandboxAnswer | null = null
  let batches: readonly (readonly AnswerEvent[])[] = []
  return new ScriptedCall(
    {
      begin: () => {
        sink.headers()
        answer = sandboxAnswer(request, script, sendMaxTokens)
        batches = deltasOf(answer, request.n)
      },
      // The role chunk is not among the script's events.
      eventsBefore: (piece) => (piece === 0 ? null : piece - 1),
      send: (piece) => {
        const batch = batches[piece]
        return batch === undefined ? null : batch.length === 0 || sink.push(batch)
      },
      end: () => {
        if (answer !== null) sink.push(endOf(answer, request.n))
        sink.end()
      },
      fail: (failure) => sink.fail(failure),
    },
    script,
    clock,
  )
}

/** An answer with a single result, or the failure that the script asks for. */
function answerAtOnce<Result extends object>(
  script: SandboxScript,
  sink: ResultSink<Result>,
  clock: Clock,
  answer: () => Result | AttemptFailure | Promise<Result | AttemptFailure>,
): RunningCall {
  let over = false
  const begin = async (): Promise<void> => {
    const failure = plainFailure(script)
    if (failure?.reason === 'status') return sink.fail(failure)
    sink.headers()
    if (failure !== null) return sink.fail(failure)
    const result = await answer()
    if (over) return
    if ('reason' in result) sink.fail(result)
    else sink.result(result)
  }
  // `begin` never rejects: an impossible script is a failure.
  const stop = clock.after(script.delayMs, () => void begin())
  return {
    cancel: () => {
      over = true
      stop()
    },
    resume: () => undefined,
  }
}

/** Flags each text for the categories that it names, so that a test knows the result beforehand. */
function sandboxModeration(request: ModerationRequest, script: SandboxScript): ModerationAnswer {
  const texts = textsOf(request)
  const judged = request.input.type === 'texts' ? texts : [texts.join('\n')]
  const types = [...(texts.length > 0 ? ['text'] : []), ...(hasImage(request) ? ['image'] : [])]
  return { results: script.words === 0 ? [] : judged.map((text) => resultOf(text, types)), upstreamId: null }
}

function resultOf(text: string, types: readonly string[]): ModerationResult {
  const said = plainText(text).slice(0, JUDGED_CHARS_MAX).toLowerCase()
  const found = CATEGORIES.map((name) => [name, said.includes(name)] as const)
  return {
    flagged: found.some(([, flagged]) => flagged),
    categories: Object.fromEntries(found),
    category_scores: Object.fromEntries(found.map(([name, flagged]) => [name, flagged ? 1 : 0])),
    category_applied_input_types: Object.fromEntries(CATEGORIES.map((name) => [name, types])),
  }
}

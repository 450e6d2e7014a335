import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4FinishReason } from '@ai-sdk/provider'
import { failure, type AttemptFailure } from '../../providers/ports/attempt-failure.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../ports/call.ts'
import { callOptions, hidesReasoning, traitsOf } from '../../providers/ai-sdk/call-options.ts'
import { SdkAnswer } from './sdk-answer.ts'
import { thrownFailure } from './sdk-error.ts'
import { SdkRun, type SdkPorts, type SdkProgress } from './sdk-run.ts'

type Ended = AttemptFailure | (() => void)

/** One chat through a package. */
export function sdkChat(ports: SdkPorts, call: ChatCall, sink: AnswerSink): RunningCall {
  const { endpoint, request } = call
  const answer = new SdkAnswer(call.generationId, !hidesReasoning(request))
  return new SdkRun(ports, { call, streaming: request.stream }, sink, async (settings, progress) => {
    const model = await ports.packages.model(endpoint.provider, endpoint.upstreamModel, settings)
    const options = callOptions(call, await traitsOf(model))
    if (progress.isOver()) return () => undefined
    return request.stream
      ? readStream(model, options, { answer, sink, progress })
      : readWhole(model, options, { answer, sink, progress })
  })
}

interface Reading {
  readonly answer: SdkAnswer
  readonly sink: AnswerSink
  readonly progress: SdkProgress
}

async function readWhole(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  { answer, sink, progress }: Reading,
): Promise<Ended> {
  const { content, response, finishReason, usage } = await model.doGenerate(options)
  if (!progress.isOver())
    sink.push([
      ...answer.read({ type: 'response-metadata', ...(response?.id === undefined ? {} : { id: response.id }) }),
      ...content.flatMap((part) => answer.read(part)),
      ...answer.finish(finishReason, usage),
    ])
  return () => sink.end()
}

async function readStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  { answer, sink, progress }: Reading,
): Promise<Ended> {
  const { stream } = await model.doStream(options)
  const reader = stream.getReader()
  while (!progress.isOver()) {
    const { done, value: part } = await reader.read()
    if (progress.isOver()) break
    if (done) return failure('cut', null, 'the stream ended without a finish')
    if (part.type === 'error') return thrownFailure(part.error, true)
    if (part.type === 'finish' && isCut(part.finishReason))
      return failure('cut', null, 'the stream ended without a finish reason')
    const events = answer.read(part)
    if (events.length === 0) continue
    progress.progressed()
    const flowing = sink.push(events)
    if (part.type === 'finish') break
    if (!flowing) await progress.resumed()
  }
  return () => sink.end()
}

/** A package ends every stream with a finish, even one that the provider broke off. */
function isCut({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === 'interrupted' || (raw === undefined && (unified === 'other' || unified === 'error'))
}

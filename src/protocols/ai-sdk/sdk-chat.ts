import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4FinishReason } from '@ai-sdk/provider'
import { Progress } from '../../kinds/answer/progress.ts'
import { fittedRequest, type Fitted } from '../openai/provider/quirks.ts'
import { billed, failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../ports/call.ts'
import { callOptions, hidesReasoning, traitsOf } from './call-options.ts'
import { SdkAnswer, tierOf } from './sdk-answer.ts'
import { thrownFailure } from './sdk-error.ts'
import { sdkUsage } from './sdk-usage.ts'
import { SdkRun, type SdkPorts, type SdkProgress } from './sdk-run.ts'

type Ended = AttemptFailure | (() => void)

/** One chat through a package. */
export function sdkChat(ports: SdkPorts, call: ChatCall, sink: AnswerSink): RunningCall {
  const { endpoint, request } = call
  const answer = new SdkAnswer(call.generationId, !hidesReasoning(request))
  return new SdkRun(ports, { call, streaming: request.stream }, sink, async (settings, progress) => {
    const model = await ports.packages.model(endpoint.provider, endpoint.upstreamModel, settings)
    const options = callOptions({ ...call, request: sdkFitted(call).request }, await traitsOf(model))
    if (progress.isOver()) return () => undefined
    return request.stream
      ? readStream(model, options, { answer, sink, progress })
      : readWhole(model, options, { answer, sink, progress })
  })
}

/** The request with the quirks of the service that a package cannot know, and the limits of the model. */
export function sdkFitted({ endpoint, request }: Pick<ChatCall, 'endpoint' | 'request'>): Fitted {
  // How thinking and tools are said is the package's own matter.
  const dialect = { ...endpoint.dialect, reasoning: null, tools: 'tools' } as const
  const fitted = fittedRequest(request, { ...endpoint, dialect })
  if (dialect.fixed === null) return fitted
  const parameters = { ...fitted.request.parameters, ...dialect.fixed }
  // A parameter of null is none.
  const set = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== null))
  return { ...fitted, request: { ...fitted.request, parameters: set } }
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
  const { content, response, finishReason, usage, providerMetadata } = await model.doGenerate(options)
  if (!progress.isOver())
    sink.push([
      ...answer.read({ type: 'response-metadata', ...(response?.id === undefined ? {} : { id: response.id }) }),
      ...content.flatMap((part) => answer.read(part)),
      ...tierOf(providerMetadata),
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
  const made = new Progress()
  while (!progress.isOver()) {
    const { done, value: part } = await reader.read()
    if (progress.isOver()) break
    if (done) return failure('cut', null, 'the stream ended without a finish')
    if (part.type === 'error') return thrownFailure(part.error, true)
    if (part.type === 'finish' && isCut(part.finishReason))
      return billed(failure('cut', null, 'the stream ended without a finish reason'), sdkUsage(part.usage))
    const events = answer.read(part)
    if (events.length === 0) continue
    if (made.isMade(events)) progress.progressed()
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

import type { Model } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { EmbeddingsAnswer, EmbeddingsInput, EmbeddingsRequest } from '../../kinds/embeddings.ts'
import { embeddingsBody } from '../../protocols/openai/client/embeddings.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import { itemTokensExceeded } from '../plan/context-check.ts'
import type { PlanInput } from '../plan/plan.ts'
import { measureUsage } from '../plan/usage-bounds.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { AttemptStart, MeasuredUsage, Operation } from '../relay/operation.ts'
import { InputCount, type UnitKind, heldTokens, servedBy, unitOperation } from './unit.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** Writes the body of an answer in a client's protocol, in parts. */
type WriteEmbeddings = typeof embeddingsBody

/** Embeddings (wire.md D-2.1), billed by the tokens of the input. */
export function embeddingsOperations(
  adapters: AdapterTable,
  write: WriteEmbeddings = embeddingsBody,
): (request: EmbeddingsRequest) => Operation {
  return (request) => unitOperation(request, embeddingsKind(inputCountOf(request.input), adapters, write))
}

function inputCountOf(input: EmbeddingsInput): InputCount {
  if (input.type === 'texts') return new InputCount(input.texts)
  return new InputCount(
    [],
    input.lists.reduce((sum, list) => sum + list.length, 0),
  )
}

function embeddingsKind(
  input: InputCount,
  adapters: AdapterTable,
  write: WriteEmbeddings,
): UnitKind<EmbeddingsRequest, EmbeddingsAnswer> {
  return {
    type: 'embeddings',
    sent: ({ dimensions, inputType }) => [
      ...(dimensions === null ? [] : ['dimensions']),
      ...(inputType === null ? [] : ['input_type']),
    ],
    check: checkItems,
    ...servedBy(adapters, 'embeddings', (adapter) => adapter.embeddings),
    worstUsage: (_request, model, _endpoint, tokens) => ({
      input:
        tokens === null
          ? input.bound
          : heldTokens({ bound: input.bound, count: input.count(model, tokens), exact: input.isExact(model, tokens) }),
    }),
    isEmpty: ({ vectors }) => vectors.length === 0,
    measured: (_request, { usage }, start) => measured(usage, input, start),
    body: (_request, { vectors }, identity, usage) => ({
      body: write(identity, vectors, usage),
      contentType: JSON_TYPE,
    }),
  }
}

/** The model reads each item separately, so the context bounds each item and not their sum. */
function checkItems({ input }: EmbeddingsRequest, model: Model, tokens: PlanInput['tokens']): void {
  const { contextLength } = model
  if (contextLength === null) return
  if (input.type === 'texts') {
    const longer = tokens.findLonger(input.texts, contextLength, model.tokenizer)
    if (longer !== null) throw itemTokensExceeded(model, contextLength, longer.tokens, longer.index)
    return
  }
  const index = input.lists.findIndex(({ length }) => length > contextLength)
  if (index !== -1) throw itemTokensExceeded(model, contextLength, input.lists[index]?.length ?? 0, index)
}

function measured(
  usage: UsageReport | null,
  input: InputCount,
  { candidate: { model }, tokens }: AttemptStart,
): MeasuredUsage {
  return measureUsage(usage ?? inputUsage({ tokens: null }), {
    inputMax: () => input.bound,
    outputMax: 0,
    count: () => inputUsage({ tokens: input.count(model, tokens) }),
  })
}

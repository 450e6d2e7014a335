import {
  anything,
  either,
  flag,
  list,
  map,
  maybe,
  number,
  object,
  oneOf,
  only,
  open,
  optional,
  text,
  whole,
} from '../../../base/schema.ts'
import { EMBED_OPTIONS } from './embed.ts'
import { GenerationConfig } from './request.ts'
import { COST, MODELS, ROUTED } from '../../../kinds/fields/routed-request.ts'

const FILLED = text('', { minLength: 1 })
const MEDIA_TYPE = text('Such as `image/png`.', { pattern: '^[\\w.+-]+/[\\w.+-]+(?:;[\\w.=+; -]+)?$' })
const BASE64 = text('', { minLength: 1, pattern: '^[A-Za-z0-9+/_-]*={0,2}$', contentEncoding: 'base64' })
const SCHEMA = map(anything())

/** A part of a turn, which has one of these members. Every name is also accepted in snake_case. */
const Part = object({
  text: maybe(text()),
  inlineData: maybe(object({ mimeType: MEDIA_TYPE, data: BASE64 })),
  fileData: maybe(object({ mimeType: maybe(MEDIA_TYPE), fileUri: FILLED })),
  functionCall: maybe(object({ id: maybe(text()), name: FILLED, args: maybe(map(anything())) })),
  functionResponse: maybe(
    object({
      id: maybe(text()),
      name: maybe(text()),
      response: maybe(map(anything())),
      parts: maybe(list(anything())),
    }),
  ),
  thought: maybe(flag('A text that is a thought.')),
  thoughtSignature: maybe(text('Comes back on the part that it came with.')),
})

const PARTS = either(Part, list(Part))
const Content = object({ role: maybe(oneOf(['user', 'model', 'function'])), parts: maybe(PARTS) })

const FunctionDeclaration = object({
  name: FILLED,
  description: maybe(text()),
  parameters: maybe(SCHEMA),
  parametersJsonSchema: maybe(SCHEMA),
})

const MODE = oneOf(['AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED', 'auto', 'any', 'none', 'validated'])
const CONTENTS = {
  contents: either(Content, list(Content, '', { minItems: 1 })),
  systemInstruction: maybe(object({ parts: maybe(PARTS) })),
  tools: maybe(list(object({ functionDeclarations: maybe(list(FunctionDeclaration)) }))),
  toolConfig: maybe(
    object({
      functionCallingConfig: maybe(object({ mode: maybe(MODE), allowedFunctionNames: maybe(list(text())) })),
    }),
  ),
  generationConfig: maybe(GenerationConfig),
  safetySettings: maybe(list(anything())),
} as const

/** `generateContent`. The reader is `parse.ts`; fields beyond these reach providers of the protocol unchanged. */
export const GenerateContentBody = object({ ...ROUTED, models: MODELS, ...CONTENTS })

/** Fields that only the provider knows. */
const OTHERS = anything('As the provider of the protocol sent it.')
const GeminiUsage = open(
  {
    promptTokenCount: whole('With those of the cache.'),
    cachedContentTokenCount: optional(whole()),
    candidatesTokenCount: optional(whole('Without those of thoughts.')),
    thoughtsTokenCount: optional(whole()),
    totalTokenCount: optional(whole()),
    trafficType: optional(text('The service tier in which the answer was served.')),
    ...COST,
  },
  OTHERS,
)

/** The plain answer. */
export const GenerateContentAnswer = open(
  {
    candidates: list(
      open(
        {
          content: object({ role: only('model'), parts: list(anything('As in a request.')) }),
          finishReason: text('`STOP`, `MAX_TOKENS`, `SAFETY`, …'),
          index: whole(),
          groundingMetadata: optional(anything('The searches of the provider, as it sent them.')),
        },
        OTHERS,
      ),
    ),
    usageMetadata: GeminiUsage,
    modelVersion: text('The id of the model.'),
    responseId: text('As in `X-Generation-Id`.'),
  },
  OTHERS,
)
/** A stream without `alt=sse`: a list of answers, each with a piece. The last has the finish reason and the usage. */
export const GenerateContentChunks = list(
  open(
    {
      candidates: list(anything()),
      usageMetadata: optional(GeminiUsage),
      modelVersion: text(),
      responseId: text(),
    },
    OTHERS,
  ),
)

/** `countTokens`: a request, or an object that contains one. */
export const CountTokensBody = either(object({ generateContentRequest: object(CONTENTS) }), object(CONTENTS))
export const CountedTokens = object({
  totalTokens: whole('By our own count: another than the provider’s, but close.'),
})

const EMBEDDED = {
  content: either(object({ parts: list(either(object({ text: text() }), FILLED), '', { minItems: 1 }) }), FILLED),
  ...EMBED_OPTIONS,
} as const
const Vector = object({ values: list(number()) })
const EmbedUsage = object({ promptTokenCount: whole(), ...COST })

export const EmbedContentBody = object({ ...ROUTED, ...EMBEDDED })
export const EmbedContentAnswer = object({ embedding: Vector, usageMetadata: EmbedUsage })
export const BatchEmbedBody = object({
  ...ROUTED,
  requests: list(object(EMBEDDED), 'All with the same options.', { minItems: 1, maxItems: 2_048 }),
})
export const BatchEmbedAnswer = object({ embeddings: list(Vector), usageMetadata: EmbedUsage })

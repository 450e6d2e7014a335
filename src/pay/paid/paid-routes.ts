import { setImmediate as nextTurn } from 'node:timers/promises'
import { outwardBody, outwardForm } from '../../kinds/fields/outward-names.ts'
import { PROMPT_MEMBERS, refuseNulInForm } from '../../kinds/fields/prompt-members.ts'
import type { UploadedFile } from '../../kinds/fields/uploaded-form.ts'
import type { Principal } from '../../access/principal.ts'
import { protocolOfPath } from '../../base/client-protocol.ts'
import type { HIJACKED, Call, Reply, Route } from '../../http/edge.ts'
import { isLong } from '../../http/body.ts'
import { parseMultipart } from '../../http/multipart.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { payerOf, type IdempotentCalls } from '../idempotency/idempotent-calls.ts'
import { sessionOf } from '../../protocols/ports/client-call.ts'
import type { KeptRequest, PaidKind } from '../operations/paid-kind.ts'
import { answerPaid, type AnswerPorts, type ReadCall } from './paid-answer.ts'

const EMPTY = Buffer.alloc(0)

export interface PaidRoutePorts extends AnswerPorts {
  readonly idempotency: IdempotentCalls
  /** The form that a name of an account has at providers. */
  readonly outwardName: (accountId: string, name: string) => string
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
}

/** The routes of all paid kinds: an HTTP call becomes an operation, which the relay answers. */
export function paidRoutes(ports: PaidRoutePorts, kinds: readonly PaidKind[]): readonly Route<Principal>[] {
  return kinds.flatMap((kind) =>
    kind.paths.map((path): Route<Principal> => ({
      method: 'POST',
      path,
      plane: 'key',
      body: kind.body,
      ...(kind.protocol === undefined ? {} : { protocol: kind.protocol }),
      priority: 'paid',
      prompts: PROMPT_MEMBERS,
      ...(kind.turns === true ? { turns: true as const } : {}),
      handle: (call) => paid(ports, kind, call),
    })),
  )
}

async function paid(ports: PaidRoutePorts, kind: PaidKind, call: Call<Principal>): Promise<Reply | typeof HIJACKED> {
  const { answer: answerFree, ...read } = await readCall(ports, kind, call)
  if (answerFree !== null) return answerFree()
  // An `Idempotency-Key` of a socket's handshake would be that of every turn, so none is looked at.
  if (call.turn !== null) return answerPaid(ports, call, read, null)
  const answer = (): Promise<Reply | typeof HIJACKED> =>
    ports.idempotency.once(call, (claim) => answerPaid(ports, call, read, claim))
  return isLong(call.rawBody ?? EMPTY) ? nextTurn().then(answer) : answer()
}

/**
 * OpenAI's routes again, for a console session that acts for one of its keys: another way to identify the payer, not
 * another way to pay.
 */
export function playgroundRoutes(routes: readonly Route<Principal>[]): readonly Route<Principal>[] {
  return routes
    .filter(
      ({ plane, path, protocol = protocolOfPath(path) }) =>
        plane === 'key' && (protocol === 'openai' || protocol === 'responses'),
    )
    .map(({ turns: _turns, scope: _scope, ...route }) => ({
      ...route,
      path: route.path.replace(/^\/v1\//, '/cabinet/v1/playground/'),
      plane: 'playground',
    }))
}

async function readCall(
  { publicUrl, outwardName }: PaidRoutePorts,
  kind: PaidKind,
  call: Call<Principal>,
): Promise<ReadCall & Pick<KeptRequest, 'answer'>> {
  const { json, rawBody = EMPTY, request, isSecure, params } = call
  const sessionId = sessionOf(request.headers['x-session-id'])
  const contentType = request.headers['content-type'] ?? ''
  const form = json === undefined ? parseMultipart(contentType, rawBody, kind.filesMax) : null
  refuseNulInForm(form)
  const { accountId } = payerOf(call)
  const outward = (name: string): string => outwardName(accountId, name)
  const input = {
    json: outwardBody(json, outward),
    rawBody,
    jsonMember: (name: string) => call.jsonMember(name),
    contentType,
    form: form === null ? null : outwardForm(form, outward),
    params,
    query: () => call.query,
    headers: request.headers,
    requestId: call.requestId,
    sessionId,
    publicUrl: publicUrlOf(publicUrl, { request, isSecure }),
  }
  const sent = form === null ? json : Object.fromEntries([...form.fields, ...form.files.map(nameOf)])
  const read = await kind.read(input, call)
  if ('operation' in read) return { ...read, sent }
  // It is logged, and keeps a conversation at one provider.
  const operation = read.sessionId === null && sessionId !== null ? { ...read, sessionId } : read
  return { operation, sent, earlier: [], keeperOf: () => null, answer: null }
}

/** What a file says of itself. */
function nameOf({ field, fileName }: UploadedFile): readonly [string, string] {
  return [field, fileName]
}

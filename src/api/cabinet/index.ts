import { Passwords } from '../../access/passwords.ts'
import type { Principal } from '../../access/principal.ts'
import type { Reply, Route } from '../../http/edge.ts'
import type { MailedLink } from '../../notices/letters.ts'
import type { LinkBody } from './session-contract.ts'
import { noticeRoutes } from './notices.ts'
import { fileRoutes } from './files.ts'
import {
  type SetUpRequest,
  type SignOnConfig,
  type SingleSignOn,
  identityRoutes,
  refuseClosedSignUp,
  setUp,
  signUpToken,
} from './people.ts'
import { keyRoutes, managementKeyRoutes } from './keys.ts'
import { ledgerPage, statement, summary } from './summary.ts'
import { logPage, logRow, refusalPage } from './log.ts'
import { modelList, oneModel } from './models.ts'
import { openOidc } from './oidc/open-oidc.ts'
import {
  PaymentBooking,
  type PaymentConfig,
  type PaymentProvider,
  PaymentWatch,
  type Payments,
  paymentRoutes,
} from './payments.ts'
import { recordEvent } from '../records/ports.ts'
import { listVisit, visitOf, visitRoute, type CabinetCall, type CabinetPorts, type Visit, openRoute } from './ports.ts'
import { proveAnew, type OwnProof } from './own-proof.ts'
import { profileRoutes, totpRoutes } from './profile.ts'
import { joinRoutes, memberRoutes } from './members.ts'
import { statusRoutes } from './status.ts'
import { sessionRoutes } from './session-state.ts'
import { noted } from './sign-in.ts'
import { apps, logFilters, usage, usageHours } from './usage.ts'
import { Yookassa } from './yookassa.ts'
import { DAY_MS, HOUR_MS } from '../../base/time.ts'
import { ApiError } from '../../base/errors.ts'
import { attemptsOf, storyOf } from '../records/request-story.ts'
import { viewOf } from '../../ledger/generation-record.ts'
import type { RequestStory } from './log-contract.ts'
import { createHash } from 'node:crypto'
import { reasonError } from '../../base/refusals.ts'
import { rubles } from '../../base/money.ts'
import { readEmail } from '../../base/mail-address.ts'
import { ipKey } from '../../http/client-ip.ts'
import { thrownMessage } from '../../base/text.ts'

const PRUNE_MS = 6 * HOUR_MS
const SIGN_INS_KEPT_MS = 90 * DAY_MS

/** Ways to sign in without a password; the first that is set up is offered. */
const SIGN_ONS: Readonly<Record<string, (ports: CabinetPorts, config: SignOnConfig) => SingleSignOn | null>> = {
  oidc: openOidc,
}
/** Providers that take the customers' money; the first that is set up is used. */
const PAYMENT_PROVIDERS: Readonly<Record<string, (config: PaymentConfig) => PaymentProvider | null>> = {
  yookassa: ({ yookassa }) => (yookassa === null ? null : new Yookassa(yookassa)),
}

export interface CabinetOptions extends Omit<CabinetPorts, 'passwords' | 'takesPayments'>, SignOnConfig, PaymentConfig {
  /** Whether this node is the leader. */
  readonly leads: () => boolean
}

export interface Cabinet {
  readonly routes: readonly Route<Principal>[]
  /** Uses up a set-up link; returns each `Set-Cookie` of the session. */
  setUp(request: SetUpRequest, call: CabinetCall): Promise<readonly string[]>
  /** Throws unless the person of the call's session proves their identity anew. */
  prove(call: CabinetCall, proof: OwnProof): Promise<void>
  stop(): Promise<void>
}

function firstOf<T>(all: readonly (T | null)[]): T | null {
  return all.find((one) => one !== null) ?? null
}

/** The cabinet's routes over the store. The playground is not among them: it uses the paid routes. */
export function createCabinet({ oidc, yookassa, leads, ...given }: CabinetOptions): Cabinet {
  const { clock, store } = given
  const config = { oidc, yookassa }
  const provider = firstOf(Object.values(PAYMENT_PROVIDERS).map((open) => open(config)))
  const ports: CabinetPorts = {
    ...given,
    passwords: new Passwords(),
    takesPayments: provider !== null,
  }
  let cancel = (): void => undefined
  const prune = (): void => {
    cancel = clock.after(PRUNE_MS, prune)
    // A delay does no harm: ended sessions open nothing.
    Promise.all([store.sessions.prune(clock.now()), store.signIns.prune(clock.now() - SIGN_INS_KEPT_MS)]).catch(
      () => undefined,
    )
  }
  cancel = clock.after(PRUNE_MS, prune)
  const payments = provider === null ? null : { provider, booking: new PaymentBooking(ports, provider) }
  const signOn = firstOf(Object.values(SIGN_ONS).map((open) => open(ports, config)))
  const watch = payments === null ? null : new PaymentWatch({ ...ports, leads }, payments.booking)
  watch?.start()
  return {
    routes: cabinetRoutes(ports, { signOn, payments }),
    setUp: async (request, call) => {
      const user = await setUp(ports, request, call)
      await noted(ports, call, user, 'setup')
      return (await ports.sessions.open(user, call.request, call.clientIp)).cookies
    },
    prove: (call, proof) => proveAnew(ports, visitOf(ports, call, 'self'), proof),
    stop: async () => {
      cancel()
      await watch?.stop()
    },
  }
}

function cabinetRoutes(
  ports: CabinetPorts,
  { signOn, payments }: { readonly signOn: SingleSignOn | null; readonly payments: Payments | null },
): readonly Route<Principal>[] {
  return [
    ...sessionRoutes(ports, signOn?.name ?? null),
    ...statusRoutes(ports),
    ...joinRoutes(ports, signOn?.name ?? null),
    ...memberRoutes(ports),
    ...(signOn?.routes ?? []),
    ...mailedLinkRoutes(ports),
    ...identityRoutes(ports, signOn),
    ...profileRoutes(ports),
    ...totpRoutes(ports),
    ...keyRoutes(ports),
    ...managementKeyRoutes(ports),
    ...noticeRoutes(ports),
    visitRoute(ports, 'GET /cabinet/v1/summary', (visit) => summary(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/usage', (visit) => usage(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/usage/hours', (visit) => usageHours(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/apps', (visit) => apps(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/log', (visit) => logPage(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/log/filters', (visit) => logFilters(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/log/:id', (visit) => requestStory(ports, visit)),
    ...fileRoutes(ports),
    listVisit(ports, 'GET /cabinet/v1/refusals', (visit, range) => refusalPage(ports, visit, range)),
    visitRoute(ports, 'GET /cabinet/v1/models', (visit) => modelList(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/models/*id', (visit) => oneModel(ports, visit)),
    listVisit(ports, 'GET /cabinet/v1/ledger', (visit, range) => ledgerPage(ports, visit, range)),
    visitRoute(ports, 'GET /cabinet/v1/statement', (visit) => statement(ports, visit)),
    visitRoute(ports, 'POST /cabinet/v1/codes/redeem', (visit, read) => redeemCode(ports, visit, read().code)),
    ...paymentRoutes(ports, payments),
  ]
}

/** Everything about one request: endpoints tried, usage and prices, amounts held and charged, times. */
async function requestStory(ports: CabinetPorts, { call, accountId }: Visit): Promise<RequestStory> {
  const id = (call.params['id'] ?? '').replace(/^resp-/, 'gen-')
  const row = await ports.store.generations.get(id)
  if (row === null || row.accountId !== accountId)
    throw new ApiError('generation_not_found', `Generation '${id.slice(0, 80)}' not found`)
  const hold = await ports.store.log.hold(row.generationId)
  return {
    ...logRow(row),
    ...viewOf(row, 'request'),
    attempts: attemptsOf(row).map(({ said, isTold, ...attempt }) => ({ ...attempt, said: isTold ? said : null })),
    attempt_count: row.attempts,
    ...storyOf(row, await ports.catalog.pricesOf(row), {
      hold,
      credit: await ports.store.entries.booked(accountId, 'adjustment', id),
    }),
  }
}

/** Redeems a code; each account can redeem it once. */
async function redeemCode(
  ports: CabinetPorts,
  { call, user, accountId }: Visit,
  code: string,
): Promise<{ readonly amount: number; readonly balance: number }> {
  await ports.access.bounds.take('codes', accountId)
  const digest = createHash('sha256').update(readable(code)).digest()
  const outcome = await ports.store.codes.redeem({ digest, accountId, actor: user.email, atMs: ports.clock.now() })
  switch (outcome.status) {
    case 'unknown':
      throw reasonError('code_unknown')
    case 'used_by_account':
      throw reasonError('code_used')
    case 'redeemed': {
      const body = { amount: rubles(outcome.amountMicro), balance: rubles(outcome.balanceMicro) }
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'code.redeem', outcome.codeId, {
        account: accountId,
        amount: body.amount,
      })
      return body
    }
  }
}

/** Reads letters that look like digits as digits: codes have no such letters. */
function readable(code: string): string {
  return code.replaceAll(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}

/**
 * Links by e-mail: for a forgotten password, and to sign up. Neither the answer nor its time shows whether there is
 * such a user.
 */
function mailedLinkRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  const mail = async (call: CabinetCall, given: LinkBody, kind: 'password' | 'sign_up'): Promise<Reply> => {
    const link = { email: readEmail(given.email), language: given.language ?? null, kind, from: null }
    if (ports.mailedLinks === null) throw reasonError('mail_unset')
    await ports.access.bounds.take('resets', ipKey(call.clientIp))
    // The answer must not wait for work that depends on the user.
    setImmediate(() => {
      sendLink(ports, link, call.clientIp).catch((thrown: unknown) =>
        ports.notice(`A link was not made: ${thrownMessage(thrown)}`),
      )
    })
    return { status: 202, body: { accepted: true } }
  }
  return [
    openRoute('POST /cabinet/v1/password-reset', (call, read) => mail(call, read(), 'password')),
    openRoute('POST /cabinet/v1/sign-up/link', (call, read) => {
      refuseClosedSignUp(ports)
      return mail(call, read(), 'sign_up')
    }),
  ]
}

async function sendLink(ports: CabinetPorts, link: MailedLink, ip: string): Promise<void> {
  const { email, kind } = link
  const user = await ports.store.users.findByEmail(email)
  if (user === null && kind === 'sign_up') await ports.mailedLinks?.send(link, () => signUpToken(ports, email))
  // A user without a password came by single sign-on, or has a link already.
  if (user === null || user.disabled || user.passwordHash === null) return
  await ports.mailedLinks?.send({ email, language: user.language, kind: 'password', from: null }, async () => {
    const token = await ports.newPasswordToken(user)
    await recordEvent(ports, { actor: email, ip }, 'user.password_link', user.id)
    return token
  })
}

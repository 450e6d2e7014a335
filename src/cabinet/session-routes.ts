import type { Principal } from '../access/principal.ts'
import { reasonError } from '../errors.ts'
import { ipKey } from '../http/client-ip.ts'
import type { Reply, Route } from '../http/edge.ts'
import { readEmail } from '../access/email.ts'
import { BodyFields } from '../kinds/strict-body.ts'
import type { UserRecord } from '../store/console-records.ts'
import type { SignInAnswer } from './contract.ts'
import { checkLink, needsCode, setUp, signUp, withAccount } from './people.ts'
import { takeTurn } from './turns.ts'
import { openRoute, recordEvent, visitReply, type CabinetCall, type CabinetPorts } from './ports.ts'
import { sessionState } from './session-state.ts'
import { noted, signIn, signInWithCode, type SignInResult } from './sign-in.ts'

const LANGUAGES = ['en', 'ru'] as const
const TEXT_MAX = 1_000

/** Coming and going: sign-up, sign-in, set-up links, sign-out. */
export function sessionRoutes(ports: CabinetPorts, oidcName: string | null): readonly Route<Principal>[] {
  const state = (call: CabinetCall, found: Parameters<typeof sessionState>[3]): ReturnType<typeof sessionState> =>
    sessionState(ports, call, oidcName, found)
  const enter = (call: CabinetCall, user: UserRecord, status: number): Promise<Reply> =>
    openSession(ports, call, user, status, state)
  const answer = async (call: CabinetCall, result: SignInResult): Promise<Reply> => {
    if (result.status === 'signed_in') return enter(call, result.user, 200)
    const body: SignInAnswer = { status: 'code_required', ticket: result.ticket }
    return { status: 200, body }
  }
  return [
    openRoute('GET /cabinet/v1/session', async (call) => ({
      status: 200,
      body: await state(call, await ports.sessions.find(call.request)),
    })),
    openRoute('POST /cabinet/v1/sign-up', async (call) => enter(call, await signUpHere(ports, call), 201)),
    openRoute('POST /cabinet/v1/sign-in', async (call) => answer(call, await signIn(ports, call))),
    openRoute('POST /cabinet/v1/sign-in/code', async (call) => answer(call, await signInWithCode(ports, call))),
    openRoute('POST /cabinet/v1/setup/check', async (call) => {
      const fields = new BodyFields(call.json)
      const { claim, user } = await checkLink(ports, fields.requiredText('token', TEXT_MAX))
      fields.done()
      const purpose =
        claim.userId === null
          ? 'first_administrator'
          : user?.role === 'admin' && user.passwordHash === null
            ? 'administrator'
            : 'password'
      return { status: 200, body: { purpose, email: user?.email ?? null, code_required: needsCode(claim, user) } }
    }),
    openRoute('POST /cabinet/v1/setup', async (call) => {
      const fields = new BodyFields(call.json)
      const request = {
        token: fields.requiredText('token', TEXT_MAX),
        email: fields.text('email', TEXT_MAX) ?? null,
        password: fields.requiredText('password', TEXT_MAX),
        code: fields.text('code', 100) ?? null,
      }
      fields.done()
      const user = await setUp(ports, request, call)
      await noted(ports, call, user, 'setup')
      return enter(call, user, 201)
    }),
    visitReply(ports, 'POST /cabinet/v1/sign-out', async ({ call, session, user }) => {
      await ports.store.sessions.delete(session.hash)
      await recordEvent(ports, user.email, call.clientIp, 'sign_out', user.id)
      return { status: 200, body: { signed_out: true }, headers: { 'set-cookie': ports.sessions.forget(call.request) } }
    }),
  ]
}

/** Gives the browser a session; the body says who is signed in now. */
async function openSession(
  ports: CabinetPorts,
  call: CabinetCall,
  given: UserRecord,
  status: number,
  state: (call: CabinetCall, found: Parameters<typeof sessionState>[3]) => ReturnType<typeof sessionState>,
): Promise<Reply> {
  // An administrator from before the cabinet has no account yet.
  const owner = await withAccount(ports, given)
  const user = (await ports.store.users.update(owner.id, { lastSignInAtMs: ports.clock.now() })) ?? owner
  const { session, cookies } = await ports.sessions.open(user, call.request, call.clientIp)
  const body = { status: 'signed_in', ...(await state(call, { user, session })) }
  return { status, body, headers: { 'set-cookie': cookies } }
}

async function signUpHere(ports: CabinetPorts, call: CabinetCall): Promise<UserRecord> {
  const { signup } = ports.catalog.current().settings
  if ((signup ?? ports.signupDefault) === 'closed')
    throw reasonError(
      'access_denied',
      'sign_up_closed',
      {},
      'Signing up is closed here: ask the operator for an account',
    )
  const fields = new BodyFields(call.json)
  const email = readEmail(fields.requiredText('email', TEXT_MAX))
  const password = fields.requiredText('password', TEXT_MAX)
  const name = fields.text('name', 100) ?? email
  const language = fields.oneOf('language', LANGUAGES) ?? null
  fields.done()
  ports.passwords.check('password', password, [email, email.split('@')[0] ?? ''])
  takeTurn(ports.signUps, ipKey(call.clientIp), 'sign-ups from your address')
  const user = await signUp(
    ports,
    { email, name, passwordHash: await ports.passwords.hash(password), language, oidc: null },
    call.clientIp,
  )
  await noted(ports, call, user, 'sign_up')
  return user
}

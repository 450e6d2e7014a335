import type { Principal } from '../../access/principal.ts'
import { ipKey } from '../../http/client-ip.ts'
import type { Reply, Route } from '../../http/edge.ts'
import { readEmail } from '../../base/mail-address.ts'
import type { UserRecord } from '../../store/people/user-store.ts'
import type { SignInAnswer } from './session-contract.ts'
import { checkLink, needsCode, refuseClosedSignUp, setUp, signUp, withAccount } from './people.ts'
import { recordEvent } from '../records/ports.ts'
import { openRoute, visitReply, type CabinetBody, type CabinetCall, type CabinetPorts } from './ports.ts'
import { sessionState } from './session-state.ts'
import { noted, signIn, signInWithCode, type SignInResult } from './sign-in.ts'

/** Sign-up, sign-in, set-up links and sign-out. */
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
    openRoute('POST /cabinet/v1/sign-up', async (call, read) => enter(call, await signUpHere(ports, call, read), 201)),
    openRoute('POST /cabinet/v1/sign-in', async (call, read) => answer(call, await signIn(ports, call, read()))),
    openRoute('POST /cabinet/v1/sign-in/code', async (call, read) =>
      answer(call, await signInWithCode(ports, call, read())),
    ),
    openRoute('POST /cabinet/v1/setup/check', async (_call, read) => {
      const { claim, user } = await checkLink(ports, read().token)
      const purpose =
        claim.userId === null
          ? 'first_administrator'
          : user?.role === 'admin' && user.passwordHash === null
            ? 'administrator'
            : 'password'
      return { status: 200, body: { purpose, email: user?.email ?? null, code_required: needsCode(claim, user) } }
    }),
    openRoute('POST /cabinet/v1/setup', async (call, read) => {
      const { token, email = null, password, code = null } = read()
      const user = await setUp(ports, { token, email, password, code }, call)
      await noted(ports, call, user, 'setup')
      return enter(call, user, 201)
    }),
    visitReply(ports, 'POST /cabinet/v1/sign-out', async ({ call, session, user }) => {
      await ports.store.sessions.delete(session.hash)
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'sign_out', user.id)
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
  // An administrator who is older than the cabinet has no account yet.
  const owner = await withAccount(ports, given)
  const user = (await ports.store.users.update(owner.id, { lastSignInAtMs: ports.clock.now() })) ?? owner
  const { session, cookies } = await ports.sessions.open(user, call.request, call.clientIp)
  const body = { status: 'signed_in', ...(await state(call, { user, session })) }
  return { status, body, headers: { 'set-cookie': cookies } }
}

async function signUpHere(
  ports: CabinetPorts,
  call: CabinetCall,
  read: CabinetBody<'POST /cabinet/v1/sign-up'>,
): Promise<UserRecord> {
  refuseClosedSignUp(ports)
  const { email: given, password, name: givenName, language = null } = read()
  const email = readEmail(given)
  const name = givenName ?? email
  ports.passwords.check('password', password, [email, email.split('@')[0] ?? ''])
  await ports.access.bounds.take('sign_ups', ipKey(call.clientIp))
  const user = await signUp(
    ports,
    { email, name, passwordHash: await ports.passwords.hash(password), language, oidc: null },
    call.clientIp,
  )
  await noted(ports, call, user, 'sign_up')
  return user
}

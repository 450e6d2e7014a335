import { Passwords } from '../../access/passwords.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { redeemCode } from '../../cabinet/codes.ts'
import { noticeRoutes } from '../../cabinet/notices.ts'
import { identityRoutes } from './identities.ts'
import { keyRoutes } from '../../cabinet/keys.ts'
import { managementKeyRoutes } from './management-keys.ts'
import { focusExport, ledgerPage, statement } from './ledger.ts'
import { listVisit } from '../../cabinet/list-visit.ts'
import { logCsv } from '../../cabinet/log-csv.ts'
import { logPage } from '../../cabinet/log.ts'
import { modelList, oneModel } from './models.ts'
import { OidcSignIn, type OidcOptions } from './oidc.ts'
import { oidcRoutes } from './oidc-routes.ts'
import type { PaymentProvider } from './payment-provider.ts'
import { PaymentBooking } from './payment-booking.ts'
import { PaymentWatch } from './payment-watch.ts'
import { paymentRoutes, type Payments } from './payments.ts'
import { setUp, type SetUpRequest } from './people.ts'
import { visitOf, visitRoute, type CabinetCall, type CabinetPorts } from '../../cabinet/ports.ts'
import { passwordResetRoutes } from '../../cabinet/password-reset.ts'
import { profileRoutes } from './profile.ts'
import { ROUTE_SCOPES } from './route-scopes.ts'
import { memberRoutes } from './members.ts'
import { joinRoutes } from './join.ts'
import { sessionRoutes } from './session-routes.ts'
import { noted } from './sign-in.ts'
import { requestStory } from '../../cabinet/story.ts'
import { summary } from './summary.ts'
import { totpRoutes } from './totp-routes.ts'
import { turns } from '../../cabinet/turns.ts'
import { apps, logFilters, usage, usageHours } from './usage.ts'
import { Yookassa, type YookassaOptions } from './yookassa.ts'
import { DAY_MS } from '../../base/time.ts'

/** Counted in the process: each node counts for itself. */
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400
const SIGN_UPS = 100
const REDEMPTIONS = 10
const PROOFS = 20
const RESETS = 20
const RESET_MAILS = 3
const ACCOUNT_CODES = 5
const ADDRESS_CODES = 3
const NOTICE_TESTS = 20
/** Each reads a part of the log. */
const HOUR_REPORTS = 600
/** Far above any shop; the provider repeats a notification that is refused. */
const NOTICES = 20_000
const PRUNE_MS = 6 * HOUR_SECONDS * 1_000
const SIGN_INS_KEPT_MS = 90 * DAY_MS

export interface CabinetOptions extends Omit<
  CabinetPorts,
  | 'passwords'
  | 'resets'
  | 'resetMails'
  | 'signUps'
  | 'redemptions'
  | 'proofs'
  | 'accountCodes'
  | 'addressCodes'
  | 'noticeTests'
  | 'hourReports'
  | 'notices'
> {
  readonly oidc: OidcOptions | null
  readonly yookassa: YookassaOptions | null
  /** Whether this node does the work that one node does for all. */
  readonly leads: () => boolean
}

export interface Cabinet {
  readonly routes: readonly Route<Principal>[]
  /** Uses up a set-up link; answers each `Set-Cookie` of the session. */
  setUp(request: SetUpRequest, call: CabinetCall): Promise<readonly string[]>
  stop(): Promise<void>
}

function paymentsOf(ports: CabinetPorts, provider: PaymentProvider): Payments {
  return { provider, booking: new PaymentBooking(ports, provider) }
}

/** The cabinet's routes over the store. The playground is not among them: it uses the paid routes. */
export function createCabinet({ oidc, yookassa, leads, ...given }: CabinetOptions): Cabinet {
  const { clock, store } = given
  const ports: CabinetPorts = {
    ...given,
    passwords: new Passwords(),
    signUps: turns(clock, SIGN_UPS, HOUR_SECONDS),
    redemptions: turns(clock, REDEMPTIONS, HOUR_SECONDS),
    proofs: turns(clock, PROOFS, HOUR_SECONDS),
    resets: turns(clock, RESETS, HOUR_SECONDS),
    resetMails: turns(clock, RESET_MAILS, HOUR_SECONDS),
    accountCodes: turns(clock, ACCOUNT_CODES, HOUR_SECONDS),
    addressCodes: turns(clock, ADDRESS_CODES, DAY_SECONDS),
    noticeTests: turns(clock, NOTICE_TESTS, HOUR_SECONDS),
    hourReports: turns(clock, HOUR_REPORTS, HOUR_SECONDS),
    notices: turns(clock, NOTICES, HOUR_SECONDS),
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
  const payments = yookassa === null ? null : paymentsOf(ports, new Yookassa(yookassa))
  const watch = payments === null ? null : new PaymentWatch({ ...ports, leads }, payments.booking)
  watch?.start()
  return {
    routes: cabinetRoutes(ports, { oidc: oidc === null ? null : new OidcSignIn(oidc, given.cipher, clock), payments }),
    setUp: async (request, call) => {
      const user = await setUp(ports, request, call)
      await noted(ports, call, user, 'setup')
      return (await ports.sessions.open(user, call.request, call.clientIp)).cookies
    },
    stop: async () => {
      cancel()
      await watch?.stop()
    },
  }
}

function cabinetRoutes(
  ports: CabinetPorts,
  parts: { readonly oidc: OidcSignIn | null; readonly payments: Payments | null },
): readonly Route<Principal>[] {
  return [
    ...sessionRoutes(ports, parts.oidc?.name ?? null),
    ...joinRoutes(ports, parts.oidc?.name ?? null),
    ...memberRoutes(ports),
    ...(parts.oidc === null ? [] : oidcRoutes(ports, parts.oidc)),
    ...passwordResetRoutes(ports),
    ...identityRoutes(ports, parts.oidc),
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
    {
      method: 'GET',
      path: '/cabinet/v1/log.csv',
      plane: 'session',
      body: 'none',
      handle: (call) => logCsv(ports, visitOf(ports, call, ROUTE_SCOPES['GET /cabinet/v1/log.csv'])),
    },
    {
      method: 'GET',
      path: '/cabinet/v1/focus.csv',
      plane: 'session',
      body: 'none',
      handle: (call) => focusExport(ports, visitOf(ports, call, ROUTE_SCOPES['GET /cabinet/v1/focus.csv'])),
    },
    visitRoute(ports, 'GET /cabinet/v1/models', (visit) => modelList(ports, visit)),
    visitRoute(ports, 'GET /cabinet/v1/models/*id', (visit) => oneModel(ports, visit)),
    listVisit(ports, 'GET /cabinet/v1/ledger', (visit, range) => ledgerPage(ports, visit, range)),
    visitRoute(ports, 'GET /cabinet/v1/statement', (visit) => statement(ports, visit)),
    visitRoute(ports, 'POST /cabinet/v1/codes/redeem', (visit, read) => redeemCode(ports, visit, read().code)),
    ...paymentRoutes(ports, parts.payments),
  ]
}

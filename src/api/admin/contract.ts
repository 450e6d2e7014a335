import { object, whole } from '../../base/schema.ts'
import { completed, Deleted } from '../records/route-rows.ts'
import { partsOf, type AdminWireRoute } from './admin-route.ts'
import type { ApiOf } from '../../base/wire-route.ts'
import {
  AdministratorBody,
  ConsoleUser,
  IpBlock,
  PasswordLinkBody,
  PersonLink,
  UserPatch,
  UserQuery,
  ACCOUNT_ROUTES,
} from './account-contract.ts'
import { listed, recordRows } from './record-contract.ts'
import {
  CatalogChange,
  CatalogDocument,
  CatalogQuery,
  CatalogWarnings,
  KnownModels,
  KnownQuery,
  DryRunQuery,
  ModelEntry,
  PRICE_ROUTES,
  PricedModel,
  ProviderEntry,
  ProviderTrial,
  Settings,
  SettingsPatch,
  Warned,
} from './catalog-contract.ts'
import { CatalogBody, ConnectionBody, ModelBody, ProviderBody, TrialBody } from './catalog-body.ts'
import { REPORT_ROUTES } from './report-contract.ts'
import { VIDEO_ROUTES } from '../../pay/videos/operator-contract.ts'
import {
  Code,
  CodeBody,
  CodePatch,
  CodePut,
  CodeQuery,
  NewCodes,
  PaymentQuery,
  PaymentRow,
  PutCode,
} from './top-up-contract.ts'
import { COMING_ROUTES, GROUP_ROUTES } from './group-contract.ts'
import { NOTICE_ROUTES } from './notice-contract.ts'
import { RECONCILIATION_ROUTES } from './reconciliation/contract.ts'
import { FOCUS_ROUTES } from '../focus/contract.ts'
import { TOKEN_ROUTES } from './token-contract.ts'
import {
  InvitationBody,
  Member,
  MemberPatch,
  MemberRemoved,
  NewInvitation,
  People,
  RemovalBody,
} from '../cabinet/member-contract.ts'

const PERSON = { id: 'acc_Vb3kQ9xT2mLr7dWa', member: 'usr_Vb3kQ9xT2mLr7dWa' }

/** The people of an account: the operator has the routes of its owners. */
export const PEOPLE_ROUTES = {
  'GET /admin/v1/accounts/:id/members': {
    command: 'member list',
    scope: 'people:read',
    summary: 'The people of an account, and the open invitations to it.',
    answer: People,
  },
  'PATCH /admin/v1/accounts/:id/members/:member': {
    command: 'member update',
    scope: 'people:write',
    proof: ['role'],
    summary: 'Changes the role or the limit of a person in an account. 409 for its last owner.',
    body: MemberPatch,
    answer: Member,
    errors: ['not_found', 'conflict'],
    example: { path: PERSON, body: { monthly_limit: 500 } },
  },
  'POST /admin/v1/accounts/:id/members/:member/remove': {
    command: 'member remove',
    scope: 'people:write',
    summary: 'Takes a person out of an account: their sessions end at once. 409 for its last owner.',
    body: RemovalBody,
    answer: MemberRemoved,
    errors: ['not_found', 'conflict'],
    example: { path: PERSON, body: { disable_keys: true } },
  },
  'POST /admin/v1/accounts/:id/invitations': {
    command: 'invitation create',
    scope: 'people:write',
    proof: true,
    summary:
      'A link with which one person joins the account, once, within a week. `link` is in this answer only; it is mailed too where `email` is given and mail is set up.',
    body: InvitationBody,
    answer: NewInvitation,
    status: 201,
    errors: ['not_found', 'conflict'],
    example: { body: { role: 'owner', email: 'books@example.com' } },
  },
  'DELETE /admin/v1/accounts/:id/invitations/:invitation': {
    command: 'invitation revoke',
    scope: 'people:write',
    summary: 'Revokes an invitation: its link opens nothing any more.',
    answer: Deleted,
    errors: ['not_found'],
    example: { path: { id: PERSON.id, invitation: 'inv_Vb3kQ9xT2mLr7dWa' } },
  },
} as const

const USER = { id: 'usr_Vb3kQ9xT2mLr7dWa' }
/**
 * The wire contract of `/admin/v1` between the console's operator pages and the server. The browser imports only the
 * types. An administrator's console session, the admin token or a named token opens a route if it has the route's
 * scope. A user's session is refused with 403 `access_denied`, and so is an administrator who must first turn on
 * two-step sign-in. Amounts, times, errors and the origin of changes are as in the cabinet's contract. Unknown body
 * fields are a 400 that names them. Lists take `limit` (1–1000, default 100) and `offset`.
 */
export const ADMIN_ROUTES = completed({
  ...ACCOUNT_ROUTES,

  'GET /admin/v1/users': {
    command: 'user list',
    scope: 'people:read',
    summary: 'Lists the people of the console.',
    query: UserQuery,
    answer: listed(ConsoleUser),
    example: { query: { role: 'user' } },
  },
  'GET /admin/v1/users/:id': {
    command: 'user show',
    scope: 'people:read',
    summary: 'One person.',
    answer: ConsoleUser,
  },
  'PATCH /admin/v1/users/:id': {
    command: 'user update',
    scope: 'people:write',
    proof: ['role', 'operator_role', 'disabled'],
    summary:
      'Changes the role, or locks a person out. Nobody can lock out or demote themselves or the last owner (409), or a person with more rights than their own (403).',
    body: UserPatch,
    answer: ConsoleUser,
    example: { body: { disabled: true } },
  },
  'POST /admin/v1/users/:id/password-link': {
    command: 'user password-link',
    scope: 'people:write',
    proof: true,
    summary: 'A link, good once and for 60 minutes, with which the user sets a new password.',
    body: PasswordLinkBody,
    answer: PersonLink,
    example: { body: { clear_totp: true } },
  },
  'DELETE /admin/v1/users/:id/identities/:identity': {
    command: 'user unlink',
    scope: 'people:write',
    summary: "Takes a single sign-on away. Every session of the user ends. 409 for the user's only way in.",
    answer: Deleted,
    errors: ['not_found', 'conflict'],
    example: { path: { ...USER, identity: 'Vb3kQ9xT2mLr7dWa' } },
  },
  'POST /admin/v1/administrators': {
    command: 'admin create',
    scope: 'people:write',
    proof: true,
    summary: 'Makes an operator of the console, and a link with which they set their password.',
    body: AdministratorBody,
    answer: PersonLink,
    status: 201,
    errors: ['conflict'],
    example: { body: { email: 'root@example.com' } },
  },

  ...PEOPLE_ROUTES,

  ...TOKEN_ROUTES,

  'GET /admin/v1/catalog': {
    command: 'catalog show',
    scope: 'catalog:read',
    summary: 'The whole catalogue, credentials cut to their last four characters.',
    query: CatalogQuery,
    answer: CatalogDocument,
  },
  'GET /admin/v1/catalog/warnings': {
    command: 'catalog warnings',
    scope: 'catalog:read',
    summary: 'What of the catalogue in force is sold at a loss, or cannot be sold.',
    answer: CatalogWarnings,
  },
  'GET /admin/v1/catalog/known': {
    command: 'catalog known',
    scope: 'catalog:read',
    summary: 'Prices and limits that this release knows of models with a name.',
    query: KnownQuery,
    answer: KnownModels,
    example: { query: { model: 'gpt-5.5' } },
  },
  'PUT /admin/v1/catalog': {
    command: 'catalog put',
    scope: 'catalog:write',
    // The maintenance notice is not part of the file: applying a document does not change it.
    parts: partsOf(
      Object.keys(SettingsPatch.fields).filter((name) => name !== 'maintenance'),
      'settings:write',
    ),
    summary: 'Makes the catalogue equal to the document, and returns the difference.',
    query: DryRunQuery,
    body: CatalogBody,
    answer: CatalogChange,
    example: {
      query: { dry_run: '1' },
      body: {
        providers: { openai: { adapter: 'openai', api_key: 'sk-of-the-provider' } },
        models: [
          {
            id: 'openai/gpt-4o-mini',
            type: 'chat',
            context_length: 128_000,
            endpoints: [
              {
                provider: 'openai',
                model: 'gpt-4o-mini',
                price: { currency: 'RUB', prompt: 15, completion: 60 },
              },
            ],
          },
        ],
      },
    },
  },
  'POST /admin/v1/catalog/update': {
    command: 'catalog update',
    scope: 'catalog:write',
    summary: "Takes this release's bundled models, and the prices that need no person's decision.",
    query: DryRunQuery,
    body: object({}),
    answer: CatalogChange,
    example: { query: { dry_run: '1' }, body: {} },
  },
  'POST /admin/v1/providers/try': {
    command: 'provider try',
    scope: 'catalog:write',
    summary: 'Asks a provider for its models with an address and a key, before they are kept.',
    body: TrialBody,
    answer: ProviderTrial,
    example: {
      body: {
        slug: 'example',
        provider: { adapter: 'openai', base_url: 'https://127.0.0.1:9/v1', api_key: 'sk-of-the-provider' },
      },
    },
  },
  'POST /admin/v1/providers': {
    command: 'provider connect',
    scope: 'catalog:write',
    summary: 'Makes or replaces a provider together with models that it serves, in one price version.',
    body: ConnectionBody,
    answer: ProviderEntry,
    status: 201,
    alsoStatus: 200,
    example: {
      body: {
        slug: 'acme',
        provider: { adapter: 'openai', base_url: 'https://api.acme.example/v1', api_key: 'sk-of-the-provider' },
        models: [
          {
            id: 'acme/large',
            type: 'chat',
            context_length: 8_000,
            endpoints: [{ provider: 'acme', model: 'large', price: { currency: 'RUB', prompt: 15, completion: 60 } }],
          },
        ],
      },
    },
  },
  ...recordRows('/admin/v1/providers/:slug', ['catalog:read', 'catalog:write'], ProviderEntry, {
    GET: { command: 'provider show', summary: 'One provider, with its credentials cut to their last four characters.' },
    PUT: {
      command: 'provider put',
      summary: 'Makes or replaces a provider.',
      body: ProviderBody,
      example: {
        path: { slug: 'example' },
        body: {
          name: 'Example',
          adapter: 'openai',
          base_url: 'https://api.example.com/v1',
          api_key: 'sk-of-the-provider',
          timeouts: { first_byte: 60 },
        },
      },
      errors: [],
    },
    DELETE: {
      command: 'provider delete',
      summary: 'Takes a provider out.',
      example: { path: { slug: 'example' } },
      errors: [],
    },
  }),
  ...recordRows('/admin/v1/models/*id', ['catalog:read', 'catalog:write'], ModelEntry, {
    GET: { command: 'model show', summary: 'One model as in the catalogue file.' },
    PUT: {
      command: 'model put',
      summary: 'Makes or replaces a model. The slashes of its id stay in the path.',
      body: ModelBody,
      example: {
        path: { id: 'example/echo' },
        body: {
          type: 'chat',
          context_length: 8_000,
          endpoints: [{ provider: 'sandbox', model: 'chat', price: { currency: 'RUB', prompt: 15, completion: 60 } }],
        },
      },
      errors: [],
    },
    DELETE: {
      command: 'model delete',
      summary: 'Takes a model out.',
      example: { path: { id: 'example/echo' } },
      errors: [],
    },
  }),
  'GET /admin/v1/models': {
    command: 'model list',
    scope: 'catalog:read',
    summary: 'Every model with what it costs and sells for, hidden and inactive ones included.',
    answer: listed(PricedModel),
  },
  'GET /admin/v1/settings': {
    command: 'settings show',
    versioned: true,
    scope: 'settings:read',
    summary: 'The live settings.',
    answer: Settings,
  },
  'PATCH /admin/v1/settings': {
    command: 'settings update',
    versioned: true,
    scope: 'settings:write',
    summary: 'Changes the settings that are given, on every node within 5 seconds.',
    body: SettingsPatch,
    answer: object({ ...Settings.fields, ...Warned.fields }),
    example: { body: { markup: 1.25, maintenance: null } },
  },

  ...GROUP_ROUTES,
  ...PRICE_ROUTES,
  ...COMING_ROUTES,
  ...NOTICE_ROUTES,
  ...REPORT_ROUTES,
  ...RECONCILIATION_ROUTES,
  ...FOCUS_ROUTES,

  'POST /admin/v1/kek/rotate': {
    command: 'kek rotate',
    scope: 'security:write',
    summary: 'Wraps the credentials of providers anew with the first key of `TOLLGATE_KEK`.',
    answer: object({ rewrapped: whole('Credentials.') }),
  },

  'GET /admin/v1/codes': {
    command: 'code list',
    scope: 'money:read',
    summary: 'Codes that customers redeem for money.',
    query: CodeQuery,
    answer: listed(Code),
  },
  'POST /admin/v1/codes': {
    command: 'code create',
    scope: 'money:write',
    summary:
      'Makes codes. `code` of each is shown this once. One with an `external_id` is made once: again it is a 409.',
    body: CodeBody,
    answer: NewCodes,
    status: 201,
    errors: ['conflict'],
    example: { body: { amount: 100, count: 2, note: 'fair' } },
  },
  ...recordRows('/admin/v1/codes/:id', ['money:read', 'money:write'], Code, {
    GET: { command: 'code show', summary: 'One code, without its secret.' },
    PUT: {
      command: 'code put',
      summary:
        'Makes the code of an external id, or makes it equal to the body, but for its amount. `code` is in the answer that makes it only.',
      body: CodePut,
      answer: PutCode,
      example: { path: { id: 'external:spring-fair' }, body: { amount: 100, uses_max: 50, note: 'fair' } },
    },
    PATCH: {
      command: 'code update',
      summary: 'Switches a code off or on, or changes its note or its external id.',
      body: CodePatch,
      example: { body: { disabled: true } },
    },
    DELETE: {
      command: 'code withdraw',
      summary:
        'Withdraws a code: it can no longer be redeemed, and loses its external id. Entries booked with it stay.',
    },
  }),
  'GET /admin/v1/payments': {
    command: 'payment list',
    scope: 'money:read',
    summary: 'Orders at the payment provider, with what was refunded.',
    query: PaymentQuery,
    answer: listed(PaymentRow),
  },
  'GET /admin/v1/ip-blocks': {
    command: 'ip-block list',
    scope: 'security:read',
    summary: 'Blocked addresses.',
    answer: listed(IpBlock),
  },
  'DELETE /admin/v1/ip-blocks/*ip': {
    command: 'ip-block delete',
    scope: 'security:write',
    summary: 'Lifts a block.',
    answer: Deleted,
  },
  ...VIDEO_ROUTES,
} as const satisfies Readonly<Record<string, AdminWireRoute>>)

export type AdminApi = ApiOf<typeof ADMIN_ROUTES>

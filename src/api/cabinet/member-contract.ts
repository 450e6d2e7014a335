import {
  body,
  filled,
  flag,
  list,
  nullable,
  object,
  only,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'
import { ProofBody, type WireRoute } from '../../base/wire-route.ts'
import { Deleted, EXAMPLE_TOKEN } from '../records/route-rows.ts'
import { Language, MemberRole, MONTHLY_LIMIT, SessionState, SignedIn } from './session-contract.ts'

export const Member = object({
  user: text(),
  email: text(),
  name: text(),
  role: MemberRole,
  monthly_limit: nullable(rub(MONTHLY_LIMIT)),
  keys: whole('Keys that they have made.'),
  spent_month: rub('By these keys, this month.'),
  added_at: time(),
  last_sign_in_at: nullable(time()),
  language: nullable(Language),
  you: flag(),
})
export type Member = Static<typeof Member>

export const Invitation = object({
  id: text(),
  role: MemberRole,
  monthly_limit: nullable(rub(MONTHLY_LIMIT)),
  email: nullable(text('Only the person with this address may use it; null = anyone with the link.')),
  created_by: text('Their e-mail, or `operator`.'),
  created_at: time(),
  expires_at: time(),
})
export type Invitation = Static<typeof Invitation>

export const People = object({ members: list(Member), invitations: list(Invitation, 'Those that are still open.') })

export const NewInvitation = object({
  ...Invitation.fields,
  link: text('Shown this once.'),
  mailed: flag('The link was also mailed.'),
})

const LIMIT = optional(nullable(rub(MONTHLY_LIMIT, { minimum: 0 })))
export const InvitationBody = body({
  role: MemberRole,
  email: optional(nullable(filled('Only the person with this address may then use the link.'))),
  monthly_limit: LIMIT,
  ...ProofBody.fields,
})
export type InvitationBody = Static<typeof InvitationBody>
export const MemberPatch = body({ role: optional(MemberRole), monthly_limit: LIMIT, ...ProofBody.fields })
export type MemberPatch = Static<typeof MemberPatch>
export const RemovalBody = body({
  disable_keys: flag('Disables the keys that the person has made; else they work on.'),
})
export const MemberRemoved = object({ id: text(), deleted: only(true), disabled_keys: whole() })
export const InvitationToken = body({ token: filled('Of the link.', 1_000) })
export const InvitationFacts = object({
  account_name: text(),
  role: MemberRole,
  monthly_limit: nullable(rub(MONTHLY_LIMIT)),
  email: nullable(text()),
  signed_in_as: nullable(text('Who is signed in in this browser, and would join.')),
})
export type InvitationFacts = Static<typeof InvitationFacts>
export const JoinBody = body(
  {
    token: filled('Of the link.', 1_000),
    email: optional(nullable(filled())),
    password: optional(nullable(filled('', 1_000))),
    name: optional(nullable(filled('', 100))),
    language: optional(nullable(Language)),
  },
  'Who is signed in joins as they are and sends the token only; a new person chooses a password.',
)
export type JoinBody = Static<typeof JoinBody>

/** People of the account, and invitations. */
export const MEMBER_ROUTES = {
  'GET /cabinet/v1/members': {
    summary: 'The people of the account and, for owners, the open invitations.',
    answer: People,
  },
  'PATCH /cabinet/v1/members/:id': {
    summary:
      'Changes the role or the limit of a person; their next request has it. An owner changes no other owner, and the last owner stays one. A new owner needs the proof of `identities/link`.',
    body: MemberPatch,
    answer: Member,
    errors: ['access_denied', 'not_found', 'conflict', 'rate_limit_exceeded'],
    example: { body: { monthly_limit: 500 } },
  },
  'POST /cabinet/v1/members/:id/remove': {
    summary: 'Takes a person out: their sessions end at once. An owner cannot be removed.',
    body: RemovalBody,
    answer: MemberRemoved,
    example: { body: { disable_keys: true } },
  },
  'POST /cabinet/v1/members/leave': {
    summary: 'Leaves the account, and ends every session of the user. 409 for its last owner.',
    body: object({}),
    answer: object({ left: only(true) }),
    errors: ['conflict'],
  },
  'POST /cabinet/v1/invitations': {
    summary:
      'A link with which one person joins the account, once, within a week. `link` is in this answer only; it is mailed too where `email` is given and mail is set up. An invitation of an owner needs the proof of `identities/link`.',
    body: InvitationBody,
    answer: NewInvitation,
    status: 201,
    errors: ['access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: { role: 'member', email: 'ben@example.com', monthly_limit: 500 } },
  },
  'DELETE /cabinet/v1/invitations/:id': {
    summary: 'Revokes an invitation: its link opens nothing any more.',
    answer: Deleted,
  },
  'POST /cabinet/v1/invitations/check': {
    summary: 'What an invitation (`/join?token=…`) is for. 403 when it is used, expired or revoked.',
    body: InvitationToken,
    answer: InvitationFacts,
    errors: ['access_denied'],
    example: { body: { token: EXAMPLE_TOKEN } },
  },
  'POST /cabinet/v1/invitations/join': {
    summary:
      'Uses an invitation up. Who is signed in joins as they are; anybody else becomes a new user, where sign-up is closed too. 409 for a known e-mail: sign in first.',
    body: JoinBody,
    answer: SignedIn,
    status: 201,
    errors: ['access_denied', 'conflict', 'rate_limit_exceeded'],
    example: { body: { token: EXAMPLE_TOKEN, email: 'ben@example.com', password: 'seven quiet lanterns' } },
  },
  'POST /cabinet/v1/account': {
    summary:
      'Chooses the account that this session acts for: one of the user, or for an operator who may read all of it any other, as a `viewer`, which is an event `account.view`.',
    body: body({ account: filled('Its id.') }),
    answer: SessionState,
    errors: ['not_found'],
    example: { body: { account: 'acc_Vb3kQ9xT2mLr7dWa' } },
  },
} as const satisfies Readonly<Record<string, WireRoute>>

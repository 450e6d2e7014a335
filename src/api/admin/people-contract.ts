import {
  InvitationBody,
  Member,
  MemberPatch,
  MemberRemoved,
  NewInvitation,
  People,
  RemovalBody,
} from '../cabinet/member-contract.ts'
import { Deleted } from './record-contract.ts'

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

import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Account, AccountNote } from '../../../../src/api/admin/account-contract.ts'
import type { Generation } from '../../../../src/api/admin/report-contract.ts'
import { dayAfter } from '../../../../src/base/time.ts'
import { useRead } from '../../api/hooks.ts'
import { Attention, type Concern } from '../../parts/Attention.tsx'
import { useCan } from '../../parts/Can.tsx'
import { requestEnd } from '../../parts/cells.tsx'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Facts, Section, Tile } from '../../parts/Page.tsx'
import { refusalColumns } from '../../parts/Refusals.tsx'
import { accountAt, requestAt } from '../../parts/row-link.ts'
import { format, t } from '../../parts/words.ts'
import { today } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'

const ROWS = 5
/** The days of the pace, today not included. */
const PACE_DAYS = 7
const YEAR_DAYS = 365
const NOTE_CHARACTERS = 120

/** What an account has spent and earned in 30 days, and how long its money lasts. */
export function MonthTiles({ account: { id, available } }: { readonly account: Account }) {
  const { service } = useSession()
  const isOpen = useCan()('GET /admin/v1/usage')
  const usage = useRead('GET /admin/v1/usage', { query: { group_by: 'day', account: id } }, { enabled: isOpen })
  if (!isOpen) return null
  // As many tiles as will be there, so that nothing below them moves.
  if (usage.data === undefined)
    return (['home.month', 'accounts.margin', 'accounts.lasts'] as const).map((label) => (
      <Tile key={label} label={t(label)} value="…" note="…" />
    ))
  const days = usage.data.data
  const sum = (field: 'revenue' | 'margin'): number => days.reduce((all, row) => all + row[field], 0)
  const now = today(service.service_timezone)
  const first = dayAfter(now, -PACE_DAYS)
  const week = days.filter(({ day = '' }) => day >= first && day < now)
  const pace = week.reduce((all, { revenue }) => all + revenue, 0) / PACE_DAYS
  const [spent, margin] = [sum('revenue'), sum('margin')]
  return (
    <>
      <Tile label={t('home.month')} money={spent} />
      <Tile
        label={t('accounts.margin')}
        money={margin}
        note={spent === 0 ? '–' : t('accounts.of_spent', { share: format.percent(margin / spent) })}
      />
      <Tile
        label={t('accounts.lasts')}
        value={pace === 0 ? '–' : lasting(Math.floor(Math.max(0, available) / pace))}
        note={pace === 0 ? t('accounts.no_pace') : t('accounts.pace', { amount: format.money(pace) })}
      />
    </>
  )
}

function lasting(days: number): string {
  return days > YEAR_DAYS ? t('accounts.over_year') : t('home.days', { count: days })
}

/** The latest of an account, and who and what belongs to it. */
export function AccountOverview({ account, children }: { readonly account: Account; readonly children: ReactNode }) {
  const can = useCan()
  const keys = useRead('GET /admin/v1/accounts/:id/keys', { params: { id: account.id }, query: { limit: 1 } })
  return (
    <Loaded of={keys} height={520}>
      {({ total }) => (
        <div className="page">
          <Attention of={wantsOf(account, total)} calm={null} />
          <Belongings account={account} keys={total} />
          {can('GET /admin/v1/generations') && <LastRequests account={account.id} />}
          {can('GET /admin/v1/refusals') && <LastRefusals account={account} />}
          {children}
        </div>
      )}
    </Loaded>
  )
}

/** What the account lacks to be served. */
function wantsOf({ id, available }: Account, keys: number): readonly Concern[] {
  return [
    [available <= 0 ? 1 : 0, t('accounts.no_money'), accountAt(id, 'money')],
    [keys === 0 ? 1 : 0, t('accounts.no_keys'), accountAt(id, 'keys')],
  ]
}

function Belongings({ account, keys }: { readonly account: Account; readonly keys: number }) {
  const can = useCan()
  const params = { id: account.id }
  const seesPeople = can('GET /admin/v1/accounts/:id/members')
  const people = useRead('GET /admin/v1/accounts/:id/members', { params }, { enabled: seesPeople })
  const isGrouped = account.group !== null && can('GET /admin/v1/account-groups')
  const groups = useRead('GET /admin/v1/account-groups', {}, { enabled: isGrouped })
  const notes = useRead('GET /admin/v1/accounts/:id/notes', { params, query: { limit: 1 } })
  const { members = [], invitations = [] } = people.data ?? {}
  const who = [
    ...members.map(({ email, role }) => `${email} (${t(`people.${role}`)})`),
    ...invitations.map(({ email }) => t('accounts.invited', { email: email ?? t('people.anyone') })),
  ]
  return (
    <Facts
      items={[
        [
          t('nav.people'),
          people.data === undefined ? (
            seesPeople ? (
              '…'
            ) : null
          ) : (
            <Link {...accountAt(account.id, 'people')}>{who.length === 0 ? t('access.none') : who.join(', ')}</Link>
          ),
        ],
        [t('nav.keys'), <Link {...accountAt(account.id, 'keys')}>{t('people.keys', { count: keys })}</Link>],
        [t('notes.title'), <Link {...accountAt(account.id, 'notes')}>{lastNote(notes.data?.data)}</Link>],
        [
          t('accounts.group'),
          account.group === null ? null : (
            <Link {...accountAt(account.id, 'prices')}>
              {groups.data?.data.find(({ id }) => id === account.group)?.name ?? account.group}
            </Link>
          ),
        ],
      ]}
    />
  )
}

/** The beginning of the newest note. */
function lastNote(notes: readonly AccountNote[] | undefined): string {
  if (notes === undefined) return '…'
  const [{ text } = { text: t('notes.none') }] = notes
  return text.length > NOTE_CHARACTERS ? `${text.slice(0, NOTE_CHARACTERS)}…` : text
}

function LastRequests({ account }: { readonly account: string }) {
  const requests = useRead('GET /admin/v1/generations', { query: { account, limit: ROWS } })
  return (
    <Section
      title={t('accounts.last_requests')}
      lead={
        <Link to="/operator/requests" search={{ account }}>
          {t('keys.requests')}
        </Link>
      }
    >
      <Loaded of={requests} height={220}>
        {({ data }) => (
          <List
            label={t('accounts.last_requests')}
            rows={data}
            rowId={({ generation_id: id }: Generation) => id}
            empty={{ picture: 'list', title: t('accounts.no_requests') }}
            columns={[
              {
                id: 'at',
                title: t('log.time'),
                as: 'moment',
                value: 'timestamp',
                to: ({ generation_id: id }) => requestAt(id, false),
              },
              { id: 'model', title: t('log.model'), as: 'clip', value: 'model_name' },
              { id: 'status', title: t('log.status'), value: 'status', cell: (row) => requestEnd(row) },
              { id: 'cost', title: t('log.cost'), as: 'money', value: 'total_cost' },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function LastRefusals({ account: { id } }: { readonly account: Account }) {
  const refusals = useRead('GET /admin/v1/refusals', { query: { account: id, limit: ROWS } })
  return (
    <Section
      title={t('accounts.last_refusals')}
      lead={
        <Link to="/operator/refusals" search={{ account: id }}>
          {t('refused.all')}
        </Link>
      }
    >
      <Loaded of={refusals} height={220}>
        {({ data }) => (
          <List
            label={t('accounts.last_refusals')}
            rows={data}
            empty={{ picture: 'calm', title: t('refused.none') }}
            columns={refusalColumns('operator')}
          />
        )}
      </Loaded>
    </Section>
  )
}

import { Text } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import { ownValue } from '../../../src/base/own-value.ts'
import type { ErrorType } from '../../../src/base/errors.ts'
import type { Refusal, RefusalSums } from '../../../src/api/records/refusals.ts'
import { ApiFailure } from '../api/call.ts'
import { type Column, List } from './List.tsx'
import { FailureWords } from './Loaded.tsx'
import { format, t } from './words.ts'
import { failureText, serverWords } from './failure-text.ts'
import { onDemand } from './OnDemand.tsx'
import { accountAt } from './row-link.ts'

/** Only the operator has it. */
const LetterButton = onDemand('LetterButton', () => import('./Letter.tsx'), 30)

/** The page where a customer can remove the cause. */
const HELP: Readonly<Partial<Record<ErrorType, readonly ['top_up' | 'keys' | 'models', LinkProps]>>> = {
  insufficient_balance: ['top_up', { to: '/top-up' }],
  limit_exceeded: ['keys', { to: '/keys' }],
  key_expired: ['keys', { to: '/keys' }],
  key_deactivated: ['keys', { to: '/keys' }],
  model_not_found: ['models', { to: '/models' }],
  missing_model: ['models', { to: '/models' }],
  model_not_supported: ['models', { to: '/models' }],
}

function failureOf({ status, error_type: type, message, figures }: Refusal): ApiFailure {
  const { retry_after: seconds } = figures
  return new ApiFailure(status, type, message, typeof seconds === 'number' ? seconds : null, figures)
}

/** What was refused, when and why, and what helps, in the language that is spoken. */
function letterOf(of: Refusal): string {
  const failure = failureOf(of)
  const [what, { to }] = ownValue(HELP, of.error_type) ?? ['none', { to: '' }]
  return [
    t('letter.hello'),
    t('letter.refused', {
      when: format.dateTime(of.at),
      key: of.key_name === '' ? t('refused.several') : of.key_name,
      model: of.model ?? '–',
      id: of.request_id,
    }),
    t('letter.why', { why: [failureText(failure), serverWords(failure)].filter((part) => part !== null).join(': ') }),
    t(`letter.help.${what}`, { url: `${window.location.origin}${String(to)}` }),
    t('letter.free'),
  ].join('\n')
}

/** Why the newest of these requests was refused, with its figures, and what the customer can do about it. */
export function Why({ of, help = false }: { readonly of: Refusal; readonly help?: boolean }) {
  const { error_type: type } = of
  const failure = failureOf(of)
  const remedy = help ? ownValue(HELP, type) : undefined
  return (
    <>
      <FailureWords failure={failure} />
      {type === 'model_not_found' && of.model !== null && <code className="mono">{of.model}</code>}
      {remedy !== undefined && (
        <Text size="sm" mt={2}>
          <Link {...remedy[1]}>{t(`refused.help.${remedy[0]}`)}</Link>
        </Text>
      )}
    </>
  )
}

/** The columns of a list of refusals, but for the account: for the customer, or for the operator. */
export function refusalColumns(reader: 'customer' | 'operator'): readonly Column<Refusal>[] {
  return [
    { id: 'at', title: t('log.time'), as: 'moment', value: 'at' },
    { id: 'times', title: t('refused.times'), as: 'count', value: 'times' },
    {
      id: 'key',
      title: t('refused.key'),
      value: 'key_name',
      none: t('refused.several'),
      to: ({ key, key_name: search, account }) =>
        key === null ? null : reader === 'operator' ? accountAt(account, 'keys') : { to: '/keys', search: { search } },
    },
    { id: 'model', title: t('log.model'), value: 'model' },
    {
      id: 'why',
      title: t('refused.why'),
      wide: true,
      value: 'error_type',
      cell: (row) => <Why of={row} help={reader === 'customer'} />,
      ...(reader === 'operator'
        ? { under: (row: Refusal) => <LetterButton account={row.account} text={() => letterOf(row)} /> }
        : {}),
    },
    { id: 'request', title: t('refused.request'), as: 'mono', value: 'request_id' },
  ]
}

interface RefusedListProps<Sum> {
  readonly label: string
  readonly rows: readonly Sum[]
  /** Who was refused: the key, or the account. */
  readonly who: Column<Sum>
  readonly help: boolean
}

/** How often each was refused lately, and why. */
export function RefusedList<Sum extends RefusalSums[number]>({ label, rows, who, help }: RefusedListProps<Sum>) {
  return (
    <List
      label={label}
      rows={rows}
      rowId={({ newest }) => newest.id}
      empty={{ picture: 'calm', title: t('refused.none') }}
      columns={[
        who,
        { id: 'times', title: t('refused.times'), as: 'count', value: ({ times }) => times },
        { id: 'why', title: t('refused.why'), wide: true, cell: ({ newest }) => <Why of={newest} help={help} /> },
      ]}
    />
  )
}

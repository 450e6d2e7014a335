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

/** The pages where the cause can be removed: for the customer, and for the operator. */
const PAGES = {
  top_up: [{ to: '/top-up' }, (account: string) => accountAt(account, 'money')],
  keys: [{ to: '/keys' }, (account: string) => accountAt(account, 'keys')],
  models: [{ to: '/models' }, (): LinkProps => ({ to: '/operator/prices' })],
} as const satisfies Readonly<Record<string, readonly [LinkProps, (account: string) => LinkProps]>>

const HELP: Readonly<Partial<Record<ErrorType, keyof typeof PAGES>>> = {
  insufficient_balance: 'top_up',
  limit_exceeded: 'keys',
  key_expired: 'keys',
  key_deactivated: 'keys',
  access_denied: 'keys',
  model_not_found: 'models',
  missing_model: 'models',
  model_not_supported: 'models',
  input_tokens_exceeded: 'models',
  token_limit_exceeded: 'models',
}

/** The page that helps; null = none: only the service can raise the limit of an account. */
function helpOf({ error_type: type, figures }: Refusal): keyof typeof PAGES | null {
  return figures['limit_of'] === 'account' ? null : (ownValue(HELP, type) ?? null)
}

function failureOf({ status, error_type: type, message, figures }: Refusal): ApiFailure {
  const { retry_after: seconds } = figures
  return new ApiFailure(status, type, message, typeof seconds === 'number' ? seconds : null, figures)
}

/** What was refused, when and why, and what helps, in the language that is spoken. */
function letterOf(of: Refusal): string {
  const failure = failureOf(of)
  const what = helpOf(of)
  return [
    t('letter.hello'),
    t('letter.refused', {
      when: format.dateTime(of.at),
      key: of.key_name === '' ? t('refused.several') : of.key_name,
      model: of.model ?? '–',
      id: of.request_id,
    }),
    t('letter.why', { why: [failureText(failure), serverWords(failure)].filter((part) => part !== null).join(': ') }),
    what === null
      ? t('letter.help.none')
      : t(`letter.help.${what}`, { url: `${window.location.origin}${PAGES[what][0].to}` }),
    t('letter.free'),
  ].join('\n')
}

type Reader = 'customer' | 'operator'

/** Why the newest of these requests was refused, with its figures, and what its reader can do about it. */
export function Why({ of, reader }: { readonly of: Refusal; readonly reader: Reader }) {
  const { error_type: type, account } = of
  const failure = failureOf(of)
  const help = helpOf(of)
  return (
    <>
      <FailureWords failure={failure} />
      {type === 'model_not_found' && of.model !== null && <code className="mono">{of.model}</code>}
      {help !== null && (
        <Text size="sm" mt={2}>
          <Link {...(reader === 'customer' ? PAGES[help][0] : PAGES[help][1](account))}>
            {t(`refused.help.${help}`)}
          </Link>
        </Text>
      )}
    </>
  )
}

/** The columns of a list of refusals, but for the account: for the customer, or for the operator. */
export function refusalColumns(reader: Reader): readonly Column<Refusal>[] {
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
      cell: (row) => <Why of={row} reader={reader} />,
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
  readonly reader: Reader
}

/** How often each was refused lately, and why. */
export function RefusedList<Sum extends RefusalSums[number]>({ label, rows, who, reader }: RefusedListProps<Sum>) {
  return (
    <List
      label={label}
      rows={rows}
      rowId={({ newest }) => newest.id}
      empty={{ picture: 'calm', title: t('refused.none') }}
      columns={[
        who,
        { id: 'times', title: t('refused.times'), as: 'count', value: ({ times }) => times },
        { id: 'why', title: t('refused.why'), wide: true, cell: ({ newest }) => <Why of={newest} reader={reader} /> },
      ]}
    />
  )
}

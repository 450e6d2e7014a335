import { Link } from '@tanstack/react-router'
import type { PriceChange, PriceEffect } from '../../../../src/api/admin/catalog-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { ReadList } from '../../parts/DataList.tsx'
import type { Column } from '../../parts/List.tsx'
import { Note, Press, StatusBadge } from '../../parts/cells.tsx'
import { accountAt } from '../../parts/row-link.ts'
import { format, t } from '../../parts/words.ts'
import { priceName } from '../models/PriceLines.tsx'
import { CATALOG_RENEWS } from './catalog-edit.tsx'
import css from './prices.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const RENEWS = [...CATALOG_RENEWS, 'GET /admin/v1/settings', 'GET /admin/v1/price-changes'] as const
type Decision = 'approve' | 'reject'

/** New models, prices and limits that wait for the operator's decision, with what each would do. */
export function HeldPricesPage() {
  const held = useRead('GET /admin/v1/price-changes', {})
  const decide = useDecision()
  const all = held.data?.data ?? []
  return (
    <OperatorPage
      title={t('nav.held')}
      lead={t('held.lead')}
      actions={
        decide !== null &&
        all.length > 1 && (
          <>
            <Press variant="default" onClick={() => decide('reject', all)} text={t('held.reject_all')} />
            <Press onClick={() => decide('approve', all)} text={t('held.approve_all')} />
          </>
        )
      }
    >
      <ReadList
        of={held}
        height={320}
        name="held-changes"
        label={t('nav.held')}
        empty={{ picture: 'calm', title: t('held.none'), text: t('held.none_text') }}
        columns={[...effectColumns(), ...(decide === null ? [] : [actionsOf(decide)])]}
      />
    </OperatorPage>
  )
}

type Decide = (decision: Decision, changes: readonly PriceChange[]) => void

/** null = the reader may not decide. */
function useDecision(): Decide | null {
  const route = 'POST /admin/v1/price-changes/decide'
  const can = useCan()(route)
  const made = {
    approve: useAct(route, { renews: RENEWS, said: t('held.approved') }),
    reject: useAct(route, { renews: RENEWS, said: t('held.rejected') }),
  }
  if (!can) return null
  return (decision, changes) => {
    const input = { body: { ids: changes.map(({ id }) => id), decision } }
    // To note that a model is gone changes nothing.
    if (changes.every(({ reason }) => reason === 'gone')) return made[decision].mutate(input)
    return made[decision].ask({
      name: 'held',
      title: t(`held.ask_${decision}`, { count: changes.length }),
      text: t(decision === 'approve' ? 'held.ask_approve_text' : 'held.rejected'),
      act: t(`held.${decision}`),
      harmful: decision === 'reject',
      input,
    })
  }
}

function effectColumns(): readonly Column<PriceChange>[] {
  return [
    {
      id: 'model',
      title: t('usage.model'),
      value: 'model',
      code: ({ model, provider, endpoint }) => (model === `${provider}/${endpoint}` ? null : `${provider}/${endpoint}`),
      under: ({ reason }) =>
        reason !== null && (
          <StatusBadge tone={BAD.has(reason) ? 'bad' : 'quiet'}>{t(`held_reason.${reason}`)}</StatusBadge>
        ),
    },
    {
      id: 'change',
      title: t('held.change'),
      wide: true,
      value: ({ before, after }) => `${JSON.stringify(before)} → ${JSON.stringify(after)}`,
      cell: (change) => <Change change={change} />,
    },
    {
      id: 'day',
      title: t('held.day'),
      end: true,
      value: ({ effect }) => effect?.day?.cost ?? null,
      cell: ({ effect }) => <Day effect={effect} />,
    },
    {
      id: 'customers',
      title: t('held.customers'),
      value: ({ effect }) => effect?.customer_count ?? 0,
      cell: ({ effect }) => <Customers effect={effect} />,
    },
  ]
}

function actionsOf(decide: Decide): Column<PriceChange> {
  const act = (decision: Decision, label: string, change: PriceChange) => ({
    label,
    name: `${label}: ${change.model}`,
    run: () => decide(decision, [change]),
  })
  return {
    id: 'actions',
    acts: (change) =>
      change.reason === 'gone'
        ? [act('approve', t('held.note'), change)]
        : [
            { ...act('approve', t('held.approve'), change), variant: 'filled' },
            act('reject', t('held.reject'), change),
          ],
  }
}

/** Reasons for which money may be lost. */
const BAD: ReadonlySet<string> = new Set(['rise', 'below_cost', 'new_fee', 'currency', 'unit'])

const LIMITS = ['context_length', 'max_completion_tokens'] as const

/** The prices before and after, with the margins; for other limits, those. */
function Change({ change: { reason, row, effect } }: { readonly change: PriceChange }) {
  const { lines = [], limits = null } = effect ?? {}
  const guessed = row?.guessed ?? []
  return (
    <div className={css.change}>
      {lines.length > 0 &&
        [t('held.cost'), t('held.sell'), t('prices.margin')].map((name) => (
          <span key={name} className="small">
            {name}
          </span>
        ))}
      {lines.map((line) => (
        <PriceStep key={`${line.condition} ${line.price}`} line={line} />
      ))}
      {lines.length === 0 && reason !== 'limits' && <span className={css.whole}>{t('held.no_prices')}</span>}
      {(reason === 'limits' || reason === 'new_model') &&
        LIMITS.filter((name) => row?.[name] !== undefined && row[name] !== limits?.[name]).map((name) => (
          <span key={name} className={css.whole}>
            <span className="small">{t(`held.${name}`)}</span>{' '}
            <Step was={count(limits?.[name])} is={count(row?.[name])} />
            {guessed.includes(name) && <Note span> {t('held.guess')}</Note>}
          </span>
        ))}
    </div>
  )
}

function PriceStep({ line }: { readonly line: PriceEffect['lines'][number] }) {
  const after = line.margin_percent_after
  return (
    <>
      <span className={css.whole}>
        <span className="small">
          {priceName(line.price)}
          {line.condition === null ? '' : ` · ${line.condition}`}
        </span>
      </span>
      <Step was={amount(line.cost)} is={amount(line.cost_after)} />
      <Step was={amount(line.sell)} is={amount(line.sell_after)} />
      <Step was={share(line.margin_percent)} is={share(after)} bad={after !== null && after < 0} />
    </>
  )
}

function count(tokens: number | null | undefined): string | null {
  return tokens === null || tokens === undefined ? null : format.number(tokens)
}

function amount(price: string | null): string | null {
  return price === null ? null : format.price(price)
}

function share(percent: number | null): string | null {
  return percent === null ? null : format.percent(percent / 100)
}

/** A value before and after; only one of them if nothing changes. */
function Step({
  was,
  is,
  bad = false,
}: {
  readonly was: string | null
  readonly is: string | null
  readonly bad?: boolean
}) {
  return (
    <span className={css.step}>
      {was === null || was === is ? '' : `${was} → `}
      <b className={bad ? css.bad : undefined}>{is ?? '–'}</b>
    </span>
  )
}

function Day({ effect }: { readonly effect: PriceEffect | undefined }) {
  const day = effect?.day ?? null
  if (day === null) return <span className="small">{t('held.no_traffic')}</span>
  return (
    <div>
      <div className={css.step}>
        <span className="small">{t('held.cost')}</span> {format.moreMoney(day.cost)}
      </div>
      <div className={css.step}>
        <span className="small">{t('margin.revenue')}</span> {format.moreMoney(day.revenue)}
      </div>
    </div>
  )
}

function Customers({ effect }: { readonly effect: PriceEffect | undefined }) {
  const { customer_count: count = 0, customers = [] } = effect ?? {}
  if (count === 0) return '–'
  return (
    <div>
      {customers.map(({ account, name, day }) => (
        <div key={account}>
          <Link {...accountAt(account)}>{name === '' ? account : name}</Link>{' '}
          <span className={css.step}>{format.moreMoney(day)}</span>
        </div>
      ))}
      {count > customers.length && <Note size="xs">{t('held.more', { count: count - customers.length })}</Note>}
    </div>
  )
}

import { Button, Group, SegmentedControl, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Summary } from '../../../../src/api/cabinet/money-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { Attention, type Concern } from '../../parts/Attention.tsx'
import { FirstRequest } from '../../parts/CallSnippet.tsx'
import { DayChart, MEASURES } from '../../parts/DayChart.tsx'
import { useChoice } from '../../parts/list-place.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { onDemand } from '../../parts/OnDemand.tsx'
import { LimitBar, Page, Section, SpendingLimitTile, Tile } from '../../parts/Page.tsx'
import { Moment, StatusBadge } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'
import { RefusedList } from '../../parts/Refusals.tsx'
import { modelAt } from '../../parts/row-link.ts'

/** Loaded on demand, since only new customers see it. */
const FirstSteps = onDemand('FirstSteps', () => import('./FirstSteps.tsx'), 220)

const REFRESH_MS = 30_000
const SOON_MS = 7 * 86_400_000

/** The balance and recent spending. */
export function HomePage() {
  const may = useMay()
  const summary = useRead('GET /cabinet/v1/summary', {}, { everyMs: REFRESH_MS })
  return (
    <Page
      title={t('nav.home')}
      actions={
        may('money:write') && (
          <Button component={Link} to="/top-up">
            {t('nav.top_up')}
          </Button>
        )
      }
    >
      <Loaded of={summary} height={560}>
        {(answer) => <Overview summary={answer} />}
      </Loaded>
    </Page>
  )
}

function Overview({ summary }: { readonly summary: Summary }) {
  // The list of steps stays until the page is opened again, so that the user sees the answer.
  const [isFirst] = useState(!summary.has_requests)
  const { money, account_limit: limit, today, last_7_days: week, last_30_days: month } = summary
  const may = useMay()
  const requests = (count: number): string => t('home.requests', { count, shown: format.number(count) })
  return (
    <>
      <div className="tiles">
        <Tile
          lead
          label={t('home.balance')}
          money={money.balance}
          note={t('home.reserved', { amount: format.money(money.reserved) })}
        />
        {limit !== null && <SpendingLimitTile of={limit} />}
        <Tile label={t('home.today')} money={today.cost} note={requests(today.requests)} />
        <Tile label={t('home.week')} money={week.cost} note={requests(week.requests)} />
        <Tile label={t('home.month')} money={month.cost} note={requests(month.requests)} />
        <Tile
          label={t('home.errors')}
          value={format.percent(month.requests === 0 ? 0 : month.errors / month.requests)}
          note={<ErrorsOf {...month} />}
        />
      </div>
      {isFirst ? <FirstSteps /> : <Attention of={concernsOf(summary, may('money:write'))} calm={null} />}
      {summary.refused_today.length > 0 && <RefusedToday summary={summary} />}
      <SpendChart summary={summary} />
      <div className="halves">
        <TopModels summary={summary} />
        <NearLimit summary={summary} />
      </div>
      {!isFirst && <FirstRequest summary={summary} />}
    </>
  )
}

/** How many requests failed; where some did, it leads to them. */
function ErrorsOf({ errors, requests }: Summary['last_30_days']) {
  const text = t('home.errors_of', { errors: format.number(errors), requests: format.number(requests) })
  return errors === 0 ? (
    text
  ) : (
    <Link to="/log" search={{ status: 'error' }}>
      {text}
    </Link>
  )
}

/** Money that lasts shorter than this needs attention. */
const LASTS_DAYS = 3

function concernsOf(summary: Summary, mayPay: boolean): readonly Concern[] {
  const { money, account_limit: limit, last_7_days: week, example_model: model } = summary
  const lasts = money.available > 0 && week.cost > 0 ? Math.floor((money.available * 7) / week.cost) : LASTS_DAYS
  const isUsed = limit !== null && limit.limit !== null && (limit.limit_used ?? 0) >= limit.limit
  const resetsAt = limit?.limit_resets_at ?? null
  const pay = mayPay ? ({ to: '/top-up' } as const) : null
  return [
    [money.available <= 0 ? 1 : 0, t('home.no_money'), pay],
    [LASTS_DAYS - lasts, lasts < 1 ? t('home.lasts_less') : t('home.lasts', { count: lasts }), pay],
    [
      isUsed ? 1 : 0,
      resetsAt === null ? t('home.limit_used') : t('home.limit_used_until', { when: format.dateTime(resetsAt) }),
      null,
    ],
    [model === null ? 1 : 0, t('home.no_model'), { to: '/models' }],
  ]
}

function SpendChart({ summary }: { readonly summary: Summary }) {
  const [days, setDays] = useChoice('days', ['30', '7'])
  const [what, setWhat] = useChoice('show', ['cost', 'requests'])
  return (
    <Section
      title={t('home.chart')}
      actions={
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            value={what}
            onChange={setWhat}
            data={[
              { value: 'cost', label: t('home.spend') },
              { value: 'requests', label: t('usage.requests') },
            ]}
            aria-label={t('home.chart')}
          />
          <SegmentedControl
            size="xs"
            value={days}
            onChange={setDays}
            data={(['7', '30'] as const).map((value) => ({ value, label: t('home.days', { count: Number(value) }) }))}
            aria-label={t('home.range')}
          />
        </Group>
      }
    >
      <DayChart
        kind="stack"
        days={summary.days.slice(-Number(days)).map(({ day, cost, requests, errors }) => ({
          day,
          values: what === 'cost' ? [cost] : [requests - errors, errors],
        }))}
        unit={what === 'cost' ? 'money' : 'count'}
        series={
          what === 'cost'
            ? [{ name: 'cost', label: t('home.spend'), colour: MEASURES.revenue }]
            : [
                { name: 'completed', label: t('home.completed'), colour: MEASURES.completed },
                { name: 'errors', label: t('usage.errors'), colour: MEASURES.errors },
              ]
        }
        label={t('home.chart')}
      />
    </Section>
  )
}

/** The most expensive models, five at most. */
function TopModels({ summary }: { readonly summary: Summary }) {
  return (
    <Section title={t('home.top_models')} lead={t('home.of_month')}>
      <List
        label={t('home.top_models')}
        rows={summary.top_models}
        rowId={({ model }) => model}
        empty={{ picture: 'model', title: t('home.no_models') }}
        columns={[
          { id: 'model', title: t('usage.model'), value: 'model', to: ({ model }) => modelAt(model) },
          { id: 'requests', title: t('usage.requests'), as: 'count', value: ({ requests }) => requests },
          { id: 'cost', title: t('usage.cost'), as: 'money', value: ({ cost }) => cost },
        ]}
      />
    </Section>
  )
}

function NearLimit({ summary }: { readonly summary: Summary }) {
  return (
    <Section
      title={t('home.near_limit')}
      lead={t('home.near_limit_lead')}
      actions={
        <Button component={Link} to="/keys" variant="default" size="xs">
          {t('home.all_keys', { count: summary.keys })}
        </Button>
      }
    >
      <List
        label={t('home.near_limit')}
        rows={summary.keys_near_limit}
        empty={{
          picture: summary.keys === 0 ? 'key' : 'calm',
          title: t(summary.keys === 0 ? 'keys.none' : 'home.none_near'),
        }}
        columns={[
          { id: 'key', title: t('keys.name'), value: 'name', code: ({ label }) => label },
          { id: 'limit', title: t('keys.limit'), wide: true, cell: (key) => <Left apiKey={key} /> },
        ]}
      />
    </Section>
  )
}

/** What was refused today, with what the customer can do about it. */
function RefusedToday({ summary }: { readonly summary: Summary }) {
  return (
    <Section title={t('refused.today')} lead={<Link to="/log/refused">{t('refused.all')}</Link>}>
      <RefusedList
        label={t('refused.today')}
        rows={summary.refused_today}
        who={{ id: 'key', title: t('refused.key'), value: ({ newest }) => newest.key_name, none: t('refused.several') }}
        reader="customer"
      />
    </Section>
  )
}

/** What is left of a key's limit, and of its time if that ends soon. */
function Left({
  apiKey: { limit, limit_remaining: left, expires_at: expires },
}: {
  readonly apiKey: Summary['keys_near_limit'][number]
}) {
  const [endsMs, nowMs] = [expires === null ? Infinity : Date.parse(expires), Date.now()]
  return (
    <div>
      {expires !== null && endsMs < nowMs + SOON_MS && (
        <StatusBadge tone={endsMs <= nowMs ? 'bad' : 'warn'}>
          <Moment
            at={expires}
            as="ago"
            said={(when) => t(endsMs <= nowMs ? 'home.expired' : 'home.expires', { when })}
          />
        </StatusBadge>
      )}
      {limit !== null && left !== null && (
        <>
          <LimitBar
            share={1 - left / Math.max(limit, Number.MIN_VALUE)}
            label={t('keys.used_of', { used: format.money(limit - left), limit: format.money(limit) })}
          />
          <Text size="xs" mt={4}>
            {left > 0 ? t('keys.left', { amount: format.money(left) }) : t('keys.spent')}
          </Text>
        </>
      )}
    </div>
  )
}

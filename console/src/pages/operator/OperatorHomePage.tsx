import { useLocalStorage } from '@mantine/hooks'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ComponentProps } from 'react'
import type { EndpointHealth, MarginReport, Overview, UsageSums } from '../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { Attention, type Concern } from '../../parts/Attention.tsx'
import { useCan } from '../../parts/Can.tsx'
import { DayChart, MEASURES } from '../../parts/DayChart.tsx'
import { type Column, List } from '../../parts/List.tsx'
import { Loaded, Outline } from '../../parts/Loaded.tsx'
import { Section, Tile } from '../../parts/Page.tsx'
import { Steps } from '../../parts/Steps.tsx'
import { errorName } from '../../parts/failure-text.ts'
import { format, t } from '../../parts/words.ts'
import { lastDays, today } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { Press } from '../../parts/cells.tsx'
import { healthWord } from './health-word.ts'
import { RefusedList } from '../../parts/Refusals.tsx'
import { accountAt } from '../../parts/row-link.ts'

const DAYS = 30
const REFRESH_MS = 30_000
/** The number of lines of each short list, which links to a page with all lines. */
const ROWS = 8

/** The operator's overview: money of today, requests of the last day, and what needs attention. */
export function OperatorHomePage() {
  const can = useCan()
  const seesHealth = can('GET /admin/v1/endpoints/health')
  const { service } = useSession()
  const days = lastDays(DAYS, today(service.service_timezone))
  const margin = useRead('GET /admin/v1/margin', { query: days }, { everyMs: REFRESH_MS })
  const overview = useRead('GET /admin/v1/overview', {}, { everyMs: REFRESH_MS })
  const health = useRead('GET /admin/v1/endpoints/health', {}, { everyMs: REFRESH_MS, enabled: seesHealth })
  const firstRun = useFirstRun(health.data?.data)
  const concerns = useConcerns(overview.data, health.data?.data, margin.data?.days.at(-1))
  // What is above the charts comes at once: a part that came later would move the others down.
  const isWaiting = [margin, overview, firstRun.read, ...(seesHealth ? [health] : [])].some(
    ({ isLoading }) => isLoading,
  )
  return (
    <OperatorPage title={t('nav.home')}>
      {isWaiting ? (
        <Outline height={900} />
      ) : (
        <>
          <FirstRun {...firstRun} />
          <Loaded of={margin}>{(report) => <Money report={report} />}</Loaded>
          <Attention {...concerns} />
          {margin.data !== undefined && <MoneyChart report={margin.data} />}
          <Loaded of={overview}>
            {(answer) => (
              <>
                <Requests overview={answer} />
                <div className="halves">
                  <Errors overview={answer} />
                  <LowBalances overview={answer} />
                </div>
                {answer.refused.length > 0 && <Refused overview={answer} />}
              </>
            )}
          </Loaded>
          <div className="halves">
            {margin.data !== undefined && <Customers report={margin.data} />}
            {seesHealth && <Loaded of={health}>{({ data }) => <Providers endpoints={data} />}</Loaded>}
          </div>
        </>
      )}
    </OperatorPage>
  )
}

/** A larger share of failed requests needs attention. */
const ERRORS_MAX = 0.05
/** The overview has no more causes of refusals. */
const CAUSES_MAX = 10

/** What needs attention. That nothing does is said when all that this operator may read has arrived. */
function useConcerns(
  overview: Overview | undefined,
  endpoints: readonly EndpointHealth[] | undefined,
  sums: UsageSums | undefined,
): ComponentProps<typeof Attention> {
  const can = useCan()
  const [sees, seesHealth] = [can('GET /admin/v1/catalog/warnings'), can('GET /admin/v1/endpoints/health')]
  const parked = useParked()
  const doubts = useRead('GET /admin/v1/catalog/warnings', {}, { enabled: sees }).data?.data
  const held = useRead(
    'GET /admin/v1/price-changes',
    { query: { effects: 'false' } },
    { everyMs: REFRESH_MS, enabled: sees },
  ).data?.data
  const service = useRead('GET /admin/v1/warnings', {}, { enabled: seesHealth }).data?.data
  if (overview === undefined) return { of: [], calm: null }
  const { recent, low_balances: low, locked, pending_payments: pending, refused } = overview
  const [paused, shortfall] = [(endpoints ?? []).filter(isPaused), sums?.shortfall ?? 0]
  const isKnown = [sums, ...(sees ? [doubts, held] : []), ...(seesHealth ? [endpoints, service] : []), parked].every(
    (part) => part !== undefined,
  )
  return {
    of: [
      [endpoints?.length === 0 ? 1 : 0, t('overview.no_model'), { to: '/operator/providers/connect' }],
      [
        paused.length,
        t('overview.paused', { count: paused.length, models: paused.map(({ model }) => model).join(', ') }),
        { to: '/operator/health' },
      ],
      [
        recent.errors > recent.requests * ERRORS_MAX ? 1 : 0,
        t('overview.failed', { errors: format.number(recent.errors), requests: format.number(recent.requests) }),
        { to: '/operator/requests', search: { status: 'error' } },
      ],
      ...refusedConcern(refused),
      [
        recent.flagged,
        t('overview.flagged', { count: recent.flagged, shown: format.number(recent.flagged) }),
        { to: '/operator/requests', search: { flagged: 'true' } },
      ],
      [shortfall, t('overview.shortfall', { amount: format.money(shortfall) }), { to: '/operator/margin' }],
      [low.length, t('overview.low', { count: low.length }), { to: '/operator/accounts' }],
      [
        pending.payments,
        t('overview.pending', { count: pending.payments, amount: format.money(pending.amount) }),
        { to: '/operator/payments' },
      ],
      [
        locked.accounts,
        t('overview.locked', { count: locked.accounts, amount: format.money(locked.amount) }),
        { to: '/operator/accounts' },
      ],
      ...(parked ?? []),
      [held?.length ?? 0, t('overview.held', { count: held?.length ?? 0 }), { to: '/operator/held' }],
      [doubts?.length ?? 0, t('overview.doubts', { count: doubts?.length ?? 0 }), { to: '/operator/catalog' }],
    ],
    // The frame of the page shows the warnings of the service.
    calm: isKnown && (service ?? []).length === 0 ? t('overview.nothing') : null,
  }
}

/** Videos that wait for a decision; undefined = not known yet. */
function useParked(): readonly Concern[] | undefined {
  const enabled = useCan()('GET /admin/v1/videos/parked')
  const parked = useRead('GET /admin/v1/videos/parked', {}, { everyMs: REFRESH_MS, enabled }).data?.data
  if (parked === undefined) return enabled ? undefined : []
  const amount = format.money(parked.reduce((sum, { held }) => sum + held, 0))
  return [[parked.length, t('overview.parked', { count: parked.length, amount }), { to: '/operator/videos' }]]
}

function refusedConcern(refused: Overview['refused']): readonly Concern[] {
  const times = refused.reduce((sum, one) => sum + one.times, 0)
  const shown = refused.length < CAUSES_MAX ? format.number(times) : `${format.number(times)}+`
  return [[times, t('overview.refused', { count: times, shown }), { to: '/operator/refusals' }]]
}

function Money({ report }: { readonly report: MarginReport }) {
  const { totals } = report
  const today = report.days.at(-1)
  const tile = (label: string, name: keyof UsageSums, lead = false) => (
    <Tile
      lead={lead}
      label={label}
      money={today?.[name] ?? 0}
      note={t('overview.month', { amount: format.money(totals[name]) })}
    />
  )
  return (
    <div className="tiles" role="group" aria-label={t('overview.today')}>
      {tile(t('overview.revenue'), 'revenue', true)}
      {tile(t('margin.provider_cost'), 'provider_cost')}
      {tile(t('margin.margin'), 'margin')}
      {tile(t('margin.insured'), 'insured')}
      {tile(t('margin.shortfall'), 'shortfall')}
    </div>
  )
}

function MoneyChart({ report }: { readonly report: MarginReport }) {
  return (
    <Section title={t('overview.chart')}>
      <DayChart
        kind="group"
        days={report.days.map(({ day, revenue, provider_cost: cost }) => ({ day, values: [revenue, cost] }))}
        unit="money"
        series={[
          { name: 'revenue', label: t('margin.revenue'), colour: MEASURES.revenue },
          { name: 'cost', label: t('margin.provider_cost'), colour: MEASURES.cost },
        ]}
        label={t('margin.chart')}
        height={200}
      />
    </Section>
  )
}

function Requests({ overview: { recent } }: { readonly overview: Overview }) {
  const { requests, errors, ttft_ms: ttft } = recent
  return (
    <Section
      title={t('overview.day')}
      lead={recent.from !== null && t('overview.since', { when: format.dateTime(recent.from) })}
    >
      <div className="tiles">
        <Tile label={t('usage.requests')} value={format.number(requests)} />
        <Tile
          label={t('usage.errors')}
          value={format.percent(requests === 0 ? 0 : errors / requests)}
          note={t('home.errors_of', { errors: format.number(errors), requests: format.number(requests) })}
        />
        <Tile
          label={t('overview.ttft')}
          value={ttft === null ? '–' : format.duration(ttft.p50)}
          note={ttft === null ? undefined : t('overview.p99', { time: format.duration(ttft.p99) })}
        />
        <Tile label={t('overview.cache')} money={recent.cache_saved} note={t('overview.cache_note')} />
      </div>
    </Section>
  )
}

function Errors({ overview }: { readonly overview: Overview }) {
  return (
    <Section title={t('overview.errors')}>
      <List
        label={t('overview.errors')}
        rows={overview.errors.slice(0, ROWS)}
        rowId={({ provider, error_type: type }) => `${provider} ${type}`}
        empty={{ picture: 'calm', title: t('overview.no_errors') }}
        columns={[
          {
            id: 'cause',
            title: t('overview.cause'),
            value: ({ error_type: type }) => (type === null ? '–' : errorName(type)),
            to: ({ error_type: type }) =>
              type === null ? null : { to: '/operator/requests', search: { error_type: type } },
          },
          {
            id: 'provider',
            title: t('log.filter_provider'),
            value: ({ provider }) => provider ?? '–',
            to: ({ provider }) => ({
              to: '/operator/requests',
              search: { status: 'error', ...(provider === null ? {} : { provider }) },
            }),
          },
          { id: 'requests', title: t('usage.requests'), as: 'count', value: ({ requests }) => requests },
        ]}
      />
    </Section>
  )
}

/** The account of a row, as a link. */
function accountColumn(): Column<{ readonly id: string; readonly name: string }> {
  return {
    id: 'account',
    title: t('nav.accounts'),
    value: ({ id, name }) => (name === '' ? id : name),
    to: ({ id }) => accountAt(id),
  }
}

function LowBalances({ overview }: { readonly overview: Overview }) {
  return (
    <Section title={t('overview.low_title')} lead={t('overview.low_lead')}>
      <List
        label={t('overview.low_title')}
        rows={overview.low_balances}
        empty={{ picture: 'calm', title: t('overview.no_low'), text: t('overview.no_low_text') }}
        columns={[
          accountColumn(),
          { id: 'available', title: t('overview.available'), as: 'money', value: ({ available }) => available },
          { id: 'spent', title: t('overview.spent'), as: 'money', value: ({ spent }) => spent },
        ]}
      />
    </Section>
  )
}

function Refused({ overview }: { readonly overview: Overview }) {
  return (
    <Section title={t('refused.day')} lead={<Link to="/operator/refusals">{t('refused.all')}</Link>}>
      <RefusedList
        label={t('refused.day')}
        rows={overview.refused}
        who={{
          id: 'account',
          title: t('refused.account'),
          value: ({ newest: { account, account_name: name } }) => (name === '' ? account : name),
          to: ({ newest }) => accountAt(newest.account),
        }}
        reader="operator"
      />
    </Section>
  )
}

function Customers({ report }: { readonly report: MarginReport }) {
  return (
    <Section title={t('overview.customers')} lead={t('overview.customers_lead')}>
      <List
        label={t('overview.customers')}
        rows={report.accounts.slice(0, ROWS)}
        empty={{ picture: 'chart', title: t('usage.none') }}
        columns={[
          accountColumn(),
          { id: 'revenue', title: t('margin.revenue'), as: 'money', value: ({ revenue }) => revenue },
          { id: 'margin', title: t('margin.margin'), as: 'money', value: ({ margin }) => margin },
        ]}
      />
    </Section>
  )
}

/** Each provider with its worst endpoint. */
function Providers({ endpoints }: { readonly endpoints: readonly EndpointHealth[] }) {
  const rows = [...Map.groupBy(endpoints, ({ provider }) => provider)].map(([provider, all]) => {
    const rates = all.flatMap(({ error_rate_30m: rate }) => rate ?? [])
    return {
      provider,
      all: all.length,
      paused: all.filter(isPaused).length,
      errors: rates.length === 0 ? null : Math.max(...rates),
    }
  })
  return (
    <Section title={t('overview.providers')} lead={<Link to="/operator/health">{t('overview.providers_all')}</Link>}>
      <List
        label={t('overview.providers')}
        rows={rows.toSorted((a, b) => b.paused - a.paused || (b.errors ?? -1) - (a.errors ?? -1)).slice(0, ROWS)}
        rowId={({ provider }) => provider}
        empty={{ picture: 'provider', title: t('health.none') }}
        columns={[
          { id: 'provider', title: t('log.filter_provider'), value: ({ provider }) => provider },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ paused, all, errors }) =>
              paused === 0 ? healthWord('healthy', errors) : ['warn', t('overview.paused_of', { paused, all })],
          },
          { id: 'errors', title: t('health.error_rate'), as: 'share', value: ({ errors }) => errors },
        ]}
      />
    </Section>
  )
}

function isPaused({ state }: EndpointHealth): boolean {
  return state === 'cooling_down'
}

const EVERY_MS = 3_000
/** It answers without a real provider, so it does not count as one. */
const SANDBOX = 'sandbox'

const ONE = { query: { limit: 1 } } as const
const NAMES = ['provider', 'model', 'account', 'key', 'request'] as const
type StepName = (typeof NAMES)[number]

/**
 * The steps from an empty service to its first answer. Each step is ticked when it is done, and the list disappears
 * after the last.
 */
function useFirstRun(endpoints: readonly EndpointHealth[] | undefined) {
  const [hidden, setHidden] = useLocalStorage({
    key: 'tollgate-first-run',
    defaultValue: '',
    getInitialValueInEffect: false,
  })
  const isMine = useCan()('PUT /admin/v1/catalog') && hidden === ''
  const read = useRead('GET /admin/v1/generations', ONE, { everyMs: EVERY_MS, enabled: isMine })
  const hasModel = (endpoints ?? []).some(({ provider }) => provider !== SANDBOX)
  const hasRequest = (read.data?.total ?? 0) > 0
  const isOpen = isMine && endpoints !== undefined && read.data !== undefined && !(hasModel && hasRequest)
  return { read, hasModel, hasRequest, isOpen, hide: () => setHidden('hidden') }
}

function FirstRun({ hasModel, hasRequest, isOpen, hide }: ReturnType<typeof useFirstRun>) {
  const catalog = useRead('GET /admin/v1/catalog', {}, { everyMs: EVERY_MS, enabled: isOpen && !hasModel })
  const accounts = useRead('GET /admin/v1/accounts', ONE, { everyMs: EVERY_MS, enabled: isOpen && !hasRequest })
  const account = accounts.data?.data[0]
  const keys = useRead(
    'GET /admin/v1/accounts/:id/keys',
    { params: { id: account?.id ?? '' }, ...ONE },
    { everyMs: EVERY_MS, enabled: isOpen && !hasRequest && account !== undefined },
  )
  if (!isOpen) return null
  const done: Readonly<Record<StepName, boolean>> = {
    provider: hasModel || Object.keys(catalog.data?.providers ?? {}).some((slug) => slug !== SANDBOX),
    model: hasModel,
    account: hasRequest || account !== undefined,
    key: hasRequest || (keys.data?.total ?? 0) > 0,
    request: hasRequest,
  }
  const ofAccount: LinkProps = account === undefined ? { to: '/operator/accounts' } : accountAt(account.id, 'keys')
  const links: Readonly<Record<StepName, LinkProps>> = {
    provider: { to: '/operator/providers/connect' },
    model: { to: '/operator/prices' },
    account: { to: '/operator/accounts' },
    key: ofAccount,
    request: { to: '/playground' },
  }
  return (
    <Steps
      title={t('first_run.title')}
      count={(ready, all) => t('first_run.count', { done: ready, all })}
      steps={NAMES.map((name) => ({
        name,
        title: t(`first_run.${name}`),
        text: t(`first_run.${name}_text`),
        done: done[name],
        link: links[name],
      }))}
      actions={<Press size="xs" variant="subtle" onClick={hide} text={t('first_run.hide')} />}
    />
  )
}

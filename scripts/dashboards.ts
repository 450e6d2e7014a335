import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** `npm run docs`: writes the Grafana dashboards in `deploy/grafana` from the tables below. */
type Unit = 'reqps' | 's' | 'percentunit' | 'short' | 'bytes' | 'currencyRUB'

interface Panel {
  readonly title: string
  readonly unit: Unit
  /** Queries, each with the name of its line, in Grafana's syntax. */
  readonly lines: readonly (readonly [expr: string, legend: string])[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
}

const RATE = '[$__rate_interval]'
const NODES = '{job=~"$job", instance=~"$instance"}'

/** A quantile of a histogram, by one of its labels. */
function quantile(share: number, metric: string, label: string): string {
  return `histogram_quantile(${share}, sum by (le, ${label}) (rate(${metric}_bucket${NODES}${RATE})))`
}

function perSecond(metric: string, by: string): string {
  return `sum by (${by}) (rate(${metric}${NODES}${RATE}))`
}

const OPERATOR: Dashboard = {
  uid: 'tollgate-operator',
  title: 'Tollgate: nodes',
  panels: [
    {
      title: 'Requests by status',
      unit: 'reqps',
      lines: [[perSecond('tollgate_requests_total', 'status'), '{{status}}']],
    },
    {
      title: 'Errors by type',
      unit: 'reqps',
      lines: [[perSecond('tollgate_errors_total', 'type'), '{{type}}']],
    },
    {
      title: 'Duration of requests, p99 by route',
      unit: 's',
      lines: [[quantile(0.99, 'tollgate_request_duration_seconds', 'route'), '{{route}}']],
    },
    {
      title: 'Running now',
      unit: 'short',
      lines: [
        [`sum(tollgate_in_flight${NODES})`, 'paid requests'],
        [`sum(tollgate_open_streams${NODES})`, 'streams'],
        [`sum(tollgate_drains${NODES})`, 'answers whose client left'],
        [`sum(tollgate_connections${NODES})`, 'connections'],
      ],
    },
    {
      title: 'Event loop',
      unit: 's',
      lines: [
        [`tollgate_event_loop_delay_seconds${NODES}`, '{{instance}} late, p99'],
        [`tollgate_event_loop_utilisation${NODES}`, '{{instance}} share of work'],
      ],
    },
    {
      title: 'Refused because of load',
      unit: 'percentunit',
      lines: [
        [`tollgate_shedding_busy${NODES}`, '{{instance}} busy'],
        [`tollgate_shedding_lagging${NODES}`, '{{instance}} late or short of memory'],
      ],
    },
    {
      title: 'Memory',
      unit: 'bytes',
      lines: [
        [`process_resident_memory_bytes${NODES}`, '{{instance}}'],
        [`tollgate_body_bytes${NODES}`, '{{instance}} request bodies'],
        [`tollgate_answer_bytes${NODES}`, '{{instance}} answers'],
      ],
    },
    {
      title: 'CPU',
      unit: 'percentunit',
      lines: [[`rate(process_cpu_seconds_total${NODES}${RATE})`, '{{instance}}']],
    },
    {
      title: 'Store',
      unit: 'short',
      lines: [
        [`tollgate_ledger_waiting${NODES}`, '{{instance}} waiting writes'],
        [`tollgate_journal_open${NODES}`, '{{instance}} journal entries'],
        [`tollgate_store_down${NODES}`, '{{instance}} down'],
      ],
    },
    {
      title: 'Faults and dropped log lines',
      unit: 'short',
      lines: [
        [`increase(tollgate_faults_total${NODES}${RATE})`, '{{instance}} faults'],
        [`increase(tollgate_log_lines_dropped${NODES}${RATE})`, '{{instance}} log lines'],
      ],
    },
    {
      title: 'Attempts to send notices',
      unit: 'short',
      lines: [[`sum by (outcome) (increase(tollgate_notice_attempts_total${NODES}${RATE}))`, '{{outcome}}']],
    },
  ],
}

const MONEY: Dashboard = {
  uid: 'tollgate-money',
  title: 'Tollgate: money',
  panels: [
    {
      title: 'Charged in the last day',
      unit: 'currencyRUB',
      lines: [[`sum(increase(tollgate_revenue_rub_total${NODES}[1d]))`, 'RUB']],
    },
    {
      title: 'Charged an hour, by provider',
      unit: 'currencyRUB',
      lines: [[`sum by (provider) (increase(tollgate_revenue_rub_total${NODES}[1h]))`, '{{provider}}']],
    },
    {
      title: 'Charged an hour, the ten dearest models',
      unit: 'currencyRUB',
      lines: [[`topk(10, sum by (model) (increase(tollgate_revenue_rub_total${NODES}[1h])))`, '{{model}}']],
    },
    {
      title: 'Tokens a second',
      unit: 'short',
      lines: [[perSecond('tollgate_tokens_total', 'direction'), '{{direction}}']],
    },
    {
      title: 'Cost beyond holds and balances, an hour',
      unit: 'currencyRUB',
      lines: [[`sum(increase(tollgate_shortfall_rub_total${NODES}[1h]))`, 'shortfall']],
    },
    {
      title: 'Usage that cannot be, an hour',
      unit: 'short',
      lines: [[`sum(increase(tollgate_usage_flagged_total${NODES}[1h]))`, 'flagged answers']],
    },
    {
      title: 'Price version',
      unit: 'short',
      lines: [[`tollgate_price_version${NODES}`, '{{instance}}']],
    },
  ],
}

const PROVIDERS: Dashboard = {
  uid: 'tollgate-providers',
  title: 'Tollgate: providers',
  panels: [
    {
      title: 'Answers by provider',
      unit: 'reqps',
      lines: [[perSecond('tollgate_generations_total', 'provider'), '{{provider}}']],
    },
    {
      title: 'Share of answers that failed',
      unit: 'percentunit',
      lines: [
        [
          `sum by (provider) (rate(tollgate_generations_total{job=~"$job", instance=~"$instance", status="error"}${RATE})) / ${perSecond('tollgate_generations_total', 'provider')}`,
          '{{provider}}',
        ],
      ],
    },
    {
      title: 'First token, p50',
      unit: 's',
      lines: [[quantile(0.5, 'tollgate_first_token_seconds', 'provider'), '{{provider}}']],
    },
    {
      title: 'First token, p99',
      unit: 's',
      lines: [[quantile(0.99, 'tollgate_first_token_seconds', 'provider'), '{{provider}}']],
    },
    {
      title: 'Calls to providers, p95 by provider and model',
      unit: 's',
      lines: [
        [
          `topk(10, ${quantile(0.95, 'gen_ai_client_operation_duration_seconds', 'gen_ai_provider_name, gen_ai_request_model')})`,
          '{{gen_ai_provider_name}} {{gen_ai_request_model}}',
        ],
      ],
    },
    {
      title: 'Failed calls, by provider and cause',
      unit: 'reqps',
      lines: [
        [
          `sum by (gen_ai_provider_name, error_type) (rate(gen_ai_client_operation_duration_seconds_count{job=~"$job", instance=~"$instance", error_type!=""}${RATE}))`,
          '{{gen_ai_provider_name}} {{error_type}}',
        ],
      ],
    },
    {
      title: 'Time of an output token, p50 by provider',
      unit: 's',
      lines: [
        [
          quantile(0.5, 'gen_ai_server_time_per_output_token_seconds', 'gen_ai_provider_name'),
          '{{gen_ai_provider_name}}',
        ],
      ],
    },
    {
      title: 'Money left with a provider, in its currency',
      unit: 'short',
      lines: [
        [`max by (provider, key, currency) (tollgate_provider_balance${NODES})`, '{{provider}} {{key}} {{currency}}'],
      ],
    },
    {
      title: 'Attempts that failed, by model',
      unit: 'reqps',
      lines: [[`topk(10, ${perSecond('tollgate_failed_attempts_total', 'model')})`, '{{model}}']],
    },
    {
      title: 'Running and waiting',
      unit: 'short',
      lines: [
        [`sum by (provider) (tollgate_provider_in_flight${NODES})`, '{{provider}} running'],
        [`sum by (provider) (tollgate_provider_waiting${NODES})`, '{{provider}} waiting'],
      ],
    },
    {
      title: 'Unhealthy endpoints',
      unit: 'short',
      lines: [[`tollgate_unhealthy_endpoints${NODES}`, '{{instance}}']],
    },
  ],
}

const WIDTH = 12
const HEIGHT = 8
const SOURCE = { type: 'prometheus', uid: '${datasource}' }

function variable(name: string, label: string, query: string): Readonly<Record<string, unknown>> {
  return {
    name,
    label,
    type: 'query',
    datasource: SOURCE,
    query,
    definition: query,
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  }
}

function documentOf({ uid, title, panels }: Dashboard): Readonly<Record<string, unknown>> {
  return {
    uid,
    title,
    tags: ['tollgate'],
    editable: true,
    schemaVersion: 39,
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    annotations: { list: [] },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        variable('job', 'Job', 'label_values(tollgate_info, job)'),
        variable('instance', 'Instance', 'label_values(tollgate_info{job=~"$job"}, instance)'),
      ],
    },
    panels: panels.map((panel, index) => ({
      id: index + 1,
      type: 'timeseries',
      title: panel.title,
      datasource: SOURCE,
      gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
      fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
      options: {
        legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
      targets: panel.lines.map(([expr, legendFormat], line) => ({
        refId: `q${line + 1}`,
        datasource: SOURCE,
        expr,
        legendFormat,
      })),
    })),
  }
}

/** Each dashboard by its file name. */
export function dashboardFiles(): ReadonlyMap<string, string> {
  return new Map(
    [OPERATOR, MONEY, PROVIDERS].map((dashboard) => [
      `${dashboard.uid}.json`,
      `${JSON.stringify(documentOf(dashboard), null, 1)}\n`,
    ]),
  )
}

export function writeDashboards(): void {
  const folder = join(import.meta.dirname, '../deploy/grafana')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of dashboardFiles()) writeFileSync(join(folder, name), text)
}

import { Text } from '@mantine/core'
import type { Key } from '../../../../src/api/cabinet/key-contract.ts'
import type { Column } from '../../parts/List.tsx'
import { LimitBar } from '../../parts/Page.tsx'
import { Moment, StatusBadge } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'

/** The fields that a customer's list of keys and an operator's have in common. */
type Shown = Pick<
  Key,
  'name' | 'label' | 'limit' | 'limit_reset' | 'limit_remaining' | 'usage' | 'last_used_at' | 'old_secret_until'
> &
  Stated

/** The name, the state, the usage and the last use of a key. */
export function keyColumns(): Readonly<Record<'name' | 'state' | 'usage' | 'used', Column<Shown>>> {
  return {
    name: { id: 'name', title: t('keys.name'), value: 'name', code: ({ label }) => label },
    state: {
      id: 'state',
      title: t('keys.state'),
      value: (key) => t(`keys.${keyState(key)}`),
      cell: (key) => <KeyState apiKey={key} />,
    },
    usage: {
      id: 'usage',
      title: t('keys.usage_limit'),
      wide: true,
      value: 'usage',
      cell: (key) => <KeyUsage apiKey={key} />,
    },
    used: { id: 'used', title: t('keys.last_used'), as: 'ago', value: 'last_used_at' },
  }
}

/** Usage and limit as a bar. A key without a limit shows only its usage. */
function KeyUsage({ apiKey }: { readonly apiKey: Shown }) {
  const { limit, limit_remaining: left, limit_reset: reset, usage } = apiKey
  if (limit === null) return <Text size="sm">{t('keys.unlimited_used', { amount: format.money(usage) })}</Text>
  const used = limit - (left ?? limit)
  const text = t('keys.used_of', { used: format.money(used), limit: format.money(limit) })
  return (
    <div>
      <Text size="sm" mb={4}>
        {text}
        {reset === null ? '' : ` · ${t(`keys.reset_${reset}`)}`}
      </Text>
      <LimitBar share={limit === 0 ? 1 : used / limit} label={text} />
    </div>
  )
}

type Paced = Pick<
  Key,
  'requests_per_minute' | 'tokens_per_minute' | 'running_requests' | 'model_limits' | 'allowed_ips'
>

/** The limits of a key other than money, in one line; nothing for a key without them. */
export function KeyPace({ apiKey }: { readonly apiKey: Paced }) {
  const { requests_per_minute: requests, tokens_per_minute: tokens, running_requests: running } = apiKey
  const models = Object.keys(apiKey.model_limits ?? {}).length
  const ips = apiKey.allowed_ips?.length ?? 0
  return [
    requests === null ? null : t('keys.pace_requests', { text: format.number(requests) }),
    tokens === null ? null : t('keys.pace_tokens', { text: format.number(tokens) }),
    running === null ? null : t('keys.pace_running', { text: format.number(running) }),
    models === 0 ? null : t('keys.pace_models', { count: models }),
    ips === 0 ? null : t('keys.pace_ips', { count: ips }),
  ]
    .filter((part) => part !== null)
    .join(' · ')
}

type Stated = Pick<Key, 'disabled' | 'expires_at' | 'limit_remaining'>
const TONES = { disabled: 'quiet', expired: 'bad', spent: 'warn', active: 'good' } as const

/** Whether the key is valid now. */
function keyState({ disabled, expires_at: expires, limit_remaining: left }: Stated): keyof typeof TONES {
  if (disabled) return 'disabled'
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired'
  return left !== null && left <= 0 ? 'spent' : 'active'
}

/** The same state as a word, and until when it lasts. */
function KeyState({ apiKey }: { readonly apiKey: Shown }) {
  const { expires_at: expires, old_secret_until: grace } = apiKey
  const state = keyState(apiKey)
  return (
    <div>
      <StatusBadge tone={TONES[state]}>{t(`keys.${state}`)}</StatusBadge>
      {state === 'active' && expires !== null && (
        <div className="small">
          <Moment at={expires} as="date" said={(when) => t('keys.expires', { when })} />
        </div>
      )}
      {state === 'active' && grace !== null && Date.parse(grace) > Date.now() && (
        <div className="small">
          <Moment at={grace} said={(when) => t('keys.old_works', { when })} />
        </div>
      )}
    </div>
  )
}

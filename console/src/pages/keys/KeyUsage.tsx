import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key } from '../../../../src/api/cabinet/key-contract.ts'
import { LimitBar } from '../../parts/LimitBar.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

type Limited = Pick<Key, 'limit' | 'limit_reset' | 'limit_remaining' | 'usage'>

/** Usage and limit as a bar. A key without a limit shows only its usage. */
export function KeyUsage({ apiKey }: { readonly apiKey: Limited }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
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

/** The limits that a key has beside its money, in a line; nothing for a key without them. */
export function KeyPace({ apiKey }: { readonly apiKey: Paced }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { requests_per_minute: requests, tokens_per_minute: tokens, running_requests: running } = apiKey
  const models = Object.keys(apiKey.model_limits ?? {}).length
  const ips = apiKey.allowed_ips?.length ?? 0
  const told = [
    requests === null ? null : t('keys.pace_requests', { text: format.number(requests) }),
    tokens === null ? null : t('keys.pace_tokens', { text: format.number(tokens) }),
    running === null ? null : t('keys.pace_running', { text: format.number(running) }),
    models === 0 ? null : t('keys.pace_models', { count: models }),
    ips === 0 ? null : t('keys.pace_ips', { count: ips }),
  ].filter((part) => part !== null)
  if (told.length === 0) return null
  return (
    <Text size="xs" c="dimmed" mt={4}>
      {told.join(' · ')}
    </Text>
  )
}

/** A key's name, and its label below. */
export function KeyName({ apiKey }: { readonly apiKey: Pick<Key, 'name' | 'label'> }): ReactNode {
  return (
    <div>
      <Text fw={600} size="sm">
        {apiKey.name}
      </Text>
      <Text size="xs" c="dimmed" className={css.mono ?? ''}>
        {apiKey.label}
      </Text>
    </div>
  )
}

type Stated = Pick<Key, 'disabled' | 'expires_at' | 'limit_remaining'>
const TONES = { disabled: 'quiet', expired: 'bad', spent: 'warn', active: 'good' } as const

/** Whether the key works now. */
export function keyState({ disabled, expires_at: expires, limit_remaining: left }: Stated): keyof typeof TONES {
  if (disabled) return 'disabled'
  if (expires !== null && Date.parse(expires) <= Date.now()) return 'expired'
  return left !== null && left <= 0 ? 'spent' : 'active'
}

/** The same as a word, and until when. */
export function KeyState({ apiKey }: { readonly apiKey: Stated & Pick<Key, 'old_secret_until'> }): ReactNode {
  const { t } = useTranslation()
  const { expires_at: expires, old_secret_until: grace } = apiKey
  const state = keyState(apiKey)
  if (state !== 'active') return <StatusBadge tone={TONES[state]}>{t(`keys.${state}`)}</StatusBadge>
  return (
    <div>
      <StatusBadge tone="good">{t('keys.active')}</StatusBadge>
      {expires !== null && (
        <Text size="xs" c="dimmed" mt={2}>
          <Moment at={expires} as="date" said={(when) => t('keys.expires', { when })} />
        </Text>
      )}
      {grace !== null && Date.parse(grace) > Date.now() && (
        <Text size="xs" c="dimmed" mt={2}>
          <Moment at={grace} said={(when) => t('keys.old_works', { when })} />
        </Text>
      )}
    </div>
  )
}

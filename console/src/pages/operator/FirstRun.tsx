import { Button, Progress, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { EndpointHealth } from '../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { CheckIcon } from '../../parts/icons.ts'
import { Section } from '../../parts/Section.tsx'
import css from '../../style/steps.module.css'

const EVERY_MS = 3_000
/** It answers without a provider, so it does not count as one. */
const SANDBOX = 'sandbox'

type StepName = 'provider' | 'model' | 'account' | 'key' | 'request'

/**
 * The way from an empty service to its first answer: each step ticks itself, and the list goes away after the last.
 */
export function FirstRun({ endpoints }: { readonly endpoints: readonly EndpointHealth[] }): ReactNode {
  const [hidden, setHidden] = useLocalStorage({ key: 'tollgate-first-run', defaultValue: '' })
  const can = useCan()
  const hasModel = endpoints.some(({ provider }) => provider !== SANDBOX)
  const one = { query: { limit: 1 } }
  const isMine = can('PUT /admin/v1/catalog')
  const requests = useRead('GET /admin/v1/generations', one, { everyMs: EVERY_MS, enabled: isMine && hidden === '' })
  const hasRequest = (requests.data?.total ?? 0) > 0
  const isOpen = isMine && hidden === '' && requests.data !== undefined && !(hasModel && hasRequest)
  const catalog = useRead('GET /admin/v1/catalog', {}, { everyMs: EVERY_MS, enabled: isOpen && !hasModel })
  const accounts = useRead('GET /admin/v1/accounts', one, { everyMs: EVERY_MS, enabled: isOpen && !hasRequest })
  const account = accounts.data?.data[0]
  const keys = useRead(
    'GET /admin/v1/accounts/:id/keys',
    { params: { id: account?.id ?? '' }, ...one },
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
  const ofAccount: LinkProps =
    account === undefined
      ? { to: '/operator/accounts' }
      : { to: '/operator/accounts/$id', params: { id: account.id }, search: { tab: 'keys' } }
  const steps: readonly (readonly [StepName, LinkProps])[] = [
    ['provider', { to: '/operator/providers/connect' }],
    ['model', { to: '/operator/prices' }],
    ['account', { to: '/operator/accounts' }],
    ['key', ofAccount],
    ['request', { to: '/playground' }],
  ]
  return <Steps steps={steps} done={done} hide={() => setHidden('hidden')} />
}

function Steps({
  steps,
  done,
  hide,
}: {
  readonly steps: readonly (readonly [StepName, LinkProps])[]
  readonly done: Readonly<Record<StepName, boolean>>
  readonly hide: () => void
}): ReactNode {
  const { t } = useTranslation()
  const count = steps.filter(([name]) => done[name]).length
  const next = steps.find(([name]) => !done[name])?.[0]
  return (
    <Section
      boxed
      title={t('first_run.title')}
      lead={t('first_run.count', { done: count, all: steps.length })}
      actions={
        <Button size="xs" variant="subtle" onClick={hide}>
          {t('first_run.hide')}
        </Button>
      }
    >
      <Progress value={(count / steps.length) * 100} size="sm" mb="md" aria-label={t('first_run.title')} />
      <ol className={css.steps}>
        {steps.map(([name, link], index) => (
          <li key={name} data-step={name} data-done={done[name]} aria-current={name === next ? 'step' : undefined}>
            <span className={css.mark} role="img" aria-label={t(done[name] ? 'first_run.done' : 'first_run.open')}>
              {done[name] ? <CheckIcon size={15} stroke={2.6} aria-hidden /> : index + 1}
            </span>
            <div>
              {done[name] ? <span>{t(`first_run.${name}`)}</span> : <Link {...link}>{t(`first_run.${name}`)}</Link>}
              <Text size="sm" c="dimmed">
                {t(`first_run.${name}_text`)}
              </Text>
            </div>
          </li>
        ))}
      </ol>
    </Section>
  )
}

import { Progress, Text } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Summary } from '../../../../src/api/cabinet/summary-contract.ts'
import type { MemberScope } from '../../../../src/tables/member-scopes.ts'
import { useRead } from '../../api/hooks.ts'
import { CheckIcon } from '../../parts/icons.ts'
import { useMay } from '../../parts/may.ts'
import { Section } from '../../parts/Section.tsx'
import css from '../../style/steps.module.css'
import { FirstArrival } from './FirstArrival.tsx'
import { FirstRequest } from './FirstRequest.tsx'

const EVERY_MS = 3_000

type StepName = 'money' | 'key' | 'request'
const STEPS: readonly (readonly [StepName, LinkProps, MemberScope])[] = [
  ['money', { to: '/top-up' }, 'money:write'],
  ['key', { to: '/keys', search: { create: '1' } }, 'keys:write'],
  ['request', { to: '/playground' }, 'playground'],
]

/** The way to the first answer: each step ticks itself, and the request appears by itself. */
export function FirstSteps(): ReactNode {
  const { t } = useTranslation()
  const summary = useRead('GET /cabinet/v1/summary', {}, { everyMs: EVERY_MS }).data
  if (summary === undefined) return null
  const done = stepsDone(summary)
  const count = STEPS.filter(([name]) => done[name]).length
  return (
    <Section boxed title={t('first_steps.title')} lead={t('first_steps.count', { done: count, all: STEPS.length })}>
      <Progress value={(count / STEPS.length) * 100} size="sm" mb="md" aria-label={t('first_steps.title')} />
      <Steps done={done} />
      {done.key && <FirstArrival />}
      {done.key && !done.request && <FirstRequest summary={summary} />}
    </Section>
  )
}

function stepsDone({ money, keys, has_requests: request }: Summary): Readonly<Record<StepName, boolean>> {
  return { money: request || money.balance > 0, key: request || keys > 0, request }
}

function Steps({ done }: { readonly done: Readonly<Record<StepName, boolean>> }): ReactNode {
  const { t } = useTranslation()
  const may = useMay()
  const next = STEPS.find(([name]) => !done[name])?.[0]
  return (
    <ol className={css.steps}>
      {STEPS.map(([name, link, scope], index) => (
        <li key={name} data-step={name} data-done={done[name]} aria-current={name === next ? 'step' : undefined}>
          <span className={css.mark} role="img" aria-label={t(done[name] ? 'first_steps.done' : 'first_steps.open')}>
            {done[name] ? <CheckIcon size={15} stroke={2.6} aria-hidden /> : index + 1}
          </span>
          <div>
            {done[name] || !may(scope) ? (
              <span>{t(`first_steps.${name}`)}</span>
            ) : (
              <Link {...link}>{t(`first_steps.${name}`)}</Link>
            )}
            <Text size="sm" c="dimmed">
              {t(may(scope) ? `first_steps.${name}_text` : 'first_steps.ask_owner')}
            </Text>
          </div>
        </li>
      ))}
    </ol>
  )
}

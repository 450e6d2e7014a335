import { Alert, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { facts } from 'virtual:log-facts'
import type { RequestStory } from '../../../../src/api/cabinet/log-contract.ts'
import type { FactStyle } from '../../../../src/ledger/generation-record.ts'
import { useRead } from '../../api/hooks.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Facts, Section, Tile } from '../../parts/Page.tsx'
import { requestEnd, Said } from '../../parts/cells.tsx'
import { WarningIcon } from '../../parts/icons.ts'
import { errorName, remedyText } from '../../parts/failure-text.ts'
import { format, t } from '../../parts/words.ts'
import { Bill, finishText, Hold, Route, Timeline } from './Bill.tsx'
import { modelAt } from '../../parts/row-link.ts'

/** What the customer sees of a request. */
export function OwnStory({ id }: { readonly id: string }) {
  const story = useRead('GET /cabinet/v1/log/:id', { params: { id } })
  return (
    <Loaded of={story} height={600}>
      {(answer) => <Story story={answer} />}
    </Loaded>
  )
}

function Story({ story }: { readonly story: RequestStory }) {
  const saved = story.cache_saved ?? 0
  return (
    <>
      <WhyFailed story={story} />
      <div className="tiles">
        <Tile lead label={t('usage.cost')} money={story.cost} note={t(`request.basis_${story.billing_basis}`)} />
        <Tile
          label={t('log.tokens')}
          value={`${format.compact(story.input_tokens)} → ${format.compact(story.output_tokens)}`}
          note={t(saved > 0 ? 'request.cached_saved' : 'request.cached', {
            cached: format.number(story.cached_tokens),
            reasoning: format.number(story.reasoning_tokens),
            saved: format.money(saved),
          })}
        />
        <Tile
          label={t('request.first_token')}
          value={story.latency_ms === null ? '–' : format.duration(story.latency_ms)}
          note={t('request.total_time', { time: format.duration(story.duration_ms) })}
        />
        <Tile
          label={t('request.speed')}
          value={
            story.tokens_per_second === null
              ? '–'
              : t('request.per_second', { tokens: format.number(story.tokens_per_second, 1) })
          }
          note={story.streamed ? t('request.streamed') : t('request.whole')}
        />
      </div>
      <div className="halves">
        <Section title={t('request.what')}>
          <WhatItWas story={story} />
        </Section>
        <Section title={t('request.times')}>
          <Timeline story={story} />
        </Section>
      </div>
      <Section title={t('request.attempts')} lead={t('request.attempts_lead')}>
        <Route tries={story.attempts} />
      </Section>
      <div className="halves">
        <Section title={t('request.bill')} lead={t('request.bill_lead', { version: story.price_version })}>
          <Bill
            label={t('request.bill')}
            lines={story.bill}
            total={story.bill_total}
            adjustments={story.bill_adjustments}
            charged={story.cost}
            chargedLabel={t('request.charged')}
            credit={story.credit}
          />
        </Section>
        <Section title={t('request.hold')} lead={t('request.hold_lead')}>
          <Hold hold={story.hold} />
        </Section>
      </div>
    </>
  )
}

/** Why a request has no whole answer, in plain words, and what helps. */
function WhyFailed({ story: { status, error_type: type, attempts, cost } }: { readonly story: RequestStory }) {
  if (status === 'completed') return null
  const said = attempts.find((attempt) => attempt.said !== null)?.said ?? null
  const isError = status === 'error'
  return (
    <Alert
      color={isError ? 'red' : 'gray'}
      icon={<WarningIcon />}
      title={isError && type !== null ? errorName(type) : t(`request.why_${status}`)}
    >
      {isError ? type !== null && remedyText(type) : t('request.cancelled_text')}
      {isError && cost === 0 && ` ${t('request.free')}`}
      {said !== null && (
        <Text size="sm" mt={4}>
          {t('request.said')}: <Said text={said} />
        </Text>
      )}
    </Alert>
  )
}

function WhatItWas({ story }: { readonly story: RequestStory }) {
  const values: Readonly<Record<string, unknown>> = { ...story }
  return (
    <Facts
      items={[
        [t('log.status'), requestEnd({ status: story.status, error_type: null })],
        [
          t('request.error'),
          story.error_type === null ? null : (
            <>
              {errorName(story.error_type)}{' '}
              <code key="type" className="mono">
                {story.error_type}
              </code>
            </>
          ),
        ],
        [
          t('usage.model'),
          <Link key="model" {...modelAt(story.model)}>
            {story.model}
          </Link>,
        ],
        [t('log.filter_provider'), story.provider_name],
        [t('log.filter_type'), t(`type.${story.type}`)],
        [t('usage.key'), story.key_name],
        [t('usage.app'), [story.app_title, story.app_url].filter((part) => part !== null).join(' · ')],
        [t('request.finish'), finishText(story)],
        ...facts.map(({ name, style }) => {
          const value = values[name] ?? null
          return [
            t(`fact.${name}`),
            value === null || value === '' ? null : <Fact key={name} value={value} style={style} />,
          ] as const
        }),
        [t('request.flagged'), story.flagged ? t('request.flagged_text') : null],
      ]}
    />
  )
}

/** A field of the log without a special design. */
function Fact({ value, style }: { readonly value: unknown; readonly style: FactStyle }) {
  if (typeof value === 'number') return format.number(value)
  const text = String(value)
  return style === 'id' ? <span className="mono">{text}</span> : text
}

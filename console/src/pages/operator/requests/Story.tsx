import { Group, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { GenerationStory } from '../../../../../src/api/admin/report-contract.ts'
import { microOf, rubles } from '../../../../../src/base/money.ts'
import { useRead } from '../../../api/hooks.ts'
import { requestEnd, Note } from '../../../parts/cells.tsx'
import { Loaded } from '../../../parts/Loaded.tsx'
import { Facts } from '../../../parts/Page.tsx'
import { format, t } from '../../../parts/words.ts'
import { Bill, finishText, Hold, Route, Timeline } from '../../usage/Bill.tsx'
import { ForCustomer } from './ForCustomer.tsx'
import css from './drawer.module.css'

/** All facts of one request, for the operator. */
export function Story({ id }: { readonly id: string }) {
  const story = useRead('GET /admin/v1/generations/:id', { params: { id } })
  return (
    <Loaded of={story} height={640}>
      {(answer) => <Told story={answer} />}
    </Loaded>
  )
}

function Told({ story }: { readonly story: GenerationStory }) {
  const { total_cost: revenue, provider_cost: cost, insured } = story
  const figures: readonly (readonly [name: string, value: string, isLoss?: boolean])[] = [
    [t('margin.revenue'), format.money(revenue)],
    [t('margin.provider_cost'), format.money(cost)],
    [t('margin.margin'), format.money(revenue - cost - insured), revenue < cost + insured],
    [t('log.tokens'), `${format.number(story.input_tokens)} → ${format.number(story.output_tokens)}`],
    [t('log.duration'), format.duration(story.duration_ms)],
  ]
  return (
    <div className={css.story}>
      <header>
        <Group gap="sm" justify="space-between">
          <Text fw={600}>{story.model_name}</Text>
          {requestEnd(story)}
        </Group>
      </header>
      <dl className={css.figures}>
        {figures.map(([name, value, isLoss = false]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className={isLoss ? css.loss : undefined}>{value}</dd>
          </div>
        ))}
      </dl>
      <Part title={t('requests.route')}>
        <Route tries={story.tries} />
      </Part>
      <Part title={t('request.what')}>
        <What story={story} />
      </Part>
      <Bills story={story} />
      <div className={css.bills}>
        <Part title={t('request.hold')}>
          <Hold hold={story.hold} />
        </Part>
        <Part title={t('request.times')}>
          <Timeline story={story} />
        </Part>
      </div>
    </div>
  )
}

function Bills({ story }: { readonly story: GenerationStory }) {
  // The bill has a line of its own for the cost of a free answer.
  const more = story.provider_bill_adjustments
    .filter(({ reason }) => reason === 'insured')
    .reduce((rest, { amount }) => rest + microOf(Number(amount)), microOf(story.insured))
  return (
    <>
      <Part title={t('requests.customer_bill')}>
        <Bill
          label={t('requests.customer_bill')}
          lines={story.bill}
          total={story.bill_total}
          adjustments={story.bill_adjustments}
          charged={story.total_cost}
          chargedLabel={t('request.charged')}
          credit={story.credit}
        />
        <ForCustomer story={story} />
      </Part>
      <Part title={t('requests.provider_bill')}>
        <Bill
          label={t('requests.provider_bill')}
          lines={story.provider_bill}
          total={story.provider_bill_total}
          adjustments={story.provider_bill_adjustments}
          charged={story.provider_cost}
          chargedLabel={t('margin.provider_cost')}
        />
        {more > 0n && <Note mt="xs">{t('requests.insured', { amount: format.money(rubles(more)) })}</Note>}
      </Part>
    </>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section>
      <Title order={3} size="h5" mb={8}>
        {title}
      </Title>
      {children}
    </section>
  )
}

function What({ story }: { readonly story: GenerationStory }) {
  const mono = (text: string | null): ReactNode =>
    text === null ? null : (
      <span key={text} className="mono">
        {text}
      </span>
    )
  return (
    <Facts
      items={[
        [
          t('requests.account'),
          <Link key="account" to="/operator/accounts/$id" params={{ id: story.account }}>
            {story.account_name === '' ? story.account : story.account_name}
          </Link>,
        ],
        [
          t('usage.key'),
          <Link key="key" to="/operator/requests" search={{ account: story.account, key: story.key }}>
            {story.key_name === '' ? story.key : story.key_name}
          </Link>,
        ],
        [t('usage.app'), [story.app_title, story.app_url].filter((part) => part !== null).join(' · ')],
        [t('log.filter_type'), t(`type.${story.type}`)],
        [t('request.speed'), story.tokens_per_second === null ? null : perSecond(story.tokens_per_second)],
        [t('request.finish'), finishText(story)],
        [t('requests.basis'), t(`request.basis_${story.billing_basis}`)],
        [t('request.flagged'), story.flagged ? t('request.flagged_text') : null],
        [t('requests.endpoint'), mono(story.endpoint)],
        [t('fact.upstream_id'), mono(story.upstream_id)],
        [t('fact.request_id'), mono(story.request_id)],
        [
          t('fact.end_user'),
          story.end_user !== null && (
            <Link key="user" to="/operator/requests" search={{ account: story.account, end_user: story.end_user }}>
              {story.end_user}
            </Link>
          ),
        ],
        [t('fact.session_id'), story.session_id],
        [t('requests.version'), format.number(story.price_version)],
        [t('fact.dropped'), story.dropped],
        [t('fact.price_condition'), story.price_condition],
      ]}
    />
  )
  function perSecond(tokens: number): string {
    return t('request.per_second', { tokens: format.number(tokens, 1) })
  }
}

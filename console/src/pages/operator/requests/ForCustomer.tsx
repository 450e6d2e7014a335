import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { GenerationStory } from '../../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../../api/hooks.ts'
import { Can } from '../../../parts/Can.tsx'
import { Press } from '../../../parts/cells.tsx'
import { Dialog } from '../../../parts/Dialog.tsx'
import { Form, useCall } from '../../../parts/Form.tsx'
import { LetterButton } from '../../../parts/Letter.tsx'
import { Loaded } from '../../../parts/Loaded.tsx'
import { MoneyMove } from '../../../parts/MoneyMove.tsx'
import { NumberField } from '../../../parts/NumberField.tsx'
import { errorName } from '../../../parts/failure-text.ts'
import { format, t } from '../../../parts/words.ts'
import { BOOKED, moveOf } from '../AccountMoney.tsx'

/** What an operator can do about a charge for its customer: explain it, and give it back. */
export function ForCustomer({ story }: { readonly story: GenerationStory }) {
  const [opened, setOpened] = useState(false)
  const close = (): void => setOpened(false)
  return (
    <Group gap="xs" mt="sm">
      <LetterButton account={story.account} text={() => letterOf(story)} />
      {story.credit === null && story.total_cost > 0 && (
        <Can call="POST /admin/v1/accounts/:id/ledger">
          <Press size="xs" variant="default" onClick={() => setOpened(true)} text={t('credit.open')} />
        </Can>
      )}
      <Dialog name="credit" of={opened} close={close} title={t('credit.title')}>
        <CreditForm story={story} close={close} />
      </Dialog>
    </Group>
  )
}

/** A credit is known by its request, so it is booked once, and is never more than the charge. */
function CreditForm({ story, close }: { readonly story: GenerationStory; readonly close: () => void }) {
  const { account: id, generation_id: reference, total_cost: charged } = story
  const account = useRead('GET /admin/v1/accounts/:id', { params: { id } })
  const form = useCall('POST /admin/v1/accounts/:id/ledger', {
    said: t('accounts.posted'),
    renews: [...BOOKED, 'GET /admin/v1/generations/:id'],
    done: close,
    first: { amount: String(charged), reason: '' },
    check: { reason: (reason: string) => (reason.trim() === '' ? t('common.required') : null) },
    input: ({ amount, reason }) => ({
      params: { id },
      body: { kind: 'adjustment' as const, amount: Number(amount), reason: reason.trim(), reference },
    }),
  })
  return (
    <Loaded of={account} height={220}>
      {(of) => (
        <Form of={form} form="dialog" act={t('accounts.do_credit')} cancel={close}>
          <NumberField
            label={t('money.amount')}
            description={t('credit.at_most', { amount: format.exactRubles(charged) })}
            unit="₽"
            decimals={6}
            least={0}
            most={charged}
            required
            {...form.field('amount')}
          />
          <TextInput
            label={t('ledger.reason')}
            description={t('accounts.reason_hint')}
            required
            data-autofocus
            {...form.field('reason')}
          />
          <MoneyMove move={moveOf(of, 'credit', Number(form.values.amount))} />
        </Form>
      )}
    </Loaded>
  )
}

/** What was asked, what it cost and why, in the language that is spoken. */
function letterOf(story: GenerationStory): string {
  const { status, error_type: cause, credit } = story
  return [
    t('letter.hello'),
    t('letter.charge', {
      when: format.dateTime(story.timestamp),
      model: story.model_name,
      id: story.generation_id,
      cost: format.exactRubles(story.total_cost),
    }),
    t('letter.tokens', { input: format.number(story.input_tokens), output: format.number(story.output_tokens) }),
    status === 'error' && cause !== null ? t('letter.failed', { why: errorName(cause) }) : null,
    credit === null ? null : t('letter.credited', { amount: format.exactRubles(credit.amount) }),
    t('letter.see', { url: `${window.location.origin}/log/${story.generation_id}` }),
  ]
    .filter((line) => line !== null)
    .join('\n')
}

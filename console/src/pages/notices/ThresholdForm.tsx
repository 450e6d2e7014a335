import { Button, Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Failed } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section } from '../../parts/Section.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import type { Wish } from './receiver.ts'

/** Below which balance the receivers of an account are told. */
export function ThresholdForm({
  notices: { low_balance: low, service_low_balance: usual },
  save,
}: {
  readonly notices: { readonly low_balance: number | null; readonly service_low_balance: number }
  /** RUB; null = the service's own. */
  readonly save: Wish<number | null>
}): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [value, setValue] = useState(low === null ? '' : String(low))
  return (
    <Section boxed title={t('notices.low')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run(value.trim() === '' ? null : Number(value))
        }}
      >
        <Stack className={css.narrow ?? ''}>
          {save.error !== null && <Failed failure={save.error} />}
          <NumberField
            label={t('notices.threshold')}
            description={t('notices.threshold_hint', { amount: format.money(usual) })}
            unit="₽"
            decimals={6}
            least={0}
            value={value}
            onChange={setValue}
          />
          <div>
            <Button type="submit" loading={save.isPending}>
              {t('common.save')}
            </Button>
          </div>
        </Stack>
      </form>
    </Section>
  )
}

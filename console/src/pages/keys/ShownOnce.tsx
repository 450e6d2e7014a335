import { Select, Stack } from '@mantine/core'
import { useState } from 'react'
import type { NewKey } from '../../../../src/api/cabinet/key-contract.ts'
import { CLIENT_SETUPS } from '../../../../src/tables/client-setups.ts'
import { useRead } from '../../api/hooks.ts'
import { FirstRequest } from '../../parts/CallSnippet.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Dialog, Secret } from '../../parts/Dialog.tsx'
import { t } from '../../parts/words.ts'
import { useSession } from '../../session.tsx'
import { FirstArrival } from '../home/FirstSteps.tsx'
import { Note } from '../../parts/cells.tsx'

interface ShownOnceProps {
  readonly made: Pick<NewKey, 'key' | 'name'> | null
  readonly close: () => void
  /** The key is one of the own account. */
  readonly isOwn: boolean
}

/** Shows a new key in full. It is shown only this time, so only the button closes the dialog. */
export function ShownOnce({ made, close, isOwn }: ShownOnceProps) {
  const summary = useRead('GET /cabinet/v1/summary', {})
  const [isFirst, setIsFirst] = useState<boolean | null>(null)
  // FirstArrival stays when the first request has arrived, so that the user sees it.
  if (isFirst === null && summary.data !== undefined) setIsFirst(!summary.data.has_requests)
  return (
    <Dialog
      name="key-secret"
      of={made}
      close={close}
      title={t('keys.made', { name: made?.name ?? '' })}
      size="lg"
      sealed
    >
      {({ key }) => (
        <Secret text={key} label={t('keys.key')} warning={t('keys.shown_once')} kept={t('keys.kept')} close={close}>
          {summary.data !== undefined && <FirstRequest summary={summary.data} apiKey={key} />}
          {isOwn && isFirst === true && <FirstArrival />}
          {isOwn && <UseItWith apiKey={key} />}
        </Secret>
      )}
    </Dialog>
  )
}

const PLACEHOLDER = 'sk-tg-…'

/** Settings for widely used programs, with this service's address and, right after it was made, the key. */
export function UseItWith({ apiKey = PLACEHOLDER }: { readonly apiKey?: string }) {
  const { service } = useSession()
  const summary = useRead('GET /cabinet/v1/summary', {})
  const [name, setName] = useState(CLIENT_SETUPS[0]?.name ?? '')
  const parts = CLIENT_SETUPS.find((setup) => setup.name === name)?.parts({
    root: service.api_base.replace(/\/v1$/, ''),
    base: service.api_base,
    key: apiKey,
    model: summary.data?.example_model ?? 'sandbox/chat',
  })
  return (
    <Stack gap="sm">
      <Select
        label={t('keys.use_with')}
        description={t('keys.use_with_hint')}
        data={CLIENT_SETUPS.map((setup) => setup.name)}
        value={name}
        onChange={(value) => value !== null && setName(value)}
      />
      {parts?.map(({ file, form, text }) => {
        const place = form === true ? t('keys.in_form') : t('keys.in_terminal')
        return (
          <div key={text}>
            <Note mb={4}>{file === undefined ? place : t('keys.in_file', { file })}</Note>
            <CopyBlock text={text} label={file ?? place} />
          </div>
        )
      })}
    </Stack>
  )
}

import { Button, PasswordInput, Select, Stack, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Section } from '../../../parts/Section.tsx'
import page from '../../../style/layout.module.css'
import { slugOf, type ConnectionDraft } from './connect-draft.ts'
import { OWN_ADAPTERS } from './services.ts'

export interface ConnectionFieldsProps {
  readonly draft: ConnectionDraft
  /** A key is stored already. */
  readonly hasKey: boolean
  readonly busy: boolean
  readonly change: (draft: ConnectionDraft) => void
  readonly test: () => void
  /** What came of the test. */
  readonly children: ReactNode
}

/** The key and the address, and the button that tries them. */
export function ConnectionFields({ draft, hasKey, busy, change, test, children }: ConnectionFieldsProps): ReactNode {
  const { t } = useTranslation()
  const { isOwn, name } = draft.service
  return (
    <Section boxed title={isOwn ? t('connect.own') : name} lead={t('connect.key_lead')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          test()
        }}
      >
        <Stack gap="md">
          {isOwn && <OwnFields draft={draft} change={change} />}
          <div className={page.fields}>
            <PasswordInput
              label={t('providers.key')}
              description={t(hasKey ? 'providers.key_stays' : 'providers.key_hint')}
              autoComplete="off"
              visibilityToggleButtonProps={{ 'aria-label': t('entry.show_password') }}
              value={draft.key}
              onChange={({ currentTarget }) => change({ ...draft, key: currentTarget.value })}
            />
            <TextInput
              label={t('providers.address')}
              description={t('connect.address_hint')}
              type="url"
              required
              placeholder="https://"
              value={draft.address}
              onChange={({ currentTarget }) => change({ ...draft, address: currentTarget.value })}
            />
          </div>
          <div>
            <Button type="submit" loading={busy}>
              {t('connect.test')}
            </Button>
          </div>
          {children}
        </Stack>
      </form>
    </Section>
  )
}

function OwnFields({ draft, change }: Pick<ConnectionFieldsProps, 'draft' | 'change'>): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={page.fields}>
      <TextInput
        label={t('keys.name')}
        required
        value={draft.name}
        onChange={({ currentTarget: { value } }) =>
          change({ ...draft, name: value, slug: draft.slug === slugOf(draft.name) ? slugOf(value) : draft.slug })
        }
      />
      <TextInput
        label={t('providers.slug')}
        description={t('providers.slug_hint')}
        required
        value={draft.slug}
        onChange={({ currentTarget }) => change({ ...draft, slug: currentTarget.value })}
      />
      <Select
        label={t('connect.protocol')}
        allowDeselect={false}
        data={OWN_ADAPTERS.map((value) => ({ value, label: t(`connect.protocol_${value}`) }))}
        value={draft.adapter}
        onChange={(adapter) => adapter !== null && change({ ...draft, adapter })}
      />
    </div>
  )
}

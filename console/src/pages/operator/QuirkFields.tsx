import { Select, Stack, Switch } from '@mantine/core'
import { ownValue } from '../../../../src/base/own-value.ts'
import { knownQuirks } from '../../../../src/catalog/known-quirks.ts'
import type { ReasoningEcho, ReasoningForm } from '../../../../src/catalog/quirks.ts'
import { t } from '../../parts/words.ts'
import { JsonField } from './catalog-edit.tsx'
import { parsedDialect, type ProviderDraft } from './provider-draft.ts'

/** Switches, each with the values of its key that are off and on. */
const SWITCHES = [
  ['json_word', false, true],
  ['stream', 'as_asked', 'always'],
  ['tools', 'tools', 'functions'],
  ['system', 'anywhere', 'first'],
  ['strict', 'each', 'all_or_none'],
] as const
const FORMS: readonly ReasoningForm[] = ['effort', 'object', 'thinking', 'enable_thinking', 'template']
const ECHOES: readonly ReasoningEcho[] = ['reasoning_content', 'reasoning', 'none']
/** Choices between words of the API, which are the same in every language. */
const SELECTS = [
  ['reasoning', FORMS],
  ['reasoning_echo', ECHOES],
] as const

interface QuirkFieldsProps {
  readonly draft: ProviderDraft
  readonly change: (draft: ProviderDraft) => void
}

/** How a service differs from its protocol: what is usual as fields, the rest as in the catalogue file. */
export function QuirkFields({ draft, change }: QuirkFieldsProps) {
  const parsed = parsedDialect(draft.dialect)
  // The texts of the fields are those of an object of JSON.
  const own = (parsed?.dialect ?? {}) as Readonly<Record<string, unknown>>
  const known = knownQuirks({ adapter: draft.adapter, baseUrl: draft.address }, null) as typeof own
  const set = (name: string, value: unknown): void => {
    const rest = Object.fromEntries(Object.entries(own).filter(([other]) => other !== name))
    const next = value === ownValue(known, name) || value === null ? rest : { ...rest, [name]: value }
    change({ ...draft, dialect: Object.keys(next).length === 0 ? '' : JSON.stringify(next, null, 2) })
  }
  const valueOf = (name: string): unknown => ownValue(own, name) ?? ownValue(known, name)
  const textOf = (name: string): string | null => {
    const value = valueOf(name)
    return typeof value === 'string' ? value : null
  }
  // What is known of the address has its note; what the provider's own entry says comes before it.
  const note = (name: string): string | undefined =>
    ownValue(known, name) === undefined || ownValue(own, name) !== undefined ? undefined : t('quirk.known')
  return (
    <Stack gap="sm" role="group" aria-label={t('quirk.title')}>
      {parsed !== null && draft.adapter === 'openai' && (
        <>
          {SWITCHES.map(([name, off, on]) => (
            <Switch
              key={name}
              label={t(`quirk.${name}`)}
              description={note(name)}
              checked={valueOf(name) === on}
              onChange={({ currentTarget }) =>
                // Off is the default, and is only written where the address has it on.
                set(name, currentTarget.checked ? on : ownValue(known, name) === undefined ? null : off)
              }
            />
          ))}
          <div className="fields">
            {SELECTS.map(([name, values]) => (
              <Select
                key={name}
                label={t(`quirk.${name}`)}
                description={note(name)}
                placeholder={t('quirk.usual')}
                clearable
                data={values.map((value) => ({ value, label: value === 'none' ? t('quirk.none') : value }))}
                value={textOf(name)}
                onChange={(value) => set(name, value)}
              />
            ))}
          </div>
        </>
      )}
      <details>
        <summary className="small">{t('prices.advanced')}</summary>
        <JsonField
          label={t('providers.dialect')}
          description={t('providers.dialect_hint')}
          value={draft.dialect}
          onChange={(dialect) => change({ ...draft, dialect })}
          minRows={2}
          maxRows={16}
          isWrong={parsed === null}
        />
      </details>
    </Stack>
  )
}

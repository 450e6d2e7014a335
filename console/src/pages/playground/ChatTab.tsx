import { Button, Card, Collapse, Group, Stack, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow, Prices } from '../../../../src/api/cabinet/model-contract.ts'
import { CodeIcon, CompareIcon } from '../../parts/icons.ts'
import { Empty, Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'
import layout from '../../style/layout.module.css'
import { CallDialog } from './CallDialog.tsx'
import css from './chat.module.css'
import { areReadable, ChatParameters, NO_PARAMETERS } from './ChatParameters.tsx'
import { MessageForm } from './MessageForm.tsx'
import { ModelField } from './ModelField.tsx'
import type { TabProps } from './tab.ts'
import { TurnView } from './TurnView.tsx'
import { useConversation, type Conversation, type Message, type Turn } from './use-conversation.ts'

const CHARACTERS_PER_TOKEN = 4
const MILLION = 1_000_000
const NO_MESSAGE: Message = { text: '', attachments: [] }

/** A streamed conversation, or the same one with two models side by side. */
export function ChatTab({ keyId, models, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const [otherId, setOtherId] = useState<string | null>(null)
  const first = useConversation(keyId, modelId)
  const second = useConversation(keyId, otherId ?? modelId)
  const talks = otherId === null ? [first] : [first, second]
  const [parameters, setParameters] = useState(NO_PARAMETERS)
  const [draft, setDraft] = useState(NO_MESSAGE)
  const [shown, setShown] = useState(false)
  const [called, setCalled] = useState(false)
  const ids = otherId === null ? [modelId] : [modelId, otherId]
  const compare = (): void => {
    second.clear()
    setOtherId(otherId === null ? (models.find(({ id }) => id !== modelId)?.id ?? modelId) : null)
  }
  return (
    <Stack>
      <Group justify="space-between">
        <Tools
          parametersShown={shown}
          showParameters={() => setShown(!shown)}
          compares={otherId !== null}
          compare={compare}
          showCall={() => setCalled(true)}
        />
        <Cost talks={talks} models={models} ids={ids} />
      </Group>
      <Collapse expanded={shown}>
        <ChatParameters value={parameters} change={setParameters} />
      </Collapse>
      {otherId !== null && (
        <ModelField label={t('play.other_model')} models={models} value={otherId} choose={setOtherId} />
      )}
      <div className={otherId === null ? undefined : layout.halves}>
        {talks.map((talk, index) => (
          <Talk key={index} talk={talk} name={models.find(({ id }) => id === ids[index])?.name ?? t('play.model')} />
        ))}
      </div>
      <MessageForm
        busy={talks.some(({ busy }) => busy)}
        modalities={commonModalities(models, ids)}
        draft={draft}
        change={setDraft}
        sendable={areReadable(parameters)}
        send={() => {
          for (const talk of talks) talk.ask(draft, parameters)
          setDraft(NO_MESSAGE)
        }}
        stop={() => talks.forEach(({ stop }) => stop())}
        clear={talks.some(({ turns }) => turns.length > 0) ? () => talks.forEach(({ clear }) => clear()) : null}
      />
      <CallDialog
        opened={called}
        close={() => setCalled(false)}
        model={modelId}
        turns={first.turns}
        draft={draft}
        parameters={parameters}
      />
    </Stack>
  )
}

interface ToolsProps {
  readonly parametersShown: boolean
  readonly showParameters: () => void
  readonly compares: boolean
  readonly compare: () => void
  readonly showCall: () => void
}

function Tools({ parametersShown, showParameters, compares, compare, showCall }: ToolsProps): ReactNode {
  const { t } = useTranslation()
  return (
    <Group gap="xs">
      <Button size="xs" variant="default" onClick={showParameters} aria-expanded={parametersShown}>
        {t('play.parameters')}
      </Button>
      <Button size="xs" variant="default" leftSection={<CompareIcon size={15} />} onClick={compare}>
        {t(compares ? 'play.compare_end' : 'play.compare')}
      </Button>
      <Button size="xs" variant="default" leftSection={<CodeIcon size={15} />} onClick={showCall}>
        {t('play.call')}
      </Button>
    </Group>
  )
}

interface TalkProps {
  readonly talk: Conversation
  readonly name: string
}

function Talk({ talk: { turns, busy, failure }, name }: TalkProps): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack gap="xs">
      <Card padding="md" className={css.talk ?? ''} role="log" aria-label={`${t('play.talk')}: ${name}`} tabIndex={0}>
        {turns.length === 0 && <Empty picture="talk" title={t('play.empty')} />}
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} name={name} busy={busy && index === turns.length - 1} />
        ))}
      </Card>
      {failure !== null && <Failed failure={failure} />}
    </Stack>
  )
}

interface CostProps {
  readonly talks: readonly Conversation[]
  readonly models: readonly ModelRow[]
  readonly ids: readonly string[]
}

/** An estimate while an answer arrives, and exact at the end. */
function Cost({ talks, models, ids }: CostProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const known = talks.flatMap(({ turns }) => turns).reduce((sum, { cost }) => sum + (cost ?? 0), 0)
  const live = talks.map(({ busy, turns }, index) =>
    busy ? liveCost(turns, models.find(({ id }) => id === ids[index])?.prices ?? {}) : 0,
  )
  const estimate = live.reduce((sum, cost) => sum + cost, 0)
  return (
    <Text fw={600} role="status" aria-live="off">
      {talks.some(({ busy }) => busy)
        ? t('play.cost_live', { amount: format.money(known + estimate) })
        : t('play.cost_all', { amount: format.money(known) })}
    </Text>
  )
}

/** What all of the chosen models take. */
function commonModalities(models: readonly ModelRow[], ids: readonly string[]): ReadonlySet<string> {
  const [first, ...others] = ids.map((wanted) => models.find(({ id }) => id === wanted)?.input_modalities ?? [])
  return new Set(first?.filter((modality) => others.every((modalities) => modalities.includes(modality))))
}

/**
 * An estimate in RUB of what a running answer costs so far, with four characters a token. It is only shown: the end of
 * the answer has the exact cost.
 */
function liveCost(turns: readonly Pick<Turn, 'text' | 'reasoning' | 'cost'>[], prices: Prices): number {
  const last = turns.at(-1)
  if (last === undefined || last.cost !== null) return 0
  const asked = turns.slice(0, -1).reduce((sum, { text }) => sum + text.length, 0)
  const answered = last.text.length + last.reasoning.length
  return (
    (asked * Number(prices['prompt'] ?? 0) + answered * Number(prices['completion'] ?? 0)) /
      CHARACTERS_PER_TOKEN /
      MILLION +
    Number(prices['request'] ?? 0)
  )
}

import { Button, Card, Collapse, Group, Stack, Text, Textarea } from '@mantine/core'
import { type RefObject, useLayoutEffect, useRef, useState } from 'react'
import type { ModelRow, Prices } from '../../../../src/api/cabinet/model-contract.ts'
import { CallSnippet } from '../../parts/CallSnippet.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty, Failed } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { fileMark } from '../../parts/call-snippet.ts'
import { CodeIcon, CompareIcon, EventsIcon } from '../../parts/icons.ts'
import { isPlainNumber } from '../../parts/number-text.ts'
import { format, t } from '../../parts/words.ts'
import { KeptTalks, useKeptTalk } from './KeptTalks.tsx'
import { MessageForm, TurnView } from './MessageForm.tsx'
import { ModelField, type TabProps } from './run.tsx'
import css from './chat.module.css'
import {
  chatBody,
  type Conversation,
  type Message,
  NO_PARAMETERS,
  NUMBERS,
  type Parameters,
  type Turn,
  useConversation,
} from './use-conversation.ts'

const CHARACTERS_PER_TOKEN = 4
const MILLION = 1_000_000
const NO_MESSAGE: Message = { text: '', attachments: [] }

/** A streamed conversation, or the same one with two models side by side. */
export function ChatTab({ keyId, models, modelId }: TabProps) {
  const [otherId, setOtherId] = useState<string | null>(null)
  const first = useConversation(keyId, modelId)
  const second = useConversation(keyId, otherId ?? modelId)
  const talks = otherId === null ? [first] : [first, second]
  const [parameters, setParameters] = useState(NO_PARAMETERS)
  const [draft, setDraft] = useState(NO_MESSAGE)
  const [shown, setShown] = useState(false)
  const [called, setCalled] = useState(false)
  const kept = useKeptTalk(first, modelId)
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
          showKept={() => kept.show(true)}
        />
        <Cost talks={talks} models={models} ids={ids} />
      </Group>
      <Collapse expanded={shown}>
        <ChatParameters value={parameters} change={setParameters} />
      </Collapse>
      {otherId !== null && (
        <ModelField label={t('play.other_model')} models={models} value={otherId} choose={setOtherId} />
      )}
      <Talks talks={talks} models={models} ids={ids} again={(talk) => talk.again?.(parameters)} />
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
        clear={
          talks.some(({ turns }) => turns.length > 0)
            ? () => {
                talks.forEach(({ clear }) => clear())
                kept.begin()
              }
            : null
        }
      />
      <CallDialog
        opened={called}
        close={() => setCalled(false)}
        model={modelId}
        turns={first.turns}
        draft={draft}
        parameters={parameters}
      />
      <KeptTalks {...kept} />
    </Stack>
  )
}

interface ToolsProps {
  readonly parametersShown: boolean
  readonly showParameters: () => void
  readonly compares: boolean
  readonly compare: () => void
  readonly showCall: () => void
  readonly showKept: () => void
}

function Tools({ parametersShown, showParameters, compares, compare, showCall, showKept }: ToolsProps) {
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
      <Button size="xs" variant="default" leftSection={<EventsIcon size={15} />} onClick={showKept}>
        {t('play.kept')}
      </Button>
    </Group>
  )
}

/** The end counts as in view down to so many pixels above it. */
const NEAR_PX = 40

/** Keeps the end of a conversation in view while it grows, unless the reader has scrolled away from it. */
function useEndInView(turns: readonly Turn[]): { readonly ref: RefObject<HTMLDivElement | null>; onScroll(): void } {
  const ref = useRef<HTMLDivElement>(null)
  const isAway = useRef(false)
  // Whoever asks wants to see the answer.
  useLayoutEffect(() => {
    isAway.current = false
  }, [turns.length])
  useLayoutEffect(() => {
    if (ref.current !== null && !isAway.current) ref.current.scrollTop = ref.current.scrollHeight
  }, [turns])
  const onScroll = (): void => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = ref.current ?? {}
    isAway.current = scrollHeight - scrollTop - clientHeight > NEAR_PX
  }
  return { ref, onScroll }
}

interface TalksProps extends CostProps {
  readonly again: (talk: Conversation) => void
}

function Talks({ talks, models, ids, again }: TalksProps) {
  return (
    <div className={talks.length === 1 ? undefined : 'halves'}>
      {talks.map((talk, index) => (
        <Talk
          key={index}
          talk={talk}
          again={() => again(talk)}
          name={models.find(({ id }) => id === ids[index])?.name ?? t('play.model')}
        />
      ))}
    </div>
  )
}

interface TalkProps {
  readonly talk: Conversation
  readonly name: string
  readonly again: () => void
}

function Talk({ talk: { turns, busy, failure }, name, again }: TalkProps) {
  const end = useEndInView(turns)
  return (
    <Stack gap="xs">
      <Card
        {...end}
        padding="md"
        className={css.talk ?? ''}
        role="log"
        aria-label={`${t('play.talk')}: ${name}`}
        tabIndex={0}
      >
        {turns.length === 0 && <Empty picture="talk" title={t('play.empty')} />}
        {turns.map((turn, index) => (
          <TurnView
            key={index}
            turn={turn}
            name={name}
            busy={busy && index === turns.length - 1}
            again={index === turns.length - 1 ? again : null}
          />
        ))}
      </Card>
      {failure !== null && <Failed failure={failure} retry={again} />}
    </Stack>
  )
}

interface CostProps {
  readonly talks: readonly Conversation[]
  readonly models: readonly ModelRow[]
  readonly ids: readonly string[]
}

/** The cost: an estimate while an answer arrives, and exact at the end. */
function Cost({ talks, models, ids }: CostProps) {
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

/** The modalities that all of the chosen models accept. */
function commonModalities(models: readonly ModelRow[], ids: readonly string[]): ReadonlySet<string> {
  const [first, ...others] = ids.map((wanted) => models.find(({ id }) => id === wanted)?.input_modalities ?? [])
  return new Set(first?.filter((modality) => others.every((modalities) => modalities.includes(modality))))
}

/**
 * An estimate in RUB of what a running answer costs so far, with four characters per token. It is only for display: the
 * end of the answer has the exact cost.
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

interface ChatParametersProps {
  readonly value: Parameters
  readonly change: (value: Parameters) => void
}

function ChatParameters({ value, change }: ChatParametersProps) {
  return (
    <div className="page">
      <Textarea
        label={t('play.system')}
        autosize
        minRows={2}
        maxRows={8}
        value={value.system}
        onChange={({ currentTarget }) => change({ ...value, system: currentTarget.value })}
      />
      <div className="fields">
        {NUMBERS.map(({ name, ...bounds }) => (
          <NumberField
            key={name}
            label={name}
            placeholder={t('play.default')}
            {...bounds}
            value={value.numbers[name] ?? ''}
            onChange={(number) => change({ ...value, numbers: { ...value.numbers, [name]: number } })}
          />
        ))}
      </div>
    </div>
  )
}

/** Whether every number can be read. */
function areReadable({ numbers }: Parameters): boolean {
  return Object.values(numbers).every((value) => value === '' || isPlainNumber(value))
}

interface CallDialogProps {
  readonly opened: boolean
  readonly close: () => void
  readonly model: string
  readonly turns: readonly Turn[]
  readonly draft: Message
  readonly parameters: Parameters
}

/** Shows the conversation with its next message, or the last question again, as an API call. */
function CallDialog({ opened, close, model, turns, draft, parameters }: CallDialogProps) {
  const isEmpty = draft.text.trim() === '' && draft.attachments.length === 0
  const asked = turns.slice(0, turns.findLastIndex(({ role }) => role === 'user') + 1)
  const message: Message = isEmpty ? { text: 'Hello', attachments: [] } : { ...draft, text: draft.text.trim() }
  const shown = isEmpty && asked.length > 0 ? asked : [...turns, { role: 'user' as const, ...message }]
  const attached = shown.flatMap(({ attachments }) => attachments)
  const body = chatBody(model, shown, parameters, (attachment) => fileMark(attached.indexOf(attachment)))
  return (
    <Dialog name="call" of={opened} close={close} title={t('play.call')} size="xl">
      <CallSnippet body={body} files={attached.map(({ name }) => name)} />
    </Dialog>
  )
}

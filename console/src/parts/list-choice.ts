import { useLocalStorage } from '@mantine/hooks'
import { ownValue } from '../../../src/base/own-value.ts'

/** How a reader wants to see a list; kept in the browser. */
export interface ListChoice {
  readonly hidden: readonly string[]
  readonly dense: boolean
}

type Choices = Readonly<Record<string, ListChoice>>

export function useListChoice(
  name: string,
  atFirst: ListChoice,
): readonly [ListChoice, (change: Partial<ListChoice>) => void] {
  const [choices, setChoices] = useLocalStorage<Choices>({
    key: 'tollgate-lists',
    defaultValue: {},
    getInitialValueInEffect: false,
    deserialize: parsed,
  })
  const choice = ownValue(choices, name) ?? atFirst
  return [choice, (change) => setChoices((before) => ({ ...before, [name]: { ...choice, ...change } }))]
}

/** What another release or a person has stored may be anything. */
function parsed(text: string | undefined): Choices {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return value === null || typeof value !== 'object'
      ? {}
      : Object.fromEntries(Object.entries(value).filter((entry): entry is [string, ListChoice] => isChoice(entry[1])))
  } catch {
    return {}
  }
}

function isChoice(value: unknown): value is ListChoice {
  return (
    value !== null &&
    typeof value === 'object' &&
    'dense' in value &&
    typeof value.dense === 'boolean' &&
    'hidden' in value &&
    Array.isArray(value.hidden) &&
    value.hidden.every((id) => typeof id === 'string')
  )
}

import { type ButtonProps, Group, Stack } from '@mantine/core'
import { type FormErrors, type GetInputPropsReturnType, useForm } from '@mantine/form'
import { type ReactNode, useRef } from 'react'
import { ownValue } from '../../../src/base/own-value.ts'
import { type ActEndpoint, type Answer, given, type Input } from '../api/endpoint.ts'
import { type ActOptions, useSend } from '../api/hooks.ts'
import { CheckedForm } from './CheckedForm.tsx'
import { useUnsaved } from './Dialog.tsx'
import { Failed } from './Loaded.tsx'
import { fieldFailure } from './failure-text.ts'
import { t } from './words.ts'
import { Press } from './cells.tsx'

/** A call that a form makes. */
interface Sending {
  readonly isPending: boolean
  readonly error: Error | null
  readonly isSuccess?: boolean
}

interface FieldsOptions<Values extends object> {
  readonly first: Values
  readonly send: (values: Values) => void
  /** The calls that `send` makes, of which only one runs at a time. */
  readonly calls: readonly Sending[]
  /** What is wrong with a value; null = nothing. */
  readonly check?: Readonly<Partial<Record<keyof Values, (value: never, values: Values) => string | null>>>
  /** The server's names of fields that have another name here. */
  readonly names?: Readonly<Record<string, keyof Values & string>>
}

export interface Fields<Values extends object> {
  readonly values: Values
  readonly set: (change: Partial<Values>) => void
  readonly reset: () => void
  /** The value of a field, its change handler, and its error, found here or by the server. */
  readonly field: (
    name: (keyof Values & string) | `${keyof Values & string}.${string}`,
    type?: 'checkbox',
  ) => GetInputPropsReturnType
  readonly submit: (event?: React.FormEvent<HTMLFormElement>) => void
  readonly busy: boolean
  /** The failure of a call that is not about a field of the form. */
  readonly failure: Error | null
}

/** The values of a form and their errors. */
export function useFields<Values extends object>(options: FieldsOptions<Values>): Fields<Values> {
  const { first, send, calls, check = {}, names = {} } = options
  const form = useForm<Values>({
    initialValues: first,
    // Each check gets the value of its field.
    validate: check as Readonly<Record<string, (value: unknown, values: Values) => string | null>> as never,
  })
  useUnsaved(calls.some(({ isSuccess }) => isSuccess === true) ? null : form.values)
  const failure = calls.map(({ error }) => error).find((error) => error !== null) ?? null
  const problem = fieldFailure(failure, [...Object.keys(first), ...Object.keys(names)])
  const refused = problem === null ? null : (ownValue(names, problem.field) ?? problem.field)
  // The names of the errors are those of the values.
  const errors = form.errors as FormErrors
  return {
    values: form.values,
    set: (change) => form.setValues(change),
    reset: form.reset,
    field: (name, type) => ({
      ...form.getInputProps(name, type === undefined ? {} : { type }),
      error: refused === name ? problem?.message : errors[name],
    }),
    submit: form.onSubmit(send),
    busy: calls.some(({ isPending }) => isPending),
    failure: problem === null ? failure : null,
  }
}

interface CallOptions<E extends ActEndpoint, Values extends object>
  extends
    Pick<FieldsOptions<Values>, 'first' | 'check' | 'names'>,
    Omit<ActOptions<Answer<E>, Input<E>>, 'quiet' | 'done'> {
  /** Turns the values into the input of the call. */
  readonly input: (values: Values) => Input<E>
  /** Called after the call; `reset` empties the fields. */
  readonly done?: (answer: Answer<E>, reset: () => void) => void
  /** Asks for confirmation before the call. */
  readonly ask?: (values: Values, go: () => void) => void
}

/** The fields of a form that makes one call, and the result of the call. */
export function useCall<E extends ActEndpoint, Values extends object>(
  endpoint: E,
  { first, check, names, input, done, ask = (_values, go) => go(), ...options }: CallOptions<E, Values>,
): Fields<Values> & { readonly answer: Answer<E> | undefined } {
  const before = useRef(input(first))
  const sent = useRef(before.current)
  const call = useSend(endpoint, {
    ...options,
    quiet: true,
    done: (answer) => {
      before.current = sent.current
      done?.(answer, fields.reset)
    },
  })
  const fields = useFields<Values>({
    first,
    ...given({ check, names }),
    calls: [call],
    send: (values) =>
      ask(values, () => {
        sent.current = input(values)
        call.mutate(endpoint.startsWith('PATCH ') ? changedInput<E>(before.current, sent.current) : sent.current)
      }),
  })
  return { ...fields, answer: call.data }
}

/**
 * The fields of a change that differ from what a form began with: another tab or person may have changed the others
 * meanwhile. A limit and its period are one.
 */
export function changedFields<Change extends object>(before: Change, after: Change): Change {
  const then = new Map<string, unknown>(Object.entries(before))
  const all = Object.entries(after)
  if (all.length < 2) return after
  const names = all
    .filter(([name, value]) => JSON.stringify(then.get(name)) !== JSON.stringify(value))
    .map(([name]) => name)
  if (LIMIT_FIELDS.some((name) => names.includes(name))) names.push(...LIMIT_FIELDS)
  // Fields of a change may be left out.
  return Object.fromEntries(all.filter(([name]) => names.includes(name))) as Change
}

const LIMIT_FIELDS: readonly string[] = ['limit', 'limit_reset']

function changedInput<E extends ActEndpoint>(before: Input<E>, after: Input<E>): Input<E> {
  // The body of a PATCH is a change.
  const [was, is] = [before, after] as readonly [{ readonly body: object }, { readonly body: object }]
  return { ...is, body: changedFields(was.body, is.body) } as Input<E>
}

export interface FormProps {
  readonly of: Pick<Fields<object>, 'submit' | 'busy' | 'failure'>
  /** The label of the button. */
  readonly act: string
  /** Further props of the button. */
  readonly look?: ButtonProps & { readonly disabled?: boolean }
  /** Further buttons before it. */
  readonly beside?: ReactNode
  /** A button before it that closes the form without the call. */
  readonly cancel?: () => void
  /** `row`: the fields and the button are in one row. `dialog`: the button is at the end. */
  readonly form?: 'page' | 'narrow' | 'dialog' | 'row'
  readonly children: ReactNode
}

/** The fields, the error of the call above them, and the submit button below. */
export function Form({ of, act, look, beside, cancel, form = 'page', children }: FormProps) {
  const button = <Press type="submit" loading={of.busy} {...look} text={act} />
  const failed = of.failure !== null && <Failed failure={of.failure} />
  return (
    <CheckedForm onSubmit={of.submit}>
      {form === 'row' ? (
        <>
          {failed}
          <div className="fields">
            {children}
            {button}
          </div>
        </>
      ) : (
        <Stack className={form === 'narrow' ? 'narrow' : ''}>
          {failed}
          {children}
          {look?.fullWidth === true ? (
            button
          ) : (
            <Group
              gap="xs"
              justify={
                (beside ?? cancel) !== undefined && form === 'dialog'
                  ? 'space-between'
                  : form === 'dialog'
                    ? 'flex-end'
                    : 'flex-start'
              }
            >
              {beside}
              {cancel !== undefined && <Press variant="default" onClick={cancel} text={t('common.cancel')} />}
              {button}
            </Group>
          )}
        </Stack>
      )}
    </CheckedForm>
  )
}

type NamesOf<Draft, Value> = { [Name in keyof Draft]: Draft[Name] extends Value ? Name : never }[keyof Draft] & string

/** Props of fields that edit a draft without a form of its own. */
export function bound<Draft extends object>(draft: Draft, change: (draft: Draft) => void) {
  const set = (name: string, value: unknown): void => change({ ...draft, [name]: value })
  return {
    /** For a field whose change handler gets an event. */
    text: <Name extends NamesOf<Draft, string>>(name: Name) => ({
      value: draft[name],
      onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
        set(name, currentTarget.value),
    }),
    /** For a field whose change handler gets the value. */
    value: <Name extends NamesOf<Draft, string>>(name: Name) => ({
      value: draft[name],
      onChange: (value: string | null) => value !== null && set(name, value),
    }),
    /** For a choice that may be empty. */
    option: <Name extends NamesOf<Draft, string | null>>(name: Name) => ({
      value: draft[name],
      onChange: (value: string | null) => set(name, value),
    }),
    flag: <Name extends NamesOf<Draft, boolean>>(name: Name) => ({
      checked: draft[name],
      onChange: ({ currentTarget }: { readonly currentTarget: { readonly checked: boolean } }) =>
        set(name, currentTarget.checked),
    }),
  }
}

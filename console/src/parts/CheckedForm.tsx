import { Input } from '@mantine/core'
import { type ComponentProps, type SubmitEvent, useState } from 'react'
import { createPortal } from 'react-dom'
import { t } from './words.ts'

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

interface Problem {
  readonly control: Control
  /** The parts of the field, below which the problem is told. */
  readonly place: Element
}

/**
 * A form that says below each field what is wrong with it, in the language of the page: the browser's own bubbles have
 * the language of the browser. `onSubmit` is called when nothing is.
 */
export function CheckedForm({ onSubmit, children, ...props }: ComponentProps<'form'>) {
  const [problems, setProblems] = useState<readonly Problem[]>([])
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    const wrong = [...event.currentTarget.elements].filter(isControl).filter(({ validity }) => !validity.valid)
    show(wrong)
    if (wrong.length === 0) return onSubmit?.(event)
    event.preventDefault()
    wrong[0]?.focus()
  }
  const show = (wrong: readonly Control[]): void => {
    for (const { control } of problems) control.removeAttribute('aria-invalid')
    for (const control of wrong) control.setAttribute('aria-invalid', 'true')
    setProblems(wrong.map((control) => ({ control, place: placeOf(control) })))
  }
  return (
    <form
      {...props}
      noValidate
      onSubmit={submit}
      onInput={({ target }) => {
        if (problems.some(({ control }) => control === target))
          show(problems.map(({ control }) => control).filter((control) => control !== target))
      }}
    >
      {children}
      {problems.map(({ control, place }, index) =>
        // A field with a message of its own, such as one for a number, shows it.
        control.validity.customError
          ? null
          : createPortal(
              <Input.Error mt={4} role={index === 0 ? 'alert' : undefined}>
                {problemText(control)}
              </Input.Error>,
              place,
              control.id,
            ),
      )}
    </form>
  )
}

function isControl(element: Element): element is Control {
  return 'validity' in element && !element.matches('button, fieldset, output, object')
}

function placeOf(control: Control): Element {
  return control.closest('.mantine-InputWrapper-root') ?? control.parentElement ?? control
}

function problemText({ validity, type }: Control): string {
  if (validity.valueMissing) return t('common.required')
  return t(type === 'email' ? 'common.no_email' : type === 'url' ? 'common.no_url' : 'common.unfit')
}

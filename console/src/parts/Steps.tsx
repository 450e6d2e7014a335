import { Progress } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import css from '../style/steps.module.css'
import { CheckIcon } from './icons.ts'
import { Section } from './Page.tsx'
import { t } from './words.ts'
import { Note } from './cells.tsx'

export interface Step {
  readonly name: string
  readonly title: string
  readonly text: string
  readonly done: boolean
  /** The page where the step is done; null = this user cannot do it. */
  readonly link: LinkProps | null
}

interface StepsProps {
  readonly title: string
  /** The text for how many of all steps are done. */
  readonly count: (done: number, all: number) => string
  readonly steps: readonly Step[]
  readonly actions?: ReactNode
  readonly children?: ReactNode
}

/** The steps to a goal. Each step is ticked when it is done, and the next one is highlighted. */
export function Steps({ title, count, steps, actions, children }: StepsProps) {
  const done = steps.filter((step) => step.done).length
  const next = steps.find((step) => !step.done)
  return (
    <Section boxed title={title} lead={count(done, steps.length)} actions={actions}>
      <Progress value={(done / steps.length) * 100} size="sm" mb="md" aria-label={title} />
      <ol className={css.steps}>
        {steps.map((step, index) => (
          <li
            key={step.name}
            data-step={step.name}
            data-done={step.done}
            aria-current={step === next ? 'step' : undefined}
          >
            <span
              className={clsx('circle', step.done && 'badge-good')}
              role="img"
              aria-label={t(step.done ? 'first_steps.done' : 'first_steps.open')}
            >
              {step.done ? <CheckIcon size={15} stroke={2.6} aria-hidden /> : index + 1}
            </span>
            <div>
              {step.done || step.link === null ? <span>{step.title}</span> : <Link {...step.link}>{step.title}</Link>}
              <Note>{step.text}</Note>
            </div>
          </li>
        ))}
      </ol>
      {children}
    </Section>
  )
}

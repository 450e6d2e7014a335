import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { objectOf, textOf } from '../../wire/raw-json.ts'

const FORMAT = 'cohere-tool-plan-v1'

/** The model's text before tool calls is neither answer nor thinking: the client gets it as a reasoning detail. */
export function toolPlanEvents(plan: string): readonly AnswerEvent[] {
  return plan === ''
    ? []
    : [
        {
          type: 'extra',
          choice: 0,
          field: 'reasoning_details',
          value: [{ type: 'reasoning.summary', summary: plan, format: FORMAT, index: 0 }],
        },
      ]
}

/**
 * The plan among the details that a client sends back; '' when there is none. Cohere does not read other providers'
 * details.
 */
export function toolPlanOf(details: readonly unknown[]): string {
  let plan = ''
  for (const raw of details) {
    const detail = objectOf(raw)
    if (detail?.['format'] === FORMAT) plan += textOf(detail['summary']) ?? ''
  }
  return plan
}

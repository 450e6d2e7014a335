/** Sends one event of the stream; the writer numbers it. */
export type Emit = (type: string, fields: Readonly<Record<string, unknown>>) => void

/** The position of an item in its answer. */
export interface ItemPlace {
  readonly id: string
  /** `output_index`. */
  readonly index: number
  readonly emit: Emit
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** One element of `output`. */
export interface OutputItem {
  readonly type: 'message' | 'reasoning' | 'function_call' | 'client_call' | 'native'
  readonly isOpen: boolean
  /** Its current state. */
  body(): Record<string, unknown>
  close(status: 'completed' | 'incomplete'): void
}

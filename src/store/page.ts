/** Some of the matching rows, and how many match. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly total: number
}

/** A column that has an index, the largest first after `-`. */
export type Order<Column extends string> = Column | `-${Column}`

/**
 * `ORDER BY` with the newest id last among equals, or first where the largest are first: one index serves both ways.
 */
export function orderBy<Column extends string>(
  order: Order<Column>,
  expressions: Readonly<Record<Column, string>>,
  id: string,
): string {
  const falling = order.startsWith('-')
  // What is left of an Order without its sign is a Column.
  const expression = expressions[order.replace(/^-/, '') as Column]
  return [' ORDER BY', expression, falling ? 'DESC,' : 'ASC,', id, falling ? 'ASC' : 'DESC'].join(' ')
}

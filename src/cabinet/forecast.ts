import type { Micro } from '../base/money.ts'
import { dayAfter } from '../base/time.ts'

/** Full days whose average the rest of the month is expected to cost. */
export const FORECAST_DAYS = 7

export interface DayCost {
  readonly day: string
  readonly costMicro: Micro
}

export interface MonthForecast {
  /** Since the first day of the month. */
  readonly spentMicro: Micro
  /** Of one of the last seven full days. */
  readonly averageMicro: Micro
  /** Days after today. */
  readonly daysLeft: number
  readonly expectedMicro: Micro
}

/** The first day whose cost a forecast needs. */
export function forecastFrom(today: string): string {
  const [month, week] = [firstOfMonth(today), dayAfter(today, -FORECAST_DAYS)]
  return month < week ? month : week
}

/**
 * What the month will cost: spent so far + the average of the last seven full days × the days after today. null for an
 * account that made its first request (`firstDay`) less than seven full days ago, or spent nothing in them.
 */
export function monthForecast(days: readonly DayCost[], today: string, firstDay: string | null): MonthForecast | null {
  const week = dayAfter(today, -FORECAST_DAYS)
  if (firstDay === null || firstDay > week) return null
  const sum = (from: string, before: string): Micro =>
    days.filter(({ day }) => day >= from && day < before).reduce((all, { costMicro }) => all + costMicro, 0n)
  const weekMicro = sum(week, today)
  if (weekMicro === 0n) return null
  const spentMicro = sum(firstOfMonth(today), dayAfter(today))
  const daysLeft = daysOfMonth(today) - Number(today.slice(8))
  return {
    spentMicro,
    averageMicro: weekMicro / BigInt(FORECAST_DAYS),
    daysLeft,
    expectedMicro: spentMicro + (weekMicro * BigInt(daysLeft)) / BigInt(FORECAST_DAYS),
  }
}

function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`
}

function daysOfMonth(day: string): number {
  return new Date(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)), 0)).getUTCDate()
}

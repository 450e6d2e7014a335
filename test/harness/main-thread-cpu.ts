/** What one request or one answer may take of the main thread at a stretch: everybody else waits for as long. */
export const STALL_MS_MAX = 100

/** Milliseconds of CPU that the work took of this thread, which a busy machine does not change. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

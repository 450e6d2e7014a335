export function program(): string
export function isBuilt(): boolean
export function isFresh(stamp: string, sources: readonly string[]): boolean
